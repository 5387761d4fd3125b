"""Fixtures for tests of the daemon."""

from __future__ import annotations

from typing import Any

import pytest
from raw_session import RawSession


@pytest.fixture(scope="session")
def raw() -> Any:
    """The RawSession class."""
    return RawSession
