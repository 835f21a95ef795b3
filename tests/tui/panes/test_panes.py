"""The contents of panes, as text, without a screen: each is a function of the session."""

from __future__ import annotations

import re
import threading
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as some
from onscreen import DEADLOCK, ROOT
from tagloom.core.graph.graph import Graph
from tagloom.interp.engines.interrupt import interrupt_thread
from tagloom.interp.outcome.outcome import describe_value
from tagloom.tui.app.themes import CONTRAST, contrast, legible_colour
from tagloom.tui.load import find_program, program_and_graph
from tagloom.tui.panes.arrange import OTHER_PANES, PANES, arrange_panes
from tagloom.tui.panes.call import call_page
from tagloom.tui.panes.code import code_page
from tagloom.tui.panes.events import events_page
from tagloom.tui.panes.graph import LayoutRequest, draw_tokens, lay_out_graph
from tagloom.tui.panes.help import key_hints, pane_key_hints
from tagloom.tui.panes.inspector import array_rows, inspector_page
from tagloom.tui.panes.screen import PaneSize, ScreenPresenter, status_row, suggest_line
from tagloom.tui.panes.source import source_page
from tagloom.tui.panes.timeline import build_timeline
from tagloom.tui.panes.tokens import MAX_TOKENS, cells_page, flight_page, tags_page, waiting_page
from tagloom.tui.run_start import RunRequest
from tagloom.tui.session import listing
from tagloom.tui.session.activation_mark import mark_activation
from tagloom.tui.session.commands import COMMANDS, new_session
from tagloom.tui.session.session import Session
from tagloom.viz.activation_tree import activation_tree_view
from tagloom.viz.collapse import folding_order
from tagloom.viz.graph_view import graph_view
from tagloom.viz.pictures import moment_view, trim_view
from tagloom.viz.player.page import describe_start
from tagloom.viz.screen import LEAST_BOXES
from tagloom.viz.state_view import overlay_state, state_view
from tagloom.viz.style import ACTIVATION_COLOURS, DARK, FADED_ACTIVATION_COLOURS, LIGHT, PALETTE


def session_after(target: str, *words: str, do: str = "") -> Session:
    """A session of this run after these commands."""
    session = new_session()
    session.load_run(RunRequest(target, words, session.options))
    for line in filter(None, do.split(";")):
        assert session.execute(line).ok
    session.run.index.catch_up(session.history)
    return session


def test_flight_and_store(folder: Path) -> None:
    """The next token is marked; a waiting node has its tokens and its empty ports."""
    session = session_after("fib.py:fib", "4", do="goto 22")
    assert flight_page(session).text().splitlines() == [
        ">   0 ▷ #2      3 → fib.subtract.0  fib",
        "    1 ▷ #2      3 → fib.subtract_1.0  fib",
        "    2 ▷ #3      2 → fib.subtract.0  fib_1",
        "    3 ▷ #3      2 → fib.subtract_1.0  fib_1",
    ]
    session = session_after("fib.py:fib", "4", do="goto 96")
    assert waiting_page(session).text() == "  #1  main\n    fib.add 0:_ 1:○2"
    session.execute("only main/fib_1")
    assert "no token waits" in waiting_page(session).text()


def test_the_pane_of_cells(folder: Path) -> None:
    """An array of cells shows which are full, who put them, and which reads are deferred."""
    session = session_after("acts.py:chain", "4", do="goto 40")
    reply = cells_page(session).text()
    assert "full" in reply and "□" in reply and "[" in reply


WIDE = """
import tagloom as tl


@tl.function
def wide(n: tl.int64) -> tl.int64:
    return n * wide(n + n) + wide(n)
"""


@pytest.mark.full
@pytest.mark.parametrize("schedule", ["fifo", "lifo", "random:5"])
def test_the_next_token_is_listed(folder: Path, schedule: str) -> None:
    """However many tokens are in flight, the next one is first; the number of those without room is given, on screen
    and without."""
    (folder / "wide.py").write_text(WIDE)
    session = session_after("wide.py", "1", do=f"load wide.py 1 --schedule {schedule}")
    flying = session.history.state.flight
    while len(flying) <= MAX_TOKENS or (schedule == "random:5" and (session.history.next_choice or 0) < MAX_TOKENS):
        assert session.execute("event").ok
    page, following = flight_page(session), session.history.next_choice
    assert page.target_row == 0 and page.rows[0].is_current and page.rows[0].position == following
    positions = [row.position for row in page.rows[:MAX_TOKENS]]
    assert len(set(positions)) == MAX_TOKENS and page.rows[MAX_TOKENS].text == f"and {len(flying) - MAX_TOKENS:,} more"
    reply = session.execute("flight")
    assert reply.text[0].startswith(f"-> {following}: ") and reply.text[-1] == f"and {len(flying) - 40:,} more"
    assert [row["position"] for row in reply.data["flight"]] == positions


