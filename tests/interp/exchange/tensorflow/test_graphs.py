"""Graphs that TensorFlow has written become programs; these tests need no TensorFlow."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from attack.command_line import run_words
from support.generators.gated_graphs import SMALL, GatedGraph, encoded, small_text
from support.programs.tensorflow_graphs import FRAMES, FUNCTIONS, SAVED_MODEL
from tagloom.core.value import format_value
from tagloom.interp.exchange.tensorflow import interpreter
from tagloom.interp.exchange.tensorflow.control import BranchGroup, ControlAnalysis
from tagloom.interp.exchange.tensorflow.messages import Message
from tagloom.interp.exchange.tensorflow.tensors import read_tensor
from tagloom.interp.exchange.tensorflow.text_format import parse_text
from tagloom.interp.exchange.tensorflow.wire import parse_message
from tagloom.viz.source_lines import local_line


def collatz(n: int) -> int:
    steps = 0
    while n > 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    return steps


def frames(text: str | None = None) -> tl.Function:
    """The function of the graph with frames, or of a changed text of it."""
    return tl.from_tensorflow(encoded(parse_text(text or FRAMES.read_text(), "GraphDef")), outputs=["steps"])


def contents(message: Message) -> Any:
    """The fields of a message, as dicts and lists."""
    return {name: plain(value) for name, value in message.values.items()}


def plain(value: Any) -> Any:
    match value:
        case Message():
            return contents(value)
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case list():
            return [plain(each) for each in value]
    return value


SOURCES: dict[str, Callable[[], tl.Function]] = {
    "frames": lambda: tl.from_tensorflow(FRAMES),
    "functions": lambda: tl.from_tensorflow(FUNCTIONS),
    "bytes": lambda: tl.from_tensorflow(FUNCTIONS.read_bytes()),
}


@pytest.mark.full
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("n", [0, 1, 6, 27])
def test_outcomes(source: str, n: int) -> None:
    """A graph computes what TensorFlow computes, under each schedule."""
    function = SOURCES[source]()
    for schedule in ("fifo", "lifo", "random:3"):
        assert function.run(np.int32(n), engine="reference", schedule=schedule).value == collatz(n)


@pytest.mark.parametrize("source", ["frames", "functions"])
def test_a_graph_is_one_loop_and_one_conditional(source: str) -> None:
    """Five primitives become a loop and a conditional, each once; a variable that no result depends on is left out, and
    a node points to its line."""
    program = SOURCES[source]().program
    nodes = [node for function in program.functions for node in function.body.walk()]
    ops = [node.op for node in nodes]
    assert ops.count("while_loop") == ops.count("cond") == 1 and len(ops) == 9
    (loop,) = (node for node in nodes if node.op == "while_loop")
    assert [variable.name for variable in loop.regions[1].parameters] == ["n_1", "zero"]
    location: Any = next(node for node in nodes if node.op == "remainder").location
    assert local_line(location).strip().startswith("sequence/mod = FloorMod(")
    assert [entry.name for entry in location.scopes][-1] == "mod"


@pytest.mark.full
@pytest.mark.parametrize("source", ["frames", "functions"])
def test_firings(source: str) -> None:
    """The body fires once a trip, the condition once more, and only the branch that is taken fires."""
    outcome = SOURCES[source]().run(np.int32(6), engine="reference", keep="events")
    name = SOURCES[source]().name
    assert len(outcome.values(f"{name}.greater")) == 9 and len(outcome.values(f"{name}.remainder")) == 8
    assert len(outcome.values(f"{name}.floor_divide")) == 6 and len(outcome.values(f"{name}.multiply")) == 2


def test_a_saved_model() -> None:
    """The variables have the values of the checkpoint."""
    function = tl.from_tensorflow(SAVED_MODEL)
    assert function.run(np.array([1, 2], np.float32)).value.tolist() == [6.0, 9.0]
    with pytest.raises(tl.Usage, match="does not have this signature"):
        tl.from_tensorflow(SAVED_MODEL, signature="other")


def test_the_beam_search_of_the_docs() -> None:
    """The SavedModel of the page returns what the page says, which is what TensorFlow computes."""
    docs = Path(__file__).parents[4] / "docs"
    value = tl.from_tensorflow(docs / "models" / "beam_search").run(np.int32(0), np.int32(8)).value
    page = (docs / "foreign.md").read_text(encoding="utf-8").partition("beam_search 0 8\n")[2].splitlines()
    assert page[0] == f"parents: {format_value(value['parents'])}"
    assert page[2] == f"words: {format_value(value['words'])}"
    assert value["words"].tolist() == [[1, 2, 3], [2, 1, 3], [3, 3, 2]]
    np.testing.assert_allclose(value["scores"], [-4.1998324, -4.3161917, -4.365652], rtol=1e-6)


def test_text_and_bytes_say_the_same() -> None:
    """Both readers of protobuf read what a writer wrote."""
    message = parse_text(FRAMES.read_text(), "GraphDef")
    assert contents(parse_message(encoded(message), "GraphDef")) == contents(message)
    assert encoded(parse_message(FUNCTIONS.read_bytes(), "GraphDef"))


def small(*nodes: str) -> tl.Function:
    """The function of a graph of x, a float32, p, a bool, and nodes, written NAME = OP(INPUTS)."""
    graph = encoded(parse_text(small_text(*nodes), "GraphDef"))
    return tl.from_tensorflow(graph, inputs=["x", "p"], outputs=["y"])


def test_a_merge_of_two_sides() -> None:
    """A Merge takes the live value, in either order of its inputs; control edges from a branch make a node dead."""
    for order in ("a, b", "b, a"):
        function = small("s = Switch(x, p)", "a = Neg(s:1)", "b = Exp(s)", f"y = Merge({order})")
        assert function.run(np.float32(0), True).value == 0 and function.run(np.float32(0), False).value == 1
    function = small("s = Switch(x, p)", "t = Identity(s:1)", "f = Identity(s)", "a = Neg(x, ^t)", "b = Exp(x, ^f)",
                     "y = Merge(a, b)")  # fmt: skip
    assert function.run(np.float32(0), True).value == 0 and function.run(np.float32(0), False).value == 1


REFUSALS: dict[str, tuple[tuple[str, ...], str]] = {
    "a race": (("a = Neg(x)", "y = Merge(x, a)"), "Merge y may get two live values"),
    "a Switch itself is not dead": (
        ("s = Switch(x, p)", "a = Neg(x, ^s)", "b = Exp(s)", "y = Merge(a, b)"), "Merge y may get two live values"
    ),
    "a side twice": (("s = Switch(x, p)", "a = Neg(s:1)", "y = Merge(a, s:1)"), "Merge y may get two live values"),
    "an unknown op": (("y = NcclAllReduce(x)",), "no op NcclAllReduce"),
    "a cycle": (("a = Add(x, y)", "y = Neg(a)"), "a cycle that is not a loop"),
    "no such output": (("y = Neg(x:4)",), "no output 4"),
    "no such node": (("y = Neg(z)",), "takes a value of 'z', which does not exist"),
    "an operand too many": (("y = Neg(x, x)",), "does not take these operands|Neg|negative"),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    """Errors for features that tagloom lacks, and for graphs without a meaning, name the node."""
    nodes, words = REFUSALS[name]
    with pytest.raises(tl.TagloomError, match=words):
        small(*nodes).program  # noqa: B018


DEAD_RESULTS: dict[str, tuple[tuple[str, ...], str]] = {
    "a value": (("s = Switch(x, p)", "y = Neg(s:1)"), "output 1 of Switch s is dead"),
    "a control edge": (("s = Switch(x, p)", "t = Identity(s:1)", "y = Neg(x, ^t)"), "output 1 of Switch s is dead"),
    "the Switch itself": (("y = Switch(x, p)",), "output 0 of Switch y is dead"),
    "a Merge of dead values": (
        ("s = Switch(x, p)", "t = Switch(s:1, q)", "a = Neg(t)", "b = Neg(t:1)", "y = Merge(a, b)"),
        "output 1 of Switch s is dead",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DEAD_RESULTS)
def test_dead_results(name: str) -> None:
    """A result that is dead traps, and the trap says which Switch made it dead; a live one is as ever. What is dead
    does not fire, and `why_not` leads to the Switch."""
    nodes, words = DEAD_RESULTS[name]
    function = small("q = Less(x, x)", *nodes)
    is_live = name != "the Switch itself"
    expected = 0.5 if name == "the Switch itself" else -0.5
    assert function.run(np.float32(0.5), is_live).value == expected
    outcome = function.run(np.float32(0.5), not is_live, engine="reference")
    assert outcome.status == "Trapped"
    assert f"result 0 has no value: p is {str(not is_live).lower()}, so output " in str(outcome.error)
    assert "(TensorFlow: Retval[0] does not have value)" in str(outcome.error)
    assert (" is dead, and so is y (" in str(outcome.error)) == (name != "the Switch itself")
    assert words in str(outcome.error)
    if name in ("a value", "a control edge"):
        history = function.history(np.float32(0.5), False)
        history.run()
        answer = str(history.ask.why_not("negative"))
        assert "it went to the other output" in answer and "false" in answer


def test_a_result_behind_two_switches() -> None:
    """The first condition that does not hold is the reason, whatever the second one would be. A constant condition
    that does not hold is an error before the run."""
    function = small("s = Switch(x, p)", "z = Exp(s:1)", "q = Less(s:1, z)", "t = Switch(s:1, q)", "y = Neg(t:1)")
    assert function.run(np.float32(2), True).value == -2
    first = function.run(np.float32(2), False, engine="reference").error
    second = function.run(np.float32(np.nan), True, engine="reference").error
    assert "p is false, so output 1 of Switch s is dead" in str(first)
    assert "q is false, so output 1 of Switch t is dead" in str(second)
    constant = (
        'node { name: "c" op: "Const" attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape { } } } } }'
    )
    switch = 'node { name: "y" op: "Switch" input: "x" input: "c" }'
    graph = encoded(parse_text(SMALL + constant + switch, "GraphDef"))
    assert tl.from_tensorflow(graph, inputs=["x"], outputs=["y"]).run(np.float32(2)).value == 2
    with pytest.raises(tl.Malformed, match=r"result 0 has no value: c is false, so output 1 of Switch y is dead \("):
        tl.from_tensorflow(graph, inputs=["x"], outputs=["y:1"]).program  # noqa: B018


def check_gated_graphs(count: int, seed: int) -> Counter[str]:
    """Raises where a graph that is imported does not do what the executor's rules say; returns how many results were
    live and dead, and how many graphs were refused."""
    found, dice = Counter[str](), random.Random(seed)
    for _ in range(count):
        graph = GatedGraph(dice)
        try:
            function = graph.function()
            function.program  # noqa: B018
        except tl.Usage:
            found["refused"] += 1
            continue
        for p, q in itertools.product((False, True), repeat=2):
            outcome, expected = function.run(np.float32(3), p, q, engine="reference"), graph.execute(3.0, p, q)
            found["dead" if expected is None else "live"] += 1
            if expected is None:
                assert outcome.status == "Trapped" and "does not have value" in str(outcome.error), graph.nodes
            else:
                assert outcome.value == expected, graph.nodes
    return found


@pytest.mark.full
def test_random_graphs_of_switches() -> None:
    """Values and deadness are those of the executor's rules: an op is dead if an input is, or a node before it; a Merge
    if all inputs are, and a ControlTrigger never; a control edge comes from a node, and so one from a Switch does not
    make a node dead."""
    found = check_gated_graphs(100, 2)
    assert found["live"] > 20 and found["dead"] > 20, found


@pytest.mark.full
@pytest.mark.parametrize("wrong", ["control edges are ignored", "a condition is inverted"])
def test_wrong_deadness_is_detected(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An importer that breaks a rule of the executor fails the law on random graphs."""
    choice_of, combine_gates = interpreter.choice_of, ControlAnalysis.combine_gates

    def combine_without_controls(self: Any, name: str) -> Any:
        node = self.nodes[name]
        if node.op == "Merge" or not node.controls:
            return combine_gates(self, name)
        return frozenset().union(*(self.gates(each) for each in node.inputs))

    if wrong == "a condition is inverted":
        monkeypatch.setattr(interpreter, "choice_of", lambda *words: choice_of(*words[:2], 1 - words[2]))
    else:
        monkeypatch.setattr(ControlAnalysis, "combine_gates", combine_without_controls)
    with pytest.raises((AssertionError, RuntimeError)):
        check_gated_graphs(100, 2)


