"""The exercises of `tagloom examples`: each wrong solution is refused, and its first mistake is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tagloom.tui.cli.examples import example_programs
from tagloom.tui.cli.solution import read_hints

HEAD = "import tagloom as tl\n\n@tl.function\ndef "
"""The beginning of a program, up to the name of its first function."""


class WrongSolution(NamedTuple):
    """An edit of the solution of an exercise, and lines of the report that name the mistake."""

    exercise: str
    text: str
    replacement: str
    report: tuple[str, ...]


WRONG_SOLUTIONS = [
    WrongSolution("factorial", "return 1 if", "return n if", ("factorial(0) is wrong", "expected: 1", "got: 0")),
    WrongSolution(
        "factorial",
        "n <= 1",
        "n > 100",
        ("factorial(0) is wrong", "got: no result", "your program: factorial(-1), no result", "the solution: none"),
    ),
    WrongSolution(
        "factorial",
        "n * factorial(n - 1)",
        "(n - 1) * factorial(n - 1)",
        ("factorial(2) is wrong, and every call that it makes is right", "expected: 2", "got: 1"),
    ),
    WrongSolution(
        "power",
        "half * half * x",
        "half * half",
        ("power(0, 1) is wrong, and every call that it makes is right", "expected: 0", "got: 1"),
    ),
    WrongSolution(
        "power",
        "power(x, n // 2)",
        "power(x, n - n // 2)",
        ("power(0, 1) is wrong", "your program: power(0, 1), no result", "the solution: power(0, 0) = 1"),
    ),
    WrongSolution("power", "return 1\n", "return x\n", ("power(0, 0) is wrong", "expected: 1", "got: 0")),
    WrongSolution("choose", "return 0\n", "return 2\n", ("choose(0, 1) is wrong", "expected: 0")),
    WrongSolution(
        "choose",
        "+ choose(n - 1, k)",
        "* choose(n - 1, k)",
        (
            "choose(1, 1) is wrong, and every call that it makes is right",
            "your program: choose(0, 0) = 1, choose(0, 1) = 0",
        ),
    ),
    WrongSolution(
        "choose",
        "choose(n - 1, k - 1) +",
        "choose(n - 1, k - 2) +",
        ("choose(1, 1) is wrong", "your program: choose(0, -1) = 0", "the solution: choose(0, 0) = 1"),
    ),
    WrongSolution(
        "divisor",
        "abs(x), abs(y)",
        "abs(x), y",
        ("main(0, -1) is wrong", "iteration 1", "your program: a = -1, b = 0", "the solution: a = 1, b = 0"),
    ),
    WrongSolution(
        "divisor",
        "a % b",
        "a // b",
        (
            "main(1, 1) is wrong",
            "iteration 1",
            "your program: goes on with a = 1, b = 1",
            "the solution: ends with a = 1, b = 0",
        ),
    ),
    WrongSolution(
        "divisor",
        "b != 0",
        "b > 1",
        ("main(0, 1) is wrong", "iteration 0", "your program: ends with a = 0, b = 1"),
    ),
    WrongSolution(
        "primes",
        "range(2, p)",
        "range(2, p + 1)",
        (
            "main(2) is wrong",
            "iteration 0",
            "your program: goes on with divisors = 0, d = 2",
            "the solution: ends with divisors = 0, d = 2",
        ),
    ),
    WrongSolution(
        "primes",
        "range(2, n + 1)",
        "range(2, n)",
        ("main(2) is wrong", "your program: ends with count = 0, p = 2", "the solution: goes on with count = 0, p = 2"),
    ),
    WrongSolution(
        "primes",
        "divisors == 0",
        "divisors <= 1",
        ("main(5) is wrong", "iteration 3", "your program: count = 3, p = 5", "the solution: count = 2, p = 5"),
    ),
    WrongSolution(
        "prefix_sums",
        "range(1, size + 1)",
        "range(1, size)",
        ("main(uint8(1)) is wrong", "got: Deadlocked", "nothing fills sums[1]", "reads sums[1] under main"),
    ),
    WrongSolution(
        "prefix_sums",
        "i * i)",
        "2 * i)",
        ("main(uint8(1)) is wrong", "sums[1], of the cells", "your program: 2", "the solution: 1"),
    ),
    WrongSolution(
        "prefix_sums",
        "sums[i - 1]",
        "sums[i]",
        ("got: Deadlocked", "sums[1] waits for itself", "reads sums[1] under main/loop[0], to fill sums[1]"),
    ),
    WrongSolution(
        "paths",
        "1 if k == 0",
        "2 if k == 0",
        ("main(uint8(0), uint8(0)) is wrong", "ways[0], of the cells", "your program: 2", "the solution: 1"),
    ),
    WrongSolution(
        "paths",
        "0 if column == 0",
        "1 if column == 0",
        ("main(uint8(1), uint8(0)) is wrong", "ways[1], of the cells", "your program: 2", "the solution: 1"),
    ),
    WrongSolution(
        "paths",
        "ways[k - width]",
        "ways[k - width + 1]",
        ("main(uint8(1), uint8(0)) is wrong", "got: Deadlocked", "ways[1] waits for itself"),
    ),
    WrongSolution(
        "descent",
        "w - 0.1",
        "w + 0.1",
        ("main(0.0) is wrong, and every call that it makes is right", "iteration 1", "main.add"),
    ),
    WrongSolution(
        "descent", "w - 3.0", "w - 2.0", ("loss_split(0.0; 1.0) is wrong", "expected: 9.0; -6.0", "literal 2.0")
    ),
    WrongSolution(
        "descent",
        "i < 5",
        "i <= 5",
        ("main(0.0) is wrong", "iteration 5", "your program: goes on with", "the solution: ends with"),
    ),
    WrongSolution(
        "window",
        "return j - 1",
        "return j - 2",
        ("got: Deadlocked", "nothing fills powers[0]", "port 1 got the literal 2 in your program"),
    ),
    WrongSolution(
        "window",
        "2 * powers[j + 1]",
        "2 + powers[j + 1]",
        ("main(uint8(1)) is wrong", "powers[0], of the cells", "your program: 3", "the solution: 2"),
    ),
    WrongSolution(
        "window",
        "return j - 1",
        "return j - 1 + 2 * powers[0] * 0",
        ("got: Deadlocked", "nothing fills powers[0]", "mine.py:16 reads powers[0] under main/loop[0], too"),
    ),
    WrongSolution(
        "tree_sum",
        "total(middle, high)",
        "total(middle + 1, high)",
        ("total(1, 3) is wrong", "your program: total(1, 2) = 1, total(3, 3) = 0"),
    ),
    WrongSolution(
        "tree_sum",
        "middle = (low + high) // 2",
        "middle = low + 1",
        ("the critical path is too long", "required: at most 2 times", "its calls: main("),
    ),
    WrongSolution(
        "tree_sum",
        "low if low < high",
        "high if low < high",
        ("total(1, 2) is wrong", "expected: 1", "got: 2"),
    ),
]


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("wrong", WRONG_SOLUTIONS, ids=lambda wrong: f"{wrong.exercise}: {wrong.replacement}")
def test_the_first_mistake_of_a_wrong_solution_is_named(tagloom: Any, folder: Path, wrong: WrongSolution) -> None:
    """`check --against` reports the innermost wrong call, and the iteration, cell or node inside of it."""
    solution = example_programs()[f"{wrong.exercise}_right.py"]
    assert solution.count(wrong.text) == 1
    (folder / "right.py").write_text(solution)
    (folder / "mine.py").write_text(solution.replace(wrong.text, wrong.replacement))
    ran = tagloom("check", "mine.py", "--against", "right.py", "--span", "2", "--max-firings", "3000")
    assert ran.code == 1
    for text in wrong.report:
        assert text in ran.err, ran.err


def test_an_exercise_and_its_solution(tagloom: Any, folder: Path) -> None:
    """There are ten, each with a solution that has hints; the program to mend is refused."""
    programs = example_programs()
    exercises = sorted({wrong.exercise for wrong in WRONG_SOLUTIONS})
    numbers = [int(programs[f"{name}.py"].removeprefix('"""Exercise ').partition(",")[0]) for name in exercises]
    assert sorted(numbers) == list(range(1, 11))
    kinds = [programs[f"{name}.py"].partition(":")[0].rpartition(", ")[2] for name in exercises]
    counts = {kind: kinds.count(kind) for kind in kinds}
    assert counts == {"recursion": 3, "loops": 2, "cells": 2, "a gradient": 1, "scheduling": 2}
    assert all(sum(wrong.exercise == name for wrong in WRONG_SOLUTIONS) == 3 for name in exercises)
    tagloom("examples", "--copy", "lessons")
    assert all(len(read_hints(folder / "lessons" / f"{name}_right.py")) == 3 for name in exercises)


