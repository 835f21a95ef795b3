"""Problems: the errors for programs and graphs that break a numbered rule. Every part is required."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import Invalid
from ..ops.effects import OpRow
from ..ops.op import Attributes
from ..ops.type_rules import format_attribute
from ..types import HandleType, Type
from . import hints
from .program import PARALLEL_ITERATIONS, PHASE, PULLBACK_TARGET


def problem(rule: str, message: str, where: object, *, required: object, got: object, hint: str) -> Invalid:
    """The error for a broken rule: the place of the breach, the requirement of the rule, the content of the program,
    and a remedy. Lists are joined.

    >>> print(problem("V6", "results do not fit", "f.tl:3", required=["int8", "bool"], got=[], hint="say both"))
    V6: results do not fit (f.tl:3)
      required: int8, bool
      got: none
      hint: say both
    """
    return Invalid(
        message, rule=rule, where=where, required=_describe_items(required), got=_describe_items(got), hint=hint
    )


def _describe_items(items: object) -> object:
    return ", ".join(map(str, items)) or "none" if isinstance(items, list | tuple | dict | set | frozenset) else items


def check_attributes(rule: str, op: str, where: object, row: OpRow | None, attributes: Attributes) -> Iterator[Invalid]:
    """A node has the attributes that its op declares, in that order; one without a row has none."""
    names = tuple(name for name, _ in attributes)
    if not (row.has_attributes(names) if row else names == ()):
        message, hint = f"{op} has the wrong attributes", hints.example(op)
        yield problem(rule, message, where, required=row.attributes if row else (), got=names, hint=hint)


def check_structured_attributes(rule: str, op: str, where: object, attributes: Attributes) -> Iterator[Invalid]:
    """A cond has no attributes, and a call only the name of its function."""
    extra = [name for name, _ in attributes if (op, name) not in (("call", "function"), ("pullback", PULLBACK_TARGET))]
    if extra and op != "while_loop":
        required = "the name of a function" if op == "call" else []
        message, hint = f"{op} has the wrong attributes", "leave it out; while_loop alone may have parallel_iterations"
        yield problem(rule, message, where, required=required, got=extra, hint=hint)


def check_no_handles(rule: str, name: str, where: object, types: Iterable[Type]) -> Iterator[Invalid]:
    """A run takes and returns no handles, since the environment has no cells."""
    for type_ in types:
        if isinstance(type_.dtype, HandleType):
            yield problem(
                rule,
                f"a run of {name} takes or returns a handle of cells",
                where,
                required="numbers or arrays",
                got=type_,
                hint="collect makes an array of cells",
            )


def check_iteration_bound(rule: str, where: object, attributes: Attributes) -> Iterator[Invalid]:
    """A loop may have a bound on its iterations, and no other attribute."""
    if attributes and not (
        len(attributes) == 1 and attributes[0][0] == PARALLEL_ITERATIONS and _is_iteration_bound(attributes[0][1])
    ):
        yield problem(
            rule,
            "this is not a valid bound on the iterations of a loop",
            where,
            required=f"{PARALLEL_ITERATIONS}, an integer from 1 up",
            got=", ".join(f"{name}={format_attribute(value)}" for name, value in attributes),
            hint=f"leave it out, or write {PARALLEL_ITERATIONS}=10",
        )


def check_phase_attribute(rule: str, where: object, attributes: Attributes) -> Iterator[Invalid]:
    """A routing node of a pullback has the number of its phase as its only attribute."""
    if not (len(attributes) == 1 and type(attributes[0][1]) is int and attributes[0][1] > 0):
        got = ", ".join(f"{name}={format_attribute(value)}" for name, value in attributes)
        hint = f"write {PHASE}=1 for what belongs to a pullback, and leave it out elsewhere"
        yield problem(
            rule, "this is not a valid phase", where, required=f"{PHASE}, an integer from 1 up", got=got, hint=hint
        )


def _is_iteration_bound(bound: object) -> bool:
    return type(bound) is int and 0 < bound < 2**63
