"""`tagloom examples`, and `tagloom check --against`, for courses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from tagloom.tui.cli import solution
from tagloom.tui.cli.examples import PAGE_ARGUMENTS, example_programs
from tagloom.tui.cli.solution import DEFAULT_FIRINGS, MAX_ARGUMENT_LISTS, TOLERANCES, small_arguments
from tagloom.tui.load import find_program

ARGUMENTS = {
    "sums.py": (("2", "3"), "10"),
    "distance.py": (("2", "5"), "3"),
    "fib.py": (("5",), "8"),
    "squares.py": (("4",), "30"),
    "chain.py": (("6",), "32"),
    "factorial.py": (("5",), "120"),
    "factorial_right.py": (("0",), "1"),
    "power.py": (("2", "0"), "1"),
    "power_right.py": (("2", "5"), "32"),
    "choose.py": (("5", "0"), "1"),
    "choose_right.py": (("5", "2"), "10"),
    "divisor.py": (("4", "0"), "4"),
    "divisor_right.py": (("12", "18"), "6"),
    "primes.py": (("1",), "0"),
    "primes_right.py": (("20",), "8"),
    "prefix_sums.py": (("0",), "[0]"),
    "prefix_sums_right.py": (("3",), "[0, 1, 5, 14]"),
    "paths.py": (("0", "0"), "2"),
    "paths_right.py": (("2", "2"), "6"),
    "descent.py": (("3",), "3.0"),
    "descent_right.py": (("0",), "2.01696"),
    "window.py": (("2",), "4"),
    "window_right.py": (("10",), "1024"),
    "tree_sum.py": (("1",), "36"),
    "tree_sum_right.py": (("2",), "136"),
}


@pytest.mark.full
def test_examples_are_listed_and_copied(tagloom: Any, folder: Path) -> None:
    """Each example has a line of description; a copy runs, with its stated results."""
    listed = tagloom("examples")
    assert listed.code == 0 and [line.split()[0] for line in listed.out.splitlines()] == sorted(example_programs())
    assert max(map(len, listed.out.splitlines())) <= 120
    assert tagloom("examples", "--copy", "lessons").code == 0
    assert example_programs().keys() == ARGUMENTS.keys()
    for name, (words, value) in ARGUMENTS.items():
        assert tagloom("run", f"lessons/{name}", *words) == (0, f"{value}\n", "")


@pytest.mark.full
def test_copying_again_keeps_edited_files(tagloom: Any, folder: Path) -> None:
    """A second copy keeps edited files, lists them, and copies the others."""
    assert tagloom("examples", "--copy", "lessons").code == 0
    assert tagloom("examples", "--copy", "lessons").code == 0
    (folder / "lessons" / "fib.py").write_text("mine")
    (folder / "lessons" / "sums.py").unlink()
    again = tagloom("examples", "--copy", "lessons")
    assert again.code == 1 and again.err.endswith("contents differ: lessons/fib.py\n")
    assert (folder / "lessons" / "fib.py").read_text() == "mine"
    assert (folder / "lessons" / "sums.py").read_text() == example_programs()["sums.py"]


@pytest.mark.full
def test_copies_stay_in_the_folder(tagloom: Any, folder: Path) -> None:
    """Copying follows no link out of the folder; a folder, or a file in place of the folder, is reported."""
    (folder / "lessons").mkdir()
    (folder / "lessons" / "fib.py").symlink_to(folder / "elsewhere.py")
    (folder / "lessons" / "chain.py").mkdir()
    ran = tagloom("examples", "--copy", "lessons")
    assert ran.code == 1 and ran.err.endswith("contents differ: lessons/chain.py, lessons/fib.py\n")
    assert not (folder / "elsewhere.py").exists()
    (folder / "file").write_text("")
    ran = tagloom("examples", "--copy", "file")
    assert ran.code == 2 and "got: file\n" in ran.err


@pytest.mark.full
def test_exercises_are_pages(tagloom: Any, folder: Path) -> None:
    """One command writes ten pages, beside their programs and solutions, and an index that links them. Pages compute in
    the browser, except those of programs with arrays; each shows its program, and loads nothing."""
    ran = tagloom("examples", "--pages", "pages")
    names = [f"{name}.html" for name in PAGE_ARGUMENTS]
    assert ran.code == 0 and ran.err == ""
    assert [line for line in ran.out.splitlines() if line.endswith(".html")] == [
        f"pages/{name}" for name in (*names, "index.html")
    ]
    assert len(names) == 10 and {f"{name}_right.py" for name in PAGE_ARGUMENTS} == {
        name for name in example_programs() if name.endswith("_right.py")
    }
    index = (folder / "pages" / "index.html").read_text()
    assert [name for name in names if f'<a href="{name}">' in index] == names
    texts = {name: (folder / "pages" / name).read_text() for name in names}
    assert [name for name, text in texts.items() if "class Machine" not in text] == ["prefix_sums.html"]
    assert all("@tl.function" in text for text in texts.values())
    assert all(f"tagloom check {name[:-5]}.py --against {name[:-5]}_right.py</p>" in texts[name] for name in names)
    assert tagloom("examples", "--pages", "pages") == ran
    (folder / "pages" / "index.html").write_text("mine")
    again = tagloom("examples", "--pages", "pages")
    assert again.code == 1 and again.err == "not overwritten, because the contents differ: pages/index.html\n"
    assert (folder / "pages" / "index.html").read_text() == "mine"
    assert all("http" not in text.replace("http-equiv", "").replace("http://www.w3.org", "") for text in texts.values())


def test_pages_run_only_the_exercises(tagloom: Any, folder: Path) -> None:
    """A program of the same name is neither run nor overwritten, and then no page is written."""
    (folder / "paths.py").write_text("raise SystemExit('mine is run')\n")
    ran = tagloom("examples", "--pages", ".")
    assert ran.code == 1 and ran.err == "not overwritten, because the contents differ: paths.py\n"
    assert not list(folder.glob("*.html")) and (folder / "paths_right.py").exists()


@pytest.mark.full
def test_an_exercise_that_is_wrong(tagloom: Any, folder: Path) -> None:
    """The report has the first arguments on which it differs, what was required, and the innermost wrong call."""
    tagloom("examples", "--copy", "lessons")
    ran = tagloom("check", "lessons/power.py", "--against", "lessons/power_right.py")
    assert ran.code == 1 and ran.out == "agrees    power(0, 0) 1\ndiffers   power(0, 1) the solution: 0\n"
    assert "required: 0\n  got: 1" in ran.err
    assert "power(0, 1) is wrong, and every call that it makes is right (power.py:6)" in ran.err.splitlines()


@pytest.mark.full
def test_an_exercise_that_is_right(tagloom: Any, folder: Path) -> None:
    """Any program with the same counts is right."""
    tagloom("examples", "--copy", "lessons")
    (folder / "mine.py").write_text(
        "import tagloom as tl\n\n@tl.function\ndef far(a: tl.int64, b: tl.int64) -> tl.int64:\n    return abs(a - b)\n"
    )
    ran = tagloom("check", "mine.py", "--against", "lessons/distance.py")
    assert ran.code == 0 and ran.out.splitlines()[-1] == f"{MAX_ARGUMENT_LISTS} runs agree" and ran.err == ""
    assert (
        tagloom("check", "mine.py", "7", "3", "--against", "lessons/distance.py").out
        == "agrees    main(7, 3) 4\n1 run agrees\n"
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("tl.print('n is', n)\n    return n", "they print different numbers of lines"),
        ("tl.print('m is', n)\n    tl.print('end', n)\n    return n", "printed line 1 differs"),
        ("return 7 // n", "the runs end differently"),
    ],
)
def test_prints_and_endings_count(tagloom: Any, folder: Path, body: str, message: str) -> None:
    """Prints, and how a run ends, count too."""
    head = "import tagloom as tl\n\n@tl.function\ndef main(n: tl.int64) -> tl.int64:\n    "
    (folder / "right.py").write_text(f"{head}tl.print('n is', n)\n    tl.print('end', n)\n    return n\n")
    (folder / "mine.py").write_text(f"{head}{body}\n")
    ran = tagloom("check", "mine.py", "0", "--against", "right.py")
    assert ran.code == 1 and ran.err.startswith(message)


@pytest.mark.full
def test_files_are_loaded_once(tagloom: Any, folder: Path) -> None:
    """Files are loaded once for all runs. Their Python's prints go to stderr, and stdout has a line for each run."""
    body = "\n\n@tl.function\ndef main(n: tl.int64) -> tl.int64:\n    print('traced')\n    return n + 1\n"
    for name in ("mine", "right"):
        (folder / f"{name}.py").write_text(f"import tagloom as tl\n\nprint('{name} is loaded'){body}")
    ran = tagloom("check", "mine.py", "--against", "right.py")
    assert ran.code == 0 and len(ran.out.splitlines()) == 8
    assert "loaded" not in ran.out and "traced" not in ran.out
    assert [ran.err.count(f"{name} is loaded") for name in ("mine", "right")] == [1, 1]


