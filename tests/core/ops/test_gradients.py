"""Laws of the gradient rules: adjoints agree with differences at every order that is tried, and broken rules are
caught."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import assume, given
from hypothesis import strategies as st
from support.generators.generator import ARRAYS, signatures
from support.programs.gradient_cases import CASES, FLAT, REFUSED, GradientCase
from support.twins.tape import RuleValue, Tape, as_it_is, open_sizes, pullback
from tagloom.core import dtypes
from tagloom.core.frontend.array_api import common
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.frontend.trace.annotation import FunctionSpec
from tagloom.core.frontend.trace.program_builder import ProgramBuilder
from tagloom.core.frontend.trace.pytree import leaf_type
from tagloom.core.frontend.trace.symbol import Symbol
from tagloom.core.ops.gradient_rules import adjoint_rule, slopes, zeros_like
from tagloom.core.ops.op import OPS, Gradient, Op
from tagloom.core.program.evaluate import evaluate
from tagloom.core.program.validate import program_problems
from tagloom.core.types import Type, type_of
from tagloom.core.value import admit, is_same_value

each_case = pytest.mark.parametrize("case", CASES, ids=str)
Function = Callable[..., list[RuleValue]]
"""Of a tape and values, what is computed."""


def of_case(case: GradientCase) -> Function:
    return lambda tape, *values: [tape(case.op, *values, **case.attributes)]


def reverse(function: Function, count: int) -> Function:
    """The reverse pass of a function of this many values: a function of these values and of the adjoints of its
    results."""

    def back(tape: Tape, *values: RuleValue) -> list[RuleValue]:
        results = function(tape, *values[:count])
        return pullback(tape, results, values[count:], [each for each in values[:count] if is_float(each.value)])

    return back


def is_float(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "f"


def run(function: Function, values: Sequence[Any], said: Any = as_it_is, rows: Mapping[str, Op] = OPS) -> list[Any]:
    return [each.value for each in function(Tape(said, rows), *(RuleValue(admit(value)) for value in values))]


def derivative(function: Function, values: Sequence[Any], directions: Sequence[Any]) -> list[Any]:
    """The derivative along directions, by differences of fourth order, within about 1e-11."""
    width = 1e-3

    def at(steps: int) -> list[Any]:
        moved = [v if d is None else v + steps * width * d for v, d in zip(values, directions, strict=True)]
        return run(function, moved)

    return [(8 * (b - c) - (a - d)) / (12 * width) for a, b, c, d in zip(*map(at, (2, 1, -1, -2)), strict=True)]


def inner(ones: Sequence[Any], others: Sequence[Any]) -> float:
    return sum(float(np.sum(np.multiply(one, other))) for one, other in zip(ones, others, strict=True))


def gap(function: Function, values: Sequence[Any], directions: Sequence[Any], dice: Any, **how: Any) -> float:
    """The difference of <v, J'w> and <Jv, w>, relative to their size."""
    moved = derivative(function, values, directions)
    weights = [dice.normal(size=np.shape(each)) for each in moved]
    back = run(reverse(function, len(values)), [*values, *weights], **how)
    along = [d for d in directions if d is not None]
    one, other = inner(moved, weights), inner(along, back)
    return abs(one - other) / max(1.0, abs(one), inner(map(np.abs, along), map(np.abs, back)))  # type: ignore[arg-type]


def drawn(case: GradientCase, seed: int) -> tuple[list[Any], list[Any], Any]:
    dice = np.random.default_rng(seed)
    values = case.values(dice)
    return values, [case.direction(dice, each) if is_float(each) else None for each in values], dice


def first_order(case: GradientCase, seed: int, **how: Any) -> float:
    return gap(of_case(case), *drawn(case, seed), **how)


@pytest.mark.inner(first=1, of_each=r"\w+")
@each_case
def test_adjoints_agree_with_differences(case: GradientCase) -> None:
    """<v, J'w> = <Jv, w>, for known and unknown sizes. If a factorisation can be differentiated for some sizes only,
    they must be known."""
    assert first_order(case, 1) < 1e-9
    if case.attributes.get("full_matrices") or case.attributes.get("mode") == "complete":
        with pytest.raises(tl.Invalid, match="cannot be differentiated"):
            first_order(case, 1, said=open_sizes)
    else:
        assert first_order(case, 1, said=open_sizes) < 1e-9


