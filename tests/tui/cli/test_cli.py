"""The command line: its output, streams and exit codes. Bad input is in test_bad_input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from tagloom.interp.machine import fire
from tagloom.interp.oracle.check import ENGINE_SCHEDULES, SCHEDULES
from tagloom.tui.cli.main import COMMANDS, load_command


@pytest.mark.full
def test_values_are_printed(tagloom: Any) -> None:
    """stdout has the value only, and the exit code is 0."""
    assert tagloom("run", "add.py", "2", "3") == (0, "5\n", "")
    assert tagloom("run", "add.py:add", "2", "3") == (0, "5\n", "")
    assert tagloom("run", "fib.py", "10") == (0, "90\n", "")
    assert tagloom("run", "fib.py:fib", "10") == (0, "89\n", "")
    assert tagloom("run", "kinds.py:nothing") == (0, "7\n", "")


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["1"], ["0: 1", "1: 3", "2: 5"]),
        (["1", "2"], ["0: 1", "1: 2", "2: 5"]),
        (["1", "2", "7", "8"], ["0: 1", "1: 2", "2: 5", "3.0: 7", "3.1: 8"]),
    ],
)
def test_arguments_are_positional(tagloom: Any, words: list[str], printed: list[str]) -> None:
    """Arguments are positional: the last ones that have defaults may be left out, and `*args` takes those left over."""
    source = "def f(x: tl.int64, y: tl.int64 = 3, *rest, k: tl.int64 = 5): return x, y, k, rest"
    Path("defaults.py").write_text(f"import tagloom as tl\n@tl.function\n{source}\n", encoding="utf-8")
    assert tagloom("run", "defaults.py", *words) == (0, "\n".join(printed) + "\n", "")


@pytest.mark.parametrize(
    ("type_name", "words", "printed"),
    [
        ("float32", ["1.5"], "float32(3.0)"),
        ("bfloat16", ["0.1"], "bfloat16(0.2)"),
        ("int8", ["-64"], "int8(-128)"),
        ("float64[2]", ["[1.5, 2.0]"], "[3.0, 4.0]"),
        ("float16[1]", ["[0.1]"], "float16([0.2])"),
        ("uint8[0]", ["[]"], "uint8[0]([])"),
    ],
)
def test_results_of_all_types_are_printed(tagloom: Any, type_name: str, words: list[str], printed: str) -> None:
    """NumPy's scalars and arrays are printed as literals, empty arrays too."""
    Path("twice.tl").write_text(f"func main(x: {type_name}) -> {type_name} {{\n  y = add x, x\n  return y\n}}\n")
    assert tagloom("run", "twice.tl", *words) == (0, f"{printed}\n", "")


def test_empty_lists_are_printed(tagloom: Any) -> None:
    """An empty list is printed as Python prints it."""
    Path("lists.py").write_text("import tagloom as tl\n@tl.function\ndef f(x: tl.int64): return []\n")
    assert tagloom("run", "lists.py", "1") == (0, "[]\n", "")


def test_none_prints_nothing(tagloom: Any) -> None:
    """Of a program that returns None, only what it prints is printed."""
    Path("show.py").write_text(
        "import tagloom as tl\n@tl.function\ndef f(x: tl.int64): tl.print(x)\n", encoding="utf-8"
    )
    assert tagloom("run", "show.py", "1") == (0, "1\n", "")


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(
    ("name", "word", "printed"),
    [
        ("negative", "3", "-3"),
        ("negative", "-3", "3"),
        ("negative", "+3", "-3"),
        ("negative", "-9223372036854775808", "-9223372036854775808"),
        ("half", "3", "1.5"),
        ("half", "-2.5", "-1.25"),
        ("half", "1e3", "500.0"),
        ("half", "-1e-3", "-0.0005"),
        ("half", "-.5", "-0.25"),
        ("half", "inf", "inf"),
        ("half", "-inf", "-inf"),
        ("half", "nan", "nan"),
        ("half", "-0.0", "-0.0"),
        ("flip", "true", "false"),
        ("flip", "false", "true"),
        ("flip", "True", "false"),
        ("doubled", "[1, -2]", "[2, -4]"),
        ("doubled", "[]", "int64[0]([])"),
        ("doubled", "@numbers.npy", "[2, 4, 6]"),
        ("both", "3", "4\nfalse"),
        ("anything", "3", "6"),
        ("anything", "-2.5", "-5.0"),
        ("anything", "[1, 2]", "[2, 4]"),
        ("anything", "[1.5]", "[3.0]"),
        ("anything", "@numbers.npy", "[2, 4, 6]"),
        ("anything", "inf", "inf"),
    ],
)
def test_arguments_are_literals(tagloom: Any, name: str, word: str, printed: str) -> None:
    """Literals of every type are read, negative numbers without `--`; several results are printed on a line each."""
    assert tagloom("run", f"kinds.py:{name}", word) == (0, f"{printed}\n", "")


