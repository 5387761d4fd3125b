"""Parts that were dealt with different options: the same dataset, but they do not fit together."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from graphzero.files.dataset import open_dataset
from sharded_daemons import deal, start_parts

pytestmark = pytest.mark.slow

# A daemon that says nothing about its layout, as older ones.
OLDER = """
import graphzero.server.datasets.describe as describe
real = describe._describe
def without_layout(dataset, room):
    found = real(dataset, room)
    found.shard.ClearField("layout")
    for column in found.columns:
        column.ClearField("block_rows")
    return found
describe._describe = without_layout
"""


def deal_two(dataset: Path, folder: Path, **options: Any) -> list[Path]:
    """Part 0, and part 1 with these options, as on two machines."""
    (first,) = deal(dataset, folder / "one", 2, part=0)
    (second,) = deal(dataset, folder / "other", 2, part=1, **options)
    return [first, second]


def test_what_differs_is_named_with_the_remedy(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    parts = deal_two(dataset, tmp_path, block_rows=100, keep=["y"])
    assert len({open_dataset(part).fingerprint for part in parts}) == 1
    daemons = start_parts(start_daemon, parts)
    with gz.connect(daemons[0].address) as client, pytest.raises(gz.InvalidRequest) as failure:
        client.gather("x", range(100))
    text = str(failure.value)
    assert "no peer has part 1 of 2" in text
    assert f"{daemons[1].tcp_address} has part 1 of 2 with fingerprint" in text
    assert "column 'x' is in blocks of 100 rows there and in blocks of 7 rows here" in text
    assert "column 'y' is whole there and in blocks of 7 rows here" in text
    assert "run graphzero shard again with the same options for all parts" in text
    with gz.connect(daemons[1].address) as client, pytest.raises(gz.InvalidRequest) as failure:
        client.gather("x", range(100))
    text = str(failure.value)
    assert "column 'x' is in blocks of 7 rows there and in blocks of 100 rows here" in text
    assert "column 'y' is in blocks of 7 rows there and whole here" in text


def test_a_part_that_is_dealt_otherwise_meanwhile_is_a_changed_dataset(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    parts = deal_two(dataset, tmp_path)
    (other,) = deal(dataset, tmp_path / "again", 2, part=1, block_rows=100)
    first, second = start_parts(start_daemon, parts, "--row-cache", "0")
    with gz.connect(first.address) as client:
        expected = np.asarray(client.gather("x", range(300)))
        _engine.exchange_names(str(parts[1]), str(other))
        second.process.send_signal(signal.SIGHUP)
        second.wait_for_output("reloaded 1 datasets")
        with pytest.raises(gz.DatasetChanged, match="dealt otherwise than the part here"):
            client.gather("x", range(300))
        _engine.exchange_names(str(parts[1]), str(other))
        second.kill()
        second.start()
        assert np.array_equal(client.gather("x", range(300)), expected)


def test_an_older_daemon_that_says_no_layout_is_accepted(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    daemons = start_parts(start_daemon, deal(dataset, tmp_path, 2), setup=OLDER)
    with gz.connect(start_daemon(dataset).address) as whole:
        for daemon in daemons:
            with gz.connect(daemon.address) as client:
                found = client.gather("x", range(300))
                assert np.array_equal(found, whole.gather("x", range(300)))
