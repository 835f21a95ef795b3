"""Broken derivations: each has one known error, and the laws of gradients catch it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import tagloom as tl
from support.generators.generator import Case
from support.generators.gradient_programs import differentiate, gradient_difference, run_on_machine
from support.generators.smooth_programs import is_seen
from tagloom.core.autodiff import activity
from tagloom.core.autodiff.activity import ActivityAnalysis, RegionActivity, rule_parameters
from tagloom.core.autodiff.reverse import AdjointBuilder, RegionReversal, Reverser
from tagloom.core.frontend.eager import custom_gradient as custom
from tagloom.core.graph.graph import GraphBuilder
from tagloom.core.ops import op
from tagloom.core.program import evaluate
from tagloom.core.program.program import PARALLEL_ITERATIONS, FunctionDef, Node, Operand, Region, Var
from tagloom.core.value import literal
from tagloom.interp.machine import fire
from test_gradient_laws import gradient_violations

Broken = Callable[[pytest.MonkeyPatch], None]


def overwrite_adjoints(patch: pytest.MonkeyPatch) -> None:
    """The adjoints of a value that is used twice are not added."""

    def contribute(
        self: Reverser, of: RegionReversal, operand: Operand, adjoint: Operand, writer: AdjointBuilder
    ) -> None:
        if isinstance(operand, str) and of.activity.is_active(operand):
            of.adjoints[operand] = adjoint

    patch.setattr(Reverser, "accumulate", contribute)


def omit_factor(patch: pytest.MonkeyPatch) -> None:
    """The rule of products omits the other operand."""
    row = op.OPS["multiply"]
    broken = replace(row, gradient=lambda do, index, adjoint, result, *operands: adjoint)
    patch.setitem(op._REGISTRY, "multiply", broken)


def swap_adjoints(patch: pytest.MonkeyPatch) -> None:
    """A phase returns the adjoints of its parameters in the wrong order."""
    right = Reverser.reverse_phase

    def back(self: Reverser, of: RegionReversal, number: int, writer: AdjointBuilder) -> Region:
        result = right(self, of, number, writer)
        return replace(result, results=tuple(reversed(result.results)))

    patch.setattr(Reverser, "reverse_phase", back)


def treat_all_as_constant(patch: pytest.MonkeyPatch) -> None:
    """Values that pass a branch count as constants."""
    right = ActivityAnalysis.propagate_varied_inside

    def forwards_below(
        self: ActivityAnalysis, area: RegionActivity, root: Node, number: int, positions: list[int]
    ) -> list[bool]:
        result = right(self, area, root, number, positions)
        return [False] * len(result) if root.op == "cond" else result

    patch.setattr(ActivityAnalysis, "propagate_varied_inside", forwards_below)


def drop_branch(patch: pytest.MonkeyPatch) -> None:
    """The second branch of a cond returns no adjoint."""
    right = Reverser.forward_node

    def forward(self: Reverser, of: RegionReversal, node: Node, writer: AdjointBuilder) -> Node:
        result = right(self, of, node, writer)
        if result.op != "cond" or result == node:
            return result
        (one, other), back = result.regions, result.regions[1].pullback
        assert back is not None
        zeros = tuple(literal(0.0, type_) for type_ in of.inner_reversals[node.name][1].adjoint_types[0])
        return replace(result, regions=(one, replace(other, pullback=replace(back, results=zeros))))

    patch.setattr(Reverser, "forward_node", forward)


def reverse_in_forward_order(patch: pytest.MonkeyPatch) -> None:
    """The evaluator runs the pullback of a loop from the first iteration on."""
    patch.setattr(evaluate, "reversed", iter, raising=False)


def reenter_too_early(patch: pytest.MonkeyPatch) -> None:
    """The adjoint of a loop's result enters one iteration too early."""

    def to_iteration(site: Any) -> fire.Retag:
        return lambda child, tag, inputs: child(tag, site, max(inputs[1] - 1, 0))  # type: ignore[operator]

    patch.setitem(fire._RETAG_BUILDERS, "iteration", to_iteration)


def factorial() -> Any:
    @tl.function
    def fac(n: tl.float64) -> tl.float64:
        return tl.cond(n <= 1.0, lambda: 1.0, lambda: n * fac(n - 1.0))

    return fac


