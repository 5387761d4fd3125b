"""What a feature table may look like."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Compiled = Callable[..., Any]


def test_one_value_per_line_makes_one_dimension(compiled: Compiled) -> None:
    assert compiled("0,1.5\n1,2.5\n").shape == (2,)


def test_one_value_per_line_makes_two_dimensions_on_request(compiled: Compiled) -> None:
    assert compiled("0,1.5\n1,2.5\n", always_2d=True).shape == (2, 1)


@pytest.mark.parametrize("delimiter", [",", "\t", ";", " ", "   ", " , ", " ;"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiter_is_found_from_the_first_line(
    compiled: Compiled, delimiter: str, end: str
) -> None:
    lines = [["0", "1.5", "2"], ["1", "-3", "4e1"], ["2", "5", "6"]]
    text = "".join(delimiter.join(line) + end for line in lines)
    assert compiled(text).tolist() == [[1.5, 2], [-3, 40], [5, 6]]


@pytest.mark.parametrize("header", ["id,a,b\n", ",0,1\n", '"node","1","2"\n', "nan,1,2\n"])
def test_first_line_without_a_number_in_front_is_a_header(compiled: Compiled, header: str) -> None:
    assert compiled(header + "0,1,2\n1,3,4\n").tolist() == [[1, 2], [3, 4]]


def test_only_the_first_line_can_be_a_header(compiled: Compiled) -> None:
    with pytest.raises(ValueError, match='line 2: column 1: found "id", expected a node id'):
        compiled("id,a\nid,a\n0,1\n")


def test_blank_lines_and_comments_are_ignored_anywhere(compiled: Compiled) -> None:
    text = "\n# made by hand\n  % also\nid,v\n\n0,1\n#1,9\n \t\r\n1,2\n%\n\n"
    assert compiled(text).tolist() == [1, 2]


def test_byte_order_mark_is_ignored(compiled: Compiled) -> None:
    assert compiled(b"\xef\xbb\xbf0,1\n1,2\n").tolist() == [1, 2]


def test_last_line_needs_no_newline(compiled: Compiled) -> None:
    assert compiled("0,1\n1,2").tolist() == [1, 2]


def test_blanks_around_fields_are_ignored(compiled: Compiled) -> None:
    assert compiled(" 0 , 1.5,2 \n1,\t3 ,  4\t\n").tolist() == [[1.5, 2], [3, 4]]


def test_fields_separated_by_blanks_may_use_any_number_of_them(compiled: Compiled) -> None:
    assert compiled("0 1 2\n  1\t3   4  \n2  5 \t 6\r\n").tolist() == [[1, 2], [3, 4], [5, 6]]


def test_empty_fields_and_nan_are_nan_in_a_float_column(compiled: Compiled) -> None:
    x = compiled("0,,1\n1,nan,2\n2,NaN,\n3,-nan,4\n")
    assert np.isnan(x[:, 0]).all()
    assert np.isnan(x[2, 1])


def test_rows_may_come_in_any_order(compiled: Compiled) -> None:
    assert compiled("2,30\n0,10\n1,20\n").tolist() == [10, 20, 30]


def test_number_of_rows_is_the_largest_id_plus_one(compiled: Compiled) -> None:
    assert compiled("4,1\n", fill=-1).tolist() == [-1, -1, -1, -1, 1]


def test_missing_rows_get_the_fill_value_up_to_num_nodes(compiled: Compiled) -> None:
    assert compiled("1,5\n", fill=0, num_rows=4).tolist() == [0, 5, 0, 0]
    assert compiled("0,5\n", fill="7", num_rows=3, dtype="int64").tolist() == [5, 7, 7]


def test_row_align_pads_the_stride_and_not_the_values(
    compile_table: Callable[..., Any], tmp_path: Any
) -> None:
    from graphzero import _engine

    compile_table("0,1,2,3\n2,7,8,9\n1,4,5,6\n", row_align=64, dtype="float32")
    matrix = _engine.Matrix.open(str(tmp_path / "x.gd"))
    assert matrix.row_stride == 64
    assert matrix.tensor().tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_report_counts_what_was_written(compile_table: Callable[..., Any], tmp_path: Any) -> None:
    report = compile_table("0,1,2\n3,1,2\n", fill=0)
    assert (report.rows, report.cols, report.dtype) == (4, 2, "float32")
    assert (report.filled, report.skipped, report.messages) == (2, 0, ())
    assert report.bytes == (tmp_path / "x.gd").stat().st_size


def test_progress_ends_at_the_size_of_the_phase(compile_table: Callable[..., Any]) -> None:
    seen: list[tuple[str, int, int]] = []
    compile_table("1,1\n0,2\n", report=lambda *state: seen.append(state))
    phase, done, total = seen[-1]
    assert phase == "sorting rows"
    assert done == total == 2


INTEGER_TYPES = ["int8", "uint8", "int16", "int32", "int64"]


@pytest.mark.parametrize("dtype", INTEGER_TYPES)
def test_integers_are_exact_over_the_whole_range(compiled: Compiled, dtype: str) -> None:
    info = np.iinfo(dtype)
    values = [info.min, info.min + 1, 0, 1, info.max - 1, info.max]
    text = "".join(f"{i},{v}\n" for i, v in enumerate(values))
    assert compiled(text, dtype=dtype).tolist() == values


@pytest.mark.parametrize("dtype", INTEGER_TYPES)
def test_integers_beyond_the_range_are_refused(compiled: Compiled, dtype: str) -> None:
    info = np.iinfo(dtype)
    for value in (info.min - 1, info.max + 1, 10**30):
        with pytest.raises(ValueError, match=f'found "{value}", which does not fit {dtype}'):
            compiled(f"0,{value}\n", dtype=dtype)


def test_integral_spellings_of_floats_are_integers(compiled: Compiled) -> None:
    text = "0,3.0\n1,-4.\n2,1e3\n3,+5\n4,9007199254740993.0\n5,-0\n"
    expected = [3, -4, 1000, 5, 9007199254740993, 0]
    assert compiled(text, dtype="int64").tolist() == expected


def test_nan_in_an_integer_column_takes_the_given_value(compiled: Compiled) -> None:
    assert compiled("0,nan\n1,2\n2,\n", dtype="int64", nan=-1).tolist() == [-1, 2, -1]


def test_booleans_are_0_1_true_false(compiled: Compiled) -> None:
    x = compiled("0,1\n1,0\n2,true\n3,False\n4,1.0\n", dtype="bool")
    assert x.dtype == np.bool_
    assert x.tolist() == [True, False, True, False, True]
