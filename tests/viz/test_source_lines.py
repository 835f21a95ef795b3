"""Which source files are read: a loaded document cannot name other files to read."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from tagloom.core.graph.graph import Graph
from tagloom.core.program.program import DocumentLocation, Location
from tagloom.tui.panes.source import source_page
from tagloom.tui.run_start import RunRequest
from tagloom.tui.session.commands import new_session
from tagloom.tui.session.session import Session
from tagloom.viz import source_lines as sources
from tagloom.viz.player.columns import source_excerpts
from tagloom.viz.source_lines import (
    MISSING_SOURCE,
    expression_columns,
    local_line,
    local_lines,
    shareable_lines,
    underline,
)

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
    """A document, as text, JSON or a log, whose one node names this line as its source."""
    text = f"func main(n: int64) -> int64 {{\n  s = add n, 1  at {json.dumps(file)}:{line}\n  return s\n}}\n"
    program = tl.parse_program(text)
    if path.suffix == ".jsonl":
        tl.run_graph(tl.lower(program), [3], keep=path)
    elif path.suffix == ".json":
        tl.write_json(program, path)
    else:
        written(path, text)
    return path


def session_of(path: Path) -> Session:
    """A session after the one firing of a document."""
    session = new_session()
    session.load_run(RunRequest(str(path), () if path.suffix == ".jsonl" else ("3",), session.options))
    session.execute("run"), session.execute("goto 2")
    return session


def screen_text(session: Session) -> str:
    """The debugger's texts about source: the position, the lines around it, and the pane."""
    replies = [line for command in ("where", "source") for line in session.execute(command).text]
    return "\n".join([*replies, source_page(session, 80).text()])


def player_page(session: Session) -> str:
    """The page that plays the run."""
    session.history.run()
    return session.history.player().html


def names_of_private_files(folder: Path) -> Iterator[str]:
    """Files that a document in the folder `loaded` must not read, by names under which it might try."""
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
    """The names by which a document gets private lines; for a shared page, those of a source elsewhere too."""
    (folder / "loaded").mkdir()
    asking = str(folder / "loaded" / "evil.json")
    results = [name for name in names_of_private_files(folder) if local_lines(DocumentLocation(name, 1, asking))]
    other = written(folder / "private" / "work.py", PROGRAM)
    outside = [
        name for name in (str(other), "../private/work.py") if shareable_lines(DocumentLocation(name, 1, asking))
    ]
    return [*results, *outside]


def test_no_other_file_is_read(tmp_path: Path) -> None:
    """Files that are no source, targets of links, pipes and devices are not read, and nothing blocks."""
    assert leaks(tmp_path) == []


def accept_names(fits: Callable[[Path], bool]) -> Callable[[Path], Path | None]:
    """Accepts any file whose name fits, without checks of links and sizes."""

    def source(named: Path) -> Path | None:
        with suppress(OSError, ValueError):
            return named if fits(named) and named.is_file() else None
        return None

    return source


def every_file_is_one(patch: MonkeyPatch) -> None:
    patch.setattr(sources, "resolve_source", accept_names(lambda path: True))


def names_are_believed(patch: MonkeyPatch) -> None:
    patch.setattr(sources, "resolve_source", accept_names(lambda path: path.suffix in sources.SUFFIXES))


