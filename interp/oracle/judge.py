"""Judges a backend's answer for one program: compares it with the reference's outcome, under the policy.

A judgement is data: its verdict, why, and where the first difference is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.graph.graph import Graph
from ...core.graph.lower import lower
from ...core.ops.op import OPS
from ...core.program.program import Node, Program, Region
from ...core.types import type_of
from ...core.value import Value, abbreviate, is_float_array, is_same_value
from ...core.world import World
from ..engines.limits import Limits
from ..engines.reference import run_graph
from ..machine.event import Event
from ..outcome.outcome import Outcome
from .policy import PolicyRule, rules_for, window_of
from .protocol import Answer

JudgementVerdict = Literal["alike", "different", "undecided", "refused", "error", "crash", "hang", "not run"]
FAILURES = frozenset({"different", "error", "crash", "hang"})
"""The judgements that say that a backend is wrong."""


class Judgement(NamedTuple):
    """The result of a program on a backend, judged by the reference. `reason` says why in a sentence; `required` and
    `actual` are the results where they differ."""

    verdict: JudgementVerdict
    reason: str
    answer: Answer
    required: str | None = None
    actual: str | None = None


DEFAULT_LIMITS = Limits(firings=100_000, depth=2_000)
"""The limits of the reference: programs beyond them are not compared."""


def run_reference(
    program: Program, arguments: Sequence[Value], limits: Limits = DEFAULT_LIMITS, graph: Graph | None = None
) -> Outcome:
    """The outcome of the reference machine."""
    return run_graph(graph or lower(program), arguments, limits=limits, world=World(lambda line: None))


def judge(
    program: Program, arguments: Sequence[Value], outcome: Outcome, answer: Answer, endings: Sequence[str] = ()
) -> Judgement:
    """Compare an answer with the outcome of the reference. `endings` are those that the backend always reports."""
    failure = judge_failure(answer)
    if failure is not None and answer.kind not in ("trapped", "deadlocked", "error"):
        return failure
    match outcome.status:
        case "Exhausted":
            return Judgement("undecided", "the reference is Exhausted", answer)
        case "Deadlocked":
            return judge_ending("deadlock", ("deadlocked",), answer, "deadlocked" in endings)
        case "Trapped":
            return judge_ending(f"trap: {outcome.traps[0].message}", ("trapped", "error"), answer, "trapped" in endings)
    return failure or judge_results(program, arguments, outcome, answer)


def judge_ending(ending: str, kinds: Sequence[str], answer: Answer, is_reported: bool) -> Judgement:
    """Judge an answer where the reference has no results: by whether it is of one of these kinds."""
    if answer.kind in kinds:
        return Judgement("alike", f"both {ending}", answer)
    kind, _, message = ending.partition(":")
    verdict: JudgementVerdict = "different" if is_reported else "undecided"
    details = (ending, ", ".join(map(abbreviate, answer.results)) or answer.kind) if is_reported else ()
    return Judgement(
        verdict, f"the reference {kind}s, and the backend does not:{message}".rstrip(":"), answer, *details
    )


def judge_refusal(rule: str, answer: Answer) -> Judgement:
    """Judge the answer of a backend that promises to refuse invalid programs, for a program that breaks this rule."""
    if answer.kind == "refused":
        if answer.cause == "invalid":
            return Judgement("alike", f"both refuse: {rule}", answer)
        return Judgement("refused", f"{answer.cause}: {answer.message}", answer)
    failure = judge_failure(answer)
    if failure is not None and answer.kind != "error":
        return failure
    reason = f"the program breaks {rule}, and the backend does not refuse it"
    return Judgement("different", reason, answer, f"refused: {rule}", answer.kind)


def judge_failure(answer: Answer) -> Judgement | None:
    """The judgement on an answer that has no results, where the reference returns; None if it has some."""
    match answer.kind:
        case "refused":
            return Judgement("refused", f"{answer.cause}: {answer.message}", answer)
        case "not started":
            return Judgement("not run", answer.message, answer)
        case "crash" | "hang":
            return Judgement(answer.kind, answer.message, answer)
        case "invalid":
            return Judgement("error", f"its answer is invalid: {answer.message}", answer)
        case "trapped" | "deadlocked" | "error":
            return Judgement("error", f"the reference returns, and the backend does not: {answer.message}", answer)
    return None


def judge_results(program: Program, arguments: Sequence[Value], outcome: Outcome, answer: Answer) -> Judgement:
    """Compare results: by their bits, then within the window of the program, then under the conditions that its run
    met."""
    expected = [value for value in outcome.results if value is not None]
    pairs = [
        (position, required, actual)
        for position, (required, actual) in enumerate(zip(expected, answer.results, strict=True))
        if not is_same_value(required, actual)
    ]
    if not pairs:
        return Judgement("alike", "the results have the same bits", answer)
    window = program_window(program)
    rules = list(conditions_met(lower(program), arguments))
    has_open_zeros = any(rule.treatment in ("zero-sign", "flush") for rule, _ in rules)
    beyond = [pair for pair in pairs if not is_within(pair[1], pair[2], window, has_open_zeros)]
    if not beyond:
        return Judgement("alike", f"the results are within {window} ulp", answer)
    open_results = uncertain_results(program) if window else frozenset()
    position, required, actual = min(beyond, key=lambda pair: pair[0] in open_results)
    details = (f"result {position} is {abbreviate(required)}", abbreviate(actual))
    for rule, node in rules:
        if rule.treatment in ("claim", "flush"):
            return Judgement("undecided", f"{node} meets {rule.condition}: {rule.reason}", answer, *details)
    if position in open_results:
        reason = "a later node may enlarge a difference that a window permits, or branch on it"
        return Judgement("undecided", reason, answer, *details)
    return Judgement("different", f"result {position} differs", answer, *details)


def program_window(program: Program) -> int:
    """By how many ulp the results of a program may differ: the sum of the windows of its nodes."""
    return sum(
        window
        for function in program.functions
        for region in function.body.walk_regions()
        for _, window in node_windows(region)
    )


def uncertain_results(program: Program) -> frozenset[int]:
    """The positions of the results that may differ by more than the windows of nodes. A node that takes a result within
    a window may enlarge the difference, as a subtraction of nearly equal numbers does; so may a cond, loop or call."""
    windowed: set[str] = set()
    uncertain_names: set[str] = set()
    for node, window in node_windows(program.main.body):
        names = {var.name for var in node.results}
        if node.regions or node.op == "call" or not (windowed | uncertain_names).isdisjoint(used_names(node)):
            uncertain_names |= names
        elif window:
            windowed |= names
    return frozenset(n for n, result in enumerate(program.main.body.results) if result in uncertain_names)


def used_names(node: Node) -> list[str]:
    """The operands of a node that are names."""
    return [operand for operand in node.inputs if isinstance(operand, str)]


def node_windows(region: Region) -> Iterator[tuple[Node, int]]:
    """The nodes of a region, each with its window, which is 0 for conds, loops and calls."""
    types = {var.name: var.type for var in region.parameters}
    for node in region.nodes:
        operands = [types[operand] if isinstance(operand, str) else operand.type for operand in node.inputs]
        types.update((var.name, var.type) for var in node.results)
        yield node, window_of(node.op, operands) if node.op in OPS else 0


def conditions_met(graph: Graph, arguments: Sequence[Value]) -> Iterator[tuple[PolicyRule, str]]:
    """The rows of the policy, except windows, whose conditions hold in a firing of the reference, each once, with the
    node that met it first."""
    run = run_graph(graph, arguments, limits=DEFAULT_LIMITS, keep="events", world=World(lambda line: None))
    rules_met: set[PolicyRule] = set()
    for event in run.events:
        for rule, name in firing_conditions(graph, event):
            if rule not in rules_met:
                rules_met.add(rule)
                yield rule, name


def firing_conditions(graph: Graph, event: Event) -> Iterator[tuple[PolicyRule, str]]:
    """The rows whose conditions hold in a firing."""
    if event.inputs is None or event.trap is not None:
        return
    node = graph.nodes[event.token.node]
    if node.op not in OPS:
        return
    operands = list(event.inputs)[: len(event.inputs) - node.has_trigger]
    types = [type_of(operand) for operand in operands]
    for rule in rules_for(node.op, types):
        if rule.treatment != "window" and event.outputs and bool(np.any(rule.holds(operands, event.outputs[0][1]))):
            yield rule, node.name


def is_within(required: Value, actual: Value, window: int, has_open_zeros: bool) -> bool:
    """Whether two values have the same type and shape, and differ by at most `window` ulp in each element."""
    required_elements, actual_elements = np.asarray(required), np.asarray(actual)
    if required_elements.dtype != actual_elements.dtype or required_elements.shape != actual_elements.shape:
        return False
    return bool(np.all(close_elements(required_elements, actual_elements, window, has_open_zeros)))


def close_elements(
    first: npt.NDArray[Any], second: npt.NDArray[Any], window: int, has_open_zeros: bool
) -> npt.NDArray[np.bool_]:
    """Where elements of two arrays of one dtype are the same: NaN is NaN; a zero has a sign, unless that is open."""
    if not is_float_array(first):
        return np.asarray(first == second)
    same_zero = True if has_open_zeros else np.signbit(first) == np.signbit(second)
    is_same = ((first == second) & ((first != 0) | same_zero)) | (np.isnan(first) & np.isnan(second))
    return np.asarray(is_same | ((window > 0) & (ulp_distance(first, second) <= window)))


def ulp_distance(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The number of floats between elements; infinite from NaN, and from an infinity to a number.

    >>> ulp_distance(np.array([1.0, 0.0, np.inf]), np.array([1.0 + 2**-52, -5e-324, 1.0])).tolist()
    [1.0, 1.0, inf]
    """
    low, high = np.sort([_float_rank(first), _float_rank(second)], axis=0).view(np.uint64)
    with np.errstate(over="ignore"):  # the difference of a positive and a negative rank wraps round to the right one
        distance = (high - low).astype(np.float64)
    return np.where(np.isfinite(first) & np.isfinite(second), distance, np.inf)


def _float_rank(array: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """How many floats lie between 0 and each element, negative below 0."""
    width = array.dtype.itemsize
    bits = np.ascontiguousarray(array).view(f"i{width}").reshape(array.shape).astype(np.int64)
    return np.where(bits < 0, -(2 ** (8 * width - 1)) - bits, bits)