@pytest.mark.full
@pytest.mark.parametrize("name", sorted({wrong.exercise for wrong in WRONG_SOLUTIONS}))
def test_the_program_to_mend_is_wrong(tagloom: Any, folder: Path, name: str) -> None:
    """`check --against` refuses it, and names the number of hints."""
    tagloom("examples", "--copy", "lessons")
    words = ("check", f"lessons/{name}.py", "--against", f"lessons/{name}_right.py", "--span", "2")
    ran = tagloom(*words, "--max-firings", "3000")
    assert ran.code == 1 and ran.err.endswith("3 hints: --hint 1\n")
    assert "differs   " in ran.out or "slow      " in ran.out


@pytest.mark.full
def test_hints_are_printed_one_at_a_time(tagloom: Any, folder: Path) -> None:
    """`--hint N` prints the N-th hint below the report; a number without a hint is refused."""
    tagloom("examples", "--copy", "lessons")
    words = ("check", "lessons/factorial.py", "--against", "lessons/factorial_right.py", "--hint")
    assert tagloom(*words, "2").err.endswith(
        "\nhint 2 of 3: The product of no numbers is 1. What does factorial(0) give?\n"
    )
    ran = tagloom(*words, "4")
    assert ran.code == 2 and "required: 1 to 3\n  got: 4" in ran.err
    assert tagloom("check", "lessons/fib.py", "3", "--hint", "1").code == 2