def every_folder_is_beside(patch: MonkeyPatch) -> None:
    patch.setattr(
        sources,
        "document_source",
        lambda location: sources.resolve_source(Path(location.document).parent / location.file),
    )


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("broken", [every_file_is_one, names_are_believed, every_folder_is_beside])
def test_credulous_readers_are_caught(
    broken: Callable[[MonkeyPatch], None], tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    """Each twin decides what is read in one wrong way, and is caught."""
    broken(monkeypatch)
    assert leaks(tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["evil.tl", "evil.json", "evil.jsonl"])
def test_private_lines_are_not_shown(kind: str, tmp_path: Path) -> None:
    """For a loaded document, neither screen nor page shows another file's lines, and both say that the source cannot
    be read."""
    private = written(tmp_path / "private" / "id_ed25519")
    (tmp_path / "loaded").mkdir()
    session = session_of(document(tmp_path / "loaded" / kind, str(private)))
    shown, page = screen_text(session), player_page(session)
    assert SECRET not in shown and SECRET not in page
    assert shown.count(f"id_ed25519:1: {MISSING_SOURCE}") == 2
    assert ("id_ed25519", []) in [(piece.file, piece.lines) for piece in source_excerpts(session.history.graph)]


@pytest.mark.full
@pytest.mark.parametrize("kind", ["run.tl", "run.json", "run.jsonl"])
def test_source_beside_a_document_is_shown(kind: str, tmp_path: Path) -> None:
    """A source that the document names by a relative path, in its folder or below, is shown, whatever the working
    directory is."""
    written(tmp_path / "code" / "work.py", PROGRAM)
    session = session_of(document(tmp_path / kind, "code/work.py"))
    assert screen_text(session).count(SECRET) == 3 and SECRET in player_page(session)


@pytest.mark.full
def test_a_text_is_its_own_source(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Nodes without a source line have their line of the text, by whatever path it was named."""
    written(tmp_path / "own.tl", f"func main(n: int64) -> int64 {{\n  s = add n, 1  # {SECRET}\n  return s\n}}")
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "own.tl", Path("own.tl")):
        session = session_of(path)
        assert screen_text(session).count(SECRET) == 3 and SECRET in player_page(session)


@pytest.mark.full
def test_a_source_elsewhere_is_shown_on_screen_only(tmp_path: Path) -> None:
    """The user sees the program of a log that lies elsewhere; a page does not contain it."""
    other = written(tmp_path / "code" / "work.py", PROGRAM)
    (tmp_path / "logs").mkdir()
    session = session_of(document(tmp_path / "logs" / "run.jsonl", str(other)))
    assert SECRET in screen_text(session) and SECRET not in player_page(session)


@pytest.mark.full
def test_traced_source_is_shown(tmp_path: Path) -> None:
    """Tracing records which files were traced: the page of such a log has its source, wherever it lies."""
    path = written(tmp_path / "code" / "work.py", PROGRAM)
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "run.jsonl"
    document(log, str(path))
    assert SECRET not in player_page(session_of(log))
    tl.load_run(str(path), "3")
    assert SECRET in player_page(session_of(log))


@pytest.mark.full
def test_missing_lines(tmp_path: Path) -> None:
    """A line before the first or after the last does not exist, and has no lines around it."""
    path = written(tmp_path / "work.py", "# one\n# two")
    lines = [local_line(Location(str(path), line)) for line in (-1, 0, 1, 2, 3, 2**62)]
    assert lines == ["", "", "# one", "# two", "", ""]
    ahead = document(tmp_path / "run.json", "work.py", 40)
    behind = written(tmp_path / "behind.json", ahead.read_text().replace('"line": 40', '"line": -40'))
    for line, text in ((40, ahead), (-40, behind)):
        session = session_of(text)
        assert "\n".join(session.execute("source").text) == f"work.py:{line}: {MISSING_SOURCE}"
        assert "# one" not in player_page(session)


EXPRESSIONS = """\
import tagloom as tl


@tl.function
def main(n: tl.int64) -> tl.int64:
    größe = n + 1
    if n is not None:
    \tgröße = (größe * 2) - tl.where(größe > 3, n, 0)
    return tl.cond(
        größe > 0,
        lambda: größe // 7,
        lambda: n,
    )
"""


def main_of(file: Path) -> Graph:
    """The graph of the function `main` of a Python file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    graph: Graph = module.main.graph
    return graph


def expression_of(location: Location) -> str:
    """The text of the expression at a location, up to the end of its first line."""
    columns = expression_columns(location, local_line(location))
    return "" if columns is None else local_line(location)[slice(*columns)]


def test_a_node_has_the_text_of_its_expression(tmp_path: Path) -> None:
    """Behind letters of several bytes and behind tabs, too; of an expression of several lines it is the first line."""
    nodes = main_of(written(tmp_path / "wide.py", EXPRESSIONS)).nodes
    texts = {str(node).removeprefix("main."): expression_of(node.location) for node in nodes if node.location}
    assert texts["add"] == "n + 1" and texts["multiply"] == "größe * 2"
    assert texts["subtract"] == "(größe * 2) - tl.where(größe > 3, n, 0)"
    assert texts["where"] == "tl.where(größe > 3, n, 0)" and texts["greater"] == "größe > 3"
    assert texts["floor_divide"] == "größe // 7" and "tl.cond(" in texts.values()


def test_no_expression_of_an_edited_file_is_underlined(tmp_path: Path) -> None:
    """A line that became shorter than the expression in it has no columns, and neither has a location of a document."""
    location = main_of(written(tmp_path / "plain.py", PROGRAM)).nodes[-1].location
    assert location is not None and expression_columns(location, "x") is None
    assert expression_columns(DocumentLocation(location.file, location.line), local_line(location)) is None
    assert underline("\tx = y", (5, 6)) == "\t    ^"