@given(st.sampled_from(CASES), st.integers(0, 2**32))
def test_adjoints_of_other_numbers(case: GradientCase, seed: int) -> None:
    """The law holds for any numbers."""
    assert first_order(case, seed) < 1e-8


@pytest.mark.inner(first=28)
@each_case
def test_second_order(case: GradientCase) -> None:
    """The law holds for reverse passes too, since their ops have gradient rules."""
    values, directions, dice = drawn(case, 2)
    weights = [dice.normal(size=np.shape(each)) for each in run(of_case(case), values)]
    back = reverse(of_case(case), len(values))
    assert gap(back, [*values, *weights], [*directions, *weights], dice) < 1e-8


class TypesOnly:
    """A `do` that computes types only."""

    def type(self, operand: Type) -> Type:
        return operand

    def __call__(self, op: str, *operands: Any, **attributes: Any) -> Type:
        row = OPS[op]
        alike = [each for each in operands[slice(*row.same_dtype_operands)] if isinstance(each, Type)]
        return row.type_rule(
            *(each if isinstance(each, Type) else Type(alike[0].dtype) for each in operands), **attributes
        )


def narrow(type_: Type) -> Type:
    return Type(dtypes.float32, type_.shape) if type_.dtype.kind == "f" else type_


@pytest.mark.inner(first=1, of_each=r"\w+")
@pytest.mark.parametrize("said", [as_it_is, open_sizes, narrow])
@each_case
def test_v4_rules_give_the_operand_s_type(case: GradientCase, said: Callable[[Type], Type]) -> None:
    """V4: the adjoint has a type before the run, which is that of the operand, as far as sizes are known."""
    do, types = TypesOnly(), [said(type_of(admit(value))) for value in case.values(np.random.default_rng(4))]
    result = do(case.op, *types, **case.attributes)
    for index, type_ in enumerate(types):
        try:
            made = OPS[case.op].gradient(do, index, result, result, *types, **case.attributes)  # type: ignore[misc]
        except tl.Invalid as error:
            assert "cannot be differentiated" in str(error) and said is open_sizes
            return
        if type_.dtype.kind == "f" and made is not None:
            assert (do("sum_like", made, type_) if OPS[case.op].scalar is not None else made) == type_


class NodesOnly:
    """The `do` of a trace: each op is a node."""

    __call__ = staticmethod(apply)
    type = staticmethod(common.type_of)


@pytest.mark.inner(first=24)
@each_case
def test_rules_make_nodes(case: GradientCase) -> None:
    """A traced rule is a valid program, and gives what the rule gives eagerly."""
    values, dice = case.values(np.random.default_rng(5)), np.random.default_rng(6)
    (result,) = run(of_case(case), values)
    given = [admit(each) for each in (dice.normal(size=np.shape(result)), result, *values)]
    for index in [at for at, value in enumerate(values) if is_float(value)]:
        wanted = by_rule(case, index, Tape(), *map(RuleValue, given))
        if wanted is not None:
            made = by_nodes(partial(by_rule, case, index), given, type_of(wanted.value))
            assert made is not None and is_same_value(made[0], wanted.value)


def by_rule(case: GradientCase, index: int, do: Any, *given: Any) -> Any:
    return OPS[case.op].gradient(do, index, *given, **case.attributes)  # type: ignore[misc]


def by_nodes(function: Callable[..., Any], given: list[Any], result: Type) -> Any:
    """The result of the program whose nodes a function creates."""

    def body(*operands: Any) -> Any:
        return function(NodesOnly(), *operands)

    leaves = tuple(leaf_type(type_of(each)) for each in given)
    parameters = tuple((f"x{number}", each) for number, each in enumerate(leaves))
    program, _ = ProgramBuilder(Symbol).build_program(FunctionSpec(body, parameters, leaf_type(result)), leaves)
    assert program_problems(program) == []
    return evaluate(program, given).results


