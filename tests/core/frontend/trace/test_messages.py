"""What users of other libraries write first: it works, or the message says what to write."""

from __future__ import annotations

import copy
import dataclasses
import random
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.frontend.trace import symbol

VECTOR = np.array([1.0, 2.0, 4.0])
do_not_convert = tl.autograph.do_not_convert
STATIC = "a parameter annotated tl.Static is concrete"
SEPARATE = "separate arguments: while_loop(cond, body, i, x)"


def body(i: Any, x: Any) -> Any:
    return i + 1, 2 * x


def failing(x: Any) -> Any:
    raise ValueError("bad")


def delete_first(x: Any) -> Any:
    del x[0]
    return x


def annotated_by_dict(x: dict[str, tl.float64]) -> Any:
    return x


def generate(x: Any) -> Any:
    yield x


def unpack(x: Any) -> Any:
    a, b, c = x
    return a * b + c


MESSAGES: dict[str, tuple[Callable[..., Any], Any, str, str]] = {
    "zeros of a float": (lambda x: tl.zeros((x,)), 2.0, "a size is not an integer", "an integer dtype"),
    "an axis": (lambda n: tl.sum(VECTOR, axis=n), 0, "an axis needs a concrete value", STATIC),
    "a tuple of loop variables": (
        lambda x: tl.while_loop(lambda i, x: i < 3, body, (0, x)), 2.0, "the loop variables are one tuple", SEPARATE,
    ),
    "a list of loop variables": (
        lambda x: tl.while_loop(lambda i, x: i < 3, body, [0, x]), 2.0, "the loop variables are one list", SEPARATE,
    ),
    "a list of numbers": (
        lambda _: tl.while_loop(lambda i, x: i < 3, body, [0, 1]), 2.0, "the loop variables are one list", SEPARATE,
    ),
    "a list of one number": (
        lambda n: tl.while_loop(lambda i: i < 3, lambda i: i + 1, [0]),
        2.0,
        "not supported between instances of",
        "pass loop variables as separate arguments",
    ),
    "a bounded list of one number": (
        lambda n: tl.while_loop(lambda i: i < 3, lambda i: i + 1, [0], maximum_iterations=2),
        2.0,
        "not supported between instances of",
        "pass loop variables as separate arguments",
    ),
    "a list of one": (
        lambda n: tl.while_loop(lambda i: i, lambda i: i, [0]),
        2.0,
        "the condition of while_loop is not one bool",
        "pass loop variables as separate arguments",
    ),
    "a format": (lambda x: tl.exp(f"{x:.2f}"), 2.0, "this is not a value of a program", "a bool, int or float"),
    "a format that is not converted": (
        do_not_convert(lambda x: f"{x:.2f}"),
        2.0,
        "a format needs a concrete value",
        "tl.print",
    ),
    "in": (do_not_convert(lambda x: 2.0 in x), VECTOR, "`in` needs a concrete value", "tl.any(x == a)"),
    "method": (lambda x: x.argsort(), VECTOR, "arrays have no attribute argsort", "write tl.argsort(x)"),
    "view": (lambda x: x.view(-1), VECTOR, "arrays have no attribute view", "tl.reshape(x, shape)"),
    "numpy": (lambda x: x[0].numpy(), VECTOR, "numbers have no attribute numpy", "concrete arrays"),
    "keyword": (lambda x: x.sum(dtype=int), VECTOR, "x.sum needs concrete values where it gets dtype=", "tl.sum(x)"),
    "np keyword": (lambda x: np.mean(x, where=x > 0), VECTOR, "np.mean needs concrete values where it gets where=",
                   "write tl.mean(x)"),
    "at": (lambda x: x.at[0].set(1.0), VECTOR, "arrays have no attribute at", "tl.scatter(x, value, index)"),
    "a method with parameters": (
        lambda x: x.take([0]), VECTOR, "arrays have no attribute take", "write tl.take(x, indices",
    ),
    "deletion": (delete_first, VECTOR, "deleting an element needs a concrete value", "tl.concat((x[:i], x[i + 1:]))"),
    "np.dot": (do_not_convert(lambda x: np.dot(x, x)), VECTOR, "np.dot needs", "write tl.matmul(x, y)"),
    "np.concatenate": (
        do_not_convert(lambda x: np.concatenate([x, x])), VECTOR, "np.concatenate needs", "write tl.concat(arrays)",
    ),
    "np.linalg.norm": (
        do_not_convert(lambda x: np.linalg.norm(x)),
        VECTOR, "np.linalg.norm needs a concrete value", "write tl.linalg.vector_norm(x)",
    ),
    "a dtype of NumPy": (lambda x: tl.astype(x, np.float32), VECTOR, "this is not a dtype", "write tl.float32"),
    "a dtype of Python": (lambda x: tl.astype(x, int), VECTOR, "this is not a dtype", "write tl.int64"),
    "a dtype by name": (lambda x: tl.zeros(3, dtype="int8"), VECTOR, "this is not a dtype", "write tl.int8"),
    "an index of values": (
        lambda x: tl.scatter_max(x, 0, x), VECTOR, "index 0 is not of integers", "scatter(x, values, index)",
    ),
    "shuffling": (lambda x: tl.permutation(x), np.arange(3), "the size has the wrong type", "tl.take(x,"),
    "an item of a range": (
        lambda n: range(n)[0], 3, "only a for loop counts through a range with a symbolic bound", "tl.arange(n)",
    ),
    "a range as a result": (lambda n: range(n), 3, "this is not a value of a program", "tl.arange(n) makes an array"),
    "a text as an array": (lambda x: tl.exp(str(x)), 2.0, "not a value of a program", "printed and returned"),
    "an annotation of Python": (annotated_by_dict, {"a": 2.0}, "not a type", "leave out the annotation"),
    "a generator": (generate, 2.0, "generate is a generator, and returns no value", "append to a list, and return it"),
    "np.add.reduce": (lambda x: np.add.reduce(x), VECTOR, "np.add.reduce needs a concrete value", "write tl.sum(x)"),
    "np.multiply.reduce": (lambda x: np.multiply.reduce(x), VECTOR, "np.multiply.reduce needs", "write tl.prod(x)"),
    "np.add.accumulate": (lambda x: np.add.accumulate(x), VECTOR, "np.add.accumulate", "write tl.cumulative_sum(x)"),
    "np.logical_and.reduce": (lambda x: np.logical_and.reduce(x), VECTOR, "np.logical_and.reduce", "write tl.all(x)"),
    "np.power.outer": (lambda x: np.power.outer(x, x), VECTOR, "np.power.outer", "pow(tl.expand_dims(x, axis=-1), y)"),
    "np.add.at": (lambda x: np.add.at(x, [0], 1.0), VECTOR, "np.add.at", "write tl.scatter_add(x, "),
    "np.gcd.reduce": (lambda x: np.gcd.reduce(x), VECTOR, "np.gcd.reduce", "tl.callback"),
    "a ufunc of others": (lambda x: np.frompyfunc(len, 1, 1)(x), VECTOR, "F1: len (vectorized) needs", "tl.callback"),
    "append": (lambda x: x.append(1.0), VECTOR, "no attribute append", "xs = list(x) makes a list of it"),
    "np.sum": (do_not_convert(lambda x: np.sum(x)), VECTOR, "np.sum needs a concrete value", "write tl.sum(x)"),
    "np.max": (do_not_convert(lambda x: np.max(x)), VECTOR, "np.max needs a concrete value", "write tl.max"),
    "np.exp": (do_not_convert(lambda x: np.exp(x)), VECTOR, "np.exp needs a concrete value", "write tl.exp"),
    "np.multiply.accumulate": (
        lambda x: np.multiply.accumulate(x), VECTOR, "np.multiply.accumulate needs", "write tl.cumulative_prod(x)",
    ),
    "np.histogram": (lambda x: np.histogram(x), VECTOR, "np.histogram needs a concrete value", "tl.callback"),
    "np.arcsin": (
        do_not_convert(lambda x: np.arcsin(x)), VECTOR, "np.arcsin needs a concrete value", "write tl.asin(x)",
    ),
    "np.array": (
        do_not_convert(lambda x: np.array([x, x])), 2.0, "a NumPy function needs a concrete value", "tl.stack([x, y])",
    ),
    "iterating over a number": (lambda x: sum(x), 2.0, "a number has no elements to iterate over", "range(n)"),
    "unpacking a number": (lambda x: unpack(x), 2.0, "a number has no elements", "got: <symbolic x: float64>"),
    "the length of a number": (lambda x: len(x), 2.0, "a number has no len()", "got: <symbolic x: float64>"),
    "a complex number": (lambda x: x * 1j, 2.0, "this is not a value of a program", "there are no complex dtypes"),
    "arrays before the initial value": (
        lambda x: tl.foldr(lambda s, v: s + v, x, 0.0), VECTOR, "these are not arrays", "foldr(function, initial,",
    ),
    "silu of integers": (lambda n: tl.silu(n), 3, "silu: these are not floats", "tl.astype(x, tl.float64)"),
    "keys of another size": (
        lambda x: tl.dot_product_attention(x[None, :], x[None, :2], x[None, :2]),
        VECTOR,
        "the last axes of query and key differ",
        "float64[1, 3] and float64[1, 2]",
    ),
    "a callback without returns": (
        lambda x: tl.callback(failing, x), 2.0, "callback needs the type of its result", "returns=tl.float64",
    ),
}  # fmt: skip


