"""`tagloom run --fetch --feed`: which part of a program runs, and on which values."""

from __future__ import annotations

import json
from typing import Any

import pytest


def run(tagloom: Any, *words: str) -> tuple[int, str, str]:
    code, out, err = tagloom("run", *words)
    return code, out, err


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("add.py", "2", "3", "--fetch", "x"), "2\n"),
        (("add.py", "2", "3", "--fetch", "add"), "5\n"),
        (("add.py", "2", "3", "--feed", "add=-7"), "-7\n"),
        (("add.py", "...", "3", "--feed", "x=10"), "13\n"),
        (("add.py", "--feed", "x=10", "--feed", "y=-1"), "9\n"),
        (("add.py", "2", "3", "--fetch", "x", "--fetch", "add"), "x: 2\nadd: 5\n"),
        (("fib.py", "5", "--fetch", "fib"), "8\n"),
        (("fib.py", "--feed", "fib=99"), "100\n"),
        (("fib.py", "5", "--fetch", "main/fib/less_equal"), "false\n"),
        (("fib.py", "3", "--fetch", "main/fib/**/add"), "main/fib/fib: 2\nmain/fib: 3\n"),
        (("fib.py", "5", "--feed", "main/fib/cond=100"), "101\n"),
        (("acts.py:told", "3", "--fetch", "main/loop[*]/i"), "".join(f"main/loop[{k}]: {k}\n" for k in range(4))),
        (("kinds.py:doubled", "--feed", "v=@numbers.npy"), "[2, 4, 6]\n"),
        (("kinds.py:anything", "1.5", "--feed", "add=2"), "2.0\n"),
        (("kinds.py:both", "3", "--fetch", "less", "--engine", "fast"), "false\n"),
    ],
)
def test_parts_are_run(tagloom: Any, words: tuple[str, ...], printed: str) -> None:
    """Fetched values are printed, on a line each if there are several; `...` and omitted arguments are not needed."""
    code, out, err = run(tagloom, *words)
    assert (code, err) == (0, "")
    assert "".join(line for line in out.splitlines(keepends=True) if not line.startswith("i is")) == printed


@pytest.mark.full
def test_text_has_parts(tagloom: Any, tmp_path: Any) -> None:
    """A part of a program in text form can be run like one of a Python function; a graph runs as a whole."""
    file = tmp_path / "two.tl"
    file.write_text("func two(x: int64, y: int64) -> int64 {\n  a = add x, 1\n  b = multiply a, y\n  return b\n}\n")
    assert run(tagloom, str(file), "4", "--fetch", "a") == (0, "5\n", "")
    assert run(tagloom, str(file), "...", "3", "--feed", "a=10") == (0, "30\n", "")
    graph = tmp_path / "graph.tl"
    graph.write_text("graph g(x: int64) -> int64 {\n  a = add x, 1\n  return a\n}\n")
    code, out, err = run(tagloom, str(graph), "4", "--fetch", "a")
    assert (code, out) == (2, "") and err.startswith("only programs can be run in part")


@pytest.mark.full
def test_documents_have_fetched_values(tagloom: Any) -> None:
    """The value of a JSON document has the fetched names and tags, with null for a missing value."""
    words = ("fib.py", "3", "--fetch", "n", "--fetch", "main/fib/**/add", "--json")
    document = json.loads(run(tagloom, *words)[1])
    assert document["value"] == {"n": 3, "main/fib/**/add": {"main/fib": 3, "main/fib/fib": 2}}
    assert len(document["results"]) == 3
    code, out, _ = run(tagloom, "fib.py", "1", "--fetch", "main/fib/add", "--json")
    assert code == 1 and json.loads(out)["value"] is None and json.loads(out)["status"] == "Deadlocked"


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add.py", "2", "--fetch", "add"), "argument y of add is left out (add.py:4)\n"),
        (("add.py", "2", "3", "--fetch", "ad"), "hint: did you mean add?"),
        (("add.py", "2", "3", "4", "--fetch", "add"), "add takes 2 arguments\n"),
        (("add.py", "2", "3", "--feed", "add"), "--feed needs a name and a literal\n  required: --feed NAME=LITERAL"),
        (("add.py", "2", "3", "--feed", "add=true"), "not a literal of this type"),
        (("add.py", "2", "3", "--feed", "ad=3"), "hint: did you mean add?"),
        (("fib.py", "2", "--fetch", "less_equal"), "hint: write main/fib/less_equal"),
        (("fib.py", "2", "--fetch", "main/fob/add"), "main has no call or loop 'fob'"),
        (
            ("fib.py", "2", "--fetch", "main/fib/add", "--engine", "fast"),
            "only the reference engine can fetch or feed values under tags",
        ),
        (("kinds.py:anything", "--fetch", "add"), "parameter x of anything has no type"),
    ],
)
def test_unknown_names_are_refused(tagloom: Any, words: tuple[str, ...], message: str) -> None:
    """Unknown names and wrong words are bad usage; the error has the known names."""
    code, out, err = run(tagloom, *words)
    assert (code, out) == (2, "") and message in err