@pytest.mark.full
def test_negative_arguments_after_a_double_dash(tagloom: Any) -> None:
    """`--` is not needed, and allowed."""
    assert tagloom("run", "add.py", "--", "-2", "-3").out == tagloom("run", "add.py", "-2", "-3").out == "-5\n"


@pytest.mark.full
def test_options_stand_anywhere(tagloom: Any) -> None:
    """Options may stand before, between and after the arguments."""
    for words in (["--seed", "3", "2", "-3"], ["2", "--seed", "3", "-3"], ["2", "-3", "--seed", "3"]):
        assert tagloom("run", "add.py", *words) == (0, "-1\n", "")


@pytest.mark.full
def test_a_file_elsewhere(tagloom: Any, folder: Path, monkeypatch: MonkeyPatch) -> None:
    """A file is found by any path, and imports its neighbours; names that it imports are not its own programs."""
    (folder / "away").mkdir()
    (folder / "uses.py").write_text(
        "from add import add\nimport tagloom as tl\n\n@tl.function\ndef f(x):\n    return add(x, x)\n"
    )
    monkeypatch.chdir(folder / "away")
    assert tagloom("run", "../uses.py", "4") == (0, "8\n", "")
    assert tagloom("run", str(folder / "uses.py"), "4") == (0, "8\n", "")


@pytest.mark.full
def test_a_name_with_a_colon_or_a_blank(tagloom: Any, folder: Path) -> None:
    """A file whose own name has a colon is found, with and without the name of a function."""
    for name in ("a:b.py", "a b.py"):
        (folder / name).write_text((folder / "add.py").read_text())
        assert tagloom("run", name, "1", "2") == tagloom("run", f"{name}:add", "1", "2") == (0, "3\n", "")


@pytest.mark.full
def test_stats_of_waves(tagloom: Any) -> None:
    """--stats prints the statistics after the value, and draws the profile."""
    code, out, err = tagloom("run", "fib.py:fib", "10", "--engine", "reference", "--stats")
    lines = out.splitlines()
    assert (code, err, lines[0]) == (0, "", "89")
    assert lines[1:23] == [
        "ending                Returned",
        "work                  1,591 firings",
        "span                  78 waves",
        "average parallelism   20.40",
        "time by waves         811 on 2, 425 on 4, 237 on 8, 144 on 16 processors",
        "largest store         60 tokens",
        "deepest tag           9",
        "activations           fib 177",
        "residue               0 tokens",
        "open activations      0",
        "engine, schedule      reference, waves",
        "",
        "                         firings         activations",
        "function  fib              1,591  100 %          177",
        "op        merge              354   22 %",
        "op        switch             354   22 %",
        "op        less_equal         177   11 %",
        "op        5 more             706   44 %",
        "site      fib.fib            176   11 %           88",
        "site      fib.fib_1          176   11 %           88",
        "",
        "firings in each wave",
    ]
    assert "█" in out and "1,591 firings in 78 waves" in out
    assert max(map(len, lines)) <= 80


