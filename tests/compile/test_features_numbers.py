"""Every number becomes the value that Python's float() and NumPy's astype() give."""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from graphzero import InputError, _engine
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

Compiled = Callable[..., Any]
SHARED_DIRECTORY = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150
)

SPELLINGS = [
    "0", "-0", "0.0", "-0.0", "+1", "1.", ".5", "-.5", "1e5", "1E+05", "1e-05", "007", "0.1",
    "1e22", "1e23", "9007199254740991", "9007199254740992", "9007199254740993", "0.000123456",
    "1234567.12345678", "12345678.12345678", "123456789012345678901234567890", "1e308",
    "1.7976931348623157e308", "1.7976931348623159e308", "1e309", "-1e400", "1e-307", "2.5e-308",
    "1e-320", "4.9e-324", "2.4e-324", "2e-324", "1e-400", "-1e-400", "1e99999999999999",
    "1e-99999999999999", "0e99999", "0.0000000000000000000000000000001", "3.4028235e38",
    "3.4028236e38", "1.1754944e-38", "1e-45", "7e-46", "65504", "65519.99", "65520",
    "5.9604645e-08", "2.9802322e-08", "2.98023225e-08", "inf", "-inf", "Infinity", "INF",
    "1.00000017881393421514957253748434595763683319091796875001", "1.00000017881393432617187499",
    "1.00000017881393432617187500", "1.00000017881393432617187501", "0." + "0" * 400 + "1e400",
    "1" + "0" * 400 + "e-400", "0.3000000000000000166533453693773481063544750213623046875",
]  # fmt: skip

decimals = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.text("0123456789", min_size=1, max_size=25),
    st.one_of(st.just(""), st.text("0123456789", max_size=25).map(lambda s: "." + s)),
    st.one_of(
        st.just(""),
        st.builds("{}{}".format, st.sampled_from(["e", "E", "e+"]), st.integers(0, 330)),
        st.integers(-400, 0).map(lambda e: f"e{e}"),
    ),
)
floats = st.floats(allow_nan=False).flatmap(
    lambda x: st.sampled_from([repr(x), f"{x:.6g}", f"{x:.9e}", f"{x:.17g}"])
)


def expected_values(texts: list[str], dtype: str) -> Any:
    with np.errstate(over="ignore"):
        return np.array([float(text) for text in texts], dtype=np.float64).astype(dtype)


def too_large(text: str, dtype: str) -> bool:
    """Whether a number would become infinite; "inf" is so of itself."""
    return "inf" not in text.lower() and bool(np.isinf(expected_values([text], dtype)[0]))


def check_numbers(compiled: Compiled, texts: list[str], dtype: str) -> None:
    """All that fit are the nearest value; the first that does not is named."""
    fitting = [text for text in texts if not too_large(text, dtype)]
    if fitting:
        x = compiled("".join(f"{i},{text}\n" for i, text in enumerate(fitting)), dtype=dtype)
        assert x.tobytes() == expected_values(fitting, dtype).tobytes()
    if len(fitting) < len(texts):
        line = next(i for i, text in enumerate(texts) if too_large(text, dtype)) + 1
        found = re.escape(texts[line - 1][:30])
        with pytest.raises(
            InputError,
            match=rf'line {line}: column 2: found "{found}.*, which does not fit {dtype} \(at most',
        ):
            compiled("".join(f"{i},{text}\n" for i, text in enumerate(texts)), dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_every_spelling_of_a_float_is_the_nearest_value(compiled: Compiled, dtype: str) -> None:
    check_numbers(compiled, SPELLINGS, dtype)


DTYPES = [
    "float32",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("float64", "float16")),
]


@pytest.mark.parametrize("dtype", DTYPES)
@SHARED_DIRECTORY
@given(texts=st.lists(st.one_of(decimals, floats), min_size=1, max_size=60))
@example(texts=["1234567.123456789012", "0.1234567890123", "12345678", "1e-22", "1e-23"])
def test_generated_numbers_are_the_nearest_value(
    compiled: Compiled, dtype: str, texts: list[str]
) -> None:
    check_numbers(compiled, texts, dtype)


@SHARED_DIRECTORY
@given(
    rows=st.lists(
        st.lists(st.floats(width=32, allow_nan=False), min_size=3, max_size=3),
        min_size=1,
        max_size=40,
    ),
    order=st.randoms(use_true_random=False),
    delimiter=st.sampled_from([",", "\t", ";", " "]),
    end=st.sampled_from(["\n", "\r\n"]),
    header=st.booleans(),
    last=st.booleans(),
)
def test_a_shuffled_table_comes_back_in_the_order_of_its_ids(
    compiled: Compiled,
    rows: list[list[float]],
    order: Any,
    delimiter: str,
    end: str,
    header: bool,
    last: bool,
) -> None:
    lines = [delimiter.join([str(i), *map(repr, row)]) for i, row in enumerate(rows)]
    order.shuffle(lines)
    text = end.join((["id" + delimiter + "v"] if header else []) + lines) + (end if last else "")
    assert compiled(text).tobytes() == np.array(rows, dtype=np.float32).tobytes()


