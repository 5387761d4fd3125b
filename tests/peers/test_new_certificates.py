"""The file that peers are checked by: replaced while daemons run, and without a certificate."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from certificates import make_certificate
from graphzero.base.errors import InputError
from graphzero.server.settings.config import make_config
from sharded_daemons import deal, start_parts
from waiting import wait_until

CHANGED = "peers are checked by another certificate"


def reload(daemon: Any) -> None:
    before = daemon.output().count("reloaded ")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.output().count("reloaded ") > before, daemon.output)


@pytest.mark.slow
def test_a_reload_reads_the_certificate_of_peers_again(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path)
    root = shutil.copy(certificate, tmp_path / "ca.crt")
    tls = ("--tls-certificate", str(certificate), "--tls-key", str(key))
    access = ("--peer-root-certificate", str(root), "--row-cache", "0")
    first, second = start_parts(start_daemon, deal(dataset, tmp_path / "parts", 2), *tls, *access)
    with gz.connect(first.address, timeout=20) as client:
        expected = np.asarray(client.gather("x", range(100)))

        old = certificate.read_bytes()
        make_certificate(tmp_path)  # another one, in the same files
        shutil.copy(certificate, root)
        for daemon in (first, second):
            reload(daemon)
            assert daemon.output().count(CHANGED) == 1
        second.kill()
        second.start()
        assert np.array_equal(client.gather("x", range(100)), expected)

        # Both may stand in the file. New channels are opened at once, without a request.
        known = first.output().count("part 1 of 2 is at")
        root.write_bytes(old + certificate.read_bytes())
        reload(first)
        assert first.output().count(CHANGED) == 2
        wait_until(lambda: first.output().count("part 1 of 2 is at") > known, first.output)
        assert np.array_equal(client.gather("x", range(100)), expected)

        # A file without a certificate changes nothing, and that is told.
        root.write_text("junk")
        reload(first)
        told = f"stay as they were: --peer-root-certificate {root}: found no certificate"
        assert told in first.output()
        root.unlink()
        reload(first)
        told = f"stay as they were: --peer-root-certificate {root}: No such file"
        assert told in first.output()
        assert first.output().count(CHANGED) == 2
        root.write_bytes(certificate.read_bytes())  # which a daemon needs to start
        second.kill()
        second.start()
        assert np.array_equal(client.gather("x", range(100)), expected)


def test_a_file_without_a_certificate_is_refused_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    values = {"data": str(tmp_path), "peers": "there:7171", "peer-root-certificate": str(file)}
    config = make_config(values).peers
    with pytest.raises(InputError, match=f"^--peer-root-certificate {file}: No such file"):
        config.certificate(sends_token=True)
    file.write_text("junk\n")
    with pytest.raises(InputError, match=f"^--peer-root-certificate {file}: found no certificate"):
        config.certificate(sends_token=True)
