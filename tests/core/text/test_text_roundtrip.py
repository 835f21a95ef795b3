"""The law of the text form: a printed document is read back, to the last field, with the same meaning."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.generator import Case, cases
from support.generators.graph_edits import EDITS, Edit
from support.programs.hand_written_graphs import counting_loop, race, stuck, sum_graph, untyped
from support.programs.papers import EXAMPLES, of_paper
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.program import Location, Node, Operand, Program, Region, Var
from tagloom.core.program.validate import program_problems
from tagloom.core.text import Case as Written
from tagloom.core.text import Document, parse, parse_graph, parse_program, print_document
from tagloom.core.text.literals import parse_literal

PAPERS = sorted(path.stem for path in (EXAMPLES / "recursion").glob("*.py"))


def bare(program: Program) -> Program:
    """The program without source lines."""

    def region(given: Region) -> Region:
        return replace(given, nodes=tuple(map(node, given.nodes)))

    def node(given: Node) -> Node:
        return replace(given, regions=tuple(map(region, given.regions)), location=None)

    functions = tuple(replace(f, body=region(f.body), location=None) for f in program.functions)
    return replace(program, functions=functions)


def bare_graph(graph: Graph) -> Graph:
    return replace(graph, nodes=tuple(replace(node, location=None) for node in graph.nodes))


@settings(max_examples=30)
@given(cases())
def test_a_program_survives_a_round_trip(case: Case) -> None:
    """parse(print(p)) == p: names, types, attributes, literals by their bits, and source lines. Without source lines
    the rest is equal. Printing again gives the same text."""
    text = tl.print_program(case.program)
    assert parse_program(text) == case.program
    assert tl.print_program(parse_program(text)) == text
    plain = tl.print_program(case.program, locations=False)
    assert parse_program(plain) == bare(case.program) and "at " not in plain


@settings(max_examples=30)
@given(cases())
def test_a_lowered_graph_survives_a_round_trip(case: Case) -> None:
    """The same holds for graphs: numbers of nodes, edges, sites, triggers and types included."""
    graph = lower(case.program)
    text = tl.print_graph(graph)
    assert parse_graph(text) == graph
    assert tl.print_graph(parse_graph(text)) == text
    assert parse_graph(tl.print_graph(graph, locations=False)) == bare_graph(graph)


_ODD = """
func graph case entry from at return yield results call calls site loop then else while do region cond
while_loop returns traps exhausts breaks deadlocks refused in firings tokens depth int64 float64 bool int8 add
merge dtype trigger switch enter exit literal True None e1 E5 nan1 infx true_ _ x0 été ª 变量 ℌ f
"""
ODD = _ODD.split()


def rename(program: Program, names: dict[str, str]) -> Program:
    """The program with other names for its functions and values."""

    def variables(given: tuple[Var, ...]) -> tuple[Var, ...]:
        return tuple(Var(names[name], type_) for name, type_ in given)

    def operands(given: tuple[Operand, ...]) -> tuple[Operand, ...]:
        return tuple(names[each] if isinstance(each, str) else each for each in given)

    def region(given: Region) -> Region:
        return Region(variables(given.parameters), tuple(map(node, given.nodes)), operands(given.results))

    def node(given: Node) -> Node:
        attributes = tuple((k, names[v] if k == "function" else v) for k, v in given.attributes)
        inner = tuple(map(region, given.regions))
        return replace(
            given,
            inputs=operands(given.inputs),
            results=variables(given.results),
            regions=inner,
            attributes=attributes,
        )

    functions = tuple(replace(f, name=names[f.name], body=region(f.body)) for f in program.functions)
    return Program(functions, names[program.entry])


def names_of(program: Program) -> list[str]:
    """The names of functions and values, without duplicates."""
    results = dict.fromkeys(function.name for function in program.functions)
    for function in program.functions:
        regions = [function.body, *(inner for node in function.body.walk() for inner in node.regions)]
        results |= dict.fromkeys(parameter.name for region in regions for parameter in region.parameters)
        results |= dict.fromkeys(result.name for node in function.body.walk() for result in node.results)
    return list(results)


@settings(max_examples=30)
@given(cases(), st.integers(0, 2**32))
def test_odd_names_survive_a_round_trip(case: Case, seed: int) -> None:
    """Programs and graphs survive a round trip with any names: words of the grammar, other scripts, or names that look
    like a number or a literal. Names change nothing else."""
    result = names_of(case.program)
    pool = [*ODD, *(f"{word}_{k}" for k in range(1, 2 + len(result) // len(ODD)) for word in ODD)]
    names = dict(zip(result, random.Random(seed).sample(pool[: max(len(ODD), len(result))], len(result)), strict=True))
    program = rename(case.program, names)
    assert parse_program(tl.print_program(program)) == program
    graph = lower(program)
    assert parse_graph(tl.print_graph(graph)) == graph
    assert len(graph.nodes) == len(lower(case.program).nodes)


SITES = {
    "site calls.a calls calls": ("call", "calls.a", "calls"),
    "site calls calls f": ("call", "f.calls", "f"),
    "site call calls f": ("call", "f.call", "f"),
    "site loop calls call": ("call", "f.loop", "call"),
    "site call calls calls f": ("call", "f.calls", "f"),
    "site loop call calls f": ("loop", "f.call", "f"),
    "site loop calls calls calls": ("loop", "f.calls", "calls"),
    "site @ calls site": ("call", ".main", "site"),
}


@pytest.mark.parametrize("line", SITES)
def test_odd_sites_survive_a_round_trip(line: str) -> None:
    """The words of a site's line may be names in it, with or without a kind before them, and so may those in the
    brackets behind an op."""
    graph = parse_graph(f"graph f(x: int64) {{\n  {line}\n  y = call[call] x\n  z = add[loop loop] y\n  return z\n}}")
    ((site, callee),) = graph.calls
    assert (site.kind, str(site), callee) == SITES[line]
    assert [str(node.site) for node in graph.nodes] == ["f.call", "f.loop", ".main"]
    assert parse_graph(tl.print_graph(graph)) == graph


ATTRIBUTES = ["true", "-3", "2.5", "-0.0", "inf", "-inf", '"a \\"b\\""', "float32", "int64(3)"]


@pytest.mark.parametrize("value", ATTRIBUTES)
@pytest.mark.parametrize("word", ["func", "graph"])
def test_attributes_survive_a_round_trip(word: str, value: str) -> None:
    """An attribute is a dtype, a text, a truth value or a plain number, and is read back."""
    document = parse(f"{word} f(x: int64) {{\n  y = add x, x, k={value}\n  return y\n}}")
    assert parse(print_document(document)) == document


@pytest.mark.parametrize("value", ["nan", "[1.5]", "uint8(3)", "float32(1)", "float64([])", "float64(nan)"])
@pytest.mark.parametrize("word", ["func", "graph"])
def test_other_attributes_are_refused(word: str, value: str) -> None:
    """NaN, arrays, and values without a text form are refused as attributes, when reading and when printing."""
    text = f"{word} f(x: int64) {{\n  y = add x, x, k={value}\n  return y\n}}"
    with pytest.raises(tl.Malformed, match="this is not a valid attribute"):
        parse(text)
    document = parse(text.replace(value, "1"))
    attributes = (("k", parse_literal(value).value),)
    subject = document[document.names[0]]
    if isinstance(subject, Program):
        (old,) = subject.main.body.nodes
        body = replace(subject.main.body, nodes=(replace(old, attributes=attributes),))
        subject = replace(subject, functions=(replace(subject.main, body=body),))
    else:
        subject = replace(subject, nodes=(replace(subject.nodes[0], attributes=attributes), *subject.nodes[1:]))
    with pytest.raises(tl.Usage, match="cannot write this attribute"):
        print_document(Document(*((subject, ()) if isinstance(subject, Program) else (None, (subject,)))))


@settings(max_examples=25)
@given(cases())
def test_a_document_from_text_runs_alike(case: Case) -> None:
    """A program or graph from text has the same ending, and the same firings of each node."""
    graph, limits = lower(case.program), tl.Limits(firings=5_000)
    read = parse_program(tl.print_program(case.program))
    assert program_problems(read) == []
    expected = tl.run_graph(graph, case.arguments, limits=limits)
    for again in (lower(read), parse_graph(tl.print_graph(graph))):
        run = tl.run_graph(again, case.arguments, limits=limits)
        assert (run.status, run.stats.by_node) == (expected.status, expected.stats.by_node)
        assert repr(run.results) == repr(expected.results)


UNWRITABLE = {
    "move_edge": "an edge to a port that does not exist",
    "drop_port": "an edge to a port that does not exist",
    "change_results": "a result that is not a node",
    "change_hidden": "more hidden arguments than there are",
    "change_function": "two values of one name",
}
"""What the text form has no words for, and which edit makes it."""


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
@settings(max_examples=4)
@given(case=cases(), seed=st.integers(0, 2**32))
def test_an_invalid_graph_survives_a_round_trip(edit: Edit, case: Case, seed: int) -> None:
    """An invalid graph is printed and read. Only a graph without a text is refused: with edges to ports, results or
    hidden arguments that do not exist, or with two nodes of one name."""
    graph = edit(random.Random(seed), lower(case.program))
    try:
        text = tl.print_graph(graph)
    except tl.Usage as error:
        assert UNWRITABLE[edit.__name__] in error.message
        return
    assert parse_graph(text) == graph
    assert [str(problem) for problem in graph_problems(parse_graph(text))] == list(map(str, graph_problems(graph)))


@pytest.mark.parametrize(
    "graph",
    [sum_graph(), counting_loop([("a", 0), ("b", 1)]), race("add", 2), race("merge", 1), stuck(), untyped()],
    ids=lambda graph: graph.name,
)
def test_graphs_written_by_hand_survive_a_round_trip(graph: Graph) -> None:
    """Valid and invalid graphs survive a round trip without functions or source lines."""
    text = tl.print_graph(graph)
    assert parse_graph(text) == graph
    assert (f"  {graph.name}." in text) == (graph.name == "count"), "where a node is called as an argument is"


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("name", PAPERS)
def test_examples_survive_a_round_trip(name: str) -> None:
    """The papers' programs, and their graphs, are read back unchanged."""
    functions = [value for value in vars(of_paper("recursion", name)).values() if isinstance(value, tl.Function)]
    assert functions or name == "sentiment_trees"
    for function in (each for each in functions if all(form for _, form in each.source.declared_parameters)):
        assert parse_program(tl.print_program(function.program)) == function.program
        assert parse_graph(tl.print_graph(function.graph)) == function.graph


