"""ONNX models as programs: they compute what ONNX's evaluator computes, and what they say stands in the program."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.program.evaluate import evaluate
from tagloom.core.value import is_same_value
from tagloom.interp.exchange.export.walker import Refusal
from tagloom.interp.oracle.generate import FuzzWriter

onnx = pytest.importorskip("onnx")

from onnx import helper  # noqa: E402
from support.programs import onnx_models as models  # noqa: E402
from support.programs.detector import MOST_BOXES, SIZE, detector  # noqa: E402
from support.programs.onnx_models import BOOL, FLOAT, INT64, model, value  # noqa: E402

SAMPLE = ("loop", "scan", "if_", "sequence_map", "gather", "slice", "softmax", "reshape")
"""The modules of ONNX's node tests that every test run has."""


def reference_results(graph: Any, **inputs: Any) -> list[Any]:
    """What ONNX's evaluator computes."""
    from onnx.reference import ReferenceEvaluator

    return list(ReferenceEvaluator(graph).run(None, inputs))


def check_agrees(graph: Any, *required: Any, **inputs: Any) -> None:
    """Raises AssertionError where an imported model computes something else than is required: by default, than ONNX's
    evaluator, which lacks some of what ONNX has."""
    got = tl.from_onnx(graph).run(*inputs.values(), engine="reference").value
    results = got if isinstance(got, tuple) else (got,)
    required = required or tuple(reference_results(graph, **inputs))
    assert len(results) == len(required)
    for one, other in zip(results, required, strict=True):
        np.testing.assert_array_equal(np.shape(one), np.shape(other))
        np.testing.assert_allclose(one, other, rtol=1e-6)


def sum_of_slices() -> Any:
    """The body of a scan of two arrays."""
    inputs = [value("a", FLOAT, 3), value("b", FLOAT, 3)]
    return helper.make_graph([helper.make_node("Add", ["a", "b"], ["c"])], "body", inputs, [value("c", FLOAT, 3)])


X = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, 8.0]], np.float32)


def clip_above() -> None:
    """The lower bound of Clip is left out."""
    node = helper.make_node("Clip", ["x", "", "high"], ["y"])
    check_agrees(model([node], [value("x", FLOAT, 2, 3)], [value("y", FLOAT, 2, 3)], high=np.float32(1)), x=X)


def softmax_of_rows(opset: int) -> None:
    """The default axis of Softmax differs between versions: the last one, or all from the second on."""
    cube = X.reshape(1, 2, 3)
    node = helper.make_node("Softmax", ["x"], ["y"])
    powers = np.exp(cube)
    required = powers / powers.sum(axis=-1 if opset >= 13 else None, keepdims=True)
    check_agrees(model([node], [value("x", FLOAT, 1, 2, 3)], [value("y", FLOAT, 1, 2, 3)], opset), required, x=cube)


def aligned_operands() -> None:
    """Before version 7, attributes said to which axes of the first operand those of the second belong."""
    node = helper.make_node("Sub", ["x", "column"], ["y"], axis=0, broadcast=1)
    graph = model([node], [value("x", FLOAT, 2, 3)], [value("y", FLOAT, 2, 3)], 6, column=np.float32([1, 2]))
    check_agrees(graph, X - np.float32([[1], [2]]), x=X)


def scan_of_nothing() -> None:
    """The results of a scan without slices are empty, and its state is the first."""
    zero, empty = np.zeros(2, np.float32), np.zeros((2, 0), np.float32)
    node = helper.make_node("Scan", ["state", "x"], ["last", "all"], body=running_sum(), num_scan_inputs=1,
                            scan_input_axes=[-1], scan_output_axes=[-1], scan_output_directions=[1])  # fmt: skip
    outputs = [value("last", FLOAT, 2), value("all", FLOAT, 2, None)]
    graph = model([node], [value("state", FLOAT, 2), value("x", FLOAT, 2, "n")], outputs)
    check_agrees(graph, zero, empty, state=zero, x=empty)
    check_agrees(graph, X.sum(axis=1), np.cumsum(X, axis=1)[:, ::-1], state=zero, x=X)
    copies = [helper.make_node("Identity", [name], [copy]) for name, copy in (("state", "last"), ("x", "all"))]
    branches = [helper.make_graph(nodes, "branch", [], outputs) for nodes in ([node], copies)]
    choice = helper.make_node("If", ["flag"], ["last", "all"], then_branch=branches[0], else_branch=branches[1])
    inputs = [value("flag", BOOL), value("state", FLOAT, 2), value("x", FLOAT, 2, "n")]
    check_agrees(model([choice], inputs, outputs), zero, empty, flag=np.array(True), state=zero, x=empty)


