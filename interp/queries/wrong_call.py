"""The first mistake of a program, by comparison with a correct one: the innermost wrong call whose own calls are right.

The programs may be written differently. The search compares the results of functions: a call is right if the correct
program has the same result for the same function and arguments, in its run or in a run of that function alone. So the
search needs no node of one program to correspond to a node of the other. From the wrong call of the entry it descends
to a wrong call among its own calls, as long as there is one (Shapiro, Algorithmic Program Debugging, 1983). A function
that only the checked program has is part of its callers: its calls count as theirs.

A call without an end has no result, nor do its callers. In such a chain, the wrong call is the first that continues
where the correct program stops, or that repeats a call around it.

Within the wrong call, loops are compared by iterations and cells by their values, if both functions have the same
loops, variables and cells; and nodes, if both graphs have one shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeAlias

from ...core.graph.graph import Graph
from ...core.tag import Site, Tag
from ...core.types import OPAQUE_CLASSES, Handle
from ...core.value import Value, abbreviate, fingerprint
from ..outcome.deadlock import array_name
from .calls import CallTree, CarriedVariable, FunctionCall, LoopRun, walk_calls
from .difference import Difference, first_difference
from .index import EventIndex

CallKey: TypeAlias = tuple[object, ...]
RunCall: TypeAlias = Callable[[str, tuple[Value, ...]], CallTree | None]
"""Runs one function of the correct program on these arguments; None if that is not possible."""

LoopPath: TypeAlias = tuple[tuple[int, ...] | int, ...]
"""The place of a run of a loop in a call: the ordinal of each loop around it with its iteration, and its own."""

MAX_REFERENCE_EVENTS = 300_000
"""The most events, approximately, in runs of single functions of the correct program."""
MAX_ENDLESS_CALLS = 2_000
"""The most calls without a result that are searched."""
MAX_LISTED_CALLS = 4
"""The most calls and variables that a line of the answer lists."""


class LoopDifference(NamedTuple):
    """The first iteration in which a loop differs between the two programs, with a description of each side."""

    name: str
    iteration: int
    actual: str
    solution: str

    def __str__(self) -> str:
        return two_sides(f"{self.name}, iteration {self.iteration}", self.actual, self.solution)


class CellDifference(NamedTuple):
    """A cell that differs, by the name of its array in the source, and its value in each program."""

    cell: str
    actual: Value
    solution: Value

    def __str__(self) -> str:
        return two_sides(self.cell, abbreviate(self.actual), abbreviate(self.solution))


@dataclass(frozen=True, slots=True, eq=False)
class WrongCall:
    """The innermost wrong call whose own calls are right: the call, the corresponding call of the correct program, and
    where they differ inside."""

    call: FunctionCall
    correct_call: FunctionCall
    location: str | None
    has_helpers: bool
    """Whether it calls functions that the correct program does not have."""
    loop: LoopDifference | None = None
    cell: CellDifference | None = None
    node: Difference | None = None

    def __str__(self) -> str:
        name, where = describe_call(self.call), f" ({self.location})" if self.location else ""
        if not self.call.own_calls:
            head = f"{name} is wrong{where}"
        elif self.has_helpers:
            head = f"{name} is wrong, and every call that it shares with the solution is right{where}"
        elif all(own_call.is_finished for own_call in self.call.own_calls):
            head = f"{name} is wrong, and every call that it makes is right{where}"
        else:
            head = f"{name} is wrong{where}"
        lines = [head, f"  expected: {describe_results(self.correct_call)}", f"  got: {describe_results(self.call)}"]
        if self.call.own_calls or self.correct_call.own_calls:
            lines.append(two_sides("its calls", describe_own_calls(self.call), describe_own_calls(self.correct_call)))
        lines += [str(finding) for finding in (self.loop, self.cell) if finding is not None]
        if self.node is not None:
            lines += [f"  {line}" for line in self.node.describe("your program", "the solution").splitlines()]
        return "\n".join(lines)


def two_sides(head: str, actual: str, solution: str) -> str:
    """A headline, and below it a line for each program."""
    return f"  {head}\n    your program: {actual}\n    the solution: {solution}"


def describe_call(call: FunctionCall) -> str:
    """A call as text, with its arguments: `fib(3)`; adjoints stand behind a semicolon."""
    return f"{call.function}({'; '.join(', '.join(map(_describe_value, phase)) for phase in call.arguments)})"


def describe_results(call: FunctionCall) -> str:
    """The results of a call, or why it has none."""
    if not call.is_finished:
        return f"it traps: {call.trap.trap}" if call.trap is not None else "no result"
    return "; ".join(", ".join(map(_describe_value, phase)) for phase in call.results)


def describe_own_calls(call: FunctionCall) -> str:
    """The calls that a call makes, with their results."""
    calls = [
        f"{describe_call(own_call)} = {describe_results(own_call)}"
        if own_call.is_finished
        else f"{describe_call(own_call)}, no result"
        for own_call in call.own_calls[:MAX_LISTED_CALLS]
    ]
    rest = len(call.own_calls) - len(calls)
    return ", ".join([*calls, f"and {rest:,} more"] if rest else calls) or "none"


def _describe_value(value: Value | None) -> str:
    return "cells" if isinstance(value, Handle) else "-" if value is None else abbreviate(value)


class CorrectCalls:
    """The calls of the correct program, by function and arguments: those of its run, and those of runs of single
    functions, which are started when they are needed."""

    def __init__(self, tree: CallTree, is_close: Callable[[Value, Value], bool], run_call: RunCall) -> None:
        self.tree, self.is_close = tree, is_close
        self._run_call = run_call
        self._events_left = MAX_REFERENCE_EVENTS
        self._impure_functions = tree.impure_functions
        self._functions = {tree.graph.name, *(callee for _, callee in tree.graph.calls)}
        self._calls: dict[CallKey, FunctionCall | None] = {}
        self._trees: dict[CallKey, CallTree] = {}
        self._add_calls(tree)

    def _add_calls(self, tree: CallTree) -> None:
        for call in walk_calls(tree.root):
            key = self.key(call.function, call)
            if self._calls.get(key) is None:
                self._calls[key], self._trees[key] = call, tree

    def has_function(self, name: str, tree: CallTree) -> bool:
        """Whether the correct program calls a function of this name, with parameters of the same types. If they have
        the same names, too, these must have the same order."""
        if name == self.tree.graph.name:
            return True
        parameters, correct_parameters = tree.parameters(name), self.tree.parameters(name)
        return name in self._functions and (
            parameters == correct_parameters
            or (
                [type_ for _, type_ in parameters] == [type_ for _, type_ in correct_parameters]
                and dict(parameters).keys() != dict(correct_parameters).keys()
            )
        )

    def key(self, function: str, call: FunctionCall) -> CallKey:
        """The values on which the result of a call depends. Results of functions with effects or random draws depend on
        the tag."""
        phases = tuple(tuple(map(fingerprint, phase)) for phase in call.arguments)
        is_impure = function in self._impure_functions
        return (function, phases, tuple(tag.last_step for tag in call.tag.self_and_ancestors()) if is_impure else ())

    def find(self, function: str, call: FunctionCall) -> FunctionCall | None:
        """The call of the correct program with the same function and arguments; None if that is not known, as for calls
        that take cells, whose contents may differ."""
        if any(isinstance(value, Handle) for phase in call.arguments for value in phase):
            return None
        key = self.key(function, call)
        if key not in self._calls:
            tree = self._run_alone(function, call)
            self._calls[key] = None if tree is None else tree.root
            if tree is not None:
                self._trees[key] = tree
                self._add_calls(tree)
        return self._calls[key]

    def _run_alone(self, function: str, call: FunctionCall) -> CallTree | None:
        if len(call.arguments) > 1 or function in self._impure_functions or self._events_left < 0:
            return None
        tree = self._run_call(function, call.arguments[0])
        self._events_left -= 1_000 if tree is None else tree.event_count
        return tree

    def tree_of(self, function: str, call: FunctionCall) -> CallTree:
        """The run that `find` took the call of the correct program from."""
        return self._trees[self.key(function, call)]

    def has_difference(self, tree: CallTree, call: FunctionCall, function: str, correct: FunctionCall) -> bool:
        """Whether a call of a run is wrong, given the call of the correct program; a call without a correct
        result is never wrong."""
        if not correct.is_finished:
            return False
        if not call.is_finished or list(map(len, call.results)) != list(map(len, correct.results)):
            return True
        correct_tree = self.tree_of(function, call)
        for result, expected in zip(chain(*call.results), chain(*correct.results), strict=True):
            if isinstance(result, Handle) and isinstance(expected, Handle):
                stored = tree.stored_values(result, call.tag)
                values = correct_tree.stored_values(expected, correct.tag)
                if not all(self.is_close(stored[number], values[number]) for number in stored.keys() & values.keys()):
                    return True
            elif result is None or expected is None or not self.is_close(result, expected):
                return True
        return False


class WrongCallSearch:
    """The search for the first wrong call of a run. `is_endless` says that a limit ended the run, so that a call
    without a result need not be wrong."""

    def __init__(self, tree: CallTree, correct_calls: CorrectCalls, is_endless: bool) -> None:
        self.tree, self.correct_calls, self.is_endless = tree, correct_calls, is_endless
        self._visits_left = MAX_ENDLESS_CALLS
        self._has_function: dict[str, bool] = {}
        """Whether the correct program has a function of this name."""

    def name(self, call: FunctionCall) -> str:
        """The name of a call's function in the correct program: the entries correspond, whatever their names."""
        is_entry = call.function == self.tree.graph.name
        return self.correct_calls.tree.graph.name if is_entry else call.function

    def find_correct_call(self, call: FunctionCall) -> FunctionCall | None:
        """The corresponding call of the correct program, if it is known."""
        name = self.name(call)
        if name not in self._has_function:
            self._has_function[name] = self.correct_calls.has_function(name, self.tree)
        return self.correct_calls.find(name, call) if self._has_function[name] else None

    def is_wrong(self, call: FunctionCall, correct: FunctionCall) -> bool:
        """Whether a call is wrong, given the call of the correct program."""
        return self.correct_calls.has_difference(self.tree, call, self.name(call), correct)

    def comparable_calls(self, call: FunctionCall) -> Iterator[tuple[FunctionCall, FunctionCall]]:
        """The own calls that the correct program makes, too, each with its correct call. They include calls made by
        functions that only the checked program has."""
        stack = call.own_calls[::-1]
        while stack:
            entry = stack.pop()
            correct = self.find_correct_call(entry)
            if correct is not None:
                yield entry, correct
            else:
                stack.extend(entry.own_calls[::-1])

    def find(self) -> tuple[FunctionCall, FunctionCall] | None:
        """The wrong call, with its correct call; None if the call of the entry is right, or if it has no result
        and no call is known to be the reason."""
        root = self.tree.root
        correct = self.find_correct_call(root)
        if correct is None or not self.is_wrong(root, correct):
            return None
        wrong_call = self._descend(root, correct)
        if wrong_call is None and self.is_endless:
            return self._first_other_call(root, correct)
        return wrong_call

    def _descend(self, call: FunctionCall, correct: FunctionCall) -> tuple[FunctionCall, FunctionCall] | None:
        """Depth first over calls without results; of calls with results, the first wrong one suffices."""
        stack: list[Iterator[tuple[FunctionCall, FunctionCall]]] = [iter([(call, correct)])]
        keys: list[CallKey] = []
        while stack:
            pair = next(stack[-1], None)
            if pair is None:
                stack.pop()
                keys = keys[: len(stack) - 1]
                continue
            call, correct = pair
            own_calls = list(self.comparable_calls(call))
            wrong_call = next((p for p in own_calls if p[0].is_finished and self.is_wrong(*p)), None)
            if wrong_call is not None:
                stack, keys = [iter([wrong_call])], []
                continue
            unfinished = [pair for pair in own_calls if not pair[0].is_finished]
            keys = [*keys[: len(stack) - 1], self.correct_calls.key(self.name(call), call)]
            self._visits_left -= 1
            if self._is_culprit(call, correct, unfinished, keys):
                return call, correct
            if not self._visits_left:
                return None
            stack.append(pair for pair in unfinished if self.is_wrong(*pair))
        return None

    def _is_culprit(
        self,
        call: FunctionCall,
        correct: FunctionCall,
        unfinished: Sequence[tuple[FunctionCall, FunctionCall]],
        keys: Sequence[CallKey],
    ) -> bool:
        """Whether to report a wrong call that has no wrong finished calls."""
        if call.is_finished or call.trap is not None:
            return True
        if not self.is_endless:
            return not any(self.is_wrong(*pair) for pair in unfinished)
        if not unfinished:
            return any(is_longer(loop, correct) for loop in call.loops)
        return not correct.own_calls or any(
            self.correct_calls.key(self.name(own), own) in keys or not right.is_finished for own, right in unfinished
        )

    def _first_other_call(self, call: FunctionCall, correct: FunctionCall) -> tuple[FunctionCall, FunctionCall] | None:
        """The first call on a chain of calls without results that makes a call which the correct program does not make
        there."""
        for _ in range(MAX_ENDLESS_CALLS):
            correct_keys = {self.correct_calls.key(own_call.function, own_call) for own_call in correct.own_calls}
            unfinished = [pair for pair in self.comparable_calls(call) if not pair[0].is_finished]
            if any(self.correct_calls.key(self.name(own), own) not in correct_keys for own, _ in unfinished):
                return call, correct
            if not unfinished:
                return None
            call, correct = unfinished[0]
        return None


