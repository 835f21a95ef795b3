"""The node tests of the `onnx` package, run by tagloom: `python tests/onnx_nodes.py [WORD...] [--list] [--systems]`.

Prints a table: how many pass, how many are refused, by reason, and how many fail; with `--systems` the same for ONNX's
ReferenceEvaluator and for ONNX Runtime, where they are installed; with `--list` each that does not pass. Words choose
the tests whose names contain one. The exit code is 1 if a test fails that is not listed in NOISE.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt, Runner

Run = Callable[[Sequence[Any]], Sequence[Any]]
CONTROL = ("If", "Loop", "Scan", "SequenceMap")


class NodeResult(NamedTuple):
    """How a test ended: passed, refused or failed, and why."""

    name: str
    verdict: str
    reason: str


def node_cases(words: Sequence[str] = ()) -> list[Any]:
    """ONNX's test cases whose names contain one of the words; all of them without words."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    return [case for case in cases if not words or any(word in case.name for word in words)]


def prepare_tagloom(model: onnx.ModelProto) -> Run:
    from tagloom.interp.exchange.onnx.backend import TagloomBackend

    return TagloomBackend.prepare(model, engine="reference").run  # type: ignore[no-any-return]


def prepare_reference(model: onnx.ModelProto) -> Run:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(model)
    names = [each.name for each in model.graph.input]
    return lambda inputs: evaluator.run(None, dict(zip(names, inputs, strict=True)))


def prepare_runtime(model: onnx.ModelProto) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        arrays = [each if each is None or isinstance(each, list) else np.asarray(each) for each in inputs]
        return session.run(None, dict(zip(names, arrays, strict=True)))  # type: ignore[no-any-return]

    return run


NOISE = (
    "test_dft_inverse", "test_dft_inverse_opset19",
    "test_attention_4d_causal_fp16", "test_attention_4d_causal_fp16_expanded",
)  # fmt: skip
"""Tests that require the rounding errors of ONNX's own computation: zeros that differ from zero as much, in float32;
a softmax in float16 that rounds after each operation, where tagloom's rounds once and is nearer to the exact result."""
REFUSALS = (
    "NOT_IMPLEMENTED", "NotImplemented", "Could not find an implementation", "No Op registered", "Unrecognized",
    "can't be converted to MLDataType", "No corresponding Numpy type", "is not a registered function",
    "No registered implementation", "Pillow must be installed",
)  # fmt: skip
"""Words of messages by which a system says that it lacks something."""


def to_array(item: Any) -> Any:
    """An input or output of a test as an array; what is no tensor, such as a sequence, is left as it is."""
    return onnx.numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item


def run_case(case: Any, prepare: Callable[[onnx.ModelProto], Run]) -> NodeResult:
    """How a system does in a test."""
    try:
        for inputs, outputs in case.data_sets:
            got = prepare(case.model)([to_array(item) for item in inputs])
            required = [to_array(item) for item in outputs]
            if not is_random(case):
                check_similar(required, list(got), case.rtol, case.atol)
    except BackendIsNotSupposedToImplementIt as error:
        return NodeResult(case.name, "refused", str(error))
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return NodeResult(case.name, "refused" if any(word in text for word in REFUSALS) else "failed", text)
    return NodeResult(case.name, "passed", "")


def check_similar(required: Any, got: Any, rtol: float, atol: float) -> None:
    """Raises AssertionError where results differ more than a test permits, as ONNX's runner does; that one cannot
    compare the scalars in a sequence."""
    if isinstance(required, list | tuple):
        assert isinstance(got, list | tuple) and len(got) == len(required), f"{len(required)} values, got {got}"
        for one, other in zip(required, got, strict=True):
            check_similar(one, other, rtol, atol)
    elif required is None:
        assert got is None
    else:
        Runner.assert_similar_outputs([required], [np.asarray(got)], rtol, atol)


def is_random(case: Any) -> bool:
    """Whether the outputs of a test are random, so that only their shapes could be compared."""
    return "bernoulli" in case.name or "training_dropout" in case.name


def has_control_flow(case: Any) -> bool:
    """Whether a model has a condition or a loop."""

    def walk(nodes: Any) -> Iterator[str]:
        for node in nodes:
            yield node.op_type
            for each in node.attribute:
                if each.type == onnx.AttributeProto.GRAPH:
                    yield from walk(each.g.node)

    return not set(CONTROL).isdisjoint(walk(case.model.graph.node))


def short_reason(reason: str) -> str:
    """A reason without names and places, so that equal ones count together."""
    line = next(iter(reason.splitlines()), "")
    return re.sub(r" \([^()]*:\d+\)", "", line)[:110]


def report(system: str, results: Sequence[NodeResult], cases: Sequence[Any]) -> None:
    """Print the table of a system."""
    verdicts = Counter(each.verdict for each in results)
    control = {case.name for case in cases if has_control_flow(case)}
    passed = sum(each.name in control and each.verdict == "passed" for each in results)
    counts = ", ".join(f"{verdicts[word]} {word}" for word in ("passed", "refused", "failed"))
    print(f"{system}: {counts} of {len(results)}; with control flow {passed} of {len(control)}")
    for verdict in ("refused", "failed"):
        reasons = Counter(short_reason(each.reason) for each in results if each.verdict == verdict)
        for reason, count in reasons.most_common():
            print(f"  {count:5}  {verdict}  {reason}")


def main(words: Sequence[str]) -> int:
    chosen = [word for word in words if not word.startswith("--")]
    cases = node_cases(chosen)
    systems = {"tagloom": prepare_tagloom}
    if "--systems" in words:
        systems |= {"ReferenceEvaluator": prepare_reference}
        try:
            import onnxruntime  # noqa: F401

            systems["ONNX Runtime"] = prepare_runtime
        except ImportError:
            print("ONNX Runtime is not installed")
    failed = False
    for system, prepare in systems.items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = [run_case(case, prepare) for case in cases]
        report(system, results, cases)
        if "--list" in words:
            for each in results:
                if each.verdict != "passed":
                    print(f"{each.verdict:8}{each.name}: {short_reason(each.reason)}")
        names = {each.name for each in results if each.verdict == "failed"}
        failed = failed or (system == "tagloom" and not names <= set(NOISE))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