def running_sum() -> Any:
    """The body of a scan: the sum of the slices so far."""
    nodes = [helper.make_node("Add", ["sum", "slice"], ["next"]), helper.make_node("Identity", ["next"], ["element"])]
    inputs = [value("sum", FLOAT, 2), value("slice", FLOAT, 2)]
    return helper.make_graph(nodes, "body", inputs, [value("next", FLOAT, 2), value("element", FLOAT, 2)])


def extremes_of_nothing() -> None:
    """The largest of no numbers is the least one, also where only the run knows that there are none."""
    outputs = [value("least", FLOAT), value("greatest", FLOAT, None, 1), value("sums", FLOAT)]
    nodes = [helper.make_node("ReduceMin", ["x"], ["least"], keepdims=0),
             helper.make_node("ReduceMax", ["x", "axes"], ["greatest"]),
             helper.make_node("ReduceLogSumExp", ["x"], ["sums"], keepdims=0)]  # fmt: skip
    graph = model(nodes, [value("x", FLOAT, "m", "n")], outputs, 18, axes=np.int64([1]))
    nothing, x = np.zeros((2, 0), np.float32), np.float32([[np.nan, 1], [-np.inf, -np.inf]])
    check_agrees(graph, np.float32(np.inf), np.float32([[-np.inf]] * 2), np.float32(-np.inf), x=nothing)
    check_agrees(graph, np.float32(np.nan), np.float32([[np.nan], [-np.inf]]), np.float32(np.nan), x=x)


def softmax_without_columns() -> None:
    """Before version 13, Softmax sees a matrix, which may have no columns."""
    node, empty = helper.make_node("Softmax", ["x"], ["y"]), np.zeros((3, 0), np.float32)
    check_agrees(model([node], [value("x", FLOAT, 3, 0)], [value("y", FLOAT, 3, 0)], 11), empty, x=empty)


def resized_integers() -> None:
    """Integers lose their fractions once, after all axes are resized."""
    image = np.arange(12, dtype=np.uint8).reshape(1, 1, 3, 4)
    scales = np.array([1, 1, 0.6, 1.7], np.float32)
    types = onnx.TensorProto.UINT8, onnx.TensorProto.FLOAT
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear")
    of_bytes, of_floats = (model([node], [value("x", each, 1, 1, 3, 4)], [value("y", each, 1, 1, 1, 6)], 13,
                                 scales=scales) for each in types)  # fmt: skip
    floats = tl.from_onnx(of_floats).run(image.astype(np.float32)).value
    check_agrees(of_bytes, np.floor(floats), x=image)
    assert floats[0, 0, 0, 2] > 2 and np.floor(floats[0, 0, 0]).tolist() == [1, 1, 2, 2, 3, 4]


CASES: dict[str, Callable[[], None]] = {
    "a loop that its data end": lambda: check_agrees(models.count_up(5), 12.0, [8.0, 12.0], x=np.float32(4)),
    "a loop that its limit ends": lambda: check_agrees(models.count_up(2), 3.0, [2.0, 3.0], x=np.float32(1)),
    "a loop without trips": lambda: check_agrees(models.count_up(5, first=False), 4.0, np.zeros(0), x=np.float32(4)),
    "a scan along columns": lambda: check_agrees(models.scan_columns(), X.sum(axis=1), X.cumsum(axis=1), x=X),
    "an operand left out": clip_above,
    "operands aligned by attributes": aligned_operands,
    "softmax since version 13": lambda: softmax_of_rows(13),
    "softmax before version 13": lambda: softmax_of_rows(11),
    "softmax without columns": softmax_without_columns,
    "extremes of nothing": extremes_of_nothing,
    "a scan of nothing": scan_of_nothing,
    "an image of integers": resized_integers,
    "a greedy decoder": lambda: check_agrees(models.greedy_decoder(), start=np.array([0]), limit=np.int64(10)),
}


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    """An imported model computes what ONNX's evaluator computes."""
    CASES[case]()


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("module", SAMPLE)
def test_a_sample_of_the_node_tests(module: str) -> None:
    """ONNX's tests of operators pass, or are refused for their dtype."""
    from onnx_nodes import prepare_tagloom, run_case

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        package = "onnx.backend.test.case.node"
        has_module = find_spec(f"{package}.{module}") is not None  # early versions call it `if`
        import_module(f"{package}.{module if has_module else module.strip('_')}")
        cases = import_module(package)._NodeTestCases
        chosen = [case for case in cases if case.name.startswith(f"test_{module.strip('_')}")]
        results = [run_case(case, prepare_tagloom) for case in chosen]
    assert len(results) >= 2
    for result in results:
        assert result.verdict == "passed" or "no values of ONNX's type" in result.reason, result


