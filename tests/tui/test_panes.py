"""What panes show, as text, without a screen: each is a function of the session."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from onscreen import DEADLOCK, ROOT
from tagloom.interp.alarm import interrupt
from tagloom.tui.app.themes import CONTRAST, contrast, legible
from tagloom.tui.begin import Start
from tagloom.tui.panes.arrange import PANES, arranged
from tagloom.tui.panes.events import events
from tagloom.tui.panes.graph import FAR, Paper, laid_out, picture
from tagloom.tui.panes.help import hints
from tagloom.tui.panes.inspector import array_rows, inspector
from tagloom.tui.panes.look import Looker, Size
from tagloom.tui.panes.source import source
from tagloom.tui.panes.status import line_for, status
from tagloom.tui.panes.tags import tags
from tagloom.tui.panes.timeline import timeline
from tagloom.tui.panes.tokens import cells, flight, store
from tagloom.tui.session.commands import COMMANDS, new_session
from tagloom.tui.session.session import Session
from tagloom.viz.cells.drawing import Drawing, draw_cells
from tagloom.viz.collapse import collapsed, folds
from tagloom.viz.flat import graph_view
from tagloom.viz.moment import at_moment, on_view
from tagloom.viz.style import DARK, LIGHT, PALETTE


def begun(target: str, *words: str, do: str = "") -> Session:
    """A session in which this run stands where these commands lead."""
    session = new_session()
    session.load(Start(target, words, session.options))
    for line in filter(None, do.split(";")):
        assert session.do(line).ok
    session.run.known.catch_up(session.history)
    return session


def test_flight_and_store(folder: Path) -> None:
    """The next token is marked; what waits says what it holds, and which ports are empty."""
    session = begun("fib.py:fib", "4", do="goto 22")
    assert flight(session).text().splitlines() == [
        ">   0 ▷     3 → fib.subtract.0  fib",
        "    1 ▷     3 → fib.subtract_1.0  fib",
        "    2 ▷     2 → fib.subtract.0  fib_1",
        "    3 ▷     2 → fib.subtract_1.0  fib_1",
    ]
    session = begun("fib.py:fib", "4", do="goto 96")
    assert store(session).text() == "  main\n    fib.add 0:_ 1:○2"
    session.do("only main/fib_1")
    assert "no token waits" in store(session).text()


def test_cells(folder: Path) -> None:
    """An array of cells says what is full, who put it, and who is parked."""
    session = begun("acts.py:chain", "4", do="goto 40")
    said = cells(session).text()
    assert "full" in said and "□" in said and "[" in said


def test_tags(folder: Path) -> None:
    """The tree has calls with what went in, and, from when it came, what came out; loops have their variables."""
    session = begun("fib.py:fib", "3", do="run")
    assert tags(session).text().splitlines()[:3] == [
        "> ✓ fib(3) = 3",
        "    ✓ fib(2) = 2  fib",
        "      ✓ fib(1) = 1  fib",
    ]
    session.do("goto 20")
    assert "=" not in tags(session).text() and "more" not in tags(session).text()
    assert "loop[0]: i = 0, n = 30" in tags(begun("acts.py:told", "30", do="goto 20")).text()
    assert "19 more" in tags(begun("acts.py:told", "30", do="run")).text()


def test_inspector(folder: Path) -> None:
    """It is about the present node, or the one that is selected: ports, firings, and values as a line of blocks."""
    session = begun("fib.py:fib", "5", do="run;select add")
    said = inspector(session)
    assert said.said == "fib.add (selected)" and "7 firings" in said.text() and "▁" in said.text()
    assert next(row for row in said.rows if "→ 8" in row.text).do.startswith("goto ")
    session.do("select"), session.do("goto 7")
    assert "fib.subtract  subtract" in inspector(session).text()
    assert "fires once port 0 has a token (S2)" in inspector(session).text()
    assert "then computes, under the same tag (S5)" in inspector(session).text()
    said = begun("fib.py:fib", "5", do="goto 30;select cond;run;node-back cond")
    ports = [each.text for each in inspector(said).rows if each.text.startswith("  port")]
    assert sorted(port.split()[2] for port in ports) == ["no", "▶"], "a merge takes one token"


@pytest.mark.parametrize("width", [27, 40, 90])
def test_sentences_are_as_wide_as_their_pane(folder: Path, width: int) -> None:
    """What a node does is said in lines that fit, and no word of it is lost."""
    session = begun("fib.py:fib", "5", do="run;select add")
    rows = [each.text for each in inspector(session, width).rows]
    said = rows[2 : next(number for number, text in enumerate(rows) if text.startswith("gives"))]
    assert max(map(len, said)) <= width
    assert "fires once all have tokens: port 0, port 1 (S2)" in " ".join(" ".join(said).split())


def test_a_node_of_what_has_not_begun(folder: Path) -> None:
    """Of a node in a loop that has not opened nothing is said about ports: there is no activation, in which it could
    have tokens. Once there is one, they are told."""
    session = begun("acts.py:told", "3", do="select told.less")
    assert "no activation of told.loop yet" in inspector(session).text()
    assert "no activation of told.loop yet" in "\n".join(session.do("inspect told.less").text)
    session.do("run")
    assert "yet" not in inspector(session).text() and "under main/loop[3]" in inspector(session).text()


def test_the_slice_of_arrays_is_chosen(folder: Path) -> None:
    """`slice` says which part of arrays is shown; what is no slice is refused, and changes nothing."""
    session = begun("fib.py:fib", "3")
    assert session.do("slice [0, 2:5]").ok and session.focus.slice == "0, 2:5"
    for wrong in ("", "main()", "::0", "..., ...", "1 2", "0,,1"):
        assert not session.do(f"slice {wrong}").ok and session.focus.slice == "0, 2:5"
    assert session.do("slice ...").ok and not session.focus.slice


def test_arrays() -> None:
    """An array is shown by its type, statistics and a slice; one that is empty, or not finite, too."""
    said = [
        "\n".join(row.text for row in array_rows(array)) for array in (np.arange(12.0).reshape(6, 2), np.zeros((0, 3)))
    ]
    assert "float64[6, 2]" in said[0] and "mean 5.5" in said[0] and "and 2 rows more" in said[0]
    assert said[1] == "array float64[0, 3]"
    assert "2 not finite" in "\n".join(row.text for row in array_rows(np.array([1, np.nan, np.inf])))
    chosen = "\n".join(row.text for row in array_rows(np.arange(12.0).reshape(6, 2), "-1, :"))
    assert "[-1, :] [2]" in chosen and "11.0" in chosen and "mean 5.5" in chosen
    assert "it has no [9]" in "\n".join(row.text for row in array_rows(np.arange(3), "9"))
    assert "1 of 2 true" in "\n".join(row.text for row in array_rows(np.array([True, False])))


def test_source(folder: Path) -> None:
    """The line of the present node is marked, and one with a breakpoint; a second click takes that away."""
    session = begun("fib.py:fib", "4", do="goto 6")
    line = source(session).rows[5]
    assert line.here and line.do == "break line == 6 and fired"
    session.do(line.do)
    again = source(session).rows[5]
    assert again.text.startswith("●") and again.do == "delete 1"


def test_events(folder: Path) -> None:
    """All that are known are listed; or those under a tag, or for which a condition holds, new ones too."""
    session = begun("fib.py:fib", "4", do="goto 50;goto 23")
    assert len(events(session).rows) == 50 and events(session).rows[22].here
    session.do("only main/fib_1"), session.do("events op == 'subtract'")
    assert {row.tag for row in events(session).rows} == {"main/fib_1"} and len(events(session).rows) == 2
    session.do("only"), session.do("run")
    assert len(events(session).rows) == 8


def test_timeline(folder: Path) -> None:
    """It is as wide as it is told, whatever is known; each column leads to an event."""
    for position in (0, 1, 30, 200):
        session = begun("fib.py:fib", "4", do="run;goto " + str(min(position, 99)))
        for width in (1, 10, 78, 300):
            made = timeline(session, width, 3)
            assert {len(row.text) for row in made.rows} == {width} and len(made.goes) == width
            assert made.goes[-1] == "goto 101"


def test_the_end_of_the_timeline(folder: Path) -> None:
    """At the end of what is known the sign stands in the last column, and all before it is past."""
    session = begun("fib.py:fib", "4", do="goto 26")
    for width in (10, 26, 77, 200):
        assert timeline(session, width, 1).rows[-1].text == "━" * (width - 1) + "◆"
    assert timeline(begun("fib.py:fib", "4"), 20, 1).said == "nothing has happened yet"


def test_answers_are_wrapped(folder: Path) -> None:
    """No line is longer than the pane; what a line leads to, its rest leads to as well."""
    looker = Looker(begun("fib.py:fib", "4"))
    seen = looker.do("run", lambda _: {}), looker.do("why add", lambda _: {"answers": Size(41, 10)})
    rows = seen[1].pages["answers"].rows
    assert max(len(row.text) for row in rows) <= 40
    assert sum(row.do == "goto 99" for row in rows) == 2


def test_how_it_ended_is_told(folder: Path) -> None:
    """The status says that a run is over, or that it is deadlocked; the flight, where to look then."""
    assert "✓ 5 over" in status(begun("fib.py:fib", "4", do="run")).text
    stuck = begun(str(ROOT / DEADLOCK), "10", do="run")
    assert "deadlocked" in status(stuck).text
    assert "15 tokens left waiting" in flight(stuck).text() and "6 reads left parked" in flight(stuck).text()


def test_what_is_folded_first(folder: Path) -> None:
    """Inner loops before what is around them; what somebody opened, and what is around that, never."""
    graph = begun(str(ROOT / "papers_examples/roots/wavefront.py"), "3").history.graph
    view = graph_view(graph)
    names = {each.name: each.subject for each in view.outside.all()}
    order, must = folds(view)
    assert [names[each] for each in order][:2] == ["main.loop_1", "main.loop"] and must == 0
    assert folds(view, most=60)[1] == 1
    inner = next(name for name, subject in names.items() if subject == "main.loop_1")
    assert [names[each] for each in folds(view, {inner})[0]] == ["element"]


def test_nothing_is_folded_in_vain() -> None:
    """With one fold less the graph would be too large, in the most legible writing too."""
    graph = begun(str(ROOT / "papers_examples/recursion/gradient.py"), "5.0").history.graph
    draft = laid_out(Paper(graph, (), 62, 29))
    assert draft.folded and _times(draft.drawing) <= FAR
    less = folds(draft.plain, {"main"})[0][: len(draft.folded) - 1]
    assert _times(draw_cells(collapsed(draft.plain, less), width=62, height=29, ways=1)) > FAR


def _times(drawing: Drawing) -> float:
    columns, rows = drawing.size
    return max(columns / 62, rows / 29)


def test_a_tag_alone_is_asked_about(folder: Path) -> None:
    """Where a row is about an activation, a question is about the present node in it."""
    session = begun("fib.py:fib", "4", do="goto 30")
    line = line_for(session, COMMANDS["why"], tags(session).rows[1])
    assert line.startswith("why fib.") and line.endswith(" main/fib")


def test_graph(folder: Path) -> None:
    """The tokens on a layout are those of a picture that is drawn anew; only those under a tag, if one is chosen."""
    session = begun("fib.py:fib", "4", do="goto 30")
    draft = laid_out(Paper(session.history.graph, (), 80, 40))
    made = picture(draft, session)
    assert made.nodes["n4"] == str(session.history.graph.nodes[4]) and made.at is not None
    last = session.history[29]
    assert on_view(graph_view(session.history.graph), session.history.state, last) == at_moment(
        session.history.state, last
    )
    session.do("only main/fib/fib")
    assert made.drawing.text().count("●") > picture(draft, session).drawing.text().count("●")


def test_what_a_key_means(folder: Path) -> None:
    """Where a command wants more words, they are taken from the row under the cursor, else from where one is."""
    session = begun("fib.py:fib", "4", do="goto 22")
    second = flight(session).rows[1]
    assert line_for(session, COMMANDS["change"], second) == "change 1 "
    assert line_for(session, COMMANDS["choose"], second) == "choose 1"
    assert line_for(session, COMMANDS["why-not"], second) == "why-not fib.subtract_1 main/fib"
    assert line_for(session, COMMANDS["why"], None).startswith("why fib.")
    assert line_for(session, COMMANDS["break"], source(session).rows[5]) == "break line == 6 and fired"


def test_a_look(folder: Path) -> None:
    """One look has all that a screen shows; an answer leads to the pane that has it."""
    looker = Looker(begun("fib.py:fib", "4"))
    sizes = {pane: Size(40, 10) for pane in PANES}
    assert looker.do("step 8", lambda front: sizes).front is None
    seen = looker.do("why subtract", lambda front: sizes)
    assert seen.front == "answers" and set(seen.pages) == {*PANES} - {"graph", "timeline"}
    assert any(row.do == "goto 7" for row in seen.pages["answers"].rows)
    assert "8 fired" in status(looker.session).text and seen.wanted is not None


@given(some.integers(20, 400), some.integers(10, 120), some.permutations(PANES))
def test_panes_fill_the_screen(width: int, height: int, asked: list[str]) -> None:
    """Whatever its size, and whichever panes were asked for: each pane has one place, and places fill the screen."""
    fronts = {pane: number for number, pane in enumerate(asked)}
    slots = arranged(width, height, fronts)
    assert sum(slot.width * slot.height for slot in slots) == width * height
    assert sorted(pane for slot in slots for pane in slot.panes) == sorted(PANES)
    assert all(slot.width > 0 and slot.height > 0 for slot in slots)
    assert next(slot for slot in slots if asked[-1] in slot.panes).front == asked[-1]


def test_colours_can_be_read() -> None:
    """Every colour of the table of looks, as text on either paper, has the contrast that text needs."""
    for theme in (LIGHT, DARK):
        for colour in PALETTE:
            assert contrast(legible(colour, theme), theme.paper) >= CONTRAST


def test_another_thread_is_interrupted(folder: Path) -> None:
    """What Ctrl-C is to the main thread, another has too: a motion stops where it has come to."""
    session = begun("ends.py:endless", "1")
    replies = []
    thread = threading.Thread(target=lambda: replies.append(session.do("run")))
    thread.start()
    time.sleep(0.3)
    assert thread.ident is not None
    interrupt(thread.ident)
    thread.join(20)
    assert not thread.is_alive() and "interrupted" in replies[0].text[0]
    assert session.do("step").data["position"] > 100


def test_hints_end_with_a_whole_word() -> None:
    """As many keys are told as there is room for; the last one is not cut."""
    for width in range(30, 220):
        said = hints("graph", width).text
        assert len(said) <= width and said == said.rstrip()
    assert hints("graph", 80).text.endswith("$ end") and "deliver" in hints("graph", 200).text
