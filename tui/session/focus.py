"""What one looks at: the node that is inspected, the activation that alone is shown, what is folded, which events."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Focus:
    """What one looks at. It is no part of the situation: `undo` gives back what was done, not what was looked at."""

    node_name: str | None = None
    """The node that is inspected, in full; None is the present one."""
    node_tag: str | None = None
    """Under which tag; None is that of its last firing."""
    root_tag: str | None = None
    """The activation that alone is shown, with all below it."""
    folded_names: tuple[str, ...] = ()
    """The functions and loops that are drawn as one box."""
    unfolded_names: tuple[str, ...] = ()
    """Those that are drawn in full, even where the graph is then larger than its place."""
    array_slice: str = ""
    """The slice of arrays that the inspector shows; the whole, if it is empty."""
    event_condition: str = ""
    """The condition on events that are listed; all, if it is empty."""