# float16 from float64: numpy rounds once, directly. Each half, the midpoints between neighbours,
# and the doubles next to those cover every decision the rounding takes.
def halves_and_midpoints() -> Any:
    finite = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    top = np.append(finite, 65536.0)
    middle = (top[1:] + top[:-1]) / 2
    near = np.concatenate([np.nextafter(middle, 0), middle, np.nextafter(middle, np.inf)])
    values = np.concatenate([finite, near, [1e300, 5e-324, 1e-30]])
    return np.concatenate([values, -values])


def test_float16_rounds_every_tie_and_its_neighbours_as_numpy_does(compiled: Compiled) -> None:
    values = halves_and_midpoints()
    values = values[abs(values) < 65520]
    text = "".join(f"{i},{value!r}\n" for i, value in enumerate(values.tolist()))
    expected = values.astype(np.float16)
    assert compiled(text, dtype="float16").tobytes() == expected.tobytes()


# The largest value, and the first number that would be rounded to infinity.
EDGES = [
    ("float16", "65519.999", "65520"),
    ("bfloat16", "3.3961775e38", "3.3961776e38"),
    ("float32", "3.4028235677973362e38", "3.4028235677973366e38"),
    ("float64", "1.7976931348623157e308", "1.7976931348623159e308"),
]


@pytest.mark.parametrize(("dtype", "largest", "beyond"), EDGES)
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_number_that_would_become_infinite_is_named(
    compiled: Compiled, dtype: str, largest: str, beyond: str, sign: str
) -> None:
    compiled(f"0,1,{sign}{largest}\n", dtype=dtype)
    message = rf'line 2: column 3: found "{sign}{re.escape(beyond)}", which does not fit {dtype} '
    with pytest.raises(InputError, match=message):
        compiled(f"0,1,2\n1,inf,{sign}{beyond}\n", dtype=dtype)
    with pytest.raises(InputError, match=f"fill value: .* does not fit {dtype}"):
        compiled("0,1\n", dtype=dtype, num_rows=2, fill=sign + beyond)


def test_special_values_of_float16(compiled: Compiled) -> None:
    x = compiled("0,inf\n1,-inf\n2,nan\n", dtype="float16")
    assert x.view(np.uint16).tolist() == [0x7C00, 0xFC00, 0x7E00]


def bfloat16_values() -> Any:
    """Every finite non-negative bfloat16, as doubles."""
    bits = np.arange(0x7F80, dtype=np.uint32) << 16
    return bits.view(np.float32).astype(np.float64)


def test_bfloat16_keeps_each_of_its_own_values() -> None:
    values = bfloat16_values()
    assert (_engine.to_bfloat16(values) == np.arange(0x7F80)).all()
    assert (_engine.to_bfloat16(-values) == np.arange(0x7F80) + 0x8000).all()


def test_bfloat16_rounds_ties_to_even_and_neighbours_to_nearest() -> None:
    values = bfloat16_values()
    middle = (values[1:] + values[:-1]) / 2
    lower = np.arange(0x7F80 - 1)
    assert (_engine.to_bfloat16(middle) == lower + lower % 2).all()
    assert (_engine.to_bfloat16(np.nextafter(middle, 0)) == lower).all()
    assert (_engine.to_bfloat16(np.nextafter(middle, np.inf)) == lower + 1).all()


def test_bfloat16_overflows_to_infinity_where_rounding_says_so() -> None:
    largest, step = bfloat16_values()[-1], 2.0**120
    edge = largest + step / 2
    bits = _engine.to_bfloat16(np.array([np.nextafter(edge, 0), edge, np.inf, -np.inf, np.nan]))
    assert bits.tolist() == [0x7F7F, 0x7F80, 0x7F80, 0xFF80, 0x7FC0]


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_bfloat16_of_any_double_is_a_nearest_one(value: float) -> None:
    bits = int(_engine.to_bfloat16(np.array([abs(value)]))[0])
    if bits == 0x7F80:
        assert abs(value) >= 2.0**128 - 2.0**119
        return
    around = [b for b in (bits - 1, bits, bits + 1) if 0 <= b < 0x7F80]
    distance = {
        b: abs(Fraction(float(bfloat16_values()[b])) - Fraction(abs(value))) for b in around
    }
    assert distance[bits] == min(distance.values())


def test_bfloat16_of_a_float32_is_what_torch_gives() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 32, 200_000, dtype=np.uint32)
    values = bits.view(np.float32)
    values = values[~np.isnan(values)]
    expected = torch.from_numpy(values).bfloat16().view(torch.int16).numpy().view(np.uint16)
    assert (_engine.to_bfloat16(values.astype(np.float64)) == expected).all()


def test_text_is_rounded_once_to_bfloat16(compiled: Compiled) -> None:
    # Just above a tie: by way of float32 it would become the tie and go down to even.
    text = "1.00390625000000001"
    assert compiled(f"0,{text}\n", dtype="bfloat16").view(np.uint16).tolist() == [0x3F80]
    text = "1.0039062500001"
    assert compiled(f"0,{text}\n", dtype="bfloat16").view(np.uint16).tolist() == [0x3F81]
