"""The tape: gradients of what has just run, or been traced, by what was recorded of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

from ...autodiff.rows import Rows, dense, joined, no_rows, otherwise
from ...errors import Invalid, Usage, counted
from ...types import Type
from ...value import literal
from ..trace.captures import Resource, read
from ..trace.operators import Operators
from ..trace.pytree import flatten, leaf_names, leaves_as, unflatten
from ..trace.source_location import here
from ..trace.symbol import Symbol
from ..trace.trace import NoTypeYet, current, to_operand, weakness
from .array import Concrete
from .recording import RECORDERS, Array, AtOnce, Held, Noted, OpRecord, Record, Step, filled_adjoint, is_float_array
from .variable import Variable
from .variable_reads import handed_on, held_here, see_apart


class Seen(NamedTuple):
    """What a tape has seen of a variable first."""

    held: Held | None
    """What the variable held; None where it has been assigned since."""
    before: Array
    """What others had for that."""
    array: Array
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
        self._records: list[Step | Noted] = []
        self._known: dict[Any, Array] = {}
        """What is watched, or depends on it, by identity; kept, so that no other object gets its place."""
        self._read: dict[Resource, Seen] = {}
        """What variables were when they were first read."""
        self._spent = False
        self.is_paused = False
        self.region = current()

    def __repr__(self) -> str:
        return f"<tape of {counted(len(self._records), 'step')}{', recording' * self._is_recording}>"

    def __enter__(self) -> Tape:
        if self._is_recording:
            raise Usage("this tape is recording already", where=here())
        if self._spent or self.region is not current():
            self.reset()
        self.region = current()
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def watch(self, values: Any) -> None:
        """Record what depends on these from now on: arrays of floats, nested at will.

        Raises Usage for anything else: Python's numbers have no identity to be known by.
        """
        self._check_here()
        kept, structure = flatten(values, keep=True)
        leaves = list(map(read, kept))
        for name, leaf in zip(leaf_names(structure, "value"), leaves, strict=True):
            _check_known_type(leaf)
            if not is_float_array(leaf):
                hint = "x = tl.asarray(3.0), and use that x"
                if isinstance(leaf, Concrete | Symbol):
                    hint = "integers and bools have no adjoint; convert with tl.astype(x, tl.float64)"
                elif isinstance(leaf, list | tuple):
                    hint = "a list is an array; write a tuple of several"
                raise Usage(
                    f"a tape watches arrays of floats, by their identity, and {name} is none",
                    where=here(),
                    required="an array that tl.asarray has made, or an op",
                    got=repr(leaf)[:80],
                    hint=hint,
                )
        for source, leaf in zip(kept, leaves, strict=True):
            if self.region is not None:
                self.region.instance.trace.made.pop(id(leaf), None)  # what is watched is an input, and no literal
            if isinstance(source, Variable) and source._resource not in self._read:
                self._see_first(source)
            else:
                self._known[self._key(leaf)] = leaf

    def gradient(self, target: Any, sources: Any, adjoints: Any = None, *, rows: Any = ()) -> Any:
        """The adjoints of `sources`, nested as they are, by that of `target`: 1 where it is one number, else given.

        `target` may nest, and `adjoints` nest as it does. A source that the target does not depend on has zeros.
        Sources that `rows` names, too, are tables of which only rows were taken: the adjoint of one is `tl.Rows`.

        Raises Usage for a source that the tape does not know, since it was not watched or is another object, and for a
        target that is no array of tagloom's; Invalid (D3) where an adjoint does not fit, (D1) for an op without a rule,
        (D6) where more was taken of a table than rows.
        """
        self._check_here()
        if self._spent:
            hint = "tl.Tape(persistent=True) gives as many as are asked for"
            raise Usage("this tape has given its gradient, and has forgotten all", where=here(), hint=hint)
        results, given = self._given(target, adjoints)
        given_sources, structure = flatten(sources, keep=True)
        wanted = [self._held(leaf) for leaf in given_sources]
        self._check_known(leaf_names(structure, "source"), wanted)
        tables = self._tables(rows, wanted)
        records = [each if isinstance(each, Step) else OpRecord(*each) for each in self._records]
        if not self.persistent:
            self._end()
            self.reset()
            self._spent = True
        found = self._pulled_back(records, results, given, wanted, tables)
        return unflatten(structure, [self._filled(found, leaf, tables) for leaf in wanted])

    def _tables(self, rows: Any, sources: Sequence[Any]) -> set[Any]:
        """What the sources are known by whose adjoints are by rows."""
        leaves, structure = flatten(rows, keep=True)
        tables, known = list(map(self._held, leaves)), set(map(self._key, sources))
        for name, table in zip(leaf_names(structure, "rows"), tables, strict=True):
            if self._key(table) not in known:
                raise Usage(f"{name} is no source", where=here(), required="some of the sources", got=repr(table)[:80])
        return set(map(self._key, tables))

    def _filled(self, found: dict[Any, Any], source: Array, tables: Collection[Any]) -> Any:
        """The adjoint of a source, where nothing has contributed to it, too."""
        adjoint = found.get(self._key(source))
        if self._key(source) in tables:
            return adjoint or no_rows(AtOnce(), source)
        return filled_adjoint(adjoint, source)

    def _held(self, source: Any) -> Any:
        """What a variable held when it was first read under this tape; any other source as it is."""
        if not isinstance(source, Variable):
            return source
        if source.trainable and source._resource not in self._read:
            self._see_first(source)
        found = self._read.get(source._resource)
        return source if found is None else found.array

    def _see_first(self, variable: Variable) -> None:
        """Watch a variable that nobody has told it of."""
        resource = variable._resource
        held, array = held_here(resource), variable.value
        if resource not in self._read:
            see_apart(self, resource, held, array)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Under `with tape.stop_recording()` this tape takes nothing down."""
        if not self._is_recording:
            raise Usage("this tape is not recording", where=here())
        self.is_paused = True
        try:
            yield
        finally:
            self.is_paused = False

    def reset(self) -> None:
        """Forget all that was recorded and watched, as a new tape."""
        self._records, self._known, self._read, self._spent = [], {}, {}, False

    def record(self, step: Step) -> None:
        """Take a step down, if an operand is watched or depends on what is: `recording` calls this."""
        known, key = self._known, self._key
        for operand in step.operands:
            if key(operand) in known:
                break
        else:
            return
        for result in step.results:
            known[key(result)] = result
        self._records.append(step)

    def note(self, step: Noted) -> None:
        """The same of an op that ran eagerly, written out: 0.4 us less."""
        known = self._known
        for operand in step[0]:
            if id(operand) in known:
                result = step[1]
                known[id(result)] = result
                self._records.append(step)
                return

    def knows(self, value: Array) -> bool:
        """Whether a value is watched, or depends on what is."""
        return self._key(value) in self._known

    def watches(self, variable: Resource) -> bool:
        """Whether a variable is watched, or is to be as soon as it is read."""
        return variable.trainable or variable in self._read

    def seen(self, variable: Resource, held: Held, array: Array) -> Array | None:
        """Which array a variable is to it that holds this, others having `array` for it; None where this is the first
        that it sees of the variable. What was assigned since is a value as any other."""
        first = self._read.get(variable)
        if first is None:
            return None
        if first.held is not held:
            return array
        if self._key(first.before) == self._key(array):
            return first.array
        if not self.knows(array):  # others began to read it, or ended, meanwhile
            self.record(Record((first.array,), (array,), handed_on))
        return array

    def see(self, variable: Resource, held: Held, before: Array, array: Array) -> None:
        """Watch a variable that holds this, for which others have `before`, as an array of its own."""
        self._read[variable] = Seen(held, before, array)
        self._known.setdefault(self._key(array), array)

    def assigned(self, variable: Resource) -> None:
        """Take it that a variable does not hold any more what it held when it was first seen."""
        if variable in self._read:
            self._read[variable] = self._read[variable]._replace(held=None)

    def _check_here(self) -> None:
        """Raises Usage elsewhere than where the tape began: there it has heard nothing, or nothing that stays."""
        if current() is self.region:
            return
        said = "this tape records another function, branch or loop than the one that is traced here"
        if self.region is None:
            said = "this tape records what runs eagerly, and here a function is traced"
        hint = "begin a tape where its gradient is wanted, and ask it there"
        raise Usage(said, where=here(), hint=hint)

    @property
    def _is_recording(self) -> bool:
        return not self.is_paused and any(each is self for each in RECORDERS.get())

    def _begin(self) -> None:
        RECORDERS.set((*RECORDERS.get(), self))

    def _end(self) -> None:
        RECORDERS.set(tuple(each for each in RECORDERS.get() if each is not self))

    @staticmethod
    def _key(value: Any) -> Any:
        """What a value is known by: a symbolic one by its name in its function, since that may be traced again."""
        if type(value) is not Symbol:
            return id(value)
        symbolic = value._tagloom_value
        return id(symbolic.region.instance), symbolic.name

    def _add(self, known: Any, more: Any) -> Any:
        """Two contributions to one adjoint."""
        return joined(AtOnce(), known, more) if isinstance(known, Rows) else Operators.apply("add", known, more)

    def _given(self, target: Any, adjoints: Any) -> tuple[list[Array], list[Any]]:
        """The floats that are differentiated, and their adjoints."""
        results, structure = flatten(target)
        for name, leaf in zip(leaf_names(structure, "target"), results, strict=True):
            _check_known_type(leaf)
            if not isinstance(leaf, Concrete | Symbol):
                hint = "float(x), int(x) and functions of NumPy leave what tapes record"
                required = "an array of tagloom's"
                raise Usage(f"{name} was not recorded", where=here(), required=required, got=repr(leaf)[:80], hint=hint)
        floats = [leaf for leaf in results if is_float_array(leaf)]
        if adjoints is None:
            if len(results) != 1 or not floats or floats[0].shape != ():
                raise Invalid(
                    "the gradient of something else than one float",
                    rule="D3",
                    where=here(),
                    required="float64 or float32, of no axes",
                    got=", ".join(str(leaf._type) for leaf in results),
                    hint="give `adjoints`, nested as the target, as in tl.ones_like(y)",
                )
            return floats, [Concrete(literal(1.0, Type(floats[0].dtype)))]
        pairs = zip(leaves_as(structure, adjoints, "an adjoint"), results, strict=True)
        return floats, [fitting_adjoint(leaf, result) for leaf, result in pairs if is_float_array(result)]

    def _check_known(self, names: Sequence[str], sources: Sequence[Any]) -> None:
        for name, leaf in zip(names, sources, strict=True):
            if not isinstance(leaf, Concrete | Symbol) or not self.knows(leaf):
                hint = "tape.watch(x) comes first, and what is used and asked about is that very x"
                if isinstance(leaf, list):
                    hint = "a list is an array; write a tuple of several"
                raise Usage(f"the tape does not know {name}", where=here(), got=repr(leaf)[:80], hint=hint)

    def _pulled_back(
        self,
        records: Sequence[Step],
        results: Iterable[Array],
        given: Iterable[Any],
        wanted: Sequence[Array],
        tables: set[Any],
    ) -> dict[Any, Any]:
        """The adjoints of what is wanted, by identity: from the last step to the first, each one's last use first."""
        sources = {self._key(leaf) for leaf in wanted}
        concerned = set(sources)
        for record in records:
            if any(self._key(operand) in concerned for operand in record.operands):
                concerned.update(map(self._key, record.results))
                if record.pull is handed_on and self._key(record.operands[0]) in tables:
                    tables.update(map(self._key, record.results))
        found: dict[Any, Any] = {}

        def contribute(value: Array, adjoint: Any) -> None:
            key = self._key(value)
            if adjoint is not None and key in concerned:
                if (key in tables) is not isinstance(adjoint, Rows):
                    raise otherwise("a source", "what was recorded", here())
                found[key] = self._add(found[key], adjoint) if key in found else adjoint

        for result, adjoint in zip(results, given, strict=True):
            contribute(result, adjoint)
        for record in reversed(records):
            take: Callable[..., Any] = found.get if sources.intersection(map(self._key, record.results)) else found.pop
            adjoints = [take(self._key(result), None) for result in record.results]
            if record.pull is not handed_on:
                adjoints = [_whole(*pair) for pair in zip(adjoints, record.results, strict=True)]
            places = [at for at, each in enumerate(record.operands) if self._is_to_have(each, concerned)]
            if any(adjoint is not None for adjoint in adjoints) and places:
                by_rows = [at for at in places if self._key(record.operands[at]) in tables]
                for at, made in zip(places, record.pull(adjoints, places, by_rows), strict=True):
                    contribute(record.operands[at], made)
        return found

    def _is_to_have(self, operand: Array, concerned: set[Any]) -> bool:
        return is_float_array(operand) and self._key(operand) in concerned


def _check_known_type(value: Any) -> None:
    """Raises NoTypeYet where all that is known of a value is that it is a number."""
    if weakness(value) is not None:
        raise NoTypeYet


def _whole(adjoint: Any, of: Array) -> Any:
    """An adjoint that goes on: of a table by rows, an array of its shape."""
    return dense(AtOnce(), adjoint, of) if isinstance(adjoint, Rows) else adjoint


def fitting_adjoint(adjoint: Any, of: Array) -> Any:
    """An adjoint that was given, as an array of the type of its result; raises Invalid (D3) where it is of another."""
    made = adjoint
    if not isinstance(adjoint, Concrete | Symbol):
        made = Concrete(literal(adjoint, Type(of.dtype) if type(adjoint) in (int, float) else None))
    found = to_operand(made).type
    if not of._type.admits(found):
        said = "an adjoint has another type than its result"
        raise Invalid(said, rule="D3", where=here(), required=of._type, got=found)
    return made
