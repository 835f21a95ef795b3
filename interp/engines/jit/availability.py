"""Whether numba may compile at all."""

from __future__ import annotations

import os


def numba_unavailable() -> str | None:
    """Why numba compiles nothing in this process; None where it does."""
    is_off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return "the environment says NUMBA_DISABLE_JIT, and numba compiles nothing" if is_off else None
