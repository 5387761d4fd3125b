"""Exceptions of the package.

GraphZeroError
├── FormatError   a data file that is truncated, damaged, foreign or too new   (also a ValueError)
├── InputError    input that can be corrected: a bad line, a missing row       (also a ValueError)
└── ClientError   between a trainer and its daemon; client/errors.py has its subclasses

System errors (missing file, full disk, no permission) are the built-in OSError subclasses with
errno and filename; an id outside a graph is an IndexError; a wrong argument is a ValueError.
"""


class GraphZeroError(Exception):
    """Base of every exception that this package defines."""


class FormatError(GraphZeroError, ValueError):
    """A .gl or .gd file that cannot be trusted; says file, place, found and expected."""


class InputError(GraphZeroError, ValueError):
    """Input data that a person can correct; says file, line, found and expected."""


class TooManyEdges(InputError):
    """A sample that would have more edges than max_edges."""


class CallStopped(GraphZeroError):
    """The engine ended a call early because it was told to; only the daemon does that."""


class NeedsMemory(GraphZeroError):
    """A call of the daemon needs more working memory than is free at the moment."""


# Tracebacks show them, and pickle finds them, where users import them from.
for _public in (GraphZeroError, FormatError, InputError):
    _public.__module__ = "graphzero"
del _public
