"""Results larger than the caches: every size of a row and place in memory."""

from pathlib import Path

import graphzero as gz
import numpy as np
import pytest

RESULT_BYTES = 5 << 20  # several threads' shares


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("row_bytes", [1, 4, 8, 12, 16, 64, 100, 256, 400, 512, 516, 6144, 70_000])
def test_rows_of_every_size_arrive_whole(tmp_path: Path, row_bytes: int, threads: int) -> None:
    rng = np.random.default_rng(row_bytes)
    values = rng.integers(0, 256, (300, row_bytes), np.uint8)
    gz.write_features(tmp_path / "x.gd", values)
    ids = rng.integers(0, len(values), RESULT_BYTES // row_bytes)
    rows = gz.FeatureStore(tmp_path / "x.gd").gather(ids, threads=threads)
    assert np.array_equal(rows, values[ids])


@pytest.mark.parametrize("shift", [0, 1, 15, 16, 17, 63])
@pytest.mark.parametrize("row_bytes", [400, 512, 516])
def test_nothing_beside_the_result_is_written(tmp_path: Path, row_bytes: int, shift: int) -> None:
    rng = np.random.default_rng(shift)
    values = rng.integers(0, 256, (300, row_bytes), np.uint8)
    gz.write_features(tmp_path / "x.gd", values)
    ids = rng.integers(0, len(values), RESULT_BYTES // row_bytes)
    size = len(ids) * row_bytes
    memory = np.full(size + 256, 0xA5, np.uint8)
    first = -memory.ctypes.data % 64 + shift
    out = memory[first : first + size].reshape(len(ids), row_bytes)
    gz.FeatureStore(tmp_path / "x.gd").gather(ids, out=out)
    assert np.array_equal(out, values[ids])
    assert (memory[:first] == 0xA5).all()
    assert (memory[first + size :] == 0xA5).all()


def test_padded_rows_are_packed(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random((300, 100), np.float32)
    gz.write_features(tmp_path / "x.gd", values, row_align=512)
    ids = np.random.default_rng(1).integers(0, 300, RESULT_BYTES // 400)
    assert np.array_equal(gz.FeatureStore(tmp_path / "x.gd").gather(ids), values[ids])
