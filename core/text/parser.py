"""From text to syntax. The only module that knows the parser library; it is loaded when a text is first read."""

from __future__ import annotations

import functools
import re
from importlib.resources import files
from typing import Any, NamedTuple

from lark import Lark, Token, Transformer, UnexpectedInput, UnexpectedToken

from .fault import Fault, Spot, expected
from .syntax import (
    Argument,
    At,
    Attribute,
    Case,
    Ending,
    Entry,
    From,
    Function,
    Graph,
    GraphNode,
    Leaving,
    Node,
    Output,
    Phase,
    Port,
    Region,
    Site,
    SiteLine,
    Typed,
    Word,
    Written,
)

MOST_BRACKETS = 64
"""How many axes an array has at most."""


def read_syntax(text: str) -> list[Any]:
    """The functions, graphs and cases of a text, in order, with what stands between them; raises Fault."""
    try:
        document: list[Any] = _parser().parse(text)  # type: ignore[assignment]
    except UnexpectedInput as error:
        raise _fault(text, error) from None
    return document


@functools.cache
def _parser() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="document", parser="lalr", transformer=_Reader(), maybe_placeholders=False)


def _fault(text: str, error: UnexpectedInput) -> Fault:
    if isinstance(error, UnexpectedToken):
        token = error.token
        accepts = set(error.accepts or ()) or set(error.expected)
        spot = _spot(token)
        before = text.split("\n")[spot.line - 1][: spot.column - 1]
        return expected(accepts, str(token), spot, before) if token.type != "$END" else _ends(text, accepts)
    found = text[error.pos_in_stream] if error.pos_in_stream is not None else ""
    return expected(set(getattr(error, "allowed", None) or ()), found, Spot(error.line, error.column))


