"""`gz.FeatureStore` and `gz.DataType`: reading a matrix in this process."""

import inspect
import pickle
import sys

import golden
import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw

FLOATS = golden.DIRECTORY / "float32.gd"
VALUES = np.array([[1, 2], [3, 4.5], [-5, 6]], np.float32)


@pytest.fixture
def wide(tmp_path):
    """Rows of many sizes, enough of them to keep several threads busy."""
    values = np.arange(5000 * 100, dtype=np.float32).reshape(5000, 100)
    return values, gz.FeatureStore(rw.matrix(values).write(tmp_path / "wide.gd"))


def test_names_and_parameters_are_those_of_graphzero_0_2():
    assert list(inspect.signature(gz.FeatureStore.get_data).parameters) == ["self", "node_id"]
    assert list(inspect.signature(gz.FeatureStore.get_tensor).parameters) == ["self"]
    assert list(inspect.signature(gz.FeatureStore.__init__).parameters)[1] == "filename"
    for name in ("num_nodes", "feature_dim"):
        assert isinstance(getattr(gz.FeatureStore, name), property)


def test_data_types_keep_the_values_of_graphzero_0_2():
    values = {m.name: m.value for m in gz.DataType}
    assert [values.pop(n) for n in ("INT32", "INT64", "FLOAT32", "FLOAT64")] == [0, 1, 2, 3]
    assert set(values) == {"FLOAT16", "BFLOAT16", "INT8", "UINT8", "INT16", "BOOL"}


def test_shape_and_size_are_what_was_written():
    store = gz.FeatureStore(FLOATS)
    assert (store.num_nodes, store.feature_dim, store.shape) == (3, 2, (3, 2))
    assert store.dtype is gz.DataType.FLOAT32


def test_get_data_is_one_row_of_one_dimension():
    assert gz.FeatureStore(FLOATS).get_data(1).tolist() == [3, 4.5]
    labels = gz.FeatureStore(golden.DIRECTORY / "int64_1d.gd")
    assert labels.get_data(2).tolist() == [2**40]
    assert labels.feature_dim == 1


@pytest.mark.parametrize("node", [-1, 3, 2**64])
def test_a_row_outside_is_an_index_error_that_shows_it(node):
    with pytest.raises(IndexError, match=f"found {node}, expected 0 to 2"):
        gz.FeatureStore(FLOATS).get_data(node)


def test_ids_may_be_lists_arrays_and_tensors():
    torch = pytest.importorskip("torch")
    store = gz.FeatureStore(FLOATS)
    for ids in (
        [2, 0, 2],
        (2, 0, 2),
        np.array([2, 0, 2], np.uint8),
        np.array([2, 9, 0, 9, 2], np.int64)[::2],
        torch.tensor([2, 0, 2]),
        torch.tensor([2, 0, 2], dtype=torch.int32),
    ):
        np.testing.assert_array_equal(store.gather(ids), VALUES[[2, 0, 2]])


def test_a_dataset_instead_of_a_column_names_its_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "products").mkdir()
    for name in ("y", "x"):
        gz.write_features(f"products/{name}.gd", np.zeros(3))
    with pytest.raises(IsADirectoryError, match="cannot read as a file"):
        gz.FeatureStore("products")  # a folder with columns, but no dataset
    gz.write_graph("products/graph.gl", [0, 1], [1, 2])
    with pytest.raises(IsADirectoryError) as caught:
        gz.FeatureStore("products")
    columns = "products/x.gd, products/y.gd"
    assert str(caught.value) == f"'products' is a dataset; give one of its columns: {columns}"


def test_no_ids_give_no_rows():
    assert gz.FeatureStore(FLOATS).gather([]).shape == (0, 2)
    assert gz.FeatureStore(golden.DIRECTORY / "int64_1d.gd").gather([]).shape == (0,)


@pytest.mark.parametrize(
    ("ids", "position", "value"),
    [
        ([0, -1], 1, -1),
        ([3], 0, 3),
        ([0, 2**70], 1, 2**70),
        (np.array([2**63], np.uint64), 0, 2**63),
        (np.array([1, 2, -128], np.int8), 2, -128),
    ],
)
def test_an_id_outside_is_an_index_error_with_id_position_and_range(ids, position, value):
    with pytest.raises(IndexError, match=rf"ids\[{position}\]: found {value}, expected 0 to 2"):
        gz.FeatureStore(FLOATS).gather(ids)


@pytest.mark.parametrize("ids", [[0.0], [True], np.array([True, False, True]), ["0"], [None]])
def test_what_is_not_an_integer_is_not_an_id(ids):
    with pytest.raises(TypeError, match="expected integers"):
        gz.FeatureStore(FLOATS).gather(ids)


