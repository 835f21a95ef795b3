"""The session, command by command: what each does, and how it refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.observe.ctrl_c import ctrl_c_after
from tagloom.core.tag import ROOT
from tagloom.core.value import format_value
from tagloom.interp.engines.limits import Limits
from tagloom.interp.history.history import History
from tagloom.tui.app import app
from tagloom.tui.cli import debug
from tagloom.tui.cli.debug import run_prompt
from tagloom.tui.run_start import RunRequest, StartOptions
from tagloom.tui.session import query_commands as asking
from tagloom.tui.session.command import LEADER_KEY
from tagloom.tui.session.commands import COMMANDS, new_session
from tagloom.tui.session.listing import ArrayLiteral
from tagloom.tui.session.loop_end import describe_loop_end
from tagloom.tui.session.mark_commands import find_nodes
from tagloom.tui.session.run import SessionRun
from tagloom.tui.session.session import Session, completions


def session_of(target: str, *words: str, **options: Any) -> Session:
    """A session at the beginning of this run."""
    session = new_session(StartOptions(**options))
    session.load_run(RunRequest(target, words, session.options))
    return session


def run_commands(session: Session, *lines: str) -> Any:
    """The data of the last of these commands, all of which succeed."""
    for line in lines:
        reply = session.execute(line)
        assert reply.ok, reply
    return reply.data


def refusal_of(session: Session, line: str) -> str:
    """The message of a command that fails and changes nothing."""
    before = session.snapshot
    reply = session.execute(line)
    assert not reply.ok and session.snapshot == before
    return "\n".join(reply.text)


# The registry


def test_the_registry() -> None:
    """Names, keys and help texts exist and are unique, and the reverse of a reverse is the command. A key is one
    stroke, or the leader and a letter of the name."""
    keys = [command.key for command in COMMANDS.values()]
    assert len(set(keys)) == len(keys) and not set(keys) & set(COMMANDS) and LEADER_KEY not in keys
    for name, command in COMMANDS.items():
        first, *second = command.key
        assert name == command.name and command.help
        assert not second if first != LEADER_KEY else len(second) == 1 and second[0].lower() in name
        if command.reverse is not None:
            assert COMMANDS[command.reverse].reverse == name


def test_keys_and_names_mean_the_same(folder: Path) -> None:
    """A key is a short name; help describes a command, and suggests similar names."""
    session = session_of("fib.py:fib", "3")
    assert run_commands(session, "s")["position"] == 1 and run_commands(session, "S")["position"] == 0
    assert session.execute("help step").text[0] == "step [N]"
    assert "did you mean step" in refusal_of(session, "stpe") and "did you mean back" in refusal_of(session, "bac")
    assert "no command" in refusal_of(session, "  ")


def test_before_any_run() -> None:
    """Without a run every command can be given, and says so."""
    for name in COMMANDS:
        reply = new_session().execute(f"{name} 1")
        assert reply.ok or reply.data["error"] in ("Usage", "Malformed"), reply


def test_a_run_without_events(folder: Path) -> None:
    """If a run has no events, every command still has an answer."""
    session = new_session()
    session.add_run(tl.History(tl.GraphBuilder("empty").build(), []))
    for name in COMMANDS:
        if name not in ("load", "replay", "export", "pytest", "schedule"):
            for words in ("", " 0", " main", " a main"):
                assert session.execute(name + words).text or name == "quit"


# Motions


def test_goto(folder: Path) -> None:
    """`goto` takes a number, known or not, the start, the end, or a bookmark; a number beyond the end is refused."""
    session = session_of("fib.py:fib", "3")
    assert run_commands(session, "goto 20")["known"] == 20
    assert run_commands(session, "bookmark here a note", "goto 7", "goto @here")["position"] == 20
    assert "55 events" in refusal_of(session, "goto 1,000")
    assert run_commands(session, "goto end")["position"] == 55
    assert run_commands(session, "goto start")["position"] == 0
    assert "there is no bookmark 'x'" in refusal_of(session, "goto @x")
    assert run_commands(session, "bookmarks")["bookmarks"] == [
        {"name": "here", "run": "fib", "position": 20, "note": "a note"}
    ]


def test_over_goes_over_calls(folder: Path) -> None:
    """From the last call of an activation, `over` goes to the event at which its result has returned: here, to its
    `add`."""
    session = session_of("fib.py:fib", "4")
    tags, ops = [], []
    while True:
        data = run_commands(session, "over")
        if data["over"]:
            break
        tags.append(data["last"]["tag"])
        ops.append(data["last"]["op"])
    assert set(tags) == {"main"} and ops[-4:-1] == ["call", "call", "add"]


def test_over_goes_from_iteration_to_iteration(folder: Path) -> None:
    """In a loop, `over` stays in the loop, and `out` leaves it; `out-back` goes before it."""
    session = session_of("acts.py:told", "3")
    tag = run_commands(session, "goto 20")["last"]["tag"]
    assert tag.startswith("main/loop")
    seen = {run_commands(session, "over")["last"]["tag"] for _ in range(12)}
    assert len(seen) > 1 and all(each.startswith("main/loop") for each in seen)
    after = run_commands(session, "out")
    assert not any("loop" in row["tag"] for row in run_commands(session, "tags")["open"])
    assert run_commands(session, "goto 20", "out-back")["position"] < 20 < after["position"]
    assert not any("loop" in row["tag"] for row in run_commands(session, "tags")["open"])


def test_limits_end_a_command(folder: Path) -> None:
    """A command on an endless run stops at a limit, says so, and the session continues."""
    session = session_of("ends.py:endless", "1", limits=Limits(firings=200))
    assert "firings" in session.execute("run").text[0]
    assert run_commands(session, "back", "where")["position"] > 0
    assert "the limit of 200" in refusal_of(session, "goto 9999")
    session = session_of("fib.py:fib", "4", limits=Limits(firings=0))
    assert (
        "the limit of 0" in session.execute("run").text[0]
        and "the limit of 0" in run_commands(session, "where")["stopped"]
    )


@pytest.mark.full
@pytest.mark.timeout(60)
def test_ctrl_c_ends_a_command(folder: Path) -> None:
    """Ctrl-C ends a command over new events at its position, and the session can be used; other commands then change
    nothing."""
    session = session_of("ends.py:endless", "1")
    for line, stays in (("run", True), ("compare --schedule lifo", False)):
        before = session.snapshot
        with ctrl_c_after(0.3):
            reply = session.execute(line)
        assert not reply.ok and "interrupted" in reply.text[0]
        assert (session.snapshot != before) is stays
        assert run_commands(session, "step")["position"] > 100
    assert run_commands(session, "undo", "undo")["position"] > 100
    assert run_commands(session, "undo")["position"] == 0


# Breakpoints and watches


def test_breakpoints(folder: Path) -> None:
    """Breakpoints stop, ignore hits, are disabled, or print; hits count up to the position."""
    session = session_of("fib.py:fib", "4")
    run_commands(session, "break node == 'add' and fired ignore 1", "log node == 'add' and fired \"{tag}: {value}\"")
    data = run_commands(session, "continue")
    assert data["last"]["outputs"] == {"0": "2"} and data["logged"] == ["main/fib_1: 2", "main/fib/fib: 2"]
    assert [row["hits"] for row in run_commands(session, "breaks")["breakpoints"]] == [2, 2]
    assert run_commands(session, "reverse")["position"] == 0
    assert [row["hits"] for row in run_commands(session, "breaks")["breakpoints"]] == [0, 0]
    run_commands(session, "ignore 1 3", "delete 2")
    assert run_commands(session, "continue")["last"]["outputs"] == {"0": "5"}
    assert run_commands(session, "disable 1", "start", "continue")["over"]
    assert run_commands(session, "enable 1", "reverse")["last"]["node"] == "fib.add"
    assert "there is no breakpoint 7" in refusal_of(session, "delete 7")
    assert "no node 'nix'" in refusal_of(session, "break node == 'nix'")


def test_hits_are_those_of_the_run(folder: Path) -> None:
    """A fork has the hits of its own past, whatever happens in its parent."""
    session = session_of("fib.py:fib", "4")
    run_commands(session, "break node == 'add' and fired ignore 1", "run", "goto 80", "fork mine")
    assert run_commands(session, "breaks")["breakpoints"][0]["hits"] == 1
    assert run_commands(session, "continue")["last"]["tag"] == "main/fib/fib"
    assert run_commands(session, "switch fib", "breaks")["breakpoints"][0]["hits"] == 1


def test_the_programs_own_breakpoints(folder: Path) -> None:
    """The program's own breakpoint is the first of the session, and can be disabled like any other."""
    (folder / "own.py").write_text(
        "import tagloom as tl\n\n@tl.function\ndef f(n: tl.int64) -> tl.int64:\n"
        "    return tl.while_loop(lambda i: i < n, lambda i: (tl.breakpoint(i == 2), i + 1)[1], 0)[0]\n"
    )
    session = session_of("own.py", "4")
    assert run_commands(session, "continue")["last"]["tag"] == "main/loop[2]"
    assert run_commands(session, "start", "disable 1", "continue")["over"]


