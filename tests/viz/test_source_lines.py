"""Which source is read: what is loaded has no say over which other files are."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from tagloom.core.program.program import DocumentLocation, Location
from tagloom.tui.panes.source import source_page
from tagloom.tui.run_start import Start
from tagloom.tui.session.commands import new_session
from tagloom.tui.session.session import Session
from tagloom.viz import source_lines as sources
from tagloom.viz.player.columns import source_excerpts
from tagloom.viz.source_lines import MISSING_SOURCE, local_line, local_lines, shareable_lines

SECRET = "the secret"
PROGRAM = f"""\
import tagloom as tl  # {SECRET}


@tl.function
def main(n: tl.int64) -> tl.int64:
    return n + 1
"""


def written(path: Path, text: str = SECRET) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")
    return path


def document(path: Path, file: str, line: int = 1) -> Path:
    """A program whose one node comes, as it says, from this line: as text, as JSON, or as the log of a run."""
    text = f"func main(n: int64) -> int64 {{\n  s = add n, 1  at {json.dumps(file)}:{line}\n  return s\n}}\n"
    program = tl.parse_program(text)
    if path.suffix == ".jsonl":
        tl.run_graph(tl.lower(program), [3], keep=path)
    elif path.suffix == ".json":
        tl.write_json(program, path)
    else:
        written(path, text)
    return path


def loaded(path: Path) -> Session:
    """A session that stands behind the one firing of a document."""
    session = new_session()
    session.load_run(Start(str(path), () if path.suffix == ".jsonl" else ("3",), session.options))
    session.execute("run"), session.execute("goto 2")
    return session


def on_screen(session: Session) -> str:
    """What the debugger shows of source: where one is, the lines around it, and the pane."""
    replies = [line for command in ("where", "source") for line in session.execute(command).text]
    return "\n".join([*replies, source_page(session).text()])


def given_away(session: Session) -> str:
    """The page that plays the run."""
    session.history.run()
    return session.history.player().html


def names_of_what_is_private(folder: Path) -> Iterator[str]:
    """Files that a document in the folder `loaded` may not have read, by names under which it might try."""
    yield str(written(folder / "private" / "id_ed25519"))
    yield "../private/id_ed25519"
    link = folder / "loaded" / "link.py"
    link.symlink_to(folder / "private" / "id_ed25519")
    yield "link.py"
    yield str(link)
    os.mkfifo(folder / "loaded" / "pipe.py")
    yield "pipe.py"
    yield "/dev/zero"
    yield str(folder)
    yield written(folder / "loaded" / "notes.txt").name
    yield written(folder / "loaded" / "large.py", SECRET + " " * sources.MAX_BYTES).name
    (folder / "loaded" / "round.py").symlink_to(folder / "loaded" / "round.py")
    yield "round.py"
    yield "\ud800.py"
    yield "\0.py"
    yield "a" * 5000 + ".py"


def leaks(folder: Path) -> list[str]:
    """The names by which a document gets what is private; a source elsewhere, too, where that is given away."""
    (folder / "loaded").mkdir()
    asking = str(folder / "loaded" / "evil.json")
    found = [name for name in names_of_what_is_private(folder) if local_lines(DocumentLocation(name, 1, asking))]
    other = written(folder / "private" / "work.py", PROGRAM)
    outside = [
        name for name in (str(other), "../private/work.py") if shareable_lines(DocumentLocation(name, 1, asking))
    ]
    return [*found, *outside]


def test_no_other_file_is_read(tmp_path: Path) -> None:
    """Neither what is no source, nor what links lead to, nor pipes and devices; and nothing is waited for."""
    assert leaks(tmp_path) == []


def believing(fits: Callable[[Path], bool]) -> Callable[[Path], Path | None]:
    """Takes any file whose name fits, and does not ask where links lead, or how large it is."""

    def source(named: Path) -> Path | None:
        with suppress(OSError, ValueError):
            return named if fits(named) and named.is_file() else None
        return None

    return source


def every_file_is_one(patch: MonkeyPatch) -> None:
    patch.setattr(sources, "resolve_source", believing(lambda path: True))


def names_are_believed(patch: MonkeyPatch) -> None:
    patch.setattr(sources, "resolve_source", believing(lambda path: path.suffix in sources.SUFFIXES))


def every_folder_is_beside(patch: MonkeyPatch) -> None:
    patch.setattr(
        sources,
        "document_source",
        lambda location: sources.resolve_source(Path(location.document).parent / location.file),
    )


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("broken", [every_file_is_one, names_are_believed, every_folder_is_beside])
def test_who_believes_too_much_is_caught(
    broken: Callable[[MonkeyPatch], None], tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    """Ways to decide what is read that are wrong in one known way."""
    broken(monkeypatch)
    assert leaks(tmp_path)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("kind", ["evil.tl", "evil.json", "evil.jsonl"])
def test_what_is_private_stays_so(kind: str, tmp_path: Path) -> None:
    """Of a loaded document no screen and no page shows another's lines, and each says that the source is not here."""
    private = written(tmp_path / "private" / "id_ed25519")
    (tmp_path / "loaded").mkdir()
    session = loaded(document(tmp_path / "loaded" / kind, str(private)))
    shown, page = on_screen(session), given_away(session)
    assert SECRET not in shown and SECRET not in page
    assert shown.count(f"id_ed25519:1: {MISSING_SOURCE}") == 2
    assert ("id_ed25519", []) in [(piece.file, piece.lines) for piece in source_excerpts(session.history.graph)]


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("kind", ["run.tl", "run.json", "run.jsonl"])
def test_what_lies_beside_a_document_is_shown(kind: str, tmp_path: Path) -> None:
    """What it names by a relative path, in its folder or below, whatever the working directory is."""
    written(tmp_path / "code" / "work.py", PROGRAM)
    session = loaded(document(tmp_path / kind, "code/work.py"))
    assert on_screen(session).count(SECRET) == 3 and SECRET in given_away(session)