@pytest.mark.parametrize(
    ("ids", "message"),
    [(0, r"ids is 0, expected a list of ids such as \[0\]"), ([[0]], "expected one dimension")],
)
def test_ids_have_one_dimension(ids, message):
    with pytest.raises(ValueError, match=message):
        gz.FeatureStore(FLOATS).gather(ids)


@pytest.mark.parametrize("threads", [None, 1, 2, 8])
def test_gather_gives_the_same_rows_at_any_number_of_threads(wide, threads):
    values, store = wide
    ids = np.random.default_rng(0).integers(0, len(values), 20_000)
    np.testing.assert_array_equal(store.gather(ids, threads=threads), values[ids])


def test_threads_are_at_least_one():
    with pytest.raises(ValueError, match="threads"):
        gz.FeatureStore(FLOATS).gather([0], threads=0)


@pytest.mark.parametrize("item", golden.MATRICES, ids=lambda m: m.name)
def test_gather_gives_rows_of_every_type_without_padding(item):
    store = gz.FeatureStore(golden.DIRECTORY / item.name)
    ids = np.array([1, 0, 1])
    rows = store.gather(ids)
    if store.dtype is gz.DataType.BFLOAT16:
        torch = pytest.importorskip("torch")
        assert rows.dtype == torch.bfloat16
        rows = rows.view(torch.int16).numpy()
    np.testing.assert_array_equal(rows, item.values[ids])


def test_gather_fills_an_array_that_is_given():
    store = gz.FeatureStore(FLOATS)
    out = np.zeros((2, 2), np.float32)
    assert store.gather([2, 1], out=out) is out
    np.testing.assert_array_equal(out, VALUES[[2, 1]])


def test_gather_fills_a_tensor_that_is_given():
    torch = pytest.importorskip("torch")
    out = torch.zeros(2, 2)
    assert gz.FeatureStore(FLOATS).gather([2, 1], out=out) is out
    assert out.tolist() == VALUES[[2, 1]].tolist()
    bits = torch.zeros(1, 3, dtype=torch.bfloat16)
    gz.FeatureStore(golden.DIRECTORY / "bfloat16.gd").gather([0], out=bits)
    assert bits.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((2, 2), np.float64),
        np.zeros((3, 2), np.float32),
        np.zeros((2, 2), np.float32, order="F"),
        np.zeros((2, 4), np.float32)[:, ::2],
    ],
)
def test_an_array_that_does_not_fit_is_refused(out):
    with pytest.raises(ValueError, match="out:"):
        gz.FeatureStore(FLOATS).gather([0, 1], out=out)


def test_a_read_only_array_is_refused():
    out = np.zeros((1, 2), np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        gz.FeatureStore(FLOATS).gather([0], out=out)


def test_bfloat16_reaches_torch_as_it_is():
    torch = pytest.importorskip("torch")
    store = gz.FeatureStore(golden.DIRECTORY / "bfloat16.gd")
    tensor = store.get_tensor()
    assert tensor.dtype == torch.bfloat16
    assert tensor.tolist() == [[1, 2, 3], [-4, 0, float("inf")]]
    assert store.get_data(0).tolist() == [1, 2, 3]
    tensor[0, 0] = 8
    assert store.get_data(0)[0] == 8  # the same memory


def test_bfloat16_without_torch_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    store = gz.FeatureStore(golden.DIRECTORY / "bfloat16.gd")
    assert store.shape == (2, 3)
    with pytest.raises(ImportError, match=r"graphzero-server\[torch\]"):
        store.get_tensor()


def test_a_pickled_store_opens_the_same_file_again(monkeypatch):
    monkeypatch.chdir(golden.DIRECTORY)
    pickled = pickle.dumps(gz.FeatureStore("float32.gd"))
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(pickle.loads(pickled).get_tensor(), VALUES)


def test_a_directory_is_no_matrix(tmp_path):
    with pytest.raises(IsADirectoryError):
        gz.FeatureStore(tmp_path)


def test_verify_raises_at_damage_that_opening_does_not_see(tmp_path):
    damaged = bytearray(FLOATS.read_bytes())
    damaged[4096] ^= 1
    path = tmp_path / "x.gd"
    path.write_bytes(damaged)
    gz.FeatureStore(path)
    with pytest.raises(gz.FormatError, match="rows block 0"):
        gz.FeatureStore(path, verify=True)


def test_repr_says_what_it_is():
    assert repr(gz.FeatureStore(FLOATS)).endswith("float32.gd': float32 (3, 2))")
