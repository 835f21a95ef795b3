"""Gradients by rows: the rows add up to the dense gradient, and a gradient that has no rows is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws.machine_laws import cleanliness, firings, results
from tagloom.core.autodiff import reverse, rows
from tagloom.core.ops import indexing

COUNT = 5
TABLE = np.linspace(-1.0, 2.0, 2 * COUNT).reshape(COUNT, 2)
Table, Ids = tl.Array[tl.float64, None, 2], tl.Array[tl.int64, None]


@tl.function
def length(w: Table, i: Ids) -> tl.float64:
    """The table is an argument of this function."""
    return tl.sum(tl.take(w, i, axis=0) ** 3)


@tl.function
def down(w: Table, n: tl.int64) -> tl.float64:
    """The function passes the table to itself."""
    return tl.cond(n == 0, lambda: 0.5, lambda: tl.sum(tl.sin(tl.take(w, n - 3, axis=0))) * down(w, n - 1))


def lookup_in_a_loop(w: Any, i: Any, trips: Any, y: Any) -> Any:
    """Each iteration takes one row, and all rows of those indices."""

    def body(k: Any, y: Any) -> Any:
        return k + 1, tl.sin(y) * tl.sum(tl.take(w, k, axis=0)) + tl.sum(tl.take(w, i, axis=0) ** 2)

    return tl.while_loop(lambda k, _: k < trips, body, 0, y)[1]


def table_as_loop_variable(w: Any, i: Any) -> Any:
    """The table is a loop variable that does not change, and a result of the loop."""

    def body(k: Any, w: Any, y: Any) -> Any:
        return k + 1, w, y * tl.sum(tl.take(w, k, axis=0))

    _, after, y = tl.while_loop(lambda k, *_: k < 2, body, 0, w, 0.5)
    return y * length(after, i)


def by_turns(w: Any, i: Any) -> Any:
    """Some iterations call a function, and others take a row."""

    def body(k: Any, y: Any) -> Any:
        return k + 1, tl.cond(k % 2 == 0, lambda: y * length(w, i), lambda: y + tl.sum(tl.take(w, k, axis=0) ** 2))

    return tl.while_loop(lambda k, _: k < 3, body, 0, 0.5)[1]


def mapped(w: Any, i: Any) -> Any:
    return tl.sum(tl.map(lambda k: tl.sum(tl.sin(tl.take(w, k, axis=0))), tl.concat((i, tl.asarray([1])))))


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "a look-up": lambda w, i: tl.sum(tl.take(w, i, axis=0) ** 3),
    "gathered": lambda w, i: tl.sum(tl.sin(tl.gather(w, i)) * tl.gather(w, i)),
    "in brackets": lambda w, i: tl.sum(w[i] ** 2),
    "along the last axis of a row": lambda w, i: tl.sum(tl.take(tl.take(w, i, axis=0), [1, 1], axis=1) ** 2),
    "a table of indices": lambda w, i: tl.sum(tl.take(w, tl.stack([i, tl.flip(i)]), axis=0) ** 2),
    "one row": lambda w, i: tl.sum(tl.take(w, tl.sum(i) % COUNT - COUNT, axis=0) ** 2),
    "small integers": lambda w, i: tl.sum(tl.take(w, tl.astype(i, tl.int8), axis=0) ** 2),
    "two look-ups": lambda w, i: tl.sum(tl.take(w, i, axis=0)) * tl.sum(tl.take(w, [0, -1], axis=0) ** 2),
    "calls": lambda w, i: length(w, i) * length(w, tl.flip(i)) + tl.sum(tl.take(w, [2], axis=0)),
    "a branch": lambda w, i: tl.cond(tl.sum(i) > 3, lambda: length(w, i), lambda: tl.sum(tl.take(w, [1], axis=0))),
    "a branch that takes none": lambda w, i: tl.cond(
        tl.sum(i) > 3, lambda: length(w, i), lambda: tl.astype(tl.sum(i), tl.float64)
    ),
    "recursion": lambda w, i: down(w, tl.sum(i) % 4),
    "a loop": lambda w, i: lookup_in_a_loop(w, i, 3, 0.5),
    "a loop of no trips": lambda w, i: lookup_in_a_loop(w, i, 0, 0.5) * tl.sum(tl.take(w, [1], axis=0)),
    "a loop after a loop": lambda w, i: lookup_in_a_loop(w, i, 2, 0.5) * lookup_in_a_loop(w, i, 3, 1.5),
    "what a loop hands on": lambda w, i: table_as_loop_variable(w, i),
    "a loop in a loop": lambda w, i: tl.while_loop(
        lambda k, _: k < 2, lambda k, y: (k + 1, lookup_in_a_loop(w, i, k + 1, y)), 0, 0.5
    )[1],
    "a call and a branch in a loop": by_turns,
    "a loop that takes nothing": lambda w, i: tl.while_loop(
        lambda k, _: k < 2, lambda k, y: (k + 1, tl.sin(y) + tl.sum(tl.stop_gradient(w))), 0, length(w, i)
    )[1],
    "mapped": mapped,
    "what has no slope": lambda w, i: tl.sum(tl.floor(w)) + tl.sum(tl.stop_gradient(w) * 2.0),
    "what has one besides": lambda w, i: tl.sum(tl.floor(w)) * length(w, i),
}
IDS = st.lists(st.integers(-COUNT, COUNT - 1), max_size=6).map(lambda ids: np.array(ids, np.int64))


def by_tape(function: Callable[[Any, Any], Any], ids: Any) -> tl.Rows:
    w = tl.asarray(TABLE)
    with tl.Tape() as tape:
        tape.watch(w)
        y = function(w, tl.asarray(ids))
    return tape.gradient(y, w, rows=w)  # type: ignore[no-any-return]


def by_call_on_tape(function: Callable[[Any, Any], Any], ids: Any) -> tl.Rows:
    return by_tape(tl.function(lambda w, i: function(w, i)), ids)


def by_grad(function: Callable[[Any, Any], Any], ids: Any) -> tl.Rows:
    return tl.grad(function, rows=0)(TABLE, ids)  # type: ignore[no-any-return]


def by_variable(function: Callable[[Any, Any], Any], ids: Any) -> tl.Rows:
    w = tl.Variable(TABLE, name="w")
    result = tl.grad(lambda ids: function(w, ids), {"w": (w,)}, rows=w)(ids)
    return result["w"][0]  # type: ignore[no-any-return]


def by_tape_in_a_trace(function: Callable[[Any, Any], Any], ids: Any) -> tl.Rows:
    def slope(w: Any, i: Any) -> Any:
        with tl.Tape() as tape:
            tape.watch(w)
            y = function(w, i)
        return tape.gradient(y, w, rows=w)

    return tl.function(slope)(TABLE, ids)  # type: ignore[no-any-return]


WAYS = [by_grad, by_variable, by_tape, by_call_on_tape, by_tape_in_a_trace]


def violations(name: str, ids: Any, way: Callable[..., tl.Rows] = by_grad) -> list[str]:
    """How rows differ from the dense gradient: in any bit, if there is one lookup."""
    dense = np.asarray(tl.grad(CASES[name])(TABLE, ids))
    result = tl.Rows(*map(np.asarray, way(CASES[name], ids)))
    texts = []
    if result.indices.dtype != np.int64 or result.indices.shape != result.values.shape[:1]:
        texts.append(f"indices are {result.indices.dtype}{result.indices.shape}")
    if np.any((result.indices < 0) | (result.indices >= COUNT)):
        return [*texts, f"there are no rows {result.indices}"]
    total = np.zeros_like(TABLE)
    np.add.at(total, result.indices, result.values)
    alike = np.array_equal if name in ("a look-up", "in brackets", "one row") else np.allclose
    return texts if alike(total, dense) else [*texts, f"rows add up to {total}, and not to {dense}"]


@pytest.mark.full(first=40)
@pytest.mark.inner(first=1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_rows_add_up(name: str, way: Callable[..., tl.Rows]) -> None:
    """Rows add up to the dense gradient if some occur several times, are counted from the end, or if there are none."""
    for ids in ([4, 0, 4, 4, 1], [-1, 4, -5, 0], [3], []):
        if name == "what a loop hands on" and way is by_tape_in_a_trace:  # which has the loop as a function
            with pytest.raises(tl.Invalid, match=r"D6: .* is differentiated by rows, but the result uses"):
                violations(name, np.array([0]), way)
        elif ids or name != "recursion":
            assert violations(name, np.array(ids, np.int64), way) == []


@settings(max_examples=40)
@given(name=st.sampled_from(list(CASES)), ids=IDS)
def test_rows_of_any_indices(name: str, ids: Any) -> None:
    """The law holds for generated indices."""
    assert violations(name, ids) == []


@pytest.mark.full
@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
def test_engines_agree(engine: str) -> None:
    """Every engine gives the reference's rows, in their order."""
    named = ["two look-ups", "calls", "a branch", "recursion", "a loop in a loop", "a call and a branch in a loop"]
    for name in ["calls", "a loop"] if engine == "compiled" else named:
        gradient = tl.grad(CASES[name], rows=0)
        expected = gradient.run(TABLE, np.array([4, 0, 4]), engine="reference").value
        actual = gradient.run(TABLE, np.array([4, 0, 4]), engine=engine)
        assert actual.status == "Returned"
        for one, other in zip(actual.value, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.full
def test_every_schedule_gives_the_rows() -> None:
    """Every schedule gives the same rows with the same firings, without residue."""
    gradient = tl.grad(CASES["a loop in a loop"], rows=0)
    ideal = gradient.run(TABLE, np.array([4, 0]), engine="reference", keep="events")
    for schedule in ("fifo", "lifo", "random:1"):
        other = gradient.run(TABLE, np.array([4, 0]), engine="reference", schedule=schedule, keep="events")
        assert list(cleanliness(other)) == []
        assert (results(other), firings(other)) == (results(ideal), firings(ideal))


@pytest.mark.parametrize("scale", [None, 2.0])
def test_one_program_has_rows_and_a_dense_gradient(scale: float | None) -> None:
    """A function may be differentiated by rows and with a dense gradient in one program, at a parameter and at a
    computed table; so may one whose result does not depend on the table."""
    callee = tl.function(lambda w, i: tl.sum(tl.take(w, i, axis=0) ** 2.0))
    constant = tl.function(lambda w, i: tl.sum(tl.stop_gradient(tl.take(w, i, axis=0))))

    @tl.function
    def gradients(w: Any, i: Any) -> Any:
        table = w if scale is None else w * scale
        with tl.Tape(persistent=True) as tape:
            tape.watch(table)
            y, z = callee(table, i), constant(table, i)
        rows, idle_rows = tape.gradient(y, table, rows=table), tape.gradient(z, table, rows=table)
        return rows.indices, rows.values, tape.gradient(y, table), idle_rows.values

    indices, values, dense, idle = gradients(TABLE, np.array([4, 0, -1, 4]))
    sums = np.zeros_like(TABLE)
    np.add.at(sums, indices, values)
    np.testing.assert_array_equal(sums, dense)
    assert np.any(sums) and idle.size == 0


@pytest.mark.parametrize("way", WAYS)
def test_an_index_out_of_range_traps(way: Callable[..., tl.Rows]) -> None:
    """An index out of range traps, as in the lookup."""
    with pytest.raises(tl.Trap, match="an index is out of range"):
        way(CASES["a look-up"], np.array([COUNT]))


def test_other_sources() -> None:
    """Only the sources in `rows` have gradients by rows. A function that receives a table and another array has both
    kinds."""
    v = np.cos(TABLE)

    def f(w: Any, v: Any, i: Any) -> Any:
        return length(w, i) * length(tl.tanh(v), i)

    ids = np.array([3, 1, 3])
    one, other = tl.grad(f, (0, 1), rows=0)(TABLE, v, ids)
    for gradient, expected in zip((one, other), tl.grad(f, (0, 1))(TABLE, v, ids), strict=True):
        result = (
            tl.scatter_add(np.zeros_like(TABLE), *reversed(gradient)) if isinstance(gradient, tl.Rows) else gradient
        )
        np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert isinstance(one, tl.Rows) and not isinstance(other, tl.Rows)


def test_a_computed_source_is_a_table_too() -> None:
    """On a tape, a source may be computed from another one, which receives its adjoint."""
    x, ids = tl.asarray(TABLE), tl.asarray([1, 1, -2])
    with tl.Tape() as tape:
        tape.watch(x)
        w = tl.sin(x)
        y = tl.sum(tl.take(w, ids, axis=0) ** 2)
    dx, dw = tape.gradient(y, (x, w), rows=w)
    assert [int(each) for each in dw.indices] == [1, 1, 3]
    expected = tl.grad(lambda x, i: tl.sum(tl.take(tl.sin(x), i, axis=0) ** 2))(TABLE, np.array([1, 1, -2]))
    np.testing.assert_allclose(np.asarray(dx), expected, rtol=1e-12)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("name", ["a look-up", "a loop", "a call and a branch in a loop"])
def test_higher_orders(name: str) -> None:
    """The values of rows can be differentiated, also by rows."""
    ids, cube = np.array([4, 1, 0]), CASES[name]

    def squares(slopes: tl.Rows) -> Any:
        return tl.sum(tl.scatter_add(tl.zeros_like(TABLE), slopes.values, slopes.indices) ** 2)

    def of_rows(w: Any, i: Any) -> Any:
        return squares(tl.grad(cube, rows=0)(w, i))

    def of_all(w: Any, i: Any) -> Any:
        return tl.sum(tl.grad(cube)(w, i) ** 2)

    expected = tl.grad(of_all)(TABLE, ids)
    actual = tl.grad(of_rows, rows=0)(TABLE, ids)
    assert np.allclose(tl.grad(of_rows)(TABLE, ids), expected)
    assert np.allclose(tl.scatter_add(np.zeros_like(TABLE), actual.values, actual.indices), expected)
    w = tl.asarray(TABLE)
    with tl.Tape() as outer:
        outer.watch(w)
        with tl.Tape() as tape:
            tape.watch(w)
            y = cube(w, ids)
        loss = squares(tape.gradient(y, w, rows=w))
    again = outer.gradient(loss, w, rows=w)
    assert np.allclose(tl.scatter_add(np.zeros_like(TABLE), *map(np.asarray, reversed(again))), expected)


@settings(max_examples=25)
@given(ids=IDS, norm=st.floats(0.1, 20.0))
def test_rows_are_clipped_like_the_dense_gradient(ids: Any, norm: float) -> None:
    """The norm of rows is that of the dense gradient, alone and among others, eagerly and in a program."""

    def dense(gradient: Any) -> Any:
        return tl.scatter_add(tl.zeros_like(TABLE), gradient.values, gradient.indices)

    def both(ids: Any) -> Any:
        slopes = tl.grad(CASES["a look-up"], rows=0)(TABLE, ids)
        one, (several, length) = tl.clip_by_norm(slopes, norm), tl.clip_by_global_norm({"w": slopes, "b": (2.0,)}, norm)
        return dense(slopes), dense(one), dense(several["w"]), several["b"][0], length

    for way in (both, tl.function(both)):
        slopes, *result = way(ids)
        several, length = tl.clip_by_global_norm((slopes, 2.0), norm)
        for mine, theirs in zip(result, (tl.clip_by_norm(slopes, norm), *several, length), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "multiply uses": lambda w, i: tl.sum(tl.take(w * 2.0, i, axis=0)),
    "sum uses": lambda w, i: tl.sum(w) + tl.sum(tl.take(w, i, axis=0)),
    "take uses": lambda w, i: tl.sum(tl.take(w, [0], axis=1)),
    "gather uses": lambda w, i: tl.sum(tl.gather(w, [0], [1])),
    "loop uses": lambda w, i: tl.sum(
        tl.while_loop(lambda k, _: k < 2, lambda k, v: (k + 1, tl.sin(v)), 0, w)[1][i]  # it changes the table
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_d6_other_uses_of_a_table_are_refused(message: str) -> None:
    """D6: a gradient by rows is refused if a table is used for more than lookups, or in a loop; the error names the op
    and its line."""
    for way in (by_grad, by_variable, by_call_on_tape):
        with pytest.raises(tl.Invalid, match=f"D6: .* is differentiated by rows, but {message}") as raised:
            way(REFUSED[message], np.array([1]))
        assert "test_by_rows.py" in str(raised.value) and "leave it out of `rows`" in str(raised.value)
    if message != "loop uses":
        with pytest.raises(tl.Invalid, match=f"D6: a source is differentiated by rows, but {message}"):
            by_tape(REFUSED[message], np.array([1]))


def test_rows_name_sources_with_axes() -> None:
    """`rows` names sources of the gradient that have axes."""
    w, b = tl.Variable(TABLE, name="w"), tl.Variable(1.0, name="b")
    with pytest.raises(tl.Usage, match="rows of grad names an argument or variable that argnums does not name"):
        tl.grad(lambda: tl.sum(tl.take(w, [1], axis=0)), w, rows=b)
    with pytest.raises(tl.Invalid, match="D6: b is not a table of rows"):
        tl.grad(lambda: b * b, b, rows=b)()
    with tl.Tape() as tape:
        y = tl.sum(tl.take(w, [1], axis=0)) * b
    with pytest.raises(tl.Usage, match="rows is not a source"):
        tape.gradient(y, w, rows=b)


def drops_duplicates(patch: pytest.MonkeyPatch) -> None:
    """A row that was taken several times is counted once."""

    def taken(do: Any, node: Any, adjoint: Any) -> Any:
        actual = indexing.row_adjoint(do, node.op, adjoint, node.inputs, dict(node.attributes))
        assert actual is not None
        first = do("unique_indices", actual[0])
        return rows.Rows(*(do("take", each, first, axis=0) for each in actual))

    patch.setattr(reverse, "gathered_rows", taken)


def forgets_a_lookup(patch: pytest.MonkeyPatch) -> None:
    """Only the last of two lookups counts."""
    patch.setattr(reverse, "add_rows", lambda do, one, other: other)


def keeps_negative_indices(patch: pytest.MonkeyPatch) -> None:
    """Negative indices are not converted."""

    def taken(do: Any, node: Any, adjoint: Any) -> Any:
        return rows.Rows(node.inputs[1], adjoint)

    patch.setattr(reverse, "gathered_rows", taken)


def forgets_later_iterations(patch: pytest.MonkeyPatch) -> None:
    """An iteration returns its own rows only, and not those of later iterations."""
    right = reverse.Reverser.add_incoming_adjoint

    def given(self: Any, of: Any, number: int, at: int, writer: Any) -> Any:
        variables = right(self, of, number, at, writer)
        of.row_adjoints.clear()
        return variables

    patch.setattr(reverse.Reverser, "add_incoming_adjoint", given)


TWINS = {
    drops_duplicates: "a look-up",
    forgets_a_lookup: "two look-ups",
    keeps_negative_indices: "a look-up",
    forgets_later_iterations: "a loop",
}


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("twin", TWINS)
def test_broken_rows_are_caught(twin: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The law reports each twin."""
    ids = np.array([4, 0, -1, 4])
    assert violations(TWINS[twin], ids) == []
    twin(monkeypatch)
    assert violations(TWINS[twin], ids)


def test_a_broken_tape_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tape that forgets the rows of all lookups but one is caught."""
    ids = np.array([4, 0, -1, 4])
    assert violations("two look-ups", ids, by_tape) == []
    monkeypatch.setattr("tagloom.core.frontend.eager.tape.add_rows", lambda do, one, other: other)
    assert violations("two look-ups", ids, by_tape)
