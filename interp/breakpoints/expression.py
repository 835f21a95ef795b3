"""Expressions over events, compiled for a graph before the run, so that evaluation is cheap.

`parser` parses text to trees, `names` has the table of names, `values` the operations. Compilation finds all errors: it
raises Malformed if the text cannot be parsed, and Usage for unknown names and operands of the wrong kinds. Evaluation
raises nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.text.fault import START, SourcePosition, SyntaxFault
from ..machine.event import Event
from ..machine.state import State
from .names import NAMES, Evaluator, ExpressionKind, ExpressionName, item_evaluator, max_items
from .syntax import (
    MAX_LENGTH,
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
    abbreviate,
    format_expression,
    to_error,
    unknown_name,
)
from .tag_pattern import compile_tag_pattern
from .values import comparison, computation, format_operand, is_true, negate

EventPredicate: TypeAlias = Callable[[State, Event], bool]
"""Whether an event matches, given the state after it."""

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
"""The kinds that `and`, `or`, `not` and breakpoints accept as conditions."""
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
    """An expression, compiled for a graph. `str` returns its text in normal form; equal expressions have equal texts
    and kinds."""

    text: str
    """The source text, normalized in spaces and brackets."""
    kind: ExpressionKind
    _evaluate: Evaluator = field(repr=False, compare=False)
    _test: EventPredicate | None = field(repr=False, compare=False)

    def evaluate(self, state: State, event: Event) -> Any:
        """The value for an event of a run of the graph, in the state after it; None if there is none."""
        return self._evaluate(state, event)

    def holds(self, state: State, event: Event) -> bool:
        """Whether the value is true; False if the expression is not a condition."""
        return self._test is not None and self._test(state, event)

    @property
    def is_condition(self) -> bool:
        """Whether the expression has a truth value."""
        return self._test is not None

    def describe_value(self, state: State, event: Event) -> str:
        """The value as text for people."""
        return format_operand(self._evaluate(state, event))

    def __str__(self) -> str:
        return self.text


def compile_expression(text: str, graph: Graph) -> Expression:
    """Compile a text into an expression over events of runs of this graph; raises Malformed and Usage.

    >>> from tagloom.core.graph.graph import GraphBuilder
    >>> print(compile_expression("(tag.depth)>3", GraphBuilder("empty").build()))
    tag.depth > 3
    """
    try:
        return compile_substring(text, graph)
    except SyntaxFault as fault:
        raise to_error(fault, text) from None


def compile_condition(text: str, graph: Graph) -> Expression:
    """Compile a text into a condition: a truth value, a text, or a value of the program. Raises Malformed, and Usage
    also for any other kind."""
    try:
        tree, compiler = parse(text), _ExpressionCompiler(graph)
        compiler.compile_test(tree)
        return compiler.compile(tree)
    except SyntaxFault as fault:
        raise to_error(fault, text) from None


def compile_substring(text: str, graph: Graph, begin: int = 0, end: int | None = None) -> Expression:
    """Compile a part of a text; raises SyntaxFault, with the position in the whole text."""
    return _ExpressionCompiler(graph).compile(parse(text, begin, end))


def parse(text: str, begin: int = 0, end: int | None = None) -> ExpressionNode:
    """The tree of a text, or of a part of it; raises SyntaxFault."""
    from .parser import parse_expression  # the parser library is slow to import, and most runs have no conditions

    return parse_expression(text, begin, end)


class _TypedEvaluator(NamedTuple):
    """The kind of a subexpression, known before the run, and its evaluator."""

    kind: ExpressionKind
    evaluate: Evaluator


class _ExpressionCompiler:
    """Compiles trees into functions of a state and an event."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.evaluators: dict[str, Evaluator] = {}
        self.keys_by_word: dict[str, dict[str, set[Hashable]]] = {}
        """For each name that is compared with names of the graph: the keys for each of those."""

    def compile(self, tree: ExpressionNode) -> Expression:
        """Compile a whole expression."""
        kind, run = self.compile_typed(tree)
        return Expression(
            format_expression(tree), kind, run, self.compile_test(tree) if kind in _CONDITION_KINDS else None
        )

    def compile_typed(self, tree: ExpressionNode) -> _TypedEvaluator:
        """Compile a subexpression, and infer its kind."""
        match tree:
            case NumberLiteral(value):
                return _TypedEvaluator("number", lambda state, event: value)
            case BooleanLiteral(truth):
                return _TypedEvaluator("truth", lambda state, event: truth)
            case TextLiteral(text):
                return _TypedEvaluator("text", lambda state, event: text)
            case NameReference():
                return self.compile_name(tree)
            case IndexedName():
                return self.compile_item(tree)
            case Negation(operand):
                inner = self.compile_number("-", operand)
                return _TypedEvaluator(result_kind(inner), lambda state, event: negate(inner.evaluate(state, event)))
            case LogicalNot(operand):
                test = self.compile_test(operand)
                return _TypedEvaluator("truth", lambda state, event: not test(state, event))
            case Conjunction(tests):
                return _TypedEvaluator("truth", all_of([self.compile_test(test) for test in tests]))
            case Disjunction(tests):
                return _TypedEvaluator("truth", any_of([self.compile_test(test) for test in tests]))
            case ArithmeticChain(first, rest):
                return self.compile_chain(first, rest)
            case ComparisonExpression():
                return _TypedEvaluator("truth", self.compile_comparison(tree))
        raise AssertionError(tree)

    def compile_name(self, tree: NameReference) -> _TypedEvaluator:
        """Compile a name of the table."""
        row = self.lookup_name(tree.name, tree.position)
        if row.name not in self.evaluators:
            self.evaluators[row.name] = row.bind(self.graph)
        return _TypedEvaluator(row.kind, self.evaluators[row.name])

    def lookup_name(self, name: str, position: SourcePosition) -> ExpressionName:
        """The row of a name in the table; raises SyntaxFault for an unknown name, which may be a text without
        quotes."""
        if name in NAMES:
            return NAMES[name]
        for row in NAMES.values():
            if row.graph_names is not None and name in self.lookup_words(row):
                hint = f"write a text in quotes, as in `{row.name} == '{name}'`"
                if row.name == "node":
                    hint += f"; `node == '{name}' and value == 0` compares its value"
                raise SyntaxFault(
                    f"{name!r} is a {row.name}, not a name of an expression", position, kind=Usage, hint=hint
                )
        fault = unknown_name(f"there is no name {abbreviate(name)!r}", name, position, list(NAMES))
        fault.hint = _NAME_HINTS.get(name.lower(), fault.hint)
        raise fault

    def compile_item(self, tree: IndexedName) -> _TypedEvaluator:
        """Compile an indexed name; raises SyntaxFault if no node has that many inputs or outputs."""
        row = self.lookup_name(tree.name, tree.position)
        if row.kind != "values":
            raise SyntaxFault(f"{row.name} has no items", tree.position, kind=Usage, required="inputs[0] or outputs[0]")
        count = max_items(row.name, self.graph)
        if tree.index >= count:
            required = f"a number below {count}, the most that a node of the graph has"
            raise SyntaxFault(
                f"no node has that many {row.name}", tree.position, kind=Usage, required=required, got=tree.index
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
            message = f"{_KIND_NAMES[kind]} is not a bool"
            raise SyntaxFault(message, tree.position, kind=Usage, got=_quote(tree), hint=_KIND_HINTS[kind])
        return lambda state, event: is_true(read(state, event))

    def compile_number(self, sign: str, tree: ExpressionNode) -> _TypedEvaluator:
        """Compile an operand of arithmetic; raises SyntaxFault if it is never a number."""
        evaluator = self.compile_typed(tree)
        if evaluator.kind not in ("number", "value"):
            message = f"{_KIND_NAMES[evaluator.kind]} is not a number to compute with"
            raise SyntaxFault(message, tree.position, kind=Usage, required=f"numbers beside `{sign}`", got=_quote(tree))
        return evaluator

    def compile_chain(self, first: ExpressionNode, rest: tuple[tuple[str, ExpressionNode], ...]) -> _TypedEvaluator:
        """Compile a sum or a product."""
        begin = self.compile_number(rest[0][0], first)
        steps = [(computation(sign), self.compile_number(sign, operand)) for sign, operand in rest]
        reads = [(compute, evaluator.evaluate) for compute, evaluator in steps]

        def run(state: State, event: Event) -> Any:
            value = begin.evaluate(state, event)
            for compute, operand in reads:
                value = compute(value, operand(state, event))
            return value

        return _TypedEvaluator(result_kind(begin, *(evaluator for _, evaluator in steps)), run)

    def compile_comparison(self, tree: ComparisonExpression) -> EventPredicate:
        """Compile a comparison; raises SyntaxFault for kinds that cannot be compared."""
        sign, left, right = tree.operator, tree.left_operand, tree.right_operand
        if sign in ("matches", "in"):
            return self.compile_tag_match(sign, left, right)
        first, second = self.compile_typed(left), self.compile_typed(right)
        if "name" in (first.kind, second.kind):
            return self.compile_name_comparison(tree, first, second)
        if not is_comparable(sign, first.kind, second.kind):
            raise comparison_fault(tree, first.kind, second.kind)
        compare, read_one, read_other = comparison(sign), first.evaluate, second.evaluate
        if isinstance(right, NumberLiteral):
            bound = right.value
            return lambda state, event: compare(read_one(state, event), bound)
        return lambda state, event: compare(read_one(state, event), read_other(state, event))

    def compile_tag_match(self, sign: str, left: ExpressionNode, right: ExpressionNode) -> EventPredicate:
        """Compile `tag matches PATTERN` or `tag in PATTERN`."""
        kind = self.compile_typed(left).kind
        if kind != "tag":
            raise SyntaxFault(f"`{sign}` is for tags", left.position, kind=Usage, required="tag", got=_KIND_NAMES[kind])
        if not isinstance(right, TextLiteral):
            required = "a pattern in quotes, such as 'main/**/loop[3]'"
            raise SyntaxFault(f"`{sign}` requires a pattern", right.position, kind=Usage, required=required)
        matches = compile_tag_pattern(right.value, self.graph, right.position.after("'"), operator=sign)
        return lambda state, event: matches(event.token.tag)

    def compile_name_comparison(
        self, tree: ComparisonExpression, first: _TypedEvaluator, second: _TypedEvaluator
    ) -> EventPredicate:
        """Compile a comparison of a name with a text, which must be one of the graph's names, into a set look-up."""
        name, text, kind = tree.left_operand, tree.right_operand, second.kind
        if first.kind != "name":
            name, text, kind = text, name, first.kind
        assert isinstance(name, NameReference)
        if not isinstance(text, TextLiteral):
            required = f"a text, as in `{name.name} == '...'`"
            message = f"a name cannot be compared with {_KIND_NAMES[kind]}"
            raise SyntaxFault(message, text.position, kind=Usage, required=required, got=_quote(text))
        if tree.operator not in ("==", "!="):
            raise SyntaxFault(
                "names have no order", tree.position, kind=Usage, required="== or !=", got=f"`{tree.operator}`"
            )
        row = NAMES[name.name]
        assert row.graph_names is not None
        key, words = row.graph_names.key, self.lookup_words(row)
        if text.value not in words:
            message = f"the graph has no {row.name} {abbreviate(text.value)!r}"
            names_by_key = row.graph_names.names(self.graph)
            short_names = list(dict.fromkeys(names[-1] for names in names_by_key.values() if names))
            raise unknown_name(message, text.value, text.position, short_names, alternatives=words)
        keys = frozenset(words[text.value])
        if tree.operator == "==":
            return lambda state, event: key(event) in keys
        return lambda state, event: key(event) not in keys

    def lookup_words(self, row: ExpressionName) -> dict[str, set[Hashable]]:
        """The keys for each name of the graph that an expression name can be compared with."""
        assert row.graph_names is not None
        if row.name not in self.keys_by_word:
            keys: dict[str, set[Hashable]] = {}
            for key, words in row.graph_names.names(self.graph).items():
                for word in words:
                    keys.setdefault(word, set()).add(key)
            self.keys_by_word[row.name] = keys
        return self.keys_by_word[row.name]


def all_of(tests: list[EventPredicate]) -> EventPredicate:
    """A predicate that holds if every test does."""

    def run(state: State, event: Event) -> bool:
        for test in tests:  # noqa: SIM110  # all() of a generator costs 150 ns more
            if not test(state, event):
                return False
        return True

    return run


def any_of(tests: list[EventPredicate]) -> EventPredicate:
    """A predicate that holds if any test does."""

    def run(state: State, event: Event) -> bool:
        for test in tests:  # noqa: SIM110
            if test(state, event):
                return True
        return False

    return run


def result_kind(*operands: _TypedEvaluator) -> ExpressionKind:
    """The kind of the result of a computation."""
    return "number" if all(operand.kind == "number" for operand in operands) else "value"


def is_comparable(sign: str, first: ExpressionKind, second: ExpressionKind) -> bool:
    """Whether an operator can compare operands of these kinds."""
    kinds = {first, second}
    if sign in ("==", "!=") and kinds in ({"truth"}, {"text"}, {"truth", "value"}):
        return True
    return kinds <= {"number", "value"}


def comparison_fault(tree: ComparisonExpression, first: ExpressionKind, second: ExpressionKind) -> SyntaxFault:
    """The fault of a comparison of kinds that cannot be compared."""
    hint = next((_KIND_HINTS[kind] for kind in (first, second) if kind in ("tag", "values")), None)
    if first == second and hint is None:
        message = f"{_KIND_NAMES[first].removeprefix('a ')}s have no order"
        return SyntaxFault(message, tree.position, kind=Usage, required="== or !=", got=f"`{tree.operator}`")
    if isinstance(tree.right_operand, TextLiteral) and tree.right_operand.value.isdigit():
        hint = hint or "write numbers without quotes"
    message = f"{_KIND_NAMES[first]} cannot be compared with {_KIND_NAMES[second]}"
    return SyntaxFault(message, tree.position, kind=Usage, got=_quote(tree), hint=hint)


def _quote(tree: ExpressionNode) -> str:
    return f"`{abbreviate(format_expression(tree))}`"


@dataclass(frozen=True, slots=True)
class LogTemplate:
    """A template for a logpoint's lines: texts and expressions, as in `fib got {inputs[0]} under {tag}`; `{{` is a
    brace. `str` returns its text in normal form."""

    parts: tuple[str | Expression, ...]

    def render(self, state: State, event: Event) -> str:
        """The line for an event, in the state after it; raises nothing."""
        return "".join(part if isinstance(part, str) else part.describe_value(state, event) for part in self.parts)

    def __str__(self) -> str:
        return "".join(
            part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else f"{{{part}}}"
            for part in self.parts
        )


_LITERAL_TEXT = re.compile(r"(?:[^{}]|\{\{|\}\})*")
_EXPRESSION_TEXT = re.compile(r"""(?:[^{}'"]|'[^']*'|"[^"]*")*""")


def compile_template(text: str, graph: Graph) -> LogTemplate:
    """Compile a template over events of runs of this graph; raises Malformed and Usage as `compile_expression` does."""
    parts: list[str | Expression] = []
    begin = 0
    try:
        if len(text) > MAX_LENGTH:
            required = f"{MAX_LENGTH:,} characters at most"
            raise SyntaxFault("the text is too long", START, required=required, got=f"{len(text):,}")
        while True:
            literal = _LITERAL_TEXT.match(text, begin)
            assert literal is not None
            if literal[0]:
                parts.append(literal[0].replace("{{", "{").replace("}}", "}"))
            brace = literal.end()
            if brace == len(text):
                return LogTemplate(tuple(parts))
            if text[brace] == "}":
                hint = "a brace in the text is written twice: `}}`"
                raise SyntaxFault("this brace was not opened", START.after(text[:brace]), hint=hint)
            end = closing_brace(text, brace)
            parts.append(compile_substring(text, graph, brace + 1, end))
            begin = end + 1
    except SyntaxFault as fault:
        raise to_error(fault, text) from None


def closing_brace(text: str, opening: int) -> int:
    """The index of the brace that closes the brace at `opening`, outside quoted texts; raises SyntaxFault."""
    expression = _EXPRESSION_TEXT.match(text, opening + 1)
    assert expression is not None
    end = expression.end()
    match text[end : end + 1]:
        case "}":
            return end
        case "'" | '"' as quote:
            hint = "a text ends with the quote with which it begins"
            raise SyntaxFault(f"unexpected `{quote}`", START.after(text[:end]), hint=hint)
    hint = "a brace in the text is written twice: `{{`"
    raise SyntaxFault("this brace is not closed", START.after(text[:opening]), required="`}`", hint=hint)