def test_watches(folder: Path) -> None:
    """A watch has the values of a node across tags up to the position, the last one at the end."""
    session = session_of("fib.py:fib", "4")
    run_commands(session, "watch add")
    values = [each["value"] for each in run_commands(session, "run")["watches"]["fib.add"]]
    assert values == ["2", "2", "3", "5"]
    assert [each["value"] for each in run_commands(session, "goto 93")["watches"]["fib.add"]] == ["2", "2"]
    assert len(run_commands(session, "run", "values add 3")["values"]) == 3
    assert set(run_commands(session, "load add.py 2 3", "watch add")["watches"]) == {"fib.add", "add.add"}
    assert set(run_commands(session, "unwatch fib.add")["watches"]) == {"add.add"}
    assert run_commands(session, "switch fib", "watch add", "unwatch add", "unwatch add.add")["watches"] == {}
    assert "did you mean add" in refusal_of(session, "watch addd")


# Questions


def test_queries(folder: Path) -> None:
    """`why`, `who` and `why-not` without a tag are about the last firing, or about the place where the node waits."""
    session = session_of("fib.py:fib", "4")
    run_commands(session, "run")
    assert run_commands(session, "why add")["tag"] == "main"
    assert session.execute("why add 1").text == session.execute("why add main 1").text
    assert session.execute("why add main 1").text[-1] == "7 more levels: depth 8 shows them"
    assert len(run_commands(session, "why add 8")["links"]) > len(run_commands(session, "why add")["links"])
    assert "not a number from 1 up" in refusal_of(session, "why add main 0")
    assert [user["said"][:8] for user in run_commands(session, "who add main/fib")["users"]] == ["fib.cond"]
    assert run_commands(session, "why-not add")["verdict"] == "fired"
    run_commands(session, "start")
    assert "`why-not add main` says why" in refusal_of(session, "why add main")
    assert run_commands(session, "why-not add main")["verdict"] == "pending"
    assert run_commands(session, "goto 20", "inspect cond.switch_n main/fib_1")["waiting"] == {"0": "2"}
    assert run_commands(session, "state")["waiting"]["count"] == len(
        run_commands(session, "state main/fib_1")["waiting"]
    )
    assert "has no call or loop" in refusal_of(session, "why-not add main/fib/loop")
    source = session.execute("source")
    assert any("tl.cond" in line for line in source.data["lines"])
    at = next(number for number, line in enumerate(source.text) if line.startswith("->"))
    begin, end = source.text[at + 1].index("^"), len(source.text[at + 1])
    assert source.text[at][begin:end] == source.data["expression"] and source.data["expression"].startswith("tl.cond(")


