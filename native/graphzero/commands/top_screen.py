"""The lines that `graphzero top` shows in a terminal of a given size.

From top to bottom: whether the daemon works and who waits for whom, rates and their recent values,
memory, trainers, failures and slow requests. A terminal with few lines shows trainers first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rich.text import Text

from graphzero.base.text import count_text, counted_text, line_text, short_count_text, size_text
from graphzero.commands.top_numbers import (
    LITTLE,
    MUCH,
    STAGES,
    Numbers,
    TrainerNumbers,
    quantile_text,
    ratio,
    verdict,
)

_WIDE = 108
_LABEL = 10
_LEAST_TRAINERS = 3
# Terminals with fewer lines than the first two show less; from the third on, they show more.
_TINY, _SHORT, _TALL = 14, 20, 32
_ALARM = 0.9  # share of a memory's limit

SORTS = {
    "rate": lambda t: -t.rate,
    "wait": lambda t: -t.wait_share,
    "held": lambda t: -t.session.block_byte_size,
    "idle": lambda t: -t.session.idle_ms,
    "id": lambda t: t.session.session_id,
}
_STAGES = dict(zip(STAGES, ("yellow", "red", "cyan", "green"), strict=True))


@dataclass(frozen=True)
class View:
    """Everything that the screen depends on."""

    address: str
    columns: int
    lines: int
    numbers: Numbers | None = None
    """None before the first answer."""
    lately: Mapping[str, Sequence[float]] = field(default_factory=dict)
    problem: str = ""
    """Why there is no answer now; "" if there is one."""
    problem_s: float = 0.0
    """Seconds since the daemon stopped answering."""
    sort: str = "rate"
    paused: bool = False
    scrolled: int = 0
    """Number of trainers above the first one that is shown."""
    ascii: bool = False


def screen(view: View) -> list[Text]:
    """Exactly as many lines as the terminal has, none longer than it is wide."""
    numbers = view.numbers
    head = [_title(view), _verdict(view)]
    if numbers is None:
        lines = head
    else:
        rates, memory = list(_rates(view, numbers)), list(_memory(view, numbers))
        events = list(_events(view, numbers))
        if view.lines < _SHORT:
            memory, events = [], events[:1]
        if view.lines < _TINY:
            rates, events = rates[:1], []
        gap = [Text()] if view.lines >= _SHORT + 2 else []
        above = [*head, *gap, *rates, *gap, *memory, *gap]
        room = max(_LEAST_TRAINERS, view.lines - len(above) - len(events) - 2)
        trainers = _trainers(view, numbers, room)
        filler = [Text()] * (view.lines - len(above) - len(trainers) - len(events) - 1)
        lines = [*above, *trainers, *filler, *events]
    lines = lines[: view.lines - 1]
    lines += [Text()] * (view.lines - 1 - len(lines))
    if view.problem:  # the numbers are those of the last answer
        for line in lines[len(head) :]:
            line.stylize("dim")
    shown = [*lines, _keys(view)]
    for line in shown:
        line.no_wrap = True
        line.truncate(view.columns, overflow="crop" if view.ascii else "ellipsis")
    return shown


def _begun(text: str, style: str) -> Text:
    """A line whose first words have a style of their own; a style of Text() would hold for all."""
    return Text().append(text, style=style)


def duration_text(seconds: float) -> str:
    """The two largest units: 3725 -> "1 h 2 m"."""
    whole = int(seconds)
    for unit, size, small, part in (
        ("d", 86400, "h", 3600),
        ("h", 3600, "m", 60),
        ("m", 60, "s", 1),
    ):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {small}"
    return f"{whole} s"


def _title(view: View) -> Text:
    title = _begun("graphzero ", "bold")
    numbers = view.numbers
    dot = "*" if view.ascii else "●"
    if view.problem:
        title.append(f"{dot} no answer", style="bold red")
    elif numbers is None:
        title.append(f"{dot} connecting", style="yellow")
    elif numbers.stats.draining:
        title.append(f"{dot} stopping", style="bold yellow")
    else:
        title.append(f"{dot} serving", style="bold green")
    if view.paused:
        title.append("  paused", style="bold yellow")
    if numbers is not None:
        stats = numbers.stats
        title.append(f"  {counted_text(stats.num_sessions, 'trainer')} of {stats.max_sessions}")
        title.append(f", up {duration_text(stats.uptime_ms / 1000)}")
        version = f"{stats.version}, " if view.columns >= _WIDE else ""
        title.append(f"  {version}pid {stats.pid}", style="dim")
    title.append(f"  {line_text(view.address)}", style="dim")
    clock = datetime.now().strftime("%H:%M:%S")
    room = view.columns - len(clock) - 1
    title.truncate(room, overflow="crop" if view.ascii else "ellipsis", pad=True)
    return title.append(f" {clock}", style="dim")


def _verdict(view: View) -> Text:
    """Who waits for whom, in a sentence."""
    numbers = view.numbers
    if view.problem:
        waited = f" for {duration_text(view.problem_s)}" if view.problem_s >= 1 else ""
        return Text(f"{line_text(view.problem, 500)}; trying again{waited}", style="red")
    if numbers is None:
        return Text()
    if not numbers.stats.num_sessions:
        return Text(f'no trainer yet: gz.connect("{line_text(view.address)}")', style="yellow")
    style = _wait_style(numbers.wait_share) if numbers.request_rate else "dim"
    return Text(verdict(numbers), style=style)


def _wait_style(share: float) -> str:
    """The colour of a share of trainers' time in which they wait."""
    return "green" if share < LITTLE else "bold yellow" if share > MUCH else "yellow"


