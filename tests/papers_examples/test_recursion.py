"""The programs of papers_examples/recursion do what their EXPECTED says."""

from __future__ import annotations

import functools
import itertools
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs.papers import EXAMPLES, of_paper

FOLDER = EXAMPLES / "recursion"
load = functools.partial(of_paper, "recursion")
FILES = sorted(path.stem for path in FOLDER.glob("*.py"))
SCHEDULES = ("waves", "fifo", "lifo", "random:1")
SIZES = ("quick", "heavy", "huge")
KEYS = {"run", "result", "within", "calls", "size", "status", "until", "max_firings", "thesis"}


def label(argument: Any) -> str:
    """An argument in the name of a test: a number, or the number of nodes of trees."""
    return f"{len(argument[0])} nodes" if isinstance(argument, tuple) else str(argument)


def rows(*sizes: str) -> list[Any]:
    """The rows of these sizes in all files, with their marks, as parameters `name, row`."""
    marks: dict[str, Any] = {
        "quick": (),
        "heavy": pytest.mark.heavy,
        "huge": pytest.mark.skip(reason="over two minutes on the reference machine"),
    }
    return [
        pytest.param(name, row, id="-".join([name, *map(label, row["run"])]), marks=marks[row["size"]])
        for name in FILES
        for row in load(name).EXPECTED
        if row["size"] in sizes
    ]


def run(name: str, row: dict[str, Any], schedule: str) -> tl.Outcome:
    function, *arguments = row["run"]
    limits = tl.Limits(firings=row["max_firings"]) if "max_firings" in row else None
    program: tl.Function = getattr(load(name), function)
    return program.run(*arguments, schedule=schedule, until=row.get("until", "quiet"), limits=limits)


def check(name: str, row: dict[str, Any], schedule: str) -> tl.Outcome:
    """Runs a row and compares all that it states."""
    out = run(name, row, schedule)
    assert out.status == row.get("status", "Returned")
    result = pytest.approx(row["result"], rel=row["within"]) if "within" in row else row["result"]
    assert (out.results[0] if out.has_single_result else out.results) == result
    if "calls" in row:
        assert out.activations() == row["calls"]
    if out.status == "Returned" and "until" not in row:
        assert out.residue == ()
        assert out.open_activations == 0
    return out


@pytest.mark.inner(first=13)
@pytest.mark.parametrize(("name", "row"), rows("quick", "heavy", "huge"))
def test_results_are_as_expected(name: str, row: dict[str, Any]) -> None:
    """Result, status and calls are as expected, and a run that became quiescent leaves no residue."""
    check(name, row, "waves")


@pytest.mark.inner(first=6)
@pytest.mark.parametrize("schedule", SCHEDULES[1:])
@pytest.mark.parametrize(("name", "row"), [p for p in rows("quick") if "status" not in p.values[1]])
def test_schedules_agree(name: str, row: dict[str, Any], schedule: str) -> None:
    """Every schedule has the same results, and the same firings of each node if it becomes quiescent."""
    if "until" in row and schedule == "lifo":
        pytest.skip("lifo may starve a result for ever; see test_a_result_may_come_without_quiescence")
    out = check(name, row, schedule)
    if "until" not in row:
        assert out.stats.by_node == run(name, row, "waves").stats.by_node


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_diverging_run_reaches_its_limit(schedule: str) -> None:
    """An endless program makes as many calls as its limit allows, under every schedule, since it has one token only."""
    (row,) = load("diverging").EXPECTED
    out = check("diverging", row, schedule)
    assert out.firings == row["max_firings"]
    assert isinstance(out.error, tl.Exhausted)


@pytest.mark.full
def test_a_result_may_come_without_quiescence() -> None:
    """A result may come although the graph never becomes quiescent; a fair schedule gets to it, and lifo never does."""
    quiet, result = load("not_lazy").EXPECTED
    for schedule in ("waves", "fifo", "random:1"):
        out = check("not_lazy", quiet, schedule)
        assert out.error is not None and "all its results had arrived" in str(out.error.__notes__)
        assert check("not_lazy", result, schedule).firings < 100
    starved = run("not_lazy", result, "lifo")
    assert (starved.status, starved.results) == ("Exhausted", (None,))


