"""The `graphzero` command in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

GRAPHZERO = str(Path(sys.executable).with_name("graphzero"))

# Stands still at its first report, of which every job makes at least one.
_HELD = """
import sys, time
from graphzero.commands.cli import main
from graphzero.base.progress import JobProgress

def hold(*_):
    print("held", flush=True)
    # Short sleeps: Python runs a signal's handler between them, but a signal that comes a moment
    # before a sleep begins does not shorten it.
    while True:
        time.sleep(0.1)

JobProgress.__call__ = hold
sys.exit(main(sys.argv[1:]))
"""

# Becomes another user after everything is loaded: that one need not be able to read the package.
_AS_ANOTHER = """
import os, sys
import graphzero.commands.ping, graphzero.commands.sessions, graphzero.commands.top
import graphzero.client.daemon.daemon_calls
import graphzero.proto.graphzero_pb2_grpc, grpc_health.v1.health_pb2_grpc
from graphzero.commands.cli import main
user = int(sys.argv[1])
os.setgroups([])
os.setgid(user)
os.setuid(user)
sys.exit(main(sys.argv[2:]))
"""


def run_graphzero(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """`graphzero ARGUMENTS`, which ends by itself."""
    command = [GRAPHZERO, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def run_graphzero_as(
    user: int, *arguments: object, **options: Any
) -> subprocess.CompletedProcess[str]:
    """`graphzero ping`, `sessions` or `top` by another user and in that one's group; needs root."""
    command = [sys.executable, "-c", _AS_ANOTHER, str(user), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def hold_graphzero(*arguments: object) -> subprocess.Popen[str]:
    """`graphzero ARGUMENTS` that stands still in the middle of its work: signals surely meet it
    there, however quick the machine is."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HELD, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    if process.stdout.readline() != "held\n":
        raise AssertionError(f"it ended before it reported anything: {process.communicate()[1]}")
    return process