@pytest.mark.inner(first=20)
@pytest.mark.parametrize("name", MESSAGES)
def test_messages_say_what_to_write(name: str) -> None:
    """The error is one of tagloom's, names what was written and its line, and says what to write instead."""
    python, argument, message, advice = MESSAGES[name]
    with pytest.raises(tl.TagloomError) as caught:
        tl.function(python)(argument)
    text = str(caught.value)
    assert message in text and advice in text and "test_messages.py" in text
    assert isinstance(caught.value, AttributeError | NotImplementedError) == ("no attribute" in str(caught.value))


ITERATIONS: dict[str, tuple[Callable[..., Any], float]] = {
    "sum": (lambda x: sum(x), 7.0),
    "a comprehension": (lambda x: sum([2 * each for each in x]), 14.0),
    "unpacking": (unpack, 6.0),
    "zip": (lambda x: sum(a * b for a, b in zip(x, x, strict=True)), 21.0),
    "enumerate": (lambda x: sum(k * each for k, each in enumerate(x)), 10.0),
    "reversed": (lambda x: next(iter(reversed(x))), 4.0),
    "a star": (lambda x: tl.stack([*x])[1], 2.0),
    "len": (lambda x: 1.0 * len(x), 3.0),
    "divmod": (lambda x: divmod(x, 3)[0][2] + divmod(9, x)[1][2], 2.0),
}


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("name", ITERATIONS)
def test_arrays_of_known_size_are_sequences(name: str) -> None:
    """A symbol whose first axis has a static size has its elements and its length, as a concrete array has."""
    python, value = ITERATIONS[name]
    assert tl.function(python)(VECTOR) == float(python(tl.asarray(VECTOR))) == value
    assert tl.function(lambda x: sum(a[0] for a in x))(np.ones((3, 2))) == 3.0


