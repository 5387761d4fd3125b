"""Fixtures for tests of the daemon."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def raw() -> Any:
    """The RawSession class."""
    path = Path(__file__).with_name("raw_session.py")
    spec = importlib.util.spec_from_file_location("raw_session", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["raw_session"] = module
    spec.loader.exec_module(module)
    return module.RawSession