@pytest.mark.full
def test_hidden_tokens_are_counted(folder: Path) -> None:
    """If rows have no room, the number of their tokens is given."""
    session = session_after("fib.py:fib", "14", do="load fib.py:fib 14 --schedule fifo;goto 6000")
    page, waiting = waiting_page(session), session.history.state.waiting_count
    listed = sum(row.text.count("○") for row in page.rows)
    assert len(page.rows) == MAX_TOKENS + 1 and page.rows[-1].text == f"and {waiting - listed:,} tokens more"


def is_under(tag: str, top: str) -> bool:
    return f"{tag}/".startswith(f"{top}/")


@pytest.mark.full
@pytest.mark.parametrize("schedule", ["waves", "lifo"])
def test_only_limits_panes_to_a_tag(folder: Path, schedule: str) -> None:
    """`only` limits tokens in flight, waiting tokens, cells, events and the timeline to those under a tag."""
    session = session_after("acts.py:twice", "9", do=f"load acts.py:twice 9 --schedule {schedule}")
    for position in (0, 60, 90, 120, 180):
        assert session.execute(f"goto {position}").ok
        session.run.index.catch_up(session.history)
        for tag in ("main/chain", "main/chain_1/loop[2]"):
            for pane in (flight_page, waiting_page, cells_page, events_page):
                session.execute("only")
                expected = [row.text for row in pane(session).rows if is_under(row.tag, tag)]
                session.execute(f"only {tag}")
                result = pane(session)
                assert [row.text for row in result.rows if is_under(row.tag, tag)] == expected, (pane, tag)
                assert all(is_under(row.tag, tag) or "full" in row.text for row in result.rows if row.tag)
                assert expected or "under" in result.text() or "no " in result.text()
            count = len(listing.list_events(session))
            assert not position or build_timeline(session, 40, 3).subtitle.endswith(f" · {count} listed")


def test_the_timeline_shows_what_is_listed(folder: Path) -> None:
    """The bars of the timeline stand at the events that the pane of events lists."""
    session = session_after("fib.py:fib", "4", do="run;events op == 'add'")
    actual = list(events_page(session).rows)
    result = build_timeline(session, len(session.history), 1)
    assert [at for at, sign in enumerate(result.rows[0].text) if sign != " "] == [
        int(row.command.removeprefix("goto ")) - 1 for row in actual
    ]


def test_choices_of_another_program_are_ignored(folder: Path) -> None:
    """A choice from one program that does not exist in another is ignored."""
    session = session_after(
        "fib.py:fib", "4", do="run;select add;only main/fib;events node == 'fib.add';load add.py:add 1 2"
    )
    looker = ScreenPresenter(session)
    seen = looker.snapshot({pane: PaneSize(40, 10) for pane in PANES})
    assert "x" in seen.pages["flight"].text() or "add" in seen.pages["flight"].text()
    assert seen.pages["inspector"].subtitle == "add.x" and "return x + y" in seen.pages["source"].text()
    assert session.root_tag is None and "no event matches" in seen.pages["events"].text()


LOOP = """import tagloom as tl


@tl.function
def halve(n: tl.int64) -> tl.int64:
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = n - 1
    return n
"""

LONG_LINE = """import tagloom as tl

@tl.function
def f(a: tl.int64) -> tl.bool:
    b, c = a + 1, a + 2; return tl.where((a < b) & (b < c), a * a < b * b, a * b > c)
"""


@pytest.mark.full
def test_the_converted_code_is_lit_where_the_source_is(folder: Path) -> None:
    """At each firing, the code pane underlines the expression that the source pane underlines, and has its line number;
    firings of several lines are lit at their first one."""
    (folder / "loop.py").write_text(LOOP)
    session, lit = session_after("loop.py:halve", "6"), dict[str, str]()
    while session.execute("step").ok and session.history.last_event is not None:
        code, source = code_page(session, 80), source_page(session, 80)
        current = [row for row in code.rows if row.is_current]
        assert len(current) <= 1 or all(row.line == current[0].line for row in current)
        pairs = [[span.text for row in page.rows for span in row.spans if span.underlined] for page in (source, code)]
        if pairs[0]:
            lit["".join(pairs[0])] = "".join(pairs[1])
        if (
            len(session.history)
            and session.history.position == len(session.history)
            and not session.history.state.flight
        ):
            break
    assert lit["n > 1"] == "n > 1" and lit["n % 2 == 0"] == "n % 2 == 0" and lit["n - 1"] == "n - 1"
    assert lit["n // 2"] == "n // 2" and lit["n % 2"] == "n % 2"
    assert "ag__.while_stmt" in code_page(session, 80).text()


def test_programs_of_other_kinds_have_no_converted_code(folder: Path) -> None:
    (folder / "plain.tl").write_text("func f(x: int64) -> int64 {\n  y = add x, 1\n  return y\n}\n")
    assert "no converted code" in code_page(session_after("plain.tl:f", "3", do="run"), 80).text()