def test_arrays_of_unknown_or_large_size_are_not_unrolled() -> None:
    """F1: without a static size, or with a large one, the message names loops."""
    is_open = tl.function(lambda x: sum(x), input_signature=[tl.Array[tl.float64, None]])
    for function, size in ((is_open, 3), (tl.function(lambda x: sum(x)), symbol.MAX_UNROLLED_ELEMENTS + 1)):
        with pytest.raises(tl.Invalid, match="iterating, or unpacking, needs") as refused:
            function(np.ones(size))
        assert "tl.while_loop, tl.map or tl.foldl" in str(refused.value)
    with pytest.raises(TypeError, match=r"len\(\) needs"):
        tl.function(lambda x: len(x), input_signature=[tl.Array[tl.float64, None]])(VECTOR)


def test_a_callback_without_a_name_is_named_once() -> None:
    """S5: the trap of a callback names its function if it has a name."""
    for python, said in (
        (failing, "callback failing raised ValueError: bad"),
        (lambda x: 1 / 0, "the callback raised"),
    ):
        with pytest.raises(tl.Trap) as trapped:
            calling(python)(1.0)
        assert said in str(trapped.value)


def calling(python: Any) -> Any:
    """A function that calls a Python function back."""
    return tl.function(lambda x: tl.callback(python, x, returns=tl.float64))


