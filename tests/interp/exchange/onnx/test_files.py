"""Files of models: damaged and hostile ones are refused in words, and external data stays in the model's folder."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from attack.command_line import run_words

onnx = pytest.importorskip("onnx")

from onnx.external_data_helper import set_external_data  # noqa: E402
from support.programs import onnx_models as models  # noqa: E402
from support.programs.onnx_models import FLOAT, INT64, model, value  # noqa: E402


@pytest.mark.full
def test_commands(tmp_path: Path) -> None:
    """A model runs, is shown, checked, played and debugged by its file."""
    file = tmp_path / "decode.onnx"
    onnx.save(models.greedy_decoder(), file)
    tokens = "[[1], [2], [11], [6], [0], [1], [3]]\n"
    assert run_words(["run", str(file), "[0]", "10"]).out == tokens
    shown = run_words(["show", str(file), "--form", "program"])
    assert shown.code == 0 and "while_loop" in shown.out
    assert "agrees" in run_words(["check", str(file), "[0]", "3"]).out
    page = tmp_path / "page.html"
    assert run_words(["play", str(file), "[0]", "3", "-o", str(page)]).code == 0 and page.stat().st_size > 10_000
    stepped = run_words(["debug", str(file), "[0]", "3", "--headless"], ["break op == 'tanh'", "continue", "where"])
    assert "next_state = Tanh(sum)" in stepped.out


@pytest.mark.full
def test_external_data(tmp_path: Path) -> None:
    """A tensor may be in another file of the model's folder, and nowhere else."""

    def save(location: str) -> Path:
        weights = np.arange(100, dtype=np.float32)
        node = onnx.helper.make_node("Add", ["x", "weights"], ["y"])
        graph = model([node], [value("x", FLOAT, 100)], [value("y", FLOAT, 100)], weights=weights)
        tensor = graph.graph.initializer[0]
        (tmp_path / "weights.bin").write_bytes(tensor.raw_data)
        set_external_data(tensor, location, length=400)
        tensor.ClearField("raw_data")
        file = tmp_path / "inner" / "model.onnx"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(graph.SerializeToString())
        return file

    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "w.bin").write_bytes(np.arange(100, dtype=np.float32).tobytes())
    assert tl.from_onnx(save("w.bin"))(np.zeros(100, np.float32))[99] == 99
    (tmp_path / "inner" / "link.bin").symlink_to(tmp_path / "weights.bin")
    for location in ("../weights.bin", str(tmp_path / "weights.bin"), "link.bin", "missing.bin"):
        with pytest.raises(tl.Malformed, match="not a valid ONNX model"):
            tl.from_onnx(save(location))


def damage(content: bytes, dice: random.Random) -> bytes:
    """A model's bytes, cut off, with bytes changed, removed or repeated."""
    match dice.randrange(4):
        case 0:
            return content[: dice.randrange(len(content))]
        case 1:
            changed = bytearray(content)
            for _ in range(dice.choice([1, 1, 3, 10])):
                changed[dice.randrange(len(changed))] = dice.randrange(256)
            return bytes(changed)
        case 2:
            start = dice.randrange(len(content))
            return content[:start] + content[start + dice.randrange(1, 20) :]
    start = dice.randrange(len(content))
    return content[:start] + content[start : start + 30] * dice.randrange(1, 4) + content[start:]


def subjects() -> list[bytes]:
    """The models that are damaged."""
    graphs = [models.greedy_decoder(), models.count_up(5), models.scan_columns()]
    return [graph.SerializeToString() for graph in graphs]