def test_stats_of_another_schedule(tagloom: Any) -> None:
    """Without a clock there is no critical path, and the table names the schedule that has one."""
    _, out, _ = tagloom("run", "fib.py:fib", "5", "--stats", "--schedule", "fifo")
    assert out.count("measured under --schedule waves") == 3
    assert "firings in each wave" not in out
    assert out.endswith("site      fib.fib_1           14   11 %            7\n")


def test_stats_of_a_small_run(tagloom: Any) -> None:
    """A profile of at most one firing a wave is one row high; numbers of one are in the singular."""
    _, out, _ = tagloom("run", "graphs.py:double", "3", "--stats")
    assert "largest store         1 token\n" in out
    assert out.endswith("firings in each wave\n1│██\n0└──\n  1\n2 firings in 2 waves, at most 1 in one\n")


@pytest.mark.full
def test_cores(tagloom: Any) -> None:
    """--cores is the number of cores that fast may use, and --stats says how many ran; wrong numbers are refused."""
    one = tagloom("run", "fib.py:fib", "24", "--engine", "fast", "--cores", "1", "--stats").out.splitlines()
    two = tagloom("run", "fib.py:fib", "24", "--engine", "fast", "--cores", "2", "--stats").out.splitlines()
    row = one.index("engine, schedule      fast, waves")
    assert two == [*one[:row], "engine, schedule      fast on 2 cores, waves", *one[row + 1 :]]
    assert "75025" in tagloom("run", "fib.py:fib", "24", "--engine", "fast", "--cores", "2", "--stats", "--json").out
    code, _, err = tagloom("run", "fib.py:fib", "24", "--cores", "2")
    assert (code, "required: engine='fast'" in err) == (2, True)


def test_timelines(tagloom: Any, folder: Path) -> None:
    """--timeline writes what each worker did, for viewers of profiles."""
    options = "--engine", "distributed", "--cluster", "network:1", "--timeline", "run.json"
    assert tagloom("run", "fib.py:fib", "6", *options).code == 0
    events = json.loads((folder / "run.json").read_text())["traceEvents"]
    assert {event["args"]["name"] for event in events if event["name"] == "thread_name"} == {
        "driver", "worker 0", "worker 1",
    }  # fmt: skip
    code, out, err = tagloom("run", "fib.py:fib", "6", *options[:-1], "nowhere/run.json")
    assert (code, out, "cannot be written" in err) == (2, "13\n", True)
    code, _, err = tagloom("run", "fib.py:fib", "6", "--timeline", "run.json")
    assert code == 2 and "engine='distributed'" in err
    code, out, err = tagloom("run", "fib.py:fib", "6", *options[:-1], "run.txt")
    assert (code, out) == (2, "") and "a trace needs a .json file" in err
    code, out, err = tagloom("run", "fib.py:fib", "6", *options[:-1], "missing/run.json")
    assert (code, out) == (2, "13\n") and "missing" in err, "the result is not lost"


def test_workers(tagloom: Any) -> None:
    """--workers is the number of workers of distributed, and --stats says how many ran; --cluster says where."""
    options = "--engine", "distributed", "--workers", "3", "--cluster", "network:1"
    lines = tagloom("run", "fib.py:fib", "6", *options, "--stats").out.splitlines()
    assert "engine, schedule      distributed on 3 workers, waves" in lines
    code, _, err = tagloom("run", "fib.py:fib", "6", "--workers", "2")
    assert (code, "required: engine='distributed'" in err) == (2, True)


TOKEN_RUNS = (*SCHEDULES, *(f"fast:{name}" for name in ENGINE_SCHEDULES), "distributed")
"""The runs with tokens that check compares, where there is no graphics processor."""

LARGE = """
import numpy as np
import tagloom as tl

w = tl.Variable(np.arange(500.0), name="w")

@tl.function
def train(n: tl.int64) -> tuple[tl.Array[tl.int64, None], tl.Array[tl.int64, None]]:
    w.assign_add(1.0)
    return tl.arange(1000), tl.arange(1001)
"""


