"""The table of eager ops: cached facts about ops on concrete arrays make them faster and change nothing else."""

from __future__ import annotations

import gc
import operator
import pickle
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.generators.array_rows import Case, cases
from tagloom.core import dtypes, types
from tagloom.core.frontend.eager import apply as slow_path
from tagloom.core.frontend.eager import dispatch
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.frontend.eager.array import ConcreteArray
from tagloom.core.frontend.eager.variable import Variable
from tagloom.core.frontend.trace.annotation import FunctionSpec
from tagloom.core.frontend.trace.program_builder import ProgramBuilder
from tagloom.core.frontend.trace.pytree import leaf_type
from tagloom.core.frontend.trace.symbol import ELEMENT_METHODS, Symbol
from tagloom.core.graph.lower import lower
from tagloom.core.ops.op import OPS, Op
from tagloom.core.types import Type, type_of
from tagloom.core.value import fingerprint, is_same_value, literal
from tagloom.interp.engines.reference import run_graph

each_row = pytest.mark.parametrize("row", OPS.values(), ids=lambda row: row.name)


class EmptyTables(dict[Any, Any]):
    """Tables that cache nothing: every op takes the slow path."""

    def setdefault(self, what: Any, table: Any = None) -> Any:
        return {}


def ending_of(compute: Callable[[], Any]) -> Any:
    """The bits of a result, or the full text of the error."""
    try:
        result = compute()
    except tl.TagloomError as error:
        return type(error), error.rule, error.message, str(error.required), str(error.got), error.hint
    assert type(result) is ConcreteArray and result._type == type_of(result._value)
    assert not isinstance(result._value, np.ndarray) or not result._value.flags.writeable
    return fingerprint(result._value)


def eager_ending(case: Case) -> Any:
    """The ending of an op on arrays."""
    name, operands, attributes = case
    given = [ConcreteArray(literal(each)) for each in operands]
    return ending_of(lambda: apply(name, *given, **dict(attributes)))


def ending_with_numbers(case: Case) -> Any:
    """The ending if one of two operands is a Python number."""
    name, (x, y), attributes = case[0], case[1][:2], case[2]
    number = np.asarray(y).ravel()[:1].tolist() or [2]
    return ending_of(lambda: apply(name, ConcreteArray(literal(x)), *number, **dict(attributes)))


def machine_ending(case: Case) -> Any:
    """The ending on the reference machine: bits, the message of a trap, the rule of a limit, or the rule and message of
    an op that is refused before the run."""
    name, operands, attributes = case
    forms = [leaf_type(type_of(each)) for each in operands]
    declared = tuple(zip("xyzabc", forms, strict=False))
    source = FunctionSpec(lambda *given: apply(name, *given, **dict(attributes)), declared, None)
    try:
        program, _ = ProgramBuilder(Symbol).build_program(source, tuple(forms))
    except tl.TagloomError as error:
        return error.rule, error.message
    outcome = run_graph(lower(program), operands)
    if outcome.traps:
        return outcome.traps[0].message.partition(" at node")[0]
    return fingerprint(outcome.results[0]) if outcome.error is None else outcome.error.rule


def violations(found: Sequence[Case], tables: dict[Any, Any]) -> Iterator[str]:
    """Where an op differs, the first time or the second, from its ending without a table."""
    for compute in (eager_ending, ending_with_numbers):
        those = [case for case in found if compute is eager_ending or len(case[1]) == 2]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dispatch, "DISPATCH_TABLES", EmptyTables())
            expected = [compute(case) for case in those]
            patch.setattr(dispatch, "DISPATCH_TABLES", tables)
            for time in ("first", "second"):
                for case, right in zip(those, expected, strict=True):
                    try:
                        result = compute(case)
                    except Exception as error:
                        result = error
                    if result != right:
                        yield f"{case}, the {time} time: {result} and not {right}"


@pytest.mark.inner(first=3)
@each_row
def test_the_table_changes_nothing(row: Op) -> None:
    """S5, V4: an op gives the same bits, or the same error with the same text, with and without a table, the first time
    and the second, with Python numbers too."""
    assert next(violations(cases(row, 25), {}), None) is None


@pytest.mark.inner(first=9)
@each_row
def test_eager_ops_agree_with_the_reference(row: Op) -> None:
    """An eager op gives the machine's bits, and is refused or traps with the same message."""
    for case in cases(row, 5):
        for actual in (eager_ending(case), eager_ending(case)):
            expected = machine_ending(case)
            if isinstance(actual[0], type):
                _, rule, message, *_ = actual
                assert {"V4": (rule, message), "S12": rule}.get(rule, message) == expected
            else:
                assert actual == expected, case