def vary(content: bytes, dice: random.Random) -> bytes:
    """A model that can be read, with a part of it changed: an operator, operands, an attribute, a version, a type."""
    graph = onnx.ModelProto.FromString(content)
    for _ in range(dice.choice([1, 1, 2])):
        node = dice.choice(graph.graph.node)
        names = [*node.input, *(each.name for each in graph.graph.input), ""]
        match dice.randrange(8):
            case 0:
                node.op_type = dice.choice([each.name for each in onnx.defs.get_all_schemas()])
            case 1 if node.input:
                node.input[dice.randrange(len(node.input))] = dice.choice(names)
            case 2:
                node.input.append(dice.choice(names))
            case 3 if node.input:
                del node.input[dice.randrange(len(node.input))]
            case 4 if node.attribute:
                attribute = dice.choice(node.attribute)
                attribute.i = dice.choice([-(2**40), -3, -1, 0, 1, 2, 5, 2**40])
                attribute.f, attribute.s = dice.choice([-1.0, 0.0, float("nan")]), b"word"
                attribute.ints[:] = [dice.choice([-7, -1, 0, 1, 2, 2**40]) for _ in attribute.ints][: dice.randrange(5)]
            case 5 if node.attribute:
                del node.attribute[dice.randrange(len(node.attribute))]
            case 6:
                graph.opset_import[0].version = dice.randrange(1, 30)
            case _ if graph.graph.input:
                type_ = dice.choice(graph.graph.input).type.tensor_type
                type_.elem_type = dice.choice([1, 7, 9, 11, 6, 2])
                for size in type_.shape.dim:
                    size.dim_value = dice.choice([0, 1, 2, size.dim_value])
    varied: bytes = graph.SerializeToString()
    return varied


def use(content: bytes) -> str:
    """Import a model, and run it; returns how that ended, and raises what is no error of ours."""
    try:
        function = tl.from_onnx(content)
        program = function.program
        arguments = [np.zeros([size or 0 for size in each.type.shape or ()], each.type.dtype.numpy)
                     for each in program.main.body.parameters[: len(function.source.declared_parameters)]]  # fmt: skip
        outcome = function.run(*arguments, limits=tl.Limits(firings=2_000, tokens=10_000), engine="reference")
    except tl.TagloomError as error:
        assert not isinstance(error, tl.Crash), error
        return type(error).__name__
    return str(outcome.status)


def check_damaged(count: int, seed: int, change: Any = damage, originals: list[bytes] | None = None) -> None:
    """Raises where a damaged model raises something that is no error of ours."""
    dice, originals = random.Random(seed), originals or subjects()
    ends: dict[str, int] = {}
    for number in range(count):
        content = change(dice.choice(originals), dice)
        try:
            end = use(content)
        except Exception as error:
            error.add_note(f"model {number} of seed {seed}")
            raise
        ends[end] = ends.get(end, 0) + 1
    assert len(ends) > 2 or count < 50


@pytest.mark.full
def test_damaged_models() -> None:
    """A damaged model runs, or is refused by an error of ours."""
    check_damaged(60, 1)


@pytest.mark.heavy
def test_many_damaged_models() -> None:
    """The same, for 2,000 models."""
    check_damaged(2_000, 2)


@pytest.mark.full
def test_varied_models() -> None:
    """A model with other operators, operands, attributes or types runs, or is refused by an error of ours."""
    check_damaged(60, 4, vary)


@pytest.mark.heavy
def test_many_varied_models() -> None:
    """The same, for 2,000 of the models of ONNX's tests of operators."""
    from onnx_nodes import node_cases

    contents = [case.model.SerializeToString() for case in node_cases()]
    with np.errstate(all="ignore"):
        check_damaged(2_000, 5, vary, contents)


@pytest.mark.heavy
def test_damaged_files(tmp_path: Path) -> None:
    """A damaged file gives an error without a traceback at the command line."""
    dice, originals = random.Random(3), subjects()
    for number in range(30):
        file = tmp_path / f"m{number}.onnx"
        file.write_bytes(damage(dice.choice(originals), dice))
        result = run_words(["show", str(file)])
        assert not result.raised and "Traceback" not in result.err and result.code in (0, 1, 2), (number, result)


def graph_of(node: Any, *sizes: int, **tensors: Any) -> bytes:
    graph = model([node], [value("x", FLOAT, *sizes)], [value("y", FLOAT)], **tensors)
    content: bytes = graph.SerializeToString()
    return content