@pytest.mark.heavy
def test_all_node_tests() -> None:
    """Of ONNX's tests of operators those pass whose operators and dtypes are there; and all that have a condition or a
    loop."""
    from onnx_nodes import NOISE, has_control_flow, node_cases, prepare_tagloom, run_case

    cases = node_cases()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        results = {case.name: run_case(case, prepare_tagloom) for case in cases}
    failed = {name for name, result in results.items() if result.verdict == "failed"}
    assert failed <= set(NOISE)
    refused = [result for result in results.values() if result.verdict == "refused"]
    others = [result for result in refused if "no values of ONNX's type" not in result.reason]
    assert len(others) < 0.05 * (len(cases) - len(refused)), others
    control = [results[case.name] for case in cases if has_control_flow(case)]
    assert sum(result.verdict == "passed" for result in control) == len(control)


@pytest.mark.heavy
def test_models_of_early_versions() -> None:
    """ONNX's tests of whole models, most of versions 6 to 9 of the operator set, pass by its own runner."""
    import unittest

    from onnx.backend.test import BackendTest
    from tagloom.interp.exchange.onnx.backend import TagloomBackend

    suite = unittest.TestSuite()
    for name, cases in BackendTest(TagloomBackend, __name__).test_cases.items():
        if "NodeModel" not in name and "RealModel" not in name:
            suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(cases))
    result = unittest.TestResult()
    suite.run(result)
    assert not result.failures and not result.errors
    assert result.testsRun - len(result.skipped) == 140


LIGHT = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
         "zfnet512")  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", LIGHT)
def test_networks(name: str) -> None:
    """The networks with constant weights that come with the package give the results that come with them."""
    from pathlib import Path

    from onnx.backend.test.runner import Runner

    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"
    graph = onnx.load(path)
    initialized = {each.name for each in graph.graph.initializer}
    (info,) = (each for each in graph.graph.input if each.name not in initialized)
    x = Runner.generate_dummy_data(info, seed=0, name=name, random=False)
    outcome = tl.from_onnx(graph).run(x, engine="reference")
    required = onnx.numpy_helper.to_array(onnx.load_tensor(path.with_name(f"light_{name}_output_0.pb")))
    np.testing.assert_allclose(outcome.value, required, atol=1e-7)


def test_the_program_says_what_the_model_says() -> None:
    """A loop is one loop, whose variables have the names of the body's inputs; a large tensor is a hidden argument by
    its name; a node points to its line of the model's text, in the scopes of its name."""
    function = tl.from_onnx(models.greedy_decoder())
    program = function.program
    nodes = {node.op: node for node in program.main.body.walk()}
    names = [variable.name for variable in nodes["while_loop"].regions[1].parameters]
    assert names[:6] == ["k", "condition", "collected_0", "token", "state", "maximum"]
    assert [variable.name for variable in program.main.body.parameters] == ["start", "limit", "embedding", "projection"]
    location: Any = nodes["tanh"].location
    assert [entry.name for entry in location.scopes] == ["decode", "decoder", "cell", "tanh"]
    from tagloom.viz.source_lines import local_line

    assert local_line(location).strip() == "next_state = Tanh(sum)"


def test_models_without_a_file_have_texts_of_their_own() -> None:
    """Two models of one name do not show each other's text."""
    from tagloom.viz.source_lines import local_line

    texts = []
    for operator in ("Exp", "Sin"):
        graph = model([helper.make_node(operator, ["x"], ["y"])], [value("x", FLOAT, 2)], [value("y", FLOAT, 2)])
        texts.append(tl.from_onnx(graph))
    lines = [local_line(function.program.main.body.nodes[0].location).strip() for function in texts]
    assert lines == ["y = Exp(x)", "y = Sin(x)"]


