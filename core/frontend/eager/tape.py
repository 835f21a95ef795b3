"""The tape: gradients of what has just run, or been traced, by what was recorded of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

from ...autodiff.rows import Rows, add_rows, empty_rows, row_use_error, to_dense
from ...errors import Invalid, Usage, plural
from ...types import Type
from ...value import literal
from ..trace.captures import Resource, read_variable
from ..trace.operators import ArrayOperators
from ..trace.pytree import flatten, flatten_like, leaf_names, unflatten
from ..trace.source_location import user_location
from ..trace.symbol import Symbol
from ..trace.trace import NoTypeYet, current_region, to_operand, weak_value_of
from .array import ConcreteArray
from .recording import (
    TAPE_STACK,
    AnyTapeEntry,
    DeferredOpEntry,
    OpDispatcher,
    OpTapeEntry,
    StoredValue,
    TapeArray,
    TapeEntry,
    instantiate_adjoint,
    is_float_array,
)
from .variable import Variable
from .variable_reads import identity_vjp, peek_resource, watch_copy


class WatchedVariable(NamedTuple):
    """What a tape has seen of a variable first."""

    stored_value: StoredValue | None
    """What the variable held; None where it has been assigned since."""
    outer_array: TapeArray
    """What others had for that."""
    tape_array: TapeArray
    """What it has for that itself, and gradients are by."""


class Tape:
    """Records what runs, and runs its adjoints back.

    Under `with tl.Tape() as tape`, every op and every call of a tl.function of which an operand is watched, or depends
    on what is, is taken down. `tape.gradient` goes back through that by the same rules as `tl.grad`. What Python
    decided meanwhile is not seen: branches and loops are recorded as what they did.

    In a function under trace a tape records what is traced, and its gradient is a part of the program. There `tl.cond`
    and `tl.while_loop` are steps of their own, as calls are. A tape belongs to the function, branch or loop where it
    begins.

    Values are known by identity: which array of tagloom's it is, and not what it holds. So Python's numbers and NumPy's
    arrays cannot be watched; `tl.asarray` makes one of them that can, and what ops make of it is one again. What
    `float(x)`, or a function of NumPy, makes of an array is a constant.

    Tapes nest: an outer one records the ops of the inner one's reverse pass. One tape gives one gradient, and then
    forgets all, unless it is `persistent`.

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
        """What is watched, or depends on it, by identity; kept, so that no other object gets its place."""
        self._watched_variables: dict[Resource, WatchedVariable] = {}
        """What variables were when they were first read."""
        self._is_consumed = False
        self.is_paused = False
        self.region = current_region()

    def __repr__(self) -> str:
        return f"<tape of {plural(len(self._entries), 'step')}{', recording' * self._is_recording}>"

    def __enter__(self) -> Tape:
        if self._is_recording:
            raise Usage("this tape is recording already", where=user_location())
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
        """Record what depends on these from now on: arrays of floats, nested at will.

        Raises Usage for anything else: Python's numbers have no identity to be known by.
        """
        self._check_region()
        kept, structure = flatten(values, keep_variables=True)
        leaves = list(map(read_variable, kept))
        for name, leaf in zip(leaf_names(structure, "value"), leaves, strict=True):
            _check_not_weak(leaf)
            if not is_float_array(leaf):
                hint = "x = tl.asarray(3.0), and use that x"
                if isinstance(leaf, ConcreteArray | Symbol):
                    hint = "integers and bools have no adjoint; convert with tl.astype(x, tl.float64)"
                elif isinstance(leaf, list | tuple):
                    hint = "a list is an array; write a tuple of several"
                raise Usage(
                    f"a tape watches arrays of floats, by their identity, and {name} is none",
                    where=user_location(),
                    required="an array that tl.asarray has made, or an op",
                    got=repr(leaf)[:80],
                    hint=hint,
                )
        for source, leaf in zip(kept, leaves, strict=True):
            if self.region is not None:
                self.region.specialization.program_builder.created_arrays.pop(
                    id(leaf), None
                )  # what is watched is an input, and no literal
            if isinstance(source, Variable) and source._resource not in self._watched_variables:
                self._watch_unread(source)
            else:
                self._tracked[self._identity_key(leaf)] = leaf

    def gradient(self, target: Any, sources: Any, adjoints: Any = None, *, rows: Any = ()) -> Any:
        """The adjoints of `sources`, nested as they are, by that of `target`: 1 where it is one number, else given.

        `target` may nest, and `adjoints` nest as it does. A source that the target does not depend on has zeros.
        Sources that `rows` names, too, are tables of which only rows were taken: the adjoint of one is `tl.Rows`.

        Raises Usage for a source that the tape does not know, since it was not watched or is another object, and for a
        target that is no array of tagloom's; Invalid (D3) where an adjoint does not fit, (D1) for an op without a rule,
        (D6) where more was taken of a table than rows.
        """
        self._check_region()
        if self._is_consumed:
            hint = "tl.Tape(persistent=True) gives as many as are asked for"
            raise Usage("this tape has given its gradient, and has forgotten all", where=user_location(), hint=hint)
        results, given = self._seed_adjoints(target, adjoints)
        given_sources, structure = flatten(sources, keep_variables=True)
        wanted = [self._resolve_source(leaf) for leaf in given_sources]
        self._check_tracked(leaf_names(structure, "source"), wanted)
        tables = self._find_table_keys(rows, wanted)
        records = [each if isinstance(each, AnyTapeEntry) else OpTapeEntry(*each) for each in self._entries]
        if not self.persistent:
            self._deactivate()
            self.reset()
            self._is_consumed = True
        found = self._backpropagate(records, results, given, wanted, tables)
        return unflatten(structure, [self._source_gradient(found, leaf, tables) for leaf in wanted])

    def _find_table_keys(self, rows: Any, sources: Sequence[Any]) -> set[Any]:
        """What the sources are known by whose adjoints are by rows."""
        leaves, structure = flatten(rows, keep_variables=True)
        tables, known = list(map(self._resolve_source, leaves)), set(map(self._identity_key, sources))
        for name, table in zip(leaf_names(structure, "rows"), tables, strict=True):
            if self._identity_key(table) not in known:
                raise Usage(
                    f"{name} is no source", where=user_location(), required="some of the sources", got=repr(table)[:80]
                )
        return set(map(self._identity_key, tables))

    def _source_gradient(self, found: dict[Any, Any], source: TapeArray, tables: Collection[Any]) -> Any:
        """The adjoint of a source, where nothing has contributed to it, too."""
        adjoint = found.get(self._identity_key(source))
        if self._identity_key(source) in tables:
            return adjoint or empty_rows(OpDispatcher(), source)
        return instantiate_adjoint(adjoint, source)

    def _resolve_source(self, source: Any) -> Any:
        """What a variable held when it was first read under this tape; any other source as it is."""
        if not isinstance(source, Variable):
            return source
        if source.trainable and source._resource not in self._watched_variables:
            self._watch_unread(source)
        found = self._watched_variables.get(source._resource)
        return source if found is None else found.tape_array

    def _watch_unread(self, variable: Variable) -> None:
        """Watch a variable that nobody has told it of."""
        resource = variable._resource
        held, array = peek_resource(resource), variable.value
        if resource not in self._watched_variables:
            watch_copy(self, resource, held, array)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Under `with tape.stop_recording()` this tape takes nothing down."""
        if not self._is_recording:
            raise Usage("this tape is not recording", where=user_location())
        self.is_paused = True
        try:
            yield
        finally:
            self.is_paused = False

    def reset(self) -> None:
        """Forget all that was recorded and watched, as a new tape."""
        self._entries, self._tracked, self._watched_variables, self._is_consumed = [], {}, {}, False

    def record(self, entry: AnyTapeEntry) -> None:
        """Take a step down, if an operand is watched or depends on what is: `recording` calls this."""
        known, key = self._tracked, self._identity_key
        for operand in entry.operands:
            if key(operand) in known:
                break
        else:
            return
        for result in entry.results:
            known[key(result)] = result
        self._entries.append(entry)

    def record_eager_op(self, entry: DeferredOpEntry) -> None:
        """The same of an op that ran eagerly, written out: 0.4 us less."""
        known = self._tracked
        for operand in entry[0]:
            if id(operand) in known:
                result = entry[1]
                known[id(result)] = result
                self._entries.append(entry)
                return

    def is_tracked(self, value: TapeArray) -> bool:
        """Whether a value is watched, or depends on what is."""
        return self._identity_key(value) in self._tracked

    def is_watching(self, variable: Resource) -> bool:
        """Whether a variable is watched, or is to be as soon as it is read."""
        return variable.trainable or variable in self._watched_variables

    def resolve_watched_array(self, variable: Resource, held: StoredValue, array: TapeArray) -> TapeArray | None:
        """Which array a variable is to it that holds this, others having `array` for it; None where this is the first
        that it sees of the variable. What was assigned since is a value as any other."""
        first = self._watched_variables.get(variable)
        if first is None:
            return None
        if first.stored_value is not held:
            return array
        if self._identity_key(first.outer_array) == self._identity_key(array):
            return first.tape_array
        if not self.is_tracked(array):  # others began to read it, or ended, meanwhile
            self.record(TapeEntry((first.tape_array,), (array,), identity_vjp))
        return array

    def watch_variable(self, variable: Resource, held: StoredValue, before: TapeArray, array: TapeArray) -> None:
        """Watch a variable that holds this, for which others have `before`, as an array of its own."""
        self._watched_variables[variable] = WatchedVariable(held, before, array)
        self._tracked.setdefault(self._identity_key(array), array)

    def record_assignment(self, variable: Resource) -> None:
        """Take it that a variable does not hold any more what it held when it was first seen."""
        if variable in self._watched_variables:
            self._watched_variables[variable] = self._watched_variables[variable]._replace(stored_value=None)

    def _check_region(self) -> None:
        """Raises Usage elsewhere than where the tape began: there it has heard nothing, or nothing that stays."""
        if current_region() is self.region:
            return
        said = "this tape records another function, branch or loop than the one that is traced here"
        if self.region is None:
            said = "this tape records what runs eagerly, and here a function is traced"
        hint = "begin a tape where its gradient is wanted, and ask it there"
        raise Usage(said, where=user_location(), hint=hint)

    @property
    def _is_recording(self) -> bool:
        return not self.is_paused and any(each is self for each in TAPE_STACK.get())

    def _activate(self) -> None:
        TAPE_STACK.set((*TAPE_STACK.get(), self))

    def _deactivate(self) -> None:
        TAPE_STACK.set(tuple(each for each in TAPE_STACK.get() if each is not self))

    @staticmethod
    def _identity_key(value: Any) -> Any:
        """What a value is known by: a symbolic one by its name in its function, since that may be traced again."""
        if type(value) is not Symbol:
            return id(value)
        symbolic = value._tagloom_value
        return id(symbolic.region.specialization), symbolic.name

    def _accumulate(self, known: Any, more: Any) -> Any:
        """Two contributions to one adjoint."""
        return (
            add_rows(OpDispatcher(), known, more)
            if isinstance(known, Rows)
            else ArrayOperators.apply("add", known, more)
        )

    def _seed_adjoints(self, target: Any, adjoints: Any) -> tuple[list[TapeArray], list[Any]]:
        """The floats that are differentiated, and their adjoints."""
        results, structure = flatten(target)
        for name, leaf in zip(leaf_names(structure, "target"), results, strict=True):
            _check_not_weak(leaf)
            if not isinstance(leaf, ConcreteArray | Symbol):
                hint = "float(x), int(x) and functions of NumPy leave what tapes record"
                required = "an array of tagloom's"
                raise Usage(
                    f"{name} was not recorded", where=user_location(), required=required, got=repr(leaf)[:80], hint=hint
                )
        floats = [leaf for leaf in results if is_float_array(leaf)]
        if adjoints is None:
            if len(results) != 1 or not floats or floats[0].shape != ():
                raise Invalid(
                    "the gradient of something else than one float",
                    rule="D3",
                    where=user_location(),
                    required="float64 or float32, of no axes",
                    got=", ".join(str(leaf._type) for leaf in results),
                    hint="give `adjoints`, nested as the target, as in tl.ones_like(y)",
                )
            return floats, [ConcreteArray(literal(1.0, Type(floats[0].dtype)))]
        pairs = zip(flatten_like(structure, adjoints, "an adjoint"), results, strict=True)
        return floats, [coerce_adjoint(leaf, result) for leaf, result in pairs if is_float_array(result)]

    def _check_tracked(self, names: Sequence[str], sources: Sequence[Any]) -> None:
        for name, leaf in zip(names, sources, strict=True):
            if not isinstance(leaf, ConcreteArray | Symbol) or not self.is_tracked(leaf):
                hint = "tape.watch(x) comes first, and what is used and asked about is that very x"
                if isinstance(leaf, list):
                    hint = "a list is an array; write a tuple of several"
                raise Usage(f"the tape does not know {name}", where=user_location(), got=repr(leaf)[:80], hint=hint)

    def _backpropagate(
        self,
        records: Sequence[AnyTapeEntry],
        results: Iterable[TapeArray],
        given: Iterable[Any],
        wanted: Sequence[TapeArray],
        tables: set[Any],
    ) -> dict[Any, Any]:
        """The adjoints of what is wanted, by identity: from the last step to the first, each one's last use first."""
        sources = {self._identity_key(leaf) for leaf in wanted}
        concerned = set(sources)
        for record in records:
            if any(self._identity_key(operand) in concerned for operand in record.operands):
                concerned.update(map(self._identity_key, record.results))
                if record.vjp is identity_vjp and self._identity_key(record.operands[0]) in tables:
                    tables.update(map(self._identity_key, record.results))
        found: dict[Any, Any] = {}

        def contribute(value: TapeArray, adjoint: Any) -> None:
            key = self._identity_key(value)
            if adjoint is not None and key in concerned:
                if (key in tables) is not isinstance(adjoint, Rows):
                    raise row_use_error("a source", "what was recorded", user_location())
                found[key] = self._accumulate(found[key], adjoint) if key in found else adjoint

        for result, adjoint in zip(results, given, strict=True):
            contribute(result, adjoint)
        for record in reversed(records):
            take: Callable[..., Any] = (
                found.get if sources.intersection(map(self._identity_key, record.results)) else found.pop
            )
            adjoints = [take(self._identity_key(result), None) for result in record.results]
            if record.vjp is not identity_vjp:
                adjoints = [_densify(*pair) for pair in zip(adjoints, record.results, strict=True)]
            places = [at for at, each in enumerate(record.operands) if self._requires_adjoint(each, concerned)]
            if any(adjoint is not None for adjoint in adjoints) and places:
                by_rows = [at for at in places if self._identity_key(record.operands[at]) in tables]
                for at, made in zip(places, record.vjp(adjoints, places, by_rows), strict=True):
                    contribute(record.operands[at], made)
        return found

    def _requires_adjoint(self, operand: TapeArray, concerned: set[Any]) -> bool:
        return is_float_array(operand) and self._identity_key(operand) in concerned


def _check_not_weak(value: Any) -> None:
    """Raises NoTypeYet where all that is known of a value is that it is a number."""
    if weak_value_of(value) is not None:
        raise NoTypeYet


def _densify(adjoint: Any, of: TapeArray) -> Any:
    """An adjoint that goes on: of a table by rows, an array of its shape."""
    return to_dense(OpDispatcher(), adjoint, of) if isinstance(adjoint, Rows) else adjoint


def coerce_adjoint(adjoint: Any, of: TapeArray) -> Any:
    """An adjoint that was given, as an array of the type of its result; raises Invalid (D3) where it is of another."""
    made = adjoint
    if not isinstance(adjoint, ConcreteArray | Symbol):
        made = ConcreteArray(literal(adjoint, Type(of.dtype) if type(adjoint) in (int, float) else None))
    found = to_operand(made).type
    if not of._type.admits(found):
        said = "an adjoint has another type than its result"
        raise Invalid(said, rule="D3", where=user_location(), required=of._type, got=found)
    return made
