"""The dataset of the examples: handwritten digits, each linked to those that look most like it.

scikit-learn ships 1,797 images of 8 x 8 pixels. The graph links each image to its ten nearest
neighbours, in both directions; columns are the pixels (x) and the digit (y); few images have a
label to train on (the split train), all others are to be guessed (test).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import kneighbors_graph

NEIGHBOURS = 10
LABELS_PER_DIGIT = 5
HELD_OUT = 0.3


def make_digits(directory: Path, *, hold_out_links: bool = False) -> Path:
    """Writes the dataset, unless it is there. With hold_out_links some of the links are not in
    the graph but in heldout.npy, for a model to predict."""
    if (directory / "graph.gl").exists():
        return directory
    directory.mkdir(parents=True, exist_ok=True)
    images, digits = load_digits(return_X_y=True)
    near = kneighbors_graph(images, NEIGHBOURS).tocoo()
    # An undirected link is written once: gz.write_graph stores both directions.
    links = np.unique(np.sort(np.stack([near.row, near.col]), axis=0), axis=1).astype(np.int64)
    rng = np.random.default_rng(0)
    if hold_out_links:
        held_out = rng.random(links.shape[1]) < HELD_OUT
        np.save(directory / "heldout.npy", links[:, held_out])
        links = links[:, ~held_out]
        np.save(directory / "links.npy", links)
    gz.write_features(directory / "x.gd", (images / 16).astype(np.float32))
    gz.write_features(directory / "y.gd", digits.astype(np.int64))
    train = labelled(digits, rng)
    test = np.setdiff1d(np.arange(len(digits)), train)
    gz.write_features(directory / "train.gd", train, role="ids")
    gz.write_features(directory / "test.gd", test, role="ids")
    # Last: its presence says that the dataset is complete.
    gz.write_graph(directory / "graph.gl", *links, undirected=True, num_nodes=len(images))
    return directory


def labelled(digits: Any, rng: np.random.Generator) -> Any:
    """As many images of each digit."""
    each = [
        rng.choice(np.flatnonzero(digits == digit), LABELS_PER_DIGIT, replace=False)
        for digit in range(10)
    ]
    return np.sort(np.concatenate(each))


def accuracy_of_pixels(client: gz.Client) -> float:
    """What the labels give without the graph: a logistic regression on the pixels."""
    x, y = client.column("x").numpy(), client.column("y").numpy()
    train, test = client.column("train").numpy(), client.column("test").numpy()
    model = LogisticRegression(max_iter=1000).fit(x[train], y[train])
    return float(model.score(x[test], y[test]))


def arguments(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("digits"), help="where the dataset goes")
    parser.add_argument("--seed", type=int, default=0)
    return parser