def is_longer(loop: LoopRun, correct: FunctionCall) -> bool:
    """Whether a loop made more iterations than any loop of the correct call."""
    return len(loop.iterations) > max((len(own_loop.iterations) for own_loop in correct.loops), default=0)


def find_wrong_call(
    index: EventIndex, reference: EventIndex, correct_calls: CorrectCalls, *, is_endless: bool
) -> WrongCall | None:
    """The innermost wrong call of a run whose own calls are right, with the differences inside; None if there is none,
    or if none is known."""
    tree = CallTree(index.graph, index.arguments[index.graph.hidden_count :], index.events)
    search = WrongCallSearch(tree, correct_calls, is_endless)
    wrong_pair = search.find()
    if wrong_pair is None:
        return None
    call, correct = wrong_pair
    correct_tree = correct_calls.tree_of(search.name(call), call)
    comparable_calls = [own for own, _ in search.comparable_calls(call)]
    return WrongCall(
        call,
        correct,
        tree.location(call.function),
        any(own_call not in comparable_calls for own_call in call.own_calls),
        loop_difference(tree, call, correct_tree, correct, correct_calls.is_close),
        cell_difference(tree, call, correct_tree, correct, correct_calls.is_close),
        node_difference(index, reference, call.tag) if correct_tree is correct_calls.tree else None,
    )


