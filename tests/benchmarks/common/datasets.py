"""The data of this benchmark, written once, and the same as plain arrays for the peers."""

import shutil
from pathlib import Path

import graphzero as gz
import numpy as np
from common import graphs
from graphzero._engine import EdgeInput
from graphzero.base.resources import make_resources
from graphzero.conversion.compile_typed import NodeType, RelationEdges, compile_typed_graph

SEEDS = 200_000


def rmat_dataset(directory: Path, name: str = "small") -> Path:
    """A heavy tail of degrees and random features: for loaders alone."""
    data = directory / f"rmat-{name}"
    if data.exists():
        return data
    draft = _new_draft(directory)
    shape = graphs.SHAPES[name]
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


def typed_dataset(directory: Path, shape_name: str = "small") -> Path:
    """The same nodes and edges in two types and four relations: nodes with even ids are users, the
    others items, and every edge is stored in both directions."""
    data = directory / f"rmat-typed-{shape_name}"
    if data.exists():
        return data
    draft = _new_draft(directory)
    (draft / "user").mkdir()
    (draft / "item").mkdir()
    shape = graphs.SHAPES[shape_name]
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


def generated_dataset(directory: Path, nodes: int, edges: int, dim: int = 128) -> Path:
    """A power-law graph with classes to learn; every edge is stored in both directions."""
    data = directory / f"generated-{nodes}-{edges}-{dim}"
    if not data.exists():
        directory.mkdir(parents=True, exist_ok=True)
        gz.generate(data, nodes=nodes, edges=edges, dim=dim)
    return data


def _new_draft(directory: Path) -> Path:
    """An empty directory, also where a run was stopped in the middle of another."""
    draft = directory / "draft"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    return draft


def as_arrays(data: Path) -> Path:
    """A folder of .npy files: in-edges of each node, one after the other, as ids of 32 and of 64
    bits, and the columns."""
    target = data.with_name(f"{data.name}-arrays")
    if target.exists():
        return target
    draft = _new_draft(data.parent)
    # All of these graphs are symmetric: out-edges are in-edges.
    indptr, indices = graphs.stored_arrays(data / "graph.gl")
    np.save(draft / "indptr.npy", indptr.astype(np.int64))
    np.save(draft / "indices.npy", indices.astype(np.int64))
    np.save(draft / "indices32.npy", indices.astype(np.int32))
    for column in data.glob("*.gd"):
        np.save(draft / f"{column.stem}.npy", gz.FeatureStore(column).get_tensor())
    # As many as any sampler is asked for at once, also where there are fewer nodes.
    np.save(draft / "seeds.npy", np.resize(np.load(draft / "train.npy"), SEEDS))
    (draft / "graph.gl").symlink_to(data.absolute() / "graph.gl")
    draft.rename(target)
    return target