@tl.function
def count_up(n: tl.int64) -> tl.int64:
    return n + 1


def keyword_only(x: Any, /, y: Any = 2, *, z: Any = 3) -> Any:
    return x + y + z


@pytest.mark.parametrize(
    ("call", "message", "advice"),
    [
        (
            lambda: tl.while_loop(lambda i: i < 3, lambda i: i + 0.5, 0),
            "loop variable i changes its type",
            "required: int64\n  got: float64\n  hint: start it with that type",
        ),
        (
            lambda: tl.while_loop(lambda p: p["n"] < 3, lambda p: {"n": p["n"] + 1, "x": 1}, {"n": 0, "x": np.ones(2)}),
            "loop variable p['x'] changes its type",
            "got: int64",
        ),
        (lambda: tl.while_loop(lambda i: i < 3, lambda i, x: i, 0), "takes the wrong number of values", "(i, x)"),
        (lambda: tl.while_loop(lambda i: i < 3, lambda i: i + 1), "takes the wrong number of values", "(i)"),
        (lambda: tl.while_loop(lambda i: i[0:1], lambda i: [i[0] + 1], [0]), "is not one bool", "separate arguments"),
        (lambda: tl.scan(lambda c: c, 0, [1]), "takes the wrong number of values", "a carry and an element"),
        (lambda: tl.map(lambda x, y: x, [1]), "takes the wrong number of values", "(x, y)"),
        (lambda: tl.foldr(3, 0, [1]), "must be a function", "got: 3"),  # type: ignore[arg-type]
        (lambda: tl.map(lambda x, y: x, [1], [1, 2]), "different lengths", "got: int64[1] and int64[2]"),
        (lambda: count_up.history(2).jump("a"), "a position is not an integer", "got: 'a'"),  # type: ignore[arg-type]
        (lambda: tl.cond(True, 1, 2), "must be a function", "got: 1"),  # type: ignore[arg-type]
        (lambda: tl.cond(True, lambda x: x, lambda x: -x), "takes the wrong number of values", "0 parameters"),
        (lambda: tl.function(lambda x: x)(np.ma.array([1, 2], mask=[0, 1])), "arrays have no masks", "x.filled(0.0)"),
        (lambda: tl.add(np.ones(3), np.ones((2, 4))), "do not broadcast", "got: (3,) and (2, 4)"),
        (
            lambda: tl.jvp(lambda x: x * x, (3.0,), (np.ones(2),)),
            "a tangent does not have the type of its argument",
            "got: float64[2]",
        ),
        (lambda: tl.function(failing)(1, 2, x=3), "does not fit", "required: failing(x)"),
        (lambda: tl.function(keyword_only)(1, 2, 4), "does not fit", "required: keyword_only(x, /, y=2, *, z=3)\n"),
        (lambda: tl.load_run("missing.py"), "there is no such file", "missing.py"),
    ],
)
def test_messages_of_eager_code(call: Callable[[], Any], message: str, advice: str) -> None:
    """Outside a function, and around its calls, errors have the same words as in one."""
    with pytest.raises(tl.TagloomError) as caught:
        call()
    assert message in str(caught.value) and advice in str(caught.value)