@pytest.mark.inner(first=1, of_each=r"\w+")
@each_case
def test_rules_need_no_known_axes(case: GradientCase) -> None:
    """If an op does not need to know the number of its operands' axes, neither does its rule, except for matrix
    products."""
    do, types = (
        TypesOnly(),
        [Type(type_of(admit(value)).dtype, None) for value in case.values(np.random.default_rng(4))],
    )
    try:
        result = do(case.op, *types, **case.attributes)
    except tl.Invalid:
        return
    for index, type_ in enumerate(types) if case.op != "matmul" else ():
        if type_.dtype.kind == "f":
            made = OPS[case.op].gradient(do, index, result, result, *types, **case.attributes)  # type: ignore[misc]
            assert made is None or made == type_


@pytest.mark.full
def test_third_order() -> None:
    """The law holds to third order, for products, quotients, powers and functions of one number."""

    def function(tape: Tape, x: RuleValue, y: RuleValue) -> list[RuleValue]:
        return [tape("sin", tape("multiply", tape("pow", x, y), tape("tanh", tape("divide", y, x))))]

    twice = reverse(reverse(function, 2), 3)
    assert gap(twice, [1.3, 0.7, 1.0, 0.3, -0.4], [1.0, -0.5, 0.3, 0.8, 0.2], np.random.default_rng(0)) < 1e-8


SMOOTH = ("sin", "tanh", "atan", "asinh", "add", "multiply", "hypot", "logaddexp", "subtract", "atan2")