def ignore_result_adjoints(patch: pytest.MonkeyPatch) -> None:
    """An adjoint that an iteration does not use is lost on its way there, so the iteration never closes."""
    patch.setattr(GraphBuilder, "has_edges", lambda self, source: True)


def turning_loop() -> Any:
    def body(k: Any, y: Any, x: Any) -> Any:
        return k + 1, tl.cond(k % 2 == 0, lambda: y * x, lambda: tl.sin(y) - x), x

    return tl.function(lambda x: tl.while_loop(lambda k, *_: k < 5, body, 0, x * x, x)[1])


def forgetting_loop() -> Any:
    return tl.function(lambda x: tl.while_loop(lambda k, _: k < 3, lambda k, _: (k + 1, 0.5), 0, x)[1] * x)


CASES = [(factorial, 4.5), (turning_loop, 0.7), (forgetting_loop, 0.9)]
BROKEN = [
    overwrite_adjoints,
    omit_factor,
    swap_adjoints,
    treat_all_as_constant,
    drop_branch,
    reenter_too_early,
    reverse_in_forward_order,
    ignore_result_adjoints,
]


def derivation_violations() -> list[str]:
    """The violations for the gradients of a recursion and of a loop."""
    cases = [Case(make().trace(x).program, [x]) for make, x in CASES]
    return [text for case in cases for text in gradient_violations(case)]


