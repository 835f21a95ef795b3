"""Values: how they are admitted, compared, printed and read, bit for bit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st
from tagloom.core import dtypes
from tagloom.core.files import read_array
from tagloom.core.text.literals import parse_literal, parse_value
from tagloom.core.types import Type, type_of
from tagloom.core.value import Literal, admit, fingerprint, format_value, is_same_value, literal, normalize

INT, FLOAT, BOOL = Type(dtypes.int64), Type(dtypes.float64), Type(dtypes.bool)
floats = st.floats(allow_nan=False) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324])
shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)


def scalars(dtype: dtypes.DType) -> st.SearchStrategy[Any]:
    if dtype.kind == "b":
        return st.booleans()
    return st.integers(*dtype.range) if dtype.is_integer else floats


@st.composite
def values(draw: Any) -> Any:
    """Scalars and arrays of every dtype, of up to three dimensions, with empty ones."""
    dtype, shape = draw(st.sampled_from(dtypes.ALL)), draw(shapes)
    elements = draw(st.lists(scalars(dtype), min_size=math.prod(shape), max_size=math.prod(shape)))
    with np.errstate(over="ignore"):
        array = np.array(elements, dtype=dtype.numpy).reshape(shape)
    return admit(array) if shape == () else array


@pytest.mark.parametrize("shape", [(2**20 + 1,), (1, 2**20 + 5), (3, 2**19, 2), (2**20 + 1, 1)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_large_arrays_are_copied_in_blocks(shape: tuple[int, ...], dtype: type) -> None:
    """A copy in blocks has all elements in C order, whatever the order of the array."""
    array = np.resize(np.arange(251, dtype=dtype), shape)
    for original in (array, array.T, array[::-1]):
        copy = admit(original)
        assert isinstance(copy, np.ndarray) and copy.flags.c_contiguous and not copy.flags.writeable
        assert np.array_equal(copy, original) and not np.shares_memory(copy, original)


@given(values())
def test_values_survive_a_round_trip(value: Any) -> None:
    """Both read(show(v)), for any type that admits v, and parse_literal(show(v)) are v, bit for bit: with NaN,
    infinities and -0.0, scalars and arrays, of every dtype and shape."""
    type_ = type_of(value)
    assert is_same_value(parse_value(format_value(value), type_), value) and parse_literal(
        format_value(value)
    ) == literal(value)
    assert is_same_value(parse_value(f"  {format_value(value)} ".replace(",", " ,\n"), Type(type_.dtype, None)), value)


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (True, "true"),
        (np.bool_(False), "false"),
        (-3, "-3"),
        (2.0, "2.0"),
        (1e300, "1e+300"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (-0.0, "-0.0"),
        (np.array([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        (np.array([], dtype=bool), "bool[0]([])"),
        (np.zeros((2, 0, 3), np.uint8), "uint8[2, 0, 3]([])"),
        (np.int8(-3), "int8(-3)"),
        (np.float32(0.1), "float32(0.1)"),
        (np.array([0.1, math.nan], np.float32), "float32([0.1, nan])"),
        (-math.nan, "nan"),
        (np.array([True]), "[true]"),
        (np.array(7), "7"),
    ],
    ids=str,
)
def test_the_printed_form_of_values(value: Any, literal: str) -> None:
    """A value prints as a literal of the text form."""
    assert format_value(value) == literal


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("+3", INT, 3),
        ("-0", INT, 0),
        ("3", FLOAT, 3.0),
        ("-.5e1", FLOAT, -5.0),
        ("Inf", FLOAT, math.inf),
        ("True", BOOL, True),
        ("[1, 2.5]", Type(dtypes.float64, (2,)), np.array([1.0, 2.5])),
        ("[[],[]]", Type(dtypes.int64, (2, 0)), np.zeros((2, 0), dtype=np.int64)),
        ("[true,false]", Type(dtypes.bool, (None,)), np.array([True, False])),
        (" [ 1 ,\n2 ] ", Type(dtypes.int64, None), np.array([1, 2])),
        ("255", Type(dtypes.uint8), np.uint8(255)),
        ("18446744073709551615", Type(dtypes.uint64), np.uint64(2**64 - 1)),
        ("0.1", Type(dtypes.float32), np.float32(0.1)),
        ("3", Type(dtypes.float32), np.float32(3)),
        ("int8(3)", Type(dtypes.int8), np.int8(3)),
        ("float64[0, 3]([])", Type(dtypes.float64, (None, 3)), np.zeros((0, 3))),
        ("[]", Type(dtypes.float64, (0, 3)), np.zeros((0, 3))),
    ],
)
def test_literals_are_read_by_type(text: str, type_: Type, value: Any) -> None:
    """A literal is read by the required type."""
    assert is_same_value(parse_value(text, type_), value)


BAD = [
    "",
    " ",
    "1 2",
    "1,2",
    "1,",
    ",1",
    "[",
    "]",
    "[1",
    "1]",
    "[1,]",
    "[,1]",
    "[1,,2]",
    "[1 2]",
    "[1][2]",
    "[]]",
    "[[1],[1,2]]",
]
WORDS = ["a", "--1", "1_000", "0x10", "1.5", "1e5", "true", "٣", "³", "nan", "9223372036854775808", "9" * 200]


@pytest.mark.inner(first=10)
@pytest.mark.parametrize(
    "text", [*BAD, *WORDS, "[1, [2]]", "[" * 65 + "]" * 65, "[" * 100_000, "[" * 50_000 + "]" * 50_000]
)
def test_wrong_integers_are_malformed(text: str) -> None:
    """Text that is no literal of int64 is Malformed, however deep or long, with the type and the text."""
    with pytest.raises(tl.Malformed) as refused:
        parse_value(text, Type(dtypes.int64, None))
    assert refused.value.required is not None and refused.value.got is not None


@pytest.mark.parametrize(
    "text",
    ["float32(1e39)", "1" * 101, f"int8[{', '.join('0' * 65)}]([])", "float64[0, 999999999, 999999999, 999999999]([])"]
    + ["int8(128)", "int8(1.5)", "uint8(-1)", "int7(3)", "int8[2](1)", "int8[2]([1])", "int8[?]([1])", "[]", "[[], []]"]
    + [
        "int8()",
        "int8(int8(1))",
        "int8 3",
        "bool(1)",
        "float32(true)",
        "9223372036854775808",
        "[true, 1]",
        "int8[-1](1)",
    ]
    + ["int8[99999999999]([])", "float64[1]([])", "(3)", "int8(3", "3)", "uint64[2, 0]([[], [1]])"],
)
def test_wrong_literals_are_malformed(text: str) -> None:
    """A literal with a type needs an existing dtype and a value of it; a literal without one has one of Python's
    dtypes."""
    with pytest.raises(tl.Malformed) as refused:
        parse_literal(text)
    assert refused.value.got is not None


@pytest.mark.parametrize(
    "text", ["1e999", "-1e400", "1_0.5", "1.5.5", "true", "٣.٥", "infinit", "0x1p3", "1e", "[1.0, true]"]
)
def test_wrong_floats_are_malformed(text: str) -> None:
    """Text that is no literal of float64 is Malformed."""
    with pytest.raises(tl.Malformed):
        parse_value(text, Type(dtypes.float64, None))


@pytest.mark.parametrize(
    ("text", "expected"), [("[1]", INT), ("1", Type(dtypes.int64, (1,))), ("[1, 2]", Type(dtypes.int64, (3,)))]
)
def test_a_literal_of_another_shape(text: str, expected: Type) -> None:
    """A literal of another shape than required is Malformed, and the error has both types."""
    with pytest.raises(tl.Malformed, match="not a literal of this type") as refused:
        parse_value(text, expected)
    assert refused.value.required == expected


wanted_types = st.sampled_from(
    [INT, FLOAT, BOOL, *(Type(dtype, None) for dtype in dtypes.ALL), Type(dtypes.int64, (2,))]
)


@given(st.text() | st.text("[],-+.0123456789einfatrus _\n", max_size=30), wanted_types)
def test_reading_never_fails_otherwise(text: str, expected: Type) -> None:
    """Any text is a value of the required type, or Malformed; no other exception is raised."""
    try:
        value = parse_value(text, expected)
    except tl.Malformed:
        return
    assert expected.admits(type_of(value)) and is_same_value(parse_value(format_value(value), expected), value)


@given(values())
def test_admitted_values_are_in_normal_form(value: Any) -> None:
    """An admitted value has the same type and bits, and is a Python scalar or a read-only array."""
    admitted = admit(value)
    assert is_same_value(admitted, value) and type_of(admitted) == type_of(value)
    if isinstance(admitted, np.ndarray):
        assert not admitted.flags.writeable and admitted is not value and admitted.ndim > 0
        with pytest.raises(ValueError, match="read-only"):
            admitted[...] = admitted
    else:
        assert isinstance(admitted, bool | int | float | np.generic)
        assert (type(admitted) in (bool, int, float)) == (type_of(value).dtype in dtypes.PYTHON_DTYPES)


def test_admitted_arrays_are_copies() -> None:
    """A token does not change if the caller writes to the array, or to a view of it."""
    mine = np.arange(4)
    admitted, turned = admit(mine), admit(mine[::-1])
    mine[:] = 0
    assert format_value(admitted) == "[0, 1, 2, 3]" and format_value(turned) == "[3, 2, 1, 0]"


@pytest.mark.parametrize(
    ("value", "expected", "admitted"),
    [
        (3, FLOAT, 3.0),
        (3, Type(dtypes.float64, None), 3.0),
        (2**53 + 1, FLOAT, 2.0**53),
        (np.float64(2.5), FLOAT, 2.5),
        (np.array(3), INT, 3),
        ([1, 2], Type(dtypes.int64, (None,)), np.array([1, 2])),
        ([1, 2.5], Type(dtypes.float32, (2,)), np.array([1, 2.5], np.float32)),
        (-1, Type(dtypes.int8), np.int8(-1)),
        (2**63, Type(dtypes.uint64), np.uint64(2**63)),
        (np.array([1], ">i4"), Type(dtypes.int32, (1,)), np.array([1], np.int32)),
    ],
    ids=str,
)
def test_python_numbers_take_the_required_dtype(value: Any, expected: Type, admitted: Any) -> None:
    """Python's own numbers take the required dtype; other values must have the required type."""
    assert is_same_value(admit(value, expected), admitted)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2.0, INT), (True, INT), (True, FLOAT), (1, BOOL), (np.int64(3), FLOAT), ([True], Type(dtypes.float64, (1,)))]
    + [(np.int8(1), INT), (1, Type(dtypes.int8, (1,))), (1.0, Type(dtypes.int8)), (np.float32(1), FLOAT)]
    + [(3, Type(dtypes.float64, (1,))), ([1, 2], Type(dtypes.int64, (3,))), ([1], INT), (1, Type(dtypes.int64, (1,)))],
)
def test_other_values_are_not_converted(value: Any, expected: Type) -> None:
    """Other values are not converted; the message has the required type and the value's own."""
    with pytest.raises(tl.Usage, match="a value of the wrong type") as refused:
        admit(value, expected)
    assert refused.value.required == expected and str(type_of(value)) in str(refused.value.got)


