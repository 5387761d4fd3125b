"""Processes without huge pages: what they bring is the difference."""

from __future__ import annotations

import ctypes

_PR_SET_THP_DISABLE = 41  # of <linux/prctl.h>; children inherit it


def use_small_pages() -> None:
    """For Popen's preexec_fn."""
    ctypes.CDLL(None).prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)
