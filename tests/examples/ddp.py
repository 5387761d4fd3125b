"""Several processes train one model, in plain torch, from one daemon.

    pip install "graphzero-server[torch]" scikit-learn
    torchrun --nproc-per-node 2 ddp.py

Each rank gets its share of every epoch, as many batches as the others and no image twice, so
DistributedDataParallel never waits in vain. All of them read from one daemon and one page cache.
The baseline is a logistic regression on the pixels.
"""

from __future__ import annotations

from typing import Any

import graphzero as gz
import torch
import torch.distributed as dist
from digits import accuracy_of_pixels, arguments, make_digits
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

EPOCHS = 40


class GraphSage(torch.nn.Module):
    """Two layers: a linear map of a node and of the mean of its neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.linears = torch.nn.ModuleList(
            [torch.nn.Linear(2 * 64, 64), torch.nn.Linear(2 * 64, 10)]
        )

    def forward(self, batch: gz.Batch) -> Any:
        x = batch.x
        for layer, linear in zip(batch.layers(), self.linears, strict=True):
            source, target = layer.edge_index
            degree = target.bincount(minlength=layer.num_dst).clamp(min=1).unsqueeze(1)
            total = torch.zeros(layer.num_dst, x.shape[1]).index_add(0, target, x[source])
            x = linear(torch.cat([x[: layer.num_dst], total / degree], dim=1))
            x = x.relu() if layer.num_dst > batch.batch_size else x
        return x


def accuracy(model: Any, loader: Any) -> float:
    right = torch.zeros(2)
    with torch.no_grad():
        for batch in loader:
            found = model(batch).argmax(dim=1) == batch.y[: batch.batch_size]
            right += torch.tensor([float(found.sum()), float(len(found))])
    dist.all_reduce(right)
    return float(right[0] / right[1])


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        make_digits(options.data)
    dist.barrier()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    client = gz.connect(data=options.data)  # the first rank to come starts the daemon
    model = DistributedDataParallel(GraphSage())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    loader = client.loader("train", [10, 10], 16, shuffle=True, seed=options.seed, rank="auto")
    for _ in range(EPOCHS):
        for batch in loader:
            optimizer.zero_grad()
            cross_entropy(model(batch), batch.y[: batch.batch_size]).backward()
            optimizer.step()
    reached = accuracy(model.module, client.loader("test", [-1, -1], 512, rank="auto"))
    if dist.get_rank() == 0:
        print(f"ranks             {dist.get_world_size()}")
        print(f"baseline accuracy {accuracy_of_pixels(client):.3f} (pixels alone)")
        print(f"accuracy          {reached:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
