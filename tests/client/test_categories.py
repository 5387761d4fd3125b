"""Categories and dates through a daemon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from graphzero import InvalidRequest, NotFound

CITIES = ["Paris", "Zürich", "", "Oslo", "Paris", "São Paulo"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typed")
    ring = "".join(f"{node},{(node + 1) % 6}\n" for node in range(6))
    (folder / "edges.csv").write_text(ring)
    lines = [
        f"{node},{city},{7 * node},{node + 0.5},2013-01-0{node + 1}"
        for node, city in enumerate(CITIES)
    ]
    (folder / "people.csv").write_text("\n".join(["id,city,zone,age,at", *lines]))
    gz.import_files(
        folder / "edges.csv",
        folder / "ds",
        nodes=folder / "people.csv",
        columns={"city": ["city"], "zone": ["zone"], "x": ["age", "zone"], "at": ["at"]},
        dtypes={"zone": "category", "at": "date[D]"},
    )
    return folder / "ds"


@pytest.fixture(params=["shared_memory", "inline"])
def client(request: pytest.FixtureRequest, dataset: Path, daemon_of: Callable[[Path], Any]) -> Any:
    with gz.connect(daemon_of(dataset).address, transport=request.param) as connected:
        yield connected


def test_codes_of_a_batch_have_names(client: gz.Client) -> None:
    batch = client.sample([3, 2], fanout=[1])
    fields = set(batch.keys())
    assert fields >= {"city", "zone", "x", "at"}
    assert not any("categories" in field for field in fields)
    names = [CITIES[node] or None for node in batch.n_id.tolist()]
    assert client.categories("city", batch.city) == names
    assert client.categories("zone", batch.zone) == [7 * node for node in batch.n_id.tolist()]
    assert client.categories("city") == ["Oslo", "Paris", "São Paulo", "Zürich"]


def test_columns_say_what_they_are(client: gz.Client) -> None:
    columns = client.info().dataset.columns
    assert columns["x"].value_names == ("age", "zone")
    assert columns["at"].time_unit == "D"
    assert columns["city"].categories == "city.categories"
    assert columns["city.categories"].role == "categories"
    assert client.info().dataset.node_columns == ["at", "city", "x", "zone"]


def test_what_has_no_categories_is_named(client: gz.Client) -> None:
    with pytest.raises(InvalidRequest, match=r"column 'x' of dataset .* has no categories; those"):
        client.categories("x")
    with pytest.raises(NotFound, match=r"has no column 'town'"):
        client.categories("town")
    with pytest.raises(InvalidRequest, match=r"99|4"):
        client.categories("city", [99])


def test_the_embedded_column_agrees(client: gz.Client, dataset: Path) -> None:
    assert gz.Categories(dataset / "city.gd").gather(range(4)) == client.categories("city")
