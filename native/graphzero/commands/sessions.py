"""`graphzero sessions [ADDRESS] [--end ID]`: lists the sessions of a daemon, or ends some."""

import argparse
import json
from typing import Any

from graphzero.base.text import count_text, line_text, size_text
from graphzero.commands.arguments import add_daemon, daemon_calls
from graphzero.commands.messages import message_fields

_LONGEST_LINE = 500


def configure(parser: argparse.ArgumentParser) -> None:
    add_daemon(parser)
    parser.add_argument(
        "--end",
        type=int,
        action="append",
        metavar="ID",
        help="end this session; may be given several times; for the daemon's user and root",
    )
    parser.add_argument(
        "--reason", default="", help="a message for the trainer whose session --end ends"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    with daemon_calls(args) as daemon:
        for session_id in args.end or ():
            ended = daemon.end_session(session_id, args.reason)
            print(
                f"ended session {session_id} of {line_text(ended.client_name)} on "
                f"{line_text(ended.dataset)}, which held {size_text(ended.block_byte_size)}"
            )
        if args.end:
            return 0
        stats = daemon.stats()
    if args.json:
        print(json.dumps([message_fields(session) for session in stats.sessions], indent=2))
    else:
        print("\n".join(line_text(line, _LONGEST_LINE) for line in _lines(stats)))
    return 0


def _lines(stats: Any) -> list[str]:
    if not stats.num_sessions:
        return ["no trainers"]
    lines = [
        f"{'id':>7} {'age':>8} {'idle':>8} {'requests':>9} {'open':>6} {'held':>10} "
        f"{'memory':>10}  trainer, dataset"
    ]
    for session in stats.sessions:
        age, idle = (f"{ms / 1000:.0f} s" for ms in (session.age_ms, session.idle_ms))
        lines.append(
            f"{session.session_id:>7} {age:>8} {idle:>8} {count_text(session.requests):>9} "
            f"{session.in_flight:>6} {size_text(session.block_byte_size):>10} "
            f"{size_text(session.region_byte_size):>10}  {session.client_name}, {session.dataset}"
        )
    hidden = stats.num_sessions - len(stats.sessions)
    return [*lines, f"... {hidden} more"] if hidden else lines
