"""Parts that are replaced by those of another version while sessions use them."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from sharded_daemons import deal, start_parts

pytestmark = pytest.mark.slow


def versions(folder: Path) -> list[list[Path]]:
    """Two parts of each of two versions."""
    for seed in (1, 2):
        gz.generate(folder / f"v{seed}", nodes=500, edges=2000, dim=8, seed=seed)
    return [deal(folder / f"v{seed}", folder / f"parts of v{seed}", 2) for seed in (1, 2)]


def replace(daemon: Any, now: Path, other: Path) -> None:
    _engine.exchange_names(str(now), str(other))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for_output("reloaded 1 datasets")


def test_peers_answer_for_the_version_that_their_own_sessions_keep(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    old, new = versions(tmp_path)
    daemons = start_parts(start_daemon, old, "--row-cache", "0")
    with gz.connect(daemons[0].address) as first, gz.connect(daemons[1].address) as second:
        expected = np.asarray(first.gather("x", range(100)))
        assert np.array_equal(second.gather("x", range(100)), expected)
        for daemon, now, other in zip(daemons, old, new, strict=True):
            replace(daemon, now, other)
            for client in (first, second):
                assert np.array_equal(client.gather("x", range(100)), expected)
        for daemon in daemons:
            with gz.connect(daemon.address) as later:
                assert not np.array_equal(later.gather("x", range(100)), expected)
        # Asking for the new version has told all daemons what the others list now.
        for client in (first, second):
            assert np.array_equal(client.gather("x", range(100)), expected)


def test_a_version_that_peers_have_dropped_is_a_changed_dataset(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    old, new = versions(tmp_path)
    first, second = start_parts(start_daemon, old, "--row-cache", "0")
    with gz.connect(first.address) as client:
        client.gather("x", range(100))
        replace(second, old[1], new[1])
        with pytest.raises(gz.DatasetChanged, match="replaced on other machines: no peer has part"):
            client.gather("x", range(100))
        assert client.gather("x", range(7)).shape == (7, 8)  # its own rows need nobody
        replace(first, old[0], new[0])
        with gz.connect(first.address) as later:
            assert later.gather("x", range(100)).shape == (100, 8)
