"""The client's exceptions and the table that makes them."""

from __future__ import annotations

import inspect
import pickle

import graphzero as gz
import grpc
import pytest
from graphzero.client import errors

BUILT_IN = {
    gz.ServerUnavailable: ConnectionError,
    gz.AccessDenied: PermissionError,
    gz.NotFound: LookupError,
    gz.InvalidRequest: ValueError,
    gz.RequestTimeout: TimeoutError,
}


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code.value[0] != 0])
def test_every_grpc_code_has_an_exception_with_the_message(code: grpc.StatusCode) -> None:
    found = errors.exception_for(code.value[0], "seeds[3]: found 9, expected 0 to 8")
    assert type(found) is errors.EXCEPTIONS[code.value[0]]
    assert str(found) == "seeds[3]: found 9, expected 0 to 8"


def test_a_code_of_the_future_is_a_server_error() -> None:
    assert type(errors.exception_for(99, "?")) is gz.ServerError


def test_every_exception_is_public_and_documented_in_the_tree() -> None:
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.ClientError):
            assert getattr(gz, name) is kind
            assert issubclass(kind, gz.GraphZeroError)
            assert name in (errors.__doc__ or "")


def test_public_exceptions_are_shown_and_pickled_as_the_package_s() -> None:
    public = [getattr(gz, name) for name in gz.__all__]
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, Exception)]
    assert gz.FormatError in kinds
    for kind in kinds:
        assert kind.__module__ == "graphzero"
        copy = pickle.loads(pickle.dumps(kind("what went wrong")))
        assert type(copy) is kind
        assert str(copy) == "what went wrong"


@pytest.mark.parametrize(("kind", "base"), BUILT_IN.items())
def test_exceptions_are_also_what_python_calls_them(kind: type, base: type) -> None:
    assert issubclass(kind, base)