def wrong_types(dice: random.Random, program: Program) -> Program:
    """The program with another type for one result, and with an unknown op."""
    target = dice.randrange(sum(1 for f in program.functions for _ in f.body.walk()) or 1)
    count = 0

    def node(given: Node) -> Node:
        nonlocal count
        count += 1
        if count - 1 == target:
            type_ = tl.Type(dice.choice([tl.int64, tl.float64, tl.bool]), dice.choice([(), (2, None), None]))
            changed = replace(given, results=(given.results[0]._replace(type=type_), *given.results[1:]))
            given = dice.choice([changed, replace(given, op="nothing") if not given.regions else changed])
        return replace(given, regions=tuple(map(region, given.regions)))

    def region(given: Region) -> Region:
        return replace(given, nodes=tuple(map(node, given.nodes)))

    return replace(program, functions=tuple(replace(f, body=region(f.body)) for f in program.functions))


@settings(max_examples=40)
@given(cases(), st.integers(0, 2**32))
def test_an_invalid_program_survives_a_round_trip(case: Case, seed: int) -> None:
    """A result with a type that the op does not give is printed with it; types that follow from it are inferred
    again."""
    program = wrong_types(random.Random(seed), case.program)
    read = parse_program(tl.print_program(program))
    assert read == program
    assert list(map(str, program_problems(read))) == list(map(str, program_problems(program)))


