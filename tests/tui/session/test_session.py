"""The session, command by command: what each does, and what it says where it cannot."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from tagloom.interp.engines.protocol import Limits
from tagloom.interp.history.history import History
from tagloom.tui.app import app
from tagloom.tui.cli import debug
from tagloom.tui.cli.debug import run_prompt
from tagloom.tui.run_start import Start, StartOptions
from tagloom.tui.session import query_commands as asking
from tagloom.tui.session.command import LEADER_KEY
from tagloom.tui.session.commands import COMMANDS, new_session
from tagloom.tui.session.run import SessionRun
from tagloom.tui.session.session import Session, completions


def begun(target: str, *words: str, **options: Any) -> Session:
    """A session in which this run stands at its beginning."""
    session = new_session(StartOptions(**options))
    session.load_run(Start(target, words, session.options))
    return session


def done(session: Session, *lines: str) -> Any:
    """The data of the last of some commands, all of which can be done."""
    for line in lines:
        reply = session.execute(line)
        assert reply.ok, reply
    return reply.data


def refused(session: Session, line: str) -> str:
    """What is said of a command that cannot be done; it changes nothing."""
    before = session.snapshot
    reply = session.execute(line)
    assert not reply.ok and session.snapshot == before
    return "\n".join(reply.text)


# The registry


def test_the_registry() -> None:
    """Names, keys and helps are there and are not given twice; a reverse is a command whose reverse it is. A key is one
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
    """A key is a short name; help tells a command, and what is nearly a name is told."""
    session = begun("fib.py:fib", "3")
    assert done(session, "s")["position"] == 1 and done(session, "S")["position"] == 0
    assert session.execute("help step").text[0] == "step [N]"
    assert "do you mean step" in refused(session, "stpe") and "do you mean back" in refused(session, "bac")
    assert "no command" in refused(session, "  ")


def test_before_any_run() -> None:
    """Every command can be given before there is a run, and says so."""
    for name in COMMANDS:
        reply = new_session().execute(f"{name} 1")
        assert reply.ok or reply.data["error"] in ("Usage", "Malformed"), reply


def test_a_run_without_events(folder: Path) -> None:
    """Where nothing ever happens, every command has an answer all the same."""
    session = new_session()
    session.add_run(tl.History(tl.Builder("empty").build(), []))
    for name in COMMANDS:
        if name not in ("load", "replay", "export", "pytest", "schedule"):
            for words in ("", " 0", " main", " a main"):
                assert session.execute(name + words).text or name == "quit"


# Motions


def test_goto(folder: Path) -> None:
    """To a number, known or not; a number beyond the end is refused; to the start, the end, a bookmark."""
    session = begun("fib.py:fib", "3")
    assert done(session, "goto 20")["known"] == 20
    assert done(session, "bookmark here a note", "goto 7", "goto @here")["position"] == 20
    assert "55 events" in refused(session, "goto 1,000")
    assert done(session, "goto end")["position"] == 55
    assert done(session, "goto start")["position"] == 0
    assert "there is no bookmark 'x'" in refused(session, "goto @x")
    assert done(session, "bookmarks")["bookmarks"] == [{"name": "here", "run": "fib", "position": 20, "note": "a note"}]


def test_over_goes_over_calls(folder: Path) -> None:
    """From the last call of an activation, `over` goes to where what was called has returned to it: here, its `add`."""
    session = begun("fib.py:fib", "4")
    tags, ops = [], []
    while True:
        data = done(session, "over")
        if data["over"]:
            break
        tags.append(data["last"]["tag"])
        ops.append(data["last"]["op"])
    assert set(tags) == {"main"} and ops[-4:-1] == ["call", "call", "add"]


def test_over_goes_from_iteration_to_iteration(folder: Path) -> None:
    """In a loop, `over` stays in the loop, and `out` leaves it; `out-back` is before it."""
    session = begun("acts.py:told", "3")
    tag = done(session, "goto 20")["last"]["tag"]
    assert tag.startswith("main/loop")
    seen = {done(session, "over")["last"]["tag"] for _ in range(12)}
    assert len(seen) > 1 and all(each.startswith("main/loop") for each in seen)
    after = done(session, "out")
    assert not any("loop" in row["tag"] for row in done(session, "tags")["open"])
    assert done(session, "goto 20", "out-back")["position"] < 20 < after["position"]
    assert not any("loop" in row["tag"] for row in done(session, "tags")["open"])


