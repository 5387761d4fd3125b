"""System calls that a kernel or a container does not allow."""

from __future__ import annotations

import ctypes
import os
import struct


def forbid_io_uring() -> None:
    """As many containers do: the system call gives EPERM from now on, in this process and in those
    that it starts."""
    load, jump, ret = 0x20, 0x15, 0x06
    filters = b"".join(
        struct.pack("HBBI", *instruction)
        for instruction in [
            (load, 0, 0, 0),  # the number of the system call
            (jump, 0, 1, 425),  # io_uring_setup
            (ret, 0, 0, 0x00050000 | 1),  # an error: EPERM
            (ret, 0, 0, 0x7FFF0000),  # allowed
        ]
    )
    buffer = ctypes.create_string_buffer(filters)
    program = struct.pack("HxxxxxxQ", len(filters) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0, os.strerror(ctypes.get_errno())
