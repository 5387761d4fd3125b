"""The data of this benchmark, written once, and the same as plain arrays for the peers."""

import subprocess
import sys
from pathlib import Path

import graphzero as gz
import numpy as np
from graphzero._engine import EdgeInput
from graphzero.base.resources import make_resources
from graphzero.conversion.compile_typed import NodeType, RelationEdges, compile_typed_graph

sys.path.append(str(Path(__file__).parent.parent / "sampling"))
import graphs

SEEDS = 200_000


def rmat_dataset(directory: Path) -> Path:
    """2.1 M nodes, 61 M edges with a heavy tail, random features: for loaders alone."""
    data = directory / "rmat"
    if data.exists():
        return data
    draft = directory / "draft"
    draft.mkdir(parents=True)
    shape = graphs.SHAPES["small"]
    nodes = 1 << shape.scale
    source, target = graphs.rmat_edges(shape)
    gz.write_graph(draft / "graph.gl", source, target, num_nodes=nodes, undirected=True)
    rng = np.random.default_rng(0)
    gz.write_features(draft / "x.gd", rng.standard_normal((nodes, 128), np.float32))
    gz.write_features(draft / "y.gd", rng.integers(0, 16, nodes))
    connected = np.flatnonzero(np.bincount(source, minlength=nodes))
    gz.write_features(draft / "train.gd", rng.permutation(connected)[:SEEDS], role="ids")
    draft.rename(data)
    return data


def typed_dataset(directory: Path) -> Path:
    """The same nodes and edges in two types and four relations: nodes with even ids are users, the
    others items, and every edge is stored in both directions."""
    data = directory / "rmat-typed"
    if data.exists():
        return data
    draft = directory / "draft"
    (draft / "user").mkdir(parents=True)
    (draft / "item").mkdir()
    shape = graphs.SHAPES["small"]
    count = 1 << (shape.scale - 1)
    source, target = graphs.rmat_edges(shape)
    names = ("user", "item")
    source_type, target_type = source % 2, target % 2
    source, target = source // 2, target // 2
    crossing = source_type != target_type
    user = np.where(source_type == 0, source, target)[crossing]
    item = np.where(source_type == 0, target, source)[crossing]
    relations = [
        RelationEdges("user", "likes", "item", EdgeInput.arrays("likes", user, item)),
        RelationEdges("item", "liked_by", "user", EdgeInput.arrays("liked_by", item, user)),
    ]
    for number, (kind, name) in enumerate(zip(names, ("follows", "similar"), strict=True)):
        within = (source_type == number) & (target_type == number)
        edges = EdgeInput.arrays(name, source[within], target[within])
        relations.append(RelationEdges(kind, name, kind, edges, undirected=True))
    compile_typed_graph(
        draft / "graph.gl",
        [NodeType(name, count) for name in names],
        relations,
        make_resources(None, None, draft),
    )
    rng = np.random.default_rng(0)
    for name in names:
        gz.write_features(draft / name / "x.gd", rng.standard_normal((count, 128), np.float32))
    gz.write_features(draft / "user/y.gd", rng.integers(0, 16, count))
    connected = np.flatnonzero(np.bincount(user, minlength=count))
    gz.write_features(draft / "user/train.gd", rng.permutation(connected)[:SEEDS], role="ids")
    draft.rename(data)
    return data


def planted_dataset(directory: Path) -> Path:
    """1 M nodes, 40 M edges with classes to learn: for training."""
    data = directory / "planted"
    if not data.exists():
        command = [sys.executable, "-m", "graphzero", "generate", str(data)]
        subprocess.run(command, check=True, capture_output=True)
    return data


def as_arrays(data: Path) -> Path:
    """A folder of .npy files: in-edges of each node, one after the other, and the columns."""
    target = data.with_name(f"{data.name}-arrays")
    if target.exists():
        return target
    draft = data.with_name("draft-arrays")
    draft.mkdir()
    # Both graphs are symmetric: out-edges are in-edges.
    indptr, indices = graphs.stored_arrays(data / "graph.gl")
    np.save(draft / "indptr.npy", indptr.astype(np.int64))
    np.save(draft / "indices.npy", indices.astype(np.int64))
    for column in data.glob("*.gd"):
        np.save(draft / f"{column.stem}.npy", gz.FeatureStore(column).get_tensor())
    draft.rename(target)
    return target
