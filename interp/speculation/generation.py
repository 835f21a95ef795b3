"""Generation: the syntax tree of a Python function becomes a program, under assumptions.

Only syntax that is listed here is in a program; nothing runs "as is". `NotSpeculable` is raised for all that has no
exact meaning: then Python runs the call. Values, state, branches and loops are in `staging`.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.frontend import functions as op_functions
from ...core.frontend.array_api import (
    convolution,
    creation,
    datatypes,
    einsum,
    indexing,
    linalg,
    manipulation,
    neural_network,
    numeric,
    padding,
)
from ...core.frontend.eager.gradients import trace_pullback
from ...core.frontend.eager.tape import Tape
from ...core.frontend.eager.variable import Variable
from ...core.frontend.source.passes.control_flow import find_exits, may_complete
from ...core.frontend.source.reader import FunctionNode, NotConvertible, read_source
from ...core.frontend.source.scopes import function_scope, parameter_names
from ...core.frontend.trace.annotation import DerivedFunction, FunctionSpec
from ...core.frontend.trace.control_flow import open_subregion
from ...core.frontend.trace.program_builder import (
    NoTypeYet,
    current_region,
    enter_region,
)
from ...core.frontend.trace.pytree import flat_tuple_type, leaf_type
from ...core.types import Type
from ..training.optimizers import Optimizer
from . import arithmetic, containers, library, static_containers, text, training
from .dataclass_fields import MISSING_DEFAULT, Field, dataclass_fields, dataclass_of, fields_of
from .heap import ITEMS, FieldKey, HeapKey, VariableKey, class_problem, static_attribute
from .layouts import (
    MAX_INTEGER,
    MISSING,
    NONE,
    NUMBER_CLASSES,
    POOLS,
    UNASSIGNED,
    ArrayLayout,
    ConstantLayout,
    DictPool,
    Layout,
    ListPool,
    NotSpeculable,
    NumberLayout,
    Pool,
    ReferenceLayout,
    Slot,
    StaticLayout,
    TextLayout,
    TupleLayout,
    UnionLayout,
    class_name,
    is_new_list,
    is_within,
    join,
    number_kind,
    options_of,
    parts,
)
from .recording import python_function
from .staging import (
    BREAK,
    CONTINUE,
    MAX_UNROLLED,
    MAX_VERSIONS,
    PRINTED_TEXT,
    RETURN,
    RUNNING,
    FunctionFrame,
    NestedFunction,
    NewObject,
    Restart,
    StagedState,
    StagedValue,
    Staging,
    Unreachable,
    as_start,
    is_same_leaf,
    require_value,
    widened,
)

MAX_INLINED = 20
"""How deep calls may be that are generated in place."""


class Emission(ast.expr):
    """An expression that generation makes up: its value is what an action returns."""

    _fields = ()

    def __init__(self, action: Callable[[], StagedValue]) -> None:
        super().__init__()
        self.action = action
        self.lineno = self.col_offset = 0


@dataclass
class Callee:
    """A function of the program that comes from a Python function, for arguments of these layouts."""

    function: FunctionType
    names: tuple[str, ...]
    layouts: tuple[Layout, ...]
    result: Layout | None = None
    written_keys: set[HeapKey] = field(default_factory=set)
    """What it, or a function that it calls, writes."""
    round: int = 0
    """The round of inference that has visited it last."""
    spec: FunctionSpec | None = None


class Generation(Staging):
    """The generation of one program: that of `function`, for what was observed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.callees: dict[tuple[Any, ...], Callee] = {}
        self.nested_functions: dict[tuple[Any, ...], NestedFunction] = {}
        self.is_in_init = False
        """Whether the `__init__` of a frozen dataclass is generated."""

    # The program

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
            f"{each}_{position}" if labels.index(each) != position else each for position, each in enumerate(labels)
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
        """What a function of the program writes, which its results have; the program returns all that is written."""
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
            raise NotSpeculable("new lists are returned, which may be one, beside a tape")
        leaves = [*self.coerce(value, callee.result).leaves]
        for key in self._written_keys(callee):
            leaves += self.state.heap[key]
        return tuple(leaves) or (False,)

    def result_types(self, callee: Callee) -> list[Type]:
        """The types of the results of a function of the program: its value, and the fields that the program writes."""
        assert callee.result is not None
        types = [*callee.result.types, *(t for key in self._written_keys(callee) for t in self.key_types(key))]
        return types or [Type(dtypes.bool)]

    def _infer(self) -> None:
        """Find the layouts of all results, in rounds, until none changes; nothing is left of the traces."""
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
            raise NotSpeculable(f"{self.function.__name__} returns on no path of a graph")

    def _visit(self, callee: Callee) -> None:
        """Infer the layout of the result of a function, once a round."""
        callee.round = self.round
        region = current_region()
        assert region is not None
        outer = self.state, self.class_vector, self.row_vector
        try:
            with enter_region(open_subregion(region.outermost)):
                parameters = self._spec(callee, print).declared_parameters
                symbols = [self.placeholder(form.types[0]) for _, form in parameters if form is not None]
                layout = self._run_body(callee, symbols).layout
                written = callee.written_keys | self._changed_keys(callee, symbols)
        except (NoTypeYet, Unreachable):
            return
        finally:
            self.state, self.class_vector, self.row_vector = outer
        joined = layout if callee.result is None else join(callee.result, layout)
        if joined != callee.result or written != callee.written_keys:
            callee.result, callee.written_keys, self.has_changed = joined, written, True

    def _changed_keys(self, callee: Callee, symbols: Sequence[Any]) -> set[HeapKey]:
        """What has other values at the end of a function of the program than its parameters have."""
        if self.has_grown:  # generation starts again
            return set()
        count = sum(len(layout.types) for layout in callee.layouts)
        remaining = iter(symbols[count + self.requirements.needs_classes + self.requirements.needs_rows :])
        before = {key: [next(remaining) for _ in self.key_types(key)] for key in self.keys}
        return {key for key in self.keys if not all(map(is_same_leaf, before[key], self.state.heap[key]))}

    def _run_body(self, callee: Callee, symbols: Sequence[Any]) -> StagedValue:
        self._enter_function(callee, symbols)
        return self._run_function(callee.function, self._node(callee.function))

    def _run_function(
        self, function: FunctionType, node: FunctionNode, outer: FunctionFrame | None = None
    ) -> StagedValue:
        """Generate the body of a function, whose parameters are variables already; returns its result. A nested
        function has the `outer` frame around it."""
        self.frame_count += 1
        scope = function_scope(node)
        names = scope.local_names
        numbers: tuple[int, ...] = (self.frame_count,)
        if outer is not None:
            if scope.global_names & outer.local_names:
                raise NotSpeculable("a nested function has a global variable with the name of a local one")
            names, numbers = names | outer.local_names, outer.numbers + numbers
        hidden = frozenset() if outer is None else outer.hidden_names | scope.local_names & outer.local_names
        self.stack.append(FunctionFrame(function, names, numbers, hidden))
        try:
            if isinstance(node, ast.Lambda):
                value = self.evaluate(node.body)
                require_value(value.layout)
                return value
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            self.run_block(body)
            return self._function_result()
        finally:
            self.stack.pop()

    def inline_function(self, function: FunctionType, arguments: dict[str, StagedValue]) -> StagedValue:
        """A call of a Python function whose body is generated in place: it may assign attributes of a new object."""
        if len(self.stack) > MAX_INLINED:
            raise NotSpeculable(f"{function.__name__} is a recursion of an object that is not complete yet")
        node, outer = self._node(function), self.state
        self.state = StagedState(arguments, dict(outer.heap), new_objects=outer.new_objects)
        value = self._run_function(function, node)
        self.state = replace(outer, heap=self.state.heap, new_objects=self.state.new_objects)
        return value

    def _function_result(self) -> StagedValue:
        require_value(self.state.result.layout)
        exit_ = self.state.exit
        if isinstance(exit_.layout, ConstantLayout):
            return self.assigned(self.state.result) if exit_.layout.value == RETURN else StagedValue(NONE, ())
        predicate = self.emit("equal", exit_.leaves[0], RETURN)
        result = self.state.result
        return self.branch(predicate, lambda: self.assigned(result), lambda: StagedValue(NONE, ()))

    def _node(self, function: FunctionType) -> FunctionNode:
        self.require_function(function)
        try:
            source = read_source(function.__code__)
        except NotConvertible as error:
            raise NotSpeculable(f"{function.__name__} has no graph, since {error}") from None
        if source.class_name is not None and _has_private_names(source.node):
            raise NotSpeculable(f"{function.__name__} uses private names of a class")
        return source.node

    def require_function(self, function: FunctionType) -> None:
        """Note that the graph depends on the code and the defaults of a function."""
        self.requirements.functions.setdefault(function, function_key(function))

    # Functions of the program

    def call_function(self, function: FunctionType, arguments: dict[str, StagedValue]) -> StagedValue:
        """A call of a Python function of the user: a call of the program."""
        self.require_function(function)
        names, layouts = tuple(arguments), tuple(widened(each.layout) for each in arguments.values())
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
        for key in self._written_keys(callee):
            self.state.heap[key] = tuple(next(remaining) for _ in self.key_types(key))
        return value

    def _runner(self, callee: Callee) -> Callable[..., Any]:
        def run(*symbols: Any) -> Any:
            outer = self.state, self.class_vector, self.row_vector, self.stack
            self.stack = []
            try:
                return self._results(callee, self._run_body(callee, symbols))
            except Unreachable:
                return tuple(_zero_of(type_) for type_ in self.result_types(callee))
            finally:
                self.state, self.class_vector, self.row_vector, self.stack = outer

        return run

    def _find_callee(self, function: FunctionType, names: tuple[str, ...], layouts: tuple[Layout, ...]) -> Callee:
        versions = [each for each in self.callees.values() if each.function is function and each.names == names]
        for each in versions:
            if all(is_within(*pair) for pair in zip(layouts, each.layouts, strict=True)):
                return each
        if len(versions) >= MAX_VERSIONS:
            raise NotSpeculable(f"{function.__name__} is called with arguments of more than {MAX_VERSIONS} layouts")
        callee = Callee(function, names, layouts)
        self.callees[function, names, layouts] = callee
        return callee

    # Statements

    def run_block(self, statements: Sequence[ast.stmt]) -> None:
        """Generate statements in order; after an exit, nothing more of them."""
        for position, statement in enumerate(statements):
            exit_ = self.state.exit
            if isinstance(exit_.layout, ConstantLayout):
                if exit_.layout.value != RUNNING:
                    return
            else:
                rest = statements[position:]

                def go_on(rest: Sequence[ast.stmt] = rest) -> StagedValue:
                    self.state.exit = self.constant(RUNNING)
                    self.run_block(rest)
                    return StagedValue(NONE, ())

                self.branch(self.emit("equal", exit_.leaves[0], RUNNING), go_on, lambda: StagedValue(NONE, ()))
                return
            if isinstance(statement, ast.If) and find_exits([statement]):
                rest = statements[position + 1 :]
                completes = may_complete(statement.body), may_complete(statement.orelse)
                if not all(completes):
                    bodies = [
                        [*body, *rest] if completes_ else body
                        for body, completes_ in zip((statement.body, statement.orelse), completes, strict=True)
                    ]
                    self.run_if(statement, bodies[0], bodies[1])
                    return
            self.run_statement(statement)

    def run_statement(self, statement: ast.stmt) -> None:
        """Generate a statement."""
        self.current_node = statement
        method = getattr(self, f"_run_{type(statement).__name__.lower()}", None)
        if method is None:
            raise NotSpeculable(f"`{type(statement).__name__.lower()}` has no graph (line {statement.lineno})")
        method(statement)

    def _run_pass(self, statement: ast.Pass) -> None:
        pass

    _run_global = _run_nonlocal = _run_pass

    def _run_expr(self, statement: ast.Expr) -> None:
        self.evaluate(statement.value)

    def _run_return(self, statement: ast.Return) -> None:
        self.state.result = StagedValue(NONE, ()) if statement.value is None else self.evaluate(statement.value)
        self.state.exit = self.constant(RETURN)

    def _run_break(self, statement: ast.Break) -> None:
        self.state.exit = self.constant(BREAK)

    def _run_continue(self, statement: ast.Continue) -> None:
        self.state.exit = self.constant(CONTINUE)

    def _run_assign(self, statement: ast.Assign) -> None:
        value = self.evaluate(statement.value)
        for target in statement.targets:
            self.assign(target, value)

    def _run_annassign(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self.assign(statement.target, self.evaluate(statement.value))

    def _run_augassign(self, statement: ast.AugAssign) -> None:
        target = statement.target
        if isinstance(target, ast.Name):
            value = self.binary(
                statement.op, self.read_name(target.id, target), self.evaluate(statement.value), statement
            )
            self.assign(target, value)
        elif isinstance(target, ast.Attribute):
            owner = self.evaluate_owner(target.value)
            old = self.read_attribute(owner, target.attr, target)
            self.write_attribute(
                owner, target.attr, self.binary(statement.op, old, self.evaluate(statement.value), statement), target
            )
        else:
            owner, index = self.evaluate(target.value), self.evaluate(target.slice)
            old = self.read_item(owner, index, target)
            self.write_item(
                owner, index, self.binary(statement.op, old, self.evaluate(statement.value), statement), target
            )

    def binary(self, op: ast.operator, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        """A binary operator of Python, or an assignment with it."""

        def operate(pair: Sequence[StagedValue]) -> StagedValue:
            name = type(op).__name__
            if name == "Add" and all(map(text.is_text, pair)) and any(isinstance(p.layout, TextLayout) for p in pair):
                return text.concatenate(self, pair)
            if any(isinstance(each.layout, ReferenceLayout) for each in pair):
                return self._operate_on_objects(name, pair[0], pair[1], node)
            return arithmetic.binary(self, name, pair[0], pair[1], node)

        return self.dispatch_all([self.read_variable(one), self.read_variable(other)], operate)

    def _operate_on_objects(self, name: str, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        """A binary operator of which an operand is an object: a call of its special method, or of a list."""
        special = arithmetic.SPECIAL_METHODS[name]
        if not isinstance(one.layout, ReferenceLayout):
            if number_kind(one.layout) is None:
                raise NotSpeculable(f"`{name}` of {one.layout} and {other.layout} has no graph")
            return self.call_special(other, f"__r{special}__", [one], node)
        if isinstance(other.layout, ReferenceLayout):
            self.refuse_reflection(one.layout, other.layout, f"__r{special}__")

        def call(kind: type, instance: StagedValue) -> StagedValue:
            if issubclass(kind, Pool):
                return self._operate_on_list(name, instance, other, node)
            is_in_place = isinstance(node, ast.AugAssign)
            has_in_place = is_in_place and self.require_class_value(kind, f"__i{special}__") is not UNASSIGNED
            return self.call_special(instance, f"__i{special}__" if has_in_place else f"__{special}__", [other], node)

        return self.for_each_class(one, node, call)

    def refuse_reflection(self, one: ReferenceLayout, other: ReferenceLayout, method: str) -> None:
        """Raises NotSpeculable where Python would ask the right operand first, since its class derives from the
        left one's."""
        for owner in one.classes:
            for each in other.classes:
                is_derived = each is not owner and issubclass(each, owner)
                if is_derived and self.require_class_value(each, method) is not UNASSIGNED:
                    raise NotSpeculable(f"{each.__qualname__}.{method} has priority over that of {owner.__qualname__}")

    def _operate_on_list(self, name: str, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        if name == "Add" and isinstance(other.layout, ReferenceLayout):
            if isinstance(node, ast.AugAssign):
                self.call_library(library.extend, [one, other])
                return one
            return self.call_library(library.concatenate, [one, other])
        if name == "Mult" and number_kind(other.layout) in ("i", "b") and not isinstance(node, ast.AugAssign):
            return self.call_library(library.repeat, [one, other])
        raise NotSpeculable(f"`{name}` of a list and {other.layout} has no graph")

    def call_library(self, function: Any, arguments: Sequence[StagedValue]) -> StagedValue:
        """A call of a function that says in Python what a builtin does."""
        if any(isinstance(each.layout, ReferenceLayout) and self._has_comparison(each.layout) for each in arguments):
            raise NotSpeculable(f"{function.__name__} of objects with a comparison of their own has no graph")
        assert self.current_node is not None
        return self.call_python(function, arguments, {}, self.current_node)

    def _run_if(self, statement: ast.If) -> None:
        self.run_if(statement, statement.body, statement.orelse)

    def run_if(self, statement: ast.If, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        """`if`, with these statements as its arms."""

        def arm(statements: Sequence[ast.stmt]) -> Callable[[], StagedValue]:
            def run() -> StagedValue:
                self.run_block(statements)
                return StagedValue(NONE, ())

            return run

        self.choose(statement.test, arm(body), arm(orelse))

    def choose(
        self, test: ast.expr, then: Callable[[], StagedValue], otherwise: Callable[[], StagedValue]
    ) -> StagedValue:
        """The value of an arm, by a test. An arm that has no graph is replaced by an assertion, unless no other was
        taken."""
        predicate = self.evaluate_test(test)
        self.note_truth(test, bool(predicate) if isinstance(predicate, bool | np.bool_) else None)
        key = (self.stack[-1].function.__code__, test.lineno, test.col_offset)
        taken = self.arms_taken(*key)

        def guarded(is_true: bool, arm: Callable[[], StagedValue]) -> Callable[[], StagedValue]:
            def run() -> StagedValue:
                before = dict(self.state.variables)
                self.narrow(test, is_true)
                narrow = dict(self.state.variables)
                value = run_arm()
                for name, each in before.items():
                    if self.state.variables.get(name) is narrow[name]:
                        self.state.variables[name] = each
                return value

            def run_arm() -> StagedValue:
                reason = self.requirements.dropped_arms.get((*key, is_true))
                if reason is not None:
                    self.check(False, test, f"it is {not is_true}", f"the other arm has no graph, since {reason}")
                try:
                    return arm()
                except NotSpeculable as error:
                    if taken == {is_true} or (*key, not is_true) in self.requirements.dropped_arms:
                        raise
                    self.requirements.dropped_arms[*key, is_true] = str(error)
                    raise Restart from None

            return run

        return self.branch(predicate, guarded(True, then), guarded(False, otherwise))

    def evaluate_test(self, test: ast.expr) -> Any:
        """The truth of a test. As in Python, each operand of `and`, `or` and `not` is asked once for its own."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                truth = self.evaluate_test(operand)
                return not truth if isinstance(truth, bool) else self.emit("logical_not", truth)
            case ast.BoolOp(op=op, values=operands):
                is_and = isinstance(op, ast.And)

                def go(position: int) -> Any:
                    predicate = self.evaluate_test(operands[position])
                    if position == len(operands) - 1:
                        return predicate

                    def rest() -> StagedValue:
                        self.narrow(operands[position], is_and)
                        return self.predicate_value(go(position + 1))

                    def decided() -> StagedValue:
                        return self.constant(not is_and)

                    arms = (rest, decided) if is_and else (decided, rest)
                    return self.truth(self.branch(predicate, *arms), test)

                return go(0)
        return self.truth(self.evaluate(test), test)

    def narrow(self, test: ast.expr, is_true: bool) -> None:
        """Narrow the variables that a test has tested, in an arm; not where the test itself may assign variables, with
        `:=` or in a nested function that it calls."""
        if not any(isinstance(node, ast.NamedExpr) for node in ast.walk(test)) and not self._calls_nested(test):
            self._narrow(test, is_true)

    def _calls_nested(self, test: ast.expr) -> bool:
        """Whether an expression may call a nested function that assigns a variable of the function around it."""
        if not any(isinstance(node, ast.Call) for node in ast.walk(test)):
            return False
        function: Any = self.stack[-1].function
        return any(isinstance(node, ast.Nonlocal) for node in ast.walk(self._node(function)))

    def _narrow(self, test: ast.expr, is_true: bool) -> None:
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._narrow(operand, not is_true)
            case ast.BoolOp(op=ast.And(), values=values) if is_true:
                for each in values:
                    self._narrow(each, True)
            case ast.BoolOp(op=ast.Or(), values=values) if not is_true:
                for each in values:
                    self._narrow(each, False)
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]
            ):
                self._narrow_none(name, is_true == isinstance(op, ast.Is))
            case ast.Name(id=name):
                if is_true:
                    self._narrow_none(name, False)

    def _narrow_none(self, name: str, is_none: bool) -> None:
        value = self.state.variables.get(name)
        if value is None:
            return
        layout = value.layout
        if isinstance(layout, ReferenceLayout) and layout.is_optional:
            narrow = StagedValue(ReferenceLayout(layout.classes, False), value.leaves)
            self.state.variables[name] = StagedValue(NONE, ()) if is_none else narrow
        elif isinstance(layout, UnionLayout) and NONE in layout.options:
            options = [each for each in layout.options if each != NONE]
            if is_none:
                self.state.variables[name] = StagedValue(NONE, ())
            elif len(options) == 1:
                self.state.variables[name] = self.option(value, layout.options.index(options[0]))

    def _run_assert(self, statement: ast.Assert) -> None:
        predicate = self.evaluate_test(statement.test)
        self.check(predicate, statement.test, "it is true", "Python raises AssertionError where it is not")

    def _run_raise(self, statement: ast.Raise) -> None:
        self.check(False, statement, "it is not reached", "Python raises the exception")

    def _run_try(self, statement: ast.Try) -> None:
        """`try`: an exception is a failed assertion, after which Python runs the call; so the graph has no handler."""
        self.run_block([*statement.body, *statement.orelse])
        self._run_cleanup(lambda: self.run_block(statement.finalbody))

    def _run_cleanup(self, action: Callable[[], object]) -> None:
        """Do what follows a block, however it is left; an exit of its own replaces that of the block."""
        exit_, result = self.state.exit, self.state.result
        self.state.exit = self.constant(RUNNING)
        action()
        if isinstance(self.state.exit.layout, ConstantLayout):
            if self.state.exit.layout.value == RUNNING:
                self.state.exit, self.state.result = exit_, result
            return
        raise NotSpeculable("a `finally` that returns on some paths has no graph")

    def _run_tape(self, statement: ast.With, item: ast.withitem, call: ast.Call) -> None:
        """`with tl.Tape() as tape`."""
        if call.args or find_exits(statement.body):
            raise NotSpeculable("`with` of a tape that is left by return, break or continue has no graph")
        is_persistent = [self.evaluate(each.value) for each in call.keywords if each.arg == "persistent"]
        if len(is_persistent) < len(call.keywords):
            raise NotSpeculable("these options of tl.Tape have no graph")
        tape = training.open_tape(self, is_persistent, statement)

        def run() -> None:
            if item.optional_vars is not None:
                self.assign(item.optional_vars, self.constant(tape))
            self.run_block(statement.body)

        training.record(self, tape, run)

    def _run_with(self, statement: ast.With) -> None:
        first = statement.items[0]
        if isinstance(first.context_expr, ast.Call) and self._is_value(first.context_expr.func, Tape):
            if len(statement.items) > 1:
                raise NotSpeculable("`with` of a tape and another context manager has no graph")
            self._run_tape(statement, first, first.context_expr)
            return
        managers = list[StagedValue]()
        for item in statement.items:
            manager = self.evaluate(item.context_expr)
            if not isinstance(manager.layout, ReferenceLayout):
                raise NotSpeculable(f"`with` of {manager.layout} has no graph")
            managers.append(manager)
            entered = self.call_special(manager, "__enter__", (), item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered)
        self.run_block(statement.body)
        nothing = StagedValue(NONE, ())
        for manager, item in zip(reversed(managers), reversed(statement.items), strict=True):
            self._run_cleanup(
                lambda manager=manager, item=item: self.call_special(  # type: ignore[misc]
                    manager, "__exit__", [nothing] * 3, item.context_expr
                )
            )

    def _run_functiondef(self, statement: ast.FunctionDef) -> None:
        if statement.decorator_list:
            raise NotSpeculable("a nested function with a decorator has no graph")
        self.assign(ast.Name(statement.name, ast.Store()), self._nested_function(statement))

    def _evaluate_lambda(self, node: ast.Lambda) -> StagedValue:
        return self._nested_function(node)

    def _nested_function(self, node: FunctionNode) -> StagedValue:
        frame = self.stack[-1]
        key = (id(node), frame.numbers)
        return self.constant(self.nested_functions.setdefault(key, NestedFunction(node, frame)))

    def _call_nested(
        self, nested: NestedFunction, arguments: list[StagedValue], keywords: dict[str, StagedValue], node: ast.AST
    ) -> StagedValue:
        """A call of a nested function, in place: it has the variables of the function around it."""
        frame = self.stack[-1]
        if frame.numbers[: len(nested.frame.numbers)] != nested.frame.numbers:
            raise NotSpeculable("a nested function is called outside of the function around it")
        if (frame.hidden_names - nested.frame.hidden_names) & nested.frame.local_names:
            raise NotSpeculable("a nested function is called where a variable of the function around it is hidden")
        if len(self.stack) > MAX_INLINED:
            raise NotSpeculable("a nested function is recursive")
        tree, name = nested.node.args, getattr(nested.node, "name", "lambda")
        if any(not isinstance(each, ast.Constant) for each in (*tree.defaults, *tree.kw_defaults) if each):
            raise NotSpeculable("a nested function with a default that is no constant has no graph")
        positional = [each.arg for each in (*tree.posonlyargs, *tree.args)]
        defaults = dict(zip(positional[::-1], tree.defaults[::-1], strict=False))
        defaults |= {each.arg: value for each, value in zip(tree.kwonlyargs, tree.kw_defaults, strict=True) if value}
        values = {key: self.constant(default.value) for key, default in defaults.items()}  # type: ignore[attr-defined]
        bound = self._bind(name, tree, values, arguments, keywords, node)
        local_names = function_scope(nested.node).local_names
        outer = self.state
        hidden = {key: value for key, value in outer.variables.items() if key in local_names}
        variables = {key: value for key, value in outer.variables.items() if key not in local_names}
        self.state = replace(outer.copy(), variables=variables | bound)
        self.state.exit, self.state.result = self.constant(RUNNING), StagedValue(MISSING, ())
        function: Any = nested.frame.function
        value = self._run_function(function, nested.node, nested.frame)
        variables = {key: each for key, each in self.state.variables.items() if key not in local_names}
        self.state.variables = variables | hidden
        self.state.exit, self.state.result = outer.exit, outer.result
        return value

    def _run_while(self, statement: ast.While) -> None:
        def test() -> Any:
            return self.evaluate_test(statement.test)

        self._run_loop(statement, test, lambda: None)

    def _run_for(self, statement: ast.For) -> None:
        call = statement.iter
        if isinstance(call, ast.Call) and self._is_builtin(call.func, range) and not call.keywords:
            self._run_range(statement, [self.evaluate(each) for each in call.args])
            return
        iteration = self._iteration(statement.iter)
        if isinstance(iteration, containers.Iteration):
            self._run_iteration(statement, iteration)
        else:
            self._run_unrolled(statement, iteration)

    def _run_unrolled(self, statement: ast.For, items: Sequence[StagedValue]) -> None:
        if len(items) > MAX_UNROLLED or find_exits(statement.body) or statement.orelse:
            raise NotSpeculable(f"a loop over `{ast.unparse(statement.iter)}` has no graph")
        for item in items:
            self.assign(statement.target, item)
            self.run_block(statement.body)

    def _iteration(self, node: ast.expr) -> containers.Iteration | list[StagedValue]:
        """The iteration of a list of the table; the items of a tuple, a static list or a new one; and of `enumerate`,
        `zip` or `reversed` of such."""
        if isinstance(node, ast.Call) and not any(isinstance(each, ast.Starred) for each in node.args):
            for function in (zip, enumerate, reversed):
                if not node.keywords and node.args and self._is_builtin(node.func, function):
                    parts = [self._iteration(each) for each in node.args]
                    if function is zip or len(parts) == 1:
                        return self._combine(function, parts, node)
        value = self.evaluate(node)
        if isinstance(value.layout, ReferenceLayout):
            return containers.iterate_list(self, value, node)
        is_tuple = isinstance(value.layout, TupleLayout) or (
            isinstance(value.layout, ConstantLayout) and type(value.layout.value) is tuple
        )
        if not is_tuple and not self.is_static(value, list):
            raise NotSpeculable(f"a loop over a {value.layout} has no graph")
        return self.items(value)

    def _combine(
        self, function: Any, parts: Sequence[containers.Iteration | list[StagedValue]], node: ast.expr
    ) -> containers.Iteration | list[StagedValue]:
        """`zip`, `enumerate` or `reversed`."""
        iterations = [part for part in parts if isinstance(part, containers.Iteration)]
        lists = [part for part in parts if isinstance(part, list)]
        if (iterations and lists) or (iterations and function is reversed):
            raise NotSpeculable(f"`{ast.unparse(node)}` has no graph")
        if iterations:
            is_zip = function is zip
            return containers.zipped(self, iterations) if is_zip else containers.enumerated(self, iterations[0])
        if function is reversed:
            return lists[0][::-1]
        if function is enumerate:
            lists = [[self.constant(position) for position in range(len(lists[0]))], lists[0]]
        return [self.tuple_of(row) for row in zip(*lists, strict=False)]

    def _run_iteration(self, statement: ast.For, iteration: containers.Iteration) -> None:
        name = f" counter {statement.lineno}:{statement.col_offset}"
        self.state.variables[name] = self.number("i", 0)

        def begin() -> None:
            position = self.state.variables[name].leaves[0]
            self.state.variables[name] = self.number("i", self.emit("add", position, 1))
            self.assign(statement.target, iteration.item(position))

        self._run_loop(statement, lambda: iteration.has_item(self.state.variables[name].leaves[0]), begin)
        self.state.variables.pop(name, None)

    def _run_range(self, statement: ast.For, bounds: list[StagedValue]) -> None:
        if not 1 <= len(bounds) <= 3 or any(number_kind(each.layout) not in ("i", "b") for each in bounds):
            raise NotSpeculable("range() of what is not an int")
        start, stop = (self.constant(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2].layout if len(bounds) == 3 else ConstantLayout(1)
        stride = step.value if isinstance(step, ConstantLayout) else 0
        if type(stride) is not int or not 0 < abs(stride) < MAX_INTEGER:
            raise NotSpeculable("a range whose step is not a constant")
        name = f" counter {statement.lineno}:{statement.col_offset}"
        limit = arithmetic.as_kind(self, stop, "i")
        self.state.variables[name] = self.number("i", arithmetic.as_kind(self, start, "i"))
        op = "less" if stride > 0 else "greater"

        def test() -> Any:
            return self.emit(op, self.state.variables[name].leaves[0], limit)

        def begin() -> None:
            counter = self.state.variables[name]
            self.state.variables[name] = self.number("i", self.emit("add", counter.leaves[0], stride))
            self.assign(statement.target, counter)

        self._run_loop(statement, test, begin)
        self.state.variables.pop(name, None)

    def _run_loop(
        self,
        statement: ast.While | ast.For,
        test: Callable[[], Any],
        begin: Callable[[], None],
    ) -> None:
        exits = find_exits(statement.body)
        outer = self.state.exit

        def run_test() -> Any:
            exit_ = self.state.exit
            if isinstance(exit_.layout, ConstantLayout):
                return test() if exit_.layout.value == RUNNING else False
            is_running = self.emit("equal", exit_.leaves[0], RUNNING)
            go_on = self.branch(is_running, lambda: self.predicate_value(test()), lambda: self.constant(False))
            return self.truth(go_on, statement)

        def run_body() -> None:
            self.state.exit = self.constant(RUNNING)
            begin()
            self.run_block(statement.body)
            exit_ = self.state.exit
            if exits and isinstance(exit_.layout, ConstantLayout):
                if exit_.layout.value == CONTINUE:
                    self.state.exit = self.constant(RUNNING)
            elif exits:
                is_continue = self.emit("equal", exit_.leaves[0], CONTINUE)
                self.state.exit = self.number("i", self.emit("where", is_continue, RUNNING, exit_.leaves[0]))

        self.loop(run_test, run_body)
        exit_ = self.state.exit
        if statement.orelse:
            no_break = (
                exit_.layout.value == RUNNING
                if isinstance(exit_.layout, ConstantLayout)
                else self.emit("equal", exit_.leaves[0], RUNNING)
            )

            def run_else() -> StagedValue:
                self.state.exit = outer
                self.run_block(statement.orelse)
                return StagedValue(NONE, ())

            self.branch(no_break, run_else, lambda: StagedValue(NONE, ()))
            exit_ = self.state.exit
        if not any(isinstance(each, ast.Return) for each in exits) and not find_exits(statement.orelse):
            self.state.exit = outer
            return
        if not isinstance(exit_.layout, ConstantLayout):
            is_break = self.emit("equal", exit_.leaves[0], BREAK)
            self.state.exit = self.number("i", self.emit("where", is_break, RUNNING, exit_.leaves[0]))
        elif exit_.layout.value == BREAK:
            self.state.exit = outer

    def assign(self, target: ast.expr, value: StagedValue) -> None:
        """Assign a value to a target."""
        match target:
            case ast.Name(id=name):
                function, local_names = self.stack[-1][:2]
                if name in local_names:
                    self.state.variables[name] = value
                else:
                    self.write_heap(self._variable_key(function, name), value, target)
            case ast.Attribute(value=owner, attr=name):
                self.write_attribute(self.evaluate_owner(owner), name, value, target)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                if any(isinstance(each, ast.Starred) for each in targets):
                    raise NotSpeculable("a starred target has no graph")
                if not isinstance(value.layout, TupleLayout) or len(value.layout.items) != len(targets):
                    raise NotSpeculable(f"a {value.layout} is unpacked into {len(targets)} targets")
                for each, item in zip(targets, self.items(value), strict=True):
                    self.assign(each, item)
            case ast.Subscript(value=owner, slice=index):
                self.write_item(self.evaluate(owner), self.evaluate(index), value, target)
            case _:
                raise NotSpeculable(f"`{ast.unparse(target)}` is assigned")

    # Expressions

    def evaluate(self, node: ast.expr) -> StagedValue:
        """The value of an expression."""
        outer, self.current_node = self.current_node, node
        method = getattr(self, f"_evaluate_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotSpeculable(f"`{ast.unparse(node)}` ({type(node).__name__}) has no graph")
        value: StagedValue = method(node)
        self.current_node = outer
        return self._as_static(value)

    def _as_static(self, value: StagedValue) -> StagedValue:
        """A value that was read. A variable or optimizer must be static."""
        kinds = [type(each.value) for each in options_of(value.layout) if isinstance(each, ConstantLayout)]
        if any(issubclass(kind, Variable | Optimizer) for kind in kinds):
            self.require_static_objects()
            raise NotSpeculable("a variable or optimizer of objects that are not static has no graph")
        return value

    def _evaluate_constant(self, node: ast.Constant) -> StagedValue:
        if type(node.value) is int and abs(node.value) >= MAX_INTEGER:
            raise NotSpeculable(f"{node.value} has more than 62 bits")
        if type(node.value) in (complex, bytes):
            raise NotSpeculable(f"a {type(node.value).__name__} has no graph")
        return self.constant(node.value)

    def _evaluate_name(self, node: ast.Name) -> StagedValue:
        value = self.read_name(node.id, node)
        new = self.new_object(value)
        if new is not None:
            self.publish(new)
        return value

    def read_name(self, name: str, node: ast.AST) -> StagedValue:
        """The value of a variable; a local one that may be unassigned is assumed to be assigned."""
        function, local_names = self.stack[-1][:2]
        if name in local_names:
            return self.present(self.state.variables.get(name, StagedValue(MISSING, ())), node, f"{name} is assigned")
        key = self._variable_key(function, name)
        if isinstance(key, VariableKey):
            value = StagedValue(self.layout_of_key(key), self.leaves_of(key))
            if value.layout == MISSING:  # it is no variable of the module, so a builtin
                return self._read_builtin(function, name)
            return self.present(value, node, f"{name} is assigned")
        return key

    def _read_builtin(self, function: FunctionType, name: str) -> StagedValue:
        namespace = function.__globals__.get("__builtins__", builtins)
        namespace = vars(namespace) if isinstance(namespace, ModuleType) else namespace
        if name not in namespace:
            raise NotSpeculable(f"{name} is not defined")
        key = VariableKey(namespace, name)
        return StagedValue(self.layout_of_key(key), self.leaves_of(key))

    def _variable_key(self, function: FunctionType, name: str) -> VariableKey:
        names = function.__code__.co_freevars
        if name in names:
            return VariableKey((function.__closure__ or ())[names.index(name)], name)
        return VariableKey(function.__globals__, name)

    def _evaluate_attribute(self, node: ast.Attribute) -> StagedValue:
        return self.read_attribute(self.evaluate_owner(node.value), node.attr, node)

    def evaluate_owner(self, node: ast.expr) -> StagedValue:
        """The value of an expression of which only an attribute is used, so an object in `__init__` stays private."""
        return self._as_static(self.read_name(node.id, node)) if isinstance(node, ast.Name) else self.evaluate(node)

    def read_attribute(self, owner: StagedValue, name: str, node: ast.AST) -> StagedValue:
        """`owner.name`."""
        return self.dispatch(owner, lambda each: self._read_attribute(each, name, node))

    def _read_attribute(self, owner: StagedValue, name: str, node: ast.AST) -> StagedValue:
        match owner.layout:
            case StaticLayout(static) if static.owner is Variable or issubclass(static.owner, Optimizer):
                return training.read_attribute(self, static, name)
            case ReferenceLayout() | StaticLayout():
                return self.for_each_class(owner, node, lambda kind, value: self._read_field(kind, value, name, node))
            case ConstantLayout(value) if type(value) is ModuleType:
                if name not in vars(value):
                    raise NotSpeculable(f"module {value.__name__} has no {name} of its own")
                key = VariableKey(vars(value), name)
                return StagedValue(self.layout_of_key(key), self.leaves_of(key))
            case ConstantLayout(value) if type(value) is type:
                return self._read_class_attribute(value, name)
            case ArrayLayout(type_) if name == "dtype":
                return self.constant(type_.dtype)
            case ArrayLayout(type_) if name == "ndim" and type_.shape is not None:
                return self.constant(len(type_.shape))
            case ArrayLayout(type_) if name == "shape" and type_.shape is not None and None not in type_.shape:
                return self.tuple_of([self.constant(size) for size in type_.shape])
            case ArrayLayout() if name in ("T", "mT"):
                return self.wrap_array(self.located(lambda: getattr(owner.leaves[0], name)))
        if owner.layout == NONE:
            self.check(False, node, "it is not None", "Python raises AttributeError where it is")
        raise NotSpeculable(f"attribute {name} of {owner.layout} has no graph")

    def _read_field(self, kind: type, owner: StagedValue, name: str, node: ast.AST) -> StagedValue:
        if issubclass(kind, Pool) or kind in POOLS:
            raise NotSpeculable(f"attribute {name} of a {class_name(kind)} has no graph")
        if name == "__class__" and self.require_class_value(kind, name) is object.__dict__[name]:
            return self.constant(kind)
        member = self.require_member(kind, name)
        if isinstance(member, property):
            if not isinstance(member.fget, FunctionType):
                raise NotSpeculable(f"property {kind.__qualname__}.{name} has no Python code")
            return self.call_python(member.fget, [owner], {}, node)
        if member is not UNASSIGNED and _is_data_descriptor(member):
            raise NotSpeculable(f"{kind.__qualname__}.{name} is a descriptor")
        key = self.attribute_key(kind, owner, name)
        layout = self.layout_of_key(key)
        if layout == MISSING and member is not UNASSIGNED:
            self._require_class_level(kind, name)
            return self._read_class_attribute(kind, name)
        new = self.new_object(owner)
        if new is not None and not new.has(name) and MISSING not in options_of(layout):
            self.widen(key, join(layout, MISSING))
        if member is UNASSIGNED or MISSING not in options_of(layout):
            return self.read_row(key, owner, node)
        row = self.row(key, owner)
        is_missing = self.emit("equal", row.leaves[0], options_of(layout).index(MISSING))
        return self.branch(is_missing, lambda: self._read_class_attribute(kind, name), lambda: self.assigned(row))

    def _read_class_attribute(self, owner: type, name: str) -> StagedValue:
        """`owner.name` of a class: a function, or a variable of the class that has it."""
        if class_problem(owner) is not None:
            raise NotSpeculable(f"attribute {name} of {owner.__qualname__} has no graph")
        position = next((k for k, each in enumerate(owner.__mro__) if name in each.__dict__), None)
        if position is None:
            raise NotSpeculable(f"{owner.__qualname__} has no attribute {name}")
        definer = owner.__mro__[position]
        member = definer.__dict__[name]
        if isinstance(member, FunctionType | staticmethod) or _is_data_descriptor(member):
            member = self.require_class_value(owner, name)
            if isinstance(member, staticmethod):
                return self.constant(member.__func__)
            if isinstance(member, FunctionType):
                return self.constant(member)
            raise NotSpeculable(f"{owner.__qualname__}.{name} is a descriptor")
        self.resolution_orders[owner] = owner.__mro__
        self.requirements.absent_class_names |= {(before, name) for before in owner.__mro__[:position]}
        key = VariableKey(definer, name)
        return StagedValue(self.layout_of_key(key), self.leaves_of(key))

    def require_member(self, owner: type, name: str) -> Any:
        """What a class has under the name of an attribute of instances: a descriptor, a function, a variable, whose
        value may change, or UNASSIGNED."""
        member = static_attribute(owner, name, UNASSIGNED)
        if member is UNASSIGNED or isinstance(member, FunctionType) or _is_data_descriptor(member):
            return self.require_class_value(owner, name)
        self.requirements.class_variables.add((owner, name))
        return member

    def _require_class_level(self, kind: type, name: str) -> None:
        self.requirements.absent_names.setdefault(kind, set()).add(name)

    def write_attribute(self, owner: StagedValue, name: str, value: StagedValue, node: ast.AST) -> None:
        """`owner.name = value`."""

        def write(kind: type, instance: StagedValue) -> StagedValue:
            if issubclass(kind, Pool) or kind in POOLS or kind is Variable:
                raise NotSpeculable(f"an attribute of a {class_name(kind)} is assigned")
            member = self.require_member(kind, name)
            if isinstance(member, property) or _is_data_descriptor(member):
                if isinstance(member, property) and isinstance(member.fset, FunctionType):
                    self.call_python(member.fset, [instance, value], {}, node)
                    return StagedValue(NONE, ())
                raise NotSpeculable(f"{kind.__qualname__}.{name} is a descriptor")
            if issubclass(kind, Optimizer) and name != "rate":
                raise NotSpeculable(f"{name} of an optimizer is assigned")
            if static_attribute(kind, "__setattr__") is not object.__setattr__ and not self.is_in_init:
                self.check(False, node, "it is not reached", "Python raises FrozenInstanceError")
            key, new = self.attribute_key(kind, instance, name), self.new_object(instance)
            find_row = partial(self.index_in, key, instance) if isinstance(key, FieldKey) else None
            self.write_heap(key, value, node, find_row, is_new=new is not None)
            if new is not None:
                self.replace_new_object(new, new.assign(name))
            return StagedValue(NONE, ())

        def write_each(each: StagedValue) -> StagedValue:
            if isinstance(each.layout, ConstantLayout) and type(each.layout.value) is type:
                self._write_class_attribute(each.layout.value, name, value, node)
                return StagedValue(NONE, ())
            if not isinstance(each.layout, ReferenceLayout | StaticLayout):
                if each.layout == NONE:
                    self.check(False, node, "it is not None", "Python raises AttributeError where it is")
                raise NotSpeculable(f"an assignment to an attribute of {each.layout} has no graph")
            return self.for_each_class(each, node, write)

        self.dispatch(owner, write_each)

    def _write_class_attribute(self, owner: type, name: str, value: StagedValue, node: ast.AST) -> None:
        if class_problem(owner) is not None or name not in owner.__dict__:
            raise NotSpeculable(f"{owner.__qualname__}.{name} is assigned, which the class does not have itself")
        member = owner.__dict__[name]
        is_variable = not isinstance(member, FunctionType | staticmethod) and not _is_data_descriptor(member)
        if not is_variable or name.startswith("__"):
            raise NotSpeculable(f"{owner.__qualname__}.{name} is assigned, which is no variable")
        self.write_heap(VariableKey(owner, name), value, node)

    def _evaluate_binop(self, node: ast.BinOp) -> StagedValue:
        one = self.evaluate(node.left)
        return self.binary(node.op, one, self.evaluate(node.right), node)

    def _evaluate_unaryop(self, node: ast.UnaryOp) -> StagedValue:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(value, node.operand)
            return self.predicate_value(not truth if isinstance(truth, bool) else self.emit("logical_not", truth))
        name = type(node.op).__name__
        return self.dispatch(self.read_variable(value), lambda each: arithmetic.unary(self, name, each, node))

    def _evaluate_boolop(self, node: ast.BoolOp) -> StagedValue:
        def go(values: list[ast.expr]) -> StagedValue:
            one = self.evaluate(values[0])
            if len(values) == 1:
                return one
            if isinstance(values[0], ast.BoolOp) and any(map(self._has_own_truth, options_of(one.layout))):
                raise NotSpeculable(
                    "`and` and `or` of objects with a truth of their own, in one another, have no graph"
                )
            predicate = self.truth(one, values[0])

            def rest(is_true: bool) -> StagedValue:
                self.narrow(values[0], is_true)
                return go(values[1:])

            if isinstance(node.op, ast.And):
                return self.branch(predicate, lambda: rest(True), lambda: one)
            return self.branch(predicate, lambda: one, lambda: rest(False))

        return go(node.values)

    def _evaluate_ifexp(self, node: ast.IfExp) -> StagedValue:
        return self.choose(node.test, lambda: self.evaluate(node.body), lambda: self.evaluate(node.orelse))

    def _evaluate_compare(self, node: ast.Compare) -> StagedValue:
        def go(one: StagedValue, ops: Sequence[ast.cmpop], operands: Sequence[ast.expr]) -> StagedValue:
            other = self.evaluate(operands[0])
            result = self.compare(ops[0], one, other, node)
            if len(ops) == 1:
                return result
            predicate = self.truth(result, node)
            return self.branch(predicate, lambda: go(other, ops[1:], operands[1:]), lambda: result)

        return go(self.evaluate(node.left), node.ops, node.comparators)

    def compare(self, op: ast.cmpop, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        """A comparison of two values."""
        name = type(op).__name__
        if name in ("In", "NotIn"):
            return self._contains(name, one, other, node)
        operands = [one, other] if name in ("Is", "IsNot") else [self.read_variable(one), self.read_variable(other)]
        return self.dispatch_all(operands, lambda pair: self._compare(name, pair[0], pair[1], node))

    def _contains(self, name: str, item: StagedValue, container: StagedValue, node: ast.AST) -> StagedValue:
        if isinstance(container.layout, StaticLayout):
            is_in = static_containers.contains_key(self, container.layout.object, item)
            return self.constant(is_in is (name == "In"))
        if isinstance(container.layout, ReferenceLayout):

            def has_item(kind: type, each: StagedValue) -> StagedValue:
                if issubclass(kind, DictPool):
                    return containers.contains_key(self, kind, each, item)
                if issubclass(kind, ListPool):
                    return self.call_library(library.contains, [each, item])
                truth = self.truth(self.call_special(each, "__contains__", [item], node), node)
                return self.predicate_value(truth)

            has_key = self.truth(self.for_each_class(container, node, has_item), node)
            if name == "NotIn":
                has_key = not has_key if isinstance(has_key, bool) else self.emit("logical_not", has_key)
            return self.predicate_value(has_key)
        is_tuple = isinstance(container.layout, TupleLayout) or (
            isinstance(container.layout, ConstantLayout) and type(container.layout.value) is tuple
        )
        values = (item, *(self.items(container) if is_tuple else ()))
        if any(number_kind(option) == "f" for each in values for option in options_of(each.layout)):
            raise NotSpeculable("`in` with floats has no graph: NaN is itself, but not equal to itself")
        if not is_tuple:
            raise NotSpeculable(f"`in` a {container.layout} has no graph")
        if any(self._has_own_comparison(option) for each in values for option in options_of(each.layout)):
            raise NotSpeculable("`in` a tuple with objects with a comparison of their own has no graph")
        found: Any = False
        for each in self.items(container):
            equal = self.truth(
                self.dispatch_all([item, each], lambda pair: self._compare("Eq", pair[0], pair[1], node)), node
            )
            if isinstance(equal, bool):
                found = True if equal else found
            else:
                found = found if found is True else equal if found is False else self.emit("logical_or", found, equal)
        if name == "NotIn":
            found = not found if isinstance(found, bool) else self.emit("logical_not", found)
        return self.predicate_value(found)

    def _compare(self, name: str, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        layouts = one.layout, other.layout
        if any(isinstance(each, ArrayLayout) for each in layouts) and name not in ("Is", "IsNot"):
            return arithmetic.compare(self, name, one, other, node)
        kinds = [number_kind(each) for each in layouts]
        if name in ("Is", "IsNot"):
            same = self._is_same(one, other)
            if name == "IsNot":
                same = not same if isinstance(same, bool) else self.emit("logical_not", same)
            return self.predicate_value(same)
        if None not in kinds:
            return arithmetic.compare(self, name, one, other, node)
        if any(isinstance(each, ReferenceLayout) and self._has_comparison(each) for each in layouts):
            return self._compare_objects(name, one, other, node)
        is_of_texts = (
            text.is_text(one) and text.is_text(other) and any(isinstance(each, TextLayout) for each in layouts)
        )
        if name in ("Eq", "NotEq") and is_of_texts:
            handles = [text.handle_of(self, each) for each in (one, other)]
            return self.predicate_value(self.emit("equal" if name == "Eq" else "not_equal", *handles))
        if name not in ("Eq", "NotEq"):
            raise NotSpeculable(f"{layouts[0]} and {layouts[1]} are compared by order")
        for layout in layouts:
            if isinstance(layout, ReferenceLayout):
                for owner in layout.classes:
                    if issubclass(owner, Pool):
                        raise NotSpeculable(f"`==` of a {class_name(owner)} has no graph")
                    if self.require_class_value(owner, "__eq__") is not object.__eq__:
                        raise NotSpeculable(f"{owner.__qualname__} has __eq__")
                    if self.require_class_value(owner, "__ne__") is not object.__ne__:
                        raise NotSpeculable(f"{owner.__qualname__} has __ne__")
            elif isinstance(layout, TupleLayout | StaticLayout) or (
                isinstance(layout, ConstantLayout)
                and type(layout.value) not in (bool, int, float, str, type(None))
                and type(layout.value) not in (FunctionType, type)
            ):
                raise NotSpeculable(f"`==` of a {layout} has no graph")
        if all(isinstance(each, ConstantLayout) for each in layouts):
            same = bool(layouts[0].value == layouts[1].value)  # type: ignore[union-attr]
        else:
            same = self._is_same(one, other)
        if name == "NotEq":
            same = not same if isinstance(same, bool) else self.emit("logical_not", same)
        return self.predicate_value(same)

    def _has_comparison(self, layout: ReferenceLayout) -> bool:
        """Whether a class of objects defines a comparison."""
        return any(
            not issubclass(owner, Pool)
            and any(
                self.require_class_value(owner, f"__{name}__") is not getattr(object, f"__{name}__") for name in _ORDER
            )
            for owner in sorted(layout.classes, key=str)
        )

    def _has_own_truth(self, layout: Layout) -> bool:
        """Whether the truth of a value may be a call of Python code."""
        if not isinstance(layout, ReferenceLayout):
            return False
        owners = [owner for owner in sorted(layout.classes, key=str) if not issubclass(owner, Pool)]
        return any(
            self.require_class_value(owner, name) is not UNASSIGNED
            for owner in owners
            for name in ("__bool__", "__len__")
        )

    def _has_own_comparison(self, layout: Layout) -> bool:
        """Whether `==` of a value may be a call of Python code."""
        if isinstance(layout, StaticLayout):
            return True
        return isinstance(layout, ReferenceLayout) and self._has_comparison(layout)

    def _compare_objects(self, name: str, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        """A comparison of which an operand is an object whose class defines it."""
        special = f"__{_COMPARISON_METHODS[name]}__"
        reflected = f"__{_COMPARISON_METHODS[_REFLECTED[name]]}__"
        if name == "NotEq":
            equal = self.truth(self._compare_objects("Eq", one, other, node), node)
            owners = [
                each
                for part in (one, other)
                if isinstance(part.layout, ReferenceLayout)
                for each in part.layout.classes
            ]
            if any(self.require_class_value(owner, "__ne__") is not object.__ne__ for owner in owners):
                raise NotSpeculable("a class has __ne__")
            return self.predicate_value(not equal if isinstance(equal, bool) else self.emit("logical_not", equal))
        if not isinstance(one.layout, ReferenceLayout):
            return self.call_special(other, reflected, [one], node)
        if isinstance(other.layout, ReferenceLayout):
            self.refuse_reflection(one.layout, other.layout, reflected)

        def compare(kind: type, instance: StagedValue) -> StagedValue:
            method = UNASSIGNED if issubclass(kind, Pool) else self.require_class_value(kind, special)
            is_of_dataclass = not issubclass(kind, Pool) and dataclass_of(kind, special) is not None
            if isinstance(python_function(method), FunctionType) and not is_of_dataclass:
                return self.call_special(instance, special, [other], node)
            if name != "Eq" or not (is_of_dataclass or method is object.__eq__):
                raise NotSpeculable(f"{class_name(kind)} has no {special} of Python code")
            if not isinstance(other.layout, ReferenceLayout):
                return self.constant(False)
            return self.for_each_class(other, node, lambda owner, each: compare_with(kind, instance, owner, each))

        def compare_with(kind: type, instance: StagedValue, owner: type, each: StagedValue) -> StagedValue:
            if dataclass_of(kind, special) is not None:
                if owner is kind:
                    return self._compare_dataclasses(kind, instance, each, node)
                raise NotSpeculable("`==` of dataclasses of two classes has no graph")
            method = self.require_class_value(owner, reflected)
            if method is object.__eq__:
                return self.predicate_value(self._is_same(instance, each))
            return self.call_special(each, reflected, [instance], node)

        return self.for_each_class(one, node, compare)

    def _compare_dataclasses(self, owner: type, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        """`==` of two instances of a dataclass: that of tuples of their fields."""
        names = [each.name for each in fields_of(dataclass_of(owner, "__eq__")) if each.compare]

        def go(rest: list[str]) -> StagedValue:
            if not rest:
                return self.constant(True)
            values = [self.read_attribute(each, rest[0], node) for each in (one, other)]
            if any(not isinstance(each.layout, NumberLayout) for each in values):
                raise NotSpeculable("`==` of dataclasses with fields other than numbers has no graph")
            for each in values:
                if number_kind(each.layout) == "f":
                    is_number = self.emit("equal", each.leaves[0], each.leaves[0])
                    self.check(is_number, node, "it is not NaN", "tuples with the same NaN are equal")
            predicate = self.truth(self._compare("Eq", values[0], values[1], node), node)
            return self.branch(predicate, lambda: go(rest[1:]), lambda: self.constant(False))

        return go(names)

    def _is_same(self, one: StagedValue, other: StagedValue) -> Any:
        """Whether two values are one object: a Python bool, or a symbolic one."""
        layouts = one.layout, other.layout
        for value, layout in ((one, layouts[1]), (other, layouts[0])):
            if layout == NONE:
                own = value.layout
                if isinstance(own, ReferenceLayout):
                    return self.emit("less", value.leaves[0], 0) if own.is_optional else False
                return own == NONE
        match layouts:
            case StaticLayout(), StaticLayout():
                return layouts[0] == layouts[1]
            case (StaticLayout(), ReferenceLayout() | NumberLayout()) | (
                ReferenceLayout() | NumberLayout(),
                StaticLayout(),
            ):
                return False
            case ReferenceLayout(), ReferenceLayout():
                return self.emit("equal", one.leaves[0], other.leaves[0])
            case ConstantLayout(), ConstantLayout():
                values = layouts[0].value, layouts[1].value
                if all(isinstance(each, bool | type | FunctionType) for each in values):
                    return values[0] is values[1]
            case NumberLayout("b"), NumberLayout("b"):
                return self.emit("equal", one.leaves[0], other.leaves[0])
            case (NumberLayout("b"), ConstantLayout(bool())) | (ConstantLayout(bool()), NumberLayout("b")):
                return self.emit("equal", self.leaf_of(one), self.leaf_of(other))
            case (ReferenceLayout(), NumberLayout() | ConstantLayout()) | (
                NumberLayout() | ConstantLayout(),
                ReferenceLayout(),
            ):
                return False
        raise NotSpeculable(f"`is` of {layouts[0]} and {layouts[1]} has no graph")

    def _evaluate_tuple(self, node: ast.Tuple) -> StagedValue:
        if any(isinstance(each, ast.Starred) for each in node.elts):
            raise NotSpeculable("a starred item has no graph")
        return self.tuple_of([self.evaluate(each) for each in node.elts])

    def _evaluate_list(self, node: ast.List) -> StagedValue:
        if any(isinstance(each, ast.Starred) for each in node.elts):
            raise NotSpeculable("a starred item has no graph")
        items = [self.evaluate(each) for each in node.elts]
        self.current_node = node
        if self.observation.has_static_objects:
            return self.tuple_of(items, list)
        return containers.new_list(self, items, node)

    def _evaluate_dict(self, node: ast.Dict) -> StagedValue:
        items = [
            (self.evaluate(key), self.evaluate(value)) for key, value in zip(node.keys, node.values, strict=True) if key
        ]
        if len(items) < len(node.keys):
            raise NotSpeculable("`**` in a dict has no graph")
        self.current_node = node
        return containers.new_dict(self, items, node)

    def _evaluate_listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> StagedValue:
        if self.observation.has_static_objects:
            return self._fixed_comprehension(node)
        result = containers.new_list(self, [], node)
        name = f" items {node.lineno}:{node.col_offset}"
        self.state.variables[name] = result

        def append() -> StagedValue:
            item = self.evaluate(node.elt)
            items = self.state.variables[name]
            return self.for_each_class(
                items, node, lambda pool, each: containers.call_method(self, pool, each, "append", [item], node)
            )

        self._run_comprehension(node, ast.Expr(Emission(append)))
        return self.state.variables.pop(name)

    def _run_comprehension(self, node: ast.ListComp | ast.GeneratorExp, body: ast.stmt) -> None:
        """The loops of a comprehension, whose variables are its own; `body` uses its item."""
        names = {each.id for part in node.generators for each in ast.walk(part.target) if isinstance(each, ast.Name)}
        if any(part.is_async for part in node.generators):
            raise NotSpeculable("an asynchronous comprehension has no graph")
        later_names = set(names)
        for position, part in enumerate(node.generators):
            self._require_no_name(part.iter if position else None, later_names)
            later_names -= {each.id for each in ast.walk(part.target) if isinstance(each, ast.Name)}
            for test in part.ifs:
                self._require_no_name(test, later_names)
        statement: ast.stmt = body
        for part in reversed(node.generators):
            for test in reversed(part.ifs):
                statement = ast.copy_location(ast.If(test, [statement], []), test)
            statement = ast.copy_location(ast.For(part.target, part.iter, [statement], []), part.target)
        frame = self.stack[-1]
        hidden = {name: value for name, value in self.state.variables.items() if name in names}
        own_names = frame.hidden_names | names & frame.local_names
        self.stack.append(frame._replace(local_names=frame.local_names | names, hidden_names=own_names))
        try:
            self.run_statement(statement)
        finally:
            self.stack.pop()
        self.state.variables = {k: v for k, v in self.state.variables.items() if k not in names} | hidden

    def _require_no_name(self, node: ast.expr | None, names: set[str]) -> None:
        """Raises NotSpeculable if an expression reads a variable of a comprehension that is assigned later."""
        if node is not None and any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node)):
            raise NotSpeculable("a variable of a comprehension is read before it is assigned")

    def _fixed_comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> StagedValue:
        """A comprehension of one loop, which is unrolled."""
        if len(node.generators) > 1 or node.generators[0].ifs:
            raise NotSpeculable(f"`{ast.unparse(node)}` has no graph beside a tape")
        values = list[StagedValue]()

        def append() -> StagedValue:
            values.append(self.evaluate(node.elt))
            return StagedValue(NONE, ())

        self._run_comprehension(node, ast.Expr(Emission(append)))
        return self.tuple_of(values, list)

    def _evaluate_emission(self, node: Emission) -> StagedValue:
        return node.action()

    def _evaluate_namedexpr(self, node: ast.NamedExpr) -> StagedValue:
        value = self.evaluate(node.value)
        self.assign(node.target, value)
        return value

    def _evaluate_subscript(self, node: ast.Subscript) -> StagedValue:
        value = self.evaluate(node.value)
        return self.read_item(value, self.evaluate(node.slice), node)

    def read_item(self, owner: StagedValue, index: StagedValue, node: ast.AST) -> StagedValue:
        """`owner[index]`."""
        return self.dispatch_all([owner, index], lambda pair: self._read_item(pair[0], pair[1], node))

    def write_item(self, owner: StagedValue, index: StagedValue, value: StagedValue, node: ast.AST) -> None:
        """`owner[index] = value`."""

        def write(pair: Sequence[StagedValue]) -> StagedValue:
            one, position = pair
            if isinstance(one.layout, StaticLayout):
                static_containers.write_item(self, one.layout.object, position, value, node)
                return StagedValue(NONE, ())
            if not isinstance(one.layout, ReferenceLayout):
                raise NotSpeculable(f"an assignment to an item of {one.layout} has no graph")

            def write_one(kind: type, instance: StagedValue) -> StagedValue:
                if not issubclass(kind, Pool):
                    return self.call_special(instance, "__setitem__", [position, value], node)
                containers.write_item(self, kind, instance, position, value, node)
                return StagedValue(NONE, ())

            return self.for_each_class(one, node, write_one)

        self.dispatch_all([owner, index], write)

    def _read_item(self, value: StagedValue, index: StagedValue, node: ast.AST) -> StagedValue:
        value = self.read_variable(value)
        if isinstance(value.layout, StaticLayout):
            return static_containers.read_item(self, value.layout.object, index, node)
        if isinstance(value.layout, ReferenceLayout):

            def read(kind: type, each: StagedValue) -> StagedValue:
                if not issubclass(kind, Pool):
                    return self.call_special(each, "__getitem__", [index], node)
                return containers.read_item(self, kind, each, index, node)

            return self.for_each_class(value, node, read)
        if isinstance(value.layout, ArrayLayout):
            key = self._array_key(index)
            return self.wrap_array(self.located(lambda: value.leaves[0][key]))
        if isinstance(value.layout, TupleLayout) and isinstance(index.layout, ConstantLayout):
            position = index.layout.value
            if type(position) is int and -len(value.layout.items) <= position < len(value.layout.items):
                return self.items(value)[position]
        raise NotSpeculable(f"an item of a {value.layout} has no graph")

    def _array_key(self, index: StagedValue) -> Any:
        """The key of an item of an array: constants, ints and arrays."""
        if isinstance(index.layout, TupleLayout):
            return tuple(self._array_key(each) for each in self.items(index))
        if isinstance(index.layout, ConstantLayout):
            return index.layout.value
        if number_kind(index.layout) == "i" or isinstance(index.layout, ArrayLayout):
            return index.leaves[0]
        raise NotSpeculable(f"an item of an array under a {index.layout} has no graph")

    def _evaluate_slice(self, node: ast.Slice) -> StagedValue:
        parts = [
            self.constant(None) if each is None else self.evaluate(each) for each in (node.lower, node.upper, node.step)
        ]
        bounds = [each.layout.value for each in parts if isinstance(each.layout, ConstantLayout)]
        if len(bounds) < len(parts):
            raise NotSpeculable("a slice with computed bounds has no graph")
        return self.constant(slice(*bounds))

    # Calls

    def _evaluate_call(self, node: ast.Call) -> StagedValue:
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            raise NotSpeculable("a call with * or ** has no graph")
        if isinstance(node.func, ast.Attribute):
            if self._is_super(node.func.value):
                return self._call_super(node.func.attr, node)
            owner = self.evaluate_owner(node.func.value)
            method = node.func.attr
            if training.has_methods(owner):
                if node.keywords:
                    raise NotSpeculable(f"`{ast.unparse(node)}` has keywords")
                values = [self.evaluate(each) for each in node.args]
                self.current_node = node
                return training.call_method(self, owner, method, values, node)
            if isinstance(owner.layout, ReferenceLayout | StaticLayout | UnionLayout):
                return self.dispatch(owner, lambda each: self._call_method(each, method, node))
            if isinstance(owner.layout, ConstantLayout) and type(owner.layout.value) is type:
                member = static_attribute(owner.layout.value, method)
                if isinstance(member, classmethod) and class_problem(owner.layout.value) is None:
                    self.require_class_value(owner.layout.value, method)
                    return self._call_bound(member.__func__, owner, node)
            function = self.read_attribute(owner, method, node.func)
        else:
            for builtin in (any, all):
                if (
                    len(node.args) == 1
                    and isinstance(node.args[0], ast.GeneratorExp)
                    and self._is_builtin(node.func, builtin)
                ):
                    return self._call_quantifier(node, node.args[0], builtin is any)
            function = self.evaluate(node.func)
        arguments, keywords = self._evaluate_arguments(node)
        return self.dispatch(function, lambda each: self._call_value(each, arguments, keywords, node))

    def _call_method(self, owner: StagedValue, name: str, node: ast.Call) -> StagedValue:
        if self.is_static(owner, list, dict):
            self.make_general(owner.layout.object)  # type: ignore[union-attr]
        if not isinstance(owner.layout, ReferenceLayout | StaticLayout):
            if owner.layout == NONE:
                self.check(False, node.func, "it is not None", "Python raises AttributeError where it is")
            raise NotSpeculable(f"method {name} of {owner.layout} has no graph")

        def call(kind: type, instance: StagedValue) -> StagedValue:
            if issubclass(kind, Pool):
                if node.keywords:
                    raise NotSpeculable(f"method {name} of a {class_name(kind)} with keywords has no graph")
                values = [self.evaluate(each) for each in node.args]
                self.current_node = node
                return containers.call_method(self, kind, instance, name, values, node)
            member = static_attribute(kind, name, UNASSIGNED)
            function = python_function(member.__func__ if isinstance(member, classmethod | staticmethod) else member)
            if isinstance(function, FunctionType):
                self.require_class_value(kind, name)
                if self.layout_of_key(self.attribute_key(kind, instance, name)) != MISSING:
                    raise NotSpeculable(f"{name} is an attribute of instances of {kind.__qualname__}, and a method")
                self._require_class_level(kind, name)
                if isinstance(member, staticmethod):
                    return self._call_bound(function, None, node)
                first = self.constant(kind) if isinstance(member, classmethod) else instance
                return self._call_bound(function, first, node)
            value = self._read_field(kind, instance, name, node.func)
            arguments, keywords = self._evaluate_arguments(node)
            return self.dispatch(value, lambda each: self._call_value(each, arguments, keywords, node))

        return self.for_each_class(owner, node.func, call)

    def _evaluate_arguments(self, node: ast.Call) -> tuple[list[StagedValue], dict[str, StagedValue]]:
        arguments = [
            self._evaluate_listcomp(each)
            if isinstance(each, ast.GeneratorExp) and self._is_consumed(node)
            else self.evaluate(each)
            for each in node.args
        ]
        keywords = {each.arg: self.evaluate(each.value) for each in node.keywords if each.arg is not None}
        self.current_node = node
        return arguments, keywords

    def _is_consumed(self, node: ast.Call) -> bool:
        """Whether a call is one of a builtin that consumes a generator expression at once."""
        return len(node.args) == 1 and any(self._is_builtin(node.func, each) for each in (sum, max, min, list, sorted))

    def _call_on_list(self, function: Any, items: StagedValue) -> StagedValue:
        """A call of a builtin that takes a list."""
        assert isinstance(items.layout, ReferenceLayout)
        if not all(issubclass(each, ListPool) for each in items.layout.classes):
            raise NotSpeculable(f"{function.__name__}() of a {items.layout} has no graph")
        if function is sorted:
            kinds = {number_kind(self.layout_of_key(FieldKey(each, ITEMS))) for each in items.layout.classes}
            if not kinds <= {"i", "f", "b"}:
                raise NotSpeculable("sorted() of what are not numbers of one class has no graph")
        value = self.call_library(_LIBRARY[function], [items])
        if function is sum and sys.version_info >= (3, 12):
            if any(number_kind(each) not in ("i", "b") for each in options_of(value.layout)):
                raise NotSpeculable("the sum of floats is compensated")
        return value

    def _call_print(self, arguments: list[StagedValue], keywords: dict[str, StagedValue], node: ast.AST) -> StagedValue:
        """`print`: the text joins the list of those that are printed after the commit."""
        options = {"sep": " ", "end": "\n"}
        for name, value in keywords.items():
            if not isinstance(value.layout, ConstantLayout) or name not in (*options, "flush"):
                raise NotSpeculable(f"print() with {name} has no graph")
            if name in options and value.layout.value is not None:
                options[name] = value.layout.value

        def append(values: list[StagedValue]) -> StagedValue:
            parts = list[StagedValue]()
            for position, value in enumerate(values):
                parts += [self.constant(options["sep"])] if position else []
                parts.append(text.text_of(self, value, Slot("", "s"), node))
            line = text.concatenate(self, [*parts, self.constant(options["end"])])
            key = VariableKey(self.requirements.effects, PRINTED_TEXT)
            lines = StagedValue(self.layout_of_key(key), self.leaves_of(key))
            return self.for_each_class(
                lines, node, lambda pool, each: containers.call_method(self, pool, each, "append", [line], node)
            )

        return self.dispatch_all(arguments, append)

    def _evaluate_joinedstr(self, node: ast.JoinedStr) -> StagedValue:
        values, slots = list[StagedValue](), list[Slot]()
        for part in node.values:
            slot = Slot("", "s")
            if isinstance(part, ast.FormattedValue):
                spec = (
                    self._evaluate_joinedstr(part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else None
                )
                if spec is not None and not isinstance(spec.layout, ConstantLayout):
                    raise NotSpeculable("a format that is computed has no graph")
                conversion = "" if part.conversion < 0 else chr(part.conversion)
                slot = Slot("", conversion, spec.layout.value if spec is not None else "")  # type: ignore[union-attr]
            values.append(self.evaluate(part.value if isinstance(part, ast.FormattedValue) else part))
            slots.append(slot)
        self.current_node = node

        def join_parts(chosen: list[StagedValue]) -> StagedValue:
            parts = [text.text_of(self, *pair, node) for pair in zip(chosen, slots, strict=True)]
            return text.concatenate(self, parts)

        return self.dispatch_all(values, join_parts)

    def _evaluate_generatorexp(self, node: ast.GeneratorExp) -> StagedValue:
        raise NotSpeculable("a generator has no graph")

    def _call_quantifier(self, node: ast.Call, generator: ast.GeneratorExp, is_any: bool) -> StagedValue:
        """`any` or `all` of a generator expression: it ends at the first item that decides."""
        if len(generator.generators) > 1:
            raise NotSpeculable(f"`{ast.unparse(node)}` has no graph")
        name = f" quantifier {node.lineno}:{node.col_offset}"
        self.state.variables[name] = self.constant(not is_any)

        def decide() -> StagedValue:
            self.state.variables[name] = self.constant(is_any)
            return StagedValue(NONE, ())

        test = generator.elt if is_any else ast.copy_location(ast.UnaryOp(ast.Not(), generator.elt), generator.elt)
        body = [ast.Expr(Emission(decide)), ast.Break()]
        self._run_comprehension(generator, ast.copy_location(ast.If(test, body, []), generator.elt))
        return self.state.variables.pop(name)

    def _call_bound(self, function: Any, first: StagedValue | None, node: ast.Call) -> StagedValue:
        """A call of a function, with the object or class that it is bound to."""
        arguments, keywords = self._evaluate_arguments(node)
        python = python_function(function)
        if not isinstance(python, FunctionType):
            raise NotSpeculable(f"method {ast.unparse(node.func)} has no Python code")
        return self.call_python(python, arguments if first is None else [first, *arguments], keywords, node)

    def _is_super(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and not node.args and not node.keywords and self._is_builtin(node.func, super)

    def _call_super(self, name: str, node: ast.Call) -> StagedValue:
        """`super().name(...)`."""
        function = self.stack[-1].function
        names = function.__code__.co_freevars
        parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
        if "__class__" not in names or not parameters:
            raise NotSpeculable("super() outside of a method has no graph")
        own_class = (function.__closure__ or ())[names.index("__class__")].cell_contents
        instance = self.state.variables[parameters[0]]
        if not isinstance(instance.layout, ReferenceLayout):
            raise NotSpeculable("super() of what is no instance has no graph")

        def call(kind: type, each: StagedValue) -> StagedValue:
            self.resolution_orders[kind] = kind.__mro__
            for base in kind.__mro__[kind.__mro__.index(own_class) + 1 :]:
                if name in base.__dict__:
                    break
                self.requirements.absent_class_names.add((base, name))
            else:
                raise NotSpeculable(f"super() has no {name}")
            member = self.require_class_value(base, name)
            if member is object.__init__ and not node.args and not node.keywords:
                return StagedValue(NONE, ())
            fields = dataclass_fields(base) if name == "__init__" else None
            if fields is not None:
                self._initialize_dataclass(each, fields, *self._evaluate_arguments(node), node)
                return StagedValue(NONE, ())
            if not isinstance(python_function(member), FunctionType):
                raise NotSpeculable(f"super().{name} has no Python code")
            return self._call_bound(member, each, node)

        return self.for_each_class(instance, node, call)

    def _call_value(
        self, function: StagedValue, arguments: list[StagedValue], keywords: dict[str, StagedValue], node: ast.expr
    ) -> StagedValue:
        if isinstance(function.layout, ReferenceLayout | StaticLayout):
            return self.call_special(function, "__call__", arguments, node, keywords)
        if not isinstance(function.layout, ConstantLayout):
            raise NotSpeculable(f"a call of {function.layout} has no graph")
        target = function.layout.value
        python = python_function(target)
        if python in _ARRAY_FUNCTIONS_BY_IDENTITY:
            return self._call_array_function(python, [self.read_variable(each) for each in arguments], keywords)
        if type(python) is FunctionType:
            return self.call_python(python, arguments, keywords, node)
        if python is isinstance and len(arguments) == 2 and not keywords:
            return self.dispatch(arguments[0], lambda value: self._isinstance([value, arguments[1]], node))
        if python is len and len(arguments) == 1 and self.is_static(arguments[0], list):
            return self.constant(arguments[0].layout.object.size)  # type: ignore[union-attr]
        if isinstance(target, NestedFunction):
            return self._call_nested(target, arguments, keywords, node)
        if python is print:
            return self._call_print(arguments, keywords, node)
        if (python is str or python is repr) and len(arguments) == 1 and not keywords:
            conversion = "s" if python is str else "r"
            return self.dispatch(arguments[0], lambda each: text.text_of(self, each, Slot("", conversion), node))
        if python is list and not arguments and not keywords and not self.observation.has_static_objects:
            return containers.new_list(self, [], node)
        is_builtin = type(python) in (BuiltinFunctionType, type) and not keywords
        is_on_reference = len(arguments) == 1 and isinstance(arguments[0].layout, ReferenceLayout)
        if is_builtin and python in _LIBRARY and is_on_reference:
            return self._call_on_list(python, arguments[0])
        if python is type and is_on_reference:
            return self.for_each_class(
                arguments[0], node, lambda kind, _: self.constant(kind.python_class if issubclass(kind, Pool) else kind)
            )
        if python is len and is_on_reference:
            return self.length(arguments[0], node)
        handler = arithmetic.BUILTINS.get(python) if type(python) in (BuiltinFunctionType, type) else None
        if handler is not None and not keywords:
            return self.dispatch_all(arguments, lambda values: handler(self, values, node))
        if type(target) is type and class_problem(target) is None:
            return self.construct(target, arguments, keywords, node)
        raise NotSpeculable(f"a call of {function.layout} has no graph")

    def call_special(
        self,
        owner: StagedValue,
        name: str,
        arguments: Sequence[StagedValue],
        node: ast.AST,
        keywords: dict[str, StagedValue] | None = None,
    ) -> StagedValue:
        """A call of a special method, which Python finds in the class of an object."""

        def call(kind: type, instance: StagedValue) -> StagedValue:
            member = UNASSIGNED if issubclass(kind, Pool) else self.require_class_value(kind, name)
            if not isinstance(python_function(member), FunctionType):
                raise NotSpeculable(f"{class_name(kind)} has no {name} of Python code")
            result = self.call_python(python_function(member), [instance, *arguments], keywords or {}, node)
            if any(option == ConstantLayout(NotImplemented) for option in options_of(result.layout)):
                raise NotSpeculable(f"{class_name(kind)}.{name} may return NotImplemented")
            return result

        return self.for_each_class(owner, node, call)

    def construct(
        self, owner: type, arguments: Sequence[StagedValue], keywords: dict[str, StagedValue], node: ast.expr
    ) -> StagedValue:
        """A new object of a class."""
        if self.require_class_value(owner, "__new__") is not object.__new__:
            raise NotSpeculable(f"{owner.__qualname__} has __new__")
        init = self.require_class_value(owner, "__init__")
        value = self.allocate(owner, node)
        self.state.new_objects = (*self.state.new_objects, NewObject(value.leaves[0], owner))
        fields = dataclass_fields(owner)
        if fields is not None:
            self._initialize_dataclass(value, fields, arguments, keywords, node)
        elif isinstance(python_function(init), FunctionType):
            if self.call_python(python_function(init), [value, *arguments], keywords, node).layout != NONE:
                raise NotSpeculable(f"{owner.__qualname__}.__init__ may return a value")
        elif init is not object.__init__:
            raise NotSpeculable(f"{owner.__qualname__}.__init__ has no Python code")
        elif arguments or keywords:
            self.check(False, node, "the call fits the parameters", "Python raises TypeError where it does not")
        new = self.new_object(value)
        assert new is not None
        self.publish(new)
        self.note_creation_orders(new)
        self.replace_new_object(new)
        return value

    def _initialize_dataclass(
        self,
        value: StagedValue,
        fields: Sequence[Field[Any]],
        arguments: Sequence[StagedValue],
        keywords: dict[str, StagedValue],
        node: ast.expr,
    ) -> None:
        """What the `__init__` of a dataclass does."""
        assert isinstance(value.layout, ReferenceLayout)
        (owner,) = value.layout.classes
        positional = [each.name for each in fields if each.init and not each.kw_only]
        names = [each.name for each in fields if each.init]
        bound = dict(zip(positional, arguments, strict=False))
        is_wrong = len(arguments) > len(positional) or any(each in bound or each not in names for each in keywords)
        bound |= keywords
        is_wrong |= any(
            each.default is MISSING_DEFAULT and each.default_factory is MISSING_DEFAULT and each.name not in bound
            for each in fields
            if each.init
        )
        if is_wrong:
            self.check(False, node, "the call fits the parameters", "Python raises TypeError where it does not")
        for each in fields:
            if each.name in bound:
                content = bound[each.name]
            elif each.default_factory is not MISSING_DEFAULT:
                content = self._call_value(self.constant(each.default_factory), [], {}, node)
            elif each.init:
                content = self._default(each.name, each.default)
            else:
                continue
            self.is_in_init = True
            self.write_attribute(value, each.name, content, node)
            self.is_in_init = False
        if self.require_class_value(owner, "__post_init__") is not UNASSIGNED:
            self.call_special(value, "__post_init__", (), node)

    def _default(self, name: str, value: Any) -> StagedValue:
        if type(value) not in (*NUMBER_CLASSES, str, type(None), FunctionType, type):
            raise NotSpeculable(f"the default of {name} is a {type(value).__name__}")
        return self.constant(value)

    def length(self, value: StagedValue, node: ast.AST) -> StagedValue:
        """`len` of a list."""

        def length(kind: type, each: StagedValue) -> StagedValue:
            if issubclass(kind, Pool):
                return self.number("i", containers.length(self, kind, each))
            count = self.call_special(each, "__len__", (), node)
            if number_kind(count.layout) != "i":
                raise NotSpeculable(f"{class_name(kind)}.__len__ does not return an int")
            leaf = self.leaf_of(count)
            is_valid = self.emit("greater_equal", leaf, 0) if isinstance(count.layout, NumberLayout) else leaf >= 0
            self.check(is_valid, node, "the length is not negative", "Python raises ValueError where it is")
            return count

        return self.for_each_class(value, node, length)

    def truth_of_object(self, value: StagedValue, node: ast.AST) -> Any:
        """The truth of a list, which has items where it is true, or of an object that may have `__bool__`."""
        assert isinstance(value.layout, ReferenceLayout)
        owner = StagedValue(ReferenceLayout(value.layout.classes, False), value.leaves)

        def truth() -> StagedValue:
            return self.for_each_class(owner, node, truth_of_class)

        def truth_of_class(kind: type, each: StagedValue) -> StagedValue:
            if issubclass(kind, Pool):
                return self.number("b", self.emit("greater", containers.length(self, kind, each), 0))
            if self.require_class_value(kind, "__bool__") is not UNASSIGNED:
                value = self.call_special(each, "__bool__", (), node)
                if number_kind(value.layout) != "b":
                    raise NotSpeculable(f"{class_name(kind)}.__bool__ does not return a bool")
                return value
            if self.require_class_value(kind, "__len__") is not UNASSIGNED:
                return self.predicate_value(self.truth(self.length(each, node), node))
            return self.constant(True)

        if not value.layout.is_optional:
            return self.truth(truth(), node)
        is_object = self.emit("greater_equal", value.leaves[0], 0)
        return self.truth(self.branch(is_object, truth, lambda: self.constant(False)), node)

    def call_python(
        self,
        function: FunctionType,
        arguments: Sequence[StagedValue],
        keywords: dict[str, StagedValue],
        node: ast.AST,
    ) -> StagedValue:
        """A call of a function of the user."""
        tree = self._node(function).args
        positional = [each.arg for each in (*tree.posonlyargs, *tree.args)]
        defaults = dict(zip(positional[::-1], (function.__defaults__ or ())[::-1], strict=False))
        defaults |= function.__kwdefaults__ or {}
        taken = {*positional[: len(arguments)], *keywords}
        values = {name: self._default(name, value) for name, value in defaults.items() if name not in taken}
        bound = self._bind(function.__name__, tree, values, arguments, keywords, node)
        is_incomplete = any(self.new_object(each) is not None for each in bound.values())
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
        if tree.vararg or tree.kwarg:
            raise NotSpeculable(f"{function_name} takes * or ** parameters")
        positional = [each.arg for each in (*tree.posonlyargs, *tree.args)]
        names = parameter_names(tree)
        bound = dict(zip(positional, arguments, strict=False))
        is_wrong = len(arguments) > len(positional) or any(name in bound or name not in names for name in keywords)
        bound = defaults | bound | keywords
        if is_wrong or {*bound} != {*names}:
            self.check(False, node, "the call fits the parameters", "Python raises TypeError where it does not")
        return {name: bound[name] for name in names}

    def _call_array_function(
        self, function: Any, arguments: list[StagedValue], keywords: dict[str, StagedValue]
    ) -> StagedValue:
        """A call of a function on arrays: what its arguments need is as in eager code."""
        leaves = [leaf for each in (*arguments, *keywords.values()) for leaf in training.flatten(self, each)]
        types = [leaf.layout.type for leaf in leaves if isinstance(leaf.layout, ArrayLayout)]
        if not types:
            raise NotSpeculable(f"tl.{function.__name__} of what is no array")
        takes_floats = {type_.dtype for type_ in types if type_.dtype.kind != "b"} == {dtypes.float64}
        operands = [self._array_argument(each, takes_floats) for each in arguments]
        options = {name: self._array_argument(each, takes_floats) for name, each in keywords.items()}
        return self.wrap_array(self.located(lambda: function(*operands, **options)))

    def _array_argument(self, value: StagedValue, takes_floats: bool) -> Any:
        """An argument of a function on arrays: an array, a constant, or a nest of such. A float that is computed has
        the dtype float64, which only arrays of float64 take without a change."""
        value = self.read_variable(value)
        if isinstance(value.layout, TupleLayout) or self.is_static(value, list):
            items = [self._array_argument(each, takes_floats) for each in self.items(value)]
            return tuple(items) if isinstance(value.layout, TupleLayout) and value.layout.kind is tuple else items
        if isinstance(value.layout, ConstantLayout):
            return value.layout.value
        if takes_floats and value.layout == NumberLayout("f"):
            return value.leaves[0]
        return self.array_operand(value)

    def _isinstance(self, values: list[StagedValue], node: ast.AST) -> StagedValue:
        value, classes = values
        targets = self.items(classes) if isinstance(classes.layout, TupleLayout) else [classes]
        kinds = tuple(each.layout.value for each in targets if isinstance(each.layout, ConstantLayout))
        if len(kinds) != len(targets) or any(type(each) is not type for each in kinds):
            raise NotSpeculable("isinstance() with classes that are not known, or have a metaclass")
        layout, number = value.layout, number_kind(value.layout)
        if isinstance(layout, TextLayout | TupleLayout):
            return self.constant(issubclass(str if isinstance(layout, TextLayout) else layout.kind, kinds))
        if number is not None:
            own = next(each for each, kind in NUMBER_CLASSES.items() if kind == number)
            return self.constant(issubclass(own, kinds))
        if isinstance(layout, ConstantLayout) and type(layout.value) in (str, type(None)):
            return self.constant(isinstance(layout.value, kinds))
        if not isinstance(layout, ReferenceLayout | StaticLayout):
            raise NotSpeculable(f"isinstance() of a {layout} has no graph")
        for owner in [layout.object.owner] if isinstance(layout, StaticLayout) else layout.classes:
            if (
                not issubclass(owner, Pool)
                and self.require_class_value(owner, "__class__") is not object.__dict__["__class__"]
            ):
                raise NotSpeculable(f"{owner.__qualname__} has __class__")
        if isinstance(layout, StaticLayout):
            return self.constant(issubclass(layout.object.owner, kinds))
        instance = StagedValue(ReferenceLayout(layout.classes, False), value.leaves)

        def of_object() -> StagedValue:
            return self.for_each_class(
                instance,
                node,
                lambda owner, _: self.constant(
                    issubclass(owner.python_class if issubclass(owner, Pool) else owner, kinds)
                ),
            )

        if not layout.is_optional:
            return of_object()
        is_object = self.emit("greater_equal", value.leaves[0], 0)
        return self.branch(is_object, of_object, lambda: self.constant(issubclass(type(None), kinds)))

    def _is_builtin(self, node: ast.expr, function: Any) -> bool:
        return isinstance(node, ast.Name) and self._is_value(node, function)

    def _is_value(self, node: ast.expr, function: Any) -> bool:
        value = self.evaluate(node)
        return isinstance(value.layout, ConstantLayout) and value.layout.value is function


def function_key(function: FunctionType) -> tuple[Any, ...]:
    """What a graph depends on in a function."""
    keywords = sorted((function.__kwdefaults__ or {}).items(), key=lambda item: item[0])
    return function.__code__, function.__defaults__, *(part for item in keywords for part in item)


_COMPARISON_METHODS = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}
_REFLECTED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE"}
_ORDER = tuple(_COMPARISON_METHODS.values())


def _zero_of(type_: Type) -> Any:
    return np.zeros([size or 0 for size in type_.shape or ()], type_.dtype.numpy)


def _is_data_descriptor(member: Any) -> bool:
    return (
        hasattr(type(member), "__set__")
        or hasattr(type(member), "__delete__")
        or (hasattr(type(member), "__get__") and not isinstance(member, FunctionType))
    )


def _has_private_names(node: ast.AST) -> bool:
    names = [each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in ast.walk(node)]
    return any(name.startswith("__") and not name.endswith("__") for name in names)


class _Identities:
    """The functions on arrays that code may call, by identity: those that only compute."""

    def __init__(self) -> None:
        modules = (convolution, creation, datatypes, einsum, indexing, linalg, manipulation, neural_network, numeric)
        functions = [getattr(op_functions, name) for name in op_functions.__all__]
        for module in (*modules, padding):
            functions += [each for each in vars(module).values() if type(each) is FunctionType]
        self.functions = {id(each): each for each in functions if each is not neural_network.dropout}

    def __contains__(self, value: object) -> bool:
        return id(value) in self.functions


_ARRAY_FUNCTIONS_BY_IDENTITY = _Identities()
_LIBRARY = {
    sum: library.total,
    max: library.largest,
    min: library.smallest,
    any: library.has_true,
    all: library.has_only_true,
    list: library.copy,
    sorted: library.sort,
}
"""Builtins that take a list, each with the function that says what it does."""
