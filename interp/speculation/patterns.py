"""Patterns of `match`. Generation reads a function whose `match` statements are `if` statements (`passes/matches.py`);
this module has the operators of their tests."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from ...core.errors import with_article
from ...core.frontend.source.operators import SELF_MATCHING
from . import containers
from .calls import Calls
from .layouts import (
    ConstantLayout,
    DequePool,
    Layout,
    ListPool,
    NotSpeculable,
    Pool,
    ReferenceLayout,
    StaticLayout,
    class_name,
    is_tuple_layout,
)
from .staging import StagedValue


def call_operator(calls: Calls, name: str, values: Sequence[StagedValue], node: ast.expr) -> StagedValue:
    """A call of an operator of patterns. Raises NotSpeculable for those that take sequences or mappings apart."""
    if name not in _OPERATORS:
        raise NotSpeculable("a pattern of a mapping, or with * in a sequence, has no graph")
    subject, *others = values
    return calls.dispatch(subject, lambda option: _OPERATORS[name](calls, option, node, *others))


def _has_items(
    calls: Calls, subject: StagedValue, node: ast.expr, count: StagedValue, has_more: StagedValue | None = None
) -> StagedValue:
    """Whether a subject is a sequence of `count` items, or of more items, too."""
    layout, op = subject.layout, "equal" if has_more is None else "greater_equal"
    if is_tuple_layout(layout) or calls.is_static(subject, list):
        comparison = ast.Eq() if has_more is None else ast.GtE()
        return calls.compare(comparison, calls.constant(len(calls.items(subject))), count, node)
    if isinstance(layout, StaticLayout):
        raise NotSpeculable(f"a pattern of a sequence for {with_article(layout)} has no graph")
    if not isinstance(layout, ReferenceLayout):
        return calls.constant(False)

    def has_items(kind: type, instance: StagedValue) -> StagedValue:
        if issubclass(kind, ListPool):
            size = containers.length(calls, kind, instance)
            return calls.predicate_value(calls.emit(op, size, calls.leaf_of(count)))
        if issubclass(kind, DequePool) or (not issubclass(kind, Pool) and issubclass(kind, Sequence)):
            raise NotSpeculable(f"a pattern of a sequence for {with_article(class_name(kind))} has no graph")
        return calls.constant(False)

    return calls.for_each_object(subject, node, has_items, lambda: calls.constant(False))


def _has_class(
    calls: Calls, subject: StagedValue, node: ast.expr, kind: StagedValue, count: StagedValue, names: StagedValue
) -> StagedValue:
    """Whether a subject is of a class, and has the attributes of a pattern."""
    attributes = [name.layout.value for name in calls.items(names)]  # type: ignore[union-attr]
    attributes[:0] = _positional_names(calls, kind, count.layout.value, node)  # type: ignore[union-attr]
    if len({*attributes}) < len(attributes):
        calls.check(False, node, "no attribute has two patterns", "Python raises TypeError")
    _refuse_properties(calls, subject.layout, attributes)

    def has_from(position: int) -> StagedValue:
        if position == len(attributes):
            return calls.constant(True)
        return calls.find_attribute(
            subject, attributes[position], node, lambda _: has_from(position + 1), lambda: calls.constant(False)
        )

    is_instance = calls.truth(calls.is_instance(subject, kind, node), node)
    return calls.branch(is_instance, lambda: has_from(0), lambda: calls.constant(False))


def _refuse_properties(calls: Calls, layout: Layout, names: Sequence[str]) -> None:
    """Raises NotSpeculable if one of these attributes is a property: Python reads it once, and the tests read it
    several times."""
    owners: Iterable[type] = layout.classes if isinstance(layout, ReferenceLayout) else ()
    if isinstance(layout, StaticLayout):
        owners = (layout.object.owner,)
    for owner in sorted(owners, key=str):
        for name in names:
            if not issubclass(owner, Pool) and isinstance(calls.require_member(owner, name), property):
                raise NotSpeculable(f"a pattern with the property {owner.__qualname__}.{name} has no graph")


def _positional_part(
    calls: Calls, subject: StagedValue, node: ast.expr, kind: StagedValue, position: StagedValue
) -> StagedValue:
    """What a pattern at a position of a class matches."""
    names = _positional_names(calls, kind, position.layout.value + 1, node)  # type: ignore[union-attr]
    return calls.read_attribute(subject, names[-1], node) if names else subject


def _positional_names(calls: Calls, kind: StagedValue, count: int, node: ast.expr) -> tuple[str, ...]:
    """The attributes of the first patterns by position; none for classes that match themselves."""
    if not isinstance(kind.layout, ConstantLayout) or type(kind.layout.value) is not type:
        raise NotSpeculable(f"a pattern of {with_article(kind.layout)} has no graph")
    owner = kind.layout.value
    is_self_matching = owner in SELF_MATCHING
    names = () if is_self_matching or not count else calls.require_class_value(owner, "__match_args__")
    names = names if type(names) is tuple else ()
    if count > (1 if is_self_matching else len(names)):
        calls.check(False, node, "the class has as many patterns by position", "Python raises TypeError")
    return names[:count]


_OPERATORS: dict[str, Callable[..., StagedValue]] = {
    "has_items": _has_items,
    "has_class": _has_class,
    "positional_part": _positional_part,
}
"""The operators, each as a function of the subject, the node, and its other arguments."""
