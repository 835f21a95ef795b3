"""The functions of a program, one for each Python function and layouts of its arguments, and the inference of their
results.

A call of a user's function is a call of the program. Layouts of results are inferred in rounds, until a round changes
none. `generation` generates the bodies.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import describe_class
from ...core.frontend.eager.gradients import trace_pullback
from ...core.frontend.source.passes.control_flow import may_complete
from ...core.frontend.source.passes.matches import convert_matches
from ...core.frontend.source.reader import FunctionNode, NotConvertible, read_source
from ...core.frontend.source.scopes import function_scope, parameter_names
from ...core.frontend.source.templates import copy_tree
from ...core.frontend.trace.annotation import DerivedFunction, FunctionSpec
from ...core.frontend.trace.control_flow import open_subregion
from ...core.frontend.trace.program_builder import (
    NoTypeYet,
    current_region,
    enter_region,
)
from ...core.frontend.trace.pytree import flat_tuple_type, leaf_type
from ...core.types import Type
from . import library
from .heap import HeapKey
from .layouts import (
    MISSING,
    NUMBER_CLASSES,
    Layout,
    NotSpeculable,
    is_new_list,
    is_within,
    join,
    parts,
)
from .staging import (
    MAX_VERSIONS,
    NONE_VALUE,
    RETURN,
    CallRecord,
    FunctionFrame,
    Restart,
    StagedState,
    StagedValue,
    Staging,
    Unreachable,
    as_start,
    is_same_leaf,
    require_value,
    widen_constants,
)

MAX_INLINED = 20
"""The largest depth of inlined calls."""
LATE_READERS = (ast.Try, ast.With, ast.FunctionDef, ast.Lambda)
"""Nodes whose code may read variables of a function after a `return`."""


@dataclass
class Callee:
    """A function of the program that comes from a Python function, for arguments of these layouts."""

    function: FunctionType
    names: tuple[str, ...]
    layouts: tuple[Layout, ...]
    result: Layout | None = None
    written_keys: set[HeapKey] = field(default_factory=set)
    """The keys that the function, or one that it calls, writes."""
    raises: set[type] = field(default_factory=set)
    """The classes of the exceptions that leave it, for a handler of a caller."""
    round: int = 0
    """The last round of inference that visited it."""
    spec: FunctionSpec | None = None


class ProgramFunctions(Staging):
    """The generation of the functions of a program."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.callees: dict[tuple[Any, ...], Callee] = {}

    def evaluate(self, node: ast.expr) -> StagedValue:
        """The value of an expression."""
        raise NotImplementedError

    def run_block(self, statements: Sequence[ast.stmt]) -> None:
        """Generate statements in order; after an exit, nothing more of them."""
        raise NotImplementedError

    def main_spec(self, names: Sequence[str]) -> FunctionSpec:
        """The program: its parameters are arguments, the classes of objects, fields, and variables."""
        layouts = tuple(self.observation.arguments[name] for name in names)
        self.main = Callee(self.function, tuple(names), layouts)
        return self._spec(self.main, self._run_main)

    def _spec(self, callee: Callee, run: Callable[..., Any], result: Any = None) -> FunctionSpec:
        types = [type_ for layout in callee.layouts for type_ in layout.types]
        labels = [
            f"{name}_{k}" if k else name
            for name, layout in zip(callee.names, callee.layouts, strict=True)
            for k in range(len(layout.types))
        ]
        for is_needed, label in ((self.requirements.needs_classes, "classes"), (self.requirements.needs_rows, "rows")):
            if is_needed:
                types.append(Type(dtypes.int64, (None,)))
                labels.append(label)
        for key in self.keys:
            parts = self.key_types(key)
            types += parts
            labels += [
                f"{str(key).replace('.', '_')}_{k}" if k else str(key).replace(".", "_") for k in range(len(parts))
            ]
        unique = [
            f"{label}_{position}" if labels.index(label) != position else label for position, label in enumerate(labels)
        ]
        parameters = tuple((name, leaf_type(type_)) for name, type_ in zip(unique, types, strict=True))
        derived = DerivedFunction(callee.function.__name__, callee.function, run)
        return FunctionSpec(derived, parameters, result)

    def _enter_function(self, callee: Callee, symbols: Sequence[Any]) -> None:
        """Begin a function of the program, whose parameters are these symbols."""
        remaining = iter(symbols)
        self.state = StagedState()
        for name, layout in zip(callee.names, callee.layouts, strict=True):
            self.state.variables[name] = StagedValue(layout, tuple(next(remaining) for _ in layout.types))
        values = self.state.variables.values() if callee is self.main else ()
        self.argument_leaves = [leaf for value in values for leaf in value.leaves]
        self.class_vector = next(remaining) if self.requirements.needs_classes else None
        self.row_vector = next(remaining) if self.requirements.needs_rows else None
        for key in self.keys:
            self.state.heap[key] = tuple(next(remaining) for _ in self.key_types(key))

    def _written_keys(self, callee: Callee) -> list[HeapKey]:
        """The keys that a function of the program writes, and therefore returns. The main function returns all keys
        that the program writes."""
        written = self.requirements.assigned_keys if callee is self.main else callee.written_keys
        return [key for key in self.keys if key in written]

    def _run_main(self, *symbols: Any) -> Any:
        if not self.is_inferring and self.main.result is None:
            self._infer()
        value = self._run_body(self.main, symbols)
        return self._results(self.main, value)

    def _results(self, callee: Callee, value: StagedValue) -> tuple[Any, ...]:
        assert callee.result is not None
        if callee is self.main and sum(is_new_list(part) for part in parts(callee.result)) > 1:
            raise NotSpeculable("new lists that may be one list are returned beside a tape")
        leaves = [*self.coerce(value, callee.result).leaves]
        for key in self._written_keys(callee):
            leaves += self.state.heap[key]
        assert callee is self.main or self.raised_classes <= callee.raises
        if callee.raises:
            leaves.append(self.leaf_of(self.state.exit))
        return tuple(leaves) or (False,)

    def result_types(self, callee: Callee) -> list[Type]:
        """The types of the results of a function of the program: those of its value, those of the keys that it writes,
        and the way in which it ended, if exceptions leave it."""
        assert callee.result is not None
        types = [*callee.result.types, *(t for key in self._written_keys(callee) for t in self.key_types(key))]
        types += [Type(dtypes.int64)] if callee.raises else []
        return types or [Type(dtypes.bool)]

    def _infer(self) -> None:
        """Infer the layouts of all results, in rounds, until a round changes none. The traces of the rounds are
        dropped."""
        region = current_region()
        assert region is not None
        mark = region.mark()
        self.is_inferring = True
        while True:
            self.round += 1
            self.has_changed = False
            self._visit(self.main)
            region.reset(mark)
            if self.has_grown:
                raise Restart
            if not self.has_changed:
                break
        self.is_inferring = False
        if self.main.result is None:
            raise Unreachable

    def _visit(self, callee: Callee) -> None:
        """Infer the layout of the result of a function, once a round."""
        callee.round = self.round
        region = current_region()
        assert region is not None
        outer = self.state, self.class_vector, self.row_vector, self.raised_classes
        raises = callee.raises
        try:
            with enter_region(open_subregion(region.outermost)):
                parameters = self._spec(callee, print).declared_parameters
                symbols = [self.placeholder(form.types[0]) for _, form in parameters if form is not None]
                layout = self._run_body(callee, symbols).layout
                raises = callee.raises | self.raised_classes
                written = callee.written_keys | self._changed_keys(callee, symbols)
        except (NoTypeYet, Unreachable):
            return
        finally:
            self.state, self.class_vector, self.row_vector, self.raised_classes = outer
        joined_layout = layout if callee.result is None else join(callee.result, layout)
        if (joined_layout, written, raises) != (callee.result, callee.written_keys, callee.raises):
            callee.result, callee.written_keys, callee.raises, self.has_changed = joined_layout, written, raises, True

    def _changed_keys(self, callee: Callee, symbols: Sequence[Any]) -> set[HeapKey]:
        """The keys whose values at the end of a function of the program differ from its parameters."""
        if self.has_grown:  # generation starts again
            return set()
        count = sum(len(layout.types) for layout in callee.layouts)
        remaining = iter(symbols[count + self.requirements.needs_classes + self.requirements.needs_rows :])
        before = {key: [next(remaining) for _ in self.key_types(key)] for key in self.keys}
        return {key for key in self.keys if not all(map(is_same_leaf, before[key], self.state.heap[key]))}

    def _run_body(self, callee: Callee, symbols: Sequence[Any]) -> StagedValue:
        self._enter_function(callee, symbols)
        self.raised_classes = set()
        passes_exceptions = callee is not self.main and callee.function.__module__ != library.__name__
        return self._run_function(callee.function, self._node(callee.function), None, passes_exceptions)

    def _run_function(
        self,
        function: FunctionType,
        node: FunctionNode,
        outer: FunctionFrame | None = None,
        passes_exceptions: bool = False,
    ) -> StagedValue:
        """Generate the body of a function, whose parameters are variables already; returns its result. A nested
        function has the `outer` frame around it. A function of the program `passes_exceptions` to its callers."""
        self.frame_count += 1
        scope = function_scope(node)
        names = scope.local_names
        numbers: tuple[int, ...] = (self.frame_count,)
        if outer is not None:
            if scope.global_names & outer.local_names:
                raise NotSpeculable("a nested function has a global variable with the name of a local one")
            names, numbers = names | outer.local_names, outer.numbers + numbers
        hidden = frozenset() if outer is None else outer.hidden_names | scope.local_names & outer.local_names
        returns_at_once = outer is None and not any(
            part is not node and isinstance(part, LATE_READERS) for part in ast.walk(node)
        )
        self.stack.append(FunctionFrame(function, names, numbers, hidden, passes_exceptions, returns_at_once))
        try:
            if isinstance(node, ast.Lambda):
                value = self.evaluate(node.body)
                require_value(value.layout)
                return value
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            self.run_block(body)
            return self._function_result(may_complete(body))
        finally:
            self.stack.pop()

    def inline_function(self, function: FunctionType, arguments: dict[str, StagedValue]) -> StagedValue:
        """A call of a Python function whose body is inlined, so it may assign attributes of an object under
        construction."""
        if len(self.stack) > MAX_INLINED:
            raise NotSpeculable(f"{function.__name__} is a recursion of an object that is not complete yet")
        node, outer = self._node(function), self.state
        self.state = StagedState(arguments, dict(outer.heap), new_objects=outer.new_objects)
        value = self._run_function(function, node)
        self.state = replace(outer, heap=self.state.heap, new_objects=self.state.new_objects)
        return value

    def _function_result(self, may_complete: bool) -> StagedValue:
        """The result of a function, which is None if its end is reached."""
        require_value(self.state.result.layout)
        result = self.state.result
        if not may_complete:
            return NONE_VALUE if result.layout == MISSING else self.drop_missing(result)
        return self.branch(self.has_exit(RETURN), lambda: self.drop_missing(result), lambda: NONE_VALUE)

    def _node(self, function: FunctionType) -> FunctionNode:
        self.require_function(function)
        try:
            source = read_source(function.__code__)
        except NotConvertible as error:
            raise NotSpeculable(f"{function.__name__} has no graph, since {error}") from None
        if source.class_name is not None and _has_private_names(source.node):
            raise NotSpeculable(f"{function.__name__} uses private names of a class")
        return _without_matches(source.node)

    def require_function(self, function: FunctionType) -> None:
        """Note that the graph depends on the code and the defaults of a function."""
        self.requirements.functions.setdefault(function, function_key(function))

    def call_function(self, function: FunctionType, arguments: dict[str, StagedValue]) -> StagedValue:
        """A call of a Python function of the user: a call of the program."""
        guard = self.direct_guard()
        call = None if guard is None else guard.next_call()
        if call is None:
            call = self._emit_call(function, arguments)
            if guard is not None:
                guard.add_call(call)
        self.state.heap = dict(call.heap)
        if call.code is not None:
            assert self.current_node is not None
            for owner in call.raises:
                is_other = self.emit("not_equal", call.code, self.exception_code(owner))
                claim = f"{function.__name__} does not raise {owner.__qualname__}"
                self.check(is_other, self.current_node, claim, "it raises", raises=owner, has_raised=True)
        return call.value

    def _emit_call(self, function: FunctionType, arguments: dict[str, StagedValue]) -> CallRecord:
        """Emit the call of a function of the program."""
        self.require_function(function)
        names, layouts = tuple(arguments), tuple(widen_constants(argument.layout) for argument in arguments.values())
        callee = self._find_callee(function, names, layouts)
        values = [self.coerce(*pair) for pair in zip(arguments.values(), callee.layouts, strict=True)]
        operands = [leaf for value in values for leaf in value.leaves]
        operands = [
            as_start(leaf, type_)
            for leaf, type_ in zip(operands, (t for layout in callee.layouts for t in layout.types), strict=True)
        ]
        if self.requirements.needs_classes:
            operands.append(self.class_vector)
        if self.requirements.needs_rows:
            operands.append(self.row_vector)
        for key in self.keys:
            types = self.key_types(key)
            operands += [as_start(leaf, type_) for leaf, type_ in zip(self.state.heap[key], types, strict=True)]
        if self.is_inferring:
            if callee.round != self.round:
                self._visit(callee)
            if callee.result is None:
                raise NoTypeYet
            results: list[Any] = [self.placeholder(type_) for type_ in self.result_types(callee)]
        else:
            if callee.result is None:
                assert self.current_node is not None
                self.check(False, self.current_node, "it is not reached", f"{function.__name__} never returns")
                raise Unreachable
            if callee.spec is None:
                result_type = flat_tuple_type(self.result_types(callee))
                callee.spec = self._spec(callee, self._runner(callee), result_type)
            spec = callee.spec
            region = current_region()
            assert region is not None
            results = list(self.located(lambda: trace_pullback(region, spec, operands)[0]))
        assert callee.result is not None
        remaining = iter(results)
        value = StagedValue(callee.result, tuple(next(remaining) for _ in callee.result.types))
        heap = dict(self.state.heap)
        for key in self._written_keys(callee):
            heap[key] = tuple(next(remaining) for _ in self.key_types(key))
        raises = tuple(sorted(callee.raises, key=self.exception_code))
        return CallRecord(value, heap, next(remaining) if raises else None, raises)

    def _runner(self, callee: Callee) -> Callable[..., Any]:
        def run(*symbols: Any) -> Any:
            outer = self.state, self.class_vector, self.row_vector, self.stack, self.raised_classes
            self.stack = []
            try:
                return self._results(callee, self._run_body(callee, symbols))
            except Unreachable:
                return tuple(_zero_of(type_) for type_ in self.result_types(callee))
            finally:
                self.state, self.class_vector, self.row_vector, self.stack, self.raised_classes = outer

        return run

    def _find_callee(self, function: FunctionType, names: tuple[str, ...], layouts: tuple[Layout, ...]) -> Callee:
        versions = [callee for callee in self.callees.values() if callee.function is function and callee.names == names]
        for version in versions:
            if all(is_within(*pair) for pair in zip(layouts, version.layouts, strict=True)):
                return version
        if len(versions) >= MAX_VERSIONS:
            raise NotSpeculable(f"{function.__name__} is called with arguments of more than {MAX_VERSIONS} layouts")
        callee = Callee(function, names, layouts)
        self.callees[function, names, layouts] = callee
        return callee

    def default(self, name: str, value: Any) -> StagedValue:
        """The default of a parameter."""
        if type(value) is tuple:
            return self.tuple_of([self.default(name, item) for item in value])
        if isinstance(value, Enum):
            return self.constant(value)
        if type(value) not in (*NUMBER_CLASSES, str, type(None), FunctionType, type):
            raise NotSpeculable(f"the default of {name} is {describe_class(value)}")
        return self.constant(value)

    def call_python(
        self,
        function: FunctionType,
        arguments: Sequence[StagedValue],
        keywords: dict[str, StagedValue],
        node: ast.AST,
    ) -> StagedValue:
        """A call of a function of the user."""
        tree = self._node(function).args
        positional = [parameter.arg for parameter in (*tree.posonlyargs, *tree.args)]
        defaults = dict(zip(positional[::-1], (function.__defaults__ or ())[::-1], strict=False))
        defaults |= function.__kwdefaults__ or {}
        bound_names = {*positional[: len(arguments)], *keywords}
        values = {name: self.default(name, value) for name, value in defaults.items() if name not in bound_names}
        bound = self._bind(function.__name__, tree, values, arguments, keywords, node)
        is_incomplete = any(self.new_object(value) is not None for value in bound.values())
        return self.inline_function(function, bound) if is_incomplete else self.call_function(function, bound)

    def _bind(
        self,
        function_name: str,
        tree: ast.arguments,
        defaults: dict[str, StagedValue],
        arguments: Sequence[StagedValue],
        keywords: dict[str, StagedValue],
        node: ast.AST,
    ) -> dict[str, StagedValue]:
        """The value of each parameter in a call."""
        arguments = list(map(self.name_array, arguments))
        keywords = {name: self.name_array(argument) for name, argument in keywords.items()}
        if tree.kwarg:
            raise NotSpeculable(f"{function_name} takes ** parameters")
        positional = [parameter.arg for parameter in (*tree.posonlyargs, *tree.args)]
        positional_only = {parameter.arg for parameter in tree.posonlyargs}
        names = parameter_names(tree)
        bound = dict(zip(positional, arguments, strict=False))
        if tree.vararg:
            bound[tree.vararg.arg] = self.tuple_of(arguments[len(positional) :])
        is_wrong = (len(arguments) > len(positional) and not tree.vararg) or any(
            name in bound or name not in names or name in positional_only for name in keywords
        )
        bound = defaults | bound | keywords
        if is_wrong or {*bound} != {*names}:
            self.check(False, node, "the call fits the parameters", "Python raises TypeError where it does not")
        return {name: bound[name] for name in names}


@lru_cache(maxsize=1024)
def _without_matches(node: FunctionNode) -> FunctionNode:
    """A function without `match` statements; the same one if it has none."""
    has_matches = any(isinstance(part, ast.Match) for part in ast.walk(node))
    return convert_matches(copy_tree(node)) if has_matches else node


def function_key(function: FunctionType) -> tuple[Any, ...]:
    """The parts of a function that a graph depends on: its code and its defaults."""
    keywords = sorted((function.__kwdefaults__ or {}).items(), key=lambda item: item[0])
    return function.__code__, function.__defaults__, *(part for item in keywords for part in item)


def _zero_of(type_: Type) -> Any:
    return np.zeros([size or 0 for size in type_.shape or ()], type_.dtype.numpy)


def _has_private_names(node: ast.AST) -> bool:
    names = [part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in ast.walk(node)]
    return any(name.startswith("__") and not name.endswith("__") for name in names)