class IncompleteTables(dict[Any, Any]):
    """Tables whose keys leave something out, besides the op."""

    def __init__(self, leave_out: Callable[[Any], Any]) -> None:
        super().__init__()
        self.leave_out = leave_out
        self.known: dict[Any, Any] = {}

    def setdefault(self, what: Any, table: Any = None) -> Any:
        return super().setdefault(what, IncompleteTable(self, what))


class IncompleteTable(dict[Any, Any]):
    """One of these tables."""

    def __init__(self, tables: IncompleteTables, what: Any) -> None:
        super().__init__()
        self.tables, self.what = tables, what

    def _short(self, key: Any) -> Any:
        known = {id(each): each for each in types._INTERN_TABLE}
        parts = (self.what, *key) if type(key) is tuple else (self.what, key)
        return tuple(self.tables.leave_out(known.get(part, part) if type(part) is int else part) for part in parts)

    def get(self, key: Any, default: Any = None) -> Any:
        return self.tables.known.get(self._short(key), default)

    def __setitem__(self, key: Any, known: Any) -> None:
        self.tables.known[self._short(key)] = known


def _without(kind: type) -> Callable[[Any], Any]:
    return lambda part: None if isinstance(part, kind) else part


TWINS: dict[str, Callable[[Any], Any]] = {
    "dtypes": lambda part: part.shape if isinstance(part, Type) else part,
    "shapes": lambda part: part.dtype if isinstance(part, Type) else part,
    "types": _without(Type),
    "attributes": lambda part: None if part is None or isinstance(part, int | tuple | dtypes.DType) else part,
    "classes of attributes": lambda part: part[1] if type(part) is tuple and part[:1] == (bool,) else part,
    "ops": lambda part: None if part in OPS else part,
    "classes of numbers": lambda part: None if part in (int, float) else part,
}


@cache
def telling_cases() -> list[Case]:
    """Cases that tell complete keys from each of the incomplete ones."""
    rows = [OPS[name] for name in ("add", "multiply", "less", "sum", "argmax", "reshape", "index", "astype", "where")]
    actual = [case for row in rows for case in cases(row, 40)]
    x = literal([[1, 2], [3, 4]]).value
    actual += [("sum", (x,), (("axis", axis), ("keepdims", keepdims))) for axis in (1, True) for keepdims in (True, 1)]
    return actual + [("add", (x, number), ()) for number in (1, 1.5)]


@pytest.mark.full
def test_complete_keys_pass() -> None:
    """The twins below differ from the right tables in their keys only: with whole keys they pass."""
    assert next(violations(telling_cases(), IncompleteTables(lambda part: part)), None) is None


@pytest.mark.full
@pytest.mark.parametrize("twin", TWINS)
def test_incomplete_keys_are_caught(twin: str) -> None:
    """The law catches keys without dtypes, sizes, attributes or their classes, the op, or the classes of numbers."""
    assert next(violations(telling_cases(), IncompleteTables(TWINS[twin])), None) is not None


