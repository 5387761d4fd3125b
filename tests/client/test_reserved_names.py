"""Columns called like fields of a batch: refused when written, left out when found."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero.client.batches.batch import Batch
from graphzero.client.errors import NotFound
from graphzero.files.dataset import open_dataset

NAMES = ["n_id", "edge_index", "e_id", "edge_scale", "batch", "source_index", "target_index"]


@pytest.mark.parametrize("name", [*NAMES, "edge_weight", "nodes", "lengths"])
def test_such_a_column_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(gz.InputError, match=f"{name}.*choose another name"):
        gz.write_features(tmp_path / f"{name}.gd", np.zeros(3))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_such_a_column_of_an_older_dataset_hides_nothing(
    tmp_path: Path, start_daemon: Callable[..., Any], dataset: Path, name: str
) -> None:
    copy = tmp_path / "older"
    shutil.copytree(dataset, copy)
    shutil.copy(copy / "y.gd", copy / f"{name}.gd")
    opened = open_dataset(copy)
    assert name not in opened.columns
    assert opened.left_out == (name,)
    if name != "n_id":
        return
    daemon = start_daemon(copy)
    assert f"older/{name} is not served" in daemon.output()
    with gz.connect(daemon.address) as client:
        batch: Batch = client.sample([5, 7], [2])
        assert batch.n_id[:2].tolist() == [5, 7]
        with pytest.raises(NotFound):
            client.gather(name, [1])
