"""What fuzzing begins with: files of the golden set, texts, inputs that were kept, and findings.

corpus/TARGET.zip has the inputs that earlier runs kept because each reaches code which no other
does (`campaign.py --keep`); findings/TARGET/ has those that once broke something.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden"
_EXAMPLE = HERE.parent / "examples" / "flights.toml"
CORPUS = HERE / "corpus"
FINDINGS = HERE / "findings"
# What one target's archive may hold, packed.
MOST_BYTES = 64 << 10

_EDGES = (
    b"0,1\n1,2\n2,0\n",
    b"# comment\nsource\ttarget\n0\t1\n4000\t17\n",
    b"0 1 0.5\r\n1 2 1e-3\r\n\r\n3 3 7\r\n",
    b"0;1;2.5;100\n1;0;0;-5\n",
    b'"0","1"\n5,6\n0,1\nbad line\n18446744073709551616,2\n',
    b"\xef\xbb\xbf0,1\n9223372036854775807,1\n",
)
_MATRICES = (
    b"0,1.5,-2\n1,nan,3e7\n2,0.1,12345678.9\n",
    b"id x\n3 1\n1 2\n0 3\n",
    b"1\n2\n300\n",
    b"0;true\n1;false\n",
    b'0,"1"\n1,-0.0\n2,1e400\n3,\n',
)
_TABLES = (
    b'a,b\n"Smith, John",1\n"two\nlines",2\n"he said ""no""",3\n',
    b"2013-01-31\t5\n2013-01-31T05:17:30.25+02:00\t7\nNA\t\n",
    b"x;true;0.5;name\n007;FALSE;nan;\n-3;1;inf;\xc3\xa4\n",
    b"whole line with blanks\n\n# no row\nanother\n",
)
_VALUES = (
    b"0", b"-12.5", b"18446744073709551615", b"1e-22", b"123456789012345678", b"0.1", b"+7",
    b"1e400", b"2013-01-31", b"2013/02/28 23:59:59.999999999Z", b"9999-12-31T00:00-23:59", b"nan",
    b"TRUE", b"\xff\xfe",
)  # fmt: skip
_DESCRIPTIONS = (
    b'[tables.users]\nfile = "users.csv"\nkey = "id"\nfeatures = ["age"]\n'
    b'[tables.rates]\nfile = "r.csv"\nedges = { user = "users", item = "users" }\ntime = "t"\n',
    b'missing = "drop"\ntime_unit = "s"\n[tables.a]\nfile = "a.csv"\ntime = "at"\n'
    b'references = { b = "a" }\nlabel = "y"\nsplit = { at = [2013-10-01, 2013-11-15] }\n',
    b"\0" + bytes(range(200)),
)


def seeds(target: str) -> Iterator[bytes]:
    """Inputs to begin with."""
    if target in ("topology", "matrix"):
        for file in sorted(GOLDEN.glob("*.gl" if target == "topology" else "*.gd")):
            yield file.read_bytes()
    elif target == "edge_text":
        yield from (bytes([options]) + text for text in _EDGES for options in (0, 1, 30, 34, 63))
    elif target == "matrix_text":
        for text in _MATRICES:
            yield from (bytes([o, t]) + text for o in (0, 1, 63, 113) for t in (0, 2, 4, 8, 9))
    elif target == "text_table":
        kinds = (bytes([8, 4, 7, 8]), bytes([128, 136, 135, 137]), bytes([1, 5, 6, 2]))
        yield from (bytes([8 * 3 + o]) + k + t for t in _TABLES for k in kinds for o in (0, 1, 4))
    elif target == "descriptions":
        yield from (_EXAMPLE.read_bytes(), *_DESCRIPTIONS)
    else:
        yield from _VALUES


def kept(target: str) -> Iterator[bytes]:
    """Inputs of earlier runs."""
    archive = CORPUS / f"{target}.zip"
    if archive.exists():
        with zipfile.ZipFile(archive) as packed:
            for name in packed.namelist():
                yield packed.read(name)


def findings(target: str) -> list[Path]:
    """Inputs that once broke something."""
    return sorted((FINDINGS / target).glob("*"))


def write(target: str, directory: Path) -> int:
    """Writes all of them to a directory, as files that are called by what they hold."""
    directory.mkdir(parents=True, exist_ok=True)
    inputs = [*seeds(target), *kept(target), *(file.read_bytes() for file in findings(target))]
    for data in inputs:
        (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)
    return len(inputs)


def keep(target: str, directory: Path) -> int:
    """Packs the inputs of a directory into the target's archive, small ones first, up to its limit;
    returns how many. The archive depends on nothing but the inputs."""
    CORPUS.mkdir(exist_ok=True)
    archive = CORPUS / f"{target}.zip"
    own = {hashlib.sha1(data).hexdigest() for data in seeds(target)}
    files = [
        file
        for file in directory.iterdir()
        if hashlib.sha1(file.read_bytes()).hexdigest() not in own
    ]
    files.sort(key=lambda file: (file.stat().st_size, file.name))
    count = 0
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for file in files:
            data = file.read_bytes()
            packed.writestr(
                zipfile.ZipInfo(hashlib.sha1(data).hexdigest()[:16]), data, zipfile.ZIP_DEFLATED
            )
            count += 1
            if packed.fp is not None and packed.fp.tell() + 100 * count > MOST_BYTES:
                break
    return count
