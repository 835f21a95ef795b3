"""Expressions over events: their meaning, compared with Python's own operators, and their error messages."""

from __future__ import annotations

import operator
import random
import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark
from pytest import MonkeyPatch
from support.observe.moments import RUNS, Moment, moments
from support.twins.python_meaning import alike, oracle
from tagloom.core.errors import Malformed, TagloomError, Usage
from tagloom.interp.breakpoints import expression, parser
from tagloom.interp.breakpoints import names as expression_names
from tagloom.interp.breakpoints import values as expression_values
from tagloom.interp.breakpoints.expression import LogTemplate, compile_condition, compile_expression, compile_template
from tagloom.interp.breakpoints.names import NAMES
from tagloom.interp.breakpoints.parser import parse_expression
from tagloom.interp.breakpoints.syntax import (
    MAX_DEPTH,
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
    format_expression,
)
from tagloom.interp.engines.reference import admit_arguments
from tagloom.interp.machine.state import State

FIB = RUNS["fib"][0]
NUMBERS = [name for name, row in NAMES.items() if row.kind == "number"]


# Expressions to draw, of the kinds that fit.

small = st.integers(-3, 9) | st.sampled_from([0.5, 2.5, 1e300, 0.0, 60])
literals = small.map(lambda value: Negation(NumberLiteral(-value)) if value < 0 else NumberLiteral(value)) | st.just(
    NumberLiteral(float("inf"))
)
values = st.sampled_from(
    [
        NameReference("value"),
        IndexedName("inputs", 0),
        IndexedName("inputs", 1),
        IndexedName("outputs", 0),
        IndexedName("outputs", 1),
    ]
)
truths = st.sampled_from([BooleanLiteral(True), BooleanLiteral(False), NameReference("fired"), NameReference("lost")])
named = st.builds(
    lambda name, sign, flip: ComparisonExpression(sign, *(name[::-1] if flip else name)),
    st.sampled_from(
        [
            (NameReference(name), TextLiteral(word))
            for name in ("node", "function", "op", "site", "tag.site")
            for word in expression._ExpressionCompiler(FIB).lookup_words(NAMES[name])
        ]
    ),
    st.sampled_from(["==", "!="]),
    st.booleans(),
)


def numbers(depth: int) -> st.SearchStrategy[ExpressionNode]:
    leaf = literals | st.sampled_from(NUMBERS).map(NameReference) | values
    if not depth:
        return leaf
    inner = numbers(depth - 1)
    chains = [
        st.builds(
            ArithmeticChain,
            inner,
            st.lists(st.tuples(st.sampled_from(signs), inner), min_size=1, max_size=3).map(tuple),
        )
        for signs in ("+-", ("*", "/", "//", "%"))
    ]
    return st.one_of(leaf, inner.map(Negation), *chains)


def booleans(depth: int) -> st.SearchStrategy[ExpressionNode]:
    number, order = numbers(min(depth, 2)), st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    leaf = st.one_of(
        truths,
        values,
        named,
        st.just(NameReference("trap")),
        st.builds(ComparisonExpression, order, number, number),
        st.builds(ComparisonExpression, st.sampled_from(["==", "!="]), truths, truths | values),
        st.builds(
            ComparisonExpression,
            st.sampled_from(["==", "!="]),
            st.just(NameReference("trap")),
            st.just(TextLiteral("it's")),
        ),
    )
    if not depth:
        return leaf
    inner = booleans(depth - 1)
    several = st.lists(inner, min_size=2, max_size=4).map(tuple)
    return st.one_of(leaf, inner.map(LogicalNot), several.map(Conjunction), several.map(Disjunction))


trees = st.one_of(numbers(2), booleans(2))
tags = st.sampled_from(["main", "**", "main/*/**", "**/fib", "main/fib/fib_1", "*/fib_1/**"])
patterned = st.builds(
    ComparisonExpression, st.sampled_from(["matches", "in"]), st.just(NameReference("tag")), tags.map(TextLiteral)
)


@given(trees | patterned | st.builds(lambda a, b: Conjunction((a, LogicalNot(b))), booleans(1), patterned))
def test_expressions_survive_a_round_trip(tree: ExpressionNode) -> None:
    """parse(str(e)) == e: parentheses stand where they must, nothing is lost, and the text is its own normal form."""
    text = format_expression(tree)
    assert parse_expression(text) == tree
    one = compile_expression(text, FIB)
    assert str(one) == text
    assert compile_expression(f" ({text})\n", FIB) == one


