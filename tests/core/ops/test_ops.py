"""The table of ops, row by row. Every law runs over the whole registry, so that a new row is tested as soon as it
exists."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.edges import ANY, EDGES, INF, NAN
from tagloom.core import dtypes
from tagloom.core.ops.op import OPS, Op, build_kernel, can_trap, lookup_op, op, trap_message, wrap
from tagloom.core.types import Type, type_of
from tagloom.core.value import admit, is_same_value

LOW, HIGH = dtypes.int64.range
ROUNDED = [row.name for row in OPS.values() if row.float_loop is not None]
"""Elementary functions of floats: Python's library and NumPy's may differ in the last places."""
TRAPS = {
    "floor_divide": ("integer division by zero", lambda x, y: y == 0),
    "remainder": ("integer remainder by zero", lambda x, y: y == 0),
    "pow": ("integer to a negative power", lambda x, y: y < 0),
    "bitwise_left_shift": ("shift by a negative number", lambda x, y: y < 0),
    "bitwise_right_shift": ("shift by a negative number", lambda x, y: y < 0),
    "assert": ("AssertionError", lambda x: not x),
}
"""Where integers have no result, and the assertion. Nothing else traps, and floats never do."""


def can_trap_by_table(row: Op, result: Type) -> bool:
    return row.name in TRAPS and (result.dtype.is_integer or row.name == "assert")


BY_ELEMENTS = [row for row in OPS.values() if row.scalar is not None]
"""The others are in test_array_ops.py."""


class Signature(NamedTuple):
    """An op on one combination of accepted dtypes."""

    row: Op
    operands: tuple[Type, ...]
    attributes: tuple[tuple[str, Any], ...]
    result: Type

    def __str__(self) -> str:
        return "-".join([self.row.name, *(str(type_) for type_ in (*self.operands, self.result))])

    def traps(self, operands: tuple[Any, ...]) -> bool:
        """Whether the op has no value for these operands, by the table above and not by the row."""
        return can_trap_by_table(self.row, self.result) and TRAPS[self.row.name][1](*operands)


def combinations(row: Op) -> itertools.product[tuple[tuple[Any, ...], tuple[Type, ...]]]:
    attributes = [(("dtype", dtype),) for dtype in dtypes.ALL] if "dtype" in row.attributes else [()]
    return itertools.product(attributes, itertools.product(map(Type, dtypes.ALL), repeat=row.arity))


def signatures() -> list[Signature]:
    results = []
    for row in BY_ELEMENTS:
        for attributes, operands in combinations(row):
            try:
                results.append(Signature(row, operands, attributes, row.type_rule(*operands, **dict(attributes))))
            except tl.Invalid:
                continue
    return results


SIGNATURES = signatures()
ALIKE = [s for s in SIGNATURES if len(set(s.operands[s.row.name == "where" :])) == 1]
"""Those on operands of one dtype, the condition of `where` aside."""
each_signature = pytest.mark.parametrize("signature", ALIKE, ids=str)
each_row = pytest.mark.parametrize("row", OPS.values(), ids=lambda row: row.name)
each_elementwise_row = pytest.mark.parametrize("row", BY_ELEMENTS, ids=lambda row: row.name)


def scalar(signature: Signature, operands: tuple[Any, ...]) -> Any:
    return build_kernel(signature.row, signature.operands, signature.result, signature.attributes)(*operands)


def numpy_results(signature: Signature, operands: list[tuple[Any, ...]]) -> npt.NDArray[Any]:
    """The results of the NumPy column on many operands at once."""
    arrays = [
        np.array(values, dtype=type_.dtype.numpy)
        for values, type_ in zip(zip(*operands, strict=True), signature.operands, strict=True)
    ]
    types, result = [Type(t.dtype, (len(operands),)) for t in signature.operands], signature.result.dtype
    value = build_kernel(signature.row, types, Type(result, (len(operands),)), signature.attributes)(*arrays)
    assert isinstance(value, np.ndarray) and value.dtype == result.numpy
    return value


def ulps(one: Any, other: Any) -> int:
    """The number of floats of their dtype between two floats."""

    def rank(x: Any) -> int:
        bits = int(np.asarray(x).view(f"i{np.asarray(x).itemsize}"))
        return bits if bits >= 0 else -(2 ** (8 * np.asarray(x).itemsize - 1)) - bits

    return abs(rank(one) - rank(other))


def agree(signature: Signature, one: Any, other: Any) -> bool:
    """Whether results are equal bit for bit, except for the bits of NaN, and for bounds that the row declares."""
    if signature.result.dtype.kind != "f" or one != one or other != other:
        return bool(one == other or (one != one and other != other))
    if one == other == 0.0:
        return math.copysign(1.0, one) == math.copysign(1.0, other)
    near = 4 if signature.result.dtype is dtypes.float64 else 1
    return ulps(one, other) <= (near if signature.row.name in ROUNDED else 0)


def check(signature: Signature, operands: list[tuple[Any, ...]]) -> None:
    """Where the op has a value, the scalar kernel and the NumPy column agree; the kernel always gives the row's
    type."""
    for values in operands:
        result = scalar(signature, values)
        assert type_of(result) == signature.result and is_same_value(result, admit(result)), values
    defined = [values for values in operands if not signature.traps(values)]
    if defined:
        expected = list(numpy_results(signature, defined))
        wrong = [v for v, w in zip(defined, expected, strict=True) if not agree(signature, scalar(signature, v), w)]
        assert not wrong, [(values, scalar(signature, values)) for values in wrong]


@each_signature
def test_scalar_equals_numpy_on_edges(signature: Signature) -> None:
    """On every combination of edge values the scalar kernel gives the result of the NumPy column, with the row's type,
    and never raises."""
    check(signature, list(itertools.product(*(EDGES[type_.dtype] for type_ in signature.operands))))


@each_signature
@settings(max_examples=5)
@given(data=st.data())
def test_scalar_equals_numpy_on_any_values(signature: Signature, data: st.DataObject) -> None:
    """Scalar kernel and NumPy column agree on generated values."""
    operands = st.tuples(*(ANY[type_.dtype] for type_ in signature.operands))
    check(signature, data.draw(st.lists(operands, min_size=1, max_size=8)))


@pytest.mark.inner(first=11)
@pytest.mark.parametrize("row", [row for row in BY_ELEMENTS if row.arity > 1], ids=lambda row: row.name)
def test_v4_mixed_dtypes_promote(row: Op) -> None:
    """V4: on operands of two dtypes the op computes in their promotion, for scalars and arrays alike."""
    mixed = [signature for signature in SIGNATURES if signature.row is row and signature not in ALIKE]
    assert bool(mixed) == (not row.name.startswith("logical"))
    for signature in mixed:
        some = [EDGES[type_.dtype][:: max(1, len(EDGES[type_.dtype]) // 3)] for type_ in signature.operands]
        check(signature, list(itertools.product(*some)))


@each_signature
def test_s5_ops_trap_where_their_row_says(signature: Signature) -> None:
    """S5: an op traps exactly for the operands that its row names, for scalars and arrays, with the row's message;
    whether an op can trap is known before the run."""
    row, result = signature.row, signature.result
    assert can_trap(row, result) == can_trap_by_table(row, result)
    for operands in itertools.product(*(EDGES[type_.dtype] for type_ in signature.operands)):
        expected = TRAPS[row.name][0] if signature.traps(operands) else None
        assert trap_message(row, operands) == expected
        assert trap_message(row, tuple(np.array([operand, operand]) for operand in operands)) == expected


def test_s5_the_table_has_every_row_that_traps() -> None:
    """S5: only rows in the table above have operands without a value."""
    assert {row.name for row in BY_ELEMENTS if row.trap_condition} == set(TRAPS)


SHAPES: list[tuple[tuple[int, ...], ...]] = [
    ((3,), (), (3,)),
    ((2, 1), (1, 3), ()),
    ((0,), (1,), ()),
    ((0, 2), (2,), ()),
]


@pytest.mark.inner(first=5)
@each_signature
def test_arrays_of_one_element(signature: Signature) -> None:
    """An array of one element has the scalar kernel's result, on every combination of edge values."""
    dtypes_ = [type_.dtype for type_ in signature.operands]
    every = itertools.product(*(EDGES[dtype][:: 1 if len(dtypes_) < 3 else 5] for dtype in dtypes_))
    for values in [values for values in every if not signature.traps(values)]:
        assert agree(signature, scalar(signature, values), numpy_results(signature, [values])[0]), values


