"""Links with times: which movie will a user rate next?

    pip install "graphzero-server[pyg]" scikit-learn
    python movielens.py

MovieLens-100k: 943 users rated 1,682 movies between September 1997 and April 1998. Its terms: free
for research, neither for commercial use nor to be passed on without permission of GroupLens. Who
publishes results cites F. Maxwell Harper and Joseph A. Konstan, "The MovieLens Datasets: History
and Context", ACM TiiS 5(4), 2015. This script downloads the wheel of recbole, which carries the
data, and only reads it.

The model learns from the first four fifths of the ratings and is asked about the others. Most of
these are by users who came later, so that users are only known by what they rated before. Each
rating is a link with a time. Its sample has nothing later than that, nor the rating itself; other
ratings of the same second count as known. The movie that it is to be told from exists by then
(someone has rated it), and the user has not rated it so far. The baseline is how many ratings a
movie had until then. No daemon is needed: the graph is opened in this process.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch.nn.functional import softplus
from torch_geometric.nn import SAGEConv

SOURCE = "recbole==1.2.1"
WHEEL = "recbole-1.2.1-py3-none-any.whl"
CHECKSUM = "9c9948202011f37eb0a7c6768129313f00d6403ad221ec940d5e2d5d5f33a407"
RATINGS = "recbole/dataset_example/ml-100k/ml-100k.inter"

RATES = ("users", "rates", "movies")
RATED_BY = ("movies", "rev_rates", "users")  # a view of the same edges
FANOUT = {RATES: [8, 8], RATED_BY: [16, 4]}
# The first ratings are left out: there is hardly another movie then.
TRAIN, TEST = np.arange(1_000, 80_000), np.arange(80_000, 100_000)
WIDTH, BATCH = 32, 512


def fetch_wheel(directory: Path) -> Path:
    """Downloads the wheel, unless it is there. It is not installed."""
    wheel = directory / WHEEL
    if not wheel.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", SOURCE]
        done = subprocess.run([*pip, "--dest", str(directory)], stderr=subprocess.PIPE, text=True)
        if done.returncode:
            print(done.stderr, f"{SOURCE} could not be downloaded", sep="\n", file=sys.stderr)
            sys.exit(os.EX_TEMPFAIL)
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != CHECKSUM:
        sys.exit(f"{wheel}: found the checksum {found}, expected {CHECKSUM}")
    return wheel


def read_ratings(wheel: Path) -> dict[str, Any]:
    """User, movie, stars and time of each rating, by time. Users and movies are numbered as the
    dataset numbers them: by their keys."""
    with zipfile.ZipFile(wheel).open(RATINGS) as file:
        rows = list(csv.reader(io.TextIOWrapper(file), delimiter="\t"))[1:]
    values = np.array(rows, dtype=float).astype(np.int64)
    user, movie, stars, at = values[np.argsort(values[:, 3], kind="stable")].T
    return {
        "user": np.unique(user, return_inverse=True)[1],
        "movie": np.unique(movie, return_inverse=True)[1],
        "stars": stars,
        "at": at,
    }


def make_movielens(ratings: dict[str, Any], directory: Path) -> Path:
    """Writes the dataset, unless it is there. Users and movies exist from their first rating on."""
    if directory.exists():
        return directory
    tables: dict[str, Any] = {}
    for name, column in (("users", "user"), ("movies", "movie")):
        keys, first = np.unique(ratings[column], return_index=True)
        data = {"key": keys, "since": ratings["at"][first]}
        tables[name] = {"data": data, "key": "key", "time": "since"}
    tables["ratings"] = {
        "data": ratings,
        "edges": {
            "source": {"column": "user", "table": "users"},
            "target": {"column": "movie", "table": "movies"},
        },
        "name": "rates",
        "time": "at",
        "features": {"stars": "stars", "time": "at"},
    }
    gz.import_tables({"tables": tables, "time_unit": "s"}, directory)
    return directory


class TasteModel(torch.nn.Module):
    """Users are what they rated last, movies are what they are and who rated them last."""

    def __init__(self, num_movies: int) -> None:
        super().__init__()
        self.movie = torch.nn.Embedding(num_movies, WIDTH)
        self.popularity = torch.nn.Embedding(num_movies, 1)
        torch.nn.init.zeros_(self.popularity.weight)
        self.user = torch.nn.Parameter(torch.zeros(1, WIDTH))
        self.to_users, self.to_movies = SAGEConv(WIDTH, WIDTH), SAGEConv(WIDTH, WIDTH)

    def forward(self, sample: gz.TypedSample) -> tuple[Any, Any]:
        """Scores of the links, and of the pairs that are none."""
        movies, sources, targets = map(
            torch.from_numpy, (sample["movies"].n_id, sample.source_index, sample.target_index)
        )
        seen, raters = (torch.from_numpy(sample[r].edge_index) for r in (RATED_BY, RATES))
        own = self.movie(movies)
        nobody = self.user.expand(sample["users"].num_nodes, WIDTH)
        x_users = self.to_users((own, nobody), seen).relu()
        x_movies = own + self.to_movies((x_users, own), raters)
        # The targets of the links come first, then as many movies to tell them from.
        users, ends = x_users[sources].repeat(2, 1), x_movies[targets]
        scores = (users * ends).sum(dim=1) + self.popularity(movies[targets]).flatten()
        return scores.split(sample.num_links)


def samples(graph: gz.Graph, ratings: dict[str, Any], links: Any, seed: int) -> Iterator[Any]:
    """Around links (numbers of ratings), a batch at a time."""
    for step, first in enumerate(range(0, len(links), BATCH)):
        part = links[first : first + BATCH]
        yield graph.sample_links(
            ratings["user"][part],
            ratings["movie"][part],
            FANOUT,
            relation=RATES,
            time=ratings["at"][part],
            temporal_strategy="last",
            negatives=gz.Negatives("targets", reject=True),
            seed=seed + step,
        )


def train(model: Any, graph: gz.Graph, ratings: dict[str, Any], options: Any) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    rng = np.random.default_rng(options.seed)
    for epoch in range(options.epochs):
        for sample in samples(graph, ratings, rng.permutation(TRAIN), 1000 * (epoch + 1)):
            optimizer.zero_grad()
            positive, negative = model(sample)
            (softplus(-positive).mean() + softplus(negative).mean()).backward()
            optimizer.step()


@torch.no_grad()
def test(model: Any, graph: gz.Graph, ratings: dict[str, Any]) -> tuple[float, float]:
    """Area under the curve of the model, and that of popularity, on the same pairs."""
    num_movies = graph.types["movies"]
    by_movie = [ratings["at"][ratings["movie"] == movie] for movie in range(num_movies)]
    labels: list[int] = []
    scores, counts = [], []
    for sample in samples(graph, ratings, TEST, 0):
        scores += model(sample)
        labels += [1] * sample.num_links + [0] * sample.num_links
        movies = sample["movies"].n_id[sample.target_index]
        times = np.tile(ratings["at"][TEST][len(counts) // 2 :][: sample.num_links], 2)
        counts += map(np.searchsorted, [by_movie[movie] for movie in movies], times)
    return roc_auc_score(labels, torch.cat(scores)), roc_auc_score(labels, counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=Path("movielens"), help="where the dataset goes"
    )
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    ratings = read_ratings(fetch_wheel(Path()))
    graph = gz.Graph(make_movielens(ratings, options.data))
    model = TasteModel(graph.types["movies"])
    train(model, graph, ratings, options)
    reached, popularity = test(model, graph, ratings)
    print(f"baseline area under the curve {popularity:.3f} (earlier ratings of the movie)")
    print(f"area under the curve          {reached:.3f}")


if __name__ == "__main__":
    main()
