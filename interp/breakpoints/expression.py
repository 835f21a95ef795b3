"""Expressions over events: compiled for a graph before the run, so that evaluation is cheap.

`reader` parses the text, `names` is the table of names, `values` defines the operations. Compilation reports everything
that can be wrong: Malformed if the text cannot be parsed, Usage if it names something that does not exist or combines
operands that do not fit. Evaluation raises nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ..machine.event import Event
from ..machine.state import State
from .fault import ExpressionFault, abbreviate, to_error, unknown_name
from .names import NAMES, Evaluator, ExpressionKind, ExpressionName, item_evaluator, max_items
from .reader import parse_expression
from .tag_pattern import compile_tag_pattern
from .tree import (
    ArithmeticChain,
    BooleanLiteral,
    ComparisonExpression,
    Conjunction,
    Disjunction,
    ExpressionNode,
    IndexedName,
    LogicalNot,
    NameReference,
    Negation,
    NumberLiteral,
    TextLiteral,
    format_expression,
)
from .values import comparison, computation, format_operand, is_true, negate

EventPredicate: TypeAlias = Callable[[State, Event], bool]

_KIND_NAMES: dict[ExpressionKind, str] = {
    "number": "a number",
    "truth": "a truth value",
    "text": "a text",
    "name": "a name",
    "tag": "a tag",
    "value": "a value",
    "values": "several values",
}
_CONDITION_KINDS = ("truth", "text", "value")
"""The kinds that `and`, `or`, `not` and a breakpoint accept: a text is true if it is not empty."""
_KIND_HINTS: dict[ExpressionKind, str] = {
    "number": "compare it, as in `depth > 0`",
    "name": "compare it, as in `node == 'add'`",
    "tag": "compare it, as in `tag matches 'main/**'`",
    "values": "take one of them, as in `inputs[0]`",
}

_NAME_HINTS = {
    "nan": "nothing equals nan: `value != value` holds of nan only",
    "none": "what is missing compares as false, and shows as `?`",
    "null": "what is missing compares as false, and shows as `?`",
}


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, compiled for a graph. `str` is its text in normal form; equal expressions have the same meaning
    and kind."""

    text: str
    """The source text, normalized in spaces and brackets."""
    kind: ExpressionKind
    _evaluate: Evaluator = field(repr=False, compare=False)
    _test: EventPredicate | None = field(repr=False, compare=False)

    def evaluate(self, state: State, event: Event) -> Any:
        """The value for an event of a run of the graph, in the state after it; None if there is none."""
        return self._evaluate(state, event)

    def holds(self, state: State, event: Event) -> bool:
        """Whether the value is true; a value that is no truth value never is."""
        return self._test is not None and self._test(state, event)

    @property
    def is_condition(self) -> bool:
        """Whether it can be true or false."""
        return self._test is not None

    def describe_value(self, state: State, event: Event) -> str:
        """The value as text for people."""
        return format_operand(self._evaluate(state, event))

    def __str__(self) -> str:
        return self.text


def compile_expression(text: str, graph: Graph) -> Expression:
    """Compile a text into an expression over events of runs of this graph; raises Malformed and Usage.

    >>> from tagloom.core.graph.graph import Builder
    >>> print(compile_expression("(tag.depth)>3", Builder("empty").build()))
    tag.depth > 3
    """
    try:
        return compile_substring(text, graph, 0, len(text))
    except ExpressionFault as fault:
        raise to_error(fault, text) from None


def compile_condition(text: str, graph: Graph) -> Expression:
    """The same for a condition: a truth value, a text, or a value of the program; raises Usage for any other kind."""
    try:
        tree, compiler = parse_expression(text), _ExpressionCompiler(graph)
        compiler.compile_test(tree)
        return compiler.compile(tree)
    except ExpressionFault as fault:
        raise to_error(fault, text) from None


def compile_substring(text: str, graph: Graph, begin: int, end: int) -> Expression:
    """Compile a part of a text; raises ExpressionFault, with the position in the whole text."""
    return _ExpressionCompiler(graph).compile(parse_expression(text, begin, end))


class _TypedEvaluator(NamedTuple):
    """The kind of a part, known before the run, and its evaluator."""

    kind: ExpressionKind
    evaluate: Evaluator