def node_difference(index: EventIndex, reference: EventIndex, tag: Tag) -> Difference | None:
    """The first firing that differs, if both graphs have one shape, and if it belongs to this call."""
    if not has_same_shape(index.graph, reference.graph):
        return None
    difference = first_difference(index, reference, by_number=True)
    if difference is None or difference.firing is None:
        return None
    calls = (ancestor for ancestor in difference.firing.tag.self_and_ancestors() if ancestor.site.kind == "call")
    return difference if next(calls) == tag else None


def has_same_shape(first: Graph, second: Graph) -> bool:
    """Whether two graphs have the same edges, so that nodes of the same number correspond."""
    return [_shape(first, number) for number in range(len(first.nodes))] == [
        _shape(second, number) for number in range(len(second.nodes))
    ]


def _shape(graph: Graph, number: int) -> object:
    node = graph.nodes[number]
    ports = tuple(port is None for port in node.ports)
    return ports, tuple(output.edges for output in node.outputs), node.site and node.site.kind, node.has_trigger


# Loops and cells


def loop_difference(
    tree: CallTree,
    call: FunctionCall,
    correct_tree: CallTree,
    correct: FunctionCall,
    is_close: Callable[[Value, Value], bool],
) -> LoopDifference | None:
    """The first iteration that differs in a loop of two calls; None if their functions do not have the same loops with
    the same variables. Differences inside an iteration come first."""
    ordinals, correct_ordinals = tree.loop_ordinals(call.function), correct_tree.loop_ordinals(correct.function)
    if sorted(ordinals.values()) != sorted(correct_ordinals.values()):
        return None
    runs = {_loop_path(loop, correct.tag, correct_ordinals): loop for loop in correct.loops}
    differences: list[tuple[LoopPath, LoopDifference]] = []
    for loop in call.loops:
        path = _loop_path(loop, call.tag, ordinals)
        correct_loop = runs.get(path)
        if correct_loop is None:
            continue
        pairs = _variable_pairs(tree, loop, correct_tree, correct_loop)
        difference = None if pairs is None else _first_iteration(tree, loop, correct_loop, pairs, is_close)
        if difference is not None:
            differences.append((path, difference))
    if not differences:
        return None
    # An outer loop differs from iteration k on because of iteration k - 1: a loop inside of that comes first.
    path, first = differences[0]
    for inner, difference in differences[1:]:
        if inner[: len(path)] == path and inner[len(path)] == first.iteration - 1:
            return difference
    return first