def firings_by_op(out: tl.Outcome) -> dict[str, int]:
    count: Counter[str] = Counter()
    for node, firings in zip(out.graph.nodes, out.stats.by_node, strict=True):
        count[node.op] += firings
    return count


@pytest.mark.parametrize("n", [0, 1, 2, 7, 15])
def test_fib_firings(n: int) -> None:
    """An inner call of fib fires 11 nodes and a leaf 7, so fib(n) takes 18 fib(n) - 11 firings.

    `tl.print_graph(fib.graph)` has 14 nodes. Every call fires 6 of them: the merge of n, less_equal, the switches of n
    and of the branches' trigger, the merge of the branches, and one of the three returns: that of the calling site, or
    of the environment. A leaf also fires identity, for the literal 1 as a token. An inner call also fires subtract and
    call, subtract and call, and add.

    There are fib(n) leaves, and fib(n) - 1 inner calls."""
    out = load("fib").fib.run(n)
    leaves = out.value
    inner = leaves - 1
    calls = leaves + inner
    assert len(out.graph.nodes) == 5 + 3 + 1 + 5
    assert firings_by_op(out) == {
        "merge": 2 * calls,
        "less_equal": calls,
        "switch": 2 * calls,
        "return": calls,
        "identity": leaves,
        "subtract": 2 * inner,
        "call": 2 * inner,
        "add": inner,
    }
    assert out.firings == 11 * inner + 7 * leaves == 18 * leaves - 11


@pytest.mark.parametrize("n", [1, 2, 6, 20])
def test_factorial_firings(n: int) -> None:
    """An inner call of fac fires 9 nodes and the last 7, so fac(n) takes 9n - 2 firings.

    As in fib, every call fires 6, and the last the literal 1. The n - 1 others fire subtract, call and multiply."""
    out = load("factorial").fac.run(n)
    inner = n - 1
    assert len(out.graph.nodes) == 5 + 2 + 1 + 3
    assert firings_by_op(out) == {
        "merge": 2 * n,
        "less_equal": n,
        "switch": 2 * n,
        "return": n,
        "identity": 1,
        "subtract": inner,
        "call": inner,
        "multiply": inner,
    }
    assert out.firings == 9 * inner + 7 == 9 * n - 2


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_gradient_firings(n: int) -> None:
    """The gradient of fac at n takes n calls, as fac does, and 17n + 5 firings.

    An inner call of the split fac fires 9 nodes forwards, as fac does, and 8 back: the merge of the incoming adjoint,
    its switch, both products, the call that sends one down and the return that brings it up again, the sum, and the
    merge of the branches. The last call fires 6 and 4, since 0.0 is a literal there. The two functions around it, which
    are called once, and pass 5.0 and a trigger on, fire 12."""
    gradient = load("gradient")
    out = gradient.main.run(float(n))
    inner = n - 1
    assert out.value == sum(math.prod(k for k in range(2, n + 1) if k != left) for left in range(2, n + 1))
    assert out.activations() == {"main": 1, "grad_fac": 1, "fac_split": n}
    assert out.firings == (9 + 8) * inner + (6 + 4) + 12 == 17 * n + 5
    ops = firings_by_op(out)
    assert (ops["multiply"], ops["multiply_no_nan"], ops["add"], ops["identity"]) == (inner, 2 * inner, inner, 2)


def test_l1_one_body_for_all_calls() -> None:
    """L1: the graph of `twice` has as many nodes of fac as the graph of fac, and one more return."""
    factorial = load("factorial")

    def ops(graph: tl.Graph) -> list[str]:
        return sorted(node.op for node in graph.nodes if node.function == "fac" and node.op != "return")

    assert ops(factorial.twice.graph) == ops(factorial.fac.graph)


Plain = tuple[int, int]
"""A result, and the number of calls that it takes."""


def plain_fib(n: int) -> Plain:
    last, this = (0, -1), (1, 1)
    for _ in range(n):
        last, this = this, (last[0] + this[0], 1 + last[1] + this[1])
    return this


