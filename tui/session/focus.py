"""What one looks at: the node that is inspected, the activation that alone is shown, what is folded, which events."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Focus:
    """What one looks at. It is no part of the situation: `undo` gives back what was done, not what was looked at."""

    node: str | None = None
    """The node that is inspected, in full; None is the present one."""
    node_tag: str | None = None
    """Under which tag; None is that of its last firing."""
    only: str | None = None
    """The activation that alone is shown, with all below it."""
    folded: tuple[str, ...] = ()
    """The functions and loops that are drawn as one box."""
    opened: tuple[str, ...] = ()
    """Those that are drawn in full, even where the graph is then larger than its place."""
    slice: str = ""
    """The slice of arrays that the inspector shows; the whole, if it is empty."""
    events: str = ""
    """The condition on events that are listed; all, if it is empty."""