def _loop_path(loop: LoopRun, call: Tag, ordinals: Mapping[Site, tuple[int, ...]]) -> LoopPath:
    """The place of a run of a loop in a call: the ordinal of each loop around it with its iteration, and its own."""
    steps: list[tuple[int, ...] | int] = [ordinals[loop.site]]
    for ancestor in loop.parent.self_and_ancestors():
        if ancestor == call:
            break
        steps += [ancestor.iteration, ordinals[ancestor.site]]
    return tuple(reversed(steps))


def _variable_pairs(
    tree: CallTree, loop: LoopRun, correct_tree: CallTree, other: LoopRun
) -> list[tuple[CarriedVariable, CarriedVariable]] | None:
    """The variables of two loops that correspond: by name, or in order if the names differ."""
    variables, others = tree.loop_variables(loop.site), correct_tree.loop_variables(other.site)
    if len(variables) != len(others):
        return None
    by_name = {variable.name: variable for variable in others}
    if by_name.keys() == {variable.name for variable in variables}:
        others = tuple(by_name[variable.name] for variable in variables)
    types = [
        [call_tree.graph.nodes[variable.merge].outputs[0].type for variable in group]
        for call_tree, group in ((tree, variables), (correct_tree, others))
    ]
    return list(zip(variables, others, strict=True)) if types[0] == types[1] else None


