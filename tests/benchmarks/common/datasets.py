"""The data of this benchmark, written once, and the same as plain arrays for the peers."""

import shutil
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
from common import graphs
from common.contender import TIME_SPAN, TYPES
from graphzero._engine import EdgeInput
from graphzero.base.resources import make_resources
from graphzero.conversion.compile_typed import NodeType, RelationEdges, compile_typed_graph

SEEDS = 200_000
Array = np.ndarray[Any, Any]


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
    shape = graphs.SHAPES[shape_name]
    source, target = graphs.rmat_edges(shape)
    _write_typed(draft / "graph.gl", shape, source, target)
    count = 1 << (shape.scale - 1)
    rng = np.random.default_rng(0)
    for name in TYPES:
        (draft / name).mkdir()
        gz.write_features(draft / name / "x.gd", rng.standard_normal((count, 128), np.float32))
    gz.write_features(draft / "user/y.gd", rng.integers(0, 16, count))
    user = np.concatenate([source[source % 2 == 0], target[target % 2 == 0]]) // 2
    connected = np.flatnonzero(np.bincount(user, minlength=count))
    gz.write_features(draft / "user/train.gd", rng.permutation(connected)[:SEEDS], role="ids")
    draft.rename(data)
    return data


def typed_graphs(directory: Path, shape_name: str = "small") -> Path:
    """For samplers alone: a folder with the same edges without types (plain.gl), with types
    (typed.gl), and these with times (timed.gl), weights (weighted.gl) and both
    (weighted_timed.gl). Both directions of an edge have the same random time and weight.

    seeds.npy has ids of plain.gl, which are of both types. The other arrays are the typed graph as
    GraphBolt takes it: users are numbered before items, and the edges into a node are ordered by
    their relation.
    """
    folder = directory / f"rmat-typed-{shape_name}-graphs"
    if folder.exists():
        return folder
    linked = {
        "plain.gl": rmat_dataset(directory, shape_name) / "graph.gl",
        "typed.gl": typed_dataset(directory, shape_name) / "graph.gl",
    }
    draft = _new_draft(directory)
    for name, file in linked.items():
        (draft / name).symlink_to(file.absolute())
    shape = graphs.SHAPES[shape_name]
    source, target = graphs.rmat_edges(shape)
    rng = np.random.default_rng(5)
    times = rng.integers(0, TIME_SPAN, len(source))
    weights = rng.random(len(source), np.float32)
    _write_typed(draft / "timed.gl", shape, source, target, times=times)
    _write_typed(draft / "weighted.gl", shape, source, target, weights=weights)
    _write_typed(draft / "weighted_timed.gl", shape, source, target, times=times, weights=weights)
    _save_fused(draft, 1 << shape.scale, source, target, times)
    connected = np.flatnonzero(np.bincount(source, minlength=1 << shape.scale))
    np.save(draft / "seeds.npy", np.resize(rng.permutation(connected)[:SEEDS], SEEDS))
    draft.rename(folder)
    return folder


def _write_typed(
    path: Path, shape: graphs.Shape, source: Array, target: Array, **columns: Array
) -> None:
    """`columns`: times or weights of the edges."""
    source_type, target_type = source % 2, target % 2
    source, target = source // 2, target // 2
    crossing = source_type != target_type
    user = np.where(source_type == 0, source, target)[crossing]
    item = np.where(source_type == 0, target, source)[crossing]

    def edges(name: str, ends: tuple[Array, Array], chosen: Array) -> EdgeInput:
        # Its arguments after the ends are weights and times.
        own = [columns[key][chosen] if key in columns else None for key in ("weights", "times")]
        return EdgeInput.arrays(name, *ends, *own)

    relations = [
        RelationEdges("user", "likes", "item", edges("likes", (user, item), crossing)),
        RelationEdges("item", "liked_by", "user", edges("liked_by", (item, user), crossing)),
    ]
    for number, (kind, name) in enumerate(zip(TYPES, ("follows", "similar"), strict=True)):
        within = (source_type == number) & (target_type == number)
        own = edges(name, (source[within], target[within]), within)
        relations.append(RelationEdges(kind, name, kind, own, undirected=True))
    compile_typed_graph(
        path,
        [NodeType(name, 1 << (shape.scale - 1)) for name in TYPES],
        [relation._replace(direction="in") for relation in relations],
        make_resources(None, None, path.parent),
    )


def _save_fused(folder: Path, nodes: int, source: Array, target: Array, times: Array) -> None:
    """The typed graph as one matrix of in-edges, with the number of its relation and the time of
    each edge. Relations have the numbers of _write_typed."""
    loop = source == target  # stored once
    row = np.concatenate([target, source[~loop]]).astype(np.int64)
    column = np.concatenate([source, target[~loop]]).astype(np.int64)
    times = np.concatenate([times, times[~loop]])
    # By the type of the source and of the target: follows, likes, liked_by, similar.
    relation = np.array([[2, 0], [1, 3]], np.int64)[column % 2, row % 2]
    row = row % 2 * (nodes // 2) + row // 2
    order = np.argsort(row * 4 + relation, kind="stable")
    indices = (column % 2 * (nodes // 2) + column // 2)[order]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=nodes))])
    np.save(folder / "indptr.npy", indptr)
    np.save(folder / "indices.npy", indices)
    np.save(folder / "indices32.npy", indices.astype(np.int32))
    np.save(folder / "relation.npy", relation[order].astype(np.uint8))
    np.save(folder / "times.npy", times[order])


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