def test_firings_of_a_loop() -> None:
    """The body fires once a trip, the condition once more."""
    outcome = tl.from_onnx(models.count_up(5)).run(4.0, engine="reference", keep="events")
    assert len(outcome.values("add")) == 2 and len(outcome.values("logical_and")) == 3


def test_a_counted_loop_uses_cells() -> None:
    """If only its limit ends a loop, what it collects are write-once cells, and its trips need not wait for each
    other."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["is_going"], ["goes_on"]), helper.make_node("Mul", ["k", "k"], ["square"])],
        "body", [value("k", INT64), value("is_going", BOOL)], [value("goes_on", BOOL), value("square", INT64)],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["n", ""], ["squares"], body=body)
    function = tl.from_onnx(model([loop], [value("n", INT64)], [value("squares", INT64, None)]))
    assert {"cells", "put", "collect"} <= {node.op for node in function.program.main.body.walk()}
    assert function.run(4, engine="reference").value.tolist() == [0, 1, 4, 9]
    assert function.run(0, engine="reference").value.shape == (0,)


def test_nested_loops_are_traced_in_polynomial_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """To find types, the body of a loop is traced once more; loops in loops do not multiply that."""
    from tagloom.interp.exchange.onnx.interpreter import ModelInterpreter

    evaluate, count = ModelInterpreter.evaluate_node, 0

    def counted(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        return evaluate(*arguments)

    monkeypatch.setattr(ModelInterpreter, "evaluate_node", counted)
    counts = []
    for depth in (3, 6):
        count = 0
        function = tl.from_onnx(models.nested_loops(depth))
        assert function.run(0.0, 1, engine="reference").value == 1.0
        counts.append(count)
    assert counts[1] < 5 * counts[0]


def test_functions_of_a_model() -> None:
    """A function of the model is a function of the program, and a call of it a call; attributes are constants of it."""
    scale = helper.make_node("LeakyRelu", ["x"], ["y"])
    scale.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    function = helper.make_function("mine", "leak", ["x"], ["y"], [scale], [helper.make_opsetid("", 21)], ["slope"])
    nodes = [
        helper.make_node("leak", ["x"], ["a"], domain="mine", slope=0.5),
        helper.make_node("leak", ["a"], ["b"], domain="mine", slope=0.5),
        helper.make_node("leak", ["b"], ["y"], domain="mine", slope=0.25),
    ]
    graph = model(
        nodes, [value("x", FLOAT, 2, 3)], [value("y", FLOAT, 2, 3)], 21, [function], [helper.make_opsetid("mine", 1)]
    )
    program = tl.from_onnx(graph).program
    assert [node.op for node in program.main.body.nodes] == ["call", "call", "call"]
    assert len(program.functions) == 3
    check_agrees(graph, np.where(X < 0, X / 16, X), x=X)


def test_an_operand_that_must_be_a_constant() -> None:
    """Axes decide which nodes there are: an input with axes is named, and may be fixed; the backend fixes it by
    itself."""
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"])
    graph = model([node], [value("x", FLOAT, 2, 3), value("axes", INT64, 1)], [value("y", FLOAT, None, None)])
    with pytest.raises(tl.Usage, match="depends on axes") as raised:
        tl.from_onnx(graph).program  # noqa: B018
    assert raised.value.hint == "from_onnx(..., axes=...) fixes an input"
    assert tl.from_onnx(graph, axes=[1]).run(X).value.tolist() == [[2.0], [8.75]]
    from tagloom.interp.exchange.onnx.backend import TagloomBackend

    assert TagloomBackend.prepare(graph).run([X, np.array([0])])[0].tolist() == [[1.5, -1.75, 11.0]]


def test_constants_are_checked() -> None:
    """A constant for an input must be one of its dtype and shape; and there must be such an input."""
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"])
    graph = model([node], [value("x", FLOAT, 2, 3), value("axes", INT64, 1)], [value("y", FLOAT, None, None)])
    for wrong in ("word", [1.5], [[1]]):
        with pytest.raises(tl.Usage):
            tl.from_onnx(graph, axes=wrong)
    with pytest.raises(tl.Usage, match="no input 'axis'"):
        tl.from_onnx(graph, axis=[1])


def test_sizes_that_only_the_run_knows() -> None:
    """A shape that is computed from elements gives open sizes."""
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    graph = model([node], [value("x", FLOAT, 2, 3), value("shape", INT64, 2)], [value("y", FLOAT, None, None)])
    function = tl.from_onnx(graph)
    assert function.program.main.results[0].shape == (None, None)
    assert function.run(X, [3, -1]).value.shape == (3, 2) and function.run(X, [0, 3]).value.shape == (2, 3)


def test_sizes_that_are_known_stay_known() -> None:
    """A shape that is put together of sizes, as exporters write it, keeps those that are known: the sizes of the run
    are computed once, and no vector is."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["batch"]),
        helper.make_node("Unsqueeze", ["batch", "axis"], ["first"]),
        helper.make_node("Slice", ["shape", "axis", "end"], ["again"]),
        helper.make_node("Concat", ["first", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["parts"]),
        helper.make_node("Cast", ["again"], ["same"], to=INT64),
        helper.make_node("Concat", ["same", "rest"], ["other"], axis=0),
        helper.make_node("Expand", ["parts", "other"], ["y"]),
    ]
    constants = {"zero": np.int64(0), "axis": np.array([0]), "end": np.array([1]), "rest": np.array([2, 3])}
    graph = model(nodes, [value("x", FLOAT, "n", 6)], [value("y", FLOAT, "n", 2, 3)], **constants)
    program = tl.from_onnx(graph).program
    ops = [node.op for node in program.main.body.walk()]
    assert program.main.results[0].shape == (None, 2, 3) and "concat" not in ops and ops.count("size") == 2
    check_agrees(graph, x=np.arange(24, dtype=np.float32).reshape(4, 6))


