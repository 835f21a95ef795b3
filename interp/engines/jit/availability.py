"""Whether numba is available."""

from __future__ import annotations

import os


def numba_unavailable() -> str | None:
    """Why numba is unavailable in this process; None if it is available."""
    is_off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return "the environment says NUMBA_DISABLE_JIT, and numba compiles nothing" if is_off else None
