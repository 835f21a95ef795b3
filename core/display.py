"""Hooks through which objects show themselves in a notebook or a terminal. The layers above fill them; nothing here
draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .errors import Usage

if TYPE_CHECKING:
    from .world import World


class _DisplayHooks:
    """The functions that draw. `render_svg` takes an object and returns SVG, or None if the object has no picture."""

    render_svg: Callable[[object], str | None] | None = None
    open_player: Callable[..., Any] | None = None
    """Takes a run and options, and returns a page that plays the run, as an object that a notebook shows."""
    open_debugger: Callable[[Callable[[World], Any], int], None] | None = None
    """Opens the debugger. Takes a function that starts a history in a world, and the number of the event to start
    at."""


hooks = _DisplayHooks()


class SvgReprMixin:
    """A mixin for objects that a notebook shows as SVG."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        """The object as SVG; None where nothing can draw it, so that the notebook shows text."""
        return None if hooks.render_svg is None else hooks.render_svg(self)


class PlayerMixin:
    """A mixin for runs that a page can play."""

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
        """A page that plays the run. A notebook shows it, and its `save` writes it to a file.

        For a long run the page has `most` events (by default 5,000), from event number `first` on, or those under the
        tag written as `under`; its `note` says so. In a large graph each function and loop named in `fold` is one box,
        and others are folded until there are at most `boxes` boxes (by default 400). Raises Usage where the run is not
        over, kept no events, or has no such part.
        """
        if hooks.open_player is None:
            raise Usage("no player of runs is loaded", hint="import tagloom")
        return hooks.open_player(self, first=first, most=most, under=under, fold=fold, boxes=boxes)


def open_debugger(start_history: Callable[[World], Any], event_number: int) -> None:
    """Open the debugger on a history; raises Usage where there is no debugger or no terminal."""
    if hooks.open_debugger is None:
        raise Usage("no debugger is loaded", hint="import tagloom")
    hooks.open_debugger(start_history, event_number)