def test_the_current_activation_is_bright(folder: Path) -> None:
    """At each position the mark of the current activation has a bright colour, and the others have the faded one of
    their number."""
    session = session_after("fib.py:fib", "3", do="run")
    tags = {event.token.tag for event in session.history}
    for position in range(1, len(session.history), 7):
        session.execute(f"goto {position}")
        marks = {tag: mark for tag in tags if (mark := mark_activation(session, tag)).number}
        assert {tag for tag, mark in marks.items() if mark.is_current} == {session.current_tag}
        for mark in marks.values():
            colours = ACTIVATION_COLOURS if mark.is_current else FADED_ACTIVATION_COLOURS
            assert mark.colour == colours[(mark.number - 1) % len(colours)]
    assert not set(ACTIVATION_COLOURS) & set(FADED_ACTIVATION_COLOURS)


def test_the_tree_of_tags(folder: Path) -> None:
    """Calls have their arguments and, once it has come, their result; loops have their variables."""
    session = session_after("fib.py:fib", "3", do="run")
    assert tags_page(session).text().splitlines()[:3] == [
        "> ✓ #1 fib(3) = 3",
        "    ✓ #2 fib(2) = 2",
        "      ✓ #4 fib(1) = 1",
    ]
    session.execute("goto 20")
    assert "=" not in tags_page(session).text() and "more" not in tags_page(session).text()
    assert "loop[0]: i = 0, n = 30" in tags_page(session_after("acts.py:told", "30", do="goto 20")).text()
    assert "19 more" in tags_page(session_after("acts.py:told", "30", do="run")).text()


@pytest.mark.parametrize("width", [26, 42])
def test_deep_activations_are_named(folder: Path, width: int) -> None:
    """However deep the tree is, the rows that a narrow pane shows together have the numbers of their activations and
    the beginning of their calls, and a deeper row is further to the right; without a shift, they have not."""
    page = tags_page(session_after("fib.py:fib", "1", do="load fib.py:fib 25 --schedule lifo;goto 400"))
    first, count = len(page.rows) - 7, 7
    hidden = page.hidden_indent(first, count, width)
    for columns, has_names in ((hidden, True), (0, False)):
        texts = ["".join(span.text for span in row.outdent(columns).fit(width)) for row in page.rows[first:]]
        assert all(re.search(r"#\d+ fib\(", text[: width - 4]) for text in texts) == has_names
    shown = [row.outdent(hidden) for row in page.rows[first:]]
    depths = sorted({row.indent for row in page.rows[first:]})
    assert hidden and len({row.indent for row in shown}) == len(depths) > 1
    assert page.hidden_indent(0, 3, width) == 0 and page.rows[0].outdent(hidden) == page.rows[0]


def test_tags_all_agrees_with_the_pane(folder: Path) -> None:
    """`tags all` prints the activations of the pane."""
    session = session_after("fib.py:fib", "3", do="goto 40")
    reply = session.execute("tags all")
    assert reply.text[0] == "   main: fib(3), open, 1 token" and reply.text[-1] == "     fib_1: fib(1) = 1"
    rows = tags_page(session).rows
    assert [row["tag"] for row in reply.data["activations"]] == [row.tag for row in rows]
    assert all(text["said"] in row.text for text, row in zip(reply.data["activations"], rows, strict=True))
    assert not session.execute("tags some").ok


def test_the_inspector(folder: Path) -> None:
    """The pane shows the current or the selected node: ports, firings, and values as a line of blocks."""
    session = session_after("fib.py:fib", "5", do="run;select add")
    reply = inspector_page(session)
    assert reply.subtitle == "fib.add (selected)" and "7 firings" in reply.text() and "▁" in reply.text()
    assert next(row for row in reply.rows if "→ 8" in row.text).command.startswith("goto ")
    session.execute("select"), session.execute("goto 7")
    assert "fib.subtract  subtract" in inspector_page(session).text()
    assert "fires once port 0 has a token (S2)" in inspector_page(session).text()
    assert "then computes, under the same tag (S5)" in inspector_page(session).text()
    reply = session_after("fib.py:fib", "5", do="goto 30;select cond;run;node-back cond")
    ports = [each.text for each in inspector_page(reply).rows if each.text.startswith("  port")]
    assert sorted(port.split()[2] for port in ports) == ["no", "▶"], "a merge takes one token"