@each_signature
def test_arrays_broadcast(signature: Signature) -> None:
    """Arrays broadcast as the type rule says, empty and 0-d ones too. Each element is the scalar kernel's, the dtype is
    the row's, and the result is read-only."""
    for seed, shapes in enumerate([((), (), ()), *SHAPES, ((8,), (), ()), ((8,), (8,), (1,))]):
        broadcast(signature, shapes, np.random.default_rng(seed))


def broadcast(signature: Signature, shapes: tuple[tuple[int, ...], ...], dice: np.random.Generator) -> None:
    kinds = {
        "b": [False, True],
        "i": [1, 2, 3, 7, 20],
        "u": [1, 2, 3, 7, 20],
        "f": [0.5, 1.0, -2.5, -0.0, INF, -INF, NAN],
    }
    given = [
        np.asarray(dice.choice(np.array(kinds[type_.dtype.kind], type_.dtype.numpy), size=shape))
        for type_, shape in zip(signature.operands, shapes, strict=False)
    ]
    types = [Type(type_.dtype, array.shape) for type_, array in zip(signature.operands, given, strict=True)]
    result = signature.row.type_rule(*types, **dict(signature.attributes))
    operands = [admit(array) for array in given]
    value = build_kernel(signature.row, types, result, signature.attributes)(*operands)
    assert result == Type(signature.result.dtype, np.broadcast_shapes(*(array.shape for array in given)))
    assert result.admits(type_of(value))
    if isinstance(value, np.ndarray):
        assert not value.flags.writeable
    unknown = Type(result.dtype, None)
    assert is_same_value(build_kernel(signature.row, types, unknown, signature.attributes)(*operands), value)
    elements = zip(*(map(admit, np.broadcast_to(array, result.shape).ravel()) for array in given), strict=True)
    for values, element in zip(elements, np.asarray(value).ravel(), strict=True):
        assert agree(signature, scalar(signature, values), element)


