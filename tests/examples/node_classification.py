"""Node classification with PyG: a script for torch_geometric, but for its loader.

    pip install "graphzero-server[pyg]" scikit-learn
    python node_classification.py

Guesses the digits of 1,747 images from 50 labelled ones and the links between similar images. The
baseline is a logistic regression on the pixels.
"""

from __future__ import annotations

from typing import Any

import graphzero as gz
import torch
from digits import accuracy_of_pixels, arguments, make_digits
from graphzero.pyg import NeighborLoader
from torch.nn.functional import cross_entropy, dropout
from torch_geometric.nn import SAGEConv

EPOCHS = 30


class GraphSage(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convs = torch.nn.ModuleList([SAGEConv(64, 64), SAGEConv(64, 10)])

    def forward(self, x: Any, edge_index: Any) -> Any:
        x = self.convs[0](x, edge_index).relu()
        x = dropout(x, 0.5, training=self.training)
        return self.convs[1](x, edge_index)


def train(model: Any, loader: Any) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    model.train()
    for _ in range(EPOCHS):
        for batch in loader:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            cross_entropy(out, batch.y[: batch.batch_size]).backward()
            optimizer.step()


@torch.no_grad()
def accuracy(model: Any, loader: Any) -> float:
    model.eval()
    right = total = 0
    for batch in loader:
        out = model(batch.x, batch.edge_index)[: batch.batch_size]
        right += int((out.argmax(dim=1) == batch.y[: batch.batch_size]).sum())
        total += batch.batch_size
    return right / total


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    torch.manual_seed(options.seed)
    client = gz.connect(data=make_digits(options.data))
    model = GraphSage()
    train(model, NeighborLoader(client, [10, 10], "train", batch_size=16, shuffle=True))
    reached = accuracy(model, NeighborLoader(client, [-1, -1], "test", batch_size=512))
    print(f"baseline accuracy {accuracy_of_pixels(client):.3f} (pixels alone)")
    print(f"accuracy          {reached:.3f}")


if __name__ == "__main__":
    main()