def test_gradients() -> None:
    """What all rows of a model have gradients for is differentiated, through its loop."""
    function = tl.from_onnx(models.count_up(5))
    assert tl.grad(lambda x: function(x)[0])(np.float32(4)) == 3.0


@pytest.mark.parametrize(
    "node, words",
    [
        (helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.STRING), "no values of ONNX's type string"),
        (helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.COMPLEX64), "no values of ONNX's type complex64"),
        (helper.make_node("NonesuchOp", ["x"], ["y"]), "no operator NonesuchOp"),
        (helper.make_node("Swish", ["x"], ["y"]), "no operator Swish in version 21"),
        (helper.make_node("Concat", ["x", "x"], ["y"]), "Concat lacks attribute 'axis'"),
        (helper.make_node("Concat", ["x"], ["y"], axis=2), "there is no such axis"),
        (helper.make_node("Gather", ["x", "x"], ["y"]), "Gather does not take this as indices"),
        (helper.make_node("MaxPool", ["flags"], ["y"], kernel_shape=[1]), "MaxPool does not take this as X"),
        (helper.make_node("Add", ["x", "five"], ["y"]), "Add takes operands of one dtype"),
        (helper.make_node("Compress", ["x", "flags"], ["y"], axis=2), "there is no such axis"),
        (helper.make_node("Flatten", ["x"], ["y"], axis=3), "there is no such axis"),
        (helper.make_node("Unsqueeze", ["x", "five"], ["y"]), "there is no such axis"),
        (helper.make_node("Slice", ["x", "one", "two", "five"], ["y"]), "there is no such axis"),
        (helper.make_node("Pad", ["x", "wide"], ["y"]), "Pad needs two numbers for each axis"),
        (helper.make_node("Tile", ["x", "two"], ["y"]), "Tile needs a number for each axis"),
        (helper.make_node("Split", ["x", "parts"], ["y", "z"], axis=1), "do not add up to the length of the axis"),
        (helper.make_node("Split", ["x", "parts"], ["y"], axis=1), "as many parts as results"),
        (helper.make_node("TopK", ["x", "five"], ["y", "z"]), "TopK takes more elements than there are"),
        (helper.make_node("TopK", ["x", "below"], ["y", "z"]), "TopK takes a negative number of elements"),
        (helper.make_node("Resize", ["x"], ["y"]), "Resize has neither sizes nor scales"),
        (helper.make_node("Conv", ["image", "kernel"], ["y"], kernel_shape=[3]), "not the shape of the weights"),
        (helper.make_node("Scan", ["x", "long"], ["y"], body=sum_of_slices(), num_scan_inputs=2), "different lengths"),
        (helper.make_node("Relu", ["z"], ["y"]), "no value 'z'"),
        (helper.make_node("Transpose", ["x"], ["y"], perm=[0, 5]), "there is no such axis"),
    ],
)
def test_refusals(node: Any, words: str) -> None:
    """What tagloom lacks, and what breaks ONNX's rules, is said in words, with the line of the node."""
    constants = {"flags": np.array([True]), "five": np.array([5]), "one": np.array([1]), "two": np.array([2]),
                 "wide": np.arange(6), "parts": np.array([1, 1]), "below": np.array([-1]),
                 "image": np.zeros((1, 1, 4), np.float32), "kernel": np.zeros((1, 1, 2), np.float32),
                 "long": np.zeros((3, 3), np.float32)}  # fmt: skip
    graph = model([node], [value("x", FLOAT, 2, 3)], [value("y", FLOAT, 2, 3)], **constants)
    with pytest.raises(tl.TagloomError, match=words) as raised:
        tl.from_onnx(graph).program  # noqa: B018
    assert re.search(r"\(graph(_\d+)?\.onnx:2\)", str(raised.value))