@each_elementwise_row
def test_s5_unknown_sizes_that_do_not_broadcast_trap(row: Op) -> None:
    """S5: if types leave sizes open, shapes that do not broadcast trap, and no NumPy exception is raised."""
    operands = [np.ones(size, dtype=bool) for size in range(2, 2 + row.arity)]
    unknown = Type(dtypes.int64, (None,))
    if row.arity > 1:
        assert can_trap(row, unknown)
        text = trap_message(row, tuple(operands))
        assert text is not None and text.startswith("shapes (2,) and (3,)") and text.endswith("do not broadcast")
    else:
        assert trap_message(row, tuple(operands)) is None and not can_trap(row, unknown)


KINDS = {
    "if -> same": "add subtract multiply floor_divide remainder pow negative abs minimum maximum "
    "floor ceil trunc round sign",
    "f -> same": "divide multiply_no_nan sqrt copysign erf erfc ndtri lgamma digamma polygamma "
    "prevent_gradient " + " ".join(name for name in ROUNDED if name != "pow"),
    "f -> bool": "signbit",
    "if -> bool": "less less_equal greater greater_equal isfinite isinf isnan",
    "bif -> bool": "equal not_equal",
    "b -> same": "logical_and logical_or logical_xor logical_not assert",
    "bi -> same": "bitwise_and bitwise_or bitwise_xor bitwise_invert",
    "i -> same": "bitwise_left_shift bitwise_right_shift",
    "bif -> same": "identity stop_gradient",
}
"""What the rows take and make, but for where, which takes a bool and two others, and astype, which takes all."""


def test_v4_type_rules_accept() -> None:
    """V4: a row accepts operands of its kinds, of one dtype or of two that promote to one, and gives the result type.
    NumPy promotes alike, except where the Array API leaves it open."""
    expected = {("where", "b" + x * 2, x) for x in "bif"} | {("astype", x, y) for x in "bif" for y in "bif"}
    expected |= {("bitcast", x, y) for x in "if" for y in "if"}
    for words, names in KINDS.items():
        operands, result = words.split(" -> ")
        for name in names.split():
            expected |= {(name, x * OPS[name].arity, "b" if result == "bool" else x) for x in operands}
    actual = {(s.row.name, "".join(kind(type_) for type_ in s.operands), kind(s.result)) for s in SIGNATURES}
    assert actual == expected
    for signature in SIGNATURES:
        if signature.result.dtype.kind != "b" and not signature.attributes:
            operands = [type_.dtype for type_ in signature.operands[signature.row.name == "where" :]]
            assert signature.result.dtype.numpy == functools.reduce(numpy_promotion, operands).numpy


