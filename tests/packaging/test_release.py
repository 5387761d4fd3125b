"""What `make dist` decides: for which Pythons there are wheels, and which licences they carry."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import nanobind
from interpreters import Interpreter, ask, find_interpreters, plan_wheels

THIRD_PARTY = Path(__file__).parents[2] / "native/third_party/nanobind"


def python(minor: int, *, headers: bool = True) -> Interpreter:
    return Interpreter(Path(f"/usr/bin/python3.{minor}"), (3, minor), headers)


def test_one_wheel_of_the_stable_abi_serves_every_python_from_3_12_on() -> None:
    found = [python(10), python(11), python(12), python(13), python(14)]
    plans = plan_wheels(found)
    assert [plan.builder.name for plan in plans] == ["3.10", "3.11", "3.12"]
    assert [user.name for user in plans[-1].users] == ["3.12", "3.13", "3.14"]


def test_a_python_without_headers_checks_wheels_and_builds_none() -> None:
    plans = plan_wheels([python(11, headers=False), python(12, headers=False), python(13)])
    assert [plan.builder.name for plan in plans] == ["3.13"]
    assert [user.name for user in plans[0].users] == ["3.12", "3.13"]


def test_there_are_no_wheels_without_headers() -> None:
    assert plan_wheels([python(11, headers=False), python(12, headers=False)]) == []


def test_an_interpreter_tells_its_version_and_where_it_was_installed() -> None:
    found = ask(Path(sys.executable))
    assert found is not None
    assert found.version == sys.version_info[:2]
    assert not found.path.is_relative_to(sys.prefix)  # a virtual environment's base


def test_what_is_no_interpreter_is_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    assert ask(broken) is None


def test_each_version_is_found_once_in_ascending_order() -> None:
    versions = [one.version for one in find_interpreters()]
    assert versions == sorted(set(versions))


def test_the_licences_kept_for_wheels_are_those_of_the_nanobind_that_is_compiled_in() -> None:
    files = importlib.metadata.distribution("nanobind").files or []
    (licence,) = [file for file in files if file.name == "LICENSE"]
    assert (THIRD_PARTY / "LICENSE").read_text() == licence.read_text()
    header = Path(nanobind.__file__).parent / "ext/robin_map/include/tsl/robin_map.h"
    comment = header.read_text().partition("/**")[2].partition("*/")[0]
    told = "".join(line.strip().removeprefix("*") for line in comment.splitlines())
    assert (THIRD_PARTY / "LICENSE.robin-map").read_text().split() == told.split()