class _ExpressionCompiler:
    """Compiles trees into functions of (state, event)."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.evaluators: dict[str, Evaluator] = {}
        self.keys_by_word: dict[str, dict[str, set[Hashable]]] = {}
        """For each name of the table that compares with graph names: the keys that each word stands for."""

    def compile(self, tree: ExpressionNode) -> Expression:
        kind, run = self.compile_typed(tree)
        return Expression(
            format_expression(tree), kind, run, self.compile_test(tree) if kind in _CONDITION_KINDS else None
        )

    def compile_typed(self, tree: ExpressionNode) -> _TypedEvaluator:
        match tree:
            case NumberLiteral(value):
                return _TypedEvaluator("number", lambda state, event: value)
            case BooleanLiteral(truth):
                return _TypedEvaluator("truth", lambda state, event: truth)
            case TextLiteral(said):
                return _TypedEvaluator("text", lambda state, event: said)
            case NameReference():
                return self.compile_name(tree)
            case IndexedName():
                return self.compile_item(tree)
            case Negation(operand):
                inner = self.compile_number("-", operand)
                return _TypedEvaluator(_result_kind(inner), lambda state, event: negate(inner.evaluate(state, event)))
            case LogicalNot(operand):
                test = self.compile_test(operand)
                return _TypedEvaluator("truth", lambda state, event: not test(state, event))
            case Conjunction(tests):
                return _TypedEvaluator("truth", _all_of([self.compile_test(each) for each in tests]))
            case Disjunction(tests):
                return _TypedEvaluator("truth", _any_of([self.compile_test(each) for each in tests]))
            case ArithmeticChain(first, rest):
                return self.compile_chain(first, rest)
            case ComparisonExpression():
                return _TypedEvaluator("truth", self.compile_comparison(tree))
        raise AssertionError(tree)

    def compile_name(self, tree: NameReference) -> _TypedEvaluator:
        row = self.lookup_name(tree.name, tree.offset)
        if row.name not in self.evaluators:
            self.evaluators[row.name] = row.bind(self.graph)
        return _TypedEvaluator(row.kind, self.evaluators[row.name])

    def lookup_name(self, name: str, spot: int) -> ExpressionName:
        """The row of the table; an unknown name may be a text without its quotes."""
        if name in NAMES:
            return NAMES[name]
        for row in NAMES.values():
            if row.graph_names is not None and name in self.lookup_words(row):
                hint = f"a text stands in quotes, as in `{row.name} == '{name}'`"
                raise ExpressionFault(f"{name!r} is a {row.name}, and no name", spot, kind=Usage, hint=hint)
        fault = unknown_name(f"there is no name {abbreviate(name)!r}", name, spot, list(NAMES))
        fault.hint = _NAME_HINTS.get(name.lower(), fault.hint)
        raise fault

    def compile_item(self, tree: IndexedName) -> _TypedEvaluator:
        row = self.lookup_name(tree.name, tree.offset)
        if row.kind != "values":
            raise ExpressionFault(
                f"{row.name} is not several values", tree.offset, kind=Usage, required="inputs[0] or outputs[0]"
            )
        most = max_items(row.name, self.graph)
        if tree.index >= most:
            required = f"a number below {most}, the most that a node of the graph has"
            raise ExpressionFault(
                f"no node has so many {row.name}", tree.offset, kind=Usage, required=required, got=tree.index
            )
        return _TypedEvaluator("value", item_evaluator(row.name, tree.index))

    def compile_test(self, tree: ExpressionNode) -> EventPredicate:
        """Compile a condition into a function that returns a bool."""
        kind, read = self.compile_typed(tree)
        if kind == "truth":
            return read
        if kind == "text":
            return lambda state, event: bool(read(state, event))
        if kind not in _CONDITION_KINDS:
            message = f"{_KIND_NAMES[kind]} is no truth value"
            raise ExpressionFault(message, tree.offset, kind=Usage, got=_quote(tree), hint=_KIND_HINTS[kind])
        return lambda state, event: is_true(read(state, event))

    def compile_number(self, sign: str, tree: ExpressionNode) -> _TypedEvaluator:
        typed = self.compile_typed(tree)
        if typed.kind not in ("number", "value"):
            message = f"{_KIND_NAMES[typed.kind]} is no number to compute with"
            raise ExpressionFault(
                message, tree.offset, kind=Usage, required=f"numbers beside `{sign}`", got=_quote(tree)
            )
        return typed

    def compile_chain(self, first: ExpressionNode, rest: tuple[tuple[str, ExpressionNode], ...]) -> _TypedEvaluator:
        begin = self.compile_number(rest[0][0], first)
        steps = [(computation(sign), self.compile_number(sign, operand)) for sign, operand in rest]
        reads = [(compute, typed.evaluate) for compute, typed in steps]

        def run(state: State, event: Event) -> Any:
            value = begin.evaluate(state, event)
            for compute, operand in reads:
                value = compute(value, operand(state, event))
            return value

        return _TypedEvaluator(_result_kind(begin, *(typed for _, typed in steps)), run)

    def compile_comparison(self, tree: ComparisonExpression) -> EventPredicate:
        sign, left, right = tree.operator, tree.left_operand, tree.right_operand
        if sign in ("matches", "in"):
            return self.compile_tag_match(sign, left, right)
        one, other = self.compile_typed(left), self.compile_typed(right)
        if "name" in (one.kind, other.kind):
            return self.compile_name_comparison(tree, one, other)
        if not _is_comparable(sign, one.kind, other.kind):
            raise _comparison_fault(tree, one.kind, other.kind)
        compare, read_one, read_other = comparison(sign), one.evaluate, other.evaluate
        if isinstance(right, NumberLiteral):
            bound = right.value
            return lambda state, event: compare(read_one(state, event), bound)
        return lambda state, event: compare(read_one(state, event), read_other(state, event))

    def compile_tag_match(self, sign: str, left: ExpressionNode, right: ExpressionNode) -> EventPredicate:
        kind = self.compile_typed(left).kind
        if kind != "tag":
            raise ExpressionFault(
                f"`{sign}` is for tags", left.offset, kind=Usage, required="tag", got=_KIND_NAMES[kind]
            )
        if not isinstance(right, TextLiteral):
            required = "a pattern in quotes, such as 'main/**/loop[3]'"
            raise ExpressionFault(f"`{sign}` wants a pattern", right.offset, kind=Usage, required=required)
        matches = compile_tag_pattern(right.value, self.graph, right.offset + 1, operator=sign)
        return lambda state, event: matches(event.token.tag)

    def compile_name_comparison(
        self, tree: ComparisonExpression, one: _TypedEvaluator, other: _TypedEvaluator
    ) -> EventPredicate:
        """Compile a comparison of a name with a text, which must be one of the graph's names, into a set look-up."""
        name, text, kind = tree.left_operand, tree.right_operand, other.kind
        if one.kind != "name":
            name, text, kind = text, name, one.kind
        assert isinstance(name, NameReference)
        if not isinstance(text, TextLiteral):
            required = f"a text, as in `{name.name} == '...'`"
            message = f"a name cannot be compared with {_KIND_NAMES[kind]}"
            raise ExpressionFault(message, text.offset, kind=Usage, required=required, got=_quote(text))
        if tree.operator not in ("==", "!="):
            raise ExpressionFault(
                "names have no order", tree.offset, kind=Usage, required="== or !=", got=f"`{tree.operator}`"
            )
        row = NAMES[name.name]
        assert row.graph_names is not None
        key, words = row.graph_names.key, self.lookup_words(row)
        if text.value not in words:
            message = f"the graph has no {row.name} {abbreviate(text.value)!r}"
            short = list(dict.fromkeys(called[-1] for called in row.graph_names.names(self.graph).values() if called))
            raise unknown_name(message, text.value, text.offset, short, alternatives=words)
        keys = frozenset(words[text.value])
        if tree.operator == "==":
            return lambda state, event: key(event) in keys
        return lambda state, event: key(event) not in keys

    def lookup_words(self, row: ExpressionName) -> dict[str, set[Hashable]]:
        """The keys for each word that a name of the table can be compared with."""
        assert row.graph_names is not None
        if row.name not in self.keys_by_word:
            found: dict[str, set[Hashable]] = {}
            for key, called in row.graph_names.names(self.graph).items():
                for word in called:
                    found.setdefault(word, set()).add(key)
            self.keys_by_word[row.name] = found
        return self.keys_by_word[row.name]