def test_origin_goes_to_where_a_value_was_made(folder: Path) -> None:
    """From the last firing back to the firing that made its first operand, and so on; the way does not stop at nodes
    that only pass a value on. An argument was made by no firing."""
    session = session_of("fib.py:fib", "4")
    run_commands(session, "run")
    nodes = [session.execute("origin").data["last"] for _ in range(6)]
    assert [each["node"] for each in nodes] == [
        "fib.add", "fib.add", "fib.add", "fib.literal", "fib.less_equal", "fib.subtract",
    ]  # fmt: skip
    assert run_commands(session, "run", "origin add main 1")["last"]["tag"] == "main/fib_1"
    position = session.history.position
    reply = session.execute("origin subtract main")
    assert reply.ok and reply.text == ("fib.subtract under main has the value of argument n = 4",)
    assert session.history.position == position
    assert "has not fired" in refusal_of(session, "origin add main/fib/fib/fib")
    assert "no token has come to port 9" in refusal_of(session, "origin add main 9")


# What if


def test_lists_of_next_tokens(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few tokens a list has, the next list continues it, and together they are all."""
    monkeypatch.setattr(asking, "MAX_SCANNED", 2)
    session = session_of("fib.py:fib", "6")
    run_commands(session, "goto 80")
    found, at = [], 0
    while True:
        data = run_commands(session, f"enabled {at}")
        found += [row["position"] for row in data["enabled"]]
        assert data["from"] == at and all(at <= row["position"] < at + 2 for row in data["enabled"])
        if not data["unscanned"]:
            break
        at += 2
    assert found == [each.position for each in session.history.ask.could_fire()] and len(found) > 5
    assert "more in flight: `enabled 2` goes on there" in session.execute("enabled").text[-1]


def test_choose(folder: Path) -> None:
    """Another token than the schedule's goes next; in the past this makes a fork; undone, it never happened."""
    session = session_of("fib.py:fib", "4")
    run_commands(session, "goto 12")
    following = run_commands(session, "flight")["next"]
    other = next(row["position"] for row in run_commands(session, "enabled")["enabled"] if row["position"] != following)
    data = run_commands(session, f"choose {other}")
    assert data["run"] == "fib" and data["position"] == 13
    assert run_commands(session, "undo", "flight")["next"] == following
    assert run_commands(session, "step", "back", "runs")["runs"][0]["run"] == "fib"
    made = run_commands(session, "run", "goto 12", f"choose {other}")
    assert made["fork_of"] == "fib" and made["run"] == "fib.1"
    assert run_commands(session, "run")["results"] == ["5"]
    assert "no token is at position 99" in refusal_of(session, "choose 99")


def test_a_schedule_is_saved(folder: Path) -> None:
    """The choices so far are a script that gives the same run."""
    session = session_of("fib.py:fib", "4", schedule="lifo")
    run_commands(session, "step 9", "choose 0", "step 4", "schedule mine.json")
    here = str(session.history.moment())
    again = session_of("fib.py:fib", "4", schedule="hand:mine.json")
    run_commands(again, f"goto {session.history.position}")
    assert str(again.history.moment()) == here


def test_change_and_inject(folder: Path) -> None:
    """A fork in which a token is changed, or injected; values have the type of the port."""
    session = session_of("fib.py:fib", "4")
    run_commands(session, "step 6")
    number = next(at for at, token in enumerate(run_commands(session, "flight")["flight"]) if token["value"] == "3")
    assert run_commands(session, f"change {number} 1", "run")["results"] == ["3"]
    run_commands(session, "switch fib", "inject add 0 main 40")
    assert " injected on port " in "\n".join(session.execute("runs").text)
    assert "a second token" in session.execute("run").text[0] and session.history.outcome().status == "Broken"
    assert "not a literal of this type" in refusal_of(session, "inject add 0 main 1.5")
    assert "not a literal" in refusal_of(session, "change add 0 main true")
    assert "a fork with an edit has no log" in refusal_of(session, "export x.jsonl")
    for line in ("inject literal 0 main true", "change literal 0 main true"):
        assert "required: port 1" in refusal_of(session, line)
    assert "no token comes to port 7" in refusal_of(session, "change add 7 main 5")


def test_effects_are_not_repeated(folder: Path) -> None:
    """Moving over known events prints nothing. A fork says how many effects may happen again, and performs them."""
    session = session_of("acts.py:told", "3")
    assert run_commands(session, "run")["printed"] == ["i is 0", "i is 1", "i is 2"]
    assert run_commands(session, "start", "run")["printed"] == []
    made = run_commands(session, "goto 30", "fork")
    assert made["repeats"] == 2 and run_commands(session, "run")["printed"] == ["i is 1", "i is 2"]


def test_printed_lines_up_to_the_position(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`printed` has the lines up to the position, before and after a fork too, and reads known events only."""
    session = session_of("acts.py:told", "3")
    assert run_commands(session, "printed")["lines"] == [] and run_commands(session, "goto 30", "printed")["lines"] == [
        "i is 0"
    ]
    assert run_commands(session, "fork", "run", "printed")["lines"] == ["i is 0", "i is 1", "i is 2"]
    read, looked = History.__getitem__, list[int]()
    with monkeypatch.context() as patch:
        patch.setattr(History, "__getitem__", lambda self, number: (looked.append(number), read(self, number))[1])
        assert len(run_commands(session, "printed")["lines"]) == len(looked) == 3
    assert run_commands(session, "start", "printed")["lines"] == []
    assert session.execute("load fib.py:fib 3").ok and session.execute("printed").text == ("nothing has been printed",)


def test_effects_after_a_choice(folder: Path) -> None:
    """After a choice at the end, the effects of a run may happen again in a fork from before the choice, and in the run
    itself if the choice is undone; both say so. Redo repeats nothing."""
    session = session_of("acts.py:told", "3")
    assert run_commands(session, "goto 17", "choose 2", "run")["printed"] == ["i is 0", "i is 1", "i is 2"]
    assert run_commands(session, "goto 5", "fork")["repeats"] == 3
    assert run_commands(session, "switch told", "goto 20", "fork late", "goto 8", "fork")["fork_of"] == "told"
    run_commands(session, *["undo"] * 5)
    assert [run_commands(session, "undo")["repeats"] for _ in ("fork", "goto 5", "run", "choose 2")] == [0, 0, 0, 3]
    assert run_commands(session, "redo", "redo")["printed"] == [] and run_commands(session, "where")["over"]


def test_runs_beside_each_other(folder: Path) -> None:
    """Two runs can be shown in two columns, and as data; names of runs are unique."""
    session = session_of("fib.py:fib", "4")
    sides = run_commands(session, "step 5", "fork mine", "step 2", "beside fib")["sides"]
    assert [side["run"] for side in sides] == ["mine", "fib"] and sides[0]["position"] > sides[1]["position"]
    assert session.other_run is session.find_run("fib")
    run_commands(session, "switch fib")
    assert session.other_run is session.find_run("mine")
    assert run_commands(session, "beside")["sides"] == [] and session.other_run is None
    assert [side["run"] for side in run_commands(session, "beside")["sides"]] == ["fib", "mine"]
    assert "this run is the current one" in refusal_of(session, "beside fib")
    run_commands(session, "switch mine")
    assert "there is a run 'mine' already" in refusal_of(session, "fork mine")
    assert run_commands(session, "load fib.py:fib 3")["run"] == "fib-2"


@pytest.mark.full
def test_many_forks_and_many_activations(folder: Path) -> None:
    """Forks nest without limit. Of many activations, some are listed, with the number of all."""
    session = session_of("ends.py:endless", "1", limits=Limits(firings=3000))
    assert run_commands(session, "run", "tags")["count"] > 500
    assert session.execute("tags").text[-1].endswith("more") and len(run_commands(session, "tags")["open"]) == 200
    for number in range(1500):
        session.enter_run(SessionRun(str(number), session.history, None, session.run.name))
    assert session.execute("runs").text[-1].startswith(f"->{'  ' * 1500} 1499: at")


# Comparing


def test_compare(folder: Path) -> None:
    """Schedules agree; other arguments and edited programs differ, and `difference` goes to the difference in both
    runs."""
    session = session_of("fib.py:fib", "4")
    assert run_commands(session, "goto 9", "compare --schedule lifo")["differs"] is False
    assert run_commands(session, "where")["position"] == 9
    assert run_commands(session, "compare --args 5")["arguments"] == ["argument n is 4 in the first, 5 in the second"]
    (folder / "edited.py").write_text((folder / "fib.py").read_text().replace("lambda: 1", "lambda: 2"))
    found = run_commands(session, "compare edited.py:fib")
    assert found["kind"] == "operands" and found["node"] == str(
        session.history.graph.nodes[session.find_node(found["node"])]
    )
    sides = run_commands(session, "difference")["sides"]
    assert sides[0]["last"]["node"] == sides[1]["last"]["node"]
    assert run_commands(session, "compare fib-lifo", "undo")["run"] == "fib"
    assert "no engine is called 'x'" in refusal_of(session, "compare --engine x")
    assert "compare needs another run" in refusal_of(session, "compare")
    assert run_commands(session, "compare --engine reference")["differs"] is False


def test_search(folder: Path) -> None:
    """`search` gives the numbers of the known events for which a condition holds."""
    session = session_of("fib.py:fib", "4")
    assert run_commands(session, "search node == 'add' and fired")["events"] == []
    numbers = [event["event"] for event in run_commands(session, "run", "search node == 'add' and fired")["events"]]
    assert [session.history[number].outputs[0][1] for number in numbers] == [2, 2, 3, 5]


def test_search_finds_nodes_first(folder: Path) -> None:
    """A text finds the nodes with it in their name, op, formula or helper, in any case: first those of that name, then
    those whose name begins with it, before events. A text that is neither in a node nor a condition is refused."""
    session = session_of("fib.py:fib", "4")
    session.execute("run")
    assert run_commands(session, "search ADD")["nodes"] == ["fib.add"]
    assert run_commands(session, "search n - 1")["nodes"] == ["fib.subtract"]
    assert run_commands(session, "search N-1")["nodes"] == ["fib.subtract"]
    assert run_commands(session, "search fib")["nodes"][:2] == ["fib.fib", "fib.fib_1"]
    reply = session.execute("search subtract")
    assert reply.text[0].startswith("fib.subtract (fib.py:") and "n - 1, fired 4 times, last at event " in reply.text[0]
    events = session.execute("search value == 2").data
    assert events["nodes"] == [] and events["events"]
    for text in ("zzz", "node == 'add"):
        refusal = session.execute(f"search {text}")
        assert refusal.data["error"] == "Usage"
        assert refusal.text[0].startswith(f"no node has {text!r} in its name, op, formula or helper; as a condition: ")


def test_search_finds_the_nodes_of_a_helper() -> None:
    """A text that is in the name of a helper, or of a function of tagloom, finds the nodes of its calls."""
    graph = tl.function(lambda x: tl.relu(x) * 2.0).trace(1.0).graph
    assert [graph.nodes[number].op for number in find_nodes(graph, "relu")] == ["less_equal", "where"]


def test_a_found_node_is_inspected_until_the_run_moves(folder: Path) -> None:
    """After `search` the first node that it found is inspected, and `node` goes to its firings, instead of those of the
    current node. When the run has moved, or another run is current, the node of the last event is inspected again."""
    session = session_of("fib.py:fib", "4")
    session.execute("goto 20")
    current = session.inspected_node
    session.execute("search n - 2")
    found = session.history.graph.only("subtract_1")
    assert session.inspected_node == session.found_node == found != current
    session.execute("fork")
    assert session.inspected_node == current
    session.execute("switch fib")
    assert session.inspected_node == found
    session.execute("node")
    event = session.history.last_event
    assert event is not None and event.token.node == found and session.found_node is None
    session.execute("goto 20")
    session.execute("select literal")
    session.execute("search n - 2")
    assert session.inspected_node == found
    session.execute("event")
    assert session.inspected_node == session.history.graph.only("literal")
    session.execute("search n - 2")
    session.execute("select")
    assert session.inspected_node == session.current_node


def test_the_read_that_waits_is_shown_at_a_deadlock(folder: Path) -> None:
    """Where a run has deadlocked, the read of the cell that nothing fills is inspected."""
    (folder / "squares.py").write_text("""import tagloom as tl

@tl.function
def main(n: tl.int64):
    squares = tl.cells(n + 1, tl.int64)
    for i in range(n):
        tl.put(squares, i, i * i)
    return squares[n]
""")
    session = session_of("squares.py:main", "3")
    assert "nothing fills squares[3]" in " ".join(run_commands(session, "run")["deadlock"])
    assert session.found_node == session.inspected_node == session.history.graph.only("get")
    session.execute("event-back")
    assert session.found_node is None


LOOPS = """import tagloom as tl

@tl.function
def divisor(n: tl.int64) -> tl.int64:
    d = 2
    while d * d <= n and n % d != 0:
        d = d + 1
    return d

@tl.function
def total(n: tl.int64) -> tl.int64:
    s = 0
    for i in range(n):
        s = s + i
    return s

@tl.function
def both(n: tl.int64) -> tl.int64:
    i = 0
    while tl.logical_and(i < n, i * i < 50):
        i = i + 1
    return i
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "argument", "iteration", "test"),
    [
        ("divisor", "35", 3, "remainder != 0"),
        ("divisor", "7", 1, "multiply <= n"),
        ("total", "3", 3, "i < n"),
        ("both", "5", 5, "i < n"),
        ("both", "50", 8, "multiply < 50"),
        ("both", "8", 8, "i < n and not multiply < 50"),
    ],
)
def test_the_test_that_ended_a_loop(folder: Path, name: str, argument: str, iteration: int, test: str) -> None:
    """The last iteration of a loop has the part of its predicate that was false, and no other iteration has one; at the
    beginning none has."""
    (folder / "loops.py").write_text(LOOPS)
    session = session_of(f"loops.py:{name}", argument)
    session.execute("run")
    session.run.index.catch_up(session.history)
    tags = sorted({event.token.tag for event in session.history} - {ROOT}, key=str)
    ends = {tag.iteration: describe_loop_end(session, tag) for tag in tags}
    assert ends == dict.fromkeys(range(iteration), "") | {iteration: test}
    session.execute("start")
    assert not any(describe_loop_end(session, tag) for tag in tags)