def test_hostile_models() -> None:
    """Sizes beyond all memory, and loops without end, are bounded or refused; nothing is computed that a model does not
    need to be imported."""
    node = onnx.helper.make_node("ConstantOfShape", ["shape"], ["y"])
    content = graph_of(node, 1, shape=np.array([2**40, 2**20]))
    with pytest.raises(tl.TagloomError):
        tl.from_onnx(content).run(np.zeros(1, np.float32)).value  # noqa: B018
    node = onnx.helper.make_node("Range", ["a", "b", "c"], ["y"])
    content = graph_of(node, 1, a=np.int64(0), b=np.int64(2**62), c=np.int64(1))
    with pytest.raises(tl.TagloomError):
        tl.from_onnx(content).run(np.zeros(1, np.float32)).value  # noqa: B018
    node = onnx.helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2], pads=[0, 2**34])
    with pytest.raises(tl.Usage, match="a table that is too large"):
        tl.from_onnx(graph_of(node, 1, 1, 4)).program  # noqa: B018
    tensor = onnx.TensorProto(name="w", dims=[2**40], data_type=FLOAT, raw_data=b"1234")
    graph = model([onnx.helper.make_node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, 1)], [value("y", FLOAT, 1)])
    graph.graph.initializer.append(tensor)
    with pytest.raises(tl.Malformed, match="tensor w cannot be read"):
        tl.from_onnx(graph).program  # noqa: B018


def test_names_are_escaped() -> None:
    """Names that are no identifiers, or control a terminal, are harmless in programs and in the text of a model."""
    name = "x\x1b[31m\n</script>"
    node = onnx.helper.make_node("Relu", [name], ["y z"], name="/a b/\x1b]0;")
    function = tl.from_onnx(model([node], [value(name, FLOAT, 2)], [value("y z", FLOAT, 2)]))
    from tagloom.viz.source_lines import local_line

    node = function.program.main.body.nodes[0]
    assert "\x1b" not in local_line(node.location) and "\x1b" not in "".join(e.name for e in node.location.scopes)
    assert function.run([-1.0, 2.0]).value.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("name", ["lambda", "None", "def", "__debug__", "\u540d", ""])
def test_names_of_python(name: str) -> None:
    """Python's keywords, and names without a letter of ASCII, are names of inputs as others are."""
    node = onnx.helper.make_node("Neg", [f"{name}!"], ["y"])
    function = tl.from_onnx(model([node], [value(f"{name}!", FLOAT, 1)], [value("y", FLOAT, 1)]))
    assert function.run([2.0]).value.tolist() == [-2.0]


def test_names_of_several_values() -> None:
    """A name that stands for several inputs, initializers or results is refused, in inner graphs too."""
    twice = [onnx.helper.make_node("Neg", ["x"], ["y"]), onnx.helper.make_node("Relu", ["x"], ["y"])]
    x, y = value("x", FLOAT, 1), value("y", FLOAT, 1)
    branch = onnx.helper.make_graph(twice, "branch", [], [y])
    inner = onnx.helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    initialized = model(twice[:1], [x], [y], w=np.zeros(1, np.float32))
    initialized.graph.initializer.append(initialized.graph.initializer[0])
    for graph, name in (
        (model(twice, [x], [y]), "y"),
        (model(twice[:1], [x, x], [y]), "x"),
        (model([onnx.helper.make_node("Neg", ["x"], ["x"])], [x], [x]), "x"),
        (initialized, "w"),
        (model([inner], [x, value("c", onnx.TensorProto.BOOL)], [y]), "y"),
    ):
        with pytest.raises(tl.Malformed, match=f"'{name}' names several values"):
            tl.from_onnx(graph)