def _all_of(tests: list[EventPredicate]) -> EventPredicate:
    def run(state: State, event: Event) -> bool:
        for test in tests:  # noqa: SIM110  # all() of a generator costs 150 ns more
            if not test(state, event):
                return False
        return True

    return run


def _any_of(tests: list[EventPredicate]) -> EventPredicate:
    def run(state: State, event: Event) -> bool:
        for test in tests:  # noqa: SIM110
            if test(state, event):
                return True
        return False

    return run


def _result_kind(*operands: _TypedEvaluator) -> ExpressionKind:
    """The kind of the result of a computation."""
    return "number" if all(operand.kind == "number" for operand in operands) else "value"


def _is_comparable(sign: str, one: ExpressionKind, other: ExpressionKind) -> bool:
    kinds = {one, other}
    if sign in ("==", "!=") and kinds in ({"truth"}, {"text"}, {"truth", "value"}):
        return True
    return kinds <= {"number", "value"}


def _comparison_fault(tree: ComparisonExpression, one: ExpressionKind, other: ExpressionKind) -> ExpressionFault:
    """The fault of a comparison that can never make sense."""
    hint = next((_KIND_HINTS[kind] for kind in (one, other) if kind in ("tag", "values")), None)
    if one == other and hint is None:
        message = f"{_KIND_NAMES[one].removeprefix('a ')}s have no order"
        return ExpressionFault(message, tree.offset, kind=Usage, required="== or !=", got=f"`{tree.operator}`")
    if isinstance(tree.right_operand, TextLiteral) and tree.right_operand.value.isdigit():
        hint = hint or "numbers stand without quotes"
    message = f"{_KIND_NAMES[one]} cannot be compared with {_KIND_NAMES[other]}"
    return ExpressionFault(message, tree.offset, kind=Usage, got=_quote(tree), hint=hint)


def _quote(tree: ExpressionNode) -> str:
    return f"`{abbreviate(format_expression(tree))}`"
