"""`tagloom conform`: verdicts, exit codes and files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tagloom.tui.cli.main import run_command

BAD = Path(__file__).resolve().parents[2] / "support" / "programs" / "bad_backend.py"
ONE = "func main() -> int64 {\n  y = identity 1\n  return y\n}\ncase main() returns 1\n"
TWO = ONE.replace("identity 1", "identity 2").replace("returns 1", "returns 2")


@pytest.fixture
def one(tmp_path: Path) -> str:
    (tmp_path / "one.tl").write_text(ONE)
    return str(tmp_path / "one.tl")


@pytest.mark.full
def test_a_program(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    """NumPy agrees; as JSON, too."""
    assert run_command(["conform", one]) == 0
    assert "alike     the results have the same bits" in capsys.readouterr().out
    assert run_command(["conform", one, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "alike"


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(
    "way, code, words",
    [
        ("right", 0, "bad 1            alike"),
        ("crash", 1, "crash     it was killed by SIGSEGV at run: the end is near"),
        ("dtype", 1, "error     its answer is invalid: result 0 is of type int32 instead of int64"),
        ("start", 2, "not run   it exited with code 1 at hello: no licence"),
    ],
)
def test_a_process(one: str, way: str, code: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A command is a backend; what it does wrong has an exit code and words."""
    assert run_command(["conform", one, "--backend", f"{sys.executable} {BAD} {way}"]) == code
    assert words in capsys.readouterr().out


@pytest.mark.full
def test_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A difference shows both results; a corpus names the case."""
    (tmp_path / "two.tl").write_text(TWO)
    backend = f"{sys.executable} {BAD} right"  # which answers 1
    assert run_command(["conform", str(tmp_path / "two.tl"), "--backend", backend]) == 1
    output = capsys.readouterr().out
    assert "different result 0 differs" in output and "required: result 0 is 2\n  got: 1" in output
    assert run_command(["conform", "--corpus", str(tmp_path), "--backend", backend]) == 1
    assert "two.tl main() returns 2: result 0 differs" in capsys.readouterr().out


@pytest.mark.full
def test_ops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sweep over one op prints its counts, and writes the profile."""
    assert run_command(["conform", "--ops", "--op", "logical_and", "-o", str(tmp_path / "profile.json")]) == 0
    assert "1 pair of op and dtypes; 1 alike" in capsys.readouterr().out
    assert json.loads((tmp_path / "profile.json").read_text())["ops"] == {"logical_and bool": {"ordinary": "alike"}}