def test_the_inspector_names_helpers(tmp_path: Path) -> None:
    """The pane and `inspect` name the calls of helpers that a node is in, such as layers, outermost first; a node in
    none has no such row."""
    (tmp_path / "layers.py").write_text(
        "import tagloom as tl\n\n\nclass Layer:\n    @tl.autograph.inline\n    def apply(self, x):\n"
        "        return tl.sigmoid(x) * 2.0\n\n\n@tl.function\ndef main(x: tl.float64) -> tl.float64:\n"
        "    return Layer().apply(x) + 1.0\n"
    )
    session = session_after(f"{tmp_path / 'layers.py'}:main", "0.5", do="run;search sigmoid")
    assert "in Layer.apply > sigmoid" in inspector_page(session).text()
    assert session.found_node is not None
    node = session.history.graph.nodes[session.found_node]
    assert "  in Layer.apply > sigmoid" in session.execute(f"inspect {node}").text
    session.execute("select add")
    assert "in Layer" not in inspector_page(session).text()


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("target", ["fib.py:fib", "acts.py:chain"])
@pytest.mark.parametrize("schedule", ["waves", "lifo"])
def test_ports_agree_with_the_events(folder: Path, target: str, schedule: str) -> None:
    """For every node, under every tag under which it fired or waits, the pane and `inspect` agree with the events: the
    operands of a firing, the waiting tokens, or nothing yet."""
    session = session_after(target, "4", do=f"load {target} 4 --schedule {schedule}")
    for position in (30, 49):
        assert session.execute(f"goto {position}").ok
        history, fired = session.history, {}
        for event in history[:position]:
            if event.inputs is not None:
                fired[event.token.node, event.token.tag] = event
        waits = {(node, tag) for tag, record in history.state.records.items() for node in record.waiting_operands}
        for number, tag in fired.keys() | waits:
            node, event = history.graph.nodes[number], fired.get((number, tag))
            reply = session.execute(f"select {node} {tag}")
            assert reply.data["fired_here"] == (event is not None)
            held = history.state.records[tag].waiting_operands.get(number, {}) if event is None else {}
            rows = iter(row.text for row in inspector_page(session).rows if row.text.startswith("  port"))
            for port, message in zip(node.ports, reply.data["ports"], strict=True):
                at, text = message["port"], next(rows)
                came = event.inputs[at] if event and node.op != "merge" else held.get(at)
                if port is not None:
                    assert message["has"] == "literal"
                elif event is not None and node.op == "merge":
                    assert message["has"] == ("consumed" if at == event.token.port else "unused")
                else:
                    assert message["has"] == ("consumed" if event else "waiting" if at in held else "empty")
                    assert message["value"] == (None if came is None else describe_value(history.graph, came))
                assert message["value"] is None or message["value"] in text


def test_an_old_firing_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operands of any firing are found, however many others the node has."""
    session = session_after("acts.py:told", "40", do="run")
    for near in (1, 2, 100):
        monkeypatch.setattr("tagloom.tui.session.node.SCAN_LIMIT", near)
        for iteration in (0, 7, 20, 39):
            session.execute(f"select told.add main/loop[{iteration}]")
            assert f"port 0  ▶ {iteration}" in inspector_page(session).text()


def test_inspect_agrees_with_the_pane_on_arrays(folder: Path) -> None:
    """`inspect` prints the type, statistics and chosen slice of an array, as the pane does."""
    session = session_after("kinds.py:doubled", "[1, 2, 3]", do="run;slice 1:")
    reply = session.execute("inspect add")
    assert reply.text[-1] == "  int64[3], min 2, max 6, mean 4, std 1.633; [1:]: [4, 6]"
    assert reply.data["array"] == {
        "type": "int64[3]",
        "min": 2,
        "max": 6,
        "mean": 4,
        "std": pytest.approx(1.633, 1e-3),
        "odd": 0,
    }
    assert "mean 4" in inspector_page(session).text()


@pytest.mark.parametrize("width", [27, 40, 90])
def test_sentences_are_wrapped(folder: Path, width: int) -> None:
    """The sentence about a node fits the pane, and no word is lost."""
    session = session_after("fib.py:fib", "5", do="run;select add")
    rows = [each.text for each in inspector_page(session, width).rows]
    message = rows[2 : next(number for number, text in enumerate(rows) if text.startswith("gives"))]
    assert max(map(len, message)) <= width
    assert "fires once all have tokens: port 0, port 1 (S2)" in " ".join(" ".join(message).split())


def test_a_node_before_its_activation(folder: Path) -> None:
    """A node in a loop that has not opened has no activation, and so no ports; later they are shown."""
    session = session_after("acts.py:told", "3", do="select told.less")
    assert "no activation of told.loop yet" in inspector_page(session).text()
    assert "no activation of told.loop yet" in "\n".join(session.execute("inspect told.less").text)
    session.execute("run")
    assert "yet" not in inspector_page(session).text() and "under #5 main/loop[3]" in inspector_page(session).text()


def test_the_slice_of_arrays_is_chosen(folder: Path) -> None:
    """`slice` chooses the part of arrays that is shown; a wrong slice is refused, and changes nothing."""
    session = session_after("fib.py:fib", "3")
    assert session.execute("slice [0, 2:5]").ok and session.focus.array_slice == "0, 2:5"
    for wrong in ("", "main()", "::0", "..., ...", "1 2", "0,,1"):
        assert not session.execute(f"slice {wrong}").ok and session.focus.array_slice == "0, 2:5"
    assert session.execute("slice ...").ok and not session.focus.array_slice


def test_ports_have_numbers_in_full_and_arrays_in_short(folder: Path) -> None:
    """A number at a port has all its digits; an array has its first elements, with four digits."""
    session = session_after("arrays.py:thirds", "[1.0, 2.0, 7.0]", "0.1", do="run;select multiply")
    ports = [row.text for row in inspector_page(session).rows if row.text.startswith("  port")]
    assert ports == ["  port 0  ▶ [0.3333, 0.6667, 2.333]", "  port 1  ▶ 0.1"]
    session.execute("select return")
    assert "port 0  ▶ 0.3333333333333333" in inspector_page(session).text()


def test_arrays_that_calls_pass_on_are_not_repeated(folder: Path) -> None:
    """Titles of calls leave out arrays that the caller got, too; the pane of the call names several in one row. If a
    row of the tree is too long, its result stays."""
    session = session_after("arrays.py:walk", "[1, 2]", "[3, 4]", "[5, 6]", "1", do="run")
    tree = [row.text.split("  ")[-1] for row in tags_page(session).rows]
    assert [text.partition(" ")[2] for text in tree] == [
        "#1 walk([1, 2], [3, 4], [5, 6], 1) = 11",
        "#2 walk(…, 0) = 5",
        "#3 walk(…, -1) = 0",
    ]
    first = tags_page(session).rows[0]
    assert "".join(span.text for span in first.fit(24)) == "✓ #1 walk([1, 2], … = 11"
    session.execute("tag-back main/walk/walk"), session.execute("tag-back main/walk/walk")
    rows = [row.text for row in call_page(session).rows]
    assert rows[:3] == ["#3 walk(…, -1)  walk/walk", "  left, right, values as in #2 ", "  i = -1"]


def test_captured_arrays_are_not_among_the_arguments_of_a_call() -> None:
    """The title of the outermost call leaves out what its function captures, such as weights, in the tree of tags, in
    the call, in the player's list and title and in captions; the rows of the call have it."""
    weight = tl.Variable([[1.0, 2.0], [3.0, 4.0]])

    @tl.function
    def layer(x: tl.Array[tl.float64, 2]) -> tl.Array[tl.float64, 2]:
        return x @ weight

    session, history = new_session(), layer.history([1.0, 1.0])
    session.add_run(history)
    assert session.execute("run").ok
    session.run.index.catch_up(history)
    assert call_page(session).rows[0].text.startswith("#1 layer([1.0, 1.0])  ")
    assert [row.text.strip() for row in call_page(session).rows[1:3]] == ["x = [1.0, 1.0]", "weight = float64[2, 2]"]
    tree = activation_tree_view(history.graph, history.arguments, history[:])
    start, full_start = describe_start(history.graph, history.arguments)
    assert full_start == "layer([1.0, 1.0], float64[2, 2])"
    titles = [start, tags_page(session).rows[0].text, next(iter(tree.boxes.values())).title]
    titles.append(moment_view(history).caption)
    assert all("layer([1.0, 1.0])" in title for title in titles), titles


