"""`graphzero fetch SOURCE DIR`: copies a dataset to this machine."""

from __future__ import annotations

import argparse

from graphzero.base.text import rate_text, size_text
from graphzero.commands.arguments import add_daemon_access


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n"
        "  graphzero fetch node-1:7171 /data/products        (a daemon; GRAPHZERO_TOKEN and TLS)\n"
        "  graphzero fetch /mnt/shared/products /data/products\n"
        "  graphzero fetch s3://bucket/products /data/products\n\n"
        "Every block that is copied is compared with its checksum. Give the command again to\n"
        "resume an interrupted copy. DIR appears only when the copy is complete. If DIR is that\n"
        "dataset already, nothing is copied; --overwrite checks all of it first, and replaces it\n"
        "if it is damaged."
    )
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a daemon (HOST:PORT or its socket), a dataset's directory, or a URI of an object "
        "store",
    )
    parser.add_argument("path", metavar="DIR", help="the dataset to create")
    parser.add_argument(
        "--dataset", default="", metavar="NAME", help="if the daemon serves several"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace DIR if it is a dataset")
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds that a daemon may be unreachable, or without SIGHUP after its dataset was "
        "replaced (default 60)",
    )
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    add_daemon_access(parser)


def run(args: argparse.Namespace) -> int:
    from graphzero.transfer.fetch import fetch

    report = fetch(
        args.source,
        args.path,
        dataset=args.dataset,
        overwrite=args.overwrite,
        timeout=args.timeout,
        root_certificate=args.root_certificate,
        plaintext_token=args.plaintext_token,
        server_uid=args.server_uid,
        progress=not args.quiet,
    )
    if args.quiet:
        return 0
    copied = report.byte_size - report.kept_bytes
    print(f"{args.path}: {size_text(report.byte_size)}, fingerprint {report.fingerprint}")
    if not copied:
        print("  all of it was there")
        return 0
    kept = f", {size_text(report.kept_bytes)} were there" if report.kept_bytes else ""
    rate = rate_text(copied, report.seconds)
    print(f"  copied {size_text(copied)} in {report.seconds:.1f} s{rate}{kept}")
    return 0