@pytest.mark.full
@pytest.mark.parametrize("broken", BROKEN)
def test_the_laws_catch_a_broken_derivation(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken derivation breaks a law on a recursion or a loop, and the true one breaks none. An error does not
    count."""
    assert derivation_violations() == []
    broken(monkeypatch)
    reply = derivation_violations()
    assert any("the machine failed" not in each for each in reply)


def drop_argument(patch: pytest.MonkeyPatch) -> None:
    """The adjoint of a custom pullback's last argument is omitted."""
    right = Reverser.apply_gradient_rule

    def rule(self: Reverser, of: RegionReversal, function: FunctionDef, given: Any, writer: AdjointBuilder) -> None:
        right(self, of, function, given, writer)
        del of.adjoints[rule_parameters(self.analysis.program, function).inputs[-1].name]

    patch.setattr(Reverser, "apply_gradient_rule", rule)


def pull_back_twice(patch: pytest.MonkeyPatch) -> None:
    """A custom pullback is applied twice."""
    right = Reverser.apply_gradient_rule

    def rule(self: Reverser, of: RegionReversal, function: FunctionDef, given: Any, writer: AdjointBuilder) -> None:
        right(self, of, function, given, writer)
        right(self, of, function, given, writer)

    patch.setattr(Reverser, "apply_gradient_rule", rule)


def ignore_adjoint(patch: pytest.MonkeyPatch) -> None:
    """A custom pullback is given 1 instead of the adjoint."""
    right = Reverser.apply_gradient_rule

    def rule(self: Reverser, of: RegionReversal, function: FunctionDef, given: Any, writer: AdjointBuilder) -> None:
        ones = {at: Var(str(writer("broadcast_like", 1.0, var.name)), var.type) for at, var in given.items()}
        right(self, of, function, ones, writer)

    patch.setattr(Reverser, "apply_gradient_rule", rule)


def close_over_constants(patch: pytest.MonkeyPatch) -> None:
    """Values that a custom pullback closes over count as constants at the second order."""

    def mattering(program: Any, function: FunctionDef) -> Any:
        return range(
            len(rule_parameters(program, function).inputs if function.gradient_rule else function.body.parameters)
        )

    patch.setattr(activity, "relevant_parameters", mattering)


def break_tape_rule(wrong: Callable[[list[Any]], list[Any]], *, ones: bool = False) -> Broken:
    """A tape that calls custom pullbacks wrongly, as the function given changes their adjoints."""

    def broken(patch: pytest.MonkeyPatch) -> None:
        def record(inputs: Any, results: Any, vjp: Any) -> None:
            right(
                inputs, results, lambda adjoints, *rest: wrong(vjp([1.0] * len(adjoints) if ones else adjoints, *rest))
            )

        right = custom.record_entry
        patch.setattr(custom, "record_entry", record)

    return broken


CUSTOM = {
    **{each.__name__: each for each in (drop_argument, pull_back_twice, ignore_adjoint, close_over_constants)},
    "drops an argument, on a tape": break_tape_rule(lambda pulled: [*pulled[:-1], None]),
    "pulls twice, on a tape": break_tape_rule(lambda pulled: [each + each for each in pulled]),
    "forgets the adjoint, on a tape": break_tape_rule(lambda pulled: pulled, ones=True),
}


def product_of_plain_rule(x: Any, y: Any) -> Any:
    return tl.sin(x) * y * y


@tl.custom_gradient
def product_of_custom_rule(x: Any, y: Any) -> Any:
    """A function whose custom pullback equals its derivative."""
    return product_of_plain_rule(x, y), lambda adjoint: (adjoint * tl.cos(x) * y * y, adjoint * 2.0 * tl.sin(x) * y)


def derivative_by_tapes(function: Callable[..., Any], x: Any, order: int) -> Any:
    if not order:
        return function(x)
    with tl.Tape() as tape:
        tape.watch(x)
        y = derivative_by_tapes(function, x, order - 1)
    return tape.gradient(y, x)


def changed_gradients() -> list[str]:
    """The gradients that a correct custom pullback changes, of the first or second order, in a program or on a tape."""
    texts, expected = [], tl.function(lambda x: product_of_plain_rule(x, tl.exp(x)) * x)
    results = tl.function(lambda x: product_of_custom_rule(x, tl.exp(x)) * x)
    for order in (1, 2):
        expected, results = tl.grad(expected), tl.grad(results)
        taped = derivative_by_tapes(lambda x: product_of_custom_rule(x, tl.exp(x)) * x, tl.asarray(0.7), order)
        for way, result in (("program", results(0.7)), ("tape", taped)):
            if abs(float(result) - expected(0.7)) > 1e-12:
                texts.append(f"order {order}, {way}: {float(result)} and not {expected(0.7)}")
    return texts


@pytest.mark.full
@pytest.mark.parametrize("name", CUSTOM)
def test_broken_custom_gradients_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function whose custom pullback equals its derivative catches every broken use of custom pullbacks, and shows
    nothing if none is broken."""
    assert changed_gradients() == []
    CUSTOM[name](monkeypatch)
    assert changed_gradients()


def bounded() -> Any:
    """A loop with a bound of two iterations, with an effect, a random number and a callback."""

    def body(k: Any, y: Any, x: Any) -> Any:
        tl.print("y is", y)
        known = tl.callback(is_seen, y, returns=tl.bool)
        return k + 1, tl.cond(known, lambda: y * tl.sin(x) * (1.0 + tl.uniform()), lambda: y), x

    return tl.function(lambda x: tl.while_loop(lambda k, *_: k < 4, body, 0, x, x, parallel_iterations=2)[1])


def loses_adjoints_of(node_is: Callable[[Node], bool]) -> Broken:
    """The adjoint that passes such a node is lost."""

    def broken(patch: pytest.MonkeyPatch) -> None:
        def chain(self: Reverser, of: RegionReversal, node: Node, writer: AdjointBuilder) -> None:
            if not node_is(of.activity.root_and_phase(node)[0]):
                right(self, of, node, writer)

        right = Reverser.reverse_structured_node
        patch.setattr(Reverser, "reverse_structured_node", chain)

    return broken


PAST_ACTS = {
    "a bound": loses_adjoints_of(lambda node: PARALLEL_ITERATIONS in dict(node.attributes)),
    "what a callback decides": loses_adjoints_of(lambda node: node.op == "cond"),
    "random numbers": omit_factor,
}


@pytest.mark.full
@pytest.mark.parametrize("name", PAST_ACTS)
def test_lost_adjoints_of_effects_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finite differences catch every lost adjoint, and show nothing if none is lost."""

    def told() -> str | None:
        case = Case(bounded().trace(0.7).program, [0.7])
        derived = differentiate(case)
        assert derived is not None
        return gradient_difference(case, derived, run_on_machine(derived, "waves"))

    assert told() == ""
    PAST_ACTS[name](monkeypatch)
    assert told()