def test_each_result_of_a_call_has_a_name() -> None:
    """The pane of the call names the results of a call as formulas do."""

    @tl.function
    def divided(n: tl.int64, m: tl.int64) -> tuple[tl.int64, tl.int64]:
        return n // m, n % m

    @tl.function
    def main(n: tl.int64) -> tl.int64:
        quotient, rest = divided(n, 10)
        return quotient * rest

    session = new_session()
    session.add_run(main.history(47))
    assert session.execute("run").ok
    session.run.index.catch_up(session.history)
    rows = [row.text.strip() for row in call_page(session).rows]
    assert rows[2:5] == ["divided = 4  #2", "divided_1 = 7  #2", "multiply = 28  divided * divided_1"]


def test_rows_of_arrays() -> None:
    """An array has its type, its statistics and a slice, also if it is empty or not finite."""
    texts = [
        "\n".join(row.text for row in array_rows(array)) for array in (np.arange(12.0).reshape(6, 2), np.zeros((0, 3)))
    ]
    assert "float64[6, 2]" in texts[0] and "mean 5.5" in texts[0] and "and 2 rows more" in texts[0]
    assert texts[1] == "array float64[0, 3]"
    assert "2 not finite" in "\n".join(row.text for row in array_rows(np.array([1, np.nan, np.inf])))
    chosen = "\n".join(row.text for row in array_rows(np.arange(12.0).reshape(6, 2), "-1, :"))
    assert "[-1, :] [2]" in chosen and "11.0" in chosen and "mean 5.5" in chosen
    fractions = np.arange(1, 13).reshape(2, 6) / 7
    *_, last = array_rows(fractions)
    assert last.text.split() == ["1.0", "1.143", "1.286", "1.429", "1.571", "1.714"]
    *_, last = array_rows(fractions, "1, 1")
    assert "1.1428571428571428" in last.text
    assert "there is no slice [9]" in "\n".join(row.text for row in array_rows(np.arange(3), "9"))
    assert "1 of 2 true" in "\n".join(row.text for row in array_rows(np.array([True, False])))


def test_the_pane_of_source(folder: Path) -> None:
    """The line of the current node is marked, and so is one with a breakpoint; a second click removes that."""
    session = session_after("fib.py:fib", "4", do="goto 6")
    line = source_page(session, 80).rows[5]
    assert line.is_current and line.command == "break line == 6 and fired"
    session.execute(line.command)
    again = source_page(session, 80).rows[5]
    assert again.text.startswith("●") and again.command == "delete 1"


