"""Link prediction with PyG, without the leak: which images are linked?

    pip install "graphzero-server[pyg]" scikit-learn
    python link_prediction.py

Three in ten links between similar images are held out. The model learns from the others to tell
links from pairs that are none. A batch asks about edges of the graph, so its own edges are left out
of the sample (exclude_seed_edges): otherwise the model learns to look for them, and finds none when
it matters. --leak shows that. The baseline counts the neighbours that two images have in common.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import torch
from digits import arguments, make_digits
from graphzero.pyg import LinkNeighborLoader
from sklearn.metrics import roc_auc_score
from torch.nn.functional import binary_cross_entropy_with_logits, normalize
from torch_geometric.nn import SAGEConv

EPOCHS = 10
TEMPERATURE = 10


class LinkModel(torch.nn.Module):
    """Images are linked if their embeddings point the same way."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = torch.nn.ModuleList([SAGEConv(64, 64), SAGEConv(64, 64)])
        self.bias = torch.nn.Parameter(torch.zeros(1))

    def forward(self, batch: Any) -> Any:
        x = self.convs[0](batch.x, batch.edge_index).relu()
        x = normalize(self.convs[1](x, batch.edge_index))
        source, target = batch.edge_label_index
        return TEMPERATURE * (x[source] * x[target]).sum(dim=1) + self.bias


def train(model: Any, loader: Any) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(EPOCHS):
        for batch in loader:
            optimizer.zero_grad()
            binary_cross_entropy_with_logits(model(batch), batch.edge_label).backward()
            optimizer.step()


@torch.no_grad()
def area_under_curve(model: Any, loader: Any) -> float:
    model.eval()
    scores, labels = zip(*((model(batch), batch.edge_label) for batch in loader), strict=True)
    return float(roc_auc_score(torch.cat(labels), torch.cat(scores)))


def common_neighbours(data: Path, pairs: Any) -> Any:
    """How many neighbours the two ends of each pair share."""
    graph = gz.Graph(data)
    near = [set(graph.get_neighbours(node).tolist()) for node in range(graph.num_nodes)]
    return [len(near[source] & near[target]) for source, target in pairs.T]


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.set_defaults(data=Path("digits-links"))
    parser.add_argument("--leak", action="store_true", help="leave a batch's own edges in")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    data = make_digits(options.data, hold_out_links=True)
    client = gz.connect(data=data)
    negatives = gz.Negatives("pairs", reject=True)  # drawn by the daemon, never an edge
    model = LinkModel()
    train(
        model,
        LinkNeighborLoader(
            client,
            [10, 5],
            np.load(data / "links.npy"),
            neg_sampling=negatives,
            exclude_seed_edges=False if options.leak else "both",
            batch_size=256,
            shuffle=True,
        ),
    )
    held_out = np.load(data / "heldout.npy")
    others = gz.Graph(data).sample_links(*held_out, [], negatives=negatives, seed=options.seed)
    n_id, count = others.n_id, others.num_links
    pairs = np.stack([n_id[others.source_index], n_id[others.target_index]])
    labels = np.repeat([1.0, 0.0], [count, pairs.shape[1] - count])
    loader = LinkNeighborLoader(client, [-1, -1], pairs, torch.from_numpy(labels), batch_size=512)
    baseline = roc_auc_score(labels, common_neighbours(data, pairs))
    print(f"baseline area under the curve {baseline:.3f} (common neighbours)")
    print(f"area under the curve          {area_under_curve(model, loader):.3f}")


if __name__ == "__main__":
    main()