# Files


def test_views_of_the_other_run_leave_the_session_alone(folder: Path) -> None:
    """While the other run is viewed, it is the current one; then everything is as before, even after an interrupt."""
    session = session_of("fib.py:fib", "4")
    run_commands(session, "step 5", "fork mine", "beside fib", "only main/fib")
    before = session.snapshot, session.focus
    with pytest.raises(KeyboardInterrupt), session.swap_runs():
        assert (session.run.name, session.focus.other_run) == ("fib", "mine")
        raise KeyboardInterrupt
    assert (session.snapshot, session.focus) == before
    run_commands(session, "beside")
    with pytest.raises(tl.Usage, match="there is no run beside this one"), session.swap_runs():
        pass


def test_export_and_replay(folder: Path) -> None:
    """A log, an outcome and a graph are written, and a log can be loaded again; no program is overwritten."""
    session = session_of("fib.py:fib", "4")
    assert "the run of fib is not over" in refusal_of(session, "export a.json")
    run_commands(session, "run", "export a.jsonl", "export a.json", "export a.tl")
    assert tl.read_json("a.json").status == "Returned"
    assert (
        run_commands(session, "replay a.jsonl")["run"] == "fib-2" and run_commands(session, "goto 8")["position"] == 8
    )
    for line in ("pytest fib.py", "schedule fib.py"):
        assert "the output would replace the file that a run began from" in refusal_of(session, line)
    assert "NUL" in refusal_of(session, "export a\0.tl")
    # From Python 3.14 on, a path that is too long does not exist; before, it raises OSError.
    assert re.search("cannot be read|there is no such file", refusal_of(session, f"load {'a' * 5000}.py"))
    assert "cannot be read" in refusal_of(session, "replay none.jsonl")
    assert "cannot be written" in refusal_of(session, "export nowhere/a.tl")