@pytest.mark.parametrize("width", [20, 30, 44, 90])
def test_the_line_of_source_is_wrapped(folder: Path, width: int) -> None:
    """A line that made nodes is shown whole, whatever the width of the pane, and all of the current expression is
    underlined; each of its rows has its breakpoint. The line itself is unchanged where it fits."""
    (folder / "wide.py").write_text(LONG_LINE)
    session = session_after("wide.py:f", "4", do="run")
    session.execute("select logical_and")
    line = LONG_LINE.splitlines()[4]
    for page, gutter in ((source_page(session, width), 6), (code_page(session, width), 5)):
        rows = [row for row in page.rows if row.is_current]
        assert {row.line for row in rows} == {5}
        assert max(len(row.text) for row in rows) <= width and (len(rows) == 1) == (len(line) + gutter <= width)
        lit = [span.text for row in rows for span in row.spans if span.underlined]
        assert "".join(lit).replace(" ", "") in ("(a<b)&(b<c)", "a<b)&(b<c")
    shown = "".join(row.text[6:] for row in source_page(session, width).rows if row.is_current)
    assert shown.replace(" ", "") == line.replace(" ", "")
    assert {row.command for row in source_page(session, width).rows if row.is_current} == {"break line == 5 and fired"}


def test_the_pane_of_events(folder: Path) -> None:
    """All known events are listed; or those under a tag, or with a condition that holds, new ones too."""
    session = session_after("fib.py:fib", "4", do="goto 50;goto 23")
    assert len(events_page(session).rows) == 50 and events_page(session).rows[22].is_current
    session.execute("only main/fib_1"), session.execute("events op == 'subtract'")
    assert {row.tag for row in events_page(session).rows} == {"main/fib_1"} and len(events_page(session).rows) == 2
    session.execute("only"), session.execute("run")
    assert len(events_page(session).rows) == 8


def test_the_width_of_the_timeline(folder: Path) -> None:
    """The timeline has the requested width, whatever is known; each column leads to an event."""
    for position in (0, 1, 30, 200):
        session = session_after("fib.py:fib", "4", do="run;goto " + str(min(position, 99)))
        for width in (1, 10, 78, 300):
            result = build_timeline(session, width, 3)
            assert {len(row.text) for row in result.rows} == {width} and len(result.click_commands) == width
            assert result.click_commands[-1] == "goto 101"


def test_the_end_of_the_timeline(folder: Path) -> None:
    """At the end of the known events, the sign stands in the last column, and all before it is past."""
    session = session_after("fib.py:fib", "4", do="goto 26")
    for width in (10, 26, 77, 200):
        assert build_timeline(session, width, 1).rows[-1].text == "━" * (width - 1) + "◆"
    assert build_timeline(session_after("fib.py:fib", "4"), 20, 1).subtitle == "nothing has happened yet"


def test_workers_are_lanes_of_the_timeline(tmp_path: Path) -> None:
    """A log of a run on workers has a row for each in the timeline, with arrows where calls were donated, and events
    name their worker."""
    log = tmp_path / "run.jsonl"
    fib = find_program(f"{ROOT}/papers_examples/recursion/fib.py")
    fib.run(7, engine="distributed", workers=3, keep=log)
    session = new_session()
    session.execute(f"load {log}")
    result = build_timeline(session, 60, 4)
    assert {len(row.text) for row in result.rows} == {60} and len(result.rows) == 4
    assert "3 workers" in result.subtitle and "donation" in result.subtitle
    donations = [crossing for crossing in session.history.crossings if crossing.is_donation]
    assert 0 < sum(row.text.count("↓") + row.text.count("↑") for row in result.rows) <= len(donations)
    assert "↓" not in result.rows[0].text and "↑" not in result.rows[2].text
    assert len(build_timeline(session, 60, 2).rows) == 3 and "2 shown" in build_timeline(session, 60, 2).subtitle
    workers = {row.text[6:8] for row in events_page(session).rows}
    assert {"w0", "w1"} <= workers <= {"w0", "w1", "w2"}
    answer = session.execute("why fib.add main")
    assert "on worker 1" in "\n".join(answer.text)
    assert all(" at event " in line for line in answer.text[1:2])


def test_answers_are_wrapped(folder: Path) -> None:
    """No line is longer than the pane; a continued line leads where its beginning does."""
    looker = ScreenPresenter(session_after("fib.py:fib", "4"))
    seen = looker.do("run", lambda _: {}), looker.do("why add", lambda _: {"answers": PaneSize(41, 10)})
    rows = seen[1].pages["answers"].rows
    assert max(len(row.text) for row in rows) <= 40
    assert sum(row.command == "goto 99" for row in rows) == 2


def test_the_status_has_the_ending(folder: Path) -> None:
    """The status says that a run is over, or deadlocked; the flight names the pane to look at then."""
    assert "✓ 5 over" in status_row(session_after("fib.py:fib", "4", do="run")).text
    stuck = session_after(str(ROOT / DEADLOCK), "10", do="run")
    assert "deadlocked" in status_row(stuck).text
    assert (
        "15 tokens left waiting" in flight_page(stuck).text()
        and "8 shows 6 deferred reads" in flight_page(stuck).text()
    )