@pytest.mark.full
def test_correct_code_that_is_written_differently_is_not_blamed(tagloom: Any, folder: Path) -> None:
    """A wrong loop bound is reported, and not a condition that computes the same in another way."""
    text = """import tagloom as tl

@tl.function
def main(n: tl.int64) -> tl.int64:
    i, s = tl.while_loop(lambda i, s: BOUND, lambda i, s: (i + 1, s + i), 0, 0)
    return tl.cond(EMPTY, lambda: 0, lambda: s)
"""
    (folder / "mine.py").write_text(text.replace("BOUND", "i < n - 1").replace("EMPTY", "n == 0"))
    (folder / "right.py").write_text(text.replace("BOUND", "i < n").replace("EMPTY", "n <= 0"))
    ran = tagloom("check", "mine.py", "--against", "right.py")
    assert ran.code == 1 and ran.err.splitlines()[4:] == [
        "main(2) is wrong (mine.py:3)",
        "  expected: 1",
        "  got: 0",
        "  the loop at mine.py:5, iteration 1",
        "    your program: ends with i = 1, s = 0",
        "    the solution: goes on with i = 1, s = 0",
    ]


@pytest.mark.full
def test_a_call_that_the_solution_does_not_make(tagloom: Any, folder: Path) -> None:
    """The solution runs a function alone on arguments that its own run does not have, and helpers that only the checked
    program has count as part of their callers."""
    square = "square(x: tl.int64) -> tl.int64:\n    return x * x{}\n\n@tl.function\ndef "
    main = "main(n: tl.int64) -> tl.int64:\n    return "
    twice = "twice(x: tl.int64) -> tl.int64:\n    return square(x + 1) + square(x + 1)\n\n@tl.function\ndef "
    (folder / "right.py").write_text(f"{HEAD}{square.format('')}{main}2 * square(n)\n")
    (folder / "mine.py").write_text(f"{HEAD}{square.format(' + 1')}{twice}{main}twice(n - 1)\n")
    ran = tagloom("check", "mine.py", "3", "--against", "right.py")
    assert ran.code == 1 and "\nsquare(3) is wrong (mine.py:3)\n  expected: 9\n  got: 10\n" in ran.err
    (folder / "mine.py").write_text(f"{HEAD}{square.format('')}{twice}{main}twice(n)\n")
    ran = tagloom("check", "mine.py", "3", "--against", "right.py")
    head_line = "main(3) is wrong, and every call that it shares with the solution is right (mine.py:11)"
    assert ran.code == 1 and head_line in ran.err.splitlines()


def test_a_helper_with_swapped_parameters_is_not_blamed(tagloom: Any, folder: Path) -> None:
    """A function of the same name whose parameters have another order is not the function of the solution."""
    main = "\n@tl.function\ndef main(n: tl.int64) -> tl.int64:\n    return less({}) + {}\n"
    (folder / "right.py").write_text(
        f"{HEAD}less(x: tl.int64, y: tl.int64) -> tl.int64:\n    return x - y\n{main.format('n, 1', 2)}"
    )
    (folder / "mine.py").write_text(
        f"{HEAD}less(y: tl.int64, x: tl.int64) -> tl.int64:\n    return x - y\n{main.format('1, n', 3)}"
    )
    ran = tagloom("check", "mine.py", "5", "--against", "right.py")
    assert ran.code == 1 and "\nmain(5) is wrong" in ran.err and "less(1, 5) is wrong" not in ran.err


