"""Fixtures of the tests of imports."""

import pytest
from input_graphs import SmallGraph, make_small_graph


@pytest.fixture(scope="session")
def small() -> SmallGraph:
    return make_small_graph()