def test_tensors_without_elements_in_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is not read from its file names no file: not even one of the current folder is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.bin").write_bytes(np.ones(1, np.float32).tobytes())
    graph = model([onnx.helper.make_node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, 1)], [value("y", FLOAT, 1)],
                  w=np.ones(1, np.float32))  # fmt: skip
    set_external_data(graph.graph.initializer[0], "w.bin", length=4)
    graph.graph.initializer[0].ClearField("raw_data")
    for source in (graph, graph.SerializeToString()):
        with pytest.raises(tl.Malformed, match="tensor w cannot be read"):
            tl.from_onnx(source).program  # noqa: B018
    (tmp_path / "m.onnx").write_bytes(graph.SerializeToString())
    assert tl.from_onnx("m.onnx").run([1.0]).value.tolist() == [2.0]


@pytest.mark.parametrize("sizes, places", [([2, 3], [[0, 1], [1, 9]]), ([2, -3], [[0, 1], [1, 1]]), ([2, 3], [[7, 9]])])
def test_sparse_tensors_that_are_damaged(sizes: list[int], places: list[list[int]]) -> None:
    """A sparse tensor with elements outside it, or a negative size, is refused."""
    values, indices = np.ones(2, np.float32), np.array(places)
    parts = [onnx.numpy_helper.from_array(array, name) for array, name in ((values, "w"), (indices, "places"))]
    graph = model([onnx.helper.make_node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, 2, 3)], [value("y", FLOAT)])
    graph.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(*parts, sizes))
    with pytest.raises(tl.Malformed, match="tensor w"):
        tl.from_onnx(graph).program  # noqa: B018


def test_recursive_functions() -> None:
    """A function of a model that calls itself is refused."""
    imports = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("own", 1)]
    call = onnx.helper.make_node("Again", ["x"], ["y"], domain="own")
    function = onnx.helper.make_function("own", "Again", ["x"], ["y"], [call], imports)
    graph = onnx.helper.make_graph([call], "graph", [value("x", FLOAT, 1)], [value("y", FLOAT, 1)])
    with pytest.raises(tl.Malformed, match="function Again of the model calls itself"):
        tl.from_onnx(onnx.helper.make_model(graph, functions=[function], opset_imports=imports)).program  # noqa: B018


def test_sequences() -> None:
    """Sequences whose length is known only at run time: items of different shapes, taken out again, joined and
    counted."""
    going = onnx.TensorProto.BOOL
    items, more = (onnx.helper.make_tensor_sequence_value_info(name, FLOAT, None) for name in ("items", "more"))
    body = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Identity", ["go"], ["go_on"]),
            onnx.helper.make_node("Add", ["k", "one"], ["count"]),
            onnx.helper.make_node("Reshape", ["count", "vector"], ["size"]),
            onnx.helper.make_node("Expand", ["value", "size"], ["item"]),
            onnx.helper.make_node("SequenceInsert", ["items", "item", "front"], ["more"]),
        ],
        "body",
        [value("k", INT64), value("go", going), items],
        [value("go_on", going), more],
    )
    nodes = [
        onnx.helper.make_node("SequenceEmpty", [], ["none"]),
        onnx.helper.make_node("Loop", ["n", "", "none"], ["all"], body=body),
        onnx.helper.make_node("SequenceLength", ["all"], ["length"]),
        onnx.helper.make_node("SequenceAt", ["all", "front"], ["first"]),
        onnx.helper.make_node("SequenceErase", ["all", "front"], ["rest"]),
        onnx.helper.make_node("ConcatFromSequence", ["rest"], ["joined"], axis=0),
    ]
    outputs = [value("length", INT64), value("first", FLOAT, None), value("joined", FLOAT, None)]
    constants = {"one": np.int64(1), "vector": np.array([1]), "front": np.int64(0)}
    function = tl.from_onnx(model(nodes, [value("n", INT64), value("value", FLOAT, 1)], outputs, **constants))
    length, first, joined = function.run(3, [7.0], engine="reference").value
    assert length == 3 and first.tolist() == [7.0] * 3 and joined.tolist() == [7.0] * 3