def test_limits_end_a_motion(folder: Path) -> None:
    """A motion over a run that does not end stops at a limit, says so, and the session goes on."""
    session = begun("ends.py:endless", "1", limits=Limits(firings=200))
    assert "firings" in session.execute("run").text[0]
    assert done(session, "back", "where")["position"] > 0
    assert "the limit of 200" in refused(session, "goto 9999")
    session = begun("fib.py:fib", "4", limits=Limits(firings=0))
    assert "the limit of 0" in session.execute("run").text[0] and "the limit of 0" in done(session, "where")["stopped"]


@pytest.mark.full
@pytest.mark.timeout(60)
def test_ctrl_c_ends_a_motion(folder: Path) -> None:
    """Ctrl-C ends a motion over new events where it has come to, and the session can be used; a command that is no
    motion changes nothing then."""
    session = begun("ends.py:endless", "1")
    for line, stays in (("run", True), ("compare --schedule lifo", False)):
        before = session.snapshot
        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
        reply = session.execute(line)
        assert not reply.ok and "interrupted" in reply.text[0]
        assert (session.snapshot != before) is stays
        assert done(session, "step")["position"] > 100
    assert done(session, "undo", "undo")["position"] > 100
    assert done(session, "undo")["position"] == 0


# Breakpoints and watches


def test_breakpoints(folder: Path) -> None:
    """Stops, ignored hits, disabled ones, log points, and hits that are those up to where one stands."""
    session = begun("fib.py:fib", "4")
    done(session, "break node == 'add' and fired ignore 1", "log node == 'add' and fired \"{tag}: {value}\"")
    data = done(session, "continue")
    assert data["last"]["outputs"] == {"0": "2"} and data["logged"] == ["main/fib_1: 2", "main/fib/fib: 2"]
    assert [row["hits"] for row in done(session, "breaks")["breakpoints"]] == [2, 2]
    assert done(session, "reverse")["position"] == 0
    assert [row["hits"] for row in done(session, "breaks")["breakpoints"]] == [0, 0]
    done(session, "ignore 1 3", "delete 2")
    assert done(session, "continue")["last"]["outputs"] == {"0": "5"}
    assert done(session, "disable 1", "start", "continue")["over"]
    assert done(session, "enable 1", "reverse")["last"]["node"] == "fib.add"
    assert "there is no breakpoint 7" in refused(session, "delete 7")
    assert "no node 'nix'" in refused(session, "break node == 'nix'")


def test_hits_are_those_of_the_run(folder: Path) -> None:
    """A fork has the hits of its own past, whatever happened in the run that it is a fork of."""
    session = begun("fib.py:fib", "4")
    done(session, "break node == 'add' and fired ignore 1", "run", "goto 80", "fork mine")
    assert done(session, "breaks")["breakpoints"][0]["hits"] == 1
    assert done(session, "continue")["last"]["tag"] == "main/fib/fib"
    assert done(session, "switch fib", "breaks")["breakpoints"][0]["hits"] == 1


def test_the_programs_own_breakpoints(folder: Path) -> None:
    """What the program calls a breakpoint is the first of the session, and can be disabled like any other."""
    (folder / "own.py").write_text(
        "import tagloom as tl\n\n@tl.function\ndef f(n: tl.int64) -> tl.int64:\n"
        "    return tl.while_loop(lambda i: i < n, lambda i: (tl.breakpoint(i == 2), i + 1)[1], 0)[0]\n"
    )
    session = begun("own.py", "4")
    assert done(session, "continue")["last"]["tag"] == "main/loop[2]"
    assert done(session, "start", "disable 1", "continue")["over"]


def test_watches(folder: Path) -> None:
    """A watch has the values of a node across tags up to where one stands, the last at the end."""
    session = begun("fib.py:fib", "4")
    done(session, "watch add")
    values = [each["value"] for each in done(session, "run")["watches"]["fib.add"]]
    assert values == ["2", "2", "3", "5"]
    assert [each["value"] for each in done(session, "goto 93")["watches"]["fib.add"]] == ["2", "2"]
    assert len(done(session, "run", "values add 3")["values"]) == 3
    assert set(done(session, "load add.py 2 3", "watch add")["watches"]) == {"fib.add", "add.add"}
    assert set(done(session, "unwatch fib.add")["watches"]) == {"add.add"}
    assert done(session, "switch fib", "watch add", "unwatch add", "unwatch add.add")["watches"] == {}
    assert "do you mean add" in refused(session, "watch addd")


# Questions