INDEXED = {
    "Gather": (["x", "i"], {"axis": 1}, (1,)),
    "GatherElements": (["x", "i"], {"axis": 1}, (2, 1)),
    "GatherND": (["x", "i"], {"batch_dims": 1}, (2, 1)),
    "ScatterElements": (["x", "i", "u"], {"axis": 1}, (2, 1)),
    "ScatterND": (["row", "i", "u"], {}, (2, 1)),
}
"""Operators that take indices along an axis of three elements: operands, attributes, the shape of the indices."""


@pytest.mark.parametrize("name", INDEXED)
def test_indices_out_of_range(name: str) -> None:
    """An index below -n traps as one above n - 1 does; those between count from the end."""
    operands, attributes, shape = INDEXED[name]
    update = np.full(2 if name == "ScatterND" else (2, 1), 9, np.float32)
    node = helper.make_node(name, operands, ["y"], **attributes)
    inputs = [value("x", FLOAT, 2, 3), value("i", INT64, *shape)]
    graph = model([node], inputs, [value("y", FLOAT)], u=update, row=np.array([1, 2, 3], np.float32))
    check_agrees(graph, x=X, i=np.full(shape, -3))
    for index in (-4, 3):
        with pytest.raises(tl.Trap, match="an index is out of range"):
            tl.from_onnx(graph).run(X, np.full(shape, index)).value  # noqa: B018


def test_conditions_that_only_the_run_knows() -> None:
    """What depends on open sizes and on operands is checked by the run, which traps."""
    from tagloom.interp.exchange.onnx.backend import TagloomBackend

    node = helper.make_node("TopK", ["x", "k"], ["y", "i"])
    inputs = [value("x", FLOAT, "n"), value("k", INT64, 1)]
    top = model([node], inputs, [value("y", FLOAT, "k")])
    node = helper.make_node("Scan", ["x", "z"], ["y"], body=sum_of_slices(), num_scan_inputs=2)
    inputs = [value("x", FLOAT, "n", 3), value("z", FLOAT, "m", 3)]
    sums = model([node], inputs, [value("y", FLOAT, "n", 3)])
    check_agrees(top, x=X[0], k=np.array([2]))
    check_agrees(sums, X + X, x=X, z=X)  # the evaluator of onnx 1.19 takes the first row only
    for graph, arguments, words in (
        (top, (X[0], np.array([4])), "more elements than there are"),
        (top, (X[0], np.array([-1])), "a negative number of elements"),
        (sums, (X, X[:1]), "different lengths"),
    ):
        for run in (tl.from_onnx(graph), lambda *each, graph=graph: TagloomBackend.prepare(graph).run(each)):
            with pytest.raises(tl.Trap, match=words):
                run(*arguments)


SEQUENCE_CHANGES = {
    "SequenceAt": (["s", "p"], 2),
    "SequenceErase": (["s", "p"], 2),
    "SequenceInsert": (["s", "x", "p"], 3),
}
"""Operators that take a position in a sequence, and how many positions one of two items has."""


