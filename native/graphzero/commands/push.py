"""`graphzero push DIR URI`: copies a dataset to an object store, or to a directory."""

from __future__ import annotations

import argparse

from graphzero.base.text import size_text


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A list of all files, graphzero.json, is written last: until then `graphzero fetch` finds\n"
        "no dataset there. --overwrite also reads what an earlier push has written, and writes\n"
        "files again that differ in any byte. Credentials are those of pyarrow and fsspec:\n"
        "environment variables and configuration files of the store."
    )
    parser.add_argument("path", metavar="DIR", help="the directory of a dataset")
    parser.add_argument("uri", metavar="URI", help="s3://bucket/folder or the like, or a directory")
    parser.add_argument("--overwrite", action="store_true", help="replace a dataset that is there")
    parser.add_argument(
        "--no-verify", action="store_true", help="do not check the files for damage first"
    )
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def run(args: argparse.Namespace) -> int:
    from graphzero.base.object_store import shown_uri
    from graphzero.transfer.push import push

    written = push(
        args.path,
        args.uri,
        overwrite=args.overwrite,
        verify=not args.no_verify,
        progress=not args.quiet,
    )
    if not args.quiet:
        place = shown_uri(args.uri)
        print(f"{place}: wrote {size_text(written)}" if written else f"{place}: was there")
    return 0