def test_an_entry_that_is_not_the_first_survives_a_round_trip() -> None:
    """A program keeps the order of its functions, whichever is the entry, even if the entry is no function."""
    program = of_paper("recursion", "mutual").main.program
    for entry in [function.name for function in program.functions] + ["nowhere"]:
        changed = replace(program, entry=entry)
        text = tl.print_program(changed)
        assert parse_program(text) == changed
        assert ("entry" in text.splitlines()[1]) == (entry != program.functions[0].name)


def test_locations_may_come_from_several_files() -> None:
    """`from` names the file of most nodes, and `at` that of others; names of files may be any text."""
    strange = 'a "b"\\c\n\u00e9 \udc80.py'
    program = parse_program("func f(x: int64) -> int64 {\n  y = abs x\n  z = abs y\n  return z\n}")
    one, two = program.main.body.nodes
    nodes = (replace(one, location=Location("fib.py", 3)), replace(two, location=Location(strange, 7)))
    main = replace(program.main, body=replace(program.main.body, nodes=nodes))
    changed = replace(program, functions=(main,))
    text = tl.print_program(changed)
    assert text.splitlines()[0] == 'from "fib.py"' and parse_program(text) == changed
    text.encode()


LITERALS = ["0", "-3", "1.5", "true", "[1, 2]", "[[0.5], [nan]]", "int8(3)", "float32([0.5, inf])", "float64[2, 0]([])"]
_NAME = st.sampled_from(["fac", "then", "case", "at", "été", "returns", "in"])
_LITERALS = st.lists(st.sampled_from(LITERALS), max_size=3).map(tuple)
_RULE = st.sampled_from(["V4", "V8", "S4"]).map(lambda rule: (rule,))
_DETAILS = {
    "returns": _LITERALS,
    "traps": st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: (text,)),
    "exhausts": st.tuples(st.integers(0, 10**9).map(str), st.sampled_from(["firings", "tokens", "depth"])),
    "breaks": _RULE,
    "deadlocks": st.just(()),
    "refused": _RULE,
}


