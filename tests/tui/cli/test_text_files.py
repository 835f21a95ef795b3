"""Files in the text form on the command line: they are run, shown and checked, and errors show their line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tagloom as tl

TEXT = """func ratio(n: int64) {
  y = floor_divide 10, n
  return y
}
func broken(n: int64) {
  y = ad n, 1
  return y
}
graph race(x: int64) -> int64 {
  m = merge x, x
  return m
}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "f.tl"
    path.write_text(TEXT)
    return str(path)


@pytest.mark.full
def test_a_function_of_a_file_runs(tagloom: Any, file: str) -> None:
    """FILE.tl:NAME runs a function; a trap names and shows the line of the file."""
    ran = tagloom("run", f"{file}:ratio", "3")
    assert (ran.code, ran.out, ran.err) == (0, "3\n", "")
    ran = tagloom("run", f"{file}:ratio", "0")
    assert ran.code == 1 and "(f.tl:2)" in ran.err and "\n      y = floor_divide 10, n\n      ^" in ran.err


ONE = """func f(x: int64) -> int64 {
  return x
}
"""
MAIN = ONE.replace("f(", "main(").replace("return x", "y = negative x\n  return y")


@pytest.mark.full(first=2)
@pytest.mark.parametrize(
    ("text", "value"),
    [
        (ONE + MAIN, "5"),
        (f"entry f\n{MAIN}{ONE}", "5"),
        (f"{ONE}{MAIN}entry main", "-5"),
        (ONE + MAIN.replace("func", "graph"), "5"),
        ((ONE + MAIN).replace("func", "graph"), "-5"),
    ],
)
def test_the_entry_runs(tagloom: Any, tmp_path: Path, text: str, value: str) -> None:
    """A file without a name runs its entry: the function that `entry` names, or the first; the graph called main only
    if there are no functions."""
    path = tmp_path / "f.tl"
    path.write_text(text)
    ran = tagloom("run", str(path), "5")
    assert (ran.out, ran.err) == (f"{value}\n", "")


@pytest.mark.full
def test_an_invalid_file_is_refused(tagloom: Any, file: str) -> None:
    """The error has the rule, the line and a hint; a graph runs with --unchecked."""
    ran = tagloom("run", f"{file}:broken", "0")
    assert ran.code == 2 and ran.err.startswith("V3: there is no op 'ad' (f.tl:6)\n      y = ad n, 1\n")
    assert "did you mean add?" in ran.err
    ran = tagloom("run", f"{file}:race", "0")
    assert ran.code == 2 and ran.err.startswith("V11:") and "m = merge x, x" in ran.err
    ran = tagloom("run", f"{file}:race", "0", "--unchecked")
    assert ran.code == 1 and ran.err.startswith("S4:") and "(f.tl:10)" in ran.err


@pytest.mark.full
def test_show_writes_the_text_form(tagloom: Any, file: str, tmp_path: Path) -> None:
    """`show -o x.tl` writes the text form, which can be read."""
    for form in ("program", "graph"):
        out = tmp_path / f"{form}.tl"
        assert tagloom("show", f"{file}:ratio", "--form", form, "-o", str(out)).code == 0
        document = tl.parse(out.read_text())
        assert document.names == ["ratio"]
        assert tagloom("run", str(out), "5").out == "2\n"


@pytest.mark.full
def test_check_tries_the_cases(tagloom: Any, file: str) -> None:
    """`check FILE.tl` tries every case, a line each, and exits with 1 if one differs. With NAME and ARGS it checks that
    run."""
    path = Path(file)
    text = f"{TEXT}case broken refused V3\ncase race refused V11\n"
    path.write_text(f'{text}case ratio(2) returns 5\ncase ratio(0) traps "integer division by zero"\n')
    ran = tagloom("check", file)
    assert ran.code == 0, ran.err
    assert [line.split()[:2] for line in ran.out.splitlines()[2:]] == [
        ["agrees", "ratio(2)"],
        ["agrees", "ratio(0)"],
    ]
    assert tagloom("check", f"{file}:ratio", "2").out.startswith("waves         agrees")
    path.write_text(f"{text}case ratio(2) returns 4\n")
    ran = tagloom("check", file)
    assert ran.code == 1 and "\ndiffers" in ran.out and "(f.tl:15)" in ran.err
    assert ran.err.endswith("1 of 3 cases differs\n")