def test_inner_loops_are_folded_first(folder: Path) -> None:
    """Inner loops are folded before outer ones; a loop that the user opened, and those around it, never."""
    graph = session_after(str(ROOT / "papers_examples/roots/wavefront.py"), "3").history.graph
    view = graph_view(graph)
    names = {each.name: each.subject for each in view.root.walk()}
    order, must = folding_order(view)
    assert [names[each] for each in order][:2] == ["main.loop_1", "main.loop"] and must == 0
    assert folding_order(view, most=60)[1] == 1
    inner = next(name for name, subject in names.items() if subject == "main.loop_1")
    assert [names[each] for each in folding_order(view, {inner})[0]] == ["element.logical_or_else", "element"]


NETWORKS = ("recursion/tree_lstm.py", "eager/l2hmc.py", "recursion/gradient.py", "recursion/fib.py")


@cache
def example(file: str) -> Graph:
    return program_and_graph(find_program(str(ROOT / "papers_examples" / file)))[1]


@pytest.mark.full
@pytest.mark.parametrize("file", NETWORKS)
def test_a_small_pane_is_folded_as_all_pictures(file: str) -> None:
    """In a pane that is too small for the graph, a box is drawn for each node as in `tagloom show`."""
    graph = example(file)
    layout = lay_out_graph(LayoutRequest(graph, (), 48, 16))
    places = trim_view(graph_view(graph)).places
    assert {name: place for name, place in layout.places.items() if name != place} == {
        name: place for name, place in places.items() if name != place
    }


@pytest.mark.full
@pytest.mark.parametrize("file", [*NETWORKS, "tensorflow/digits.py"])
def test_a_wide_pane_shows_whole_networks(file: str) -> None:
    """The pane of a screen of 200 columns and 60 rows has the width of the graph, with at least 15 boxes."""
    if "digits" in file:
        pytest.importorskip("sklearn")
    request = LayoutRequest(example(file), (), 84, 46)
    layout = lay_out_graph(request)
    assert layout.drawing.size[0] <= request.width
    assert len(layout.folding.apply(layout.view).boxes) >= LEAST_BOXES


def test_a_fold_opens_by_one_level() -> None:
    """What is unfolded shows the clusters inside it as boxes, and all others stay as they are; folded again, it is as
    before. Each node can be drawn, and is, if everything is unfolded."""
    graph = example("eager/l2hmc.py")
    first = LayoutRequest(graph, (), 86, 48)
    view = graph_view(graph)
    clusters = {each.name: each for each in view.root.walk()}
    default = first.find_folding(view).clusters
    name = next(each for each in default if clusters[each].clusters)
    opened = first._replace(unfolded=(clusters[name].subject,)).find_folding(view).clusters
    assert set(opened) == {*default, *(inner.name for inner in clusters[name].clusters)} - {name}
    closed = first._replace(folded=(clusters[name].subject,)).find_folding(view).clusters
    assert set(closed) == set(default)
    subjects = tuple(filter(None, (each.subject for each in clusters.values())))
    assert not first._replace(unfolded=subjects).find_folding(view).clusters


def test_a_query_on_a_row_of_a_tag(folder: Path) -> None:
    """On a row about an activation, a query is about the current node in it."""
    session = session_after("fib.py:fib", "4", do="goto 30")
    line = suggest_line(session, COMMANDS["why"], tags_page(session).rows[1])
    assert line.startswith("why fib.") and line.endswith(" main/fib")


@pytest.mark.full
def test_the_pane_of_the_graph(folder: Path) -> None:
    """Tokens on a cached layout are those of a new drawing; only those under a chosen tag are drawn."""
    session = session_after("fib.py:fib", "4", do="goto 30")
    draft = lay_out_graph(LayoutRequest(session.history.graph, (), 80, 40))
    result = draw_tokens(draft, session)
    assert result.nodes["n4"] == str(session.history.graph.nodes[4]) and result.focus_cell is not None
    last = session.history[29]
    assert overlay_state(graph_view(session.history.graph), session.history.state, last) == state_view(
        session.history.state, last
    )
    session.execute("only main/fib/fib")
    assert result.drawing.text().count("●") > draw_tokens(draft, session).drawing.text().count("●")


def test_suggested_arguments_of_keys(folder: Path) -> None:
    """Missing words of a command are taken from the row under the cursor, or else from the current position."""
    session = session_after("fib.py:fib", "4", do="goto 22")
    second = flight_page(session).rows[1]
    assert suggest_line(session, COMMANDS["change"], second) == "change 1 "
    assert suggest_line(session, COMMANDS["choose"], second) == "choose 1"
    assert suggest_line(session, COMMANDS["why-not"], second) == "why-not fib.subtract_1 main/fib"
    assert suggest_line(session, COMMANDS["why"], None).startswith("why fib.")
    assert suggest_line(session, COMMANDS["break"], source_page(session, 80).rows[5]) == "break line == 6 and fired"
    assert suggest_line(session, COMMANDS["switch"], None) == "switch "
    for line in ("fork mine", "beside fib"):
        session.execute(line)
    assert suggest_line(session, COMMANDS["switch"], None) == "switch fib"