def test_questions(folder: Path) -> None:
    """Why, who, why-not; without a tag they are about the last firing, or about where the node waits."""
    session = begun("fib.py:fib", "4")
    done(session, "run")
    assert done(session, "why add")["tag"] == "main"
    assert [user["said"][:8] for user in done(session, "who add main/fib")["users"]] == ["fib.cond"]
    assert done(session, "why-not add")["verdict"] == "fired"
    done(session, "start")
    assert "`why-not add main` says why" in refused(session, "why add main")
    assert done(session, "why-not add main")["verdict"] == "pending"
    assert done(session, "goto 20", "inspect cond.switch_n main/fib_1")["held"] == {"0": "2"}
    assert done(session, "state")["waiting"]["count"] == len(done(session, "state main/fib_1")["waiting"])
    assert "has no call or loop" in refused(session, "why-not add main/fib/loop")
    source = done(session, "source")
    assert any("tl.cond" in line for line in source["lines"])


# What if


def test_what_could_go_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few tokens are looked at each time, from where one list ends the next goes on: together they are all."""
    monkeypatch.setattr(asking, "MAX_SCANNED", 2)
    session = begun("fib.py:fib", "6")
    done(session, "goto 80")
    found, at = [], 0
    while True:
        data = done(session, f"enabled {at}")
        found += [row["position"] for row in data["enabled"]]
        assert data["from"] == at and all(at <= row["position"] < at + 2 for row in data["enabled"])
        if not data["unlooked"]:
            break
        at += 2
    assert found == [each.position for each in session.history.ask.could_fire()] and len(found) > 5
    assert "more in flight: `enabled 2` goes on there" in session.execute("enabled").text[-1]


def test_choose(folder: Path) -> None:
    """Another token than the schedule's goes next; in the past that makes a fork; undone, it never happened."""
    session = begun("fib.py:fib", "4")
    done(session, "goto 12")
    following = done(session, "flight")["next"]
    other = next(row["position"] for row in done(session, "enabled")["enabled"] if row["position"] != following)
    data = done(session, f"choose {other}")
    assert data["run"] == "fib" and data["position"] == 13
    assert done(session, "undo", "flight")["next"] == following
    assert done(session, "step", "back", "runs")["runs"][0]["run"] == "fib"
    made = done(session, "run", "goto 12", f"choose {other}")
    assert made["fork_of"] == "fib" and made["run"] == "fib.1"
    assert done(session, "run")["results"] == ["5"]
    assert "no token is at position 99" in refused(session, "choose 99")


def test_a_schedule_is_saved(folder: Path) -> None:
    """What was chosen up to here is a script with which the run is the same."""
    session = begun("fib.py:fib", "4", schedule="lifo")
    done(session, "step 9", "choose 0", "step 4", "schedule mine.json")
    here = str(session.history.moment())
    again = begun("fib.py:fib", "4", schedule="hand:mine.json")
    done(again, f"goto {session.history.position}")
    assert str(again.history.moment()) == here


def test_change_and_inject(folder: Path) -> None:
    """A fork in which a token is another, or one more; values are of the type of the port."""
    session = begun("fib.py:fib", "4")
    done(session, "step 6")
    number = next(at for at, token in enumerate(done(session, "flight")["flight"]) if token["value"] == "3")
    assert done(session, f"change {number} 1", "run")["results"] == ["3"]
    done(session, "switch fib", "inject add 0 main 40")
    assert "nobody sent" in "\n".join(session.execute("runs").text)
    assert "a second token" in session.execute("run").text[0] and session.history.outcome().status == "Broken"
    assert "not a literal of this type" in refused(session, "inject add 0 main 1.5")
    assert "not a literal" in refused(session, "change add 0 main true")
    assert "a fork with an edit has no log" in refused(session, "export x.jsonl")
    for line in ("inject literal 0 main true", "change literal 0 main true"):
        assert "required: port 1" in refused(session, line)
    assert "no token comes to port 7" in refused(session, "change add 7 main 5")


def test_effects_are_not_repeated(folder: Path) -> None:
    """Going over what is known prints nothing; a fork says how many effects may happen again, and does them."""
    session = begun("acts.py:told", "3")
    assert done(session, "run")["printed"] == ["i is 0", "i is 1", "i is 2"]
    assert done(session, "start", "run")["printed"] == []
    made = done(session, "goto 30", "fork")
    assert made["repeats"] == 2 and done(session, "run")["printed"] == ["i is 1", "i is 2"]