def plain_ack(m: int, n: int) -> Plain:
    """Row m of the table from row m - 1, without recursion; only for m <= 3 and n <= 8."""
    row = [(k + 1, 1) for k in range(5000)]
    for _ in range(m):
        below, row = row, [(row[1][0], 1 + row[1][1])]
        while row[-1][0] < len(below):
            inner, calls = row[-1]
            row.append((below[inner][0], 1 + calls + below[inner][1]))
    return row[n]


@functools.cache
def plain_tak(x: int, y: int, z: int) -> Plain:
    if y >= x:
        return z, 1
    (a, one), (b, two), (c, three) = plain_tak(x - 1, y, z), plain_tak(y - 1, z, x), plain_tak(z - 1, x, y)
    result, four = plain_tak(a, b, c)
    return result, 1 + one + two + three + four


def plain_test(number: int) -> tuple[bool, int]:
    """Whether no 6i - 1 up to its root divides a number, and how many were tried, with the one beyond the root."""
    for i in itertools.count(1):
        divisor = 6 * i - 1
        if divisor**2 > number or number % divisor == 0:
            return divisor**2 > number, i
    raise AssertionError("the divisors grow")


def plain_primes(n: int) -> Plain:
    """The primes, by loops. Each trial counts as a call, and so do each divisor and the first call."""
    if n < 2:
        return (2, 3)[n], 1
    successes, calls = 0, 1
    for candidate in itertools.count(5, 6):
        for _ in range(2):
            passed, divisors = plain_test(candidate)
            calls += 1 + divisors
            successes += passed
            if successes == n - 1:
                return candidate, calls
    raise AssertionError("the candidates do not end")


PLAIN: dict[str, Callable[..., Plain]] = {
    "fib": plain_fib,
    "ackermann": plain_ack,
    "takeuchi": plain_tak,
    "primes": plain_primes,
}


@pytest.mark.parametrize("name", PLAIN)
def test_expected_results_agree_with_plain_python(name: str) -> None:
    """Independent programs give the results and counts of calls, even of runs that would take too long here."""
    for row in load(name).EXPECTED:
        _, *arguments = row["run"]
        assert PLAIN[name](*arguments) == (row["result"], sum(row["calls"].values())), row["run"]


@pytest.mark.parametrize("name", FILES)
def test_every_file_has_a_docstring_and_expectations(name: str) -> None:
    """Each file has a docstring with its claim, one function or `main`, and rows of one shape, one of them quick."""
    module = load(name)
    assert module.__doc__ and "arXiv 2410.20225" in module.__doc__
    functions = [value for value in vars(module).values() if isinstance(value, tl.Function)]
    assert len(functions) == 1 or "main" in vars(module)
    assert any(row["size"] == "quick" for row in module.EXPECTED)
    for row in module.EXPECTED:
        assert {"run", "result", "size"} <= set(row) <= KEYS
        assert row["size"] in SIZES
        assert "calls" in row or "max_firings" in row


def test_the_readme_names_every_file() -> None:
    """The table has a row for every program."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in FILES if f"({name}.py)" not in readme] == []


@pytest.mark.full(first=4)
@pytest.mark.parametrize("name", FILES)
def test_the_command_line_runs_it(name: str) -> None:
    """`tagloom run FILE ARGS` exits with 0 if the program returns, and with 1 otherwise."""
    module = load(name)
    row = next(row for row in module.EXPECTED if row["run"][0] == "main" or "main" not in vars(module))
    _, *arguments = row["run"]
    leaves = [leaf for each in arguments for leaf in (each if isinstance(each, tuple) else (each,))]
    literals = [str(np.asarray(leaf).tolist()) for leaf in leaves]
    command = [sys.executable, "-m", "tagloom", "run", str(FOLDER / f"{name}.py"), *literals]
    command += ["--until", row.get("until", "quiet"), "--max-firings", str(row.get("max_firings", 1_000_000))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == ("status" in row), done.stderr
    if isinstance(row["result"], int) and "status" not in row:
        assert done.stdout.strip() == str(row["result"])