def _rates(view: View, numbers: Numbers) -> Iterator[Text]:
    latency = (
        f"p50 {quantile_text(numbers.latency, 0.5)}, p99 {quantile_text(numbers.latency, 0.99)}"
    )
    failed = numbers.stats.failed_requests
    yield _rate_line(
        view,
        "requests",
        f"{numbers.request_rate:,.1f}/s",
        "request_rate",
        f"{latency}, {count_text(failed)} failed",
        "red" if numbers.failure_rate else "cyan",
    )
    yield _rate_line(
        view,
        "results",
        f"{size_text(numbers.bytes_rate)}/s",
        "bytes_rate",
        f"{short_count_text(numbers.nodes_rate)} nodes/s, "
        f"{size_text(numbers.stats.result_byte_size)} in all",
        "green",
    )
    yield _rate_line(
        view,
        "waiting",
        f"{numbers.wait_share:.0%}",
        "wait_share",
        "of trainers' time, for data",
        "yellow",
        most=1.0,
    )
    read = numbers.read_latency
    yield _rate_line(
        view,
        "disk",
        f"{numbers.reads_rate:,.0f} r/s",
        "reads_rate",
        f"{size_text(numbers.read_bytes_rate)}/s, p50 {quantile_text(read, 0.5)}, "
        f"p99 {quantile_text(read, 0.99)}",
        "magenta",
    )


def _graph_width(view: View) -> int:
    """Width of bars and of sparklines; the words beside them take 60 columns."""
    return max(8, min(60, view.columns - 60))


def _rate_line(
    view: View, label: str, now: str, name: str, rest: str, style: str, most: float | None = None
) -> Text:
    width = _graph_width(view)
    line = _begun(f"{label:<{_LABEL}}", "bold")
    line.append(f"{now:>13} ", style=style)
    line.append(sparkline(view.lately.get(name, ()), width, view.ascii, most), style=style)
    return line.append(f" {rest}", style="dim")


def sparkline(
    points: Sequence[float], width: int, is_ascii: bool, most: float | None = None
) -> str:
    """The latest points as bars. A bar of full height is the largest point, or `most`."""
    bars = " .:-=+*#" if is_ascii else " ▁▂▃▄▅▆▇█"
    shown = list(points)[-width:]
    top = max(shown, default=0.0) if most is None else most
    steps = len(bars) - 1
    # A point above zero has at least the lowest bar.
    text = "".join(
        bars[max(int(point > 0), min(steps, round(ratio(point, top) * steps)))] for point in shown
    )
    return f"{text:>{width}}"


def _memory(view: View, numbers: Numbers) -> Iterator[Text]:
    stats = numbers.stats
    shared, work, cache = stats.shared_memory, stats.working_memory, stats.row_cache
    yield _bar_line(
        view,
        "shared",
        stats.shm_used_byte_size,
        stats.shm_limit_byte_size,
        f"{size_text(shared.guaranteed_byte_size)} promised",
    )
    yield _bar_line(view, "working", work.used_byte_size, work.limit_byte_size, "for requests")
    if cache.capacity_byte_size:
        hits = numbers.cache_share
        yield _bar_line(
            view,
            "row cache",
            cache.used_byte_size,
            cache.capacity_byte_size,
            "no rows read" if hits is None else f"{hits:.0%} hits",
            alarms=False,
        )
    yield _stage_line(view, numbers)
    yield _open_line(numbers)


def _bar_line(
    view: View, label: str, used: int, limit: int, rest: str, *, alarms: bool = True
) -> Text:
    width = _graph_width(view)
    share = min(1.0, ratio(used, limit))
    style = "red" if alarms and share > _ALARM else "blue"
    line = _begun(f"{label:<{_LABEL}}", "bold")
    line.append(f"{share:>13.0%} ", style=style)
    line.append_text(_bar([(share, style)], width, view.ascii))
    line.append(f" {size_text(used)} of {size_text(limit)}", style="dim")
    fits = line.cell_len + 2 + len(rest) <= view.columns
    return line.append(f", {rest}" if fits else "", style="dim")


def _bar(parts: Sequence[tuple[float, str]], width: int, is_ascii: bool) -> Text:
    """Parts of a whole, each in its style; the rest is empty. A part of 1 % or more is seen."""
    bar, drawn, total = Text(), 0, 0.0
    for share, style in parts:
        total += share
        end = max(drawn + int(round(100 * share) > 0), round(total * width))
        end = min(width, end)
        bar.append(("#" if is_ascii else "█") * (end - drawn), style=style)
        drawn = end
    return bar.append(("." if is_ascii else "░") * (width - drawn), style="dim")


