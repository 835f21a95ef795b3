"""Tapes: reverse-mode gradients of the ops and calls that ran, or were traced, while a tape recorded them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

from ...autodiff.rows import Rows, add_rows, empty_rows, row_use_error, to_dense
from ...errors import Invalid, Usage, plural
from ...types import Type
from ...value import literal
from ..trace.captures import DeferredValue, Resource, read_variable
from ..trace.program_builder import NoTypeYet, current_region, to_operand, weak_value_of
from ..trace.pytree import flatten, flatten_like, leaf_paths, unflatten
from ..trace.source_location import user_location
from ..trace.symbol import Symbol
from .adjoints import OpDispatcher, instantiate_adjoint, to_tape_entry
from .apply import apply
from .array import ConcreteArray
from .recording import (
    TAPE_STACK,
    AnyTapeEntry,
    DeferredOpEntry,
    StoredValue,
    TapeArray,
    TapeEntry,
    identity_vjp,
    is_float_array,
    peek_resource,
    watch_copy,
)
from .variable import Variable


class WatchedVariable(NamedTuple):
    """A watched variable, with its value when the tape first saw it."""

    stored_value: StoredValue | None
    """The variable's value; None once it has been assigned."""
    outer_array: TapeArray
    """The array by which other tapes know that value."""
    tape_array: TapeArray
    """The array that stands for it on this tape, and with respect to which the tape differentiates."""