@pytest.mark.full
def test_check_reports_unexpected_problems(tagloom: Any, file: str) -> None:
    """A broken rule is reported before the cases, with exit code 2, unless a case expects it. A case that differs
    because of a rule has the problem as a note. Rules come before the number of arguments."""
    path = Path(file)
    ran = tagloom("check", file)
    assert ran.code == 2 and ran.err.startswith("V3: ") and "\nV11: " in ran.err
    path.write_text(f"{TEXT}case ratio(2) returns 5\ncase race(1) breaks S4\n")
    ran = tagloom("check", file)
    assert ran.code == 2 and ran.err.startswith("V3: ") and "V11" not in ran.err
    assert ran.out.count("agrees") == 2
    path.write_text(f"{TEXT}case broken(2) returns 5\n")
    ran = tagloom("check", file)
    assert "  got: refused V3\n  V3: there is no op 'ad' (f.tl:6)" in ran.err
    for command in ("run", "check"):
        ran = tagloom(command, f"{file}:broken")
        assert ran.code == 2 and ran.err.startswith("V3: ")


@pytest.mark.full
def test_the_limits_of_unchecked(tagloom: Any, tmp_path: Path) -> None:
    """`--unchecked` runs no program, and no graph that breaks V7 or V15; the refusal and the help say so."""
    path = tmp_path / "f.tl"
    path.write_text(TEXT.replace("merge", "mrege"))
    for name in ("broken", "race"):
        ran = tagloom("run", f"{path}:{name}", "1", "--unchecked")
        assert ran.code == 2 and "--unchecked applies only to graphs, and not to those that break V7 or V15" in ran.err
    assert "V7, V15" in " ".join(tagloom("run", "--help").out.split())


@pytest.mark.full
def test_show_prints_an_invalid_program(tagloom: Any, file: str) -> None:
    """An invalid program is printed as written, and has no graph."""
    ran = tagloom("show", f"{file}:broken", "--form", "program")
    assert ran.code == 0 and "y = ad n, 1" in ran.out
    assert tagloom("show", f"{file}:broken").err.startswith("V3: ")


@pytest.mark.full(first=2)
@pytest.mark.parametrize(
    ("written", "message"),
    [
        (b"func f(x: int64) {\n  y = add x 1\n  return y\n}", "f.tl:2:13"),
        (b"\n\xff", "this file is not text (f.tl:2)"),
        (b"", "has no function or graph"),
        (b"# nothing", "has no function or graph"),
        (b"func f(x: int64) {\n  y = call f x\n  return y\n}", "(f.tl:1)"),
    ],
)
def test_unreadable_files_are_refused(tagloom: Any, tmp_path: Path, written: bytes, message: str) -> None:
    """Bad input gives exit code 2 and a message, without a traceback."""
    path = tmp_path / "f.tl"
    path.write_bytes(written)
    ran = tagloom("run", str(path), "1")
    assert ran.code == 2 and message in ran.err and "Traceback" not in ran.err


@pytest.mark.full
def test_check_tries_a_folder(tagloom: Any, tmp_path: Path) -> None:
    """For a folder, the cases of all its texts are tried, a line a file; differences and unreadable files are
    reported."""
    right = "func f(n: int64) -> int64 {\n  y = add n, 1\n  return y\n}\ncase f(1) returns 2\n"
    (tmp_path / "a.tl").write_text(right)
    (tmp_path / "b.tl").write_text(right + "case f(2) returns 3\n")
    assert tagloom("check", str(tmp_path)).code == 0
    (tmp_path / "c.tl").write_text(right.replace("returns 2", "returns 3"))
    run = tagloom("check", str(tmp_path))
    assert run.code == 1 and "got: returns 2" in run.err
    lines = [line.split() for line in run.out.splitlines()]
    assert lines[:2] == [["agrees", "a.tl", "1", "case"], ["agrees", "b.tl", "2", "cases"]]
    assert lines[2:] == [["differs", "c.tl", "1", "case"], ["3", "files,", "4", "cases"]]
    (tmp_path / "d.tl").write_text("func\n")
    assert tagloom("check", str(tmp_path)).code == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    assert tagloom("check", str(empty)).err.startswith("a directory is not a program")