MOMENTS: dict[str, tuple[str, Sequence[str], dict[str, Any], Sequence[str]]] = {
    "plain": ("fib.py:fib", ["4"], {}, ["step 20"]),
    "start": ("fib.py:main", ["4"], {"schedule": "random:7", "seed": 3}, []),
    "over": ("add.py", ["2", "3"], {"schedule": "lifo"}, ["run"]),
    "held": ("acts.py:chain", ["6"], {"k": 5}, ["run", "back 9"]),
    "traps": ("ends.py:partly", ["0"], {}, ["run"]),
    "array": ("kinds.py:doubled", ["@numbers.npy"], {}, ["run"]),
    "by hand": ("fib.py:fib", ["5"], {}, ["step 10", "choose 2", "step 9", "choose 1", "step 5"]),
    "edited": ("fib.py:fib", ["4"], {}, ["step 6", "change 1 1", "step 9", "inject add 0 main 5", "step"]),
    "script": ("acts.py:chain", ["6"], {"schedule": tl.Script([0] * 5, "lifo"), "k": 2}, ["step 44"]),
    "empty": ("rows.py", ["[[1.0, 2.0]]"], {}, ["change 0 float32[0, 2]([])", "run"]),
    "a log": ("fib.py:fib", ["3"], {}, ["run", "export run.jsonl", "replay run.jsonl", "goto 12"]),
    "graph": ("graphs.py:stuck", ["5"], {"unchecked": True}, ["run"]),
}