def test_a_text_is_its_own_source(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Nodes that name no line come from the text, by whatever path that was named."""
    written(tmp_path / "own.tl", f"func main(n: int64) -> int64 {{\n  s = add n, 1  # {SECRET}\n  return s\n}}")
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "own.tl", Path("own.tl")):
        session = loaded(path)
        assert on_screen(session).count(SECRET) == 3 and SECRET in given_away(session)


def test_a_source_elsewhere_is_for_the_screen(tmp_path: Path) -> None:
    """The user sees the program of a log that lies elsewhere; who gets the page does not."""
    other = written(tmp_path / "code" / "work.py", PROGRAM)
    (tmp_path / "logs").mkdir()
    session = loaded(document(tmp_path / "logs" / "run.jsonl", str(other)))
    assert SECRET in on_screen(session) and SECRET not in given_away(session)


@pytest.mark.full
def test_what_this_process_has_traced_is_shown(tmp_path: Path) -> None:
    """Whether it was traced is known from tracing: a log of that is played with its source, wherever it lies."""
    path = written(tmp_path / "code" / "work.py", PROGRAM)
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "run.jsonl"
    document(log, str(path))
    assert SECRET not in given_away(loaded(log))
    tl.load_run(str(path), "3")
    assert SECRET in given_away(loaded(log))


@pytest.mark.full
def test_lines_that_are_not_there(tmp_path: Path) -> None:
    """A line before the first, or behind the last, is none, and brings no others with it."""
    path = written(tmp_path / "work.py", "# one\n# two")
    lines = [local_line(Location(str(path), line)) for line in (-1, 0, 1, 2, 3, 2**62)]
    assert lines == ["", "", "# one", "# two", "", ""]
    ahead = document(tmp_path / "run.json", "work.py", 40)
    behind = written(tmp_path / "behind.json", ahead.read_text().replace('"line": 40', '"line": -40'))
    for line, said in ((40, ahead), (-40, behind)):
        session = loaded(said)
        assert "\n".join(session.execute("source").text) == f"work.py:{line}: {MISSING_SOURCE}"
        assert "# one" not in given_away(session)
