"""The corpus: every case ends as it states, its values equal those of independent Python, and its formulas hold."""

from __future__ import annotations

import ast
import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from corpus.independent import LINES, PROGRAMS, Stuck, Trap, fibonacci_number
from support.observe.event_text import check_words
from tagloom.core import dtypes
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.ops.effects import EFFECT_OPS, is_allowed_in
from tagloom.core.ops.op import OPS
from tagloom.core.ops.routing import ROUTING_OPS
from tagloom.core.program.program import STRUCTURED_OPS, Program
from tagloom.core.program.validate import program_problems
from tagloom.core.text import Case, Document, parse, print_document
from tagloom.core.text.literals import parse_value
from tagloom.core.types import Type
from tagloom.core.world import World
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.oracle.corpus import try_cases, unexpected_problems

FOLDER = Path(__file__).parent / "corpus"
INDEPENDENT = FOLDER / "independent.py"
FILES = sorted(path.stem for path in FOLDER.glob("*.tl"))
RULES = [f"V{number}" for number in range(1, 18)]

in_files = pytest.mark.parametrize("file", FILES)


@functools.cache
def document(file: str) -> Document:
    return parse((FOLDER / f"{file}.tl").read_text())


@functools.cache
def graph_of(file: str, name: str) -> Graph:
    subject = document(file)[name]
    return subject if isinstance(subject, Graph) else lower(subject)


def every_case() -> Iterator[tuple[str, Case]]:
    for file in FILES:
        for case in document(file).cases:
            yield file, case


def is_computed(file: str, case: Case) -> bool:
    """Whether independent Python can check this ending: returns, traps, and deadlocks of valid graphs, which only cells
    and bounds cause."""
    if case.kind == "deadlocks":
        return graph_problems(graph_of(file, case.name)) == []
    return case.kind in ("returns", "traps")


def values(texts: Sequence[str], types: Sequence[Type]) -> list[Any]:
    """Literals of these types; scalars are Python numbers."""
    results = [parse_value(text, type_) for text, type_ in zip(texts, types, strict=True)]
    return [value.item() if isinstance(value, np.generic) else value for value in results]


def argument_types(graph: Graph) -> list[Type]:
    return [argument.type for _, argument in graph.arguments[graph.hidden_count :]]


def result_types(graph: Graph) -> list[Type]:
    return [graph.nodes[number].outputs[0].type for number in graph.results]


def agree(wanted: Any, found: Any, type_: Type) -> bool:
    """Whether independent Python gives this value: the same shape and bits, and for floats and arrays the same dtype. A
    scalar integer of Python has no dtype, but must be in the range of the wanted one."""
    mine, theirs = np.asarray(wanted), np.asarray(found)
    kind = type_.dtype.kind
    if mine.shape != theirs.shape or (theirs.dtype.kind == "b") != (kind == "b"):
        return False
    if kind in "iu" and not mine.ndim:
        low, high = type_.dtype.range
        return low <= int(found) <= high and int(wanted) == int(found)
    if type_.dtype.numpy != theirs.dtype:
        return False
    theirs = theirs.astype(mine.dtype)
    return mine.tobytes() == theirs.tobytes() if kind != "f" else _same_floats(mine, theirs)


def _same_floats(one: np.ndarray, other: np.ndarray) -> bool:
    """Bitwise equality, with all NaNs equal."""
    nan = np.isnan(one)
    return bool((nan == np.isnan(other)).all()) and one[~nan].tobytes() == other[~nan].tobytes()


@pytest.mark.inner(first=1, of_each=r"\w+")
@pytest.mark.parametrize("part", [slice(1), slice(1, None)], ids=["first", "others"])
@in_files
def test_cases(file: str, part: slice) -> None:
    """Every case ends as it states, with its values and firings, under every schedule and by the evaluator."""
    cases = replace(document(file), cases=document(file).cases[part])
    wrong = [f"{difference}" for _, difference in try_cases(cases) if difference is not None]
    assert not wrong, "\n".join(wrong)
    assert unexpected_problems(document(file)) == []