def numpy_promotion(one: dtypes.DType, other: dtypes.DType) -> dtypes.DType:
    """The dtype to which NumPy promotes two. It has none for float16 with bfloat16; JAX and PyTorch have float32."""
    if {one, other} == {dtypes.float16, dtypes.bfloat16}:
        return dtypes.float32
    return dtypes.from_numpy(np.promote_types(one.numpy, other.numpy))


def kind(type_: Type) -> str:
    return type_.dtype.kind.replace("u", "i")


@pytest.mark.parametrize("one", dtypes.ALL, ids=repr)
@pytest.mark.parametrize("other", dtypes.ALL, ids=repr)
def test_v4_promotion_is_numpy_s(one: dtypes.DType, other: dtypes.DType) -> None:
    """V4: dtypes promote as NumPy's do within bool, integers and floats, except uint64 with signed integers, and
    float16 with bfloat16; other pairs do not."""
    alike = kind(Type(one)) == kind(Type(other))
    result = dtypes.promote(one, other)
    assert result is dtypes.promote(other, one)
    too_wide = one.kind != other.kind and dtypes.uint64 in (one, other)
    if alike and not too_wide:
        assert result is numpy_promotion(one, other)
    else:
        assert result is None


TAKEN = {(s.row.name, s.operands, s.attributes) for s in SIGNATURES}
REFUSED = [
    (row, attributes, operands)
    for row in BY_ELEMENTS
    for attributes, operands in combinations(row)
    if (row.name, operands, attributes) not in TAKEN
]


def test_v4_type_rules_refuse() -> None:
    """V4: the error about wrong operands has what was got, what is required, and what to write instead."""
    assert {row.name for row, _, _ in REFUSED} == {row.name for row in BY_ELEMENTS} - {
        "identity",
        "stop_gradient",
        "astype",
    }
    for row, attributes, operands in REFUSED:
        with pytest.raises(tl.Invalid) as refused:
            row.type_rule(*operands, **dict(attributes))
        assert refused.value.required is not None and refused.value.hint is not None, row
        assert any(str(operand) in str(refused.value.got) for operand in operands), row


def test_v4_a_bool_and_an_integer_do_not_mix() -> None:
    """V4: the error about a bool and an integer names both."""
    with pytest.raises(tl.Invalid, match="do not promote") as refused:
        OPS["add"].type_rule(Type(dtypes.int64), Type(dtypes.bool, (3,)))
    assert refused.value.got == "int64, bool[3]"
    assert refused.value.hint == "convert one with tl.astype(x, dtype)"


@pytest.mark.parametrize(
    ("name", "dtype", "required", "hint"),
    [
        (
            "divide",
            dtypes.int64,
            "a float dtype",
            "convert with tl.astype(x, tl.float64)",
        ),
        ("sqrt", dtypes.bool, "a float dtype", "convert with tl.astype(x, tl.float64)"),
        ("add", dtypes.bool, "an integer dtype or a float dtype", "convert with tl.astype(x, tl.int64)"),
        ("logical_not", dtypes.int64, "bool", "compare first, or convert with tl.astype"),
        ("logical_and", dtypes.float64, "bool", "compare first, or convert with tl.astype"),
    ],
)
def test_v4_hints_fit(name: str, dtype: dtypes.DType, required: str, hint: str) -> None:
    """V4: the error has what a row requires, and what to write to give it that."""
    with pytest.raises(tl.Invalid, match="wrong kind of dtype") as refused:
        OPS[name].type_rule(*[Type(dtype)] * OPS[name].arity)
    assert (refused.value.required, refused.value.hint) == (required, hint)


@each_row
def test_row_is_documented(row: Op) -> None:
    """A row has a sentence about what it computes, and an example (test_doctests runs it)."""
    text, example = row.doc.split(">>> ", 1)
    assert text.strip().endswith(".") and (
        f"tl.{row.name}(" in example.replace("assert_", "assert") or (row.scalar is None and "tl.linalg." in example)
    )