@pytest.mark.full
def test_large_arrays_are_abbreviated(tagloom: Any, folder: Path) -> None:
    """A result of at most 1,000 elements is printed in full; a larger one, and a variable of more than 32, with its
    type and a few elements. --json has every element."""
    (folder / "large.py").write_text(LARGE)
    small, large, variable = tagloom("run", "large.py", "1").out.splitlines()
    assert small == str(list(range(1000)))
    assert large == "int64[1001](0, 1, 2, ..., 1000)"
    assert variable == "w: float64[500](1.0, 2.0, 3.0, ..., 500.0)"
    document = json.loads(tagloom("run", "large.py", "1", "--json").out)
    assert [len(value) for value in document["value"]] == [1000, 1001, 500]


def test_json(tagloom: Any) -> None:
    """--json prints one document only, with keys such as status, value, firings and stats."""
    code, out, err = tagloom("run", "kinds.py:both", "3", "--json", "--stats")
    document = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert (document["tagloom"], document["version"]) == ("outcome", 1)
    assert (document["status"], document["value"], document["firings"]) == ("Returned", [4, False], 5)
    assert (document["traps"], document["residue"], document["error"]) == ([], [], None)
    assert (document["engine"], document["schedule"]) == ("reference", "waves")
    assert document["stats"]["profile"] == [1, 2, 2]
    assert document["stats"]["by_node"]["both.add"] == 1
    assert document["stats"]["activations"] == {"both": 1}


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["kinds.py:half", "nan"], ["nan"]),
        (["kinds.py:half", "-inf"], ["-inf"]),
        (["kinds.py:doubled", "[1, 2]"], [[2, 4]]),
        (["kinds.py:anything", "[inf, 1.5]"], [["inf", 3.0]]),
        (["kinds.py:flip", "true"], [False]),
        (["kinds.py:word", "3"], ["odd", "pair", 3]),
        (["kinds.py:word", "2"], [None, []]),
        (["ends.py:partly", "0"], [None, 0]),
    ],
)
def test_json_values(tagloom: Any, words: list[str], value: list[Any]) -> None:
    """Values are JSON's own, except that infinities and NaN are strings, and missing results are null."""

    def refuse(word: str) -> None:
        pytest.fail(f"{word} is not JSON")

    assert json.loads(tagloom("run", *words, "--json").out, parse_constant=refuse)["value"] == value


def test_json_of_a_trap(tagloom: Any) -> None:
    """If a run does not return, its error is in the document, with its calls, and on stderr; the exit code is 1."""
    code, out, err = tagloom("run", "ends.py:divide", "3", "0", "--json")
    document = json.loads(out)
    assert (code, document["status"], document["value"]) == (1, "Trapped", [None])
    assert [trap["words"] for trap in document["traps"]] == [document["error"]["words"]] == [err.rstrip("\n")]
    assert document["error"]["words"].endswith("  in divide")


@pytest.mark.full
def test_schedules_and_seeds(tagloom: Any) -> None:
    """Every schedule gives the value, and the document names it; --seed is that of random numbers."""
    for schedule in ("fifo", "lifo", "waves", "random:7"):
        document = json.loads(tagloom("run", "fib.py:fib", "6", "--schedule", schedule, "--json").out)
        assert (document["value"], document["schedule"]) == ([13], schedule)
    drawn = {tagloom("run", "acts.py:dice", "6", "--seed", seed).out for seed in ("0", "1", "2", "0")}
    assert len(drawn) == 3


@pytest.mark.full
def test_bounds(tagloom: Any) -> None:
    """--k bounds how many iterations of a loop overlap, and replaces the loops' own bounds."""
    assert tagloom("run", "acts.py:chain", "10", "--k", "9") == (0, "512\n", "")
    code, out, error = tagloom("run", "acts.py:chain", "10")
    assert (code, out) == (1, "") and "try a larger bound on the iterations of chain.loop: --k N" in error


