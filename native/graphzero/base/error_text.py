"""Errors as one line for a person."""

import errno
import os

from graphzero.base.text import line_text

# Characters. An error may quote names from files and a daemon's message.
_LONGEST_ERROR = 4000
# Errors of what is written, not of what is read.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def error_text(error: BaseException) -> str:
    """One line for a person: "x.csv: cannot open: No such file or directory"."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        text = _no_descriptors(error.errno)
    elif isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{_files(error)}: {error.strerror}"
    elif isinstance(error, MemoryError):
        text = "not enough memory; lower --memory or --threads"
    else:
        text = " ".join(str(error).split()) or type(error).__name__
    return line_text(text, _LONGEST_ERROR)


def _files(error: OSError) -> str:
    """The file that an error is about; both files if it may be about either."""
    first = os.fsdecode(error.filename)
    if error.filename2 is None:
        return first
    second = os.fsdecode(error.filename2)
    return second if error.errno in _FULL else f"{first} -> {second}"


def _no_descriptors(code: int) -> str:
    """Names the limit instead of the file, which is not at fault."""
    if code == errno.ENFILE:
        return "all processes of this machine have too many files open; raise: sysctl fs.file-max"
    import resource

    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return f"this process may not open more than {allowed} files; run: ulimit -n {4 * allowed}"