@pytest.mark.inner(first=60)
@each_row
def test_symbol(row: Op) -> None:
    """A symbol is the operator or word by which people know the op; in a traced function it creates that op."""
    assert row.symbol.isascii() and len(row.symbol) <= 4
    if row.symbol.isalnum() and row.symbol != "abs":
        assert row.symbol in (row.name, row.name[:3])
    elif row.symbol:
        names = ["x", "y"][: row.arity]
        written = f"{row.symbol}({names[0]})" if row.arity == 1 else f" {row.symbol} ".join(names)
        *_, operands = (), *(s.operands for s in SIGNATURES if s.row is row)
        traced = tl.function(eval(f"lambda {', '.join(names)}: {written}"))
        arguments = [EDGES[type_.dtype][1] for type_ in operands] or [np.ones(3)] * row.arity
        assert [node.op for node in traced.trace(*arguments).program.main.body.nodes] == [row.name]


PARTS = {"slogdet_sign": "slogdet", "slogdet_logabsdet": "slogdet", "qr_q": "qr", "qr_r": "qr", "eigh_vectors": "eigh"}
PARTS |= {"svd_u": "svd", "svd_vh": "svd"}
"""Rows that are one of the results of a function."""


@pytest.mark.inner(first=60)
@each_row
def test_row_has_a_function(row: Op) -> None:
    """`tagloom` has a function of the row's name, with its docstring, a parameter for each operand, and one by name for
    each attribute, unless the function is composed of several nodes (see test_array_api.py)."""
    if row.name in PARTS:
        assert row.scalar is None and PARTS[row.name] in vars(tl.linalg)
        return
    if row.name == "assert":  # a keyword of Python; tl.assert_ returns nothing
        assert tl.assert_.__doc__ and "assert_" in tl.__all__
        return
    function = getattr(tl, row.name, None) or getattr(tl.linalg, row.name)
    assert function.__name__ == row.name and (row.name in tl.__all__ or row.name in vars(tl.linalg))
    parameters = inspect.signature(function).parameters
    if row.scalar is not None:
        assert function.__doc__ == row.doc
        assert [name for name in row.attributes if name not in parameters] == []
        assert [each.kind for each in parameters.values()].count(inspect.Parameter.POSITIONAL_ONLY) >= (row.arity or 0)
    else:
        assert function.__doc__ and (function.__doc__ == row.doc or row.name in ("index", "arange"))


@pytest.mark.parametrize("signature", [each for each in ALIKE if each.row.name != "assert"], ids=str)
def test_functions_compute(signature: Signature) -> None:
    """On concrete values the function of an op gives the kernel's result."""
    operands = tuple(EDGES[type_.dtype][1] for type_ in signature.operands)
    result = getattr(tl, signature.row.name)(*operands, *(value for _, value in signature.attributes))
    assert agree(signature, result, scalar(signature, operands))
    assert type_of(result) == signature.result


def test_s5_functions_trap() -> None:
    """S5: on concrete operands without a value a function raises Trap with the operands."""
    with pytest.raises(tl.Trap, match="integer division by zero") as trapped:
        tl.floor_divide(1, 0)
    assert trapped.value.got == "1, 0" and "test_ops.py" in str(trapped.value)


@pytest.mark.full
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64], ids=repr)
def test_products_without_nan(dtype: dtypes.DType) -> None:
    """In products without NaN, a factor of 0 of either sign gives 0.0 with any number; other products are ordinary."""
    for x, y in itertools.product(EDGES[dtype], repeat=2):
        expected = dtype.numpy.type(0.0).item() if y == 0 else tl.multiply(x, y)
        assert is_same_value(tl.multiply_no_nan(x, y), admit(expected, Type(dtype)))


@given(st.integers(-(2**70), 2**70), st.sampled_from([dtype for dtype in dtypes.ALL if dtype.is_integer]))
def test_wrap(number: int, dtype: dtypes.DType) -> None:
    """Integers wrap as NumPy's do: modulo 2 to the number of bits, into the dtype's range."""
    low, high = dtype.range
    assert low <= wrap(number, dtype) <= high and (wrap(number, dtype) - number) % 2**dtype.bits == 0
    assert LOW <= wrap(number) <= HIGH


def test_rows_are_declared_once() -> None:
    """A row is declared once; an unknown name is refused with the known ones."""
    assert list(OPS) == [row.name for row in OPS.values()] and lookup_op("add") is OPS["add"]
    with pytest.raises(AssertionError, match="add is declared twice"):
        op("add", arity=2)
    with pytest.raises(tl.Usage, match="no op is called 'total'") as refused:
        lookup_op("total")
    assert refused.value.hint is not None and "subtract" in refused.value.hint