@pytest.mark.full
def test_a_profile_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A backend that does what its profile says has the same profile; what it lost is an error, and what it gained is
    none."""
    profile, other = tmp_path / "profile.json", tmp_path / "other.json"
    words = ["conform", "--ops", "--op", "logical_and", "--op", "logical_not"]
    assert run_command([*words, "-o", str(profile)]) == 0
    capsys.readouterr()
    assert run_command([*words, "--compare", str(profile)]) == 0
    assert "the profile is the same" in capsys.readouterr().out
    wrong = ["--backend", f"{sys.executable} {BAD} right"]  # which answers an int64
    assert run_command([*words, *wrong, "-o", str(other), "--compare", str(profile)]) == 1
    output = capsys.readouterr().out
    assert "lost      logical_and bool, ordinary: alike -> error its answer is invalid" in output
    assert f"numpy {np.__version__} -> bad 1: 2 lost" in output
    assert run_command([*words, "--compare", str(other)]) == 0
    assert f"bad 1 -> numpy {np.__version__}: 2 gained" in capsys.readouterr().out
    other.write_text('{"backend": "bad", "ops": {"logical_and bool": {"ordinary": 1}}}')
    assert run_command([*words, "--compare", str(other)]) == 2
    assert "this is not a profile of a backend" in capsys.readouterr().err


@pytest.mark.full
def test_fuzz(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fuzzing reports a class once, and writes its folder."""
    backend = f"{sys.executable} {BAD} error"
    arguments = ["conform", "--fuzz", "2", "--backend", backend, "--findings", str(tmp_path / "findings")]
    assert run_command(arguments) == 1
    assert "2 error, 0 discarded" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "findings").iterdir()] == ["0-0"]


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "conform compares one thing at a time"),
        (["--ops", "--fuzz", "3"], "conform compares one thing at a time"),
        (["--ops", "--backend", "nowhere"], "no backend is called 'nowhere', and no command"),
        (["--ops", "--backend", f"{__file__} fast"], "is not executable; name the program that runs it first"),
        (["--ops", "--backend", "'"], 'no backend is called "\'", and no command'),
        (["--ops", "--op", "nothing"], "no op is called 'nothing'"),
        (["--corpus", "nowhere"], "there are no .tl files in this folder"),
        (["--corpus", str(Path(__file__).parent)], "there are no .tl files in this folder"),
        (["--corpus", "nowhere", "--report", "x.json"], "there are no .tl files in this folder"),
        (["--fuzz", "-1"], "Invalid value for '--fuzz'"),
    ],
)
def test_bad_usage(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad usage is said, and exits with 2."""
    assert run_command(["conform", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_referee(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a backend fails, a second one says who is right; its words are in the finding, too."""
    (tmp_path / "two.tl").write_text(TWO)
    backend = ["--backend", f"{sys.executable} {BAD} right"]  # which answers 1
    assert run_command(["conform", str(tmp_path / "two.tl"), *backend, "--referee", "numpy"]) == 1
    assert f"numpy {np.__version__} agrees with the reference: two against one" in capsys.readouterr().out
    assert run_command(["conform", str(tmp_path / "two.tl"), *backend, "--referee", backend[1]]) == 1
    assert "is different: 1" in capsys.readouterr().out


@pytest.mark.full
def test_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several parts on several backends become files; with `--compare` only what is worse is an error."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "two.tl").write_text(TWO)
    words = ["conform", "--corpus", str(tmp_path / "texts"), "--ops", "--op", "logical_and"]
    old, new = tmp_path / "old.json", tmp_path / "new.html"
    files = [old, tmp_path / "x.xml", tmp_path / "x.svg"]
    assert run_command([*words, *(word for file in files for word in ("--report", str(file)))]) == 0
    assert files[2].read_text().startswith("<svg")
    assert f"numpy {np.__version__}, corpus: 1 alike" in capsys.readouterr().out
    wrong = f"{sys.executable} {BAD} right"  # which answers 1
    assert run_command([*words, "--backend", "numpy", "--backend", wrong, "--report", str(new)]) == 1
    assert "numpy" in new.read_text() and "Failures of" in new.read_text()
    report = json.loads(old.read_text())
    report["backends"][0]["backend"] = wrong
    old.write_text(json.dumps(report))
    capsys.readouterr()
    assert run_command([*words, "--backend", wrong, "--report", str(new), "--compare", str(old)]) == 1
    assert "corpus: two.tl: main() returns 2: alike -> different" in capsys.readouterr().out
    assert run_command([*words, "--backend", "numpy", "--report", str(new), "--compare", str(old)]) == 0
    assert "0 verdicts changed, 0 for the worse" in capsys.readouterr().out


@pytest.mark.full
def test_a_report_of_two_backends_at_a_time(tmp_path: Path) -> None:
    """With --jobs, a report has its backends in the order of the command, whichever is through first."""
    (tmp_path / "one.tl").write_text(ONE)
    names = [f"{sys.executable} {BAD} right", "numpy", "false"]
    words = [word for name in names for word in ("--backend", name)]
    report = tmp_path / "report.json"
    assert run_command(["conform", "--corpus", str(tmp_path), *words, "--jobs", "3", "--report", str(report)]) == 2
    assert [each["backend"] for each in json.loads(report.read_text())["backends"]] == names


@pytest.mark.parametrize(
    "words, message",
    [
        (["--ops", "--report", "x.txt"], "reports have no such format"),
        (["--report", "x.json"], "a report needs something to run"),
        (["--fuzz", "3", "--compare", "x.json"], "a report needs something to run"),
        (["--ops", "--compare", "nowhere.json"], "this profile cannot be read"),
        (["--ops", "--report", "x.json", "--compare", "nowhere.json"], "this report cannot be read"),
        (["--ops", "--backend", "numpy", "--backend", "jax"], "several backends need a report"),
    ],
)
def test_bad_usage_of_reports(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad usage is said before anything runs."""
    assert run_command(["conform", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, message",
    [
        ("[1, 2", "this is not a report of tagloom conform"),
        ("[]", "this is not a report of tagloom conform"),
        ('{"report": 1, "backends": [3]}', "this is not a report of tagloom conform"),
        ('{"report": 1, "backends": [{"backend": "numpy"}]}', "this is not a report of tagloom conform"),
        (
            '{"report": 1, "backends": [{"backend": "numpy", "settings": {"ops": "all"}, "cases": {"ops": {"x": 1}}}]}',
            "this is not a report of tagloom conform",
        ),
        ('{"report": 2}', "this report has an unknown version"),
    ],
)
def test_a_comparison_needs_a_report(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Any other file is refused before anything runs."""
    (tmp_path / "old.json").write_text(text)
    words = ["--ops", "--report", str(tmp_path / "x.json"), "--compare", str(tmp_path / "old.json")]
    assert run_command(["conform", *words]) == 2
    printed = capsys.readouterr()
    assert message in printed.err and not printed.out


def test_a_report_in_a_file_that_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A report that cannot be written is refused before anything runs."""
    (tmp_path / "file").touch()
    assert run_command(["conform", "--ops", "--report", str(tmp_path / "file" / "x.json")]) == 2
    printed = capsys.readouterr()
    assert "this file cannot be written" in printed.err and not printed.out


@pytest.mark.full
def test_the_debugger_opens_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`tagloom debug FINDING` opens the program on the arguments of the finding, at the first result that differs."""
    findings = tmp_path / "findings"
    run_command(["conform", "--fuzz", "1", "--backend", f"{sys.executable} {BAD} error", "--findings", str(findings)])
    folder = findings / "0-0"
    events = json.loads((folder / "finding.json").read_text())["first_difference"]["events"]
    (tmp_path / "commands").write_text("where\n")
    capsys.readouterr()
    assert run_command(["debug", str(folder), "--headless", "--commands", str(tmp_path / "commands")]) == 0
    assert f"after {events} events" in capsys.readouterr().out
    assert run_command(["debug", str(folder), "3", "--headless"]) == 2
    assert "a finding already has its arguments" in capsys.readouterr().err
    (folder / "finding.json").write_text("{}")
    assert run_command(["debug", str(folder), "--headless"]) == 2
    assert "this finding cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--minutes", "1"], ["-o", "x.json"], ["--json"], ["--blame"]])
