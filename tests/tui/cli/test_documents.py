"""JSON on the command line: programs and graphs as input, outcomes and logs as output, and checked logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from tagloom.interp.oracle.check import ENGINE_SCHEDULES, SCHEDULES


@pytest.fixture
def json_files(tagloom: Any) -> Any:
    """fib.py in both forms, as JSON files."""
    for form in ("program", "graph"):
        assert tagloom("show", "fib.py:fib", "--form", form, "-o", f"{form}.json") == (0, "", "")
    return tagloom


@pytest.mark.full
def test_show_writes_json(json_files: Any, folder: Path) -> None:
    """`show -o x.json` writes the requested form, which defines the same program."""
    program, graph = (tl.read_json(folder / f"{form}.json") for form in ("program", "graph"))
    assert isinstance(program, tl.Program) and isinstance(graph, tl.Graph)
    assert tl.lower(program) == graph


@pytest.mark.full
@pytest.mark.parametrize("file", ["program.json", "graph.json", "program.json:fib", "graph.json:fib"])
def test_json_files_are_programs(json_files: Any, file: str) -> None:
    """run, check and show take a program or a graph from JSON as from Python."""
    assert json_files("run", file, "10") == (0, "89\n", "")
    code, out, err = json_files("check", file, "5")
    runs = (*SCHEDULES, *ENGINE_SCHEDULES, "distributed", *(("evaluator", "compiled") if "program" in file else ()))
    assert (code, err, out.count("agrees")) == (0, "", len(runs))
    assert json_files("show", file, "--form", "graph").out == json_files("show", "fib.py:fib", "--form", "graph").out


@pytest.mark.full
def test_a_program_from_json_is_shown(json_files: Any) -> None:
    """The structured form is shown as in Python; a graph has none."""
    text = json_files("show", "fib.py:fib", "--form", "program").out
    assert json_files("show", "program.json", "--form", "program") == (0, text, "")
    assert json_files("show", "graph.json", "--form", "program").code == 2


@pytest.mark.full
def test_a_name_chooses_the_entry(tagloom: Any) -> None:
    """A name chooses a function of the program; another name is refused with the existing ones."""
    tagloom("show", "fib.py:main", "--form", "program", "-o", "main.json")
    assert tagloom("run", "main.json", "10").out == "90\n"
    assert tagloom("run", "main.json:fib", "10").out == "89\n"
    assert tagloom("run", "main.json:none", "10").err.startswith(
        "no function is called 'none'\n  hint: choose from main"
    )


@pytest.mark.full
def test_keep_and_check(tagloom: Any, folder: Path) -> None:
    """`run --keep` writes a log, with the usual output; `check` replays it and says how long it was."""
    assert tagloom("run", "fib.py:fib", "6", "--keep", "run.jsonl") == tagloom("run", "fib.py:fib", "6")
    events = len(tl.read_events(folder / "run.jsonl").events)
    assert tagloom("check", "run.jsonl") == (0, f"waves      agrees   Returned   {events} events of fib\n", "")
    lines = (folder / "run.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "cut.jsonl").write_bytes(b"".join(lines[:-1]))
    assert tagloom("check", "cut.jsonl").out == f"waves      agrees   cut short  {events} events of fib\n"


@pytest.mark.full
def test_logs_in_columns(tagloom: Any, folder: Path) -> None:
    """A log in columns is checked, shown and stepped like one in lines; `show -o` writes the same lines."""
    for name in ("run.jsonl", "run.npz"):
        assert tagloom("run", "fib.py:fib", "6", "--keep", name) == tagloom("run", "fib.py:fib", "6")
    assert tagloom("check", "run.npz") == tagloom("check", "run.jsonl")
    assert tagloom("show", "run.npz", "-o", "made.jsonl") == (0, "", "")
    assert (folder / "made.jsonl").read_bytes() == (folder / "run.jsonl").read_bytes()
    assert tagloom("show", "run.npz", "--ascii", "--at", "9") == tagloom("show", "run.jsonl", "--ascii", "--at", "9")
    history = tl.History.load(folder / "run.npz")
    history.save(folder / "again.npz")
    assert tl.read_events(folder / "again.npz") == tl.read_events(folder / "run.jsonl")
    (folder / "wrong.npz").write_bytes(b"PK hello")
    code, out, err = tagloom("check", "wrong.npz")
    assert (code, out, err.splitlines()[0]) == (2, "", "this is not a log of events (wrong.npz)")


@pytest.mark.full
def test_keep_spares_other_files(tagloom: Any, folder: Path) -> None:
    """A log never overwrites a program: its name ends in .jsonl or .npz."""
    source = (folder / "fib.py").read_text()
    for name in ("fib.py", "events", "run.json"):
        code, out, err = tagloom("run", "fib.py:fib", "6", "--keep", name)
        assert (code, out) == (2, "")
        assert (
            err
            == f"this is not the name of a log of events\n  required: one that ends in .jsonl or .npz\n  got: {name}\n"
        )
    assert (folder / "fib.py").read_text() == source and not (folder / "events").exists()


@pytest.mark.full
def test_a_wrong_log_exits_1(tagloom: Any, folder: Path) -> None:
    """An event that the machine would not do is a difference, with its line, required and got; a file that is no log is
    bad input."""
    tagloom("run", "add.py", "2", "3", "--keep", "run.jsonl")
    text = (folder / "run.jsonl").read_text()
    (folder / "wrong.jsonl").write_text(text.replace('"data":5}', '"data":6}', 1))
    code, out, err = tagloom("check", "wrong.jsonl")
    assert (code, out) == (1, "")
    assert err.startswith("the log differs from the machine: outputs (line 5)\n  required: [[0,{")
    (folder / "text.jsonl").write_text("hello\n")
    code, out, err = tagloom("check", "text.jsonl")
    assert (code, out) == (2, "") and err.startswith("this is not JSON (line 1: $)")
    assert tagloom("check", "run.jsonl", "3").err.startswith("a log already has its arguments")
    assert tagloom("run", "run.jsonl").err.endswith("hint: `tagloom check` reads a log of events\n")


def test_outcomes_can_be_read(tagloom: Any) -> None:
    """The output of `run --json` is an outcome document."""
    document = json.loads(tagloom("run", "ends.py:divide", "3", "0", "--json").out)
    again = tl.from_json(document)
    assert isinstance(again, tl.OutcomeRecord)
    assert (again.status, again.traps and again.traps[0].message) == ("Trapped", "integer division by zero")


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is not JSON ($)\n  got: Expecting value"),
        ('{"tagloom": "graph", "version": 1}', "the document does not fit its form ($)\n  required: the key name"),
        ('{"tagloom": "graph", "version": 9}', "the document does not fit its form ($.version)\n  required: version 1"),
        (json.dumps(tl.to_json(tl.run_graph(tl.GraphBuilder("x").build(), []))), "this document has no program"),
        (json.dumps(tl.to_json(tl.Program((), "main"))), "the program"),
    ],
)
def test_bad_documents(tagloom: Any, folder: Path, text: str, message: str) -> None:
    """A document that is no program is bad input, reported in words, without a traceback."""
    (folder / "x.json").write_text(text)
    for command in ("run", "check", "show"):
        code, out, err = tagloom(command, "x.json")
        assert (code, out) == (2, "") and "Traceback" not in err
        if message != "the program":
            assert err.startswith(message)
