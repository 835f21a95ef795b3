"""Errors: one form for all, and a class for whose fault it is."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import tagloom as tl
from tagloom.core import errors
from tagloom.core.errors import TagloomError
from tagloom.core.program.program import Location
from tagloom.core.tag import ROOT, Site

KINDS = (
    tl.Usage,
    tl.Malformed,
    tl.Invalid,
    tl.Trap,
    tl.Exhausted,
    tl.Deadlock,
    tl.Broken,
    tl.Disagreement,
    tl.Crash,
)


def test_full_form() -> None:
    """An error prints rule, message, where, tag, required, got and hint, in this order, all but the first on lines of
    their own."""
    error = tl.Broken(
        "node add got a second token",
        rule="S4",
        where=Location("/home/someone/sum.py", 12),
        tag=ROOT.child(Site("main", "loop", "loop"), 4),
        required="one token",
        got=5.0,
        hint="a merge is missing before it",
    )
    assert str(error) == (
        "S4: node add got a second token (sum.py:12) under main/loop[4]\n"
        "  required: one token\n"
        "  got: 5.0\n"
        "  hint: a merge is missing before it"
    )


@pytest.mark.parametrize(
    ("details", "text"),
    [
        ({}, "wrong"),
        ({"rule": "V2"}, "V2: wrong"),
        ({"where": "main.add"}, "wrong (main.add)"),
        ({"tag": ROOT}, "wrong under main"),
        ({"got": 0}, "wrong\n  got: 0"),
        ({"got": ()}, "wrong\n  got: ()"),
        ({"required": False, "hint": "x"}, "wrong\n  required: False\n  hint: x"),
    ],
    ids=str,
)
def test_unknown_fields_are_left_out(details: dict[str, object], text: str) -> None:
    """An unknown field has no line; an empty or zero field is known."""
    assert str(TagloomError("wrong", **details)) == text  # type: ignore[arg-type]


def test_callers_may_add_context() -> None:
    """A caller that knows more adds a field or a note; the class does not change."""
    error = tl.Invalid("wrong")
    error.rule, error.where = "V4", "main.add"
    error.add_note("also this")
    assert str(error) == "V4: wrong (main.add)" and error.__notes__ == ["also this"] and error.args == ("wrong",)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_kinds(kind: type[TagloomError]) -> None:
    """Every kind of error is one class, with one base, that says whose fault it is."""
    assert kind.__bases__ == (TagloomError,) and issubclass(TagloomError, Exception) and kind.__doc__
    with pytest.raises(TagloomError, match="wrong"):
        raise kind("wrong")


def test_all_kinds_are_public() -> None:
    """There are no other kinds, and `tagloom` exports all."""
    actual = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TagloomError)}
    assert actual == {TagloomError, *KINDS}
    assert all(getattr(tl, kind.__name__) is kind and kind.__name__ in tl.__all__ for kind in actual)


MATRIX = tl.asarray([[1.0, 2.0], [3.0, 4.0]])


@tl.function
def quotient(x: tl.int64) -> tl.int64:
    return 7 // x


@tl.function
def element(i: tl.int64) -> tl.float64:
    return tl.take(tl.asarray([1.0, 2.0]), i)


@tl.function
def cell(i: tl.int64) -> tl.int64:
    cells = tl.cells(2, tl.int64)
    tl.put(cells, 0, 1)
    return tl.get(cells, i)


@tl.function
def looked_up(i: tl.int64) -> tl.int64:
    return tl.callback(lambda key: {1: 2}[int(key)], i, returns=tl.int64)


@tl.function
def assertion(x: tl.int64) -> tl.int64:
    tl.assert_(x > 0, "x is not positive")
    return x


@tl.function
@tl.autograph.do_not_convert
def branch(x: tl.int64) -> tl.int64:
    return 1 if x > 0 else 0


PYTHON_CLASSES = {
    # The Array API standard names these classes.
    "squeeze an axis of size 2": (lambda: tl.squeeze(MATRIX, axis=0), ValueError),
    "expand_dims beyond the axes": (lambda: tl.expand_dims(MATRIX, axis=4), IndexError),
    "an index beyond the axis": (lambda: MATRIX[2, 0], IndexError),
    "more indices than axes": (lambda: MATRIX[0, 0, 0], IndexError),
    "two ellipses": (lambda: MATRIX[..., ...], IndexError),
    "broadcast_to another shape": (lambda: tl.broadcast_to(MATRIX, (3, 3)), ValueError),
    "broadcast_shapes that differ": (lambda: tl.broadcast_shapes((2,), (3,)), ValueError),
    "broadcast_arrays that differ": (lambda: tl.broadcast_arrays(MATRIX, tl.zeros((3,))), ValueError),
    "reshape to another size": (lambda: tl.reshape(MATRIX, (3,)), ValueError),
    "asarray without the copy it needs": (lambda: tl.asarray([1.0], copy=False), ValueError),
    "bool of a matrix": (lambda: bool(MATRIX), TypeError),
    "int of a matrix": (lambda: int(MATRIX), TypeError),
    "float of a matrix": (lambda: float(MATRIX), TypeError),
    "an index that is a float": (lambda: [1, 2][tl.asarray(1.0)], TypeError),
    "int of nan": (lambda: int(tl.asarray(float("nan"))), ValueError),
    "int of inf": (lambda: int(tl.asarray(float("inf"))), OverflowError),
    "DLPack without the copy it needs": (lambda: MATRIX.__dlpack__(copy=False), BufferError),
    "from_dlpack without the copy it needs": (lambda: tl.from_dlpack(np.ones(2), copy=False), ValueError),
    "from_dlpack of what is no array": (lambda: tl.from_dlpack([1, 2]), AttributeError),
    "from_dlpack of complex numbers": (lambda: tl.from_dlpack(np.ones(2, complex)), BufferError),
    "complex of a matrix": (lambda: complex(MATRIX), TypeError),
    "a version of the standard that is not there": (lambda: MATRIX.__array_namespace__(api_version="1999"), ValueError),
    "a device that is not there": (lambda: MATRIX.to_device("gpu"), ValueError),
    "promotion of nothing": (lambda: tl.result_type(), ValueError),
    # Python and NumPy have classes for these.
    "an axis that is not there": (lambda: tl.sum(MATRIX, axis=2), IndexError),
    "operands of two kinds": (lambda: tl.add(MATRIX, tl.asarray([1, 2])), TypeError),
    "no dtype": (lambda: tl.zeros((2,), dtype=float), TypeError),
    "an axis that is a float": (lambda: tl.concat([MATRIX], axis=0.5), TypeError),
    "assigning an element": (lambda: MATRIX.__setitem__(0, 1.0), TypeError),
    "a string for a number": (lambda: tl.sin("a"), TypeError),  # type: ignore[arg-type]
    "a list of strings": (lambda: tl.add(["a"], 1.0), TypeError),
    "len of a number": (lambda: len(tl.asarray(1.0)), TypeError),
    "a method of NumPy's arrays": (lambda: MATRIX.sum(), AttributeError),
    "a method that no array has in a trace": (lambda: tl.function(lambda x: x.unsqueeze(0))(MATRIX), AttributeError),
    "a method of NumPy's arrays in a trace": (lambda: tl.function(lambda x: x.put(0, 1))(MATRIX), NotImplementedError),
    "an integer beyond int64": (lambda: tl.asarray(2**63), OverflowError),
    "another number of arguments": (lambda: quotient(1, 2), TypeError),
    "a keyword that is not there": (lambda: quotient(y=2), TypeError),
    "a Python if on a symbolic value": (lambda: branch(1), TypeError),
    "an engine that is not there": (lambda: quotient.run(1, engine="none"), KeyError),
    # What happens while a program runs.
    "division by zero": (lambda: quotient(0), ZeroDivisionError),
    "division by zero on compiled": (lambda: quotient.run(0, engine="compiled").value, ZeroDivisionError),
    "division by zero, eagerly": (lambda: tl.asarray(7) // 0, ZeroDivisionError),
    "an index that the run computes": (lambda: element(5), IndexError),
    "a cell that is not there": (lambda: cell(2), IndexError),
    "an error of a callback": (lambda: looked_up(3), KeyError),
    "an assertion": (lambda: assertion(0), AssertionError),
    "an assertion on compiled": (lambda: assertion.run(0, engine="compiled").value, AssertionError),
    "an assertion, eagerly": (lambda: tl.assert_(tl.asarray([1, 0]) > 0, "0"), AssertionError),
}


@pytest.mark.inner(first=31)
@pytest.mark.parametrize("name", PYTHON_CLASSES)
def test_errors_belong_to_classes_of_python(name: str) -> None:
    """If Python has a class for an error, that class catches it, and it is a tagloom error with its fields."""
    act, python = PYTHON_CLASSES[name]
    with pytest.raises(python) as caught:
        act()
    if "int of" not in name or name == "int of a matrix":
        assert isinstance(caught.value, TagloomError)


@pytest.mark.parametrize("python", [IndexError, KeyError, FileNotFoundError])
def test_an_error_of_two_classes(python: type[Exception]) -> None:
    """An error of two classes prints, copies and pickles as a tagloom error."""
    error = tl.Invalid("there is no such axis", rule="V4", got=3, python=python)
    assert type(error).__name__ == "Invalid" and not isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) == str(copy.copy(error))
