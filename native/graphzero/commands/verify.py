"""`graphzero verify PATH`: reads every byte and says what is wrong, where."""

from __future__ import annotations

import argparse
from pathlib import Path

from graphzero.base.text import size_text
from graphzero.commands.cli import EXIT_ERROR
from graphzero.files.verify import Verified, show_bytes, verify_all


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=Path,
        metavar="PATH",
        help="a .gl or .gd file, a dataset, or a directory of datasets",
    )


def run(args: argparse.Namespace) -> int:
    sound = True
    for result in verify_all(args.path, show_bytes):  # continues after a damaged file
        _print(result)
        sound = sound and not result.problems
    return 0 if sound else EXIT_ERROR


def _print(result: Verified) -> None:
    if result.unreadable:
        print(f"FAILED   {result.problems[-1]}", flush=True)
    elif result.problems:
        print(f"DAMAGED  {result.path}")
        for problem in result.problems:
            print(f"         {problem}", flush=True)
    else:
        print(f"ok       {result.path}  {size_text(result.byte_size)}", flush=True)