FACTORIAL = """
node { name: "n" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "shape" value { shape { } } } }
node { name: "y" op: "factorial" input: "n" }
library {
  function {
    signature {
      name: "factorial" input_arg { name: "n" type: DT_INT32 } output_arg { name: "product" type: DT_INT32 }
    }
    node_def { name: "one" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { }
      int_val: 1 } } } }
    node_def { name: "stops" op: "LessEqual" input: "n" input: "one:output:0" }
    node_def { name: "choice" op: "StatelessIf" input: "stops:z:0" input: "n"
      attr { key: "then_branch" value { func { name: "end" } } }
      attr { key: "else_branch" value { func { name: "go" } } } }
    ret { key: "product" value: "choice:output:0" }
  }
  function {
    signature { name: "end" input_arg { name: "n" type: DT_INT32 } output_arg { name: "r" type: DT_INT32 } }
    node_def { name: "one" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { }
      int_val: 1 } } } }
    ret { key: "r" value: "one:output:0" }
  }
  function {
    signature { name: "go" input_arg { name: "n" type: DT_INT32 } output_arg { name: "r" type: DT_INT32 } }
    node_def { name: "one" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { }
      int_val: 1 } } } }
    node_def { name: "m" op: "Sub" input: "n" input: "one:output:0" }
    node_def { name: "rest" op: "factorial" input: "m:z:0" }
    node_def { name: "times" op: "Mul" input: "n" input: "rest:product:0" }
    ret { key: "r" value: "times:z:0" }
  }
}
"""


