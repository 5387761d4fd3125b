"""Arguments that several subcommands take, and their types."""

import argparse
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from graphzero.base.quantities import parse_count, parse_size


def add_daemon(parser: argparse.ArgumentParser) -> None:
    """Options for the daemon's address and for access to it. All of them can be set in the
    environment instead, and the token only there: every user can read command lines."""
    parser.add_argument(
        "address",
        nargs="?",
        metavar="ADDRESS",
        help="socket or HOST:PORT (default: GRAPHZERO_ADDRESS, or the user's socket)",
    )
    add_daemon_access(parser)


def add_daemon_access(parser: argparse.ArgumentParser) -> None:
    """Options for access to a daemon: certificate, token, user."""
    parser.add_argument(
        "--root-certificate",
        type=Path,
        metavar="FILE",
        help="PEM file to check the daemon by (default: GRAPHZERO_ROOT_CERTIFICATE)",
    )
    parser.add_argument(
        "--plaintext-token",
        action="store_true",
        help="send GRAPHZERO_TOKEN without TLS; any process that listens on the port can read it",
    )
    parser.add_argument(
        "--server-uid",
        type=int,
        metavar="UID",
        help="trust the socket of this user's daemon, as connect(server_uid=UID) does (default: "
        "GRAPHZERO_SERVER_UID)",
    )


def daemon_calls(args: argparse.Namespace, timeout: float = 5.0) -> AbstractContextManager[Any]:
    """Calls (client/daemon/daemon_calls.py) to the daemon that the arguments name."""
    from graphzero.client.daemon.daemon_calls import open_calls

    return open_calls(
        args.address,
        timeout=timeout,
        root_certificate=args.root_certificate,
        plaintext_token=args.plaintext_token,
        server_uid=args.server_uid,
    )


def count(text: str) -> int:
    """A number such as 500k or 20M."""
    return _argument(parse_count, text)


def size(text: str) -> int:
    """A number of bytes such as 512M or 4G."""
    return _argument(parse_size, text)


def _argument(parse: Callable[[str], int], text: str) -> int:
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_work_options(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Options of every command that writes a dataset: memory, threads, output."""
    parser.add_argument(
        "--memory",
        type=size,
        metavar="SIZE",
        help="working memory, such as 512M (default a quarter of what is available); the result "
        "does not depend on it",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="default one per processor")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
