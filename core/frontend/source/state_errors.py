"""Errors of a staged branch or loop whose state a program cannot choose or carry. All systems raise the same."""

from __future__ import annotations

from typing import Any

from ...errors import Invalid
from ...program.program import Location
from ..trace.program_builder import describe_with_location
from ..trace.pytree import StaticLeaf, TreeDef, describe_difference, expose_static_leaves
from ..trace.source_location import user_location
from ..trace.text import Text


def different_structures(label: str, first: TreeDef, second: TreeDef, *branches: Location | None) -> Invalid:
    """The branches of a conditional give a piece of state two structures; `branches` are their locations."""
    required, got = describe_difference(first, second)
    return Invalid(
        f"{label} has different structures after the branches of `if`",
        rule="V5",
        where=user_location(),
        required=describe_with_location(required, branches[0]),
        got=describe_with_location(got, branches[1]),
        hint="a symbolic condition can choose between values, strings, functions and instances of your classes",
    )


def different_orders(label: str, first: TreeDef, second: TreeDef, *branches: Location | None) -> Invalid:
    """The branches of a conditional give a dict the same keys in two orders: a loop over it would depend on the
    branch."""
    return Invalid(
        f"the keys of {label} have different orders after the branches of `if`",
        rule="V5",
        where=user_location(),
        required=describe_with_location(str(first), branches[0]),
        got=describe_with_location(str(second), branches[1]),
        hint="write the keys in the same order in both branches",
    )


def changed_structure(label: str, before: TreeDef, after: TreeDef, loop: Location | None) -> Invalid:
    """An iteration gives a loop variable another structure."""
    required, got = describe_difference(before, after)
    hint = "give it one structure before the loop, which carries no objects that its body creates"
    if not _strings(after) <= _strings(before):
        hint = "a loop of the program cannot make strings: print the parts, or collect numbers in a list"
    elif _has_text(after):
        hint = (
            "a loop can make a string of integers longer, and no other one: collect the numbers, or print whole lines"
        )
    return Invalid(
        f"loop variable {label} changes its structure",
        rule="V5",
        where=loop,
        required=required,
        got=got,
        hint=hint,
    )


def growing_structure(label: str, before: TreeDef, after: TreeDef, loop: Location | None) -> Invalid:
    """Each iteration gives a loop variable more values, as `t = (k, t)` does."""
    required, got = describe_difference(before, after)
    return Invalid(
        f"loop variable {label} has more values after each iteration",
        rule="V5",
        where=loop,
        required=required[:200],
        got=got[:200],
        hint="append them to a list of numbers, or of tuples of one length: a list may get longer in a loop",
    )


def _has_text(structure: TreeDef) -> bool:
    """Whether there is a string with symbolic values in a structure."""
    is_text = isinstance(structure.container, type) and issubclass(structure.container, Text)
    return is_text or any(_has_text(part) for _, part in structure.children)


def _strings(structure: TreeDef) -> set[str]:
    """The strings in a structure."""
    leaves = expose_static_leaves(structure)[1]
    return {leaf.value for leaf in leaves if isinstance(leaf, StaticLeaf) and isinstance(leaf.value, str)}


def changed_order(label: str, before: TreeDef, after: TreeDef, loop: Location | None) -> Invalid:
    """An iteration gives the keys of a dict another order."""
    return Invalid(
        f"the keys of loop variable {label} change their order",
        rule="V5",
        where=loop,
        required=str(before),
        got=str(after),
        hint="write the keys in the order that they have before the loop",
    )


def unassigned_variable(label: str, reason: str, loop: Location | None) -> Invalid:
    """An iteration leaves a loop variable without a value."""
    return Invalid(
        f"loop variable {label} is not assigned after an iteration",
        rule="V5",
        where=loop,
        got=reason,
        hint=f"assign {label} on every path of the body",
        python=UnboundLocalError,
    )


def changed_constant(label: str, before: Any, after: Any, loop: Location | None) -> Invalid:
    """An iteration changes an object that is not a value, so that no loop variable can carry it."""
    return Invalid(
        f"{label} changes in a loop whose condition is symbolic",
        rule="V5",
        where=loop,
        required=repr(before)[:200],
        got=f"{after!r} after an iteration"[:200],
        hint="such a loop can change numbers, arrays, and the items of lists and of deques without maxlen",
    )
