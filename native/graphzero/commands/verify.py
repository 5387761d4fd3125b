"""`graphzero verify PATH`: reads every byte and says what is wrong, where."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from graphzero.base.text import counted_text, size_text
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
    results = []
    for result in verify_all(args.path, show_bytes):  # continues after a damaged file
        _print(result)
        results.append(result)
    if len(results) > 1:
        print(_summary(results))
    return EXIT_ERROR if any(result.problems for result in results) else 0


def _summary(results: Sequence[Verified]) -> str:
    """All results in a line. Those of whole datasets say that files do not fit together."""
    files = [result for result in results if not result.path.is_dir()]
    total = counted_text(len(files), "file")
    unreadable = sum(result.unreadable for result in files)
    damaged = sum(bool(result.problems) for result in files) - unreadable
    parts = []
    if damaged:
        parts.append(f"{damaged:,} of {total} {'is' if damaged == 1 else 'are'} damaged")
    if unreadable:
        parts.append(f"{unreadable:,} of {total} could not be read")
    if len(files) < len(results):
        parts.append(f"{total}, of which some do not fit together")
    return "; ".join(parts) or f"{total}, all intact"


def _print(result: Verified) -> None:
    if result.unreadable:
        print(f"FAILED   {result.problems[-1]}", flush=True)
    elif result.problems:
        print(f"DAMAGED  {result.path}")
        for problem in result.problems:
            print(f"         {problem}", flush=True)
    else:
        print(f"ok       {result.path}  {size_text(result.byte_size)}", flush=True)
