"""`graphzero doctor [DIR]`: what to change about the machine or a dataset, and what it would bring.

Changes nothing, and takes a few seconds.
"""

import argparse
import json
import os
import textwrap
from dataclasses import asdict
from pathlib import Path

from graphzero.base.error_text import error_text
from graphzero.base.errors import GraphZeroError
from graphzero.base.text import line_text
from graphzero.diagnosis.finding import Finding, in_order_of_benefit

_EXIT_PROBLEM = 1
_MARKS = {"problem": "PROBLEM", "advice": "advice", "ok": "ok"}
_WIDTH = 100
_LONGEST = 2000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        type=Path,
        nargs="?",
        metavar="DIR",
        help="a dataset, or a directory of datasets, as for graphzero-server --data; its disk is "
        "probed for two seconds",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    findings = in_order_of_benefit(_findings(args.data))
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            print(_text(finding))
        changes = sum(finding.level != "ok" for finding in findings)
        print(f"\n{changes} to change, in order of benefit" if changes else "\nnothing to change")
    has_problem = any(finding.level == "problem" for finding in findings)
    return _EXIT_PROBLEM if has_problem else 0


def _findings(data: Path | None) -> list[Finding]:
    from graphzero.base.memory_division import divide_available_memory
    from graphzero.diagnosis.datasets import dataset_findings
    from graphzero.diagnosis.machine import machine_findings
    from graphzero.files.dataset import open_dataset
    from graphzero.files.paths import datasets

    memory = divide_available_memory(len(os.sched_getaffinity(0)), None, None, None)
    findings, opened = [], []
    for path in datasets(data) if data is not None else ():
        try:
            opened.append(open_dataset(path))
        except (GraphZeroError, OSError, ValueError) as error:
            found = Finding(
                "problem",
                path.name,
                f"cannot be opened: {error_text(error)}",
                f"graphzero verify {path}",
                "it can be served",
                factor=1000.0,
            )
            findings.append(found)
    files = sum(1 + len(dataset.columns) for dataset in opened)
    findings += machine_findings(memory, files)
    if opened:
        findings += dataset_findings(opened, memory)
    return findings


def _text(finding: Finding) -> str:
    """The lines of a finding, wrapped to _WIDTH columns."""
    head = f"{_MARKS[finding.level]:<8}{finding.subject}: {finding.found}"
    parts = [(head, " " * 8)]
    if finding.do:
        parts.append((f"        do: {finding.do}", " " * 12))
    if finding.brings:
        parts.append((f"        brings: {finding.brings}", " " * 16))
    lines: list[str] = []
    for text, indent in parts:
        lines += textwrap.wrap(
            line_text(text, _LONGEST),
            _WIDTH,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines)