@pytest.mark.full
def test_equal_calls_of_a_function_that_draws_may_differ(tagloom: Any, folder: Path) -> None:
    """Two calls with equal arguments may return different numbers if their function draws them: neither is wrong."""
    head = (
        "import tagloom as tl\n\n@tl.function\ndef throw(sides: tl.int64) -> tl.int64:\n"
        "    return tl.integers(1, sides)\n\n@tl.function\ndef main(sides: tl.int64) -> tl.int64:\n    return "
    )
    (folder / "right.py").write_text(f"{head}2 * throw(sides) + throw(sides)\n")
    (folder / "mine.py").write_text(f"{head}2 * throw(sides) - throw(sides)\n")
    throws = tagloom("run", "right.py", "10000"), tagloom("run", "mine.py", "10000")
    total, difference = (int(ran.out) for ran in throws)
    assert (total + difference) // 4 != (total - difference) // 2, "the two throws are equal"
    ran = tagloom("check", "mine.py", "10000", "--against", "right.py")
    assert ran.code == 1 and "\nmain(10000) is wrong, and every call that it makes is right" in ran.err, ran


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_floats_may_differ_by_rounding(tagloom: Any, folder: Path, dtype: str) -> None:
    """Floats may differ by rounding, as results and in prints; larger differences, and other types, count."""
    head = f"import tagloom as tl\n\n@tl.function\ndef main(x: tl.{dtype}) -> tl.{dtype}:\n    "
    (folder / "right.py").write_text(f"{head}cube = x**3 / 3\n    tl.print('x is', cube)\n    return cube\n")
    (folder / "mine.py").write_text(f"{head}cube = x / 3 * x * x\n    tl.print('x is', cube)\n    return cube\n")
    ran = tagloom("check", "mine.py", "0.7", "--against", "right.py")
    assert ran.code == 0 and ran.out.endswith("\n1 run agrees\n"), ran
    for off, code in (("1e-12" if dtype == "float64" else "1e-7", 0), ("1e-3", 1)):
        (folder / "mine.py").write_text(f"{head}cube = x**3 / 3 + {off}\n    tl.print('x is', cube)\n    return cube\n")
        assert tagloom("check", "mine.py", "0.7", "--against", "right.py").code == code, off


