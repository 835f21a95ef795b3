"""Expressions over events: what a text means for a graph, worked out before the run, and cheap to ask in it.

`reader` reads the text, `names` is the table of names, `values` says what operations do.
All that can be wrong with an expression is said when it is compiled: Malformed where the text cannot be read, Usage
where it names what is not there or joins what does not fit. In a run nothing is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ..machine.event import Event
from ..machine.state import State
from .fault import Fault, brief, complaint, unknown
from .names import NAMES, Kind, Read, Row, item, most_items
from .reader import read
from .tag_pattern import tag_pattern
from .tree import Chain, Comparison, Either, Every, Item, Minus, Name, Not, Number, Text, Tree, Truth, write
from .values import comparing, computing, is_true, negative, shown

Test: TypeAlias = Callable[[State, Event], bool]

_SAID: dict[Kind, str] = {
    "number": "a number",
    "truth": "a truth value",
    "text": "a text",
    "name": "a name",
    "tag": "a tag",
    "value": "a value",
    "values": "several values",
}
_DECIDING = ("truth", "text", "value")
"""The kinds that `and`, `or`, `not` and a breakpoint take: a text decides for yes where it is not empty."""
_TO_COMPARE: dict[Kind, str] = {
    "number": "compare it, as in `depth > 0`",
    "name": "compare it, as in `node == 'add'`",
    "tag": "compare it, as in `tag matches 'main/**'`",
    "values": "take one of them, as in `inputs[0]`",
}

_MEANT = {
    "nan": "nothing equals nan: `value != value` holds of nan only",
    "none": "what is missing compares as false, and shows as `?`",
    "null": "what is missing compares as false, and shows as `?`",
}


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, compiled for a graph. `str` is its text in normal form; equal ones say the same of the same
    kind."""

    text: str
    """What was written, up to spaces and brackets."""
    kind: Kind
    _read: Read = field(repr=False, compare=False)
    _test: Test | None = field(repr=False, compare=False)

    def of(self, state: State, event: Event) -> Any:
        """Its value for an event of a run of the graph, when the state has done it; None where there is none."""
        return self._read(state, event)

    def holds(self, state: State, event: Event) -> bool:
        """Whether it decides for yes; what is no truth value never does."""
        return self._test is not None and self._test(state, event)

    @property
    def decides(self) -> bool:
        """Whether it can be asked for yes or no."""
        return self._test is not None

    def shown(self, state: State, event: Event) -> str:
        """Its value as people read it."""
        return shown(self._read(state, event))

    def __str__(self) -> str:
        return self.text


def compile_expression(text: str, graph: Graph) -> Expression:
    """The expression that a text is, over events of runs of this graph; raises Malformed and Usage.

    >>> from tagloom.core.graph.graph import Builder
    >>> print(compile_expression("(tag.depth)>3", Builder("empty").build()))
    tag.depth > 3
    """
    try:
        return compile_part(text, graph, 0, len(text))
    except Fault as fault:
        raise complaint(fault, text) from None


def compile_condition(text: str, graph: Graph) -> Expression:
    """The same, where it decides: where it is a truth value, a text, or a value of the program; raises Usage if not."""
    try:
        tree, compiler = read(text), _Compiler(graph)
        compiler.test(tree)
        return compiler.expression(tree)
    except Fault as fault:
        raise complaint(fault, text) from None


def compile_part(text: str, graph: Graph, begin: int, end: int) -> Expression:
    """The expression that a part of a text is; raises Fault, at its spot in the whole text."""
    return _Compiler(graph).expression(read(text, begin, end))


class _Typed(NamedTuple):
    """What is known of a part before the run, and how it is read in it."""

    kind: Kind
    read: Read


