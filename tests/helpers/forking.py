"""Programs in forked children."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any


def in_child(program: Callable[[], Any], *, clean_exit: bool = False) -> None:
    """Runs it in a forked child, which must succeed."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            program()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            if clean_exit and status == 0:
                sys.exit(0)  # the interpreter's way, with everything that it destroys
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
