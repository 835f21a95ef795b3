"""The programs of papers_examples/roots do what their EXPECTED, their docstrings and the tables of the README say."""

from __future__ import annotations

import functools
import itertools
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from support.programs.papers import EXAMPLES, of_paper
from tagloom.tui.cli import main as cli

FOLDER = EXAMPLES / "roots"
load = functools.partial(of_paper, "roots")
FILES = sorted(path.stem for path in FOLDER.glob("*.py"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")
SCHEDULES = ("fifo", "lifo", "random:1")
KEYS = {"run", "result", "calls", "size", "status", "k"}


def rows(*sizes: str) -> list[Any]:
    """The rows of these sizes in all files, with their marks, as parameters `name, row`."""
    return [
        pytest.param(name, row, marks=[pytest.mark.heavy] if row["size"] == "heavy" else [])
        for name in FILES
        for row in load(name).EXPECTED
        if row["size"] in sizes
    ]


def check(name: str, row: dict[str, Any], schedule: str) -> tl.Outcome:
    """Runs a row and compares all that it states."""
    function, *arguments = row["run"]
    out = getattr(load(name), function).run(*arguments, schedule=schedule, k=row.get("k"))
    assert (out.status, out.results[0]) == (row.get("status", "Returned"), row["result"])
    if "calls" in row:
        assert out.activations() == row["calls"]
    if out.status == "Returned":
        assert (out.residue, out.open_activations) == ((), 0)
    return out


@pytest.mark.inner(first=11)
@pytest.mark.parametrize(("name", "row"), rows("quick", "heavy"))
def test_results_are_as_expected(name: str, row: dict[str, Any]) -> None:
    """Result, status and calls are as expected, and a run that returned leaves no residue."""
    check(name, row, "waves")


@pytest.mark.inner(first=7)
@pytest.mark.parametrize(("name", "row"), rows("quick"))
def test_schedules_agree(name: str, row: dict[str, Any]) -> None:
    """Every schedule has the same ending and the same firings of each node, in a deadlock too, although cells are read
    early."""
    counts = {check(name, row, schedule).stats.by_node for schedule in ("waves", *SCHEDULES)}
    assert len(counts) == 1


def firings_by_op(out: tl.Outcome) -> Counter[str]:
    count: Counter[str] = Counter()
    for node, firings in zip(out.graph.nodes, out.stats.by_node, strict=True):
        count[node.op] += firings
    return count


def in_readme(*lines: str) -> bool:
    return all(f"\n{line}\n" in README for line in lines)


def first_rows(name: str) -> list[str]:
    """The rows of the tables that are quick."""
    module = load(name)
    tables: dict[str, Callable[[], list[str]]] = {
        "bounded_deadlock": lambda: module.table(),
        "inner_product": lambda: [*module.overlap_rows(10, 20), *module.bound_rows(100)],
        "wavefront": lambda: module.table(4, 8),
        "rondogiannis_wadge": list,
        "manchester_sum": lambda: module.table(16, 64, 256),
        "manchester_matmult": lambda: module.table(2, 4),
        "unfolding": lambda: module.table(5, 10, 15),
    }
    return tables[name]()


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("name", FILES)
def test_the_readme_has_the_first_rows(name: str) -> None:
    """The README has the first rows of each table."""
    assert in_readme(*first_rows(name))


@pytest.mark.heavy
@pytest.mark.parametrize("name", FILES)
def test_the_readme_has_the_tables(name: str) -> None:
    """The README has the tables that a file prints."""
    command = [sys.executable, str(FOLDER / f"{name}.py")]
    said = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    assert name == "rondogiannis_wadge" or in_readme(*filter(None, said.splitlines()))


@pytest.fixture
def tagloom(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`tagloom("run", "wavefront.py", "12")` is the command line, in this process: exit code, stdout and stderr."""

    def command(word: str, file: str, *words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main([word, str(FOLDER / file), *words])
        assert isinstance(ended.value.code, int)
        return ended.value.code, *capsys.readouterr()

    return command


@pytest.mark.parametrize("name", FILES)
def test_every_file_has_a_docstring(name: str) -> None:
    """Each file has a docstring with its source and its command, one function or `main`, and a quick row."""
    module = load(name)
    assert module.__doc__ and "Source: " in module.__doc__ and f"roots/{name}.py" in module.__doc__
    functions = [value for value in vars(module).values() if isinstance(value, tl.Function)]
    assert len(functions) == 1 or "main" in vars(module)
    assert any(row["size"] == "quick" for row in module.EXPECTED)
    assert all({"run", "result", "size"} <= set(row) <= KEYS for row in module.EXPECTED)
    assert f"({name}.py)" in README


def readme_runs() -> list[Any]:
    """The commands of the README's first table, with their results."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines()]
    runs = [(row[2].strip("`"), row[3]) for row in cells if len(row) == 4 and ".py" in row[2]]
    long = ("4749", "matmult.py 14", "unfolding.py 20")
    return [pytest.param(*run, marks=[pytest.mark.heavy] if run[0].endswith(long) else []) for run in runs]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(("run", "result"), readme_runs())
def test_the_readme_s_commands_print_its_results(tagloom: Any, run: str, result: str) -> None:
    """The command line prints the results of the README's first table, and `--stats` its measures."""
    code, stdout, stderr = tagloom("run", *run.split(), "--stats")
    assert stdout.splitlines()[0].split()[-1] == result, stderr
    assert code == (result == "Deadlocked") and "span  " in stdout


# bounded_deadlock


def test_the_readme_has_the_text_of_the_deadlock(tagloom: Any) -> None:
    """The README has the output of the command, which names the cells, the reads and the bound."""
    code, _, stderr = tagloom("run", "bounded_deadlock.py", "10", "--k", "5")
    assert code == 1 and f"```\n{stderr}```\n" in README
    for words in (
        "  nothing fills a[6]\n",
        "reads a[6] under main/loop[4], to fill a[5]",
        "main/loop[5] has not begun",
        "the bound of main.loop is 5",
    ):
        assert words in stderr


@pytest.mark.parametrize("n", [2, 3, 6, 12])
def test_it_deadlocks_exactly_below_n_minus_1(n: int) -> None:
    """The run takes 15 n + 5 firings, or 12 k + 8 if it deadlocks. Then k + 1 gets are deferred: those of the bound,
    and that of the result."""
    main = load("bounded_deadlock").main
    assert (main.run(n).value, main.run(n).firings) == (2 ** (n - 1), 15 * n + 5)
    for k in range(1, n + 2):
        out = main.run(n, k=k)
        if k >= n - 1:
            assert (out.value, out.firings) == (2 ** (n - 1), 15 * n + 5)
        else:
            empty = [waiting.blocked_on.number for waiting in out.residue if hasattr(waiting.blocked_on, "number")]
            assert (out.status, out.firings) == ("Deadlocked", 12 * k + 8)
            assert sorted(empty) == list(range(1, k + 2))


def test_a_run_can_replace_the_bound_of_a_loop() -> None:
    """`five` has its bound in the program, and an option of the run replaces it."""
    five = load("bounded_deadlock").five
    assert "parallel_iterations=5" in tl.print_program(five.program)
    assert [five.run(10).status, five.run(10, k=9).status] == ["Deadlocked", "Returned"]


# inner_product


def plain_inner_product(n: int) -> float:
    def exponential(x: float) -> float:
        total = 1.0
        for term in range(8, 0, -1):
            total = 1.0 + x * total / term
        return total

    total = 0.0
    for i in range(n):
        total += exponential(i / n) * exponential(-i / n)
    return total


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("n", [1, 2, 5, 10, 40])
def test_producers_and_consumer_overlap(n: int) -> None:
    """The span is 5 n + 36, and 10 n + 41 with a barrier; filling alone takes 5 n + 30. The work is 104 n + 61, and 9
    more with a barrier."""
    module = load("inner_product")
    both, apart, filling = (each.run(n, keep="events") for each in (module.main, module.phases, module.fill))
    assert both.value == apart.value == plain_inner_product(n)
    assert [out.stats.span for out in (both, apart, filling)] == [5 * n + 36, 10 * n + 41, 5 * n + 30]
    assert (both.firings, apart.firings) == (104 * n + 61, 104 * n + 70)
    assert (module.deferred_reads(both), module.deferred_reads(apart)) == (2 * n, 2)
    assert len(both.critical_path()) == both.time_on(math.inf) == both.stats.span


@pytest.mark.full
def test_larger_bounds_need_more_storage() -> None:
    """With a larger bound, the critical path is shorter and the store larger; from 7 on nothing changes."""
    main = load("inner_product").main
    stats = [main.run(60, k=k).stats for k in range(1, 9)]
    spans, stores = [each.span for each in stats], [each.largest_store for each in stats]
    assert len({each.firings for each in stats}) == 1
    assert spans == sorted(set(spans[:7]), reverse=True) + spans[6:7] and stores == sorted(stores)
    assert (spans[6], stores[6]) == (main.run(60).stats.span, main.run(60).stats.largest_store)


# wavefront


def plain_grid(n: int) -> int:
    line = [1] * n
    for _ in range(n - 1):
        line = list(itertools.accumulate(line))
    return line[-1]


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("n", [2, 3, 4, 7, 10])
def test_work_and_span_of_a_wavefront(n: int) -> None:
    """Work grows with n^2 and the critical path with n, in both directions, but not if one loop counts all elements."""
    module = load("wavefront")
    main, backward, flat = (each.run(n, keep="events") for each in (module.main, module.backward, module.flat))
    assert main.value == backward.value == flat.value == plain_grid(n) == math.comb(2 * n - 2, n - 1)
    assert main.firings == 44 * n * n + 12 * n + 29
    assert [out.stats.span for out in (main, backward, flat)] == [10 * n + 14, 20 * n - 8, 5 * n * n + 17]
    gets = 2 * (n - 1) ** 2 + 1
    assert [firings_by_op(out)["get"] for out in (main, backward, flat)] == [gets] * 3
    assert [module.deferred_reads(out) for out in (main, backward, flat)] == [1, gets, 1]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("n", [8, 12, 15])
def test_the_profile_is_a_triangle(n: int) -> None:
    """Sums over 5 waves rise by 44 from diagonal to diagonal, and fall by 44, except a few at the ends and the top."""
    profile = load("wavefront").main.run(n).stats.profile
    sums = [sum(profile[at : at + 5]) for at in range(8, len(profile) - 5, 5)]
    slopes = Counter(b - a for a, b in itertools.pairwise(sums))
    assert slopes[44] >= n - 6 and slopes[-44] >= n - 6
    top = sums.index(max(sums))
    assert sums[: top + 1] == sorted(sums[: top + 1]) and sums[top:] == sorted(sums[top:], reverse=True)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("n", [2, 4, 6])
def test_backward_needs_a_bound_of_n(n: int) -> None:
    """With a smaller bound, the rows whose values are known never begin."""
    backward = load("wavefront").backward
    ends = [backward.run(n, k=k).status for k in range(1, n + 2)]
    assert ends == ["Deadlocked"] * (n - 1) + ["Returned"] * 2


@pytest.mark.full
def test_the_readme_has_the_profile(tagloom: Any) -> None:
    """The picture is the output of `--stats`."""
    _, stdout, _ = tagloom("run", "wavefront.py", "12", "--stats")
    assert f"```\n{stdout[stdout.index('firings in each wave') :]}```\n" in README


# rondogiannis_wadge


def test_tags_are_contexts() -> None:
    """The values that the equations leave in the warehouse are those that the run sent, with tags as contexts: 18
    firings, 10 waves."""
    module = load("rondogiannis_wadge")
    out = module.main.run(4, 5, keep="events")
    assert (out.firings, out.stats.span) == (18, 10)
    assert module.the_result() == out.value == 11
    numbers = {"f": 0, "f_1": 1, "g": 0}
    for variable in ("x", "y"):
        sent = {
            tuple(numbers[step] for step in reversed(str(tag).split("/")[1:])): value
            for tag, value in out.values(variable).items()
        }
        kept = {context: value for (name, context), value in module.WAREHOUSE.items() if name == f"the_{variable}"}
        assert sent == kept
        lines = [line.split() for line in module.__doc__.splitlines()]
        for tag, value in out.values(variable).items():
            assert any(str(tag) in line and line[-1] == str(value) for line in lines)


# manchester_sum, manchester_matmult


@pytest.mark.parametrize("n", [1, 2, 3, 31, 64, 100])
def test_firings_of_the_double_recursion(n: int) -> None:
    """The sum takes 26 n - 11 firings, 10 for a number and 16 for a pair; 6 of each are merges and switches; 6 n - 3
    duplicate a value."""
    module = load("manchester_sum")
    out = module.main.run(n, keep="events")
    ops = firings_by_op(out)
    assert out.value == n * (n + 1) // 2
    assert (out.firings, ops["merge"], ops["switch"]) == (26 * n - 11, 6 * n - 1, 6 * n - 3)
    assert module.duplicates(out) == 6 * n - 3


@pytest.mark.full
def test_the_critical_path_of_the_sum() -> None:
    """The span is 9 d + 8 for 2^d numbers, and for numbers between powers at most that of the next one."""
    main = load("manchester_sum").main
    spans = [0, *(main.run(n).stats.span for n in range(1, 65))]
    assert [spans[2**d] for d in range(7)] == [9 * d + 8 for d in range(7)]
    assert all(spans[2**d] < spans[n] <= spans[2 ** (d + 1)] for d in range(6) for n in range(2**d + 1, 2 ** (d + 1)))


def test_the_sizes_nearest_to_the_published_work() -> None:
    """The work of 4,749 numbers and of 14 x 14 matrices is nearest to the published one."""
    sum_, product = load("manchester_sum").PUBLISHED["work"], load("manchester_matmult").PUBLISHED["work"]
    assert min(range(1, 10_000), key=lambda n: abs(26 * n - 11 - sum_)) == 4749
    assert min(range(1, 100), key=lambda n: abs(matmult_firings(n) - product)) == 14
    assert round(123_472 / 247, 1) == 499.9 and round(100_288 / 425, 1) == 236.0


def matmult_firings(n: int) -> int:
    return 31 * n**3 + 88 * n**2 + 98 * n + 59


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_work_and_span_of_the_product_of_matrices(n: int) -> None:
    """The work is cubic in n, and the span is linear: 15 n + 10."""
    out = load("manchester_matmult").main.run(n)
    assert out.value == sum((n - 1 + k) * (k - (n - 1)) for k in range(n))
    assert (out.firings, out.stats.span) == (matmult_firings(n), 15 * n + 10)


# unfolding


@pytest.mark.parametrize("n", range(2, 13))
def test_sizes_of_the_unfolded_graph(n: int) -> None:
    """The graph has 14 nodes. Its 2 fib(n) - 1 copies have 24 fib(n) - 12 nodes, of which 18 fib(n) - 11 fire."""
    module = load("unfolding")
    out = module.fib.run(n)
    calls = 2 * out.value - 1
    assert out.activations() == {"fib": calls}
    assert (len(out.graph.nodes), module.body_sizes(out.graph)) == (14, {"fib": 12})
    assert (module.unfolded_size(out), out.firings) == (24 * out.value - 12, 18 * out.value - 11)


def test_s4_no_node_of_a_copy_fires_twice() -> None:
    """S4: each firing of a run is another node of its copies."""
    out = load("unfolding").fib.run(8, keep="events")
    fired = [(event.token.node, event.token.tag) for event in out.events if event.is_firing]
    assert len(fired) == len(set(fired)) == out.firings
