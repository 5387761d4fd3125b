"""Types of arguments that several subcommands take."""

import argparse
from collections.abc import Callable

from graphzero._quantities import parse_count, parse_size


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