@pytest.mark.inner(first=4)
@in_files
def test_values_are_independent(file: str) -> None:
    """What `returns`, `traps` and `deadlocks` state, and what is printed, is what plain Python computes without
    tagloom."""
    for case in document(file).cases:
        if not is_computed(file, case):
            continue
        graph = graph_of(file, case.name)
        arguments, lines = values(case.arguments, argument_types(graph)), []
        LINES.clear()
        try:
            given = PROGRAMS[file, case.name](*arguments)
        except Trap as trap:
            assert (case.kind, case.details) == ("traps", (str(trap),)), case
            continue
        except Stuck:
            assert case.kind == "deadlocks", case
            continue
        finally:
            run_graph(graph, arguments, world=World(lines.append))
            assert lines == LINES, case
        assert case.kind == "returns", case
        types = result_types(graph)
        results = given if isinstance(given, tuple) else (given,)
        assert len(results) == len(types) == len(case.details), case
        for text, actual, type_ in zip(case.details, results, types, strict=True):
            assert agree(parse_value(text, type_), actual, type_), (case, text, actual)


@in_files
def test_files_survive_a_round_trip(file: str) -> None:
    """A file that is printed and parsed again is the same program; printing that again gives the same text."""
    printed = print_document(document(file))
    assert parse(printed) == document(file)
    assert print_document(parse(printed)) == printed


@pytest.mark.inner(first=50)
@in_files
def test_files_have_a_comment_and_cases(file: str) -> None:
    """A file begins with a comment, and has cases for each of its functions that no other calls."""
    text = (FOLDER / f"{file}.tl").read_text()
    assert text.startswith("# ")
    assert max(len(line) for line in text.splitlines() if not line.startswith("case ")) <= 120
    actual = document(file)
    assert actual.cases and {case.name for case in actual.cases} <= set(actual.names)
    functions = actual.program.functions if actual.program else ()
    called = {str(dict(node.attributes).get("function")) for each in functions for node in each.body.walk()}
    assert set(actual.names) - called <= {case.name for case in actual.cases}