def disagreements(text: str, moments_: list[Moment]) -> Iterator[str]:
    """The expressions over fib's names whose values differ from Python's."""
    one = compile_expression(text, moments_[0].graph)
    for moment in moments_:
        meant = oracle(text, moment)
        ours = one.evaluate(moment.state, moment.event)
        if not alike(ours, meant):
            yield f"{text} at {moment.state.steps}: {ours!r}, and {meant.it!r}"
        if one.is_condition and one.holds(moment.state, moment.event) is not bool(meant):
            yield f"{text} at {moment.state.steps} decides otherwise"


@given(booleans(2) | numbers(2), st.randoms(use_true_random=False))
def test_expressions_mean_what_python_means(tree: ExpressionNode, chance: random.Random) -> None:
    """On moments of fib, an expression has the value that Python gives its text."""
    assert list(disagreements(format_expression(tree), chance.sample(moments("fib"), 6))) == []


@pytest.mark.parametrize("name", ["node", "function", "op", "site", "tag.site"])
def test_names_are_compared_as_python_compares_them(name: str) -> None:
    """`==` and `!=` with a name hold where they hold in Python, on either side."""
    words = sorted(expression._ExpressionCompiler(FIB).lookup_words(NAMES[name]))[:3]
    for text in (
        text for word in words for text in (f"{name} == {word!r}", f"{name} != {word!r}", f"{word!r} != {name}")
    ):
        assert list(disagreements(text, moments("fib")[::20])) == []


@given(numbers(2) | st.builds(ComparisonExpression, st.sampled_from(["==", "!=", "<", ">="]), numbers(1), numbers(1)))
@settings(max_examples=60)
def test_expressions_agree_with_python_on_values_of_every_sort(tree: ExpressionNode) -> None:
    """On small integers, short floats, booleans, arrays and absent values, an expression has the value that Python
    gives its text."""
    usable = [moment for moment in moments("mixed") if type(moment.names["value"]) is not int]
    try:
        assert list(disagreements(format_expression(tree), usable[::3])) == []
    except Usage as error:
        assert "no node has that many" in error.message


pieces = st.sampled_from(
    [*NAMES, *"()[].=!<>+-*/%'\"{}&|,@#\n\t\\", "==", "!=", "<=", "//", "and", "or", "not", "in", "matches", "true"]
    + [
        "inf",
        "0",
        "1",
        "2.5",
        "1e9",
        "9" * 101,
        "'add'",
        "'main/**'",
        "''",
        "é",
        "٣",
        "²",
        "\ud800",
        "\x00",
        "lambda",
        "__import__",
    ]
)
garbage = st.text() | st.lists(pieces, max_size=12).map(" ".join) | st.lists(pieces, max_size=12).map("".join)


@given(garbage)
@settings(max_examples=300)
def test_any_text_is_an_expression_or_a_mistake(text: str) -> None:
    """Any text gives a value, or one of our errors, which can be printed; so does any template."""
    for make in (compile_expression, compile_condition, compile_template):
        try:
            result: Any = make(text, FIB)
        except (Malformed, Usage) as error:
            assert str(error) and error.excerpt and error.message
        else:
            assert make(str(result), FIB) == result
            for moment in moments("fib")[::25]:
                if isinstance(result, LogTemplate):
                    result.render(moment.state, moment.event)
                else:
                    result.evaluate(moment.state, moment.event)
                    assert isinstance(result.holds(moment.state, moment.event), bool)
                    assert isinstance(result.describe_value(moment.state, moment.event), str)


def test_old_names() -> None:
    """The old names of two expressions warn, and mean the same; texts and names of nodes are not changed."""
    with pytest.warns(DeprecationWarning) as warnings:
        renamed = compile_condition("parked or held and trap != 'held'", FIB)
    assert sorted(str(warning.message) for warning in warnings) == [
        "`held` in conditions is now `throttled`",
        "`parked` in conditions is now `deferred`",
    ]
    assert str(renamed) == "deferred or throttled and trap != 'held'"
    assert renamed == compile_condition("deferred or throttled and trap != 'held'", FIB)