def _ends(text: str, accepts: set[str]) -> Fault:
    """The text ends in the middle: what is missing is shown where its last open brace is."""
    open_: list[int] = []
    for found in re.finditer(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*|[{}]', text):
        if found[0] == "{":
            open_.append(found.start())
        elif found[0] == "}" and open_:
            open_.pop()
    if not open_:
        return expected(accepts, "", Spot(text.count("\n"), 1))
    line = text.count("\n", 0, open_[-1]) + 1
    return Fault("this brace is not closed", Spot(line, open_[-1] - text.rfind("\n", 0, open_[-1])), required="`}`")


def _spot(token: Token) -> Spot:
    return Spot(token.line or 1, token.column or 1)


def _word(token: Token) -> Word:
    return Word(str(token), _spot(token))


def _words(children: list[Any], *kinds: str) -> list[Word]:
    """The tokens of these kinds among what a rule has found; of all kinds, where none is named."""
    return [_word(child) for child in children if isinstance(child, Token) and (not kinds or child.type in kinds)]


def _of(children: list[Any], kind: Any) -> list[Any]:
    return [child for child in children if isinstance(child, kind)]


def _first(children: list[Any], kind: Any) -> Any:
    return next((child for child in children if isinstance(child, kind)), None)


def _plain(children: list[Any]) -> list[Any]:
    """What a rule has found, tokens as words."""
    return [_word(child) if isinstance(child, Token) else child for child in children]


class _Lists(list[Any]):
    """What an inner rule has found, for the rule around it."""

    def __init__(self, rule: str, items: list[Any]) -> None:
        super().__init__(items)
        self.rule = rule


def _list(children: list[Any], rule: str) -> list[Any]:
    return next(child for child in children if isinstance(child, _Lists) and child.rule == rule)


class _Reader(Transformer[Token, Any]):
    """A method a rule of the grammar: what it has found becomes data as soon as it is complete."""

    def document(self, children: list[Any]) -> list[Any]:
        return children

    def entry(self, children: list[Any]) -> Entry:
        return Entry(*_words(children, "NAME"))

    def from_(self, children: list[Any]) -> From:
        return From(*_words(children, "STRING"))

    def at(self, children: list[Any]) -> At:
        file, (line,) = _words(children, "STRING"), _words(children, "INT")
        return At(file[0] if file else None, int(line.text), _spot(children[0]))

    def function(self, children: list[Any]) -> Function:
        (name,) = _words(children, "NAME")
        nodes = _of(children, (Node, From))
        body = Region(name, _list(children, "parameters"), nodes, _list(children, "operands"))
        return Function(body, _first(children, _Arrow).types, _first(children, At), _of(children, Phase))

    def phase(self, children: list[Any]) -> Phase:
        (word,), nodes = _words(children, "PULLBACK"), _of(children, (Node, From))
        body = Region(word, _list(children, "parameters"), nodes, _list(children, "operands"))
        return Phase(body, _first(children, _Arrow).types)

    def parameters(self, children: list[Any]) -> _Lists:
        return _Lists("parameters", children)

    def parameter(self, children: list[Any]) -> Typed:
        return Typed(*_words(children))

    def target(self, children: list[Any]) -> Typed:
        name, *types = _words(children)
        return Typed(name, types[0] if types else None)

    def targets(self, children: list[Any]) -> _Lists:
        return _Lists("targets", children)

    def arrow(self, children: list[Any]) -> _Arrow:
        return _Arrow(_words(children, "TYPE") if children else None)

    def node(self, children: list[Any]) -> Node:
        names = _words(children, "NAME")
        calls = _words(children, "CALL", "PULLBACK")
        op, callee = (calls[0], names[0]) if calls else (names[0], None)
        block = _first(children, _Block)
        at = block.at if block else _first(children, At)
        arguments = _list(children, "arguments")
        return Node(_list(children, "targets"), op, callee, arguments, block.regions if block else None, at)

    def block(self, children: list[Any]) -> _Block:
        return _Block(_of(children, Region), _first(children, At))

    def region(self, children: list[Any]) -> Region:
        (word,) = _words(children, "NAME")
        nodes = _of(children, (Node, From))
        return Region(word, _list(children, "parameters"), nodes, _list(children, "operands"))

    def operands(self, children: list[Any]) -> _Lists:
        return _Lists("operands", _plain(children))

    def arguments(self, children: list[Any]) -> _Lists:
        return _Lists("arguments", _plain(children))

    def attribute(self, children: list[Any]) -> Attribute:
        name, value = _plain(children)
        return Attribute(Word(name.text.rstrip("= \t"), name.spot), value)

    def graph(self, children: list[Any]) -> Graph:
        (name,) = _words(children, "NAME")
        lines = _of(children, (GraphNode, SiteLine, From))
        results = _first(children, _Arrow).types
        return Graph(name, _of(children, Argument), results, lines, _first(children, Leaving), _first(children, At))

    def argument(self, children: list[Any]) -> Argument:
        types = _words(children, "TYPE")
        (name,) = _words(children, "NAME")
        return Argument(bool(_words(children, "MARK")), name, types[0] if types else None)

    def site_line(self, children: list[Any]) -> SiteLine:
        return SiteLine(self.site(children), *_words(children, "NAME"))

    def site(self, children: list[Any]) -> Site:
        kinds, names = _words(children, "KIND"), _words(children, "DOTTED", "MARK")
        return Site(kinds[0] if kinds else None, names[0] if names else None)

    def graph_node(self, children: list[Any]) -> GraphNode:
        (name,), (op,) = _words(children, "DOTTED"), _words(children, "NAME", "OPENING")
        types, trigger = _first(children, _Arrow).types, _first(children, _Trigger)
        op = Word(op.text.removesuffix("["), op.spot)
        at, ports = _first(children, At), _list(children, "ports")
        return GraphNode(name, types, op, _first(children, Site), ports, trigger.ports if trigger else None, at)

    def types(self, children: list[Any]) -> _Arrow:
        return _Arrow(_words(children, "TYPE") if children else None)

    def ports(self, children: list[Any]) -> _Lists:
        return _Lists("ports", children)

    def port(self, children: list[Any]) -> Port:
        return _of(children, (Output, Written))

    def output(self, children: list[Any]) -> Output:
        (name,), numbers = _words(children, "DOTTED"), _words(children, "INT")
        return Output(name, int(numbers[0].text) if numbers else None)

    def trigger(self, children: list[Any]) -> _Trigger:
        return _Trigger(_of(children, list))

    def leaving(self, children: list[Any]) -> Leaving:
        return Leaving(_word(children[0]), _of(children, Output))

    def case(self, children: list[Any]) -> Case:
        (name,), numbers = _words(children, "NAME"), _words(children, "INT")
        firings = int(numbers[0].text) if numbers else None
        return Case(name, list(_first(children, _Lists) or ()), _first(children, Ending), firings)

    def literals(self, children: list[Any]) -> _Lists:
        return _Lists("literals", children)

    def ending(self, children: list[Any]) -> Ending:
        word, *details = _plain(children)
        return Ending(word, list(details[0]) if details and isinstance(details[0], _Lists) else details)

    def literal(self, children: list[Any]) -> Written:
        """A token before the brackets, and one or none in them; or just a literal."""
        first, *inside = _plain(children)
        if isinstance(children[0], Token) and children[0].type == "TYPED":
            return Written(f"{first.text}{inside[0].text if inside else ''})", first.spot)
        return Written(first.text, first.spot)

    def array(self, children: list[Any]) -> Written:
        opening, *elements = _plain(children)
        depth = 1 + max((each.depth for each in elements if isinstance(each, Written)), default=0)
        if depth > MOST_BRACKETS:
            raise Fault("brackets nest too deep", opening.spot, required=f"{MOST_BRACKETS} at most, as in arrays")
        return Written(f"[{', '.join(element.text for element in elements)}]", opening.spot, depth)


class _Arrow(NamedTuple):
    types: list[Word] | None


class _Block(NamedTuple):
    regions: list[Region]
    at: At | None


class _Trigger(NamedTuple):
    ports: list[Port]