def test_a_recursive_function(tmp_path: Path) -> None:
    """A function of a graph may call itself; an invocation has its own tokens."""
    file = tmp_path / "factorial.pbtxt"
    file.write_text(FACTORIAL)
    outcome = tl.from_tensorflow(file).run(np.int32(5), engine="reference", keep="events")
    assert outcome.value == 120 and len(outcome.values("factorial_1.multiply")) == 4


CHANGES: dict[str, tuple[str, str]] = {
    "swapped outputs of Switch": ('input: "sequence/Switch:1"', 'input: "sequence/Switch"'),
    "an Exit that leaves in each iteration": ('input: "sequence/Switch_1"', 'input: "sequence/Switch_1:1"'),
    "a NextIteration that forgets the frame": ('input: "sequence/add"\n', 'input: "zero"\n'),
    "a Merge without a NextIteration": ('input: "sequence/NextIteration_1"', 'input: "zero"'),
    "a Switch by another condition": (
        'input: "sequence/Merge_1"\n  input: "sequence/LoopCond"', 'input: "sequence/Merge_1"\n  input: "n"'
    ),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("change", CHANGES)
def test_broken_frames(change: str) -> None:
    """A graph whose loop is damaged is refused, or computes something else."""
    old, new = CHANGES[change]
    text = FRAMES.read_text()
    assert old in text
    try:
        outcome = frames(text.replace(old, new)).run(
            np.int32(6), engine="reference", limits=tl.Limits(firings=2_000)
        )  # fmt: skip
    except tl.TagloomError as error:
        assert not isinstance(error, tl.Crash)
    else:
        assert outcome.status != "Returned" or outcome.value != collatz(6)


def swapped_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: each input of a Merge comes from the other output of the Switch."""
    true = ControlAnalysis.group

    def group(self: ControlAnalysis, name: str) -> BranchGroup:
        found = true(self, name)
        sides = {merge: {1 - port: k for port, k in ports.items()} for merge, ports in found.sides.items()}
        return found._replace(sides=sides)

    monkeypatch.setattr(ControlAnalysis, "group", group)


def wrong_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: the Merge of a loop takes the value of its Enter in each iteration."""
    true = interpreter.evaluate_loop
    monkeypatch.setattr(
        interpreter,
        "evaluate_loop",
        lambda loop: true(replace(loop, advance=lambda values, wanted: loop.advance(loop.starts, wanted))),
    )


def forgotten_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: NextIteration passes on the value of the same iteration."""
    true = interpreter.evaluate_loop
    monkeypatch.setattr(
        interpreter, "evaluate_loop", lambda loop: true(replace(loop, advance=lambda values, wanted: list(values)))
    )


def swapped_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: the body of a loop takes the output that leads out of it."""
    true = ControlAnalysis.close_frame

    def close_frame(self: ControlAnalysis, frame: Any, result: Any) -> None:
        true(self, frame, result)
        frame.body_port = 1 - frame.body_port

    monkeypatch.setattr(ControlAnalysis, "close_frame", close_frame)


@pytest.mark.full
@pytest.mark.parametrize("break_code", [swapped_sides, wrong_input, forgotten_frame, swapped_switch])
def test_broken_twins(break_code: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong importer is caught."""
    break_code(monkeypatch)
    try:
        outcome = frames().run(np.int32(6), engine="reference", limits=tl.Limits(firings=2_000))
    except tl.TagloomError as error:
        assert not isinstance(error, tl.Crash)
    else:
        assert outcome.status != "Returned" or outcome.value != collatz(6)


def check_damaged(count: int, seed: int) -> None:
    """Damaged bytes and texts run, or are refused by an error of tagloom."""
    dice, ends = random.Random(seed), set()
    text, content = FRAMES.read_text(), FUNCTIONS.read_bytes()
    words = text.split()
    for _ in range(count):
        try:
            if dice.random() < 0.5:
                damaged = bytearray(content)
                for _ in range(dice.randint(1, 4)):
                    damaged[dice.randrange(len(damaged))] = dice.choice([0, 0xFF, dice.randrange(256)])
                function = tl.from_tensorflow(
                    bytes(damaged[: len(damaged) if dice.random() < 0.8 else dice.randrange(99)])
                )
            else:
                changed = text.replace(dice.choice(words), dice.choice(words), dice.randint(1, 3))
                function = frames(changed)
            outcome = function.run(np.int32(6), engine="reference", limits=tl.Limits(firings=1_000))
            ends.add(str(outcome.status))
        except tl.TagloomError as error:
            assert not isinstance(error, tl.Crash), error
            ends.add(type(error).__name__)
    assert len(ends) > 1


@pytest.mark.full
def test_damaged_graphs(tmp_path: Path) -> None:
    """A damaged graph runs, or is refused in words; so is one from a file, at the command line."""
    check_damaged(60, 1)
    for name, content in (
        ("empty.pb", b""), ("text.pb", b"\xff\xfe"), ("half.pb", FUNCTIONS.read_bytes()[:900]),
        ("deep.pbtxt", b"node { " * 5_000), ("half.pbtxt", FRAMES.read_bytes()[:900]),
    ):  # fmt: skip
        file = tmp_path / name
        file.write_bytes(content)
        result = run_words(["show", str(file)])
        assert not result.raised and "Traceback" not in result.err and result.code in (1, 2), name


@pytest.mark.heavy
@pytest.mark.timeout(7200)
def test_many_damaged_graphs() -> None:
    """The same, for 2,000 graphs."""
    check_damaged(2_000, 2)


def check_damaged_models(folder: Path, count: int, seed: int) -> Counter[str]:
    """Raises where a SavedModel with a damaged file raises something that is no error of ours; returns the number of
    each ending."""
    dice, ends = random.Random(seed), Counter[str]()
    contents = {path.relative_to(SAVED_MODEL): path.read_bytes() for path in SAVED_MODEL.rglob("*") if path.is_file()}
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for _ in range(count):
        name = dice.choice(list(contents))
        damaged = bytearray(contents[name])
        for _ in range(dice.choice([1, 1, 4])):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        (folder / name).write_bytes(damaged[: dice.choice([len(damaged), dice.randrange(len(damaged))])])
        try:
            ends[tl.from_tensorflow(folder).run(np.zeros(2, np.float32), engine="reference").status] += 1
        except tl.TagloomError as error:
            assert not isinstance(error, tl.Crash), error
            ends[type(error).__name__] += 1
        (folder / name).write_bytes(contents[name])
    return ends


@pytest.mark.full
def test_damaged_models(tmp_path: Path) -> None:
    """A SavedModel with a damaged file is refused in words, or has other numbers."""
    assert {"Malformed", "Returned"} <= set(check_damaged_models(tmp_path, 30, 3))


@pytest.mark.heavy
@pytest.mark.timeout(7200)
def test_many_damaged_models(tmp_path: Path) -> None:
    """The same, for 2,000 SavedModels."""
    assert {"Malformed", "Returned"} <= set(check_damaged_models(tmp_path, 2_000, 4))


@pytest.mark.full
def test_commands(tmp_path: Path) -> None:
    """Commands take a file with a graph, and the folder of a SavedModel."""
    assert run_words(["run", str(FUNCTIONS), "int32(6)"]).out == "int32(8)\n"
    assert run_words(["check", str(FRAMES), "int32(6)"]).code == 0
    assert "6." in run_words(["run", str(SAVED_MODEL), "float32([1, 2])"]).out
    for form in ("program", "graph"):
        shown = run_words(["show", str(FRAMES), "--form", form])
        assert shown.code == 0 and "remainder" in shown.out
    session = run_words(
        ["debug", "--headless", str(FRAMES), "int32(6)"], ["break op == 'remainder'", "continue", "where"]
    )
    assert "sequence/mod = FloorMod(" in session.out


PLACEHOLDER = """node { name: "n" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "shape" value { shape { } } } }
"""


def doubling_functions(count: int) -> str:
    """A graph of functions, each a conditional of which both branches are the next one."""
    functions = []
    for k in range(count):
        branches = " ".join(
            f'attr {{ key: "{key}" value {{ func {{ name: "f{k + 1}" }} }} }}' for key in ("then_branch", "else_branch")
        )
        node = f'op: "If" input: "x" input: "x" {branches}' if k < count - 1 else 'op: "Neg" input: "x"'
        functions.append(f"""function {{ signature {{ name: "f{k}" input_arg {{ name: "x" type: DT_INT32 }}
            output_arg {{ name: "r" type: DT_INT32 }} }} node_def {{ name: "a" {node} }}
            ret {{ key: "r" value: "a:y:0" }} }}""")
    return PLACEHOLDER + f'node {{ name: "o" op: "f0" input: "n" }} library {{ {" ".join(functions)} }}'


@pytest.mark.full
def test_functions_that_double_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small graph whose functions stand for 2**38 nodes is refused."""
    monkeypatch.setattr(interpreter, "MAX_REPETITIONS", 100)
    function = tl.from_tensorflow(encoded(parse_text(doubling_functions(39), "GraphDef")))
    with pytest.raises(tl.Usage, match="repeat too many nodes"):
        function.run(np.int32(1))


def test_values_in_brackets_and_extensions() -> None:
    """Brackets hold several values of a field, or the name of an extension, which is skipped."""
    text = 'node { name: "a" attr { key: "v" value { list { i: [1, 2] i: [3] } } } [x.y/z] { a: [1] } }'
    assert parse_text(text, "GraphDef").node[0].attr["v"].list.i == [1, 2, 3]
    with pytest.raises(tl.Malformed):
        parse_text("x { " + "[" * 10_000, "GraphDef")


@pytest.mark.parametrize("sizes", [(-1, 3), (2**62,) * 3, (1,) * 65])
def test_constants_of_impossible_shapes(sizes: tuple[int, ...]) -> None:
    """A shape that no array has is refused before there is memory for it."""
    dims = " ".join(f"dim {{ size: {size} }}" for size in sizes)
    message = parse_text(f"dtype: DT_INT32 tensor_shape {{ {dims} }} int_val: 1", "TensorProto")
    with pytest.raises(tl.Malformed):
        read_tensor(message)