def shapes() -> Iterator[Any]:
    """Arrays of one to three axes, small, of several dtypes."""
    for dtype in (tl.float32, tl.float64, tl.int64):
        for shape in ((), (4,), (2, 2), (1, 2, 2)):
            yield tl.reshape(tl.astype(tl.arange(4) if shape else tl.asarray(3), dtype), shape)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "an operator": lambda x: x + x,
    "a number": lambda x: 2 * x - 1,
    "comparison": lambda x: x < x,
    "no arrays beside": lambda x: -abs(x),
    "a function": lambda x: tl.maximum(x, 0),
    "three operands": lambda x: tl.where(x > 1, x, 0),
    "sum": tl.sum,
    "sum of rows": lambda x: tl.sum(x, axis=-1, keepdims=True) if x.shape else x + 1,
    "reshape": lambda x: tl.reshape(x, (-1,)),
    "an element": lambda x: x[0] if x.shape else x[...] + 0,
    "a part": lambda x: x[..., None][..., ::-1],
    "transposed": lambda x: tl.matrix_transpose(x) if len(x.shape) > 1 else -x,
    "matmul": lambda x: x @ x if len(x.shape) > 1 else x * x,
    "astype": lambda x: tl.astype(x, tl.float32),
    "a variable": lambda x: TWO + tl.astype(x, tl.int64),
}
TWO = tl.Variable(2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_second_call_uses_the_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For operands of the same types, an op takes the slow path once only."""
    asked: list[str] = []
    computed = slow_path.compute_with_kernel
    monkeypatch.setattr(slow_path, "compute_with_kernel", lambda op, *rest: asked.append(op) or computed(op, *rest))
    arrays = list(shapes())
    dispatch.clear_tables()
    asked.clear()
    first = [FUNCTIONS[name](x) for x in arrays]
    assert asked
    asked.clear()
    second = [FUNCTIONS[name](x) for x in arrays]
    assert not asked and all(is_same_value(one._value, other._value) for one, other in zip(first, second, strict=True))


def test_the_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of cached keys and types are bounded, however many shapes occur."""
    dispatch.clear_tables()
    monkeypatch.setattr(dispatch, "MAX_ENTRIES", 16)
    monkeypatch.setattr(types, "_INTERN_TABLE", {})
    monkeypatch.setattr(types, "MAX_INTERNED", 8)
    kept = tl.asarray([1.0, 2.0])
    for size in range(100):
        x = tl.asarray(np.ones(size))
        assert np.array_equal(x + x, np.full(size, 2.0)) and float(tl.sum(x)) == size
        assert np.array_equal(kept * 2.0, [2.0, 4.0])
        assert sum(map(len, dispatch.DISPATCH_TABLES.values())) <= 16 and len(types._INTERN_TABLE) <= 8


def test_equal_keys_of_other_classes_differ() -> None:
    """1 is an axis and an index; True, which equals it, is neither, even after 1 was cached."""
    x = tl.asarray([[1, 2], [3, 4]])
    for _ in range(2):
        assert np.array_equal(x[1], [3, 4]) and np.array_equal(x[np.int64(1)], [3, 4])
        assert np.array_equal(tl.sum(x, axis=1), [3, 7])
        with pytest.raises(tl.Usage, match="a bool is not an index"):
            x[True]
        with pytest.raises(tl.Usage, match="an axis is not an integer"):
            tl.sum(x, axis=True)
        with pytest.raises(tl.Usage, match="an axis is not an integer"):
            tl.sum(x, axis=1.0)
        with pytest.raises(TypeError, match="positional"):
            tl.sum(x, "axis", 1)  # type: ignore[misc]
        with pytest.raises(tl.Invalid, match="keepdims is not a bool"):
            apply("sum", x, axis=1, keepdims=1)
        assert apply("sum", x, axis=1, keepdims=True).shape == (2, 1)


def test_numbers_that_do_not_fit() -> None:
    """Python numbers take the dtype of the array if they fit, whatever was cached before."""
    small, narrow, wide = tl.asarray([1], dtype=tl.int8), tl.asarray([1.0], dtype=tl.float32), tl.asarray([1.0])
    for _ in range(2):
        assert (small + 100).dtype is tl.int8 and (narrow * 1e38).dtype is tl.float32
        with pytest.raises(tl.Usage, match="does not fit into int8"):
            small + 200
        with pytest.raises(tl.Usage, match="does not fit into float32"):
            narrow * 1e39
        with pytest.raises(tl.Usage):
            wide + 10**400
        assert float((wide + 2**60)[0]) == 2.0**60 and float((narrow * float("inf"))[0]) == float("inf")


def test_traps_are_not_cached() -> None:
    """S5: an op traps on operands without a value, and has values again for other operands."""
    x, zero = tl.asarray([6, 7]), tl.asarray([2, 0])
    for _ in range(2):
        assert np.array_equal(x // 2, [3, 3])
        for wrong in (zero, 0):
            with pytest.raises(tl.Trap, match="integer division by zero") as caught:
                x // wrong
            assert "test_dispatch.py" in str(caught.value.where)
    at = tl.asarray([0, 1])
    assert np.array_equal(tl.take(x, at), x)
    with pytest.raises(tl.Trap, match="an index is out of range"):
        tl.take(x, at + 1)


def test_numpy_does_not_warn() -> None:
    """Ops do not warn of overflows and invalid values, and restore NumPy's own settings."""
    large, none = tl.asarray([1e308, 1.0]), tl.asarray([0.0, 1.0])
    narrow = tl.asarray([3e38, 1.0], dtype=tl.float32)
    with warnings.catch_warnings(), np.errstate(over="raise", divide="warn"):
        warnings.simplefilter("error")
        before = np.geterr()
        for _ in range(2):
            assert (large * 10.0)[0] == np.inf and (none / none)[0] != 0.0 and tl.exp(large)[0] == np.inf
            assert (narrow * 10.0)[0] == np.inf and narrow[0] * 10.0 == np.inf
            assert tl.sum(tl.asarray([1e308] * 2)) == np.inf
            with pytest.raises(tl.Invalid):
                large + tl.asarray([1.0, 2.0, 3.0])
            assert np.geterr() == before
        with pytest.raises(FloatingPointError):
            np.multiply(1e308, [10.0])


def test_in_a_trace_ops_are_nodes() -> None:
    """Cached facts do not make an op run during a trace, and after a failed trace it runs again."""
    x = tl.asarray([1.0, 2.0])
    for _ in range(2):
        assert np.array_equal(tl.tanh(x + x)[:1], np.tanh([2.0])) and float(tl.sum(x)) == 3.0

    @tl.function
    def f(y: tl.Array[tl.float64, 2]):  # type: ignore[no-untyped-def]
        return tl.sum(tl.tanh(x + x)[:1]) + y

    assert [node.op for node in f.program.main.body.nodes] == ["add", "tanh", "index", "sum", "add"]
    assert np.array_equal(f(x), np.tanh(2.0) + np.asarray(x))

    @tl.function
    def wrong(y: tl.Array[tl.float64, 2]):  # type: ignore[no-untyped-def]
        return x + tl.asarray([True, False])

    with pytest.raises(tl.Invalid):
        wrong(x)
    assert np.array_equal(x + x, [2.0, 4.0])


def test_tapes_record_the_fast_path() -> None:
    """A gradient is the same the first time and with cached facts; Python numbers are constants."""
    x = tl.asarray([0.5, 2.0])
    actual = []
    for _ in range(3):
        with tl.Tape() as tape:
            tape.watch(x)
            y = tl.sum(tl.reshape(3.0 * x * x - x[::-1] / 2, (2, 1)) @ tl.asarray([[1.0]]))
        actual.append(np.asarray(tape.gradient(y, x)))
    assert all(np.array_equal(each, [2.5, 11.5]) for each in actual)


def test_views_share_elements() -> None:
    """Eagerly, a part of an array, or its elements in another shape, is a read-only view. A program whose argument is a
    NumPy array copies it."""
    given = np.arange(6.0)
    x = tl.asarray(given)
    for _ in range(2):
        for part in (x[1:4], tl.reshape(x, (2, 3)), x[None], tl.stop_gradient(x)):
            array = np.asarray(part)
            assert np.shares_memory(array, np.asarray(x))
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.setflags(write=True)
        for other in (x[::-1], tl.matrix_transpose(tl.reshape(x, (2, 3))), tl.broadcast_to(x, (2, 6)), tl.sort(x)):
            assert other._value.flags.c_contiguous and not np.shares_memory(np.asarray(other), np.asarray(x))
            with pytest.raises(ValueError, match="WRITEABLE"):
                np.asarray(other).setflags(write=True)
    results = [tl.function(lambda x: tl.reshape(x, (2, 3))).run(given, engine=each) for each in ("reference", "fast")]
    given[:] = 0.0
    assert all(np.array_equal(each.value.ravel(), np.arange(6.0)) for each in results)


def test_threads() -> None:
    """Threads that fill and use one table concurrently get the results that each gets alone."""
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for size in range(1, 60):
            x = tl.asarray(np.full(size, float(seed)))
            result = tl.sum(x * 2.0 + x)
            if float(result) != 3.0 * seed * size:
                wrong.append((seed, size, result))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_arrays_are_pickled() -> None:
    """A pickled array is read back with the same bits, and is read-only."""
    for x in (tl.asarray([1.0, 2.0]), tl.asarray(3, dtype=tl.int8), tl.asarray(1.5)):
        back = pickle.loads(pickle.dumps(x))
        assert type(back) is ConcreteArray and is_same_value(back._value, x._value) and back._type is x._type
        assert x.shape == () or not back._value.flags.writeable


@pytest.mark.full
def test_closed_over_arrays_are_freed() -> None:
    """Only the function keeps an array that it closes over: the array is freed with it, and only cycles left by tracing
    need the garbage collector."""

    def scoped(x: Any) -> Any:
        return tl.function(lambda y: y + x)

    x = tl.asarray([1.0, 2.0])
    f = scoped(x)
    assert np.array_equal(f(np.ones(2)), [2.0, 3.0])
    gc.collect()
    gc.disable()
    try:
        alive = weakref.ref(x)
        del x
        assert alive() is not None and np.array_equal(f(np.ones(2)), [2.0, 3.0])
        del f
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ELEMENT_METHODS)
def test_conversions_of_arrays_symbols_and_variables(name: str) -> None:
    """Each conversion to elements works for concrete arrays and variables, and is refused for symbolic values."""
    assert all(name in vars(kind) for kind in (ConcreteArray, Symbol, Variable))


@pytest.mark.parametrize("convert", [float, int, bool, complex, operator.index, np.asarray, list, len], ids=str)
def test_variables_convert_as_their_values(convert: Callable[[Any], Any]) -> None:
    """Python converts a variable as it converts its value."""
    held = tl.asarray([1, 2]) if convert in (list, len) else tl.asarray(3)
    actual, expected = convert(tl.Variable(held)), convert(held)
    assert np.array_equal(actual, expected) and type(actual) is type(expected)
