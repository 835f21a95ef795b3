"""How things show themselves in a notebook: a slot, which whoever can draw fills. Nothing here draws."""

from __future__ import annotations

from collections.abc import Callable


class _Slot:
    """Who draws: what is drawn in, SVG out, or None where there is nothing to see."""

    draw: Callable[[object], str | None] | None = None


slot = _Slot()


class Drawn:
    """What a notebook shows as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        """As SVG; None where nobody draws, and the notebook then shows the words."""
        return None if slot.draw is None else slot.draw(self)