@pytest.mark.full
def test_a_read_of_wrong_cells_is_not_blamed(tagloom: Any, folder: Path) -> None:
    """A function that takes cells is part of its callers: what is in the cells is not its fault."""
    text = """read(a, i: tl.int64) -> tl.int64:
    return a[i]

@tl.function
def main(n: tl.int64) -> tl.int64:
    a = tl.cells(2, tl.int64)
    tl.put(a, 0, n)
    tl.put(a, 1, n + 1)
    return read(a, 0) + read(a, 1)
"""
    (folder / "right.py").write_text(HEAD + text)
    (folder / "mine.py").write_text(HEAD + text.replace("n + 1", "n + 2"))
    ran = tagloom("check", "mine.py", "5", "--against", "right.py")
    assert ran.code == 1 and "\nmain(5) is wrong" in ran.err and "read(" not in ran.err.splitlines()[4]
    assert "  a[1], of the cells made at mine.py:9\n    your program: 7\n    the solution: 6" in ran.err


@pytest.mark.full
def test_a_call_that_fills_cells_wrongly_is_blamed(tagloom: Any, folder: Path) -> None:
    """Cells that a call returns are compared by what the call stored in them."""
    text = """squares(n: tl.int64):
    a = tl.cells(2, tl.int64)
    tl.put(a, 0, n * n)
    return a

@tl.function
def main(n: tl.int64) -> tl.int64:
    a = squares(n)
    tl.put(a, 1, n)
    return a[0] + a[1]
"""
    (folder / "right.py").write_text(HEAD + text)
    (folder / "mine.py").write_text(HEAD + text.replace("n * n", "n + n"))
    ran = tagloom("check", "mine.py", "5", "--against", "right.py")
    assert ran.code == 1 and "\nsquares(5) is wrong" in ran.err
    (folder / "mine.py").write_text(HEAD + text.replace("a, 1, n", "a, 1, -n"))
    ran = tagloom("check", "mine.py", "5", "--against", "right.py")
    assert ran.code == 1 and "\nmain(5) is wrong, and every call that it makes is right" in ran.err


@pytest.mark.full
def test_an_endless_loop_is_compared_with_the_loop_of_the_solution(tagloom: Any, folder: Path) -> None:
    """The first iteration that the solution does not make."""
    text = f"{HEAD}main(n: tl.int64) -> tl.int64:\n    return tl.while_loop(lambda i, s: i BOUND n, "
    text += "lambda i, s: (i + 1, s + i), 0, 0)[1]\n"
    (folder / "right.py").write_text(text.replace("BOUND", "<"))
    (folder / "mine.py").write_text(text.replace("BOUND", "!=").replace("i + 1", "i + 2"))
    ran = tagloom("check", "mine.py", "3", "--against", "right.py", "--max-firings", "500")
    assert ran.code == 1 and "main(3) is wrong" in ran.err
    assert "iteration 2\n    your program: i = 4, s = 2\n    the solution: i = 2, s = 1" in ran.err


@pytest.mark.full
def test_endless_recursion_away_from_the_solution(tagloom: Any, folder: Path) -> None:
    """Where no call on the chain reaches the base of the solution, the first that makes another call is reported."""
    text = f"{HEAD}down(n: tl.int64) -> tl.int64:\n"
    text += "    return tl.cond(n <= 0, lambda: 0, lambda: down(n - 1) + 1)\n"
    (folder / "right.py").write_text(text)
    (folder / "mine.py").write_text(text.replace("n - 1", "n + 1"))
    ran = tagloom("check", "mine.py", "3", "--against", "right.py", "--max-firings", "500")
    assert ran.code == 1 and "\ndown(3) is wrong" in ran.err
    assert "    your program: down(4), no result\n    the solution: down(2) = 2\n" in ran.err


@pytest.mark.full
def test_a_trap_is_the_fault_of_the_call_that_the_solution_answers(tagloom: Any, folder: Path) -> None:
    """The innermost call without a result for which the solution has one."""
    text = """part(n: tl.int64) -> tl.int64:
    return tl.cond(n == 0, lambda: 0, lambda: 10 // n)

@tl.function
def main(n: tl.int64) -> tl.int64:
    return part(n) + part(n - 1)
"""
    (folder / "right.py").write_text(HEAD + text)
    (folder / "mine.py").write_text(HEAD + text.replace("n == 0", "n < 0"))
    ran = tagloom("check", "mine.py", "1", "--against", "right.py")
    assert ran.code == 1 and "\npart(0) is wrong" in ran.err
    assert "  expected: 0\n  got: it traps: integer division by zero" in ran.err