def test_symbols_are_copied_as_they_are() -> None:
    """Copies of objects that hold symbols hold the same symbols, as in `dataclasses.asdict`."""

    @dataclasses.dataclass
    class Point:
        x: Any
        y: Any

    function = tl.function(lambda p: (dataclasses.asdict(p), copy.copy(p).x, copy.deepcopy([p])[0].y))
    assert function(Point(1.0, 2)) == ({"x": 1.0, "y": 2}, 1.0, 2)


LEAKED: list[Any] = []
VARIABLE = tl.Variable(2.0)


@pytest.mark.parametrize(
    "use",
    [bool, int, np.asarray, np.sum, lambda x: x + 1.0, lambda x: tl.function(failing)(x), lambda x: VARIABLE.assign(x)],
)
def test_f2_a_symbol_after_its_trace(use: Callable[[Any], Any]) -> None:
    """F2: whatever a symbol is used for after its trace, the error says so, and where it comes from."""
    tl.function(lambda x: LEAKED.append(x) or x)(2.0)  # type: ignore[func-returns-value]
    with pytest.raises(tl.Invalid, match=r"a symbolic value is used after its function was traced") as caught:
        use(LEAKED.pop())
    assert caught.value.rule == "F2" and "got: x (test_messages.py" in str(caught.value)


def test_variables_have_formats() -> None:
    """A variable is formatted as its value, in a program and outside; without a format it says what it is."""
    lines: list[str] = []
    tl.function(lambda x: print(f"{VARIABLE:.2f} {x:.1f}")).run(3.0, world=tl.World(output=lines.append))
    assert lines == ["2.00 3.0"]
    assert f"{VARIABLE:.3f}" == "2.000" and f"{VARIABLE}" == "<variable VARIABLE: float64 = 2.>"


def test_the_standard_library_is_not_the_place_of_an_error() -> None:
    """An error in a function of Python's library is at the line that calls it."""
    with pytest.raises(tl.Invalid) as caught:
        tl.function(lambda n: random.randint(0, n))(3)
    assert "test_messages.py" in str(caught.value.where)


def test_branches_take_operands() -> None:
    """`tl.cond` passes operands to its branches, as `tl.switch` does: eagerly, in a trace, and in gradients."""
    choose = tl.function(lambda p, x: tl.cond(p, lambda x, y: x * y, lambda x, y: x - y, x, 3.0))
    assert (choose(True, 2.0), choose(False, 2.0)) == (6.0, -1.0)
    assert tl.cond(True, lambda x: x + 1, lambda x: x, 4) == 5
    assert tl.grad(choose, 1)(True, 2.0) == 3.0


def is_dispatched(function: Any) -> bool:
    """Whether NumPy calls `__array_ufunc__` or `__array_function__` for this function."""
    return isinstance(function, np.ufunc) or (callable(function) and hasattr(function, "__wrapped__"))


def test_hints_about_functions_of_numpy_name_functions_that_exist() -> None:
    """F1: for each function of NumPy, the hint names a function of tagloom, or says that there is none."""
    functions = {
        f"{module.__name__}.{name}": function
        for module in (np, np.linalg)
        for name, function in vars(module).items()
        if is_dispatched(function)
    }
    assert len(functions) > 300
    hints = {name: symbol.describe_call(function.__name__) for name, function in functions.items()}
    for hint in filter(None, hints.values()):
        path = hint.removeprefix("write tl.").partition("(")[0]
        assert callable(attrgetter(path)(tl)), hint
    assert sum(hint is not None for hint in hints.values()) > 120
    for name, call in {
        "numpy.linalg.inv": "tl.linalg.inv(x)",
        "numpy.arctan2": "tl.atan2(x, y)",
        "numpy.trace": "tl.linalg.trace(x)",
    }.items():
        assert hints[name] == f"write {call}"
    assert hints["numpy.median"] is None