@pytest.mark.full
def test_effects(tagloom: Any) -> None:
    """Prints come before the value. With --json they are on stderr, so that stdout is the document only. `check` prints
    nothing."""
    assert tagloom("run", "acts.py:told", "2") == (0, "i is 0\ni is 1\n2\n", "")
    code, out, error = tagloom("run", "acts.py:told", "2", "--json")
    assert (code, json.loads(out)["value"], error) == (0, [2], "i is 0\ni is 1\n")
    assert "i is" not in tagloom("check", "acts.py:told", "2").out


@pytest.mark.full
def test_the_time_and_memory_of_a_run(tagloom: Any) -> None:
    """--timeout and --max-bytes end a run."""
    for words, text in (("--timeout 0", "0 on time, in seconds"), ("--max-bytes 1", "1 on bytes of memory")):
        code, out, error = tagloom("run", "fib.py:fib", "20", *words.split())
        assert (code, out) == (1, "") and text in error


@pytest.mark.full
def test_until(tagloom: Any) -> None:
    """--until result stops at the result. Run to quiescence, the limit ends the run, and the result is printed."""
    words = ["run", "ends.py:first", "2", "2", "--max-firings", "1000"]
    assert tagloom(*words, "--until", "result") == (0, "1\n", "")
    code, out, err = tagloom(*words)
    assert (code, out) == (1, "1\n")
    assert err.splitlines() == [
        "S12: the run exceeds the limit of 1,000 on firings",
        "  hint: if the program ends, raise the limit: --max-firings N, or limits=tl.Limits(firings=N)",
        '  all its results had arrived: `--until result` (until="result") stops there',
    ]
    code, out, err = tagloom("run", "ends.py:traps", "5", "--until", "trap")
    assert (code, out, err.count("S5: ")) == (1, "", 1)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(("limit", "what"), [("firings", "firings"), ("tokens", "tokens at once"), ("depth", "nested")])
def test_limits(tagloom: Any, limit: str, what: str) -> None:
    """Any limit ends an endless program, with exit code 1 and an error that names the option."""
    code, out, err = tagloom("run", "ends.py:endless", "1", f"--max-{limit}", "1000")
    assert (code, out) == (1, "")
    assert err.startswith(f"S12: the run exceeds the limit of 1,000 on {what}")
    assert f"raise the limit: --max-{limit} N" in err


def test_traps(tagloom: Any) -> None:
    """A trap has its place, its operands and its calls; the results so far are not printed."""
    code, out, err = tagloom("run", "ends.py:partly", "0")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "S5: integer division by zero at node partly.floor_divide (ends.py:11) under main",
        "  got: floor_divide 1, 0",
        "  in partly",
    ]


@pytest.mark.full
def test_many_traps(tagloom: Any) -> None:
    """Of many traps, the first four in program order are printed, with the number of others."""
    code, out, err = tagloom("run", "ends.py:traps", "20")
    assert (code, out) == (1, "")
    assert re.findall(r"under (\S+)", err) == [f"main/loop[{k}]" for k in range(4)]
    assert err.endswith("and 16 more traps\n")
    assert tagloom("run", "ends.py:traps", "5").err.endswith("and 1 more trap\n")


@pytest.mark.full
def test_traps_are_printed_for_every_ending(tagloom: Any) -> None:
    """Traps are printed after a limit's own error, and for a run that stopped at its result."""
    quiet = tagloom("run", "ends.py:careless", "0")
    assert (quiet.code, quiet.out, quiet.err.count("S5: ")) == (1, "0\n", 2)
    limited = tagloom("run", "ends.py:careless", "0", "--max-firings", "30")
    assert (limited.code, limited.err[:4], limited.err.count("S5: ")) == (1, "S12:", 2)


def test_graphs_of_the_builder(tagloom: Any) -> None:
    """A graph built in Python runs like a function."""
    assert tagloom("run", "graphs.py:double", "-4") == (0, "-8\n", "")


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(
    ("name", "rule", "ending"), [("race", "V11", "S4: node race.m got a second token"), ("stuck", "V10", "S12: ")]
)
def test_an_invalid_graph(tagloom: Any, name: str, rule: str, ending: str) -> None:
    """An invalid graph is refused with its rule and exit code 2; with --unchecked it runs, and ends with exit code
    1."""
    code, out, err = tagloom("run", f"graphs.py:{name}", "2")
    assert (code, out, err.startswith(f"{rule}: ")) == (2, "", True)
    code, out, err = tagloom("run", f"graphs.py:{name}", "2", "--unchecked")
    assert (code, out, err.startswith(ending)) == (1, "", True)
    assert "Traceback" not in err