ROWS = """
import tagloom as tl

@tl.function
def rows(v: tl.Array[tl.float32, None, 2]) -> tl.Array[tl.float32, None, 2]:
    return v + v
"""


@pytest.mark.full
def test_exported_tests_pass(folder: Path) -> None:
    """`pytest FILE` writes a test that ruff accepts, and that passes; it fails if the program changes at that moment.
    Many kinds of moments are tried."""
    (folder / "rows.py").write_text(ROWS)
    names = {name: f"test_{name.replace(' ', '_')}.py" for name in MOMENTS}
    for name, (target, words, options, lines) in MOMENTS.items():
        session = session_of(target, *words, **options)
        run_commands(session, *lines, f"pytest {names[name]}")
    for ruff in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *ruff, "--isolated", "--no-cache", *names.values()]
        ran = subprocess.run(command, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout
    assert _passing(names) == set(names)
    for file in ("fib.py", "add.py", "acts.py", "kinds.py"):
        changed = (folder / file).read_text().replace("n - 1", "n - 3").replace("x + y", "x - y")
        (folder / file).write_text(changed.replace("2 * a", "3 * a").replace("v + v", "v * v"))
    assert _passing(names) == {"start", "traps", "script", "empty", "a log", "graph"}


def _passing(names: Mapping[str, str]) -> set[str]:
    """The subjects of the tests that pass. They run in this process, as functions."""
    passed = set[str]()
    for name, file in names.items():
        space: dict[str, Any] = {"__file__": str(Path(file).resolve())}
        exec(compile(Path(file).read_text(), file, "exec"), space)
        (test,) = [value for key, value in space.items() if key.startswith("test_")]
        with suppress(AssertionError, tl.TagloomError):
            test()
            passed.add(name)
    return passed


# The prompt


def test_the_prompt(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Typed lines are executed one by one; Ctrl-C at the prompt begins a new line, and Ctrl-D leaves."""
    lines = iter(["step", KeyboardInterrupt(), "", "nonsense", EOFError(), "step"])

    def typed(prompt: str) -> str:
        line = next(lines)
        if isinstance(line, BaseException):
            raise line
        return line

    monkeypatch.setattr("builtins.input", typed)
    session = session_of("fib.py:fib", "3")
    assert run_prompt(session) == 0 and session.history.position == 1
    said = capsys.readouterr().out
    assert "after 1 event" in said and "there is no such command" in said


def test_completion(folder: Path) -> None:
    """Tab completes commands, and then nodes, runs and bookmarks."""
    session = session_of("fib.py:fib", "3")
    run_commands(session, "bookmark here")
    assert "step" in set(completions(session, "st"))
    assert {"fib", "add", "fib.add", "@here"} <= set(completions(session, "goto "))


def test_replies_are_json(folder: Path) -> None:
    """The data of a reply is JSON, with values for which JSON has no number."""
    session = session_of("kinds.py:half", "nan")
    run_commands(session, "run")
    assert json.loads(json.dumps(session.execute("where").to_json(), allow_nan=False))["data"]["results"] == ["nan"]


def test_nothing_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs, log points and commands print nothing themselves: all output is in the replies."""
    session = session_of("acts.py:told", "2")
    run_commands(session, 'log fired "x"', "continue", "runs", "help")
    assert capsys.readouterr() == ("", "")


def test_large_arrays_are_abbreviated() -> None:
    """Replies write the first elements and the last of a large array. Their data have its literal, which is formatted
    only if it is read: a step of a network would take a fifth of a second."""

    @tl.function
    def twice(x: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, None]:
        return x + x

    session, data = new_session(), np.arange(10_000.0)
    session.add_run(twice.history(data))
    lines = ["flight", "state", "step 2", "inspect add", "why add", "values add", "back", "run", "why add", "outcome"]
    lines += ["goto 1", f"change 0 {[0.5] * 10_000}", "run", "why add", "runs"]
    for line in lines:
        reply = session.execute(line)
        assert reply.ok and all(len(text) < 300 for text in reply.text), (line, reply.text)
    assert "changed to float64[10000](0.5, 0.5, 0.5, ..., 0.5)" in "".join(session.execute("why add").text)
    reply = session.execute("goto 1")
    assert isinstance(reply.data["last"]["token"], ArrayLiteral)
    assert json.loads(debug.reply_json(reply))["data"]["last"]["token"] == format_value(data)


def test_printed_text_is_escaped(folder: Path) -> None:
    """Printed text is shown as lines of visible signs, and is raw only in the data."""
    source = (folder / "acts.py").read_text()
    (folder / "acts.py").write_text(source.replace('"i is"', r'"a\tb\x1b[2J\nc"'))
    reply = session_of("acts.py:told", "1").execute("run")
    assert reply.text[:2] == (r"a   b\x1b[2J", "c 0") and reply.data["printed"] == ["a\tb\x1b[2J\nc 0"]


@pytest.mark.parametrize(
    ("term", "driver", "way"), [("dumb", "", "prompt"), ("dumb", "web", "app"), ("xterm", "", "app")]
)
def test_a_dumb_terminal_gets_the_prompt(monkeypatch: pytest.MonkeyPatch, term: str, driver: str, way: str) -> None:
    """A dumb terminal gets the prompt, unless the app runs for a browser, where the server's terminal does not
    count."""
    monkeypatch.setenv("TERM", term)
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    if driver:
        monkeypatch.setenv("TEXTUAL_DRIVER", driver)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    ways: list[str] = []
    monkeypatch.setattr(debug, "run_prompt", lambda session: ways.append("prompt"))
    monkeypatch.setattr(app.Debugger, "run", lambda self: ways.append("app"))
    debug.debug_program(RunRequest("", (), StartOptions()), debug.DebugMode())
    assert ways == [way]