def _first_iteration(
    tree: CallTree,
    loop: LoopRun,
    other: LoopRun,
    pairs: Sequence[tuple[CarriedVariable, CarriedVariable]],
    is_close: Callable[[Value, Value], bool],
) -> LoopDifference | None:
    """The first iteration that differs in a variable that is used after the loop, or that one of the loops does not
    make; None if no variable is used after both."""
    compared = [pair for pair in pairs if pair[0].is_result and pair[1].is_result]
    if not compared:
        return None
    node = next(node for node in tree.graph.nodes if node.site == loop.site)
    name = f"the loop at {node.location}" if node.location else f"the loop {loop.site}"
    rows = list(zip(loop.iterations, other.iterations, strict=False))
    for number, (row, right) in enumerate(rows):
        for variable, correct in compared:
            a, b = row.get(variable.merge), right.get(correct.merge)
            if a is None or b is None or isinstance(a, OPAQUE_CLASSES):
                continue
            if not is_close(a, b):
                return LoopDifference(name, number, *_describe_rows(pairs, row, right))
    if len(loop.iterations) == len(other.iterations):
        return None
    ends = ["goes on" if len(run_loop.iterations) > len(rows) else "ends" for run_loop in (loop, other)]
    sides = zip(_describe_rows(pairs, *rows[-1]), ends, strict=True)
    return LoopDifference(name, len(rows) - 1, *(f"{end} with {variables}" for variables, end in sides))


def _describe_rows(
    pairs: Sequence[tuple[CarriedVariable, CarriedVariable]], row: dict[int, Value], right: dict[int, Value]
) -> tuple[str, str]:
    """The variables of an iteration in both programs."""
    shown_pairs = pairs[:MAX_LISTED_CALLS]
    return _describe_row([first for first, _ in shown_pairs], row), _describe_row(
        [second for _, second in shown_pairs], right
    )


def _describe_row(variables: Sequence[CarriedVariable], row: dict[int, Value]) -> str:
    """The variables of an iteration: `i = 2, total = 5`."""
    return ", ".join(f"{variable.name} = {_describe_value(row.get(variable.merge))}" for variable in variables)


def cell_difference(
    tree: CallTree,
    call: FunctionCall,
    correct_tree: CallTree,
    correct: FunctionCall,
    is_close: Callable[[Value, Value], bool],
) -> CellDifference | None:
    """The cell that was filled first of those that differ; None if there is none, or if the two calls did not make the
    same cells. An empty cell is not a mistake by itself."""
    shapes = [[(cell.size, cell.dtype) for cell in compared_call.cells] for compared_call in (call, correct)]
    if shapes[0] != shapes[1]:
        return None
    differences: list[tuple[int, CellDifference]] = []
    for (handle, stores), others in zip(call.cells.items(), correct.cells.values(), strict=True):
        node = tree.graph.nodes[handle.node]
        for number, store in stores.items():
            if number in others and not is_close(store.value, others[number].value):
                cell = f"{array_name(node)}[{number}], of the cells made at {node.origin}"
                differences.append((store.event, CellDifference(cell, store.value, others[number].value)))
    return min(differences, key=lambda entry: entry[0])[1] if differences else None