@pytest.mark.parametrize("text", ["(" * 5000, "not " * 2000, "-" * 9000, "1+" * 2499 + "1", "fired or " * 900 + "lost"])
def test_large_texts_are_read_or_refused(text: str) -> None:
    """A long text is read, a deep one is refused, and neither exhausts Python's stack."""
    try:
        one = compile_expression(text, FIB)
    except Malformed as error:
        assert error.message == "the expression nests too deep"
    else:
        moment = moments("fib")[0]
        assert one.evaluate(moment.state, moment.event) in (2500, True)


@pytest.mark.full
@pytest.mark.parametrize("around", [("(", ")"), ("-(1*2+", ")"), ("not (fired and 1 == 2 or lost == (", "))")])
def test_nesting_has_a_limit(around: tuple[str, str]) -> None:
    """Expressions up to the nesting limit can be written, compared, compiled and evaluated; deeper ones are refused."""
    before, behind = around
    inner = "lost" if "not" in before else "1"
    deepest = 0
    for depth in range(1, MAX_DEPTH + 20):
        text = before * depth + inner + behind * depth
        try:
            one = compile_expression(text, FIB)
        except Malformed:
            break
        deepest = depth
        assert compile_expression(str(one), FIB) == one
        one.evaluate(*moments("fib")[0][1:3])
    assert 10 < deepest < MAX_DEPTH