@pytest.mark.full
def test_check_agrees(tagloom: Any) -> None:
    """check prints a line for each way to run the program, and exits with 0 if all agree."""
    code, out, err = tagloom("check", "fib.py", "7")
    lines = [line.split(maxsplit=3) for line in out.splitlines()]
    assert (code, err) == (0, "")
    others = ("evaluator", "compiled")
    assert lines.pop(-2)[:3] == ["cuda", "-", "Refused"]  # no test machine has a graphics processor
    texts = {line[0]: line[3] for line in lines}
    assert [line[1:3] for line in lines] == [["agrees", "Returned"]] * len(lines)
    assert texts == dict.fromkeys(TOKEN_RUNS, f"22 after {json_firings(tagloom)} firings") | dict.fromkeys(others, "22")


def json_firings(tagloom: Any) -> int:
    result: int = json.loads(tagloom("run", "fib.py", "7", "--json").out)["firings"]
    return result


@pytest.mark.full
def test_check_differs(tagloom: Any, monkeypatch: MonkeyPatch) -> None:
    """If a way differs, its line says so, stderr has the first difference, and the exit code is 1."""
    monkeypatch.setitem(fire._ROUTING, "merge", lambda inputs, tag: ((0, 1),))
    code, out, err = tagloom("check", "add.py", "2", "3")
    differing = [line.split()[0] for line in out.splitlines() if line.split()[1] == "differs"]
    assert (code, differing) == (1, ["evaluator", *(f"fast:{name}" for name in ENGINE_SCHEDULES), "compiled"])
    assert err.splitlines() == [
        "the results differ (add, evaluated without tokens)",
        "  required: Returned 2",
        "  got: Returned 5",
    ]


@pytest.mark.full
def test_check_with_limits(tagloom: Any) -> None:
    """If a limit ended the runs, check says how little was compared."""
    code, out, err = tagloom("check", "ends.py:endless", "2", "--max-firings", "100")
    assert (code, out.count("agrees   Exhausted")) == (0, len(TOKEN_RUNS) + 1)
    assert "compiled      -        Refused" in out
    assert err == "a limit ended some of these runs: only the results that they had by then were compared\n"


@pytest.mark.full
def test_check_of_other_programs(tagloom: Any) -> None:
    """check accepts what run accepts: functions without annotations, graphs, traps."""
    assert tagloom("check", "kinds.py:anything", "2.5").code == 0
    assert tagloom("check", "graphs.py:double", "-2").out.count("agrees   Returned   -4") == len(TOKEN_RUNS)
    assert tagloom("check", "ends.py:divide", "1", "0").out.count("agrees   Trapped") == len(TOKEN_RUNS) + 2


