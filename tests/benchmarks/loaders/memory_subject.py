"""Memory against trainers: all processes of each system, with 1, 2 and 4 trainers.

The sum over all processes, workers and daemon included, of anonymous, shared and file pages, each
page counted once. Peers run with their best setting, and once more with their arrays mapped from
files instead of loaded, so that their processes share one copy. Pages of files belong to the page
cache, and the kernel takes them back when memory is short; the others it cannot.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from common.datasets import as_arrays, rmat_dataset
from common.rounds import Turn, medians, take_turns
from common.settings import Settings
from loaders.subject import COLUMNS, DGL, OURS, PYG, dgl, pyg, served
from report.document import Subject

COUNTS = (1, 2, 4)
SAME_TORCH = f"{OURS}, DGL's torch"


def measure(settings: Settings, loaders: Subject) -> Subject:
    settings = replace(settings, seconds=min(settings.seconds, 2.0))
    data = rmat_dataset(settings.directory, settings.shape)
    subject = Subject("memory", "Memory", __doc__.partition("\n\n")[2], COLUMNS[4:])
    contenders: dict[str, Callable[[], Turn]] = {}
    counts = COUNTS[:2] if settings.quick else COUNTS
    for count in counts:
        contenders[_name(OURS, count)] = served(data, settings, count)
        if settings.peers.dgl_has_ours and settings.peers.dgl and not settings.quick:
            under = served(data, settings, count, settings.peers.dgl)
            contenders[_name(SAME_TORCH, count)] = under
    for peer, make in ((DGL, dgl), (PYG, pyg)):
        for setting in loaders.facts["best"][peer]:
            pattern = r"workers (\d+), threads (\d+), (?:(32|64)-|rows in the (\w+))"
            found = re.search(pattern, setting)
            assert found is not None, setting
            workers, threads, how = int(found[1]), int(found[2]), found[3] or found[4]
            # PyG copies its edges in any case.
            for way in ("loaded", "mapped") if peer == DGL else ("loaded",):
                for count in counts:
                    contenders[_name(f"{peer}, {way}", count)] = make(
                        as_arrays(data), settings, workers, threads, how, way, count
                    )
    subject.turns = take_turns(contenders, 1, subject.skipped)
    subject.facts["added_mb"] = added = _added(subject)
    for system, sizes in added.items():
        subject.notes.append(
            f"{system}: each added trainer takes {sizes['total']:,.0f} MB "
            f"({sizes['anonymous']:,.0f} anonymous, {sizes['shared']:,.0f} shared, "
            f"{sizes['files']:,.0f} of files)."
        )
    return subject


def systems(subject: Subject) -> list[str]:
    return list(dict.fromkeys(name.rpartition(", ")[0] for name in subject.turns))


def megabytes(subject: Subject, system: str, kind: str = "total") -> dict[int, float]:
    """Medians by number of trainers."""
    return {
        count: medians(subject.turns[_name(system, count)], f"{kind}_mb").median
        for count in COUNTS
        if _name(system, count) in subject.turns
    }


def _added(subject: Subject) -> dict[str, dict[str, float]]:
    """What remains for each trainer beyond the first, by kind of memory."""
    added = {}
    for system in systems(subject):
        kinds = {}
        for kind in ("anonymous", "shared", "files", "total"):
            sizes = megabytes(subject, system, kind)
            if len(sizes) > 1:
                first, last = min(sizes), max(sizes)
                kinds[kind] = (sizes[last] - sizes[first]) / (last - first)
        if kinds:
            added[system] = kinds
    return added


def _name(system: str, count: int) -> str:
    return f"{system}, {count} trainer{'s' * (count > 1)}"
