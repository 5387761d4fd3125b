import pytest
from graphzero.base.quantities import parse_count, parse_size


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("128", 128),
        ("500k", 500_000),
        ("20M", 20_000_000),
        ("1.5M", 1_500_000),
        ("0.1G", 100_000_000),
        ("3B", 3_000_000_000),
        ("2T", 2_000_000_000_000),
    ],
)
def test_count_units_are_powers_of_a_thousand(text: str, value: int) -> None:
    assert parse_count(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("4096", 4096), ("1k", 1024), ("512M", 512 << 20), ("1.5G", 3 << 29)]
)
def test_size_units_are_powers_of_1024(text: str, value: int) -> None:
    assert parse_size(text) == value


@pytest.mark.parametrize("text", ["", "M", "-1", "1e6", "1,000", "10X", "1 M", "1.", ".5M", "٣"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a count such as 500k or 20M"):
        parse_count(text)
    with pytest.raises(ValueError, match=r"expected a size such as 512M or 4G"):
        parse_size(text)