@pytest.mark.parametrize("name", SEQUENCE_CHANGES)
def test_positions_in_sequences(name: str) -> None:
    """A position out of range is refused if it is known, and traps if it is known only at run time."""
    operands, count = SEQUENCE_CHANGES[name]
    nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]), helper.make_node(name, operands, ["y"])]
    if name != "SequenceAt":
        nodes += [helper.make_node("SequenceLength", ["y"], ["z"])]
    output = value("y", FLOAT, 2, 3) if name == "SequenceAt" else value("z", INT64)
    open_position = model(nodes, [value("x", FLOAT, 2, 3), value("p", INT64)], [output])
    for position in (-count, count - 1):
        check_agrees(open_position, x=X, p=np.int64(position))
    for position in (-count - 1, count):
        known = model(nodes, [value("x", FLOAT, 2, 3)], [output], p=np.int64(position))
        with pytest.raises(tl.Malformed, match="a position in a sequence is out of range"):
            tl.from_onnx(known).program  # noqa: B018
        with pytest.raises(tl.Trap, match="a position in a sequence is out of range"):
            tl.from_onnx(open_position)(X, np.int64(position))


def test_constant_operands_of_functions() -> None:
    """A call of a function gives it the constants that must be known before the run; an input is named."""
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    inner = helper.make_node("ReduceSum", ["a", "axes"], ["b"], keepdims=0)
    function = helper.make_function("own", "Total", ["a", "axes"], ["b"], [inner], imports)
    calls = [helper.make_node("Total", ["x", name], [f"{name}_sums"], domain="own") for name in ("rows", "columns")]
    outputs = [value("rows_sums", FLOAT, 3), value("columns_sums", FLOAT, 2)]
    options: dict[str, Any] = {"functions": [function], "imports": imports[1:]}
    rows, columns = np.array([0]), np.array([1])
    check_agrees(model(calls, [value("x", FLOAT, 2, 3)], outputs, **options, rows=rows, columns=columns), x=X)
    inputs = [value("x", FLOAT, 2, 3), value("rows", INT64, 1)]
    graph = model(calls, inputs, outputs, **options, columns=columns)
    with pytest.raises(tl.Usage, match=r"depends on rows"):
        tl.from_onnx(graph).program  # noqa: B018
    assert tl.from_onnx(graph, rows=[0]).run(X).value[0].tolist() == X.sum(axis=0).tolist()