@pytest.mark.full
def test_a_solution_that_does_not_end_decides_nothing(tagloom: Any, folder: Path) -> None:
    """A run in which the solution does not end is listed and does not count as agreeing; if all are so, the check
    fails."""
    tagloom("examples", "--copy", "lessons")
    source = (folder / "lessons" / "squares.py").read_text()
    (folder / "endless.py").write_text(source.replace("n + 1", "n + 2**62"))
    ran = tagloom("check", "lessons/squares.py", "3", "--against", "endless.py", "--max-firings", "500")
    text = "undecided main(3): the solution did not end within 500 firings"
    assert ran.code == 1 and ran.out == f"{text}\nno run could be compared\n"
    (folder / "sometimes.py").write_text(source.replace("n + 1", "n + 1 if n != 3 else 2**62"))
    ran = tagloom("check", "lessons/squares.py", "--against", "sometimes.py", "--max-firings", "500")
    assert ran.code == 0 and text in ran.out.splitlines() and ran.out.endswith("\n6 runs agree\n")
    ran = tagloom("check", "endless.py", "3", "--against", "lessons/squares.py", "--max-firings", "500")
    assert ran.code == 1 and "got: Exhausted: it did not end within 500 firings" in ran.err


@pytest.mark.full
def test_the_limit_can_be_raised(tagloom: Any, folder: Path) -> None:
    """By default a run ends at 100,000 firings; an option changes the limit."""
    tagloom("examples", "--copy", "lessons")
    words = ("check", "lessons/squares.py", "10000", "--against", "lessons/squares.py")
    assert "did not end within 100,000 firings" in tagloom(*words).out
    ran = tagloom(*words, "--max-firings", "1000000")
    assert ran.code == 0 and ran.out.endswith("1 run agrees\n")


@pytest.mark.full
def test_programs_with_other_arguments(tagloom: Any, folder: Path) -> None:
    """Programs with different parameters are not run; the error has both signatures."""
    tagloom("examples", "--copy", "lessons")
    ran = tagloom("check", "lessons/fib.py", "--against", "lessons/sums.py")
    assert ran.code == 2 and "required: (x: int64, y: int64)" in ran.err and "got: (n: int64)" in ran.err


def test_the_tutorial_has_the_numbers_of_the_code() -> None:
    """The numbers in the tutorial are those of the code."""
    page = " ".join((Path(__file__).resolve().parents[3] / "docs" / "tutorial.md").read_text().split())
    rows = {"integer": solution._INTEGERS, "float": solution._FLOATS, "bool": solution._BOOLEANS}
    assert all(f"| {kind} | {', '.join(words)}" in page for kind, words in rows.items())
    assert f"for several parameters, the {MAX_ARGUMENT_LISTS}" in page and f"within {DEFAULT_FIRINGS:,} firings" in page
    near = [f"{TOLERANCES[kind]:.0e}".replace("e-0", "e-") for kind in (tl.float64, tl.float32)]
    assert "at most `{} * max(1, abs(r))` (float32: {})".format(*near) in page


def test_small_arguments(folder: Path) -> None:
    """The smallest arguments of the parameters' types come first, each once; arrays must be given."""
    head = "import tagloom as tl\n\n@tl.function\ndef main("
    (folder / "a.py").write_text(f"{head}x: tl.uint8, y: tl.bool, z: tl.float64):\n    return z\n")
    actual = list(small_arguments(find_program("a.py")))
    assert actual[0] == ("0", "true", "0.0") and len(actual) == len(set(actual)) == MAX_ARGUMENT_LISTS
    (folder / "b.py").write_text(f"{head}x: tl.Array[tl.float64, None]):\n    return x\n")
    with pytest.raises(Exception, match="argument x is not declared as a number"):
        list(small_arguments(find_program("b.py")))