def test_a_snapshot_has_the_whole_screen(folder: Path) -> None:
    """One snapshot has all that a screen shows; an answer leads to its pane."""
    looker = ScreenPresenter(session_after("fib.py:fib", "4"))
    sizes = {pane: PaneSize(40, 10) for pane in PANES}
    assert looker.do("step 8", lambda front: sizes).front_pane is None
    seen = looker.do("why subtract", lambda front: sizes)
    assert seen.front_pane == "answers" and set(seen.pages) == {*PANES} - {"graph", "timeline"}
    assert any(row.command == "goto 7" for row in seen.pages["answers"].rows)
    assert "8 fired" in status_row(looker.session).text and [*seen.layout_requests] == ["graph"]


def test_runs_of_equal_graphs_share_a_layout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is loaded twice is laid out once; another program, and a pane of another size, need a layout of
    their own. A twin that takes any layout is caught."""

    def missing_layouts(line: str, width: int = 40) -> list[str]:
        sizes = {"graph": PaneSize(40, 10), "other graph": PaneSize(width, 10)}
        screen = ScreenPresenter(session_after("fib.py:fib", "4", do=line))
        for pane, request in screen.snapshot(sizes).layout_requests.items():
            if pane == "graph":
                screen.graph_layouts[pane] = lay_out_graph(request)
        return [*screen.do("beside fib", lambda front: sizes).layout_requests]

    (folder / "renamed.py").write_text((folder / "fib.py").read_text().replace("fib", "renamed"))
    assert missing_layouts("load fib.py:fib 3") == []
    assert missing_layouts("load fib.py:fib 3", width=60) == ["other graph"]
    assert missing_layouts("load renamed.py:renamed 3") == ["other graph"]
    monkeypatch.setattr(LayoutRequest, "__eq__", lambda self, other: True)
    assert missing_layouts("load renamed.py:renamed 3") == []


def test_printed_text_is_no_position(folder: Path) -> None:
    """A line that a program prints may look like a reply with a position; `printed` shows it as text."""
    source = (folder / "acts.py").read_text().replace('"i is"', '"told: "')
    (folder / "acts.py").write_text(source)
    looker = ScreenPresenter(session_after("acts.py:told", "2", do="run"))
    assert looker.do("printed", lambda _: {}).last_event.text == " told:  0"


@given(some.integers(20, 400), some.integers(10, 120), some.permutations(PANES), some.booleans())
def test_panes_fill_the_screen(width: int, height: int, asked: list[str], has_other: bool) -> None:
    """For every size and every choice of panes, each pane has one place, and the places fill the screen; those of a run
    beside the current one, too."""
    fronts = {pane: number for number, pane in enumerate(asked)}
    slots = arrange_panes(width, height, fronts, has_other=has_other)
    assert sum(slot.width * slot.height for slot in slots) == width * height
    every = [*PANES, *(OTHER_PANES if has_other else ())]
    assert sorted(pane for slot in slots for pane in slot.panes) == sorted(every)
    assert all(slot.width > 0 and slot.height > 0 for slot in slots)
    assert next(slot for slot in slots if asked[-1] in slot.panes).front == asked[-1]


def test_colours_are_legible() -> None:
    """Each colour of the table of styles has the contrast that text needs on either paper."""
    for theme in (LIGHT, DARK):
        for colour in PALETTE:
            assert contrast(legible_colour(colour, theme), theme.background) >= CONTRAST


@pytest.mark.full
def test_another_thread_is_interrupted(folder: Path) -> None:
    """Another thread can interrupt a command as Ctrl-C does in the main thread; the command stops at its position."""
    session = session_after("ends.py:endless", "1")
    replies = []
    thread = threading.Thread(target=lambda: replies.append(session.execute("run")))
    thread.start()
    while session.history.position <= 100:
        time.sleep(0.01)
    assert thread.ident is not None
    interrupt_thread(thread.ident)
    thread.join(60)
    assert not thread.is_alive() and "interrupted" in replies[0].text[0]
    assert session.execute("step").data["position"] > 100


@pytest.mark.full
def test_the_last_event_has_the_number_of_its_activation(folder: Path) -> None:
    """The line of the last event has the number of its activation in the first snapshot after it, too."""
    session = session_after("fib.py:fib", "4")
    presenter = ScreenPresenter(session)
    row = presenter.do("goto 60", lambda front: {}).last_event
    assert f"#{mark_activation(session, session.current_tag).number} " in row.text


def test_hints_end_with_a_whole_word() -> None:
    """As many keys are shown as fit, and the last one is complete."""
    for width in range(30, 220):
        text = key_hints(width).text
        assert len(text) <= width and text == text.rstrip()
        hints = pane_key_hints("flight", width)
        assert sum(len(key) + len(word) + 3 for key, word in hints) - 2 <= width
    assert key_hints(80).text.endswith("q quit") and "all commands" in key_hints(200).text
    assert [len(pane_key_hints("flight", width)) for width in (9, 10, 60)] == [0, 1, 4]
