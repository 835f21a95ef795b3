"""Pictures from a session, comparisons of a program with itself under other options, and short names of nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.pictures.drawings import nested
from tagloom.tui.session.commands import COMMANDS
from tagloom.tui.session.session import Session
from tagloom.viz.pictures import PICTURES

BACKWARDS = Path(__file__).resolve().parents[3] / "docs" / "case_studies" / "backwards.py"


@pytest.fixture
def session() -> Session:
    result = Session(COMMANDS)
    assert result.execute(f"load '{BACKWARDS}' 6").ok
    return result


@pytest.mark.full
def test_every_form_of_picture(session: Session, tmp_path: Path) -> None:
    """`picture FILE FORM` draws the position in every form, and moves nothing."""
    assert session.execute("run").ok
    before = session.execute("where").text
    for form in ("", *PICTURES):
        assert session.execute(f"picture '{tmp_path / 'run.svg'}' {form}").ok
        assert "<svg" in (tmp_path / "run.svg").read_text()
    assert session.execute("where").text == before


@pytest.mark.inner(first=4)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("picture run.gif", "no picture format"),
        ("picture run.svg cake", "no picture of this name"),
        ("picture", "a file is missing"),
        ("picture run.svg tags more", "too many words"),
        ("picture /no/such/folder/run.svg", "cannot be written"),
        (f"picture '{BACKWARDS}'", "the output would replace the file that a run began from"),
        ("compare --k 0", "not a number from 1 up"),
        ("compare --seed", "a word is missing after --seed"),
    ],
)
def test_wrong_files_are_refused(session: Session, line: str, message: str) -> None:
    """Wrong files are refused in words, and the program's file is not changed."""
    before = BACKWARDS.read_text()
    reply = session.execute(line)
    assert not reply.ok and message in "\n".join(reply.text) and BACKWARDS.read_text() == before


def test_a_larger_bound_compared(session: Session) -> None:
    """The same program with another bound is a run with its own name, and the difference names the node."""
    reply = session.execute("compare --k 6")
    assert reply.ok and reply.data["differs"] and reply.data["with"] == "backwards-k-6"
    assert (reply.data["node"], reply.data["tag"]) == ("backwards.loop.i", "main/loop[4]")
    assert session.execute("compare --seed 3 --schedule lifo").data["with"] == "backwards-lifo-seed-3"
    assert session.execute(f"load '{BACKWARDS}' 6 --k 6").ok and session.execute("run").ok
    assert "Returned" in "\n".join(session.execute("outcome").text)


def test_short_names_of_nodes() -> None:
    """A node can be named by the end of its name if no other node has that name or that end."""
    graph = nested.graph
    assert str(graph.nodes[graph.only("j")]) == "nested.loop_1.j"
    assert len(graph.find("i")) == 2, "it goes through the outer loop and the inner"