def test_a_report_refuses_options_that_it_would_ignore(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """An option that means nothing for a report is refused before anything runs."""
    assert run_command(["conform", "--ops", "--report", "x.json", *words]) == 2
    printed = capsys.readouterr()
    assert "--report takes no --" in printed.err and not printed.out


def test_blame_is_for_one_program(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a program there is nothing to blame."""
    assert run_command(["conform", "--ops", "--blame"]) == 2
    assert "--blame is for one program" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["debug", "conform"])
@pytest.mark.parametrize("length", [300, 5_000])
def test_a_name_that_is_too_long(command: str, length: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that no file can have is the name of no file, and not of a finding."""
    words = ["--headless"] if command == "debug" else []
    assert run_command([command, "x" * length, *words]) == 2
    assert "the output cannot be written" not in capsys.readouterr().err


@pytest.mark.full
def test_blame_of_a_process(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A process that says its flags is blamed as our backends are: the flags are the last words of its command."""
    backend = f"{sys.executable} {BAD} flags"
    assert run_command(["conform", one, "--backend", backend, "--blame"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "  right without folding: the optimiser"
    assert run_command(["conform", one, "--backend", f"{backend} folding"]) == 0


@pytest.mark.full
def test_the_level_of_a_process(tmp_path: Path, one: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A process that says its levels is blamed by them, in `--blame` and in findings: they are the last word of its
    command."""
    backend = f"{sys.executable} {BAD} levels"
    words = "wrong from compiled on: the compiler (eager alike, compiled different)"
    assert run_command(["conform", one, "--backend", backend, "--blame"]) == 1
    assert f"  {words}\n" in capsys.readouterr().out
    assert run_command(["conform", one, "--backend", f"{backend} eager"]) == 0
    capsys.readouterr()
    findings = str(tmp_path / "findings")
    assert run_command(["conform", "--fuzz", "3", "--backend", backend, "--findings", findings]) == 1
    output = capsys.readouterr().out
    (finding, *_) = (tmp_path / "findings").iterdir()
    level = json.loads((finding / "finding.json").read_text())["first_wrong_level"]
    assert "wrong from" in output and set(level["verdicts"]) == {"eager", "compiled"}


@pytest.mark.full
def test_probes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--probe says where a wrong result begins; it is for one program, whose results can be compared."""
    (tmp_path / "two.tl").write_text(TWO)
    assert run_command(["conform", str(tmp_path / "two.tl"), "--backend", f"{sys.executable} {BAD} right", "--probe"])
    assert "disappear under every probe" in capsys.readouterr().out
    assert run_command(["conform", str(tmp_path / "two.tl"), "--backend", f"{sys.executable} {BAD} error", "--probe"])
    assert "probes compare results, and there are none: RuntimeError: no luck" in capsys.readouterr().out
    assert run_command(["conform", "--ops", "--probe"]) == 2
    assert "--probe is for one program" in capsys.readouterr().err


@pytest.mark.full
def test_blame_of_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A finding runs again on its backend; a process has no optimisations that could be disabled."""
    findings = tmp_path / "findings"
    run_command(["conform", "--fuzz", "1", "--backend", f"{sys.executable} {BAD} error", "--findings", str(findings)])
    capsys.readouterr()
    assert run_command(["conform", str(findings / "0-0"), "--blame"]) == 1
    printed = capsys.readouterr().out
    assert "error" in printed and "no optimisations that can be disabled" in printed