@given(values(), values())
def test_same_is_type_and_bits(one: Any, other: Any) -> None:
    """Values are the same exactly if they have one type and one fingerprint; each is the same as itself."""
    bits = [np.where(np.asarray(v) != np.asarray(v), np.asarray(math.nan), v).tobytes() for v in (one, other)]
    alike = type_of(one) == type_of(other) and bits[0] == bits[1]
    assert is_same_value(one, other) == alike == (fingerprint(one) == fingerprint(other)) and is_same_value(one, one)
    assert not alike or hash(fingerprint(one)) == hash(fingerprint(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (1, 1.0),
        (1, True),
        (0, False),
        (np.array([1]), 1),
        (np.array([[1]]), np.array([1])),
        (np.float32(1), 1.0),
        (np.int8(1), 1),
    ]
    + [(np.zeros((0, 2)), np.zeros((2, 0))), (np.array([0]), np.array([0.0]))],
    ids=str,
)
def test_different_values_are_not_the_same(one: Any, other: Any) -> None:
    """-0.0 is not 0.0, 1 is neither 1.0 nor true nor an int8, and shapes count."""
    assert not is_same_value(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_there_is_one_nan(dtype: Any) -> None:
    """The processor chooses the bits of a NaN, so all NaNs are the same."""
    nans = np.array([math.nan, -math.nan, math.inf], dtype)
    with np.errstate(invalid="ignore"):
        result = nans[2:] - nans[2:]
    assert is_same_value(nans[0], nans[1]) and is_same_value(nans[:1], nans[1:2]) and is_same_value(nans[:1], result)
    assert not is_same_value(np.float32(math.nan), math.nan)


def test_arrays_are_in_row_major_order() -> None:
    """An admitted array is in row-major order, whatever the order before."""
    given = np.arange(6).reshape(2, 3)
    for array in (given.T, np.asfortranarray(given), given[::-1, ::-1], np.broadcast_to(given[0], (2, 3))):
        value = normalize(array, type_of(array))
        assert isinstance(value, np.ndarray) and value.flags.c_contiguous and is_same_value(value, array.copy())


@pytest.mark.parametrize("value", [True, 3, -0.0, math.nan, math.inf])
def test_a_scalar_is_the_same_as_numpys(value: Any) -> None:
    """A Python scalar is the same as NumPy's scalar of that type."""
    assert is_same_value(value, np.array(value)) and is_same_value(value, np.asarray(value)[()])
    assert is_same_value(normalize(value, type_of(value)), value)


@given(values(), values())
def test_l7_literals_are_equal_if_their_bits_are(one: Any, other: Any) -> None:
    """L7: a literal is equal to itself, even with NaN, and hashes so; different literals differ in type or bits."""
    assert literal(one) == literal(one) and hash(literal(one)) == hash(literal(one))
    assert (literal(one) == literal(other)) == is_same_value(one, other)


def test_l7_a_literal_is_not_its_value() -> None:
    """L7: a literal of a program is no number, and has a class of its own."""
    assert literal(1) != 1 and literal(math.nan) == literal(math.nan) and literal(0.0) != literal(-0.0)
    assert literal(1, FLOAT) == literal(1.0) != literal(1) and str(literal(1, FLOAT)) == "1.0"
    assert Literal(1.0, FLOAT) != Literal(1.0, Type(dtypes.float64, None))
    with pytest.raises(tl.Usage):
        literal(1.5, INT)


def test_narrow_arrays_become_their_carriers() -> None:
    """Each dtype of `ml_dtypes` of 8 bits or fewer converts to its carrier without a change of any value, where the
    carrier is expected; elsewhere the error names the carrier."""
    classes = [item for item in vars(ml_dtypes).values() if isinstance(item, type) and issubclass(item, np.generic)]
    narrow_dtypes = [dtype for dtype in map(np.dtype, classes) if dtype.itemsize == 1]
    assert len(narrow_dtypes) >= 12
    for narrow in narrow_dtypes:
        carrier = dtypes.carrier_of(narrow)
        assert carrier is not None, narrow
        bits = ml_dtypes.finfo(narrow).bits if carrier.kind == "f" else ml_dtypes.iinfo(narrow).bits
        array = np.arange(2**bits, dtype=np.uint8).view(narrow)
        admitted = admit(array, Type(carrier, array.shape))
        assert type_of(admitted).dtype is carrier
        np.testing.assert_array_equal(np.asarray(admitted, np.float64), array.astype(np.float64))
        assert admit(array[1], Type(carrier)) == array[1].astype(carrier.numpy)
        for expected in (None, Type(dtypes.float64, array.shape)):
            with pytest.raises(tl.Usage, match=rf"there is no {narrow.name}; x.astype\(tl.{carrier!r}\)"):
                admit(array, expected)


def test_array_files_of_narrow_floats(tmp_path: Path) -> None:
    """A file of bfloat16 is read, though NumPy writes only its bytes; one of float8 is refused with a hint."""
    numbers = np.array([1.5, -3e38], ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", numbers)
    assert admit(read_array(tmp_path / "x.npy")).tolist() == numbers.tolist()  # type: ignore[union-attr]
    for array in (np.array([1.5], ml_dtypes.float8_e5m2), np.zeros(2, "i1, u1")):
        np.save(tmp_path / "y.npy", array)
        with pytest.raises(tl.Usage, match="this array file cannot be read"):
            read_array(tmp_path / "y.npy")