@pytest.mark.full
def test_length_has_a_limit() -> None:
    """The length of a text is limited, and so is that of its normal form."""
    fits = "1" + " " * (MAX_LENGTH - 1)
    assert str(compile_expression(fits, FIB)) == "1"
    spaced = "11" + "+1" * ((MAX_LENGTH - 2) // 4)
    assert len(str(compile_expression(spaced, FIB))) == MAX_LENGTH - 2
    for text in (f"{fits} ", f"{spaced}+1"):
        with pytest.raises(Malformed, match="too long"):
            compile_expression(text, FIB)


# The table of names.


@pytest.mark.parametrize("row", NAMES.values(), ids=list(NAMES))
def test_every_name_is_documented_and_exercised(row: expression_names.ExpressionName) -> None:
    """Every row documents its name; its example uses the name, and holds for some events and not for others."""
    assert row.doc and row.doc[-1] != "." and re.search(rf"(?<!\.)\b{re.escape(row.name)}\b", row.example)
    actual, line = set(), next(str(node.location.line) for node in FIB.nodes if node.location)
    for run in RUNS:
        try:
            one = compile_condition(row.example.replace("line == 20", f"line == {line}"), RUNS[run][0])
        except Usage:
            continue
        actual |= {one.holds(moment.state, moment.event) for moment in moments(run)}
    assert actual == {True, False}


@pytest.mark.parametrize("run", RUNS)
def test_names_read_a_real_state(run: str) -> None:
    """Every name, evaluated on a state after an event, agrees with the events so far."""
    graph, arguments, _ = RUNS[run]
    state = State(graph, admit_arguments(graph, arguments))
    names = {name: compile_expression(name, graph) for name in NAMES if name != "tag"}
    for moment in moments(run):
        state.apply(moment.event)
        for name, one in names.items():
            ours, meant = one.evaluate(state, moment.event), moment.names[name]
            if NAMES[name].kind == "name":
                assert ours in meant or (ours is None and not meant)
            elif name in ("inputs", "outputs"):
                meant = list(meant.values()) if name == "outputs" else meant
                assert repr(list(ours or ())) == repr(meant)
            else:
                assert repr(ours) == repr(meant), name


def true_steps(text: str, run: str) -> list[int]:
    """The steps of a run at which a condition holds."""
    one = compile_condition(text, RUNS[run][0])
    return [moment.state.steps for moment in moments(run) if one.holds(moment.state, moment.event)]


def test_lost_holds_for_results_and_tokens_that_nobody_receives() -> None:
    """`lost` holds for firings whose result nobody receives, except traps, and for tokens that wait for ever."""
    assert (
        true_steps("lost and not fired", "stuck")
        == true_steps("flight == 0 and store > 0", "stuck")
        == [len(moments("stuck"))]
    )
    lost = {m.graph.nodes[m.event.token.node].op for m in moments("fib") + moments("count") if m.names["lost"]}
    assert lost == {"switch", "exit"}
    assert true_steps("trap and lost", "mixed") == []
    assert len(true_steps("trap == 'integer division by zero'", "mixed")) == len(true_steps("trap", "mixed")) == 1


# What is said of mistakes.

MISTAKES = {
    "node == 'ad'": ("the graph has no node 'ad'", 9, "did you mean add?"),
    "op == 'multiply'": ("the graph has no op 'multiply'", 7, None),
    "site == 'loop'": ("the graph has no site 'loop'", 9, None),
    "nod == 'add'": ("there is no name 'nod'", 1, "did you mean node?"),
    "fired and tag.dept > 3": ("there is no name 'tag.dept'", 11, "did you mean tag.depth?"),
    "node == add": (
        "'add' is a node, not a name of an expression",
        9,
        "write a text in quotes, as in `node == 'add'`; `node == 'add' and value == 0` compares its value",
    ),
    "value == nan": ("there is no name 'nan'", 10, "nothing equals nan: `value != value` holds of nan only"),
    "fired == True": ("there is no name 'True'", 10, "write `true`"),
    "depth > '3'": ("a number cannot be compared with a text", 7, "write numbers without quotes"),
    "node == 3": ("a name cannot be compared with a number", 9, None),
    "node < 'add'": ("names have no order", 6, None),
    "trap < 'a'": ("texts have no order", 6, None),
    "fired == 1": ("a truth value cannot be compared with a number", 7, None),
    "tag == 'main'": ("a tag cannot be compared with a text", 5, "compare it, as in `tag matches 'main/**'`"),
    "inputs == 1": ("several values cannot be compared with a number", 8, "take one of them, as in `inputs[0]`"),
    "depth and fired": ("a number is not a bool", 1, "compare it, as in `depth > 0`"),
    "not node": ("a name is not a bool", 5, "compare it, as in `node == 'add'`"),
    "fired + 1 > 2": ("a truth value is not a number to compute with", 1, None),
    "inputs[3] == 1": ("no node has that many inputs", 1, None),
    "value[0] == 1": ("value has no items", 1, None),
    "tag matches depth": ("`matches` requires a pattern", 13, None),
    "node in 'main'": ("`in` is for tags", 1, None),
    "tag matches 'fib'": ("no tag begins like this", 14, "write `**/` before it"),
    "tag matches 'main/fub'": ("no call or loop is called 'fub'", 19, "did you mean fib?"),
    "tag in 'main/fib[1]'": ("a call has no iterations", 14, "write `fib`"),
    "tag in 'main//fib'": ("this is not a step of a tag", 14, None),
    "tag matches '**/*[1]'": ("a call has no iterations", 17, "this graph has no loop"),
    "node = 'add'": ("unexpected `=`", 6, "`==` compares"),
    "fired && lost": ("unexpected `&`", 7, "write `and`"),
    "1 < depth < 3": ("unexpected `<`", 11, "write `a < b and b < c` for a < b < c"),
    "(fired": ("this bracket is not closed", 1, None),
    "fired)": ("unexpected `)`", 6, None),
    "(fired or": ("the expression ends too soon", 10, None),
    "tag.": ("the expression ends too soon", 5, None),
    "inputs[0 == 1": ("unexpected `==`", 10, None),
    "fired lost": ("unexpected `lost`", 7, None),
    "fired or": ("the expression ends too soon", 9, None),
    "node == 'add": ("unexpected `'`", 9, "a text ends with the quote with which it begins"),
    "len(inputs) > 1": ("unexpected `(`", 4, "expressions have no functions"),
    "2 ** 3 == 8": ("unexpected `*`", 4, "expressions have no powers"),
    "depth > 3x": ("this is not a number", 9, None),
    "1e999 == depth": ("this number does not fit into float64", 1, "infinity is `inf`"),
    "depth == not fired": ("unexpected `not`", 10, "write `(not ...)`"),
    "inputs[port] == 1": ("unexpected `port`", 8, None),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_reported_before_the_run(text: str) -> None:
    """A mistake is reported before the run: what is wrong, where, and what was probably meant."""
    with pytest.raises(TagloomError) as raised:
        compile_condition(text, FIB)
    error = raised.value
    column = len((error.excerpt or "").split("\n")[1]) - len("    ")
    assert (error.message, column, error.hint) == MISTAKES[text]
    assert error.where == f"column {column}"


def test_the_full_message_of_a_mistake() -> None:
    """The full message of a mistake, for a text of one line and for one of two."""
    with pytest.raises(Usage) as raised:
        compile_condition("fired\n and op == 'ad'", FIB)
    assert str(raised.value) == (
        "the graph has no op 'ad' (line 2, column 12)\n"
        "     and op == 'ad'\n"
        "               ^\n"
        "  required: merge, less_equal, switch, identity, subtract, call, return, add\n"
        "  hint: did you mean add?"
    )


@pytest.mark.parametrize(
    ("template", "where", "excerpt"),
    [
        ("a {fired} b {op == 'ad'}", "column 20", "    a {fired} b {op == 'ad'}\n                       ^"),
        (
            "a\n{trap == 'x\ny' and tag in 'main/fub'}",
            "line 3, column 21",
            "    y' and tag in 'main/fub'}\n                        ^",
        ),
        ("a\nb {fired or}", "line 2, column 12", "    b {fired or}\n               ^"),
    ],
)
def test_positions_in_templates(template: str, where: str, excerpt: str) -> None:
    """Positions count from the beginning of the template, through braces, lines, and lines of a quoted text."""
    with pytest.raises(TagloomError) as raised:
        compile_template(template, FIB)
    assert (raised.value.where, raised.value.excerpt) == (where, excerpt)


# Broken twins: each differs in one thing, and a law above catches it.


def short_circuit_wrongly(patch: MonkeyPatch) -> None:
    patch.setattr(expression, "all_of", lambda tests: tests[0])


def compare_truths_with_numbers(patch: MonkeyPatch) -> None:
    patch.setattr(expression_values, "_NUMBER_TYPES", (int, float, bool))


def subtract_from_the_right(patch: MonkeyPatch) -> None:
    leftwards, rightwards = "product ((PLUS | MINUS) product)+", "product (PLUS | MINUS) sum"
    whole = files("tagloom.interp.breakpoints").joinpath("grammar.lark").read_text(encoding="utf-8")
    assert leftwards in whole
    twin = Lark(
        whole.replace(leftwards, rightwards),
        start="expression",
        parser="lalr",
        transformer=parser.ExpressionTransformer(),
        maybe_placeholders=False,
    )
    patch.setattr(parser, "_parser", lambda: twin)


def call_it_less_or_equal(patch: MonkeyPatch) -> None:
    patch.setitem(expression_values._COMPARISONS, "<", operator.le)


def count_ports_for_depth(patch: MonkeyPatch) -> None:
    patch.setitem(expression_names.NAMES, "tag.depth", NAMES["port"])


def divide_by_zero(patch: MonkeyPatch) -> None:
    patch.setitem(expression_values._COMPUTATIONS, "//", lambda one, other: one if not other else one // other + 1)


def forget_the_traps(patch: MonkeyPatch) -> None:
    patch.setitem(expression_names.NAMES, "lost", NAMES["fired"])


TWINS = (
    short_circuit_wrongly,
    compare_truths_with_numbers,
    subtract_from_the_right,
    call_it_less_or_equal,
    count_ports_for_depth,
    divide_by_zero,
    forget_the_traps,
)


BATTERY = (
    *("fired and lost", "value == 1", "value != 1", "8 - 3 - 2 == 3", "8 - 3 * 2 == 2", "1 < 1", "tag.depth == 1"),
    *("tag.depth < 2", "7 // 2 == 3", "lost", "not lost or value > 1", "inputs[0] // 2", "1 / 0 == 1"),
)


def law_fails() -> bool:
    """Whether the law of meaning fails on a few expressions."""
    result = (each for text in BATTERY for each in disagreements(text, list(moments("fib"))))
    return next(result, None) is not None


@pytest.mark.full
def test_the_true_language_passes() -> None:
    """The expressions that catch twins find no error in the true language."""
    assert not law_fails()


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_twins_are_caught(twin: Callable[[MonkeyPatch], None], monkeypatch: MonkeyPatch) -> None:
    """Every twin differs from Python."""
    moments("fib")
    twin(monkeypatch)
    assert law_fails()
