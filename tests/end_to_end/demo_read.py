"""Opens a generated dataset and shows that neighbours tell more about a node than its features."""

import sys
from pathlib import Path

import graphzero as gz
import torch

dataset = Path(sys.argv[1])
graph = gz.Graph(dataset / "graph.gl")
features = gz.FeatureStore(dataset / "x.gd")
labels = torch.from_numpy(gz.FeatureStore(dataset / "y.gd").get_tensor())
train = gz.FeatureStore(dataset / "train.gd").get_tensor()[:20_000]
test = gz.FeatureStore(dataset / "test.gd").get_tensor()[:5_000]


def own(ids):
    return torch.from_numpy(features.gather(ids))


def neighbourhood(ids):
    return torch.stack([own(graph.get_neighbours(i)).mean(dim=0) for i in ids])


def accuracy(embed):
    """Of the nearest class mean."""
    x, y = embed(train), labels[train]
    means = torch.stack([x[y == c].mean(dim=0) for c in range(int(labels.max()) + 1)])
    found = torch.cdist(embed(test), means).argmin(dim=1)
    return (found == labels[test]).float().mean().item()


x = torch.from_numpy(features.get_tensor())
print(f"features: {tuple(x.shape)} {x.dtype}, a view of the file")
print(f"node 0:   degree {graph.get_degree(0)}, neighbours {graph.get_neighbours(0)[:5]} ...")
print(f"accuracy from a node's own features: {accuracy(own):.0%}")
print(f"accuracy from its neighbours':       {accuracy(neighbourhood):.0%}")