def test_tensors_as_attributes_of_functions() -> None:
    """Calls of a function whose attributes differ in the last digits of a tensor are calls of different functions."""
    double, imports = onnx.TensorProto.DOUBLE, [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    constant = helper.make_node("Constant", [], ["w"])
    constant.attribute.add(name="value", ref_attr_name="w", type=onnx.AttributeProto.TENSOR)
    nodes = [constant, helper.make_node("Mul", ["a", "w"], ["b"])]
    function = helper.make_function("own", "Scale", ["a"], ["b"], nodes, imports, ["w"])
    factors = (1.0, 1.0 + 2**-40)
    tensors = [helper.make_tensor("w", double, [1], [factor]) for factor in factors]
    calls = [helper.make_node("Scale", ["x"], [f"y{k}"], domain="own", w=each) for k, each in enumerate(tensors)]
    outputs = [value(f"y{k}", double, 1) for k in range(2)]
    graph = model(calls, [value("x", double, 1)], outputs, functions=[function], imports=imports[1:])
    assert [each.tolist() for each in tl.from_onnx(graph).run([1.0]).value] == [[factor] for factor in factors]


def test_replaced_defaults() -> None:
    """A constant, and an input by name of ONNX's runner, replace the value that an input has in the model."""
    from tagloom.interp.exchange.onnx.backend import TagloomBackend

    node = helper.make_node("Mul", ["x", "w"], ["y"])
    graph = model([node], [value("w", FLOAT), value("x", FLOAT, 2, 3)], [value("y", FLOAT, 2, 3)], w=np.float32(3))
    check_agrees(graph, x=X)
    assert tl.from_onnx(graph, w=5.0).run(X).value.tolist() == (5 * X).tolist()
    assert TagloomBackend.prepare(graph).run({"x": X, "w": np.float32(5)})[0].tolist() == (5 * X).tolist()
    with pytest.raises(tl.Usage, match="the model has no input 'z'"):
        TagloomBackend.prepare(graph).run({"x": X, "z": X})


def check_round_trip(seed: int, number: int) -> bool:
    """Whether a generated program was compared: exported and imported again, it must give the same bits."""
    from tagloom.interp.exchange.export.onnx_model import to_onnx

    program, arguments = FuzzWriter(Random(f"{seed}:{number}")).write_case()
    expected = evaluate(program, arguments, max_steps=500, max_depth=100).results
    if expected is None:
        return False
    try:
        graph = to_onnx(program)
    except Refusal:
        return False
    outcome = tl.from_onnx(graph.SerializeToString()).run(*arguments, engine="reference")
    assert outcome.error is None, (number, outcome.error)
    assert len(outcome.results) == len(expected) and all(map(is_same_value, expected, outcome.results)), number
    return True


@pytest.mark.full
def test_round_trip() -> None:
    """Generated programs that are exported to ONNX and imported give the same bits."""
    assert sum(check_round_trip(11, number) for number in range(40)) > 20


@pytest.mark.heavy
def test_many_round_trips() -> None:
    """The same, for 500 programs."""
    count = number = 0
    while count < 500:
        count += check_round_trip(12, number)
        number += 1
    assert number < 1000


def late_condition(patch: pytest.MonkeyPatch) -> None:
    """A Loop that reads its first condition after the first trip."""
    replace_row(patch, "Loop", lambda row: lambda limit, condition, *starts, body: row(limit, None, *starts, body=body))


def other_axis(patch: pytest.MonkeyPatch) -> None:
    """A Scan along the first axes."""

    def scan(row: Any) -> Any:
        return lambda *operands, scan_input_axes=None, scan_output_axes=None, **options: row(*operands, **options)

    replace_row(patch, "Scan", scan)


def shifted_operands(patch: pytest.MonkeyPatch) -> None:
    """Operands that follow one that is left out take its place."""
    from tagloom.interp.exchange.onnx.interpreter import ModelInterpreter

    apply_row = ModelInterpreter.apply_row

    def shifted(self: Any, row: Any, call: Any, operands: Any, attributes: Any) -> Any:
        return apply_row(self, row, call, [each for each in operands if each is not None], attributes)

    patch.setattr(ModelInterpreter, "apply_row", shifted)


def first_version(patch: pytest.MonkeyPatch) -> None:
    """Every operator means what it meant in its first version."""
    from tagloom.interp.exchange.onnx import interpreter

    find = interpreter.find_operator
    patch.setattr(interpreter, "find_operator", lambda domain, name, version: find(domain, name, 9))


def replace_row(patch: pytest.MonkeyPatch, name: str, change: Callable[[Any], Any]) -> None:
    """Replace what the latest row of an operator computes."""
    from dataclasses import replace

    from tagloom.interp.exchange.onnx.operators import ROWS

    first, *others = ROWS["", name]
    patch.setitem(ROWS, ("", name), [replace(first, compute=change(first.compute)), *others])


@pytest.mark.full
@pytest.mark.parametrize(
    "twin, case",
    [
        (late_condition, "a loop without trips"),
        (other_axis, "a scan along columns"),
        (shifted_operands, "an operand left out"),
        (first_version, "softmax since version 13"),
    ],
)
def test_twins(twin: Callable[[pytest.MonkeyPatch], None], case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An importer with one fault fails in a case that the true one passes."""
    CASES[case]()
    twin(monkeypatch)
    with pytest.raises((AssertionError, tl.TagloomError)):
        CASES[case]()


def test_the_model_of_the_docs() -> None:
    """The file of the page is the decoder of the tests, and the page has what it computes."""
    from pathlib import Path

    docs = Path(__file__).resolve().parents[4] / "docs"
    assert (docs / "models" / "greedy_decoding.onnx").read_bytes() == models.greedy_decoder().SerializeToString()
    assert (docs / "case_studies" / "hash.onnx").read_bytes() == models.text_hash().SerializeToString()
    assert (docs / "models" / "detector.onnx").read_bytes() == detector().SerializeToString()
    tokens = reference_results(models.greedy_decoder(), start=np.array([0]), limit=np.int64(10))[0].tolist()
    assert f"greedy_decoding.onnx [0] 10\n{tokens}\n" in (docs / "foreign.md").read_text()


def test_a_detector() -> None:
    """The boxes that remain, and their scores, are those of ONNX's own evaluator, which does not stack what a Loop
    collects but joins it; the loop ends before its limit."""
    image = np.random.RandomState(5).rand(1, 1, SIZE, SIZE).astype(np.float32)
    expected = reference_results(detector(), image=image)
    outcome = tl.from_onnx(detector()).run(image, engine="reference")
    for required, got in zip(expected, outcome.value, strict=True):
        assert got.shape[1] == 1
        np.testing.assert_allclose(got[:, 0], required.reshape(got[:, 0].shape), rtol=1e-4, atol=1e-5)
    assert 1 < len(expected[0]) < MOST_BOXES