def test_what_has_been_printed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to where one is, before and after a fork too; of the events that are known only those are looked at."""
    session = begun("acts.py:told", "3")
    assert done(session, "printed")["lines"] == [] and done(session, "goto 30", "printed")["lines"] == ["i is 0"]
    assert done(session, "fork", "run", "printed")["lines"] == ["i is 0", "i is 1", "i is 2"]
    read, looked = History.__getitem__, list[int]()
    with monkeypatch.context() as patch:
        patch.setattr(History, "__getitem__", lambda self, number: (looked.append(number), read(self, number))[1])
        assert len(done(session, "printed")["lines"]) == len(looked) == 3
    assert done(session, "start", "printed")["lines"] == []
    assert session.execute("load fib.py:fib 3").ok and session.execute("printed").text == ("nothing has been printed",)


def test_effects_after_a_choice(folder: Path) -> None:
    """What a run did after a choice at its end, a fork from before the choice may do again, and so may the run itself
    once the choice is undone: both say so. Done again, nothing is repeated."""
    session = begun("acts.py:told", "3")
    assert done(session, "goto 17", "choose 2", "run")["printed"] == ["i is 0", "i is 1", "i is 2"]
    assert done(session, "goto 5", "fork")["repeats"] == 3
    assert done(session, "switch told", "goto 20", "fork late", "goto 8", "fork")["fork_of"] == "told"
    done(session, *["undo"] * 5)
    assert [done(session, "undo")["repeats"] for _ in ("fork", "goto 5", "run", "choose 2")] == [0, 0, 0, 3]
    assert done(session, "redo", "redo")["printed"] == [] and done(session, "where")["over"]


def test_runs_beside_each_other(folder: Path) -> None:
    """Two runs in two columns, and as data; names are not given twice."""
    session = begun("fib.py:fib", "4")
    sides = done(session, "step 5", "fork mine", "step 2", "beside fib")["sides"]
    assert [side["run"] for side in sides] == ["mine", "fib"] and sides[0]["position"] > sides[1]["position"]
    assert "there is a run 'mine' already" in refused(session, "fork mine")
    assert done(session, "load fib.py:fib 3")["run"] == "fib-2"


@pytest.mark.full
def test_many_forks_and_many_activations(folder: Path) -> None:
    """Forks of forks go as deep as one likes; of many activations some are told, and how many there are."""
    session = begun("ends.py:endless", "1", limits=Limits(firings=3000))
    assert done(session, "run", "tags")["count"] > 500
    assert session.execute("tags").text[-1].endswith("more") and len(done(session, "tags")["open"]) == 200
    for number in range(1500):
        session.enter_run(SessionRun(str(number), session.history, None, session.run.name))
    assert session.execute("runs").text[-1].startswith(f"->{'  ' * 1500} 1499: at")


# Comparing


def test_compare(folder: Path) -> None:
    """Schedules agree; arguments and edited programs differ, and `difference` goes there in both runs."""
    session = begun("fib.py:fib", "4")
    assert done(session, "goto 9", "compare --schedule lifo")["differs"] is False
    assert done(session, "where")["position"] == 9
    assert done(session, "compare --args 5")["arguments"] == ["argument n is 4 in the first, 5 in the second"]
    (folder / "edited.py").write_text((folder / "fib.py").read_text().replace("lambda: 1", "lambda: 2"))
    found = done(session, "compare edited.py:fib")
    assert found["kind"] == "operands" and found["node"] == str(
        session.history.graph.nodes[session.find_node(found["node"])]
    )
    sides = done(session, "difference")["sides"]
    assert sides[0]["last"]["node"] == sides[1]["last"]["node"]
    assert done(session, "compare fib-lifo", "undo")["run"] == "fib"
    assert "no engine is called 'x'" in refused(session, "compare --engine x")
    assert "nothing says with what" in refused(session, "compare")
    assert done(session, "compare --engine reference")["differs"] is False


def test_search(folder: Path) -> None:
    """The known events for which a condition holds, by number."""
    session = begun("fib.py:fib", "4")
    assert done(session, "search node == 'add' and fired")["events"] == []
    numbers = [event["event"] for event in done(session, "run", "search node == 'add' and fired")["events"]]
    assert [session.history[number].outputs[0][1] for number in numbers] == [2, 2, 3, 5]


# Files


def test_export_and_replay(folder: Path) -> None:
    """A log, an outcome and a graph are written, and a log is a run again; nothing is written over a program."""
    session = begun("fib.py:fib", "4")
    assert "the run of fib is not over" in refused(session, "export a.json")
    done(session, "run", "export a.jsonl", "export a.json", "export a.tl")
    assert tl.read_json("a.json").status == "Returned"
    assert done(session, "replay a.jsonl")["run"] == "fib-2" and done(session, "goto 8")["position"] == 8
    for line in ("pytest fib.py", "schedule fib.py"):
        assert "a run began from this file" in refused(session, line)
    assert "NUL" in refused(session, "export a\0.tl") and "cannot be read" in refused(session, f"load {'a' * 5000}.py")
    assert "cannot be read" in refused(session, "replay none.jsonl")
    assert "cannot be written" in refused(session, "export nowhere/a.tl")


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


def test_a_test_of_a_moment(folder: Path) -> None:
    """`pytest FILE` writes a test that ruff has nothing to say of, and that passes; it fails once the program is
    otherwise at that moment. All sorts of moments are tried in one go."""
    (folder / "rows.py").write_text(ROWS)
    names = {name: f"test_{name.replace(' ', '_')}.py" for name in MOMENTS}
    for name, (target, words, options, lines) in MOMENTS.items():
        session = begun(target, *words, **options)
        done(session, *lines, f"pytest {names[name]}")
    for ruff in (["check"], ["format", "--check"]):
        ran = subprocess.run(
            ["ruff", *ruff, "--isolated", "--no-cache", *names.values()], capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stdout
    assert _passed(names) == set(names)
    for file in ("fib.py", "add.py", "acts.py", "kinds.py"):
        changed = (folder / file).read_text().replace("n - 1", "n - 3").replace("x + y", "x - y")
        (folder / file).write_text(changed.replace("2 * a", "3 * a").replace("v + v", "v * v"))
    assert _passed(names) == {"start", "traps", "script", "empty", "a log", "graph"}


def _passed(names: Mapping[str, str]) -> set[str]:
    """Which of these tests pass, by what they are of. They run in this process, as functions."""
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
    """A person's lines are done one by one; Ctrl-C at the prompt begins a new line, and Ctrl-D leaves."""
    lines = iter(["step", KeyboardInterrupt(), "", "nonsense", EOFError(), "step"])

    def typed(prompt: str) -> str:
        line = next(lines)
        if isinstance(line, BaseException):
            raise line
        return line

    monkeypatch.setattr("builtins.input", typed)
    session = begun("fib.py:fib", "3")
    assert run_prompt(session) == 0 and session.history.position == 1
    said = capsys.readouterr().out
    assert "after 1 event" in said and "there is no such command" in said


