"""The mutants still fit the sources. `make mutants` runs them."""

from __future__ import annotations

import ast

import pytest
from mutant_tree import ROOT, mutate, mutated_sources
from mutants import MUTANTS, Mutant


def test_every_mutant_finds_its_place() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    for file, text in mutated_sources(MUTANTS).items():
        if file.endswith(".py"):
            ast.parse(text, file)


def test_the_tests_that_ought_to_notice_exist() -> None:
    for mutant in MUTANTS:
        assert all((ROOT / test).is_file() for test in mutant.tests), mutant.name


def test_a_mutant_whose_place_is_gone_is_an_error() -> None:
    mutant = Mutant("lost", "client/loader/order.py", "no such text", "", ())
    with pytest.raises(ValueError, match=r"stands 0 times in client/loader/order\.py"):
        mutate("text", mutant, 1)
