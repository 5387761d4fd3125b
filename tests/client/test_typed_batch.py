"""Batches of a graph with types: fields as HeteroData has them, copies, layers."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from graphzero.client.batches.typed_batch import TypedBatch, typed_batch_of_reply
from graphzero.client.memory.results import Reply, Tensor
from graphzero.files.dtypes import DataType
from graphzero.files.schema import NodeType, Relation, Schema
from graphzero.proto import graphzero_pb2 as pb

RATES, REV = ("user", "rates", "movie"), ("movie", "rev_rates", "user")
LIKES = ("user", "likes", "user")
SCHEMA = Schema(
    (NodeType("user", 100), NodeType("movie", 50)),
    (
        Relation(0, "rates", 1, 0, RATES),
        Relation(0, "likes", 0, 1, LIKES),
        Relation(1, "rev_rates", 0, 0, REV, is_view=True),
    ),
)
# Two seeds, users 5 and 6: user 5 likes no one and rated movie 3, which user 8 rated.
TENSORS = {
    "user/n_id": np.array([5, 6, 8]),
    "movie/n_id": np.array([3]),
    "user.rates.movie/edge_index": np.array([[2], [0]]),
    "user.rates.movie/e_id": np.array([17]),
    "user.likes.user/edge_index": np.empty((2, 0), np.int64),
    "movie.rev_rates.user/edge_index": np.array([[0], [0]]),
    "movie.rev_rates.user/e_id": np.array([11]),
    "user/x": np.arange(6, dtype=np.float32).reshape(3, 2),
    "movie/x": np.ones((1, 4), np.float32),
    "movie/year": np.array([1999], np.int16),
    "user.rates.movie/rating": np.array([4], np.int8),
    "movie.rev_rates.user/rating": np.array([2], np.int8),
}


def make(more: dict[str, Any] | None = None, **options: Any) -> TypedBatch:
    """A batch of its own memory, as if a daemon had sent it."""
    arrays = {**TENSORS, **(more or {})}
    tensors = {
        key: Tensor(np.array(array), DataType[str(array.dtype).upper()])
        for key, array in arrays.items()
    }
    result = pb.Result(
        seed=9,
        type_counts=[
            pb.TypeCounts(num_sampled_nodes=[2, 0, 1], batch_size=2),
            pb.TypeCounts(num_sampled_nodes=[0, 1, 0]),
        ],
        relation_counts=[
            pb.RelationCounts(num_sampled_edges=[0, 1]),
            pb.RelationCounts(num_sampled_edges=[0, 0]),
            pb.RelationCounts(num_sampled_edges=[1, 0]),
        ],
    )
    return typed_batch_of_reply(SCHEMA, Reply(tensors, result), **options)


def tensors_of(batch: TypedBatch) -> dict[Any, torch.Tensor]:
    owners = (*batch.node_types, *batch.edge_types)
    return {(owner, name): batch[owner][name] for owner in owners for name in batch[owner]}


def test_fields_belong_to_types_and_relations() -> None:
    batch = make()
    assert batch.node_types == ["user", "movie"]
    assert batch.edge_types == [RATES, LIKES, REV]
    assert batch.metadata() == (batch.node_types, batch.edge_types)
    assert batch["user"].n_id.tolist() == [5, 6, 8]
    assert batch["user"].x is batch["user"]["x"]
    assert batch["movie"].year.dtype == torch.int16
    assert batch[RATES].edge_index.tolist() == [[2], [0]]
    assert batch["user", "rates", "movie"].rating.tolist() == [4]
    assert batch[REV].rating.tolist() == [2]
    assert batch["user"].keys() == ["n_id", "x"]
    assert list(batch["movie"]) == ["n_id", "x", "year"]
    assert "x" in batch["user"]
    assert "year" not in batch["user"]
    assert "movie" in batch
    assert REV in batch
    assert "film" not in batch


def test_a_relation_is_found_by_what_only_it_has() -> None:
    batch = make()
    assert batch["likes"] is batch[LIKES]
    assert batch["movie", "user"] is batch[REV]
    with pytest.raises(KeyError, match=r"no \('movie', 'movie'\), it has \('user', 'rates'"):
        batch["movie", "movie"]
    with pytest.raises(KeyError, match="no 'film', it has 'user', 'movie'"):
        batch["film"]


def test_counts_of_hops() -> None:
    batch = make()
    assert (batch["user"].batch_size, batch["movie"].batch_size) == (2, 0)
    assert (batch["user"].num_nodes, batch[RATES].num_edges, batch[LIKES].num_edges) == (3, 1, 0)
    assert batch.num_sampled_nodes == {"user": [2, 0, 1], "movie": [0, 1, 0]}
    assert batch.num_sampled_edges == {RATES: [0, 1], LIKES: [0, 0], REV: [1, 0]}
    assert batch.num_sampled_nodes_dict == batch.num_sampled_nodes


def test_one_field_of_all_that_have_it() -> None:
    batch = make()
    assert list(batch.x_dict) == ["user", "movie"]
    assert batch.x_dict["user"] is batch["user"].x
    assert list(batch.edge_index_dict) == [RATES, LIKES, REV]
    assert list(batch.e_id_dict) == [RATES, REV]
    assert batch.collect("year") == {"movie": batch["movie"].year}
    with pytest.raises(AttributeError, match="no type and no relation of the sample has 'z'"):
        _ = batch.z_dict


def test_what_is_missing_is_none_or_named() -> None:
    batch = make()
    assert batch["user"].batch is None
    assert batch[LIKES].e_id is None
    assert batch[RATES].edge_weight is None
    assert batch.source_index is None
    assert batch.seed_time is None
    with pytest.raises(AttributeError, match="type 'user' of the batch has no 'z', it has n_id, x"):
        _ = batch["user"].z
    with pytest.raises(KeyError, match=r"'rates', 'movie'.* has no 'z'"):
        batch[RATES]["z"]
    with pytest.raises(AttributeError, match=r'no \'x\': fields belong.* sample\["user"\].x'):
        _ = batch.x


def test_what_is_set_is_found_everywhere() -> None:
    batch = make()
    batch["user"].x = torch.zeros(3, 7)
    batch[RATES]["seen"] = torch.ones(1)
    assert batch.x_dict["user"].shape == (3, 7)
    assert batch[RATES].seen.item() == 1
    assert batch.clone()["user"].x.shape == (3, 7)


def test_copies_and_views() -> None:
    batch = make()
    copy, arrays = batch.clone(), batch.numpy()
    assert isinstance(arrays["user"].x, np.ndarray)
    arrays["user"].x[0] = 9
    assert batch["user"].x[0, 0] == 9
    assert copy["user"].x[0, 0] == 0
    assert isinstance(arrays.clone()["user"].x, np.ndarray)
    assert batch.to("cpu")["user"].x is batch["user"].x
    assert all(tensor.is_meta for tensor in tensors_of(batch.to("meta")).values())
    assert copy.num_sampled_nodes == batch.num_sampled_nodes
    assert copy.num_sampled_edges == batch.num_sampled_edges


def test_a_released_batch_says_so() -> None:
    batch = make()
    users = batch["user"]
    with batch:
        x = users.x
    batch.release()
    for use in (lambda: users.x, lambda: batch[RATES].edge_index, lambda: batch.x_dict):
        with pytest.raises(RuntimeError, match="was released"):
            use()
    assert repr(batch) == "TypedBatch(released)"
    assert x.shape == (3, 2)


@pytest.mark.parametrize("as_arrays", [False, True])
def test_pickling_copies(as_arrays: bool) -> None:
    batch = make({"source_index": np.array([0]), "target_index": np.array([0])})
    if as_arrays:
        batch = batch.numpy()
    copy = pickle.loads(pickle.dumps(batch))
    batch["user"].n_id[:] = 0
    assert copy["user"].n_id.tolist() == [5, 6, 8]
    assert copy["user"].batch_size == 2
    assert copy.source_index.tolist() == [0]
    assert copy.seed == 9
    assert copy.num_sampled_edges == batch.num_sampled_edges
    assert isinstance(copy["user"].x, np.ndarray) == as_arrays
    assert list(pickle.loads(pickle.dumps(batch["movie"]))) == ["n_id", "x", "year"]


def test_half_precision_is_widened_on_request() -> None:
    halves = {"user/h": np.ones((3, 2), np.float16)}
    assert make(halves)["user"].h.dtype == torch.float16
    assert make(halves, upcast=True)["user"].h.dtype == torch.float32
    assert make(halves, upcast=True).h_dict["user"].dtype == torch.float32


def test_repr_shows_the_shapes() -> None:
    shown = repr(make())
    assert shown.startswith("TypedBatch(user={n_id=[3], x=[3, 2], batch_size=2}, movie={n_id=[1]")
    assert "(user, likes, user)={edge_index=[2, 0]}" in shown


def test_a_batch_lists_its_fields() -> None:
    batch = make()
    assert {"x_dict", "n_id_dict", "edge_index_dict", "rating_dict", "to_pyg"} <= set(dir(batch))
    assert {"n_id", "x", "year", "num_nodes"} <= set(dir(batch["movie"]))
    assert {"edge_index", "e_id", "rating", "num_edges"} <= set(dir(batch[RATES]))
    batch.release()
    assert "x_dict" not in dir(batch)
    assert "x" not in dir(batch["movie"])


def test_a_result_of_another_schema_is_refused() -> None:
    with pytest.raises(KeyError, match="tensors of film"):
        make({"film/n_id": np.arange(2)})
    with pytest.raises(KeyError):
        typed_batch_of_reply(SCHEMA, Reply({}, pb.Result(type_counts=[{}, {}])))
    with pytest.raises(ValueError, match="shorter"):
        typed_batch_of_reply(SCHEMA, Reply({}, pb.Result()))


def test_layers_are_nested_and_destinations_come_first() -> None:
    batch = make()
    first, last = layers = batch.layers()
    assert (first.num_src, first.num_dst) == ({"user": 3, "movie": 1}, {"user": 2, "movie": 1})
    assert (last.num_src, last.num_dst) == ({"user": 2, "movie": 1}, {"user": 2, "movie": 0})
    assert torch.equal(first.edge_index[RATES], batch[RATES].edge_index)
    assert last.edge_index[RATES].shape == (2, 0)
    assert last.e_id[REV].tolist() == [11]
    assert list(first.e_id) == [RATES, REV]
    assert first.edge_weight == {}
    assert first.n_id["user"].data_ptr() == batch["user"].n_id.data_ptr()
    for earlier, later in itertools.pairwise(layers):
        assert earlier.num_dst == later.num_src


def test_edges_that_do_not_lie_hop_by_hop_have_no_layers() -> None:
    batch = make()
    batch[RATES].num_sampled_edges = []
    with pytest.raises(ValueError, match="not in the order of hops"):
        batch.layers()
    batch = make()
    batch[RATES].edge_index = torch.tensor([[0], [1]])
    with pytest.raises(ValueError, match="do not point to its seeds"):
        batch.layers()


def test_pyg_gets_the_fields_of_its_loaders() -> None:
    data = make({"user/batch": np.array([0, 1, 0]), "seed_time": np.array([7, 8])}).to_pyg()
    assert data.metadata() == (["user", "movie"], [RATES, LIKES, REV])
    assert data["user"].batch_size == 2
    assert data["user"].seed_time.tolist() == [7, 8]
    assert data["user"].batch.tolist() == [0, 1, 0]
    assert data["user"].num_sampled_nodes == [2, 0, 1]
    assert "batch_size" not in data["movie"]
    assert "seed_time" not in data["movie"]
    assert data["movie"].num_nodes == 1
    assert data[RATES].num_sampled_edges == [0, 1]
    assert "e_id" not in data[LIKES]
    assert list(data.x_dict) == ["user", "movie"]
    data.validate()
