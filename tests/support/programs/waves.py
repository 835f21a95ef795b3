"""Values that come late."""

from __future__ import annotations

from typing import Any

import tagloom as tl


def later(x: Any, waves: int) -> Any:
    """The value, some waves later."""
    for _ in range(waves):
        x = tl.identity(x)
    return x