@given(st.lists(st.tuples(st.sampled_from(SMOOTH), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=5))
def test_adjoints_of_reused_values_are_added(steps: list[tuple[str, int, int]]) -> None:
    """The adjoints of values that are used several times are added, to second order too, where all steps are smooth:
    hypot and atan2 are not at the origin, and differences are inexact near it."""

    def function(tape: Tape, *values: RuleValue) -> list[RuleValue]:
        known = list(values)
        for op, one, other in steps:
            operands = [known[at % len(known)] for at in (one, other)[: OPS[op].arity]]
            assume(op not in ("hypot", "atan2") or np.all(np.hypot(*(each.value for each in operands)) > 0.3))
            known.append(tape(op, *operands))
        return known[2:]

    dice = np.random.default_rng(0)
    values = [np.array([0.7, -1.1]), 1.6]
    directions = [dice.normal(size=2), dice.normal()]
    weights = [dice.normal(size=np.shape(each)) for each in run(function, values)]
    assert gap(function, values, directions, dice) < 1e-7
    assert gap(reverse(function, 2), [*values, *weights], [*directions, *weights], dice) < 1e-6


@pytest.mark.full
def test_every_op_of_floats_has_a_rule() -> None:
    """Every op from floats to floats has a rule, which is tested here, or declares that it has no slope. Other ops have
    no rule."""
    makes: dict[str, bool] = dict.fromkeys(OPS, False)
    for name, every in signatures(ARRAYS, arrays=True).items():
        for types, given_ in every:
            is_float_made = OPS[name].type_rule(*types, **dict(given_)).dtype.kind == "f"
            makes[name] |= is_float_made and any(type_.dtype.kind == "f" for type_ in types)
    assert {name for name, row in OPS.items() if row.gradient is not None} == {name for name in makes if makes[name]}
    assert {case.op for case in CASES} == {name for name in makes if makes[name]} - {*FLAT, *REFUSED}


@pytest.mark.parametrize("name", FLAT)
def test_step_functions_have_no_adjoint(name: str) -> None:
    """An op whose result is constant between jumps gives its operands no adjoint."""
    x = np.array([[1.5]]) if name == "slogdet_sign" else 1.5
    operands = [x] * (OPS[name].arity or 1)
    rule = OPS[name].gradient
    assert rule is not None and all(
        rule(Tape(), at, *map(RuleValue, [x, x, *operands])) is None for at in range(len(operands))
    )


def test_conversions() -> None:
    """Adjoints are converted back between float dtypes; integers and bools have none. Operands of two dtypes have
    adjoints of their own dtypes."""
    x, y = np.array([1.5, 2.5], np.float32), np.array([0.5, 3.0])
    rule = OPS["astype"].gradient
    assert (
        rule is not None and rule(Tape(), 0, RuleValue(1.0), RuleValue(2), RuleValue(2.5), dtype=dtypes.int64) is None
    )
    for op, g in (("multiply", y), ("pow", y), ("maximum", y), ("atan2", y), ("matmul", 1.0)):
        back = run(reverse(lambda tape, *values, op=op: [tape(op, *values)], 2), [x, y, g])
        assert [type_of(each).dtype for each in back] == [dtypes.float32, dtypes.float64]
    (alone,) = run(reverse(lambda tape, x: [tape("astype", x, dtype=dtypes.float64)], 1), [x, y])
    assert type_of(alone) == type_of(x)


BROKEN: dict[str, Gradient] = {
    "multiply": slopes(lambda x, y, z: y, lambda x, y, z: y),
    "divide": slopes(lambda x, y, z: 1.0 / y, lambda x, y, z: -1.0 / y),
    "pow": slopes(lambda x, y, z: x.pow(y - 1.0), lambda x, y, z: z * x.log()),
    "tanh": slopes(lambda x, z: 1.0 - z),
    "atan2": slopes(*[lambda y, x, z: x / (x * x + y * y)] * 2),
    "where": adjoint_rule(None, *[lambda g, z, c, x, y: c.where(g, 0.0)] * 2),
    "prod": adjoint_rule(lambda g, z, x, axis, keepdims: zeros_like(x) + z * g),
    "max": adjoint_rule(lambda g, z, x, axis, keepdims: zeros_like(x) + g),
    "cumulative_sum": adjoint_rule(lambda g, z, x, axis: g.cumulative_sum(axis=axis)),
    "sort": adjoint_rule(lambda g, z, x, axis, descending: g),
    "roll": adjoint_rule(lambda g, z, x, shift, axis: g.roll(shift=shift, axis=axis)),
    "scatter": adjoint_rule(lambda g, z, x, v, *at: g, lambda g, z, x, v, *at: g.gather(*at).sum_like(v), None),
    "scatter_max": adjoint_rule(
        lambda g, z, x, v, *at: x.equal(z).where(g, 0.0), lambda g, z, x, v, *at: g.gather(*at).sum_like(v), None
    ),
    "scatter_mul": adjoint_rule(
        lambda g, z, x, v, *at: (zeros_like(x) + 1.0).scatter_mul(v, *at) * g,
        lambda g, z, x, v, *at: (g * x).gather(*at).sum_like(v),
        None,
    ),
    "inv": adjoint_rule(lambda g, z, x: -(z @ g @ z)),
    "qr_r": adjoint_rule(lambda g, z, x, mode: x.qr_q(mode=mode) @ g),
}
"""Rules that are wrong: a slope of another operand, a kink forgotten, an order not reversed."""


@pytest.mark.parametrize("name", BROKEN)
def test_broken_rules_are_caught(name: str) -> None:
    """A wrong rule breaks the law in some case of its op."""
    assert is_caught(name, BROKEN[name])


OFF: dict[str, Callable[[Tape, RuleValue], RuleValue | None]] = {
    "a factor is missing": lambda tape, made: tape("multiply", made, 2.0),
    "the sign is wrong": lambda tape, made: tape("negative", made),
    "an operand is forgotten": lambda tape, made: None,
}


@pytest.mark.inner(first=13)
@pytest.mark.parametrize("wrong", OFF)
@pytest.mark.parametrize("name", dict.fromkeys(case.op for case in CASES))
def test_rules_wrong_for_one_operand_are_caught(name: str, wrong: str) -> None:
    """Every rule that is wrong for one of its operands breaks the law."""
    rule, asked = OPS[name].gradient, set[int]()

    def off(at: int) -> Gradient:
        def gradient(tape: Any, index: int, *values: Any, **attributes: Any) -> Any:
            type_ = rule(tape, index, *values, **attributes)  # type: ignore[misc]
            asked.update([index] if type_ is not None else [])
            return OFF[wrong](tape, type_) if index == at and type_ is not None else type_

        return gradient

    is_caught(name, off(-1))
    assert asked and all(is_caught(name, off(at)) for at in tuple(asked))


def is_caught(name: str, gradient: Gradient) -> bool:
    rows = {**OPS, name: replace(OPS[name], gradient=gradient)}
    return any(fails(case, rows) for case in CASES if case.op == name)


def fails(case: GradientCase, rows: Mapping[str, Op]) -> bool:
    """Whether the law, or the type of an adjoint, is broken."""
    try:
        return first_order(case, 1, rows=rows) > 1e-6
    except (AssertionError, tl.Invalid):
        return True
