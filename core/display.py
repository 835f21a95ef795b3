"""How things show themselves, in a notebook or a terminal: slots, which whoever can do so fills. Nothing here draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .errors import Usage

if TYPE_CHECKING:
    from .world import World


class _DisplayHooks:
    """Who draws: what is drawn in, SVG out, or None where there is nothing to see."""

    render_svg: Callable[[object], str | None] | None = None
    open_player: Callable[..., Any] | None = None
    """Who makes pages that play a run: what is played in, and what of it; something that a notebook shows, out."""
    open_debugger: Callable[[Callable[[World], Any], int], None] | None = None
    """Who opens the debugger: what begins a history in a world, and the event at which to begin, in."""


hooks = _DisplayHooks()


class SvgReprMixin:
    """What a notebook shows as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        """As SVG; None where nobody draws, and the notebook then shows the words."""
        return None if hooks.render_svg is None else hooks.render_svg(self)


class PlayerMixin:
    """A run, of which there is a page that plays it."""

    __slots__ = ()

    def player(
        self,
        *,
        first: int = 0,
        most: int | None = None,
        under: str = "",
        fold: Sequence[str] = (),
        boxes: int | None = None,
    ) -> Any:
        """A page that plays the run, which a notebook shows, and whose `save` writes it to a file.

        Of a long run it has `most` events (5,000 unless told), from event number `first` on, or those under the tag
        that is written as `under`; its `note` says so. Of a large graph the functions and loops named in `fold` are one
        box each, and others are folded until there are no more than so many `boxes` (400 unless told). Raises Usage
        where the run is not over, kept no events, or has no such part.
        """
        if hooks.open_player is None:
            raise Usage("nobody here plays runs", hint="import tagloom")
        return hooks.open_player(self, first=first, most=most, under=under, fold=fold, boxes=boxes)


def open_debugger(begin: Callable[[World], Any], at: int) -> None:
    """Open the debugger on a history; raises Usage where there is none, or no terminal."""
    if hooks.open_debugger is None:
        raise Usage("there is no debugger here", hint="import tagloom")
    hooks.open_debugger(begin, at)
