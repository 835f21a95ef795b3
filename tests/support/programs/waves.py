"""Values that are computed several waves late."""

from __future__ import annotations

from typing import Any

import tagloom as tl


@tl.autograph.inline
def later(x: Any, waves: int) -> Any:
    """The same value, some waves later."""
    for _ in range(waves):
        x = tl.identity(x)
    return x
