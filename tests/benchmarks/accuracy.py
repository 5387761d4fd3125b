"""Does a GraphSAGE predict as well if it is trained on LABOR samples, or on quantised features?

    python tests/benchmarks/accuracy.py    # half an hour; --ways labor: that and the usual way

A generated dataset with labels that follow from features and neighbours. For each seed the same
model, with the same initial weights and the same batches of nodes, is trained once in each way, and
tested on all test nodes with all their neighbours: nothing but the training differs, and the
features if they are quantised. The learning rate falls to zero, so that the last batches do not
decide. Nothing is asserted.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import graphzero as gz
import torch
import torch.nn.functional as F
from torch_geometric.nn.models import GraphSAGE

FANOUT, BATCH = [10, 5], 256
USUAL = "neighbour sampling, float32"
# The sampler, and the type in which features are stored, of each way to train.
WAYS: dict[str, tuple[Any, str]] = {
    USUAL: ("neighbour", "float32"),
    "labor": ("labor", "float32"),
    "labor, drifting": (gz.Labor(batch_dependency=64), "float32"),
    "q8": ("neighbour", "q8"),
    "q8 and labor, drifting": (gz.Labor(batch_dependency=64), "q8"),
}


def train(client: gz.Client, sampler: Any, seed: int, epochs: int) -> tuple[GraphSAGE, float]:
    """The model, and the different nodes of a batch."""
    torch.manual_seed(seed)
    labels = client.column("y")
    model = GraphSAGE(
        client.column("x").shape[1],
        hidden_channels=64,
        num_layers=len(FANOUT),
        out_channels=int(labels.max()) + 1,
        dropout=0.3,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    loader = client.loader("train", FANOUT, BATCH, shuffle=True, seed=seed, sampler=sampler)
    steps = epochs * len(loader)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    nodes = []
    for _ in range(epochs):
        for batch in loader:
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            loss = F.cross_entropy(out, batch.y[: batch.batch_size])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            nodes.append(len(batch.n_id))
    return model.eval(), statistics.mean(nodes)


@torch.no_grad()
def accuracy(client: gz.Client, data: Path, model: GraphSAGE) -> float:
    """Of all test nodes, from all edges of the graph."""
    graph = gz.Graph(data)
    edges = graph.sample(range(graph.num_nodes), [-1], seed=0).edge_index
    test = client.column("test").long()
    labels = client.column("y")
    out = model(client.column("x"), torch.as_tensor(edges))
    return 100 * float((out[test].argmax(dim=1) == labels[test]).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--nodes", default="50k")
    parser.add_argument("--edges", default="1M")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    args = parser.parse_args()
    ways = {name: way for name, way in WAYS.items() if name in (USUAL, *args.ways)}
    found: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        data = {kind: Path(directory) / kind for kind in ("float32", "q8")}
        program = [sys.executable, "-m", "graphzero"]
        options = ["--nodes", args.nodes, "--edges", args.edges, "--dim", "32"]
        subprocess.run([*program, "generate", "--out", data["float32"], *options], check=True)
        subprocess.run([*program, "quantise", data["float32"], "--out", data["q8"]], check=True)
        clients = {kind: stack.enter_context(gz.connect(data=path)) for kind, path in data.items()}
        for seed in range(args.seeds):
            for name, (sampler, kind) in ways.items():
                model, nodes = train(clients[kind], sampler, seed, args.epochs)
                found[name].append(accuracy(clients[kind], data[kind], model))
                print(
                    f"seed {seed}, {name}: {found[name][-1]:.2f} %, {nodes:,.0f} nodes a batch",
                    flush=True,
                )
    usual = found[USUAL]
    for name, values in found.items():
        apart = [value - other for value, other in zip(values, usual, strict=True)]
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        print(
            f"{name}: {statistics.mean(values):.2f} % (deviation {spread:.2f}), "
            f"{statistics.mean(apart):+.2f} points ({min(apart):+.2f} to {max(apart):+.2f})"
        )


if __name__ == "__main__":
    main()
