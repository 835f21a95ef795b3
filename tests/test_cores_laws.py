"""Several cores are one: the laws of runs on them, on generated programs and on those of the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import tagloom as tl
from acts_generator import act_cases
from cores_laws import differing, wrong
from fast_laws import LIMITS
from generator import Case, cases
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tagloom.core.graph import Graph
from tagloom.core.literals import read
from tagloom.core.lower import lower
from tagloom.core.program import Program
from tagloom.core.text import parse
from tagloom.core.validate_graph import graph_problems
from tagloom.core.value import Value
from tagloom.interp.fast.stamped import is_shareable
from tagloom.interp.imaging import known_image
from tagloom.interp.reference import Limits

DICE = st.integers(0, 2**32 - 1).map(Random)
CORPUS = Path(__file__).parent / "corpus"


def is_of_words(graph: Graph) -> bool:
    """Whether several cores can run a graph."""
    return is_shareable(known_image(graph, {}))


@settings(max_examples=15, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(cases().filter(lambda case: is_of_words(lower(case.program))), DICE)
def test_generated_programs(case: Case, dice: Random) -> None:
    """Cores that take turns as the dice say end a program as the reference does, with the same measures."""
    for cores in (1, 2, 4):
        assert [each for each in wrong(lower(case.program), case.arguments, cores, dice) if isinstance(each, str)] == []


@pytest.mark.heavy
@settings(max_examples=400, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(cases().filter(lambda case: is_of_words(lower(case.program))), DICE)
def test_many_generated_programs(case: Case, dice: Random) -> None:
    """The same, of more programs and cores."""
    for cores in (1, 2, 3, 7):
        assert [each for each in wrong(lower(case.program), case.arguments, cores, dice) if isinstance(each, str)] == []


@settings(max_examples=15, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(cases() | act_cases(), DICE)
def test_any_program(case: Case, dice: Random) -> None:
    """What several cores cannot run, or cannot end, is run on one: traps, limits, cells, effects and bounds are those of
    the reference."""
    limits = dice.choice(
        (LIMITS, Limits(firings=dice.randrange(200)), Limits(firings=1_500, tokens=dice.randrange(40)))
    )
    assert list(differing(lower(case.program), case.arguments, 2, limits)) == []


def of_the_corpus() -> Iterator[tuple[Graph, list[Value]]]:
    """The programs of words of the corpus, each with the arguments of its first case that there is."""
    for path in sorted(CORPUS.glob("*.tl")):
        document = parse(path.read_text(encoding="utf-8"), path.name)
        for case in [case for case in document.cases if case.kind not in ("refused", "breaks")][:1]:
            subject = document[case.name]
            graph = lower(subject) if isinstance(subject, Program) else subject
            if not graph_problems(graph) and is_of_words(graph):
                wanted = graph.arguments[graph.hidden :]
                yield graph, [read(text, of.type) for text, (_, of) in zip(case.arguments, wanted, strict=True)]


def test_corpus() -> None:
    """So do the programs of the corpus; of those that call or loop, most give activations away."""
    limits, given = Limits(firings=4_000), []
    for number, (graph, arguments) in enumerate(of_the_corpus()):
        found = list(wrong(graph, arguments, 3, Random(number), limits))
        assert [each for each in found if isinstance(each, str)] == []
        if any(node.op in ("call", "enter") for node in graph.nodes):
            given.append(found[0])
    assert len(given) > 20
    assert sum(count > 0 for count in given) > len(given) // 2


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def tak(x: tl.int64, y: tl.int64, z: tl.int64) -> tl.int64:
    return tl.cond(y < x, lambda: tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y)), lambda: z)


@tl.function
def sums(n: tl.int64) -> tl.int64:
    """Loops in a loop, each with a call in it."""

    def inner(i: tl.int64) -> tl.int64:
        return tl.while_loop(lambda j, s: j < n, lambda j, s: (j + 1, s * 3 + fib(i - j)), 0, 0)[1]

    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + inner(i)), 0, 0)[1]


@pytest.mark.parametrize(("function", "arguments"), [(fib, [9]), (tak, [6, 3, 1]), (sums, [5])], ids=str)
def test_turns(function: tl.Function, arguments: list[int]) -> None:
    """Whoever takes turns how long, and however many cores there are: the run is the same, and much of it was given
    away."""
    for seed in range(12):
        given, *found = wrong(function.graph, arguments, 1 + seed % 5, Random(seed), Limits())
        assert found == []
        assert isinstance(given, int) and (given > 3) == (seed % 5 > 0)
