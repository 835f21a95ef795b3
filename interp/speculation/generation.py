"""Generation: the syntax tree of a Python function becomes a program, under assumptions.

Only the syntax that has a method here can be part of a program. Everything without an exact meaning raises
NotSpeculable, and Python runs the call. Values, state, branches and loops are in `staging`, the functions of the
program in `program_functions`, operations on values in `object_operations`, `operators` and `calls`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from ...core.errors import describe_class, with_article
from ...core.frontend.eager.tape import Tape
from ...core.frontend.eager.variable import Variable
from ...core.frontend.source.passes.control_flow import find_exits, may_complete
from ...core.frontend.source.reader import FunctionNode
from ..training.optimizers import Optimizer
from . import arithmetic, containers, handlers, library, numpy_arrays, patterns, text, training
from .calls import Calls
from .dataclass_fields import dataclass_fields
from .heap import VariableKey, class_problem, static_attribute
from .layouts import (
    MAX_INTEGER,
    MISSING,
    NONE,
    UNASSIGNED,
    ConstantLayout,
    DictPool,
    ListPool,
    NotSpeculable,
    Pool,
    ReferenceLayout,
    Slot,
    StaticLayout,
    TablePool,
    TupleLayout,
    UnionLayout,
    class_name,
    is_named_tuple,
    number_kind,
    options_of,
)
from .recording import python_function
from .staging import (
    BREAK,
    CONTINUE,
    MAX_BRANCHES,
    MAX_UNROLLED,
    MISSING_VALUE,
    NONE_VALUE,
    RETURN,
    RUNNING,
    SEEN,
    NestedFunction,
    Restart,
    StagedValue,
    TryFrame,
)

_Comprehension: TypeAlias = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


class Emission(ast.expr):
    """A synthetic expression whose value `action` returns."""

    _fields = ()

    def __init__(self, action: Callable[[], StagedValue]) -> None:
        super().__init__()
        self.action = action
        self.lineno = self.col_offset = 0


class Generation(Calls):
    """Generates the program of `function` for the observed layouts."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.nested_functions: dict[tuple[Any, ...], NestedFunction] = {}

    # Statements

    def run_block(self, statements: Sequence[ast.stmt]) -> None:
        """Generate statements in order; those after a `break`, `continue` or `return` run only if the block was not
        left."""
        for position, statement in enumerate(statements):
            is_running = self.has_exit(RUNNING)
            if is_running is not True:
                self.branch(is_running, partial(self._resume, statements[position:]), lambda: NONE_VALUE)
                return
            if isinstance(statement, ast.If) and find_exits([statement]):
                rest = statements[position + 1 :]
                completes = may_complete(statement.body), may_complete(statement.orelse)
                if not all(completes):
                    bodies = [
                        [*body, *rest] if completes_ else body
                        for body, completes_ in zip((statement.body, statement.orelse), completes, strict=True)
                    ]
                    handlers.run_guarded(self, partial(self.run_if, statement, bodies[0], bodies[1]))
                    return
            self.run_statement(statement)

    def _resume(self, statements: Sequence[ast.stmt]) -> StagedValue:
        """Generate the rest of a block, in the branch in which the block was not left."""
        self.state.exit = self.constant(RUNNING)
        self.run_block(statements)
        return NONE_VALUE

    def run_statement(self, statement: ast.stmt) -> None:
        """Generate a statement."""
        self.current_node = statement
        method = getattr(self, f"_run_{type(statement).__name__.lower()}", None)
        if method is None:
            raise NotSpeculable(f"`{type(statement).__name__.lower()}` has no graph (line {statement.lineno})")
        handlers.run_guarded(self, partial(method, statement))

    def _run_pass(self, statement: ast.Pass) -> None:
        pass

    _run_global = _run_nonlocal = _run_pass

    def _run_expr(self, statement: ast.Expr) -> None:
        self.evaluate(statement.value)

    def _run_return(self, statement: ast.Return) -> None:
        self.state.result = NONE_VALUE if statement.value is None else self.evaluate(statement.value)
        self.state.exit = self.constant(RETURN)

    def _run_break(self, statement: ast.Break) -> None:
        self.state.exit = self.constant(BREAK)

    def _run_continue(self, statement: ast.Continue) -> None:
        self.state.exit = self.constant(CONTINUE)

    def _run_assign(self, statement: ast.Assign) -> None:
        value = self.evaluate(statement.value)
        if len(statement.targets) > 1:
            value = self.name_array(value)
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

    def _run_delete(self, statement: ast.Delete) -> None:
        for target in statement.targets:
            if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Slice):
                raise NotSpeculable(f"`{ast.unparse(statement)}` has no graph")
            owner, index = self.evaluate(target.value), self.evaluate(target.slice)
            self.current_node = target
            self.delete_item(owner, index, target)

    def _run_if(self, statement: ast.If) -> None:
        self.run_if(statement, statement.body, statement.orelse)

    def run_if(self, statement: ast.If, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        """`if`, with these statements as its branches."""

        def evaluate_block(statements: Sequence[ast.stmt]) -> Callable[[], StagedValue]:
            def run() -> StagedValue:
                self.run_block(statements)
                return NONE_VALUE

            return run

        self.choose(statement.test, evaluate_block(body), evaluate_block(orelse))

    def choose(
        self, test: ast.expr, then: Callable[[], StagedValue], otherwise: Callable[[], StagedValue]
    ) -> StagedValue:
        """The value of the branch that a test chooses. A branch without a graph becomes an assertion that the test
        chooses the other one, unless watched calls took only this branch."""
        predicate = self.evaluate_test(test)
        self.note_truth(test, bool(predicate) if isinstance(predicate, bool | np.bool_) else None)
        key = (self.stack[-1].function.__code__, test.lineno, test.col_offset)
        branches_taken = self.branches_taken(*key)

        def guarded(is_true: bool, branch: Callable[[], StagedValue]) -> Callable[[], StagedValue]:
            def run() -> StagedValue:
                before = dict(self.state.variables)
                self.narrow(test, is_true)
                narrow = dict(self.state.variables)
                value = run_branch()
                for name, old_value in before.items():
                    if self.state.variables.get(name) is narrow[name]:
                        self.state.variables[name] = old_value
                return value

            def run_branch() -> StagedValue:
                reason = self.requirements.dropped_branches.get((*key, is_true))
                if reason is not None:
                    self.check(False, test, f"it is {not is_true}", f"the other branch has no graph, since {reason}")
                try:
                    return branch()
                except NotSpeculable as error:
                    if branches_taken == {is_true} or (*key, not is_true) in self.requirements.dropped_branches:
                        raise
                    self.requirements.dropped_branches[*key, is_true] = str(error)
                    raise Restart from None

            return run

        return self.branch(predicate, guarded(True, then), guarded(False, otherwise))

    def evaluate_test(self, test: ast.expr) -> Any:
        """The truth of a test. As in Python, the truth of each operand of `and`, `or` and `not` is evaluated once."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                truth = self.evaluate_test(operand)
                return self.negate(truth)
            case ast.BoolOp(op=op, values=operands):
                is_and = isinstance(op, ast.And)

                def evaluate_from(position: int) -> Any:
                    predicate = self.evaluate_test(operands[position])
                    if position == len(operands) - 1:
                        return predicate

                    def next_operand() -> StagedValue:
                        self.narrow(operands[position], is_and)
                        return self.predicate_value(evaluate_from(position + 1))

                    def decided_value() -> StagedValue:
                        return self.constant(not is_and)

                    branches = (next_operand, decided_value) if is_and else (decided_value, next_operand)
                    return self.truth(self.branch(predicate, *branches), test)

                return evaluate_from(0)
        return self.truth(self.evaluate(test), test)

    def narrow(self, test: ast.expr, is_true: bool) -> None:
        """In a branch, narrow the layouts of the variables that its test has tested. Does nothing if the test may
        assign variables, by `:=` or in a nested function that it calls."""
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
                for value in values:
                    self._narrow(value, True)
            case ast.BoolOp(op=ast.Or(), values=values) if not is_true:
                for value in values:
                    self._narrow(value, False)
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
            self.state.variables[name] = NONE_VALUE if is_none else narrow
        elif isinstance(layout, UnionLayout) and NONE in layout.options:
            options = [option for option in layout.options if option != NONE]
            if is_none:
                self.state.variables[name] = NONE_VALUE
            elif len(options) == 1:
                self.state.variables[name] = self.option(value, layout.options.index(options[0]))

    def _run_assert(self, statement: ast.Assert) -> None:
        if not __debug__:  # under `python -O`, Python evaluates no part of it
            return
        predicate = self.evaluate_test(statement.test)
        raises = AssertionError if statement.msg is None or isinstance(statement.msg, ast.Constant) else None
        reason = "Python raises AssertionError where it is not"
        self.check(predicate, statement.test, "it is true", reason, raises=raises)

    def _run_raise(self, statement: ast.Raise) -> None:
        is_caught = self.open_tries() or self.stack[-1].passes_exceptions
        raises = handlers.raised_class(self, statement) if is_caught else None
        reason = "Python raises the exception"
        self.check(False, statement, "it is not reached", reason, raises=raises, has_raised=True)

    def _run_try(self, statement: ast.Try) -> None:
        handlers.run_try(self, statement)
        self._run_cleanup(lambda: self.run_block(statement.finalbody))

    def _run_cleanup(self, action: Callable[[], object]) -> None:
        """Run `action` after a block, however the block ends; an exit of `action` replaces that of the block."""
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
        is_persistent = [self.evaluate(keyword.value) for keyword in call.keywords if keyword.arg == "persistent"]
        if len(is_persistent) < len(call.keywords):
            raise NotSpeculable("these options of tl.Tape have no graph")
        tape = training.open_tape(self, is_persistent, statement)

        def run() -> None:
            if item.optional_vars is not None:
                self.assign(item.optional_vars, self.constant(tape))
            self.run_block(statement.body)

        training.record(self, tape, run)

    def _run_in_with(self, run: Callable[[], None], code: int | None = None) -> set[Any]:
        """Generate the body of a `with`, which sees exceptions before a handler around it does. They leave it with this
        code; with None, the graph has no exception in it. Returns the classes that it needs."""
        frame = TryFrame(self.stack[-1], (((BaseException,), code),))
        self.tries.append(frame)
        try:
            run()
        finally:
            self.tries.pop()
        return frame.used_codes

    def _run_with(self, statement: ast.With) -> None:
        first = statement.items[0]
        if isinstance(first.context_expr, ast.Call) and self._is_value(first.context_expr.func, Tape):
            if len(statement.items) > 1:
                raise NotSpeculable("`with` of a tape and another context manager has no graph")
            self._run_in_with(lambda: self._run_tape(statement, first, first.context_expr))  # type: ignore[arg-type]
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
        sees_exceptions = len(managers) == 1 and self.location_of(statement) not in self.requirements.dropped_handlers
        if sees_exceptions:
            handlers.note_caught(self, [Exception])
        body = partial(self.run_block, statement.body)
        classes = sorted(self._run_in_with(body, SEEN if sees_exceptions else None), key=self.exception_code)

        def end(remaining_classes: Sequence[type]) -> None:
            """Call `__exit__`, with the exception of one of these classes that has left the body, if any."""
            if not remaining_classes:
                for manager, item in zip(reversed(managers), reversed(statement.items), strict=True):
                    self._run_cleanup(
                        partial(self.call_special, manager, "__exit__", [NONE_VALUE] * 3, item.context_expr)
                    )
                return
            owner, *others = remaining_classes

            def run(action: Callable[[], None]) -> StagedValue:
                action()
                return NONE_VALUE

            self.branch(
                self.has_exit(self.exception_code(owner)),
                partial(run, partial(handlers.run_exit, self, statement, managers[0], owner)),
                partial(run, partial(end, others)),
            )

        end(classes)

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

    def _run_while(self, statement: ast.While) -> None:
        if not statement.orelse and any(isinstance(node, ast.NamedExpr) for node in ast.walk(statement.test)):
            # the test assigns variables, so it is part of the body
            test_in_body = ast.copy_location(ast.If(statement.test, statement.body, [ast.Break()]), statement.test)
            statement = ast.copy_location(ast.While(ast.Constant(True), [test_in_body], []), statement)

        def test() -> Any:
            return self.evaluate_test(statement.test)

        self._run_loop(statement, test, lambda: None)

    def _run_for(self, statement: ast.For) -> None:
        call = statement.iter
        if self._is_call(call, range):
            self._run_range(statement, self._range_bounds(call))
            return
        if self._is_call(call, reversed) and len(call.args) == 1 and self._is_call(call.args[0], range):
            self._run_range(statement, self._reversed_bounds(call.args[0]))
            return
        view = self._dict_view(call)
        if isinstance(view, tuple):
            self._run_dict_loop(statement, *view)
            return
        if not isinstance(call, ast.Call) or not self._is_iterable_builtin(call):
            value = self.evaluate(view)
            if self._has_iterator(value):
                self._run_iterator(statement, value)
                return
            if isinstance(value.layout, UnionLayout):
                self.current_node = call
                self.dispatch(value, partial(self._run_over, statement))
                return
            self._run_over(statement, value)
            return
        iteration = self._iteration(view)
        if isinstance(iteration, containers.Iteration):
            self._run_iteration(statement, iteration)
        else:
            self._run_unrolled(statement, iteration)

    def _run_over(self, statement: ast.For, value: StagedValue) -> StagedValue:
        """A loop over one of several values: a string or a container."""
        iteration = self._iterate(value, statement.iter)
        if isinstance(iteration, containers.Iteration):
            self._run_iteration(statement, iteration)
        else:
            self._run_unrolled(statement, iteration)
        return NONE_VALUE

    def _is_iterable_builtin(self, call: ast.Call) -> bool:
        """Whether a call is one of a builtin that combines iterables."""
        return any(self._is_builtin(call.func, function) for function in (zip, enumerate, reversed))

    def _has_iterator(self, value: StagedValue) -> bool:
        """Whether a value is an object of the user with an iterator of its own."""
        if not isinstance(value.layout, ReferenceLayout) or value.layout.is_optional:
            return False
        owners = [owner for owner in value.layout.classes if not issubclass(owner, Pool)]
        return len(owners) == len(value.layout.classes) and all(
            isinstance(self.require_class_value(owner, "__iter__"), FunctionType) for owner in owners
        )

    def _run_iterator(self, statement: ast.For, value: StagedValue) -> None:
        """A loop over an object with `__iter__`: `__next__` is called until it raises StopIteration."""
        if statement.orelse:
            raise NotSpeculable("a loop over an iterator with `else` has no graph")
        name = f" iterator {statement.lineno}:{statement.col_offset}"
        self.state.variables[name] = self.call_special(value, "__iter__", (), statement.iter)

        def read_next() -> StagedValue:
            return self.call_special(self.state.variables[name], "__next__", (), statement.iter)

        item = ast.copy_location(Emission(read_next), statement.iter)
        assignment = ast.copy_location(ast.Assign([statement.target], item), statement.target)
        end = ast.ExceptHandler(
            ast.copy_location(ast.Name("StopIteration", ast.Load()), statement),
            None,
            [ast.copy_location(ast.Break(), statement)],
        )
        attempt = ast.Try([assignment], [ast.copy_location(end, statement)], statement.body, [])
        loop = ast.While(ast.Constant(True), [ast.copy_location(attempt, statement)], [])
        self.run_statement(ast.copy_location(loop, statement))
        self.state.variables.pop(name, None)

    def _is_call(self, node: ast.expr, function: Any) -> TypeGuard[ast.Call]:
        """Whether an expression is a call of a builtin, without keywords and starred arguments."""
        if not isinstance(node, ast.Call) or node.keywords:
            return False
        return not any(isinstance(argument, ast.Starred) for argument in node.args) and self._is_builtin(
            node.func, function
        )

    def _range_bounds(self, call: ast.Call) -> list[StagedValue]:
        """The arguments of a call of `range`, which must be ints."""
        bounds = [self.evaluate(argument) for argument in call.args]
        if not 1 <= len(bounds) <= 3 or any(number_kind(bound.layout) not in ("i", "b") for bound in bounds):
            raise NotSpeculable("range() of a value that is not an int")
        return bounds

    def _reversed_bounds(self, call: ast.Call) -> list[StagedValue]:
        """The bounds of the range that is `reversed` of a range whose step is 1 or -1."""
        bounds = self._range_bounds(call)
        start, stop = (self.constant(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else self.constant(1)
        if step.layout not in (ConstantLayout(1), ConstantLayout(-1)):
            raise NotSpeculable(f"`{ast.unparse(call)}` backwards, whose step is neither 1 nor -1, has no graph")
        first, end = (self.binary(ast.Sub(), bound, step, call) for bound in (stop, start))
        return [first, end, self.constant(-step.layout.value)]  # type: ignore[union-attr]

    def _dict_view(self, node: ast.expr) -> tuple[StagedValue, str] | ast.expr:
        """The dict and the name of the view over which a loop goes: `keys`, `values` or `items`. For anything else the
        expression, without the part that is evaluated here: it may read a property."""
        name, owner_node = "keys", node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not (node.args or node.keywords):
            name, owner_node = node.func.attr, node.func.value
        if name not in ("keys", "values", "items") or not isinstance(owner_node, ast.Name | ast.Attribute):
            return node
        owner = self.evaluate_owner(owner_node)
        if self.is_static(owner, dict):
            self.make_general(owner.layout.object)  # type: ignore[union-attr]
        layout = owner.layout
        if isinstance(layout, ReferenceLayout) and all(issubclass(p, DictPool | TablePool) for p in layout.classes):
            return owner, name
        if isinstance(owner_node, ast.Name):
            return node
        rest = ast.copy_location(Emission(lambda: owner), owner_node)
        if isinstance(node, ast.Call):
            return ast.copy_location(
                ast.Call(ast.copy_location(ast.Attribute(rest, name, ast.Load()), node), [], []), node
            )
        return rest

    def _run_dict_loop(self, statement: ast.For, owner: StagedValue, view: str) -> None:
        """Unroll a loop over a dict, with a branch for each tuple of keys that it may have. As in Python, each value is
        read when its turn comes. A dict with computed keys has a loop over its pairs."""
        assert isinstance(owner.layout, ReferenceLayout)
        if all(issubclass(pool, TablePool) for pool in owner.layout.classes):
            self._run_iteration(statement, containers.iterate_dict(self, owner, view, statement.iter))
            return

        def read_item(key: StagedValue) -> StagedValue:
            if view == "keys":
                return key
            value = self.read_item(owner, key, statement.iter)
            return value if view == "values" else self.tuple_of([key, value])

        def run_class(pool: type[Pool], instance: StagedValue) -> StagedValue:
            def run(keys: StagedValue) -> StagedValue:
                items = self.items(keys)
                if len(items) > self._max_unrolled(statement):
                    self.make_table(pool)
                self._run_unrolled(statement, items, read_item)
                return NONE_VALUE

            if issubclass(pool, TablePool):
                raise NotSpeculable("a loop over dicts of several classes has no graph")
            return self.dispatch(containers.dict_keys(self, pool, instance), run)

        self.for_each_class(owner, statement.iter, run_class)

    def _max_unrolled(self, statement: ast.For) -> int:
        return MAX_BRANCHES if find_exits(statement.body) else MAX_UNROLLED

    def _run_unrolled(
        self,
        statement: ast.For,
        items: Sequence[StagedValue],
        read_item: Callable[[StagedValue], StagedValue] = lambda item: item,
    ) -> None:
        exits, outer = find_exits(statement.body), self.state.exit
        if len(items) > self._max_unrolled(statement):
            raise NotSpeculable(f"a loop over `{ast.unparse(statement.iter)}` has no graph")

        def assign_item(item: StagedValue) -> StagedValue:
            self.assign(statement.target, read_item(item))
            return NONE_VALUE

        def run_from(position: int) -> StagedValue:
            for k in range(position, len(items)):
                assignment = ast.copy_location(ast.Expr(Emission(partial(assign_item, items[k]))), statement.target)
                self.run_block([assignment, *statement.body])
                if exits:
                    self._clear_exit(CONTINUE, self.constant(RUNNING))
                is_running = self.has_exit(RUNNING)
                if is_running is False:
                    break
                if is_running is not True and exits:
                    return self.branch(is_running, partial(resume, k + 1), lambda: NONE_VALUE)
            return NONE_VALUE

        def resume(position: int) -> StagedValue:
            self.state.exit = self.constant(RUNNING)
            return run_from(position)

        run_from(0)
        if exits or statement.orelse:
            self._end_loop(statement, outer)

    def _iteration(self, node: ast.expr) -> containers.Iteration | list[StagedValue]:
        """The iteration of an expression. A list of the table has an Iteration; a tuple, a static list or a new list
        has a list of items. `zip`, `enumerate` and `reversed` combine them."""
        if isinstance(node, ast.Call) and not any(isinstance(argument, ast.Starred) for argument in node.args):
            for function in (zip, enumerate, reversed):
                if not node.keywords and node.args and self._is_builtin(node.func, function):
                    if function is reversed and len(node.args) == 1:
                        return self._reverse(node.args[0])
                    parts = [self._iteration(argument) for argument in node.args]
                    if function is zip or len(parts) == 1:
                        return self._combine(function, parts, node)
        view = self._dict_view(node)
        if isinstance(view, tuple):
            owner, name = view
            if all(issubclass(pool, TablePool) for pool in owner.layout.classes):  # type: ignore[union-attr]
                return containers.iterate_dict(self, owner, name, node)
            return containers.iterate_list(self, containers.list_view(self, owner, name, node), node)
        return self._iterate(self.evaluate(view), node)

    def _iterate(self, value: StagedValue, node: ast.expr) -> containers.Iteration | list[StagedValue]:
        if isinstance(value.layout, ReferenceLayout):
            return containers.iterate_list(self, value, node)
        return self.sequence_items(value)

    def _reverse(self, node: ast.expr) -> containers.Iteration | list[StagedValue]:
        """The iteration of `reversed` of an expression."""
        value = self.evaluate(node)
        if isinstance(value.layout, ReferenceLayout):
            return containers.reverse_items(self, value, node)
        return self.sequence_items(value)[::-1]

    def _combine(
        self, function: Any, parts: Sequence[containers.Iteration | list[StagedValue]], node: ast.expr
    ) -> containers.Iteration | list[StagedValue]:
        """`zip` or `enumerate`."""
        iterations = [part for part in parts if isinstance(part, containers.Iteration)]
        lists = [part for part in parts if isinstance(part, list)]
        if iterations and lists:
            raise NotSpeculable(f"`{ast.unparse(node)}` has no graph")
        if iterations:
            is_zip = function is zip
            return containers.zip_items(self, iterations) if is_zip else containers.enumerate_items(self, iterations[0])
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
        """Generate a loop. `test` returns a predicate, and `begin` assigns the target of an iteration."""
        exits = find_exits(statement.body)
        outer = self.state.exit

        def run_test() -> Any:
            is_running = self.has_exit(RUNNING)
            if isinstance(is_running, bool):
                return test() if is_running else False
            continues = self.branch(is_running, lambda: self.predicate_value(test()), lambda: self.constant(False))
            return self.truth(continues, statement)

        def run_body() -> None:
            self.state.exit = self.constant(RUNNING)
            begin()
            self.run_block(statement.body)
            if exits:
                self._clear_exit(CONTINUE, self.constant(RUNNING))

        self.loop(run_test, run_body)
        self._end_loop(statement, outer)

    def _end_loop(self, statement: ast.While | ast.For, outer: StagedValue) -> None:
        """Continue behind a loop that has ended or was left, with its `else`; `outer` is the exit before the loop. A
        `break` of the `else` belongs to the loop around this one."""
        is_complete, exits = self.has_exit(RUNNING), find_exits(statement.body)
        if any(isinstance(node, ast.Return) for node in exits) or self._may_raise():
            self._clear_exit(BREAK, outer)
        else:
            self.state.exit = outer

        def run_else() -> StagedValue:
            self.state.exit = outer
            self.run_block(statement.orelse)
            return NONE_VALUE

        if statement.orelse:
            self.branch(is_complete, run_else, lambda: NONE_VALUE)

    def _clear_exit(self, code: int, outer: StagedValue) -> None:
        """Continue where the block was left by `code`: after the loop, or in its next iteration. Where the block was
        always left so, the exit is the `outer` one."""
        exit_, is_left = self.state.exit, self.has_exit(code)
        if not isinstance(is_left, bool):
            self.state.exit = self.number("i", self.emit("where", is_left, RUNNING, exit_.leaves[0]))
        elif is_left:
            self.state.exit = outer

    def _may_raise(self) -> bool:
        """Whether exceptions that a handler catches may leave a block of the program."""
        return bool(self.requirements.caught_classes)

    def assign(self, target: ast.expr, value: StagedValue) -> None:
        """Assign a value to a target."""
        match target:
            case ast.Name(id=name):
                function, local_names = self.stack[-1][:2]
                if name in local_names:
                    self.state.variables[name] = self.name_array(value)
                else:
                    self.write_heap(self._variable_key(function, name), value, target)
            case ast.Attribute(value=owner, attr=name):
                self.write_attribute(self.evaluate_owner(owner), name, value, target)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                if any(isinstance(item, ast.Starred) for item in targets):
                    raise NotSpeculable("a starred target has no graph")
                if not isinstance(value.layout, TupleLayout) or len(value.layout.items) != len(targets):
                    raise NotSpeculable(f"{with_article(value.layout)} is unpacked into {len(targets)} targets")
                for item_target, item in zip(targets, self.items(value), strict=True):
                    self.assign(item_target, item)
            case ast.Subscript(value=owner, slice=ast.Slice() as bounds):
                container = self.evaluate(owner)
                if numpy_arrays.is_reference(container.layout):
                    self.write_item(container, self.evaluate(bounds), value, target)
                    return
                raise NotSpeculable(f"an assignment to the slice `{ast.unparse(target)}` has no graph")
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
        """A value that was read. A variable or optimizer must be static: if it is not, generation restarts with static
        objects, or raises NotSpeculable."""
        kinds = [type(option.value) for option in options_of(value.layout) if isinstance(option, ConstantLayout)]
        if any(issubclass(kind, Variable | Optimizer) for kind in kinds):
            self.require_static_objects()
            raise NotSpeculable("a variable or optimizer of objects that are not static has no graph")
        return value

    def _evaluate_constant(self, node: ast.Constant) -> StagedValue:
        if type(node.value) is int and abs(node.value) >= MAX_INTEGER:
            raise NotSpeculable(f"{node.value} has more than 62 bits")
        if type(node.value) in (complex, bytes):
            raise NotSpeculable(f"{describe_class(node.value)} has no graph")
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
            return self.require_assigned(self.state.variables.get(name, MISSING_VALUE), node, f"{name} is assigned")
        key = self._variable_key(function, name)
        if isinstance(key, VariableKey):
            value = StagedValue(self.layout_of_key(key), self.leaves_of(key))
            if value.layout == MISSING:  # it is not a variable of the module, so a builtin
                return self._read_builtin(function, name)
            return self.require_assigned(value, node, f"{name} is assigned")
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
        """The value of an expression whose attribute is accessed. The access does not publish an object under
        construction."""
        return self._as_static(self.read_name(node.id, node)) if isinstance(node, ast.Name) else self.evaluate(node)

    def _evaluate_binop(self, node: ast.BinOp) -> StagedValue:
        left = self.evaluate(node.left)
        return self.binary(node.op, left, self.evaluate(node.right), node)

    def _evaluate_unaryop(self, node: ast.UnaryOp) -> StagedValue:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(value, node.operand)
            return self.predicate_value(self.negate(truth))
        name = type(node.op).__name__

        def operate(operand: StagedValue) -> StagedValue:
            if numpy_arrays.is_numpy(operand.layout):
                return numpy_arrays.operate(self, name, [operand], node)
            return arithmetic.unary(self, name, operand, node)

        return self.dispatch(self.read_variable(value), operate)

    def _evaluate_boolop(self, node: ast.BoolOp) -> StagedValue:
        def evaluate_from(values: list[ast.expr]) -> StagedValue:
            first = self.evaluate(values[0])
            if len(values) == 1:
                return first
            if isinstance(values[0], ast.BoolOp) and any(map(self._has_own_truth, options_of(first.layout))):
                raise NotSpeculable(
                    "`and` and `or` of objects with a truth of their own, in one another, have no graph"
                )
            predicate = self.truth(first, values[0])

            def evaluate_rest(is_true: bool) -> StagedValue:
                self.narrow(values[0], is_true)
                return evaluate_from(values[1:])

            if isinstance(node.op, ast.And):
                return self.branch(predicate, lambda: evaluate_rest(True), lambda: first)
            return self.branch(predicate, lambda: first, lambda: evaluate_rest(False))

        return evaluate_from(node.values)

    def _evaluate_ifexp(self, node: ast.IfExp) -> StagedValue:
        return self.choose(node.test, lambda: self.evaluate(node.body), lambda: self.evaluate(node.orelse))

    def _evaluate_compare(self, node: ast.Compare) -> StagedValue:
        def compare_from(left: StagedValue, ops: Sequence[ast.cmpop], operands: Sequence[ast.expr]) -> StagedValue:
            right = self.evaluate(operands[0])
            result = self.compare(ops[0], left, right, node)
            if len(ops) == 1:
                return result
            predicate = self.truth(result, node)
            return self.branch(predicate, lambda: compare_from(right, ops[1:], operands[1:]), lambda: result)

        return compare_from(self.evaluate(node.left), node.ops, node.comparators)

    def _evaluate_tuple(self, node: ast.Tuple) -> StagedValue:
        if any(isinstance(element, ast.Starred) for element in node.elts):
            raise NotSpeculable("a starred item has no graph")
        return self.tuple_of([self.evaluate(element) for element in node.elts])

    def _evaluate_list(self, node: ast.List) -> StagedValue:
        if any(isinstance(element, ast.Starred) for element in node.elts):
            raise NotSpeculable("a starred item has no graph")
        items = [self.evaluate(element) for element in node.elts]
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
        return self._fill(node, containers.new_list(self, [], node), "append", lambda: [self.evaluate(node.elt)])

    def _evaluate_setcomp(self, node: ast.SetComp) -> StagedValue:
        return self._fill(node, containers.new_container(self, set, [], node), "add", lambda: [self.evaluate(node.elt)])

    def _evaluate_dictcomp(self, node: ast.DictComp) -> StagedValue:
        value = containers.new_dict(self, [], node)
        return self._fill(node, value, None, lambda: [self.evaluate(node.key), self.evaluate(node.value)])

    def _evaluate_set(self, node: ast.Set) -> StagedValue:
        if any(isinstance(element, ast.Starred) for element in node.elts):
            raise NotSpeculable("a starred item has no graph")
        items = [self.evaluate(element) for element in node.elts]
        self.current_node = node
        value = containers.new_container(self, set, items, node)
        if len(items) > 2 and all(isinstance(element, ast.Constant) for element in node.elts):
            containers.forget_order(self, value, node)  # Python copies a frozenset
        return value

    def _fill(
        self, node: _Comprehension, result: StagedValue, method: str | None, evaluate: Callable[[], list[StagedValue]]
    ) -> StagedValue:
        """The container that a comprehension makes: each iteration adds what `evaluate` returns, by a method, or as an
        item of a dict."""
        name = f" items {node.lineno}:{node.col_offset}"
        self.state.variables[name] = result

        def add() -> StagedValue:
            values = evaluate()

            def add_to(pool: type[Pool], instance: StagedValue) -> StagedValue:
                if method is not None:
                    return containers.call_method(self, pool, instance, method, values, node)
                containers.write_item(self, pool, instance, values[0], values[1], node)
                return NONE_VALUE

            return self.for_each_class(self.state.variables[name], node, add_to)

        self._run_comprehension(node, ast.Expr(Emission(add)))
        return self.state.variables.pop(name)

    def _run_comprehension(self, node: _Comprehension, body: ast.stmt) -> None:
        """Generate the loops of a comprehension, whose variables are its own; `body` uses its item."""
        names = {
            name_node.id
            for part in node.generators
            for name_node in ast.walk(part.target)
            if isinstance(name_node, ast.Name)
        }
        if any(part.is_async for part in node.generators):
            raise NotSpeculable("an asynchronous comprehension has no graph")
        later_names = set(names)
        for position, part in enumerate(node.generators):
            self._require_no_name(part.iter if position else None, later_names)
            later_names -= {name_node.id for name_node in ast.walk(part.target) if isinstance(name_node, ast.Name)}
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
        if node is not None and any(
            isinstance(name_node, ast.Name) and name_node.id in names for name_node in ast.walk(node)
        ):
            raise NotSpeculable("a variable of a comprehension is read before it is assigned")

    def _fixed_comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> StagedValue:
        """Unroll a comprehension of one loop."""
        if len(node.generators) > 1 or node.generators[0].ifs:
            raise NotSpeculable(f"`{ast.unparse(node)}` has no graph beside a tape")
        values = list[StagedValue]()

        def append() -> StagedValue:
            values.append(self.evaluate(node.elt))
            return NONE_VALUE

        self._run_comprehension(node, ast.Expr(Emission(append)))
        return self.tuple_of(values, list)

    def _evaluate_emission(self, node: Emission) -> StagedValue:
        return node.action()

    def _evaluate_namedexpr(self, node: ast.NamedExpr) -> StagedValue:
        value = self.name_array(self.evaluate(node.value))
        self.assign(node.target, value)
        return value

    def _evaluate_subscript(self, node: ast.Subscript) -> StagedValue:
        value = self.evaluate(node.value)
        if isinstance(node.slice, ast.Slice):
            return self.read_part(value, self._evaluate_bounds(node.slice), node)
        return self.read_item(value, self.evaluate(node.slice), node)

    def _evaluate_bounds(self, node: ast.Slice) -> list[StagedValue]:
        """The lower bound, the upper bound and the step of a slice; None for what is left out."""
        bounds = (node.lower, node.upper, node.step)
        return [self.constant(None) if bound is None else self.evaluate(bound) for bound in bounds]

    def _evaluate_slice(self, node: ast.Slice) -> StagedValue:
        parts = self._evaluate_bounds(node)
        bounds = [part.layout.value for part in parts if isinstance(part.layout, ConstantLayout)]
        if len(bounds) < len(parts):
            raise NotSpeculable("a slice with computed bounds has no graph")
        return self.constant(slice(*bounds))

    # Calls

    def _evaluate_call(self, node: ast.Call) -> StagedValue:
        if any(argument.arg is None for argument in node.keywords):
            raise NotSpeculable("a call with ** has no graph")
        match node.func:
            case ast.Attribute(value=ast.Name(id="ag__")):
                values = [self.evaluate(argument) for argument in node.args]
                self.current_node = node
                return patterns.call_operator(self, node.func.attr, values, node)
            case ast.Call(args=[owner_node, name_node]) if self._is_call(node.func, getattr):
                return self._call_named_attribute(self.evaluate(owner_node), self.evaluate(name_node), node)
        if isinstance(node.func, ast.Attribute):
            if self._is_super(node.func.value):
                return self._call_super(node.func.attr, node)
            owner = self.evaluate_owner(node.func.value)
            method = node.func.attr
            if training.has_methods(owner):
                if node.keywords:
                    raise NotSpeculable(f"`{ast.unparse(node)}` has keywords")
                values = [self.evaluate(argument) for argument in node.args]
                self.current_node = node
                return training.call_method(self, owner, method, values, node)
            if numpy_arrays.is_numpy(owner.layout):
                values, keywords = self._evaluate_arguments(node)
                return numpy_arrays.call_method(self, owner, method, values, keywords, node)
            if isinstance(owner.layout, TupleLayout) and is_named_tuple(owner.layout.kind):
                return self._call_named_tuple(owner, owner.layout.kind, method, node)
            is_member = isinstance(owner.layout, ConstantLayout) and isinstance(owner.layout.value, Enum | str)
            if is_member or isinstance(owner.layout, ReferenceLayout | StaticLayout | UnionLayout):
                return self.dispatch(owner, lambda option: self._call_method(option, method, node))
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
            for function_with_key in (sorted, max, min):
                if len(node.args) == 1 and node.keywords and self._is_builtin(node.func, function_with_key):
                    return self._call_with_key(function_with_key, node)
            function = self.evaluate(node.func)
        arguments, keywords = self._evaluate_arguments(node, self.takes_arrays(function))
        return self.dispatch(function, lambda option: self.call_value(option, arguments, keywords, node))

    def _call_with_key(self, builtin: Any, node: ast.Call) -> StagedValue:
        """`sorted`, `max` or `min` with keywords."""
        (items,), _ = self._evaluate_arguments(ast.copy_location(ast.Call(node.func, node.args, []), node))
        options = {keyword.arg: keyword.value for keyword in node.keywords}
        self.current_node = node
        items = self.as_list(items, ignores_order=builtin is sorted)
        if builtin is sorted and options.keys() <= {"key", "reverse"}:
            return self._sort(items, options, node)
        if builtin is sorted or not options.keys() <= {"key", "default"}:
            raise NotSpeculable(f"`{ast.unparse(node)}` has no graph")
        is_not_empty, key = self.truth(items, node), self._bind_key(options.get("key"), node)

        def choose() -> StagedValue:
            keys = self._keys_of(items, key, node)
            return self.call_library(library.largest_by if builtin is max else library.smallest_by, [items, keys])

        if "default" in options:
            default = self.evaluate(options["default"])
            return self.branch(is_not_empty, choose, lambda: default)
        self.check(is_not_empty, node, "there is an item", "Python raises ValueError where not", raises=ValueError)
        return choose()

    def _sort(
        self, items: StagedValue, options: Mapping[str | None, ast.expr], node: ast.Call, pool: type | None = None
    ) -> StagedValue:
        """A sorted copy of a list, with the options of `sorted`. For `sort`, with the `pool` of the list, the list is
        empty while its keys are computed, and must not change then."""
        key, is_down = None, self.predicate_value(False)
        for name, value in options.items():
            if name == "key":
                key = self._bind_key(value, node)
            else:
                is_down = self.predicate_value(self.truth(self.evaluate(value), node))
        if key is None or pool is None:
            keys = self._keys_of(items, key, node)
        else:
            copy, count = self.call_library(library.copy, [items]), containers.length(self, pool, items)
            containers.write_length(self, pool, items, 0, node)
            keys = self._keys_of(copy, key, node)
            is_empty = self.emit("equal", containers.length(self, pool, items), 0)
            self.check(is_empty, node, "the keys do not change the list", "Python raises ValueError where they do")
            containers.write_length(self, pool, items, count, node)
        self.require_order(keys)
        return self.call_library(library.sort_by, [items, keys, is_down])

    def _bind_key(self, key: ast.expr | None, node: ast.Call) -> ast.expr | None:
        """The call of a key function, which is evaluated here, for the item that `_keys_of` names."""
        if key is None or (isinstance(key, ast.Constant) and key.value is None):
            return None
        name = _key_item(node)
        item = ast.copy_location(ast.Name(name, ast.Load()), node)
        if isinstance(key, ast.Attribute):
            owner = self.evaluate_owner(key.value)
            bound = ast.copy_location(Emission(lambda: owner), key.value)
            method = ast.copy_location(ast.Attribute(bound, key.attr, ast.Load()), key)
            return ast.copy_location(ast.Call(method, [item], []), node)
        function = self.evaluate(key)

        def call() -> StagedValue:
            return self.dispatch(
                function, lambda option: self.call_value(option, [self.state.variables[name]], {}, node)
            )

        return ast.copy_location(Emission(call), node)

    def _keys_of(self, items: StagedValue, key: ast.expr | None, node: ast.Call) -> StagedValue:
        """The list of the values of a key function for the items of a list."""
        if key is None:
            return items
        source = ast.copy_location(Emission(lambda: items), node)
        part = ast.comprehension(ast.Name(_key_item(node), ast.Store()), source, [], 0)
        ast.copy_location(part.target, node)
        return self._evaluate_listcomp(ast.copy_location(ast.ListComp(key, [part]), node))

    def _call_named_attribute(self, owner: StagedValue, name: StagedValue, node: ast.Call) -> StagedValue:
        """`getattr(owner, name)(...)`: a call of the method of this name, with a branch for each name."""
        self.current_node = node

        def call(option: StagedValue) -> StagedValue:
            if not isinstance(option.layout, ConstantLayout) or type(option.layout.value) is not str:
                raise NotSpeculable(f"`{ast.unparse(node.func)}` has no graph")
            method = ast.Attribute(Emission(lambda: owner), option.layout.value, ast.Load())
            call_node = ast.Call(ast.copy_location(method, node.func), node.args, node.keywords)
            return self._evaluate_call(ast.copy_location(call_node, node))

        return self.dispatch(name, call)

    def _call_named_tuple(self, owner: StagedValue, kind: Any, name: str, node: ast.Call) -> StagedValue:
        """A call of a method of a named tuple, or of a function in it."""
        member = static_attribute(kind, name)
        if name == "_replace" and not node.args and "_replace" not in kind._fields:
            self.require_class_value(kind, name)
            _, keywords = self._evaluate_arguments(node)
            if not keywords.keys() <= {*kind._fields}:
                self.check(False, node, "the names are fields", "Python raises an error where they are not")
            items = zip(kind._fields, self.items(owner), strict=True)
            return self.tuple_of([keywords.get(field_name, item) for field_name, item in items], kind)
        if isinstance(member, FunctionType) and not name.startswith("_"):
            self.require_class_value(kind, name)
            return self._call_bound(member, owner, node)
        function = self.read_attribute(owner, name, node.func)
        arguments, keywords = self._evaluate_arguments(node)
        return self.dispatch(function, lambda option: self.call_value(option, arguments, keywords, node))

    def _call_method(self, owner: StagedValue, name: str, node: ast.Call) -> StagedValue:
        if self.is_static(owner, list, dict):
            self.make_general(owner.layout.object)  # type: ignore[union-attr]
        if isinstance(owner.layout, ConstantLayout) and isinstance(owner.layout.value, Enum):
            return self._call_method_of_member(owner, type(owner.layout.value), name, node)
        if isinstance(owner.layout, ConstantLayout) and type(owner.layout.value) is str:
            values, keywords = self._evaluate_arguments(node)
            return text.call_method(self, owner.layout.value, name, values, keywords)
        if not isinstance(owner.layout, ReferenceLayout | StaticLayout):
            if owner.layout == NONE:
                self.fail_on_none(node.func)
            raise NotSpeculable(f"method {name} of {owner.layout} has no graph")

        def call(kind: type, instance: StagedValue) -> StagedValue:
            if issubclass(kind, Pool):
                options = {keyword.arg: keyword.value for keyword in node.keywords}
                is_sort = issubclass(kind, ListPool) and name == "sort" and not node.args
                if is_sort and options.keys() <= {"key", "reverse"}:
                    result = self._sort(instance, options, node, kind)
                    return self.call_library(library.replace_items, [instance, result])
                if node.keywords:
                    raise NotSpeculable(f"method {name} of {with_article(class_name(kind))} with keywords has no graph")
                values = [self.evaluate(argument) for argument in node.args]
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
            return self.dispatch(value, lambda option: self.call_value(option, arguments, keywords, node))

        return self.for_each_class(owner, node.func, call, AttributeError)

    def _call_method_of_member(self, owner: StagedValue, kind: type, name: str, node: ast.Call) -> StagedValue:
        """A call of a method of a member of an enumeration."""
        member = self.require_class_value(kind, name)
        if not isinstance(member, FunctionType) or name in vars(owner.layout.value):  # type: ignore[union-attr]
            raise NotSpeculable(f"method {name} of {owner.layout} has no graph")
        return self._call_bound(member, owner, node)

    def _evaluate_arguments(
        self, node: ast.Call, takes_arrays: bool = False
    ) -> tuple[list[StagedValue], dict[str, StagedValue]]:
        """The arguments of a call. A function that `takes_arrays` reads the items of a list that is written as its
        argument, and keeps no reference to it; so that list is no object of the table."""
        arguments = list[StagedValue]()
        for argument in node.args:
            if isinstance(argument, ast.GeneratorExp | ast.Call) and self._is_consumed(node):
                if isinstance(argument, ast.GeneratorExp):
                    arguments.append(self._evaluate_listcomp(argument))
                    continue
                view = self._dict_view(argument)
                if isinstance(view, tuple):
                    arguments.append(containers.list_view(self, view[0], view[1], argument))
                else:
                    arguments.append(self.evaluate(view))
            elif isinstance(argument, ast.Starred):
                arguments += self.sequence_items(self.evaluate(argument.value))
            elif takes_arrays:
                arguments.append(self._evaluate_nest(argument))
            else:
                arguments.append(self.evaluate(argument))
        keywords = {keyword.arg: self.evaluate(keyword.value) for keyword in node.keywords if keyword.arg is not None}
        self.current_node = node
        return arguments, keywords

    def _evaluate_nest(self, node: ast.expr) -> StagedValue:
        """An expression, in which lists that are written as such have values of their own for their items."""
        if isinstance(node, ast.List) and not any(isinstance(element, ast.Starred) for element in node.elts):
            return self.tuple_of([self._evaluate_nest(element) for element in node.elts], list)
        return self.evaluate(node)

    def _is_consumed(self, node: ast.Call) -> bool:
        """Whether a call passes a generator expression or a view of a dict to a builtin that consumes it at once."""
        return len(node.args) == 1 and any(
            self._is_builtin(node.func, builtin) for builtin in (sum, max, min, list, sorted, len, any, all, set)
        )

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

        def join_parts(options: list[StagedValue]) -> StagedValue:
            parts = [text.text_of(self, *pair, node) for pair in zip(options, slots, strict=True)]
            return text.concatenate(self, parts)

        return self.dispatch_all(values, join_parts)

    def _evaluate_generatorexp(self, node: ast.GeneratorExp) -> StagedValue:
        raise NotSpeculable("a generator has no graph")

    def _call_quantifier(self, node: ast.Call, generator: ast.GeneratorExp, is_any: bool) -> StagedValue:
        """`any` or `all` of a generator expression, which ends at the first item that decides."""
        if len(generator.generators) > 1:
            raise NotSpeculable(f"`{ast.unparse(node)}` has no graph")
        name = f" quantifier {node.lineno}:{node.col_offset}"
        self.state.variables[name] = self.constant(not is_any)

        def decide() -> StagedValue:
            self.state.variables[name] = self.constant(is_any)
            return NONE_VALUE

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
            raise NotSpeculable("super() has a graph for instances only")

        def call(kind: type, receiver: StagedValue) -> StagedValue:
            self.resolution_orders[kind] = kind.__mro__
            for base in kind.__mro__[kind.__mro__.index(own_class) + 1 :]:
                if name in base.__dict__:
                    break
                self.requirements.missing_class_names.add((base, name))
            else:
                raise NotSpeculable(f"super() has no {name}")
            member = self.require_class_value(base, name)
            if member is object.__init__ and not node.args and not node.keywords:
                return NONE_VALUE
            fields = dataclass_fields(base) if name == "__init__" else None
            if fields is not None:
                self._initialize_dataclass(receiver, fields, *self._evaluate_arguments(node), node)
                return NONE_VALUE
            if not isinstance(python_function(member), FunctionType):
                raise NotSpeculable(f"super().{name} has no Python code")
            return self._call_bound(member, receiver, node)

        return self.for_each_class(instance, node, call)

    def _is_builtin(self, node: ast.expr, function: Any) -> bool:
        return isinstance(node, ast.Name) and self._is_value(node, function)

    def _is_value(self, node: ast.expr, function: Any) -> bool:
        value = self.evaluate(node)
        return isinstance(value.layout, ConstantLayout) and value.layout.value is function


def _key_item(node: ast.Call) -> str:
    """The name of the item whose key a call computes."""
    return f" item {node.lineno}:{node.col_offset}"
