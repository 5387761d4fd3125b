"""The README's section "How fast", made from a stored report.

    python tests/benchmarks/report/readme.py [build/bench/report/report.json]

With a report it is stored first (results/two-cores.json, and its plot); then the section is written
anew. A test compares the two, so that no figure of the README is typed by hand.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from common.rounds import medians
from loaders.memory_subject import megabytes
from loaders.subject import DGL, ONE, OURS, PYG, headline
from report.document import Ratio, Report

ROOT = Path(__file__).parents[3]
STORED = ROOT / "tests/benchmarks/results/two-cores.json"
README = ROOT / "README.md"
HEADING, NEXT = "## How fast\n", "\n## What it does not do"
WIDTH = 118
PLOT = "![Batches a second, and memory against trainers](tests/benchmarks/results/two-cores.svg)"
CLOSING = (
    "`make bench` measures all of it on your machine, installs the peers by itself and writes a "
    "report; [`tests/benchmarks/`](tests/benchmarks/README.md) says how. `graphzero bench DIR` "
    "takes a minute."
)
TITLES = {DGL: "DGL 2.1 GraphBolt", PYG: "PyG 2.8"}


def section(report: Report) -> str:
    """From its heading to the line before the next one."""
    parts = [_setting(report), "\n".join(_table(report)), PLOT, *_items(report)]
    parts += [_slower(report), f"{_not_measured(report)} {CLOSING}"]
    texts = [part if part[0] in "|!" else _wrapped(part) for part in parts]
    # Items of a list stand together.
    joined = "\n\n".join(texts).replace("\n\n- ", "\n- ").replace("\n- ", "\n\n- ", 1)
    return f"{HEADING}\n{joined}\n"


def _wrapped(text: str) -> str:
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def current(readme: str) -> str:
    """The section as it stands in the README."""
    return HEADING + readme.partition(HEADING)[2].partition(NEXT)[0]


def _setting(report: Report) -> str:
    facts, machine = report.subjects["loaders"].facts, report.machine
    size = medians(report.subjects["loaders"].turns[ONE], "batch_mib").median
    virtual = "a virtual machine with " if machine["virtual"] else ""
    return (
        f"Loaders alone, all data in memory, on {virtual}{machine['processors']} processors "
        f"({machine['processor']}): {facts['nodes'] / 1e6:.1f} M nodes, "
        f"{facts['graph'].partition('/')[2]} edges, batches of {facts['batch']} seeds x "
        f"{facts['fanout']} with 128 float32 features of every node ({size:.0f} MiB). Medians of "
        f"{facts['rounds']} turns that alternate (least to most). Pages of all processes: "
        "anonymous, shared, and those of files, which the kernel can take back."
        f"{_load(report)}"
    )


def _load(report: Report) -> str:
    load = report.machine["load_at_start"]
    if load < 1:
        return ""
    return (
        f" **The machine was busy with other work (load {load:.0f}): ratios say something, rates "
        "do not.**"
    )


def _table(report: Report) -> Iterator[str]:
    loaders, memory = report.subjects["loaders"], report.subjects.get("memory")
    yield "| | batches/s | memory without files, with them | for each added trainer |"
    yield "|---|---|---|---|"
    rows = [("graphzero, one trainer", ONE, OURS, 1)]
    rows.append(("graphzero, four trainers together", f"{OURS}, 4 trainers", OURS, 4))
    for peer in (DGL, PYG):
        for name in loaders.facts["best"][peer]:
            title = TITLES[peer]
            if peer == PYG:
                title += f" with {loaders.facts['pyg_sampler']}"
            setting = name.partition(", ")[2]
            rows.append(
                (f"{title}, its best of all settings: {setting}", name, f"{peer}, loaded", 1)
            )
    for title, name, system, count in rows:
        if name not in loaders.turns:
            continue
        rate = medians(loaders.turns[name], "batches_s").text(".1f")
        sizes = added = "not measured"
        if memory is not None and count in megabytes(memory, system):
            own = sum(megabytes(memory, system, kind)[count] for kind in ("anonymous", "shared"))
            sizes = f"{own:,.0f} MB, {megabytes(memory, system)[count]:,.0f} MB"
            more = memory.facts["added_mb"].get(system)
            added = f"{more['total']:,.0f} MB" if more else added
        yield f"| {title} | {rate} | {sizes} | {added} |"


def _items(report: Report) -> Iterator[str]:
    loaders, memory = report.subjects["loaders"], report.subjects.get("memory")
    loaded = {peer: headline(loaders, peer) for peer in (DGL, PYG)}
    if times := [
        f"{ratio.spread.text('.1f')} times {TITLES[peer]}, {_by(ratio)}"
        for peer, ratio in loaded.items()
        if ratio is not None
    ]:
        yield (
            f"- {'; '.join(times)}: the lowest of the ratios by batches, nodes and edges, of which "
            "samplers draw different numbers."
        )
    typed = report.subjects.get("typed")
    kinds = {"types": "typed", "types and times": "by time"}
    found = {kind: headline(typed, f"{DGL}, {what}") for kind, what in kinds.items() if typed}
    if times := [
        f"with {kind} {ratio.spread.text('.1f')}, {_by(ratio)}"
        for kind, ratio in found.items()
        if ratio is not None
    ]:
        yield f"- Samples alone, in times those of {TITLES[DGL]}: {'; '.join(times)}."
    mapped = (memory.facts["added_mb"].get(f"{DGL}, mapped") if memory else None) or {}
    if mapped:
        yield (
            "- With its arrays mapped instead of loaded, GraphBolt needs "
            f"{mapped['total']:,.0f} MB for each added trainer."
        )
    beyond = report.subjects.get("beyond memory")
    if beyond is not None and beyond.ratios:
        others = (one for one in beyond.ratios if "all in memory" not in one.what)
        found = "; ".join(f"{one.what} {one.spread.text('.2f')}" for one in others)
        yield f"- Beyond memory ({_beyond(report)}): {found}."


def _by(ratio: Ratio) -> str:
    return f"by {ratio.what.rpartition(' by ')[2]}"


def _beyond(report: Report) -> str:
    facts = report.subjects["beyond memory"].facts
    return f"{facts['bytes'] / 2**30:.1f} GiB in {facts['limit'] / 2**30:.1f}"


def _slower(report: Report) -> str:
    """What is slower than a peer or than without a daemon; where another design is right."""
    parts = ["**Slower, or the wrong tool.**"]
    for ratio in _below_one(report):
        ours, _, other = ratio.what.partition(" / ")
        parts.append(f"{ours}: {ratio.spread.text('.2f')} times {other}.")
    if "requests" in report.subjects:
        turns = next(iter(report.subjects["requests"].turns.values()))
        whole, grpc = medians(turns, "p50_ms"), medians(turns, "grpc_ms")
        parts.append(
            f"A request for one seed takes {whole.text('.2f')} ms, {grpc.median:.2f} of them for "
            "gRPC's own round trip: for a few nodes at a time, embed the engine."
        )
    training = report.subjects.get("training")
    steps = [
        f"{ratio.what.removesuffix(', by batches')} {ratio.spread.text('.2f')}"
        for ratio in (training.ratios if training else ())
    ]
    if steps:
        parts.append(
            "Where the model takes the time, less is gained: steps of a GraphSAGE, "
            f"{'; '.join(steps)}."
        )
    parts.append(
        "A graph that fits into a GPU is sampled faster there, and training on whole graphs needs "
        "no sampler."
    )
    return " ".join(parts)


def _below_one(report: Report) -> Iterator[Ratio]:
    for name in ("loaders", "sampling", "typed", "beyond memory"):
        subject = report.subjects.get(name)
        for ratio in subject.ratios if subject else ():
            peer = ratio.what.startswith("graphzero / ") or "embedded" in ratio.what
            own = "fio" in ratio.what or "huge pages" in ratio.what
            if peer and not own and ratio.spread.median < 1:
                yield ratio


def _not_measured(report: Report) -> str:
    missing = [f"{who} ({why})" for who, why in report.missing.items()]
    rest = ["GPUs", "more processors than these", "aarch64"]
    return f"**Not measured:** {'; '.join([*missing, *rest])}."


def store(path: Path) -> None:
    """Keeps a report in the repository: short numbers on few lines, and its plot."""
    from report.plots import overview

    report = Report.read(path)
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text(json.dumps(_rounded(asdict(report)), separators=(",", ":")) + "\n")
    overview(Report.read(STORED), STORED.with_suffix(".svg"))


def _rounded(value: Any) -> Any:
    """Five digits say all that a measurement knows."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


def main() -> None:
    if len(sys.argv) > 1:
        store(Path(sys.argv[1]))
    readme = README.read_text()
    old, new = current(readme), section(Report.read(STORED))
    README.write_text(readme.replace(old, new))
    print(f"{README}: {'as it was' if old == new else 'written anew'}")


if __name__ == "__main__":
    main()