def _stage_line(view: View, numbers: Numbers) -> Text:
    """Where the requests of the last interval spent their time."""
    spent = {stage: numbers.stage_seconds.get(stage, 0.0) for stage in _STAGES}
    total = sum(spent.values())
    width = _graph_width(view)
    line = _begun(f"{'time in':<{_LABEL}}", "bold")
    shares = {stage: ratio(seconds, total) for stage, seconds in spent.items()}
    line.append_text(_bar([(shares[s], _STAGES[s]) for s in _STAGES], width, view.ascii))
    for stage, style in _STAGES.items():
        line.append(f" {stage}", style=style)
        line.append(f" {shares[stage]:.0%}", style="dim")
    return line


def _open_line(numbers: Numbers) -> Text:
    """Requests that are not answered, and what they wait for."""
    now = numbers.stats.open_requests
    line = _begun(f"{'right now':<{_LABEL}}", "bold")
    line.append(f"{now.running} running")
    if now.waiting_for_disk:
        line.append(f" ({now.waiting_for_disk} at the disk)", style="magenta")
    if now.waiting_for_peer:
        line.append(f" ({now.waiting_for_peer} at other daemons)", style="magenta")
    line.append("; wait for")
    waits = {
        "worker": now.waiting_for_worker,
        "shared": now.waiting_for_shared_memory,
        "working": now.waiting_for_working_memory,
    }
    for at, (what, count) in enumerate(waits.items()):
        style = "dim" if not count else "yellow" if what == "worker" else "bold red"
        line.append(f"{',' if at else ''} {what}: {count}", style=style)
    return line


def _trainers(view: View, numbers: Numbers, room: int) -> list[Text]:
    """A header, and as many trainers as there is room for below it."""
    wide = view.columns >= _WIDE
    head = f"{'id':>5} {'req/s':>8} {'wait':>5} {'p50':>7} {'p99':>7} {'open':>4} {'held':>10}"
    if wide:
        head += f" {'bytes/s':>12} {'guaranteed':>10} {'failed':>6} {'idle':>8}"
    header = Text(f"{head}  trainer, dataset", style="bold reverse")
    ordered = sorted(numbers.trainers, key=SORTS[view.sort])
    first = max(0, min(view.scrolled, len(ordered) - room))
    shown = ordered[first : first + room]
    hidden = numbers.stats.num_sessions - first - len(shown)  # below those that are shown
    lines = [header, *(_trainer(trainer, wide) for trainer in shown)]
    if not numbers.stats.num_sessions:
        lines.append(Text("no trainers", style="dim"))
    if hidden > 0:
        lines[-1] = Text(f"{'':>5} ... {hidden + 1} more: j and k scroll", style="dim")
    return lines


def _trainer(trainer: TrainerNumbers, wide: bool) -> Text:
    session = trainer.session
    waits = trainer.wait_share
    line = Text(f"{session.session_id:>5} {trainer.rate:>8,.1f} ")
    line.append(f"{waits:>5.0%}", style=_wait_style(waits) if trainer.rate else "dim")
    line.append(
        f" {quantile_text(trainer.latency, 0.5):>7} {quantile_text(trainer.latency, 0.99):>7} "
        f"{session.in_flight:>4} {size_text(session.block_byte_size):>10}"
    )
    if wide:
        line.append(
            f" {size_text(trainer.bytes_rate) + '/s':>12} "
            f"{size_text(session.guarantee_byte_size):>10} {session.failed_requests:>6} "
            f"{duration_text(session.idle_ms / 1000):>8}"
        )
    return line.append(f"  {line_text(session.client_name)}, {line_text(session.dataset)}")


def _events(view: View, numbers: Numbers) -> Iterator[Text]:
    """Recent failures and slow requests, newest first."""
    stats = numbers.stats
    most = 8 if view.lines >= _TALL else 3
    found = sorted(
        [(event, "failed") for event in stats.failures]
        + [(event, "slow") for event in stats.slow_requests],
        key=lambda pair: -pair[0].ended_unix_ms,
    )
    for event, kind in found[:most]:
        when = datetime.fromtimestamp(event.ended_unix_ms / 1000).strftime("%H:%M:%S")
        line = _begun(f"{when} ", "dim")
        if kind == "failed":
            line.append(f"{event.code} ", style="red")
            line.append(f"{line_text(event.client_name)}: {line_text(event.message, 500)}")
        else:
            line.append(f"slow {event.total_us / 1e6:.2f} s ", style="yellow")
            line.append(f"{line_text(event.client_name)}: {_stages_text(event)}")
        yield line


def _stages_text(event: object) -> str:
    return ", ".join(f"{stage} {getattr(event, f'{stage}_us') / 1e6:.2f}" for stage in _STAGES)


def _keys(view: View) -> Text:
    line = Text()
    for key, what in (
        ("q", "quits"),
        ("s", f"sorts by {view.sort}"),
        ("p", "goes on" if view.paused else "pauses"),
        ("j/k", "scroll"),
    ):
        line.append(f" {key} ", style="bold reverse")
        line.append(f" {what}  ")
    return line
