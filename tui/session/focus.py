"""The focus: the inspected node, the activation shown, the folded boxes, and the listed events."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Focus:
    """What the user looks at. It is no part of the undoable state: `undo` takes back actions, not views."""

    node_name: str | None = None
    """The full name of the inspected node; None is the current one."""
    node_tag: str | None = None
    """The tag under which it is inspected; None is that of its last firing."""
    root_tag: str | None = None
    """The activation that is shown, with everything below it, to the exclusion of others."""
    folded_names: tuple[str, ...] = ()
    """The functions and loops drawn as one box."""
    unfolded_names: tuple[str, ...] = ()
    """The functions and loops drawn in full, even if the graph then exceeds its pane."""
    array_slice: str = ""
    """The slice of arrays that the inspector shows; all, if it is empty."""
    event_condition: str = ""
    """The condition on listed events; all, if it is empty."""
