"""Scopes: names for parts of a function, for pictures and the debugger."""

from __future__ import annotations

from ..errors import Usage
from ..program.program import ScopeEntry
from .trace.source_location import entered_scopes, user_frame, user_location


class NamedScope:
    """The context manager of `scope`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        frame = user_frame()
        assert frame is not None
        entered_scopes().append((frame, ScopeEntry(self.name, frame.f_code, frame.f_lasti)))

    def __exit__(self, *exception: object) -> None:
        entered_scopes().pop()


def scope(name: str, /) -> NamedScope:
    """A name for the nodes that are traced inside `with tl.scope(name):`. Pictures and the debugger draw a frame around
    them, and fold it like the call of a Python helper; scopes and helpers may be inside one another. The meaning of the
    program does not change, and values of eager arrays have no scopes.

    Raises Usage, which is a TypeError, if the name is not a string, and a ValueError if it is empty.

    >>> import tagloom as tl
    >>> @tl.function
    ... def model(x: tl.float64) -> tl.float64:
    ...     with tl.scope("encoder"):
    ...         y = tl.tanh(2.0 * x)
    ...     return y + 1.0
    >>> [len(node.location.scopes) for node in model.program.functions[0].body.nodes]
    [1, 1, 0]
    """
    if not isinstance(name, str):
        where, hint = user_location(), 'write tl.scope("encoder")'
        raise Usage("a scope has a name", where=where, got=repr(name)[:80], hint=hint, python=TypeError)
    if not name:
        where, hint = user_location(), 'write tl.scope("encoder")'
        raise Usage("the name of a scope is empty", where=where, hint=hint, python=ValueError)
    return NamedScope(name)