@st.composite
def written_cases(draw: st.DrawFn) -> Written:
    kind = draw(st.sampled_from(sorted(_DETAILS)))
    count = draw(st.none() | st.integers(0, 10**9))
    return Written(draw(_NAME), draw(_LITERALS), kind, draw(_DETAILS[kind]), count)


@settings(max_examples=100)
@given(st.lists(written_cases(), max_size=4))
def test_cases_survive_a_round_trip(written: list[Written]) -> None:
    """Every kind of ending survives a round trip, with its details and the number of firings, for functions of any
    name."""
    document = Document(None, (), tuple(written))
    assert parse(print_document(document)) == document


@settings(max_examples=15)
@given(st.lists(cases(), min_size=1, max_size=2), st.lists(written_cases(), max_size=2))
def test_texts_with_several_documents_survive_a_round_trip(drawn: list[Case], written: list[Written]) -> None:
    """A program, graphs and cases in one text keep their own source lines."""
    graphs = tuple(replace(lower(case.program), name=f"g{k}") for k, case in enumerate(drawn))
    graphs = tuple(graph for graph in graphs if not Counter(map(str, graph.nodes))["g0.x"])
    document = Document(drawn[0].program, graphs, tuple(written))
    assert parse(print_document(document)) == document
    assert print_document(parse(print_document(document))) == print_document(document)
