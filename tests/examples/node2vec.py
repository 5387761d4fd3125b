"""node2vec: embeddings of nodes from random walks, and a picture of them.

    pip install "graphzero-server[torch]" scikit-learn matplotlib
    python node2vec.py --picture digits.png

Never sees a pixel: an image is known by the walks that pass it. A skip-gram model learns vectors
that tell the nodes near each other on a walk from random ones; a logistic regression on the vectors
of 50 labelled images guesses the digits of the others. The baseline is the same regression on the
pixels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import torch
from digits import accuracy_of_pixels, arguments, make_digits
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE
from torch.nn.functional import logsigmoid

EPOCHS = 10
DIMENSIONS = 32
LENGTH = 20
WINDOW = 5
NEGATIVES = 64
BATCH = 256


class SkipGram(torch.nn.Module):
    """Two vectors for each node, as the centre of a window and as part of one."""

    def __init__(self, num_nodes: int) -> None:
        super().__init__()
        self.centre = torch.nn.Embedding(num_nodes, DIMENSIONS)
        self.context = torch.nn.Embedding(num_nodes, DIMENSIONS)
        torch.nn.init.normal_(self.centre.weight, std=0.1)
        torch.nn.init.zeros_(self.context.weight)

    def forward(self, walks: Any) -> Any:
        """The loss of a batch of walks; all pairs share their negatives."""
        steps = range(1, WINDOW + 1)
        centre = self.centre(torch.cat([walks[:, :-step].reshape(-1) for step in steps]))
        near = self.context(torch.cat([walks[:, step:].reshape(-1) for step in steps]))
        far = self.context(torch.randint(len(self.context.weight), (NEGATIVES,)))
        found = logsigmoid((centre * near).sum(dim=1)).mean()
        rejected = logsigmoid(-(centre @ far.T)).mean()
        return -found - WINDOW * rejected


def embed(client: gz.Client, seed: int) -> Any:
    num_nodes = client.info().dataset.num_nodes
    model = SkipGram(num_nodes)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(EPOCHS):
        for number, starts in enumerate(torch.randperm(num_nodes).split(BATCH)):
            walks = client.random_walk(
                starts, LENGTH, p=1.0, q=0.5, seed=seed + 1000 * epoch + number
            )
            optimizer.zero_grad()
            model(walks.nodes).backward()
            optimizer.step()
    return model.centre.weight.detach().numpy()


def draw(vectors: Any, digits: Any, path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    flat = TSNE(init="pca", random_state=0, max_iter=500).fit_transform(vectors)
    figure, axes = pyplot.subplots(figsize=(8, 8))
    for digit in range(10):
        chosen = flat[digits == digit]
        axes.scatter(*chosen.T, s=8, label=str(digit))
    axes.set(title="node2vec embeddings of handwritten digits", xticks=[], yticks=[])
    axes.legend(title="digit", loc="center left", bbox_to_anchor=(1, 0.5), markerscale=3)
    figure.savefig(path, dpi=120, bbox_inches="tight")


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--picture", type=Path, default=Path("digits.png"))
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    client = gz.connect(data=make_digits(options.data))
    vectors = embed(client, options.seed)
    y = client.column("y").numpy()
    train, test = client.column("train").numpy(), client.column("test").numpy()
    model = LogisticRegression(max_iter=1000).fit(vectors[train], y[train])
    print(f"baseline accuracy {accuracy_of_pixels(client):.3f} (pixels alone)")
    print(f"accuracy          {model.score(vectors[test], y[test]):.3f}")
    draw(vectors, np.asarray(y), options.picture)
    print(f"wrote {options.picture}")


if __name__ == "__main__":
    main()