@pytest.mark.full
def test_show_prints_the_text_form(tagloom: Any) -> None:
    """Without an output file, show prints the text form of the graph or program."""
    code, out, err = tagloom("show", "add.py")
    assert (code, err) == (0, "")
    assert out.startswith('from "add.py"\ngraph add(x: int64, y: int64) -> int64 {\n') and out.endswith("}\n")
    assert tagloom("show", "add.py", "--form", "graph").out == out
    assert tagloom("show", "add.py", "--form", "program").out == (
        'from "add.py"\nfunc add(x: int64, y: int64) -> int64 {  at 4\n'
        "  add = add x, y                         at 6\n  return add\n}\n"
    )
    assert tagloom("show", "graphs.py:double").out.startswith("graph double(")
    assert tagloom("show", "graphs.py:race").code == 0, "what breaks the rules can be looked at"


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("form", ["program", "graph"])
@pytest.mark.parametrize(
    ("suffix", "begins"), [("tl", b""), ("dot", b"digraph"), ("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_show_draws(tagloom: Any, folder: Path, form: str, suffix: str, begins: bytes) -> None:
    """With -o, both forms are written as text, DOT or a picture, by the suffix of the file; nothing is printed."""
    run = tagloom("show", "fib.py", "--form", form, "-o", f"drawn.{suffix.upper()}")
    if "this machine has no font" in run.err:
        pytest.skip("no font")
    assert run == (0, "", "")
    assert (
        (folder / f"drawn.{suffix.upper()}")
        .read_bytes()
        .startswith(begins or {"program": b'from "fib.py"\nfunc', "graph": b'from "fib.py"\ngraph'}[form])
    )


def test_version(tagloom: Any) -> None:
    """--version prints the version only."""
    assert tagloom("--version") == (0, f"tagloom {tl.__version__}\n", "")


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("words", [[], ["run"], ["check"], ["show"]])
def test_help(tagloom: Any, words: list[str]) -> None:
    """Requested help goes to stdout and fits into 80 columns; -h is --help."""
    code, out, err = tagloom(*words, "--help")
    assert (code, err, out[:14]) == (0, "", "Usage: tagloom")
    assert max(map(len, out.splitlines())) <= 80
    assert tagloom(*words, "-h").out == out


def test_the_list_of_commands(tagloom: Any) -> None:
    """The help lists each command with the first sentence of its own help."""
    _, listed, _ = tagloom("--help")
    for name, spec in COMMANDS.items():
        assert load_command(name).help.split(". ")[0].split("\n")[0].rstrip(".") == spec.summary.rstrip(".")
        assert f"  {name} " in listed and spec.summary[:40] in listed


IMPORTS = """
import sys
from tagloom.tui.cli.main import COMMANDS, load_command, run_command

run_command(["run", "sum.tl", "2", "3"])
print(*sys.modules)
for name in COMMANDS:
    load_command(name)
import tagloom.tui.panes.code
print(*sys.modules)
"""


@pytest.mark.full
def test_a_command_imports_what_it_needs(folder: Path) -> None:
    """`run` imports nothing of the debugger, of pictures, or of other commands. No command imports the converter of
    functions or what writes machine code before it needs any."""
    (folder / "sum.tl").write_text("func sum(x: int64, y: int64) -> int64 {\n  z = add x, y\n  return z\n}\n")
    ran = subprocess.run([sys.executable, "-c", IMPORTS], cwd=folder, capture_output=True, text=True, check=True)
    value, after_run, after_all = (set(line.split()) for line in ran.stdout.splitlines())
    modules = {f"tagloom.tui.cli.{spec.module}" for spec in COMMANDS.values()}
    assert value == {"5"} and modules & after_run == {"tagloom.tui.cli.run"} and modules <= after_all
    packages = ("tui.session", "tui.app", "viz.pictures", "viz.player", "interp.history", "interp.queries")
    unneeded = ("textual", "rich", "graphviz", "numba", *(f"tagloom.{package}" for package in packages))
    assert not [name for name in after_run if name.startswith(unneeded)]
    assert not [name for name in after_all - after_run if name.startswith("tagloom.interp.engines.compiled.")]
    assert "tagloom.tui.panes.code" in after_all and "tagloom.core.frontend.source.convert" not in after_all


def test_no_command(tagloom: Any) -> None:
    """Without a command, the help is the error: on stderr, with exit code 2."""
    code, out, err = tagloom()
    assert (code, out) == (2, "")
    assert all(command in err for command in ("run", "check", "show"))


@pytest.mark.full
def test_a_backend_is_compared_with_the_reference(tagloom: Any) -> None:
    """`conform` says how a backend compares, and exits with 0 if it is right, and with 2 if it does not start."""
    code, out, err = tagloom("conform", "add.py", "2", "3")
    assert (code, err) == (0, "") and "alike" in out
    code, out, _ = tagloom("conform", "add.py", "2", "3", "--backend", "false")
    assert code == 2 and "not run" in out
