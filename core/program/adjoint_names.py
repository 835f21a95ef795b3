"""Names of what runs back: which node a node of a pullback goes back through, or which value it has the adjoint of.

Derivation writes them, and the debugger reads them; nothing else depends on them.
"""

from __future__ import annotations

from collections.abc import Collection

REVERSE_PREFIX, ADJOINT_PREFIX = "back_", "d_"
"""The beginnings of names: of what goes back through a node, and of the adjoint of a value."""


def unique_name(beginning: str, of: str, taken: Collection[str]) -> str:
    """A name that is not taken, and that tells what it is of.

    >>> unique_name("d_", "x", {"x"}), unique_name("d_", "x", {"x", "x_1", "d_x"})
    ('d_x', 'd_x_2')
    """
    name, count = beginning + of, 0
    while name in taken or (count and f"{of}_{count}" in taken):
        count += 1
        name = f"{beginning}{of}_{count}"
    return name


def original_name(beginning: str, name: str, known: Collection[str]) -> str | None:
    """What a name that begins so is of, among names that are known; None where it tells nothing.

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