def test_completion(folder: Path) -> None:
    """Tab knows the commands, and after one the nodes, runs and bookmarks."""
    session = begun("fib.py:fib", "3")
    done(session, "bookmark here")
    assert "step" in set(completions(session, "st"))
    assert {"fib", "add", "fib.add", "@here"} <= set(completions(session, "goto "))


def test_replies_are_json(folder: Path) -> None:
    """What a reply says is JSON, values that JSON has no number for among it."""
    session = begun("kinds.py:half", "nan")
    done(session, "run")
    assert json.loads(json.dumps(session.execute("where").to_json(), allow_nan=False))["data"]["results"] == ["nan"]


def test_nothing_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs, log points and commands print nothing themselves: all is in the replies."""
    session = begun("acts.py:told", "2")
    done(session, 'log fired "x"', "continue", "runs", "help")
    assert capsys.readouterr() == ("", "")


def test_a_text_does_not_command_the_terminal(folder: Path) -> None:
    """What is printed comes as lines of signs, and raw only as data."""
    source = (folder / "acts.py").read_text()
    (folder / "acts.py").write_text(source.replace('"i is"', r'"a\tb\x1b[2J\nc"'))
    reply = begun("acts.py:told", "1").execute("run")
    assert reply.text[:2] == ("a   b·[2J", "c 0") and reply.data["printed"] == ["a\tb\x1b[2J\nc 0"]


@pytest.mark.parametrize(
    ("term", "driver", "way"), [("dumb", "", "prompt"), ("dumb", "web", "app"), ("xterm", "", "app")]
)
def test_a_dumb_terminal_gets_the_prompt(monkeypatch: pytest.MonkeyPatch, term: str, driver: str, way: str) -> None:
    """But not where the app is for a browser: what the server's terminal is like is not asked then."""
    monkeypatch.setenv("TERM", term)
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    if driver:
        monkeypatch.setenv("TEXTUAL_DRIVER", driver)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    ways: list[str] = []
    monkeypatch.setattr(debug, "run_prompt", lambda session: ways.append("prompt"))
    monkeypatch.setattr(app.Debugger, "run", lambda self: ways.append("app"))
    debug.debug_program(Start("", (), StartOptions()), debug.DebugMode())
    assert ways == [way]