class Tape:
    """Records ops and calls, and computes gradients by running their adjoints backwards.

    Under `with tl.Tape() as tape`, the tape records every op and every call of a tl.function with an operand that is
    watched, or depends on a watched value. `tape.gradient` processes these steps in reverse, by the same rules as
    `tl.grad`. Python's own control flow is not recorded, only the ops on the path that was taken.

    In a function under trace, a tape records the ops as they are traced, and its gradient is part of the program. There
    `tl.cond`, `tl.while_loop` and calls are single steps. A tape belongs to the function, branch or loop where it is
    entered.

    A tape knows arrays by identity, not by value. So Python numbers and NumPy arrays cannot be watched: convert them
    with `tl.asarray` first. Ops on a tagloom array return tagloom arrays; the result of `float(x)`, or of a NumPy
    function, is a constant.

    Tapes nest: an outer tape records the ops of an inner tape's reverse pass. A tape computes one gradient and then
    drops its records, unless it is `persistent`.

    >>> import tagloom as tl
    >>> x = tl.asarray(3.0)
    >>> with Tape() as outer:
    ...     outer.watch(x)
    ...     with Tape() as tape:
    ...         tape.watch(x)
    ...         y = x * x
    ...     slope = tape.gradient(y, x)
    >>> slope, outer.gradient(slope, x)
    (asarray(6., dtype=float64), asarray(2., dtype=float64))
    """

    def __init__(self, *, persistent: bool = False) -> None:
        self.persistent = persistent
        self._entries: list[AnyTapeEntry | DeferredOpEntry] = []
        self._tracked: dict[Any, TapeArray] = {}
        """The watched values, and those that depend on them, by identity; kept alive, so that no id is used again."""
        self._watched_variables: dict[Resource, WatchedVariable] = {}
        """The variables watched, as first seen."""
        self._is_consumed = False
        self.is_paused = False
        self.region = current_region()

    def __repr__(self) -> str:
        return f"<tape of {plural(len(self._entries), 'step')}{', recording' * self._is_recording}>"

    def __enter__(self) -> Tape:
        if self._is_recording:
            raise Usage(
                "this tape is recording already", where=user_location(), hint="open a new tl.Tape() inside of it"
            )
        if self._is_consumed or self.region is not current_region():
            self.reset()
        self.region = current_region()
        self._activate()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._deactivate()

    def watch(self, values: Any) -> None:
        """From now on, record steps that depend on these values: arrays of floats or variables, which may nest.

        Raises Usage for anything else, such as a Python number, which has no identity.
        """
        self._check_region()
        sources, structure = flatten(values, keep_variables=True, is_leaf=None)
        leaves = list(map(read_variable, sources))
        for name, leaf in zip(leaf_paths(structure, "value"), leaves, strict=True):
            _check_not_weak(leaf)
            if not is_float_array(leaf):
                hint = "x = tl.asarray(3.0), and use that x"
                if isinstance(leaf, ConcreteArray | Symbol):
                    hint = "integers and bools have no adjoint; convert with tl.astype(x, tl.float64)"
                raise Usage(
                    f"a tape watches arrays of floats, by their identity, and {name} is not one",
                    where=user_location(),
                    required="an array from tl.asarray or an op",
                    got=repr(leaf)[:80],
                    hint=hint,
                )
        for source, leaf in zip(sources, leaves, strict=True):
            if self.region is not None:
                self.region.specialization.program_builder.created_arrays.pop(
                    id(leaf), None
                )  # a watched array is an input, not a literal
            if isinstance(source, Variable) and source._resource not in self._watched_variables:
                self._watch_unread(source)
            else:
                self._tracked[self._identity_key(leaf)] = leaf

    def gradient(self, target: Any, sources: Any, adjoints: Any = None, *, rows: Any = ()) -> Any:
        """The gradient of `target` with respect to `sources`, nested as these are.

        `target` is one float, or any nested arrays with `adjoints`, which nest in the same way. Each gradient has the
        shape and dtype of its source; it is zeros where the target does not depend on the source. Sources listed in
        `rows` as well are tables from which the program only takes rows: their gradients are `tl.Rows`.

        Raises Usage for a source that the tape does not know, since it was not watched or is another object, and for a
        target that is not a tagloom array; Invalid (D3) where an adjoint does not fit, (D1) for an op without a
        gradient rule, (D6) where a table in `rows` is used in other ways.
        """
        self._check_region()
        if self._is_consumed:
            hint = "tl.Tape(persistent=True) computes any number of gradients"
            raise Usage(
                "this tape has computed its gradient, and dropped its records", where=user_location(), hint=hint
            )
        results, seeds = self._seed_adjoints(target, adjoints)
        leaves, structure = flatten(sources, keep_variables=True, is_leaf=None)
        arrays = [self._resolve_source(leaf) for leaf in leaves]
        self._check_tracked(leaf_paths(structure, "source"), arrays)
        tables = self._find_table_keys(rows, arrays)
        records = list(map(to_tape_entry, self._entries))
        if not self.persistent:
            self._deactivate()
            self.reset()
            self._is_consumed = True
        adjoints_by_key = self._backpropagate(records, results, seeds, arrays, tables)
        return unflatten(structure, [self._source_gradient(adjoints_by_key, array, tables) for array in arrays])

    def _find_table_keys(self, rows: Any, sources: Sequence[Any]) -> set[Any]:
        """The identity keys of the sources in `rows`; raises Usage for a table that is not a source."""
        leaves, structure = flatten(rows, keep_variables=True, is_leaf=None)
        tables, source_keys = list(map(self._resolve_source, leaves)), set(map(self._identity_key, sources))
        for name, table in zip(leaf_paths(structure, "rows"), tables, strict=True):
            if self._identity_key(table) not in source_keys:
                raise Usage(
                    f"{name} is not a source",
                    where=user_location(),
                    required="one of the sources",
                    got=repr(table)[:80],
                )
        return set(map(self._identity_key, tables))

    def _source_gradient(self, adjoints_by_key: dict[Any, Any], source: TapeArray, tables: Collection[Any]) -> Any:
        """The adjoint of a source; zeros, or no rows, where nothing has contributed to it."""
        adjoint = adjoints_by_key.get(self._identity_key(source))
        if self._identity_key(source) in tables:
            return adjoint or empty_rows(OpDispatcher(), source)
        return instantiate_adjoint(adjoint, source)

    def _resolve_source(self, source: Any) -> Any:
        """The array by which this tape knows a variable; any other source unchanged."""
        if not isinstance(source, Variable):
            return source
        if source.trainable and source._resource not in self._watched_variables:
            self._watch_unread(source)
        watched_variable = self._watched_variables.get(source._resource)
        return source if watched_variable is None else watched_variable.tape_array

    def _watch_unread(self, variable: Variable) -> None:
        """Watch a variable that has not been read under this tape."""
        resource = variable._resource
        value, array = peek_resource(resource), variable.value
        if resource not in self._watched_variables:
            watch_copy(self, resource, value, array)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Under `with tape.stop_recording()`, this tape records nothing. Raises Usage if it is not recording."""
        if not self._is_recording:
            raise Usage(
                "this tape is not recording", where=user_location(), hint="use it inside `with tl.Tape() as tape:`"
            )
        self.is_paused = True
        try:
            yield
        finally:
            self.is_paused = False

    def reset(self) -> None:
        """Drop all records and watched values."""
        self._entries, self._tracked, self._watched_variables, self._is_consumed = [], {}, {}, False

    def record(self, entry: AnyTapeEntry) -> None:
        """Record a step if an operand is watched, or depends on a watched value. Called by `recording`."""
        tracked, identity_key = self._tracked, self._identity_key
        for operand in entry.operands:
            if identity_key(operand) in tracked:
                break
        else:
            return
        for result in entry.results:
            tracked[identity_key(result)] = result
        self._entries.append(entry)

    def record_eager_op(self, entry: DeferredOpEntry) -> None:
        """`record` for an op that ran eagerly, inlined: 0.4 us less."""
        tracked = self._tracked
        for operand in entry[0]:
            if id(operand) in tracked:
                result = entry[1]
                tracked[id(result)] = result
                self._entries.append(entry)
                return

    def is_tracked(self, value: TapeArray) -> bool:
        """Whether a value is watched, or depends on a watched value."""
        return self._identity_key(value) in self._tracked

    def is_watching(self, variable: Resource) -> bool:
        """Whether a variable is watched, or will be when it is read."""
        return variable.trainable or variable in self._watched_variables

    def resolve_watched_array(self, variable: Resource, value: StoredValue, array: TapeArray) -> TapeArray | None:
        """The array that stands for a variable of this value on this tape; on other tapes it is `array`. None where
        this tape sees the variable for the first time. A value assigned since then is an ordinary value."""
        watched_variable = self._watched_variables.get(variable)
        if watched_variable is None:
            return None
        if watched_variable.stored_value is not value:
            return array
        if self._identity_key(watched_variable.outer_array) == self._identity_key(array):
            return watched_variable.tape_array
        if not self.is_tracked(array):  # the set of other tapes that watch the variable has changed
            self.record(TapeEntry((watched_variable.tape_array,), (array,), identity_vjp))
        return array

    def watch_variable(self, variable: Resource, value: StoredValue, outer_array: TapeArray, array: TapeArray) -> None:
        """Watch a variable of this value, which other tapes know as `outer_array`, as the array `array`."""
        self._watched_variables[variable] = WatchedVariable(value, outer_array, array)
        self._tracked.setdefault(self._identity_key(array), array)

    def record_assignment(self, variable: Resource) -> None:
        """Record that a variable no longer has the value with which the tape first saw it."""
        if variable in self._watched_variables:
            self._watched_variables[variable] = self._watched_variables[variable]._replace(stored_value=None)

    def _check_region(self) -> None:
        """Raises Usage outside the region where the tape was entered, since it has recorded nothing there."""
        if current_region() is self.region:
            return
        message = "this tape was entered in a different function, branch or loop than the one that is traced here"
        if self.region is None:
            message = "this tape was entered outside the function that is traced here"
        hint = "enter the tape in the function, branch or loop that asks for its gradient"
        raise Usage(message, where=user_location(), hint=hint)

    @property
    def _is_recording(self) -> bool:
        return not self.is_paused and any(tape is self for tape in TAPE_STACK.get())

    def _activate(self) -> None:
        TAPE_STACK.set((*TAPE_STACK.get(), self))

    def _deactivate(self) -> None:
        TAPE_STACK.set(tuple(tape for tape in TAPE_STACK.get() if tape is not self))

    @staticmethod
    def _identity_key(value: Any) -> Any:
        """The identity of a value; for a symbol, its function and name, which do not change when the function is traced
        again."""
        if not isinstance(value, Symbol) or isinstance(value, DeferredValue):
            return id(value)
        symbolic = value._tagloom_value
        return id(symbolic.region.specialization), symbolic.name

    def _accumulate(self, partial_sum: Any, contribution: Any) -> Any:
        """The sum of two contributions to one adjoint."""
        return (
            add_rows(OpDispatcher(), partial_sum, contribution)
            if isinstance(partial_sum, Rows)
            else apply("add", partial_sum, contribution)
        )

    def _seed_adjoints(self, target: Any, adjoints: Any) -> tuple[list[TapeArray], list[Any]]:
        """The float leaves of the target, and their adjoints: `adjoints`, or 1 for a single scalar."""
        results, structure = flatten(target)
        for name, leaf in zip(leaf_paths(structure, "target"), results, strict=True):
            _check_not_weak(leaf)
            if not isinstance(leaf, ConcreteArray | Symbol):
                hint = "the results of float(x), int(x) and NumPy functions are constants for tapes"
                required = "a tagloom array"
                raise Usage(
                    f"{name} was not recorded", where=user_location(), required=required, got=repr(leaf)[:80], hint=hint
                )
        floats = [leaf for leaf in results if is_float_array(leaf)]
        if adjoints is None:
            if len(results) != 1 or not floats or floats[0].shape != ():
                raise Invalid(
                    "the target of a gradient is not one float",
                    rule="D3",
                    where=user_location(),
                    required="float64 or float32, without axes",
                    got=", ".join(str(leaf._type) for leaf in results),
                    hint="pass `adjoints`, nested as the target, as in tl.ones_like(y)",
                )
            return floats, [ConcreteArray(literal(1.0, Type(floats[0].dtype)))]
        pairs = zip(flatten_like(structure, adjoints, "an adjoint"), results, strict=True)
        return floats, [coerce_adjoint(leaf, result) for leaf, result in pairs if is_float_array(result)]

    def _check_tracked(self, names: Sequence[str], sources: Sequence[Any]) -> None:
        for name, leaf in zip(names, sources, strict=True):
            if not isinstance(leaf, ConcreteArray | Symbol) or not self.is_tracked(leaf):
                hint = "call tape.watch(x) first, then use that same object x and ask for its gradient"
                raise Usage(f"the tape does not know {name}", where=user_location(), got=repr(leaf)[:80], hint=hint)

    def _backpropagate(
        self,
        records: Sequence[TapeEntry],
        results: Iterable[TapeArray],
        seeds: Iterable[Any],
        source_arrays: Sequence[TapeArray],
        tables: set[Any],
    ) -> dict[Any, Any]:
        """The reverse pass, from the last step to the first; the adjoints by identity, also the adjoints of
        `source_arrays`."""
        sources = {self._identity_key(leaf) for leaf in source_arrays}
        dependent = set(sources)
        for record in records:
            if any(self._identity_key(operand) in dependent for operand in record.operands):
                dependent.update(map(self._identity_key, record.results))
                if record.vjp is identity_vjp and self._identity_key(record.operands[0]) in tables:
                    tables.update(map(self._identity_key, record.results))
        adjoints_by_key: dict[Any, Any] = {}

        def contribute(value: TapeArray, adjoint: Any) -> None:
            key = self._identity_key(value)
            if adjoint is not None and key in dependent:
                if (key in tables) is not isinstance(adjoint, Rows):
                    raise row_use_error("a source", "what was recorded", user_location())
                adjoints_by_key[key] = (
                    self._accumulate(adjoints_by_key[key], adjoint) if key in adjoints_by_key else adjoint
                )

        for result, adjoint in zip(results, seeds, strict=True):
            contribute(result, adjoint)
        for record in reversed(records):
            take: Callable[..., Any] = (
                adjoints_by_key.get
                if sources.intersection(map(self._identity_key, record.results))
                else adjoints_by_key.pop
            )
            adjoints = [take(self._identity_key(result), None) for result in record.results]
            if record.vjp is not identity_vjp:
                adjoints = [_densify(*pair) for pair in zip(adjoints, record.results, strict=True)]
            positions = [
                position
                for position, operand in enumerate(record.operands)
                if self._requires_adjoint(operand, dependent)
            ]
            if any(adjoint is not None for adjoint in adjoints) and positions:
                row_positions = [
                    position for position in positions if self._identity_key(record.operands[position]) in tables
                ]
                for position, contribution in zip(
                    positions, record.vjp(adjoints, positions, row_positions), strict=True
                ):
                    contribute(record.operands[position], contribution)
        return adjoints_by_key

    def _requires_adjoint(self, operand: TapeArray, dependent: set[Any]) -> bool:
        return is_float_array(operand) and self._identity_key(operand) in dependent


def _check_not_weak(value: Any) -> None:
    """Raises NoTypeYet for a weak value, whose dtype is not known yet."""
    if weak_value_of(value) is not None:
        raise NoTypeYet


def _densify(adjoint: Any, table: TapeArray) -> Any:
    """An adjoint as an array: `Rows` become dense, in the shape of the table."""
    return to_dense(OpDispatcher(), adjoint, table) if isinstance(adjoint, Rows) else adjoint


def coerce_adjoint(adjoint: Any, result: TapeArray) -> Any:
    """A user's adjoint as an array; raises Invalid (D3) where the type of its result does not admit it."""
    array = adjoint
    if not isinstance(adjoint, ConcreteArray | Symbol):
        array = ConcreteArray(literal(adjoint, Type(result.dtype) if type(adjoint) in (int, float) else None))
    type_ = to_operand(array).type
    if not result._type.admits(type_):
        message = "an adjoint does not have the type of its result"
        raise Invalid(message, rule="D3", where=user_location(), required=result._type, got=type_)
    return array
