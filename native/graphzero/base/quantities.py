"""Numbers as people write them on a command line: "20M" edges, "1.5G" of memory."""

import re

_NUMBER = re.compile(r"(\d+)(?:\.(\d+))?([kKMGTB]?)", re.ASCII)
_COUNT_UNITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12}
_SIZE_UNITS = {"": 1, "k": 2**10, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_count(text: str) -> int:
    """ "20M" is 20,000,000; k, M, G (or B) and T are powers of a thousand."""
    return _parse(text, _COUNT_UNITS, "a count such as 500k or 20M")


def parse_size(text: str) -> int:
    """ "512M" is 512 MiB; k, M, G and T are powers of 1024."""
    return _parse(text, _SIZE_UNITS, "a size such as 512M or 4G")


def _parse(text: str, units: dict[str, int], expected: str) -> int:
    match = _NUMBER.fullmatch(text)
    if match is None or match[3] not in units:
        raise ValueError(f"found {text!r}, expected {expected}")
    whole, fraction, unit = match[1], match[2] or "", units[match[3]]
    # In integers, so that 0.1G is 100,000,000 and not one less.
    divisor: int = 10 ** len(fraction)
    return int(whole + fraction) * unit // divisor