@pytest.mark.full
def test_independent_of_tagloom() -> None:
    """The independent Python imports nothing of tagloom, and every function in it is used by a case."""
    imports = [
        node for node in ast.walk(ast.parse(INDEPENDENT.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    actual = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports}
    assert actual == {
        "__future__",
        "collections.abc",
        "fractions",
        "hashlib",
        "math",
        "ml_dtypes",
        "numpy",
        "struct",
        "typing",
    }
    assert set(PROGRAMS) == {(file, case.name) for file, case in every_case() if is_computed(file, case)}


# What the corpus covers


def test_the_corpus_is_large() -> None:
    """The corpus has at least 40 programs; a quarter of the cases do not return, in at least 12 programs."""
    kinds = [case.kind for _, case in every_case()]
    assert len(FILES) >= 40
    assert len({file for file, case in every_case() if case.kind != "returns"}) >= 12
    assert 4 * sum(kind != "returns" for kind in kinds) >= len(kinds)
    assert set(kinds) == {"returns", "traps", "exhausts", "breaks", "deadlocks", "refused"}


def test_size_is_as_documented() -> None:
    """The size of the corpus is the one that docs/semantics.md states in section 7."""
    kinds = [case.kind for _, case in every_case()]
    text = " ".join((FOLDER.parents[1] / "docs" / "semantics.md").read_text().split())
    assert f"{len(FILES)} programs in the text form" in text
    assert f"{len(kinds):,} cases, of which {sum(kind != 'returns' for kind in kinds)} do not return" in text


def test_every_op_fires() -> None:
    """Every op, effect, structure and routing op occurs in a program or graph that is run, except callbacks, which need
    Python."""
    run = {(file, case.name) for file, case in every_case() if case.kind in ("returns", "traps")}
    graphs = [graph_of(*key) for key in run]
    acts = {op for op in EFFECT_OPS if is_allowed_in(op, "graph")} - {"callback"}
    fired = {node.op for graph in graphs for node in graph.nodes}
    assert fired >= {*OPS, *ROUTING_OPS, *acts} and "callback" not in fired
    programs = [document(file)[name] for file, name in run]
    walks = (f.body.walk() for program in programs if isinstance(program, Program) for f in program.functions)
    assert {node.op for walk in walks for node in walk} >= set(STRUCTURED_OPS)


def test_every_dtype() -> None:
    """Values of every dtype are arguments, results and intermediate values: scalars and arrays."""
    run = [graph_of(file, case.name) for file, case in every_case() if case.kind == "returns"]
    computed = {output.type.dtype for graph in run for n in graph.nodes if n.op in OPS for output in n.outputs}
    assert computed == set(dtypes.ALL)
    assert {type_.dtype for graph in run for type_ in argument_types(graph)} == set(dtypes.ALL)
    assert {type_.dtype for graph in run for type_ in result_types(graph)} == set(dtypes.ALL)


def test_every_rule_of_form() -> None:
    """Every rule V1 to V15 is broken by some rejected program, and a rejected program breaks only the stated rule."""
    refused = [(file, case) for file, case in every_case() if case.kind == "refused"]
    assert {case.details[0] for _, case in refused} == set(RULES)
    for file, case in refused:
        subject = document(file)[case.name]
        problems = graph_problems(subject) if isinstance(subject, Graph) else program_problems(subject)
        assert {problem.rule for problem in problems} == {case.details[0]}, (file, case.name)
        check_words(problems)


# Formulas


class Formula(NamedTuple):
    """The number of firings of a function, on each of these arguments."""

    file: str
    name: str
    firings: Callable[..., int]
    arguments: Sequence[tuple[Any, ...]]


def each(*numbers: int) -> list[tuple[int]]:
    return [(n,) for n in numbers]


def divisions(a: int, b: int) -> int:
    return 0 if b == 0 else 1 + divisions(b, a % b)


def doublings(x: int, limit: int) -> int:
    return 0 if x >= limit else 1 + doublings(2 * x, limit)


def trial_divisions(n: int) -> int:
    return next(d for d in itertools.count(2) if d * d > n or n % d == 0) - 2


def newton_steps(n: int) -> int:
    x, y, count = n, (n + 1) // 2, 0
    while y < x:
        x, y, count = y, (y + n // y) // 2, count + 1
    return count


def collatz(n: int) -> tuple[int, int]:
    """The numbers of steps from even numbers, and from odd ones."""
    even = odd = 0
    while n != 1:
        even, odd, n = (even, odd + 1, 3 * n + 1) if n % 2 else (even + 1, odd, n // 2)
    return even, odd


def tak_calls(x: int, y: int, z: int) -> tuple[int, int]:
    """The value, and the inner calls."""
    if x <= y:
        return z, 0
    parts = [tak_calls(x - 1, y, z), tak_calls(y - 1, z, x), tak_calls(z - 1, x, y)]
    value, count = tak_calls(*(value for value, _ in parts))
    return value, 1 + count + sum(count for _, count in parts)


def ackermann(m: int, n: int) -> tuple[int, np.ndarray]:
    """The value, and the numbers of calls with m = 0, with n = 0, and of all others."""
    if m == 0:
        return n + 1, np.array([1, 0, 0])
    if n == 0:
        value, calls = ackermann(m - 1, 1)
        return value, calls + [0, 1, 0]
    inner, some = ackermann(m, n - 1)
    value, more = ackermann(m - 1, inner)
    return value, some + more + [0, 0, 1]


def float_newton_steps(a: float, start: float) -> int:
    x, y, count = start, (start + a / start) / 2, 0
    while y < x:
        x, y, count = y, (y + a / y) / 2, count + 1
    return count


def partitions(n: int, k: int) -> np.ndarray:
    """The number of partitions, and the number of calls that find none."""
    if n == 0:
        return np.array([1, 0])
    return np.array([0, 1]) if n < 0 or k == 0 else partitions(n - k, k) + partitions(n, k - 1)


def hofstadter(which: str, n: int) -> tuple[int, int]:
    """The value, and the number of inner calls; `which` is the sequence, the other one follows."""
    if n == 0:
        return int(which[0] == "F"), 0
    own, some = hofstadter(which, n - 1)
    other, more = hofstadter(which[::-1], own)
    return n - other, some + more + 1


def leaves(a: float, b: float, eps: float) -> int:
    """The number of leaves of the call tree that halves an interval."""
    bell, middle = PROGRAMS["adaptive_integral", "f"], (a + b) / 2
    ends, width = bell(a) + bell(b), b - a
    halves = width * ((bell(a) + bell(middle)) + (bell(middle) + bell(b))) / 4
    if abs(halves - width * ends / 2) <= eps:
        return 1
    return leaves(a, middle, eps / 2) + leaves(middle, b, eps / 2)


def fizz(n: int) -> int:
    return 8 if n % 15 == 0 else 13 if n % 5 == 0 else 18 if n % 3 == 0 else 17


_DRAW = random.Random(0)
SMALL = each(*range(12), 20, 37)
PAIRS = [(_DRAW.randrange(1, 10**6), _DRAW.randrange(10**6)) for _ in range(12)]
LARGE = each(*(_DRAW.randrange(2**62) for _ in range(12)))

FORMULAS = (
    Formula("int32_random_numbers", "generate", lambda x, n: 13 * n + 17, [(x, n) for x, n in enumerate(range(12))]),
    Formula("uint16_checksum", "checksum", lambda k, n: 20 * n + 26, [(k, k) for k in range(12)]),
    Formula("uint32_hash", "hash", lambda n: 11 * len(str(n)) + 12, each(1, 9, 10, 99, 100, 12345, 2**32 - 1)),
    Formula("harmonic_sum", "harmonic", lambda n: 20 * n + 21, SMALL),
    Formula("fizz_buzz", "fizz", fizz, each(*range(31))),
    Formula("sum_below", "sum_below", lambda n: 12 * n + 16, SMALL),
    Formula(
        "multiplication_by_addition",
        "product",
        lambda n, m: 12 * n * m + 27 * n + 21,
        list(itertools.product(range(5), range(5))),
    ),
    Formula("triangular_loop", "triangle", lambda n: 6 * n * (n - 1) + 24 * n + 16, each(*range(10))),
    Formula("smallest_divisor", "smallest", lambda n: 12 * trial_divisions(n) + 21, each(*range(2, 40), 397)),
    Formula("only_read", "axpy", lambda n, *_: 16 * n + 22, [(n, [1.0, 2.0], 0.5, [0.0, 1.0]) for n in range(9)]),
    Formula("greatest_common_divisor_loop", "gcd", lambda a, b: 8 * divisions(a, b) + 12, PAIRS),
    Formula(
        "loop_in_cond_in_loop",
        "odd_triangles",
        lambda n: 9 * (n // 2) * (n // 2 + 1) + 16 * n + 16,
        each(*range(10)),
    ),
    Formula("integer_square_root", "root", lambda n: 13 * newton_steps(n) + 17, [*SMALL, *LARGE]),
    Formula("fibonacci_loop", "fibonacci", lambda n: 12 * n + 16, SMALL),
    Formula(
        "power_by_squaring", "power", lambda x, n: 17 + 17 * n.bit_length() + n.bit_count(), [(3, n) for (n,) in SMALL]
    ),
    Formula("factorial", "factorial", lambda n: 9 * n + 7, SMALL),
    Formula(
        "gradients", "gradient_of_fac", lambda x: 17 * max(1, math.ceil(x)) + 1, each(-1.0, 0.5, 1.0, 2.0, 7.5, 20.0)
    ),
    Formula("gradients", "gradient_of_power", lambda x, n: 22 * max(0, n) + 38, [(1.5, n) for n in (-1, 0, 1, 2, 9)]),
    Formula("gradients", "descend", lambda x, n: 21 * max(0, n) + 17, [(1.0, n) for n in (-1, 0, 1, 2, 9)]),
    Formula(
        "graph_going_back",
        "doublings_back",
        lambda x, limit, d: 11 * max(0, math.ceil(math.log2(limit / x))) + 13,
        [(1.0, limit, 1.0) for limit in (0.5, 1.0, 2.0, 3.0, 1000.0)],
    ),
    Formula("fibonacci", "fib", lambda n: 15 * fibonacci_number(n + 1) - 10, each(*range(12))),
    Formula("ackermann", "ack", lambda m, n: 27 * n + 24, [(1, n) for n in range(12)]),
    Formula(
        "ackermann",
        "ack",
        lambda m, n: int(ackermann(m, n)[1] @ [7, 16, 20]) + 1,
        list(itertools.product(range(3), range(4))),
    ),
    Formula(
        "takeuchi",
        "tak",
        lambda x, y, z: 51 * tak_calls(x, y, z)[1] + 9,
        list(itertools.product(range(4), repeat=3)),
    ),
    Formula("range_sum", "range_sum", lambda a, b: 23 * (b - a) - 15, [(-k, k * k) for k in range(1, 9)]),
    Formula("greatest_common_divisor", "gcd", lambda a, b: 10 * divisions(a, b) + 7, PAIRS),
    Formula(
        "binomial",
        "binomial",
        lambda n, k: 28 * math.comb(n, k) - 17,
        [(n, k) for n in range(7) for k in range(n + 1)],
    ),
    Formula("hanoi", "hanoi", lambda n, a, b: 39 * 2**n - 25, [(n, a, 4 - a) for n in range(7) for a in (1, 3)]),
    Formula("even_or_odd", "even", lambda n: 8 * n + 7, SMALL),
    Formula("even_or_odd", "odd", lambda n: 8 * n + 7, SMALL),
    Formula("three_way_recursion", "triple", lambda n, x: 11 * n + 7, [(n, 7 - n) for (n,) in SMALL]),
    Formula("three_way_recursion", "halve", lambda n, x: 11 * n + 7, [(n, n - 7) for (n,) in SMALL]),
    Formula("recursion_in_loop_in_recursion", "catalan", lambda n: (39 * 3**n - 17) // 2, each(*range(1, 6))),
    Formula("mccarthy_91", "f", lambda n: 14 * (101 - n) + 6, each(*range(60, 102))),
    Formula(
        "collatz",
        "steps",
        lambda n: int(np.array(collatz(n)) @ [13, 14]) + 7,
        each(*range(1, 27)),
    ),
    Formula("tail_recursion", "sum_to", lambda n: 11 * n + 12, SMALL),
    Formula("deep_recursion", "depth", lambda n: 9 * n + 7, SMALL),
    Formula("without_parameters", "repeat", lambda n: 24 * n + 16, SMALL),
    Formula("loop_of_calls", "digit_sum", lambda n: 9 * len(str(n)) - 4, [*SMALL, *LARGE]),
    Formula("array_recursion", "doubled", lambda x, n: 11 * n + 7, [([1.0] * n, n) for (n,) in SMALL]),
    Formula("trigger_through_recursion", "counted", lambda n: 16 * n + 13, SMALL),
    Formula("same_value_twice", "swapping", lambda n, a, b: 11 * n + 18, [(n, 3, 4) for (n,) in SMALL]),
    Formula(
        "newton_square_root",
        "root",
        lambda a, start: 13 * float_newton_steps(a, start) + 19,
        [(_DRAW.random(), 2.0 ** _DRAW.randrange(-9, 10)) for _ in range(12)],
    ),
    Formula("compensated_sum", "sums", lambda x, n: 25 * n + 30, [(1 / 3, n) for (n,) in SMALL]),
    Formula(
        "mandelbrot",
        "steps",
        lambda a, b, limit: 32 * PROGRAMS["mandelbrot", "steps"](a, b, limit) + 35,
        [(_DRAW.uniform(-2, 1), _DRAW.uniform(-1, 1), 9) for _ in range(12)],
    ),
    Formula(
        "partitions",
        "partitions",
        lambda n, k: int(partitions(n, k) @ [31, 38]) - 22,
        list(itertools.product(range(6), range(6))),
    ),
    Formula("hofstadter_sequences", "female", lambda n: 17 * hofstadter("FM", n)[1] + 7, each(*range(9))),
    Formula("hofstadter_sequences", "male", lambda n: 17 * hofstadter("MF", n)[1] + 7, each(*range(9))),
    Formula(
        "adaptive_integral",
        "integral",
        lambda a, b, eps: 92 * leaves(a, b, eps) - 50,
        [(a, a + 1.0, eps) for a in (-1.0, 0.0, 2.5) for eps in (1.0, 0.1, 0.01, 0.001)],
    ),
    Formula("josephus", "left", lambda n, k: 13 * n - 4, [(n, 3) for n in range(1, 15)]),
    Formula("graph_counter", "count", lambda n: 8 * n + 11, SMALL),
    Formula("graph_recursion", "sum_down", lambda n: 8 * n + 5, SMALL),
    Formula("graph_two_loops", "doublings", lambda x, limit: 17 * doublings(x, limit) + 17, [(3, n) for (n,) in SMALL]),
    Formula("loop_without_tags", "right", lambda x: 5 * max(10 - x, 0) + 6, each(*range(13))),
    Formula("trap_in_loop", "sum_of_quotients", lambda n: 14 * n + 17, each(0, 1, 2, 3)),
    Formula("cells_chain", "chain", lambda n: 14 * n + 20, SMALL),
    Formula("cells_chain", "chain_by_5", lambda n: 14 * n + 20, each(*range(6))),
    Formula("cells_chain", "chain_by_10", lambda n: 14 * n + 20, each(*range(11))),
    Formula("cells_prefix_sums", "read_first", lambda n: 31 * n + 38, SMALL),
    Formula("cells_prefix_sums", "filled_first", lambda n: 31 * n + 38, SMALL),
    Formula("cells_inner_product", "product", lambda n: 50 * n + 56, SMALL),
    Formula("cells_inner_product", "waiting", lambda n: 50 * n + 56, SMALL),
    Formula("cells_wavefront", "paths", lambda n: 29 * n * n + 20 * n + 23, each(*range(1, 10))),
    Formula("cells_in_recursion", "squares", lambda n: 30 * n - 10, each(*range(1, 20))),
    Formula("cells_of_arrays", "rows", lambda x, n: 16 * n + 23, [(np.array([3.0, 1.0]), n) for (n,) in SMALL]),
    Formula("cells_exchange", "talk", lambda x: 24, SMALL),
    Formula("bounded_loop", "free", lambda n: 15 * n + 17, SMALL),
    Formula("bounded_loop", "by_2", lambda n: 15 * n + 17, SMALL),
    Formula("bounded_loop", "by_1", lambda n: 15 * n + 17, SMALL),
    Formula("breakpoints", "squares", lambda n, stop: 19 * n + 22, [(n, 3) for (n,) in SMALL]),
    Formula("graph_bounded_loop", "count", lambda n: 8 * n + 11, SMALL),
    Formula("print_order", "steps", lambda n: 17 * n + 15, SMALL),
    Formula("print_hanoi", "hanoi", lambda n, a, b: 43 * 2**n - 29, [(n, a, 4 - a) for n in range(6) for a in (1, 3)]),
    Formula("random_walk", "walk", lambda n: 20 * n + 21, SMALL),
    Formula("random_pi", "pi", lambda n: 19 * n + 20, each(1, 2, 3, 50)),
    Formula("random_recursion", "tree", lambda n: 20 * 2**n - 13, each(*range(5))),
    Formula("random_recursion", "main", lambda n: 40 * 2**n - 17, each(*range(5))),
    Formula("random_shuffle", "by_rank", lambda n: 21 * n * n + 38 * n + 23, each(*range(9))),
    Formula("limits", "fib", lambda n: 15 * fibonacci_number(n + 1) - 10, each(*range(9))),
)


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: f"{formula.file}-{formula.name}")
def test_firings(formula: Formula) -> None:
    """The closed formula in a file's comment, derived from the rules of lowering, holds far beyond its cases, and the
    values are those of independent Python."""
    assert "# Firings" in (FOLDER / f"{formula.file}.tl").read_text()
    graph = graph_of(formula.file, formula.name)
    types = result_types(graph)
    for arguments in formula.arguments:
        run = run_graph(graph, arguments, world=World(lambda line: None))
        assert (run.status, run.firings) == ("Returned", formula.firings(*arguments)), arguments
        given = PROGRAMS[formula.file, formula.name](*arguments)
        results = given if isinstance(given, tuple) else (given,)
        assert all(map(agree, run.results, results, types)), (arguments, run.results, results)


@pytest.mark.parametrize(
    ("file", "name", "firings", "arguments"),
    [
        ("cells_chain", "chain_by_5", 11 * 5 + 8, each(6, 7, 40)),
        ("cells_chain", "chain_by_10", 11 * 10 + 8, each(11, 12, 40)),
        ("endless_loop_of_gets", "bounded", 8 * 3 + 8, each(0, 7, -9)),
    ],
)
def test_firings_of_a_deadlock(file: str, name: str, firings: int, arguments: Sequence[tuple[Any, ...]]) -> None:
    """A loop with a bound of k that waits for itself stops after the number of firings that its file derives from k."""
    for given in arguments:
        run = run_graph(graph_of(file, name), given)
        assert (run.status, run.firings) == ("Deadlocked", firings), given


def test_enough_formulas() -> None:
    """At least ten programs have a formula."""
    assert len({formula.file for formula in FORMULAS}) >= 10
