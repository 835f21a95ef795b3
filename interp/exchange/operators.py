"""Operators for other systems: functions that converted Python calls if its control flow is not staged to a tagloom
program.

The converted code of a function is the same for all systems; it closes over the operators that it calls
(docs/autograph-internals.md). `Operators` has the constructs that mean the same for every system, such as `break`.
`BackendOperators` merges the changes of the branches of an `if`, and finds the variables that a loop carries. A
`StagingBackend` adds the rest: a branch and a loop over lists of values, and a call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import CellType, FunctionType, GeneratorType
from typing import Any, NoReturn, Protocol

from ...core.errors import Invalid
from ...core.frontend.source.calls import record_changes
from ...core.frontend.source.convert import convert, is_converted
from ...core.frontend.source.operators import Operators, Thunk
from ...core.frontend.source.ranges import CountedRange
from ...core.frontend.source.state import (
    CellPlace,
    MaybeUnassigned,
    Place,
    Undefined,
    Variables,
    is_unassigned,
    open_journal,
    record_write,
    register_created,
)
from ...core.frontend.source.state_errors import (
    changed_constant,
    changed_structure,
    different_structures,
    unassigned_variable,
)
from ...core.frontend.source.texts import field
from ...core.frontend.source.trees import Tree, is_same, split
from ...core.frontend.source.user_code import is_convertible
from ...core.frontend.trace.control_flow import function_location
from ...core.frontend.trace.source_location import user_location
from ...core.program.program import Location

Leaves = list[Any]
"""The values of a piece of Python state, without its structure."""
_RESULT = ("result",)


class StagingBackend(Protocol):
    """A system to which the control flow of converted Python is staged."""

    name: str
    """The system, in messages."""

    def is_symbolic(self, value: Any) -> bool:
        """Whether a value is known only when the staged program runs."""

    def truth(self, value: Any) -> Any:
        """The truth of a symbolic value, as a predicate."""

    def negate(self, value: Any) -> Any:
        """`not value`, of a symbolic value."""

    def cast(self, value: Any, kind: type) -> Any:
        """`int(value)`, `float(value)` or `bool(value)`, of a symbolic value."""

    def round(self, value: Any) -> Any:
        """`round(value)`, of a symbolic value."""

    def python_class(self, value: Any) -> type:
        """The class that a symbolic value has in Python."""

    def zero_like(self, leaf: Any) -> Any:
        """A value of the type of a leaf, which is never read."""

    def length(self, array: Any) -> Any:
        """The number of items of a symbolic array."""

    def branch(self, predicate: Any, then: Callable[[], Leaves], otherwise: Callable[[], Leaves]) -> Leaves:
        """Stage a conditional: the leaves of the branch that is taken."""

    def loop(self, test: Callable[[Leaves], Any], body: Callable[[Leaves], Leaves], start: Leaves) -> Leaves:
        """Stage a loop: its leaves after the last iteration."""

    def assertion(self, predicate: Any, message: tuple[Any, ...]) -> None:
        """Stage an assertion."""

    def call(
        self, function: FunctionType, converted: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Call a Python function of the user, given its converted form, too."""

    def call_other(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function that has no Python code of the user."""

    def discard(self, compute: Callable[[], Any]) -> Any:
        """The result of `compute`; if it is symbolic, the staged code is dropped."""


class Retrace(BaseException):
    """Raised if a branch or loop changes more than was expected: it is staged again."""


class BackendOperators(Operators):
    """The operators of converted Python for a backend; `cell` is the cell through which converted code reaches them."""

    def __init__(self, backend: StagingBackend) -> None:
        super().__init__()
        self.backend = backend
        self.cell = CellType(self)
        self.builtins |= {
            range: self._range,
            str: functools.partial(self._text, str),
            repr: functools.partial(self._text, repr),
            print: self._print,
        }

    def convert(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A Python function with these operators."""

        @functools.wraps(function)
        def run(*arguments: Any, **keywords: Any) -> Any:
            return self.call(function, *arguments, **keywords)

        return run

    def is_symbolic(self, value: Any) -> bool:
        return self.backend.is_symbolic(value)

    def truth(self, value: Any) -> Any:
        return self.backend.truth(value)

    def negate(self, value: Any) -> Any:
        return self.backend.negate(value)

    def compute_test(self, test: Thunk) -> tuple[Any, bool]:
        value = self.backend.discard(test)
        return value, self.backend.is_symbolic(value)

    def in_(self, item: Any, container: Any) -> Any:
        """`item in container`; refused for a container that is symbolic."""
        if self.backend.is_symbolic(container):
            self._refuse("`in` a symbolic value", "write the comparisons")
        return super().in_(item, container)

    def for_stmt(self, iterable: Any, target: Callable[[Any], Any], *loop: Any, **options: Any) -> Any:
        """`for`; also over a symbolic array, by its positions."""
        if not self.backend.is_symbolic(iterable):
            return super().for_stmt(iterable, target, *loop, **options)
        positions = self._range(self.backend.length(iterable))
        return super().for_stmt(positions, lambda position: target(iterable[position]), *loop, **options)

    # Texts

    def join_text(self, *texts: str) -> str:
        return "".join(texts)

    def field(self, value: Any, conversion: str, specification: str = "") -> Any:
        if self.backend.is_symbolic(value):
            self._refuse("a text of a symbolic value", "leave the value out of the text")
        return field(value, conversion, specification)

    # Calls

    def call_function(self, function: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        converted = convert(function, self.cell) if is_convertible(function) else function
        if not is_converted(converted):
            return self.call_opaque(function, arguments, keywords)
        result = self.backend.call(function, converted, arguments, keywords)
        return register_created(result) if type(result) is GeneratorType else result

    def call_opaque(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        python = getattr(function, "_python", None)
        if type(python) is FunctionType:  # of tl.function
            return self.call(python, *arguments, **keywords)
        candidates = [getattr(function, "__self__", None), *arguments, *keywords.values()]
        return record_changes(candidates, lambda: self.backend.call_other(function, arguments, keywords))

    def cast_symbolic(self, value: Any, kind: type) -> Any:
        return self.backend.cast(value, kind)

    def round_symbolic(self, value: Any, *digits: Any) -> Any:
        if digits not in ((), (None,)):
            self._refuse("rounding to digits", "multiply before, and divide after")
        return self.backend.round(value)

    def python_class(self, value: Any) -> type:
        return self.backend.python_class(value)

    def _range(self, *bounds: Any) -> Any:
        if not any(map(self.backend.is_symbolic, bounds)):
            return range(*bounds)
        start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        if self.backend.is_symbolic(step):
            self._refuse("a range with a symbolic step", "write a while loop")
        return CountedRange(start, stop, step)

    def count_items(self, value: Any) -> Any:
        return self.backend.length(value) if self.backend.is_symbolic(value) else len(value)

    def _text(self, kind: Any, *arguments: Any) -> Any:
        if any(map(self.backend.is_symbolic, arguments)):
            self._refuse("a text of a symbolic value", "leave the value out of the text")
        return kind(*arguments)

    def _print(self, *values: Any, **keywords: Any) -> None:
        if any(map(self.backend.is_symbolic, values)):
            self._refuse("print of a symbolic value", "return the value, and print the result")
        print(*values, **keywords)

    def _refuse(self, subject: str, hint: str) -> NoReturn:
        refuse(self.backend, subject, hint)

    # Staging

    def stage_branch(self, test: Any, then: Thunk, otherwise: Thunk, variables: Variables) -> Any:
        predicate = self.backend.truth(test)
        merger = _BranchState(self.backend, variables)
        while True:
            try:
                leaves = self.backend.branch(
                    predicate, lambda: merger.run_branch(then), lambda: merger.run_branch(otherwise)
                )
            except Retrace:
                merger.restart()
                continue
            return merger.finish(leaves)

    def stage_loop(
        self,
        test: Thunk,
        body: Thunk,
        variables: Variables,
        live_places: Sequence[Place] = (),
        parallel_iterations: int | None = None,
    ) -> None:
        state = _LoopContents(self.backend, variables, test, body)
        for place in (*variables.live.values(), *live_places):
            state.carry(place, place.read())
        while True:
            try:
                leaves = self.backend.loop(state.run_test, state.run_body, state.leaves())
                break
            except Retrace:
                continue
            finally:
                variables.write(state.start)
        state.finish(leaves)

    def stage_assertion(self, predicate: Any, error: AssertionError) -> None:
        self.backend.assertion(predicate, error.args)


def refuse(backend: StagingBackend, subject: str, hint: str, got: object = None) -> NoReturn:
    """Raise the error for a feature that a backend cannot stage."""
    raise Invalid(f"{subject} cannot be staged to {backend.name}", rule="F4", where=user_location(), got=got, hint=hint)


class _BranchState:
    """The results and changes of the branches of a conditional, flattened, for a choice by the backend."""

    def __init__(self, backend: StagingBackend, variables: Variables) -> None:
        self.backend, self.variables = backend, variables
        self.start = variables.read()
        self.own_keys = {place.key for place in variables.places.values()}
        self.places: dict[tuple[Any, ...], Place] = {place.key: place for place in variables.live.values()}
        self.zeros: dict[tuple[Any, ...], Tree] = {}
        """For each place that a branch leaves unassigned: the substitute for its content there."""
        self.restart()

    def restart(self) -> None:
        """Forget the branches that were staged."""
        self.trees: dict[tuple[Any, ...], Tree] = {}
        self.missing_keys: set[tuple[Any, ...]] = set()
        self.reasons: dict[tuple[Any, ...], str] = {}
        self.locations: dict[tuple[Any, ...], Location | None] = {}

    def run_branch(self, function: Thunk) -> Leaves:
        """The leaves of the result and of all places after a branch, whose changes are undone."""
        with open_journal() as journal:
            try:
                result = function()
                known_keys = self.own_keys | self.places.keys()
                new_places = {key: place for key, (place, _) in journal.originals.items() if key not in known_keys}
                if new_places:
                    self.places |= new_places
                    raise Retrace
                contents = {_RESULT: result} | {key: place.read() for key, place in self.places.items()}
            finally:
                journal.undo()
                self.variables.write(self.start)
        where = function_location(function)
        return [leaf for key, content in contents.items() for leaf in self._leaves(key, content, where)]

    def _leaves(self, key: tuple[Any, ...], content: Any, where: Location | None) -> Leaves:
        if isinstance(content, MaybeUnassigned):
            self.reasons[key], content = content.reason, content.value
        if is_unassigned(content):
            reason = content.reason if isinstance(content, Undefined) else f"the branch at {where} does not assign it"
            self.reasons.setdefault(key, reason)
            tree = self.zeros.get(key) or (self._zeros(self.trees[key]) if key in self.trees else None)
            if tree is None:
                self.missing_keys.add(key)
                return []
        else:
            tree = split(content)
            if key in self.missing_keys:
                self.zeros[key] = self._zeros(tree)
                raise Retrace
        first = self.trees.setdefault(key, tree)
        self.locations.setdefault(key, where)
        if first.treedef != tree.treedef:
            label = self.places[key].label if key in self.places else "the result"
            raise different_structures(label, first.treedef, tree.treedef, self.locations[key], where)
        return tree.leaves

    def _zeros(self, tree: Tree) -> Tree:
        return Tree([self.backend.zero_like(leaf) for leaf in tree.leaves], tree.treedef)

    def finish(self, leaves: Leaves) -> Any:
        """Give all places their merged contents; returns the merged result."""
        remaining = iter(leaves)
        result: Any = None
        for key in (_RESULT, *self.places):
            place = self.places.get(key)
            if key in self.trees:
                tree = self.trees[key]
                content = tree.rebuild([next(remaining) for _ in tree.leaves])
                if key in self.reasons and place is not None:
                    content = MaybeUnassigned(place.label, self.reasons[key], content)
            elif place is not None:
                content = Undefined(place.label, self.reasons[key])
            else:
                content = None
            if place is None:
                result = content
                continue
            if key not in self.own_keys:
                record_write(place)
            place.write(content)
        return result


class _LoopContents:
    """The values that the test and body of a loop read and change, flattened, as loop variables of the backend."""

    def __init__(self, backend: StagingBackend, variables: Variables, test: Thunk, body: Thunk) -> None:
        self.backend, self.variables, self.test, self.body = backend, variables, test, body
        self.start = variables.read()
        self.loop_variables: dict[tuple[Any, ...], tuple[Place, Tree]] = {}
        self.constants: dict[tuple[Any, ...], tuple[Place, Any]] = {}
        """Places whose contents are not values of the backend, with these contents."""
        self.location = user_location()

    def carry(self, place: Place, content: Any) -> None:
        """Make a place a loop variable, if its content is a value."""
        content = content.value if isinstance(content, MaybeUnassigned) else content
        tree = None if is_unassigned(content) else split(content)
        if tree is not None and tree.leaves:
            self.loop_variables[place.key] = place, tree
        else:
            self.constants[place.key] = place, content

    def leaves(self) -> Leaves:
        """The loop variables before the first iteration."""
        return [leaf for _, tree in self.loop_variables.values() for leaf in tree.leaves]

    def _enter(self, leaves: Leaves) -> None:
        self.variables.write(self.start)
        remaining = iter(leaves)
        for place, tree in self.loop_variables.values():
            record_write(place)
            place.write(self._content(place, tree.rebuild([next(remaining) for _ in tree.leaves])))

    def _content(self, place: Place, value: Any) -> Any:
        name = place.label
        if self.variables.places.get(name) is not place or not is_unassigned(self.start[name]):
            return value
        return MaybeUnassigned(name, f"the loop at {self.location} assigns it, and may have no iterations", value)

    def run_test(self, leaves: Leaves) -> Any:
        """The predicate, for loop variables with these leaves."""
        with open_journal() as journal:
            try:
                self._enter(leaves)
                test = self.test()
                self._grow(journal.originals)
            finally:
                journal.undo()
                self.variables.write(self.start)
        return self.backend.truth(test) if self.backend.is_symbolic(test) else bool(test)

    def run_body(self, leaves: Leaves) -> Leaves:
        """The loop variables after an iteration."""
        with open_journal() as journal:
            try:
                self._enter(leaves)
                self.body()
                self._grow(journal.originals)
                for place, content in self.constants.values():
                    self._check_constant(place, content)
                return [leaf for place, tree in self.loop_variables.values() for leaf in self._next_leaves(place, tree)]
            finally:
                journal.undo()
                self.variables.write(self.start)

    def _grow(self, originals: dict[tuple[Any, ...], tuple[Place, Any]]) -> None:
        known_keys = (
            {place.key for place in self.variables.places.values()} | self.loop_variables.keys() | self.constants.keys()
        )
        new_contents = [original for key, original in originals.items() if key not in known_keys]
        for place, content in new_contents:
            self.carry(place, content)
        if new_contents:
            raise Retrace

    def _check_constant(self, place: Place, old_content: Any) -> None:
        content = place.read()
        if is_unassigned(content) and not isinstance(content, MaybeUnassigned):
            return
        if is_unassigned(old_content):
            content = content.value if isinstance(content, MaybeUnassigned) else content
            tree = split(content)
            if tree.leaves:  # assigned in the loop: a loop variable whose start value is never read
                zeros = [self.backend.zero_like(leaf) for leaf in tree.leaves]
                del self.constants[place.key]
                self.loop_variables[place.key] = place, Tree(zeros, tree.treedef)
                raise Retrace
            return
        if not is_same(content, old_content) and split(content) != split(old_content):
            raise changed_constant(place.label, old_content, content, self.location)

    def _next_leaves(self, place: Place, tree: Tree) -> Leaves:
        content = place.read()
        content = content.value if isinstance(content, MaybeUnassigned) else content
        if is_unassigned(content):
            reason = content.reason if isinstance(content, Undefined) else "the body deletes it"
            raise unassigned_variable(place.label, reason, self.location)
        leaves = split(content)
        if leaves.treedef != tree.treedef:
            raise changed_structure(place.label, tree.treedef, leaves.treedef, self.location)
        return leaves.leaves

    def finish(self, leaves: Leaves) -> None:
        """Give all loop variables their contents after the loop."""
        remaining = iter(leaves)
        for key, (place, content) in self.constants.items():
            if is_unassigned(content) and key not in self.loop_variables and isinstance(place, CellPlace):
                place.write(Undefined(place.label, f"the loop at {self.location} may have no iterations"))
        for place, tree in self.loop_variables.values():
            if not any(place is variable_place for variable_place in self.variables.places.values()):
                record_write(place)
            place.write(self._content(place, tree.rebuild([next(remaining) for _ in tree.leaves])))
