"""Names in reverse passes: of the node that a reverse node goes back through, and of the value that an adjoint belongs
to.

Differentiation writes these names and the debugger reads them; nothing else depends on them.
"""

from __future__ import annotations

from collections.abc import Collection

REVERSE_PREFIX, ADJOINT_PREFIX = "back_", "d_"
"""Prefixes of the names of nodes that go back through a node, and of adjoints of a value."""


def unique_name(beginning: str, of: str, taken: Collection[str]) -> str:
    """A name that is not taken: the prefix `beginning`, the name `of`, and a number if needed.

    >>> unique_name("d_", "x", {"x"}), unique_name("d_", "x", {"x", "x_1", "d_x"})
    ('d_x', 'd_x_2')
    """
    name, count = beginning + of, 0
    while name in taken or (count and f"{of}_{count}" in taken):
        count += 1
        name = f"{beginning}{of}_{count}"
    return name


def original_name(beginning: str, name: str, known: Collection[str]) -> str | None:
    """The known name behind a name with this prefix; None where there is none. The inverse of `unique_name`.

    >>> original_name("d_", "d_x", {"x"}), original_name("d_", "d_x_1", {"x"})
    ('x', 'x')
    >>> original_name("d_", "d_x_1", {"x", "x_1"})
    'x_1'
    >>> original_name("d_", "x", {"x"}) is None
    True
    """
    of = name.removeprefix(beginning)
    if of == name:
        return None
    shorter, _, number = of.rpartition("_")
    return of if of in known else shorter if shorter in known and number.isdigit() else None