class _Compiler:
    """Turns trees into functions of (state, event)."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.reads: dict[str, Read] = {}
        self.called: dict[str, dict[str, set[Hashable]]] = {}
        """What goes by each word, for each name of the table that means names."""

    def expression(self, tree: Tree) -> Expression:
        kind, run = self.typed(tree)
        return Expression(write(tree), kind, run, self.test(tree) if kind in _DECIDING else None)

    def typed(self, tree: Tree) -> _Typed:
        match tree:
            case Number(value):
                return _Typed("number", lambda state, event: value)
            case Truth(truth):
                return _Typed("truth", lambda state, event: truth)
            case Text(said):
                return _Typed("text", lambda state, event: said)
            case Name():
                return self.name(tree)
            case Item():
                return self.item(tree)
            case Minus(operand):
                inner = self.number("-", operand)
                return _Typed(_joined(inner), lambda state, event: negative(inner.read(state, event)))
            case Not(operand):
                test = self.test(operand)
                return _Typed("truth", lambda state, event: not test(state, event))
            case Every(tests):
                return _Typed("truth", _every([self.test(each) for each in tests]))
            case Either(tests):
                return _Typed("truth", _either([self.test(each) for each in tests]))
            case Chain(first, rest):
                return self.chain(first, rest)
            case Comparison():
                return _Typed("truth", self.comparison(tree))
        raise AssertionError(tree)

    def name(self, tree: Name) -> _Typed:
        row = self.row(tree.name, tree.spot)
        if row.name not in self.reads:
            self.reads[row.name] = row.read(self.graph)
        return _Typed(row.kind, self.reads[row.name])

    def row(self, name: str, spot: int) -> Row:
        """The row of the table; what is missing may be a text without its quotes."""
        if name in NAMES:
            return NAMES[name]
        for row in NAMES.values():
            if row.naming is not None and name in self.words(row):
                hint = f"a text stands in quotes, as in `{row.name} == '{name}'`"
                raise Fault(f"{name!r} is a {row.name}, and no name", spot, kind=Usage, hint=hint)
        fault = unknown(f"there is no name {brief(name)!r}", name, spot, list(NAMES))
        fault.hint = _MEANT.get(name.lower(), fault.hint)
        raise fault

    def item(self, tree: Item) -> _Typed:
        row = self.row(tree.name, tree.spot)
        if row.kind != "values":
            raise Fault(f"{row.name} is not several values", tree.spot, kind=Usage, required="inputs[0] or outputs[0]")
        most = most_items(row.name, self.graph)
        if tree.index >= most:
            required = f"a number below {most}, the most that a node of the graph has"
            raise Fault(f"no node has so many {row.name}", tree.spot, kind=Usage, required=required, got=tree.index)
        return _Typed("value", item(row.name, tree.index))

    def test(self, tree: Tree) -> Test:
        """A part that decides, as a function that gives true or false."""
        kind, read = self.typed(tree)
        if kind == "truth":
            return read
        if kind == "text":
            return lambda state, event: bool(read(state, event))
        if kind not in _DECIDING:
            message = f"{_SAID[kind]} is no truth value"
            raise Fault(message, tree.spot, kind=Usage, got=_quoted(tree), hint=_TO_COMPARE[kind])
        return lambda state, event: is_true(read(state, event))

    def number(self, sign: str, tree: Tree) -> _Typed:
        typed = self.typed(tree)
        if typed.kind not in ("number", "value"):
            message = f"{_SAID[typed.kind]} is no number to compute with"
            raise Fault(message, tree.spot, kind=Usage, required=f"numbers beside `{sign}`", got=_quoted(tree))
        return typed

    def chain(self, first: Tree, rest: tuple[tuple[str, Tree], ...]) -> _Typed:
        begin = self.number(rest[0][0], first)
        steps = [(computing(sign), self.number(sign, operand)) for sign, operand in rest]
        reads = [(compute, typed.read) for compute, typed in steps]

        def run(state: State, event: Event) -> Any:
            value = begin.read(state, event)
            for compute, operand in reads:
                value = compute(value, operand(state, event))
            return value

        return _Typed(_joined(begin, *(typed for _, typed in steps)), run)

    def comparison(self, tree: Comparison) -> Test:
        sign, left, right = tree.sign, tree.left, tree.right
        if sign in ("matches", "in"):
            return self.pattern(sign, left, right)
        one, other = self.typed(left), self.typed(right)
        if "name" in (one.kind, other.kind):
            return self.named(tree, one, other)
        if not _comparable(sign, one.kind, other.kind):
            raise _incomparable(tree, one.kind, other.kind)
        compare, read_one, read_other = comparing(sign), one.read, other.read
        if isinstance(right, Number):
            bound = right.value
            return lambda state, event: compare(read_one(state, event), bound)
        return lambda state, event: compare(read_one(state, event), read_other(state, event))

    def pattern(self, sign: str, left: Tree, right: Tree) -> Test:
        kind = self.typed(left).kind
        if kind != "tag":
            raise Fault(f"`{sign}` is for tags", left.spot, kind=Usage, required="tag", got=_SAID[kind])
        if not isinstance(right, Text):
            required = "a pattern in quotes, such as 'main/**/loop[3]'"
            raise Fault(f"`{sign}` wants a pattern", right.spot, kind=Usage, required=required)
        matches = tag_pattern(right.value, self.graph, right.spot + 1, within=sign)
        return lambda state, event: matches(event.token.tag)

    def named(self, tree: Comparison, one: _Typed, other: _Typed) -> Test:
        """A name and a text, which must be one that the graph has: a look into a set."""
        name, text, kind = tree.left, tree.right, other.kind
        if one.kind != "name":
            name, text, kind = text, name, one.kind
        assert isinstance(name, Name)
        if not isinstance(text, Text):
            required = f"a text, as in `{name.name} == '...'`"
            message = f"a name cannot be compared with {_SAID[kind]}"
            raise Fault(message, text.spot, kind=Usage, required=required, got=_quoted(text))
        if tree.sign not in ("==", "!="):
            raise Fault("names have no order", tree.spot, kind=Usage, required="== or !=", got=f"`{tree.sign}`")
        row = NAMES[name.name]
        assert row.naming is not None
        key, words = row.naming.key, self.words(row)
        if text.value not in words:
            message = f"the graph has no {row.name} {brief(text.value)!r}"
            short = list(dict.fromkeys(called[-1] for called in row.naming.names(self.graph).values() if called))
            raise unknown(message, text.value, text.spot, short, longer=words)
        keys = frozenset(words[text.value])
        if tree.sign == "==":
            return lambda state, event: key(event) in keys
        return lambda state, event: key(event) not in keys

    def words(self, row: Row) -> dict[str, set[Hashable]]:
        """What goes by each word that a name of the table can be compared with."""
        assert row.naming is not None
        if row.name not in self.called:
            found: dict[str, set[Hashable]] = {}
            for key, called in row.naming.names(self.graph).items():
                for word in called:
                    found.setdefault(word, set()).add(key)
            self.called[row.name] = found
        return self.called[row.name]


def _every(tests: list[Test]) -> Test:
    def run(state: State, event: Event) -> bool:
        for test in tests:  # noqa: SIM110  # all() of a generator costs 150 ns more
            if not test(state, event):
                return False
        return True

    return run


def _either(tests: list[Test]) -> Test:
    def run(state: State, event: Event) -> bool:
        for test in tests:  # noqa: SIM110
            if test(state, event):
                return True
        return False

    return run


def _joined(*operands: _Typed) -> Kind:
    """What is known of the result of a computation."""
    return "number" if all(operand.kind == "number" for operand in operands) else "value"


def _comparable(sign: str, one: Kind, other: Kind) -> bool:
    kinds = {one, other}
    if sign in ("==", "!=") and kinds in ({"truth"}, {"text"}, {"truth", "value"}):
        return True
    return kinds <= {"number", "value"}


def _incomparable(tree: Comparison, one: Kind, other: Kind) -> Fault:
    """What to say of a comparison that can never make sense."""
    hint = next((_TO_COMPARE[kind] for kind in (one, other) if kind in ("tag", "values")), None)
    if one == other and hint is None:
        message = f"{_SAID[one].removeprefix('a ')}s have no order"
        return Fault(message, tree.spot, kind=Usage, required="== or !=", got=f"`{tree.sign}`")
    if isinstance(tree.right, Text) and tree.right.value.isdigit():
        hint = hint or "numbers stand without quotes"
    message = f"{_SAID[one]} cannot be compared with {_SAID[other]}"
    return Fault(message, tree.spot, kind=Usage, got=_quoted(tree), hint=hint)


def _quoted(tree: Tree) -> str:
    return f"`{brief(write(tree))}`"
