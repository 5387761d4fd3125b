"""What is wrong with a table is said with file, line, text and what was expected."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphzero import InputError
from graphzero.conversion.compile_column import ColumnRequest, compile_column

Compiled = Callable[..., Any]
CompileTable = Callable[..., Any]

HINT = "; --fill VALUE gives such rows a value"
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "too few columns": ("0,1,2\n1,3\n", {}, ' line 2: expected 3 columns, found 2: "1,3"'),
    "too many columns": ("0,1\n1,3,4\n", {}, ' line 2: expected 2 columns, found 3: "1,3,4"'),
    "too few fields between blanks": (
        "0 1 2\n1 3 \n",
        {},
        ' line 2: expected 3 columns, found 2: "1 3 "',
    ),
    "other delimiter": ("0,1\n1;2\n", {}, ' line 2: expected 2 columns, found 1: "1;2"'),
    "ids only": (
        "# c\n0\n1\n",
        {},
        " line 2: expected a node id and at least one value, found 1 column",
    ),
    "empty file": ("", {}, ": found no data line"),
    "header only": ("id,a\n", {}, ": found no data line"),
    "negative id": ("0,1\n-5,2\n", {}, ' line 2: node id -5 is negative: "-5,2"'),
    "float id": ("0,1\n1.5,2\n", {}, ' line 2: node id 1.5 is not an integer: "1.5,2"'),
    "id of 2^63": (
        "0,1\n9223372036854775808,2\n",
        {},
        ' line 2: node id 9223372036854775808 is beyond 2^63 - 1: "9223372036854775808,2"',
    ),
    "id of 40 digits": (
        f"0,1\n{'9' * 40},2\n",
        {},
        f' line 2: node id {"9" * 40} is beyond 2^63 - 1: "{"9" * 40},2"',
    ),
    "text id": (
        "0,1\nx,2\n",
        {},
        ' line 2: column 1: found "x", expected a node id; --relabel takes texts: "x,2"',
    ),
    "missing id field": ("0,1\n,2\n", {}, ' line 2: column 1: found "", expected a node id: ",2"'),
    "id beyond num_nodes": (
        "0,1\n12,2\n",
        {"num_rows": 10},
        ' line 2: node id 12 is out of range, expected an id below 10, the number of nodes: "12,2"',
    ),
    "text value": (
        "0,1,2\n1,2,abc\n",
        {},
        ' line 2: column 3: found "abc", expected a number: "1,2,abc"',
    ),
    "number with a tail": (
        "1,2\n0,1.5x\n",
        {},
        ' line 2: column 2: found "1.5x", expected a number: "0,1.5x"',
    ),
    "two signs": ("0,--1\n1,2\n", {}, ' line 1: column 2: found "--1", expected a number: "0,--1"'),
    "hexadecimal": (
        "0,0x10\n1,2\n",
        {},
        ' line 1: column 2: found "0x10", expected a number: "0,0x10"',
    ),
    "fraction": (
        "0,3.5\n",
        {"dtype": "int64"},
        ' line 1: column 2: found "3.5", expected an integer for int64: "0,3.5"',
    ),
    "nan": (
        "0,nan\n",
        {"dtype": "int8"},
        ' line 1: column 2: found "nan", expected a value of int8 (--nan VALUE gives one for NaN)'
        ': "0,nan"',
    ),
    "empty": (
        "0,\n",
        {"dtype": "int8"},
        " line 1: column 2: found an empty field, expected a value of int8 (--nan VALUE gives"
        ' one for NaN): "0,"',
    ),
    "infinity": (
        "0,inf\n",
        {"dtype": "int8"},
        ' line 1: column 2: found "inf", which does not fit int8: "0,inf"',
    ),
    "not a bool": (
        "0,2\n",
        {"dtype": "bool"},
        ' line 1: column 2: found "2", expected 0, 1, true or false: "0,2"',
    ),
    "duplicate": ("0,1\n1,2\n# c\n1,3\n", {}, ' line 4: node id 1 again, first on line 2: "1,3"'),
    "duplicate out of order": (
        "5,1\n3,2\n5,3\n",
        {},
        ' line 3: node id 5 again, first on line 1: "5,3"',
    ),
    "missing": ("0,1\n2,1\n4,1\n", {}, ": 2 of 5 node ids have no row, the first is 1" + HINT),
    "missing at the end": (
        "0,1\n1,1\n",
        {"num_rows": 4},
        ": 2 of 4 node ids have no row, the first is 2" + HINT,
    ),
    "missing by far": (
        f"0,1\n{2**62},1\n",
        {},
        f": {2**62 - 1} of {2**62 + 1} node ids have no row, the first is 1" + HINT,
    ),
    "more rows than any file": (
        f"0,1\n{2**62},1\n",
        {"fill": 0},
        f": with node ids up to {2**62}, {2**62 + 1} rows of 8 bytes exceed any file",
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("threads", [1, 8])
def test_message_says_where_and_what(
    compile_table: CompileTable, tmp_path: Path, case: str, threads: int
) -> None:
    text, options, message = CASES[case]
    with pytest.raises(InputError) as error:
        compile_table(text, threads=threads, **options)
    assert str(error.value) == str(tmp_path / "x.csv") + message


def test_long_lines_are_shortened_in_messages(compile_table: CompileTable) -> None:
    line = "1," + "7" * 500 + ",x"
    with pytest.raises(InputError) as error:
        compile_table("0,1,2\n" + line + "\n")
    assert str(error.value).endswith(f': "{line[:60]}..."')


@pytest.mark.parametrize("option", ["fill", "nan"])
def test_a_fill_or_nan_value_must_fit_the_dtype(compile_table: CompileTable, option: str) -> None:
    with pytest.raises(InputError, match='found "300", which does not fit int8'):
        compile_table("1,1\n", dtype="int8", **{option: 300, "fill": 300})


def test_row_align_must_be_a_multiple_of_the_item(compile_table: CompileTable) -> None:
    with pytest.raises(InputError, match="found a row alignment of 6 bytes, expected a multiple"):
        compile_table("0,1\n", row_align=6)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_first_error_of_the_file_is_reported_whatever_the_threads(
    compile_table: CompileTable, threads: int
) -> None:
    lines = [f"{i},{i},{i}" for i in range(200_000)]
    for bad in (60_000, 60_001, 120_000, 199_999):
        lines[bad] = f"{bad},oops"
    for _ in range(5):
        with pytest.raises(InputError, match=r"line 60001: expected 3 columns, found 2"):
            compile_table("\n".join(lines), threads=threads)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_first_duplicate_of_the_file_is_reported(
    compile_table: CompileTable, threads: int
) -> None:
    lines = [f"{i},{i}" for i in range(100_000)]
    lines[70_000] = "90000,1"  # again on line 90001: the later one counts
    lines[80_000] = "5,1"
    with pytest.raises(InputError, match="line 80001: node id 5 again, first on line 6"):
        compile_table("\n".join(lines), threads=threads, memory=1 << 20)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_skipped_lines_are_counted_and_the_first_remembered(
    compile_table: CompileTable, threads: int
) -> None:
    lines = [f"{i},{i}" for i in range(100_000)]
    for bad in range(1_000, 100_000, 1_000):
        lines[bad] = f"{bad},?"
    report = compile_table("\n".join(lines), on_error="skip", fill=-1, threads=threads)
    assert (report.rows, report.skipped, report.filled) == (100_000, 99, 99)
    assert [m.split(": ")[0].split()[-1] for m in report.messages] == [
        "1001", "2001", "3001", "4001", "5001",
    ]  # fmt: skip


def test_a_skipped_row_counts_as_missing(compile_table: CompileTable) -> None:
    with pytest.raises(InputError, match="1 of 3 node ids have no row, the first is 1"):
        compile_table("0,1\n1,?\n2,1\n", on_error="skip")


def test_skipping_a_duplicate_keeps_the_first(compiled: Compiled) -> None:
    lines = [f"{i},{i}" for i in range(1_000)][::-1]
    x = compiled("\n".join([*lines, "5,77", "6,77", "5,78"]), on_error="skip", memory=1 << 20)
    assert (x == np.arange(1_000)).all()


def test_skipped_rows_never_reach_the_file(compiled: Compiled) -> None:
    x = compiled("0,1,2\n1,3,?\n2,5,6\n", on_error="skip", fill=0)
    assert x.tolist() == [[1, 2], [0, 0], [5, 6]]


def test_a_missing_file_is_file_not_found(tmp_path: Path) -> None:
    for name in ("no.csv", "no.npy"):
        with pytest.raises(FileNotFoundError) as error:
            compile_column(
                str(tmp_path / name),
                str(tmp_path / "x.gd"),
                ColumnRequest(memory=64 << 20, threads=1, temp_dir=str(tmp_path)),
            )
        assert error.value.filename == str(tmp_path / name)


def test_a_directory_is_not_a_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{tmp_path}: found a folder without a"):
        compile_column(
            str(tmp_path),
            str(tmp_path / "x.gd"),
            ColumnRequest(memory=64 << 20, threads=1, temp_dir="."),
        )


def test_an_unknown_on_error_is_refused(compile_table: CompileTable) -> None:
    with pytest.raises(ValueError, match="expected 'stop' or 'skip'"):
        compile_table("0,1\n", on_error="ignore")
