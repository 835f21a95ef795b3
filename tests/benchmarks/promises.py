"""The project's promises about its speed, as ratios of figures from one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from conduct import Rung
from rows import Size
from table import Results, markdown, number

Medians: TypeAlias = Mapping[str, Mapping[str, float]]
"""Microseconds of single ops: by op, and by system."""


@dataclass(frozen=True, slots=True)
class Promise:
    """`measured` gives the figure from results, or None if they lack something. The promise is met if the figure is at
    most `limit`, or at least `limit` if `is_least`."""

    text: str
    limit: float
    measured: Callable[[Any], float | None]
    is_least: bool = False

    def line(self, results: Any) -> list[str]:
        value = self.measured(results)
        if value is None:
            return [self.text, "", "not measured"]
        is_met = value >= self.limit if self.is_least else value <= self.limit
        return [self.text, number(value), "met" if is_met else "missed"]


def _rung(results: Results, row: str, system: str, size: Size | None = None) -> Rung | None:
    result = results.get(row, {}).get(system)
    if result is None:
        return None
    return result.top if size is None else result.at(size)


def _ratio(row: str, ours: str, theirs: str, size: Size | None = None) -> Callable[[Results], float | None]:
    """Our time of a unit divided by theirs, for one size, or for the largest that each reached."""

    def measured(results: Results) -> float | None:
        mine, other = _rung(results, row, ours, size), _rung(results, row, theirs, size)
        return None if mine is None or other is None else mine.each() / other.each()

    return measured


def _by_best(row: str, ours: str, theirs: Sequence[str], size: Size | None = None) -> Callable[[Results], float | None]:
    """Our time of a unit divided by that of the fastest of some systems, all of which must have been measured."""
    ratios = [_ratio(row, ours, each, size) for each in theirs]

    def measured(results: Results) -> float | None:
        result = [value for ratio in ratios if (value := ratio(results)) is not None]
        return max(result) if len(result) == len(ratios) else None

    return measured


def _firing(row: str, system: str, size: Size) -> Callable[[Results], float | None]:
    def measured(results: Results) -> float | None:
        rung = _rung(results, row, system, size)
        return None if rung is None else rung.firing()

    return measured


def _against_executor(row: str, system: str, which: int) -> Callable[[Results], float | None]:
    """The number of firings in the time of one of TensorFlow's node executions: of live ones, or (1) of all."""

    def measured(results: Results) -> float | None:
        mine, other = _rung(results, row, system), _rung(results, row, "TF Session")
        if mine is None or other is None:
            return None
        ours, theirs = mine.firing(), other.firing(which)
        return None if ours is None or theirs is None else theirs / ours

    return measured


def _inverse(measured: Callable[[Results], float | None]) -> Callable[[Results], float | None]:
    def inverse(results: Results) -> float | None:
        result = measured(results)
        return result and 1 / result

    return inverse


def _first_call(row: str, system: str) -> Callable[[Results], float | None]:
    def measured(results: Results) -> float | None:
        result = results.get(row, {}).get(system)
        return None if result is None else result.compile

    return measured


def _worst(ours: str, theirs: str) -> Callable[[Medians], float | None]:
    """Our time divided by theirs, for the op where this is largest."""

    def measured(medians: Medians) -> float | None:
        pairs = [(each[ours], each[theirs]) for each in medians.values() if {ours, theirs} <= set(each)]
        return max((mine / other for mine, other in pairs), default=None)

    return measured


def _promises() -> Iterator[Promise]:
    for schedule in ("lifo", "waves"):
        text = f"fast, {schedule}: ns a firing on fib(28), at most 20"
        yield Promise(text, 20, _firing("fib", f"fast, {schedule}", (28,)))
    for row in ("scalar", "nested"):
        for schedule in ("lifo", "waves"):
            system = f"fast, {schedule}"
            text = f"{system}: firings in the time of one firing of TensorFlow's executor, {row}; at least 12 (goal 20)"
            yield Promise(f"{text}; dead ones counted", 12, _against_executor(row, system, 1), is_least=True)
            yield Promise(f"{text}; live ones only", 12, _against_executor(row, system, 0), is_least=True)
    yield Promise("compiled / numba by hand, scalar loop, at most 1.1", 1.1, _ratio("scalar", "compiled", "numba"))
    yield Promise("compiled / JAX, scalar loop, at most 1", 1, _ratio("scalar", "compiled", "JAX"))
    yield Promise("compiled / XLA of TensorFlow, scalar loop, at most 1", 1, _ratio("scalar", "compiled", "TF XLA"))
    yield Promise("compiled / numba by hand, fib(32), at most 1.5", 1.5, _ratio("fib", "compiled", "numba", (32,)))
    for row, limit in (("affine", 1.0), ("affine32", 1.0), ("exptanh", 2.0), ("exptanh32", 2.0)):
        text = f"compiled / JAX, {row}, 1,000,000 elements, at most {limit:g}"
        yield Promise(text, limit, _ratio(row, "compiled", "JAX", (10**6,)))
    for row in ("cell64", "cell256"):
        text = f"compiled / the best of tf.function, JAX and PyTorch, {row}, at most 1"
        yield Promise(text, 1, _by_best(row, "compiled", ("tf.function", "JAX", "PyTorch")))
    yield Promise("compiled / JAX, sum, 1,000,000 elements, at most 1", 1, _ratio("sum", "compiled", "JAX", (10**6,)))


def _training() -> Iterator[Promise]:
    for row, batch in (("softmax", 10), ("softmax", 200), ("mlp", 100), ("lstm", 32), ("l2hmc", 10), ("l2hmc", 200)):
        text = f"a step, compiled / the best of JAX and tf.function: {row}, batch {batch}, at most 1"
        yield Promise(text, 1, _by_best(row, "compiled", ("JAX", "tf.function"), (batch,)))
    text = "a step, PyTorch / compiled: treelstm, batch 1, at least 10"
    yield Promise(text, 10, _ratio("treelstm", "PyTorch", "compiled", (1,)), is_least=True)
    for samples in (10, 200):
        text = f"a step, op by op / compiled: l2hmc, {samples} samples, at least 10"
        yield Promise(text, 10, _ratio("l2hmc", "eager", "compiled", (samples,)), is_least=True)
    for row in ("softmax", "mlp", "lstm", "treernn", "treelstm"):
        yield Promise(f"first call of compiled, s: {row}, at most 1", 1, _first_call(row, "compiled"))


PROMISES = tuple(_promises())
"""Of programs; the results are those of rows."""
TRAINING = tuple(_training())
"""Of training steps."""
EAGER = (
    Promise("an op, tagloom / PyTorch: the worst of all, at most 1.5", 1.5, _worst("tagloom", "PyTorch")),
    Promise("the same, recorded: at most 1.5", 1.5, _worst("tagloom, tape", "PyTorch, grad")),
)
"""Of single ops, whose results are medians."""


def summary_line(results: Any, promises: Sequence[Promise] = PROMISES) -> str:
    """The number of promises that are met."""
    texts = [promise.line(results)[-1] for promise in promises]
    return ", ".join(f"{texts.count(word)} {word}" for word in ("met", "missed", "not measured"))


def report_promises(results: Any, promises: Sequence[Promise] = PROMISES) -> str:
    """All promises, with their results."""
    return markdown(["promise", "measured", ""], [promise.line(results) for promise in promises])


def asides(results: Results) -> str:
    """Figures beside the promises: the time of an iteration on each of the two token machines."""
    lines = []
    for row in ("scalar", "nested"):
        for schedule in ("lifo", "waves"):
            ratio = _inverse(_ratio(row, f"fast, {schedule}", "TF Session"))(results)
            text = f"fast, {schedule}: {row}, iterations in the time of one iteration of TensorFlow's executor"
            lines.append([text, number(ratio)])
    return markdown(["aside", "measured"], lines)
