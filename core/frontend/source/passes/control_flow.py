"""The pass on control flow: `if`, `while` and `for`, with `break`, `continue` and `return` anywhere.

Each branch and each body becomes a function of its own, and the statement a call of an operator. Exits are in tail
form: what follows an `if` moves into the branch that can reach it, so that `return` needs no flag. Where several paths
with exits meet, the branches return the number of the exit taken, 0 for none, and what follows chooses by it once. The
expression of a `return` that leaves a loop is evaluated after the loop. A `raise` in a `with`, or in a `try` with a
`finally`, is an exit of that statement, too: what the statement does at its end comes before the exception.

>>> import ast
>>> def show(text):
...     (function,) = ast.parse(text).body
...     print(ast.unparse(convert_control_flow(function)))
>>> show('''
... def f(n):
...     if n < 0:
...         return -1
...     return n
... ''')
def f(n):
<BLANKLINE>
    def if_body():
        return -1
<BLANKLINE>
    def else_body():
        return n
    return ag__.if_stmt(n < 0, if_body, else_body, lambda: ())
>>> show('''
... def f(n):
...     k = 0
...     while True:
...         if k * k > n:
...             break
...         k += 1
...     return k
... ''')
def f(n):
    k = 0
<BLANKLINE>
    def loop_test():
        return True
<BLANKLINE>
    def loop_body(go_on):
<BLANKLINE>
        def if_body():
            return False
<BLANKLINE>
        def else_body():
            nonlocal k
            k += 1
            return go_on()
        return ag__.if_stmt(k * k > n, if_body, else_body, lambda: (k,), ('k',))
    ag__.while_stmt(loop_test, loop_body, lambda: (k,), ('k',), 'break')
    return k
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ....program.program import UniqueNames
from ..liveness import Exits, live_before
from ..nodes import NodeTransformer, child_nodes, walk_nodes
from ..reader import FunctionNode
from ..scopes import SCOPES, Scope, function_scope, read_names, walk_scope, written_names
from ..templates import copy_tree, expression, generated_name, statements
from .expressions import mark_test

Exit: TypeAlias = ast.Return | ast.Break | ast.Continue | ast.Raise
"""A statement that leaves a block before its end. A `raise` is one where it leaves a `with`, or a `try` with a
`finally`: its attribute `unwound` counts them."""
Loop: TypeAlias = ast.While | ast.For


def convert_control_flow(node: FunctionNode) -> FunctionNode:
    """The function with operators for its control flow; nested functions stay as they are."""
    if isinstance(node, ast.Lambda):
        return node
    marker = _UnwindingMarker()
    node = marker.convert(_ReturnSplitter().convert(node))
    scope = function_scope(node)
    used_names = {name.id for name in walk_nodes([node]) if isinstance(name, ast.Name)}
    writer = _ControlFlow(scope, _comprehension_functions(node), used_names, marker.position_names)
    live = scope.captured_names | scope.nonlocal_names | scope.global_names
    block = _Block(live, Exits(after_return=live), lambda anchor: [], lambda statement: [statement])
    body = writer.convert(node.body, block)
    has_docstring = bool(body) and body[0] is node.body[0] and ast.get_docstring(node) is not None
    head, rest = (body[:1], body[1:]) if has_docstring else ([], body)
    declarations: list[ast.stmt] = []
    for declaration, names in ((ast.Global, scope.global_names), (ast.Nonlocal, scope.nonlocal_names)):
        if names and writer.has_blocks:
            rest = [statement for statement in rest if not isinstance(statement, declaration)]
            declarations += [ast.copy_location(declaration(sorted(names)), node)]
    unbound = sorted(writer.shared_names - set(scope.parameters) - written_names(rest))
    for name in unbound:  # binds the name in the function, so that inner functions may declare it nonlocal
        declarations += statements("if False: name = None", node.body[0], name=name)
    result = copy.copy(node)
    result.body = [*head, *declarations, *rest] or statements("pass", node)
    return result


@dataclass(frozen=True)
class _Block:
    """What is around statements: where their end and their exits lead."""

    live: frozenset[str]
    """The variables that are live at the end."""
    exits: Exits
    end: Callable[[ast.AST], list[ast.stmt]]
    """The statements at the end, at the position of a node."""
    leave: Callable[[Exit], list[ast.stmt]]
    """The statements that replace an exit."""
    end_assigns: frozenset[str] = frozenset()
    """The variables that the end and the exits assign: those of `:=` in the test of a loop with exits."""
    is_function: bool = True
    """Whether the block is a whole function, so that a `return` ends it."""


class _ControlFlow:
    def __init__(
        self, scope: Scope, functions: dict[str, ast.FunctionDef], used_names: set[str], position_names: set[str]
    ) -> None:
        self.scope, self.functions = scope, functions
        self.local_names = set(scope.local_names) - functions.keys() - position_names
        self.names = UniqueNames()
        self.names.used_names |= used_names | self.local_names
        self.shared_names: set[str] = set()
        """The local variables that inner functions assign."""
        self.has_blocks = False

    def convert(self, body: Sequence[ast.stmt], block: _Block) -> list[ast.stmt]:
        """The statements with operators for control flow, ending as the block says."""
        converted: list[ast.stmt] = []
        for position, statement in enumerate(body):
            follow = list(body[position + 1 :])
            if is_exit(statement):
                return [*converted, *block.leave(statement)]  # type: ignore[arg-type]
            if isinstance(statement, ast.If):
                if has_exits([statement]) or (block.is_function and not may_complete_both(statement)):
                    return [*converted, *self._tail_if(statement, follow, block)]
                converted += self._plain_if(statement, live_before(follow, block.live, block.exits), block)
            elif isinstance(statement, ast.While | ast.For):
                loop, rest = self._loop(statement, follow, block)
                return [*converted, *loop, *self._convert_rest(rest, block, statement)]
            elif isinstance(statement, ast.With | ast.Try | ast.TryStar | ast.Match):
                compound, rest = self._compound(statement, follow, block)
                converted += compound
                if rest is not follow:
                    return [*converted, *self._convert_rest(rest, block, statement)]
            else:
                converted.append(statement)
            if isinstance(statement, ast.Raise):
                return converted
        return [*converted, *block.end(body[-1])] if body else converted

    def _convert_rest(self, body: Sequence[ast.stmt], block: _Block, anchor: ast.AST) -> list[ast.stmt]:
        """The statements after a statement, converted; the end of the block if that is nothing."""
        return self.convert(body, block) if body else block.end(anchor)

    def _plain_if(self, node: ast.If, live: frozenset[str], block: _Block) -> list[ast.stmt]:
        """An `if` without exits."""
        inner = _Block(live, block.exits, lambda anchor: [], block.leave)
        return self._if(node, node.body, node.orelse, inner, "ag__.if_stmt(test, then, otherwise, state, live)")

    def _tail_if(self, node: ast.If, follow: list[ast.stmt], block: _Block) -> list[ast.stmt]:
        """An `if` with exits, and all that follows it in its block."""
        completes = may_complete(node.body), may_complete(node.orelse)
        if follow and all(completes):
            return self._selected_if(node, follow, block)
        then, otherwise = (
            [*branch, *follow] if follow and completed else branch
            for branch, completed in zip((node.body, node.orelse), completes, strict=True)
        )
        return self._if(node, then, otherwise, block, "return ag__.if_stmt(test, then, otherwise, state, live)")

    def _selected_if(self, node: ast.If, follow: list[ast.stmt], block: _Block) -> list[ast.stmt]:
        """An `if` whose branches may both exit or go on: the statements after it appear once."""
        selection = _ExitSelection(self.names.fresh_name("exit"), find_exits([node]), self)
        rest = [*selection.dispatch(), *follow]
        live = live_before(rest, block.live, block.exits)
        inner = _Block(live, Exits(live, live, live), selection.end, selection.leave)
        template = "name = ag__.if_stmt(test, then, otherwise, state, live)"
        return [
            *self._if(node, node.body, node.orelse, inner, template, name=selection.name),
            *self.convert(rest, block),
        ]

    def _if(
        self,
        node: ast.If,
        then: list[ast.stmt],
        otherwise: list[ast.stmt],
        block: _Block,
        template: str,
        **fillers: str,
    ) -> list[ast.stmt]:
        """Functions for both branches, and the statement that calls the operator."""
        modified = sorted({*self._modified_names(then, otherwise), *block.end_assigns})
        names = self.names.fresh_name("if_body"), self.names.fresh_name("else_body")
        return [
            *self._function(names[0], then, block, node.body[0]),
            *self._function(names[1], otherwise, block, (otherwise or [node])[0]),
            *self._operator(
                template, node, modified, block.live, test=node.test, then=names[0], otherwise=names[1], **fillers
            ),
        ]

    def _modified_names(self, *bodies: Sequence[ast.AST]) -> list[str]:
        return sorted({name for body in bodies for name in written_names(body)} & self.local_names)

    def _operator(
        self, template: str, anchor: ast.AST, modified: list[str], live: frozenset[str], **fillers: Any
    ) -> list[ast.stmt]:
        """A statement that calls an operator with the state of these variables."""
        state = expression("lambda: names", anchor, names=_tuple(map(_load, modified)))
        live_names = [name for name in modified if name in live or name in self.scope.captured_names]
        if not live_names:
            template = template.replace(", live)", ")")
        live_tuple = _tuple(map(ast.Constant, live_names))
        return statements(template, anchor, state=state, live=live_tuple, **fillers)

    def _function(
        self, name: str, body: Sequence[ast.stmt], block: _Block, anchor: ast.AST, template: str = "def name(): body"
    ) -> list[ast.stmt]:
        """A function for a block."""
        self.has_blocks = True
        converted = self.convert(body, block) if body else block.end(anchor)
        declarations = self._declarations(converted, anchor)
        return _block(template, anchor, name=name, body=[*declarations, *converted] or statements("pass", anchor))

    def _declarations(self, body: Sequence[ast.stmt], anchor: ast.AST) -> list[ast.stmt]:
        """The declarations of the variables that a block assigns."""
        written = written_names(body)
        own = sorted(written & (self.local_names | self.scope.nonlocal_names))
        self.shared_names |= written & self.local_names
        shared = sorted(written & self.scope.global_names)
        declared: list[ast.stmt] = []
        if own:
            declared += statements("nonlocal names", anchor, names=own)
        if shared:
            declared += statements("global names", anchor, names=shared)
        return declared

    def _loop(self, node: Loop, follow: list[ast.stmt], block: _Block) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The call of an operator for a loop, and the statements to convert after it."""
        node, options = _take_options(node)
        plan = self._plan_loop(node, follow, block)
        body = self.names.fresh_name("loop_body")
        header = "def name(): body" if plan.form == "plain" else f"def name({plan.go_on_name}): body"
        functions = self._function(body, node.body, plan.body_block(), node.body[0], header)
        result = f"{plan.exits.name} = " if plan.form == "exit" else ""
        if isinstance(node, ast.While):
            mark_test(node.test)
            test = self.names.fresh_name("loop_test")
            functions = [*self._expression_function(test, node.test), *functions]
            template = f"{result}ag__.while_stmt(test, body, state, live{plan.form_argument})"
            modified = self._modified_names(node.body, [node.test])
            fillers: dict[str, Any] = {"test": test, "body": body}
        else:
            assign = self.names.fresh_name("loop_target")
            item = self.names.fresh_name("item")
            functions = [*self._target_function(assign, item, node.target), *functions]
            template = f"{result}ag__.for_stmt(items, target, body, state, live{plan.form_argument})"
            modified = self._modified_names(node.body, [node.target])
            fillers = {"items": node.iter, "target": assign, "body": body}
        state = expression("lambda: names", node, names=_tuple(map(_load, modified)))
        names = [name for name in modified if name in plan.live or name in self.scope.captured_names]
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id in names:
            last = node.target.id
            if last not in written_names(node.body) and last not in self.scope.captured_names:
                names.remove(last)
                template = template[:-1] + f", last={last!r})"
        call = statements(template, node, state=state, live=_tuple(map(ast.Constant, names)), **fillers)
        operator = call[0].value  # type: ignore[attr-defined]
        operator.keywords += options
        return [*functions, *call], plan.follow

    def _plan_loop(self, node: Loop, follow: list[ast.stmt], block: _Block) -> _LoopPlan:
        """The form of a loop, from its exits, and what is live in it and after it."""
        breaks = [jump for jump in find_exits(node.body) if not isinstance(jump, ast.Continue)]
        needs_number = bool(node.orelse) or any(not isinstance(statement, ast.Break) for statement in breaks)
        test_names = written_names([node.test]) & self.local_names if isinstance(node, ast.While) else set()
        form = "exit" if breaks and needs_number else "break" if breaks or test_names else "plain"
        name = self.names.fresh_name("exit") if form == "exit" else ""
        exits = _LoopExits(name, breaks, self, may_complete([node]))
        go_on = "" if form == "plain" else self.names.fresh_name("go_on")
        after = exits.dispatch(node.orelse) if form == "exit" else node.orelse
        rest = [*after, *follow]
        live_after = live_before(rest, block.live, block.exits)
        bare = copy.copy(node)
        bare.orelse = []
        head = live_before([bare], live_after, Exits(live_after, frozenset(), live_after))
        if isinstance(node, ast.For):
            head -= read_names([node.iter]) - read_names(node.body) - live_after
        return _LoopPlan(form, go_on, exits, rest, live_after, head | live_after, frozenset(test_names))

    def _expression_function(self, name: str, node: ast.expr) -> list[ast.stmt]:
        self.has_blocks = True
        body = statements("return value", node, value=node)
        return _block("def name(): body", node, name=name, body=[*self._declarations(body, node), *body])

    def _target_function(self, name: str, item: str, target: ast.expr) -> list[ast.stmt]:
        self.has_blocks = True
        assignment = statements("x = item", target, item=item)
        assert isinstance(assignment[0], ast.Assign)
        assignment[0].targets = [target]
        body = [*self._declarations(assignment, target), *assignment]
        return _block("def name(item): body", target, name=name, item=item, body=body)

    def _try(self, node: ast.Try, follow: list[ast.stmt], block: _Block) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A `try` with handlers, and the statements to convert after it. The handlers become a function that raises an
        exception again, under them."""
        if node.finalbody:
            inner_try = copy.copy(node)
            inner_try.finalbody = []
            outer = copy.copy(node)
            outer.body, outer.handlers, outer.orelse = [inner_try], [], []
            return self._compound(outer, follow, block)
        exits, target, rest = find_exits([node]), "", follow
        selection = _ExitSelection(
            self.names.fresh_name("exit") if exits else "", exits, self, may_complete([node], False)
        )
        if exits:
            target, rest = f"{selection.name} = ", [*selection.dispatch(), *follow]
        live = live_before(rest, block.live, block.exits)
        inside = live | read_names([node])
        end = selection.end if exits else lambda anchor: []
        inner = _Block(inside, Exits(inside, inside, inside), end, selection.leave)
        body, otherwise = self.names.fresh_name("try_body"), self.names.fresh_name("else_body")
        functions = self._function(body, node.body, inner, node.body[0])
        if node.orelse:
            functions += self._function(otherwise, node.orelse, inner, node.orelse[0])
        handlers = self.names.fresh_name("handlers")
        error = self.names.fresh_name("error")
        again = copy.copy(node)
        again.body, again.orelse = statements("raise name", node.handlers[0], name=error), []
        again.is_of_handlers = again.body[0].is_of_handlers = True  # type: ignore[attr-defined]
        again.handlers = [copy.copy(handler) for handler in node.handlers]
        for handler in again.handlers:
            handler.body = self.convert(handler.body, inner)
        declarations = self._declarations([again], node)
        functions += _block("def name(error): body", node, name=handlers, error=error, body=[*declarations, again])
        kinds = [copy_tree(handler.type) for handler in node.handlers if handler.type is not None]
        caught_classes = ast.Tuple(kinds, ast.Load()) if len(kinds) == len(node.handlers) else _load("Exception")
        modified = self._modified_names(node.body, node.orelse, node.handlers)
        self.shared_names.update(modified)  # code after an exit, which is dropped, may be all that assigns one
        call = self._operator(
            f"{target}ag__.try_stmt(lambda: caught, body, handle, otherwise, state, live)",
            node,
            modified,
            live,
            caught=caught_classes,
            body=body,
            handle=handlers,
            otherwise=otherwise if node.orelse else ast.Constant(None),
        )
        return [*functions, *call], rest

    def _compound(self, node: Any, follow: list[ast.stmt], block: _Block) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A `with`, `try` or `match`, and the statements to convert after it. Its blocks stay in place; a block with
        exits becomes a function that returns which exit was taken."""
        if isinstance(node, ast.Try) and node.handlers:
            return self._try(node, follow, block)
        result = copy.copy(node)
        exits = find_exits([node])
        if not exits:
            live = live_before(follow, block.live, block.exits) | read_names([node])
            inner = _Block(live, block.exits, lambda anchor: [], block.leave, is_function=False)
            for owner, field, part in _parts(result):
                setattr(owner, field, self.convert(part, inner))
            return [result], follow
        has_end = may_complete([node], suppresses=False)
        unwinds = isinstance(node, ast.With) or bool(getattr(node, "finalbody", []))
        selection = _ExitSelection(self.names.fresh_name("exit"), exits, self, has_end, unwinds=unwinds)
        rest = [*selection.dispatch(), *follow]
        live = live_before(rest, block.live, block.exits) | read_names([node])
        inner = _Block(live, Exits(live, live, live), selection.end, selection.leave)
        plain = replace(inner, end=lambda anchor: [], is_function=False)
        wrapper = ""
        for owner, field, part in _parts(result):
            if not find_exits(part):
                setattr(owner, field, self.convert(part, plain))
                continue
            name = self.names.fresh_name("block")
            functions = self._function(name, part, inner, part[0])
            call = expression("name()", part[0], name=name)
            call.is_of_block = True
            template = "target = ag__.or_(call, lambda: target)" if field == "finalbody" else "target = call"
            taken = statements(template, part[0], target=selection.name, call=call)
            setattr(owner, field, [*functions, *taken])
            if field == "finalbody":
                wrapper = "try: body\nexcept Exception as error:\n  if not ag__.is_left(target, error): raise"
        if isinstance(result, ast.Try | ast.TryStar) and result.orelse and find_exits(node.body):
            guard = statements("if not chosen: body", result.orelse[0], chosen=selection.name, body=result.orelse)
            result.orelse = guard
        if wrapper:  # an exit of `finally` takes the place of an exception
            (result,) = statements(wrapper, node, body=[result], target=selection.name)
        return [*statements(f"name = {selection.no_exit}", node, name=selection.name), result], rest


class _ExitSelection:
    """The exits of a statement by number, from 1; 0 says that none was taken. A single exit is a bool."""

    def __init__(
        self, name: str, exits: Sequence[Exit], writer: _ControlFlow, has_end: bool = True, *, unwinds: bool = False
    ) -> None:
        self.name, self.has_end, self.unwinds = name, has_end, unwinds
        self.local_names, self.functions = writer.local_names, writer.functions
        self.exits = {_exit_key(statement): statement for statement in exits}

    @property
    def no_exit(self) -> str:
        """The number that says that no exit was taken, as text."""
        return "False" if len(self.exits) == 1 else "0"

    def number(self, statement: Exit) -> ast.expr:
        """The number of an exit."""
        position = list(self.exits).index(_exit_key(statement))
        number: ast.expr = ast.Constant(True if len(self.exits) == 1 else position + 1)
        if isinstance(statement, ast.Raise):
            return expression("ag__.unwind(number, lambda: error)", statement, number=number, error=statement.exc)  # type: ignore[no-any-return, arg-type]
        return number

    def leave(self, statement: Exit) -> list[ast.stmt]:
        """The return of the number of an exit."""
        return statements("return number", statement, number=self.number(statement))

    def end(self, anchor: ast.AST) -> list[ast.stmt]:
        """The return of the number for no exit."""
        return statements(f"return {self.no_exit}", anchor)

    def dispatch(self, otherwise: Sequence[ast.stmt] = ()) -> list[ast.stmt]:
        """Statements that take the exit of the number; without one, `otherwise`."""
        result: list[ast.stmt] = []
        for position, statement in enumerate(self.exits.values(), start=1):
            if self.is_taken_later(statement):
                template = "if name: leave" if len(self.exits) == 1 else "if name == number: leave"
                if not self.has_end and position == len(self.exits):
                    template = "if ag__.is_last_exit(name, number): leave"
                used = [name for name in read_names([statement]) if name in self.functions]
                leave = [*(copy_tree(self.functions[name]) for name in sorted(used)), self.postpone(statement)]
                number = ast.Constant(True if len(self.exits) == 1 else position)
                result += statements(template, statement, name=self.name, number=number, leave=leave)
        if otherwise:
            template = "if not name: body" if len(self.exits) == 1 else "if name == 0: body"
            result += statements(template, otherwise[0], name=self.name, body=list(otherwise))
        return result

    def postpone(self, statement: Exit) -> Exit:
        """A copy of an exit, to be taken after the statement: the variables that it reads were assigned before it."""
        later: Exit = copy_tree(statement)
        if isinstance(later, ast.Raise):
            later.unwound -= self.unwinds  # type: ignore[attr-defined]
        for child in walk_scope([later]):
            if isinstance(child, ast.Name) and child.id in self.local_names:
                child.is_present = not getattr(child, "may_be_unassigned", False)  # type: ignore[attr-defined]
        return later

    def is_taken_later(self, statement: Exit) -> bool:
        """Whether the exit is taken after the statement."""
        return True


class _LoopExits(_ExitSelection):
    """The exits of a loop; a `break` leads to what follows the loop."""

    def is_taken_later(self, statement: Exit) -> bool:
        return isinstance(statement, ast.Return | ast.Raise)


@dataclass(frozen=True)
class _LoopPlan:
    """How a loop is converted."""

    form: str
    """"plain" if each iteration reaches the end of the body; "break" if an iteration returns whether another may
    follow; "exit" if it also returns the number of the exit that it took, 0 for none."""
    go_on_name: str
    """The parameter of the body that says whether another iteration may follow; empty for a plain loop."""
    exits: _LoopExits
    follow: list[ast.stmt]
    """The statements to convert after the loop."""
    live_after: frozenset[str]
    live: frozenset[str]
    """The variables that are live at the end of an iteration: after the loop, or in the next iteration."""
    test_names: frozenset[str]
    """The variables that the test assigns, by `:=`."""

    @property
    def form_argument(self) -> str:
        """The argument of the operator that says the form."""
        if self.form == "plain":
            return ""
        return ", 'exits'" if self.form == "exit" and self.exits.no_exit == "0" else f", {self.form!r}"

    @property
    def go_on(self) -> str:
        """The statement that ends an iteration, after which another may follow."""
        if self.form == "plain":
            return "return"
        number = f", {self.exits.no_exit}" if self.form == "exit" else ""
        return f"return {self.go_on_name}(){number}"

    def body_block(self) -> _Block:
        """What is around the body."""
        exits = Exits(self.live_after, self.live, self.live_after)
        return _Block(self.live, exits, self.end, self.leave, self.test_names)

    def end(self, anchor: ast.AST) -> list[ast.stmt]:
        """The statements at the end of the body."""
        return [] if self.form == "plain" else statements(self.go_on, anchor)

    def leave(self, statement: Exit) -> list[ast.stmt]:
        """The statements that replace an exit in the body."""
        if isinstance(statement, ast.Continue):
            return statements(self.go_on, statement)
        if self.form == "break":
            return statements("return False", statement)
        return statements("return False, number", statement, number=self.exits.number(statement))


def _comprehension_functions(node: ast.AST) -> dict[str, ast.FunctionDef]:
    """The functions in which the loops of comprehensions are, by name. A block or an exit that uses one has its own."""
    functions = (child for child in walk_scope(child_nodes(node)) if isinstance(child, ast.FunctionDef))
    return {function.name: function for function in functions if getattr(function, "is_of_comprehension", False)}


def may_complete_both(node: ast.If) -> bool:
    """Whether the ends of both branches may be reached."""
    return may_complete(node.body) and may_complete(node.orelse)


def _parts(node: Any) -> Iterator[tuple[Any, str, list[ast.stmt]]]:
    """The blocks of a `with`, `try` or `match`, each as the attribute of a node."""
    if isinstance(node, ast.Match):
        node.cases = [copy.copy(case) for case in node.cases]
        yield from ((case, "body", case.body) for case in node.cases)
        return
    yield node, "body", node.body
    if isinstance(node, ast.Try | ast.TryStar):
        node.handlers = [copy.copy(handler) for handler in node.handlers]
        yield from ((handler, "body", handler.body) for handler in node.handlers)
        for field in ("orelse", "finalbody"):
            if getattr(node, field):
                yield node, field, getattr(node, field)


def _take_options(loop: Any) -> tuple[Any, list[ast.keyword]]:
    """A loop without the statement `loop_options(...)` in its body, and the keywords of that."""
    for position, statement in enumerate(loop.body):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) == "loop_options":
            bare = copy.copy(loop)
            bare.body = [*loop.body[:position], *loop.body[position + 1 :]] or statements("pass", statement)
            return bare, call.keywords
    return loop, []


def _block(template: str, anchor: ast.AST, **fillers: Any) -> list[ast.stmt]:
    """The function of a block."""
    (function,) = statements(template, anchor, **fillers)
    function.is_block = True  # type: ignore[attr-defined]
    return [function]


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _tuple(items: Any) -> ast.expr:
    return ast.Tuple(list(items), ast.Load())


class _ReturnSplitter(NodeTransformer):
    """Splits each `return` inside of a `with` or `try`, so that its expression is evaluated there."""

    def __init__(self) -> None:
        self.depth = self.count = 0

    def convert(self, node: ast.FunctionDef) -> ast.FunctionDef:
        result = copy.copy(node)
        result.body = [part for statement in node.body for part in _as_list(self.visit(statement))]
        return result

    def visit_Return(self, node: ast.Return) -> Any:
        if not self.depth or node.value is None or isinstance(node.value, ast.Constant):
            return node
        self.count += 1
        return statements(
            "name = value; return name", node, name=generated_name("result", self.count), value=node.value
        )

    def _visit_compound(self, node: ast.AST) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    visit_With = visit_Try = visit_TryStar = _visit_compound

    def _visit_scope(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _visit_scope


class _UnwindingMarker(NodeTransformer):
    """Marks each `raise` in a `with`, or in a `try` with a `finally`, with the number of these that it leaves, and
    writes `assert` there as a `raise`. At the end of a `finally`, its effects are checked."""

    def __init__(self) -> None:
        self.depth = 0
        self.position_names: set[str] = set()
        """The variables that hold where a `try` and its `finally` start: they are no state."""

    def convert(self, node: ast.FunctionDef) -> ast.FunctionDef:
        result = copy.copy(node)
        result.body = [part for statement in node.body for part in _as_list(self.visit(statement))]
        return result

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if self.depth and node.exc is not None and node.cause is None and not written_names([node.exc]):
            node.unwound = self.depth  # type: ignore[attr-defined]
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        if not self.depth or written_names([node]):
            return node
        error = expression("AssertionError()", node)
        error.args += [] if node.msg is None else [node.msg]
        (guard,) = statements("if not test: raise error", node, test=node.test, error=error)
        return self.visit(guard)

    def visit_With(self, node: ast.With) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_Try(self, node: ast.Try) -> Any:
        depth = self.depth
        inner = depth + bool(node.finalbody)
        self.depth = 0 if node.handlers else inner
        node.body = self._visit_all(node.body)
        self.depth = inner
        node.handlers = self._visit_all(node.handlers)
        node.orelse = self._visit_all(node.orelse)
        self.depth = depth
        node.finalbody = self._visit_all(node.finalbody)
        if not any(isinstance(child, ast.Call) for child in walk_scope(node.finalbody)):
            return node
        number = len(self.position_names) // 2 + 1
        start, middle = generated_name("try", number), generated_name("finally", number)
        self.position_names |= {start, middle}
        before = statements("middle = ag__.position()", node.finalbody[0], middle=middle)
        last_line = _last_change([*node.body, *node.orelse], node.finalbody)
        lines = expression(f"{(last_line, node.finalbody[0].lineno) if last_line else None}", node.finalbody[-1])
        call = "ag__.check_effects(start, middle, lines)"
        after = statements(call, node.finalbody[-1], start=start, middle=middle, lines=lines)
        node.finalbody = [*before, *node.finalbody, *after]
        return [*statements("start = ag__.position()", node, start=start), node]

    def _visit_all(self, nodes: Sequence[ast.AST]) -> list[Any]:
        return [part for statement in nodes for part in _as_list(self.visit(statement))]

    def _visit_scope(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _visit_scope


def _last_change(body: Sequence[ast.stmt], end: Sequence[ast.stmt]) -> int:
    """The last line of the statements of a body that may change what the end of its `try` reads; 0 if there are none.

    >>> body = ast.parse("x = 1\\nf(y)\\nx = 2\\nz = len(y)").body
    >>> [_last_change(body, ast.parse(end).body) for end in ("print(x)", "print(v)", "print('end')")]
    [3, 2, 0]
    """
    names = {name for name in read_names(end) if not hasattr(builtins, name)}
    for statement in reversed(body) if names else ():
        if names & written_names([statement]) or _may_change_objects(statement):
            return statement.end_lineno or statement.lineno
    return 0


_CHANGING_BUILTINS = ("next", "setattr", "delattr")


def _may_change_objects(statement: ast.stmt) -> bool:
    """Whether a statement assigns an attribute or item, or calls what may: an object may have several names, and a
    function may change variables."""
    for node in walk_scope([statement]):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if not hasattr(builtins, name) or name in _CHANGING_BUILTINS:
                return True
    return False


def _as_list(nodes: Any) -> list[Any]:
    return nodes if isinstance(nodes, list) else [nodes]


def is_exit(node: ast.AST) -> bool:
    """Whether a statement leaves the block that it is in."""
    return isinstance(node, Exit) and (not isinstance(node, ast.Raise) or bool(getattr(node, "unwound", 0)))


def _exit_key(statement: Exit) -> str:
    """The key that two exits share if they are the same: what they do; for a `raise`, also its line, which the
    exception has."""
    return ast.dump(statement, include_attributes=isinstance(statement, ast.Raise))


def find_exits(body: Sequence[ast.AST]) -> list[Exit]:
    """The exits of a block, in order: `return`, `raise` of a statement that it unwinds, and `break` and `continue` of
    loops around it.

    >>> body = ast.parse("while p:\\n  break\\nelse:\\n  continue\\nif q: return").body
    >>> [type(each).__name__ for each in find_exits(body)]
    ['Continue', 'Return']
    """
    exits: list[Exit] = []
    for node in body:
        if is_exit(node):
            exits.append(node)  # type: ignore[arg-type]
        elif isinstance(node, ast.While | ast.For | ast.AsyncFor):
            exits += [jump for jump in find_exits(node.body) if isinstance(jump, ast.Return | ast.Raise)]
            exits += find_exits(node.orelse)
        elif not isinstance(node, SCOPES):
            exits += find_exits(child_nodes(node))
    return exits


def has_exits(body: Sequence[ast.AST]) -> bool:
    """Whether a block has an exit."""
    return bool(find_exits(body))


def may_complete(body: Sequence[ast.stmt], suppresses: bool = True) -> bool:
    """Whether the end of a block may be reached. A context manager may suppress an exception, unless the caller says
    that none does.

    >>> may_complete(ast.parse("if p: raise E\\nelse:\\n  raise F").body), may_complete(ast.parse("if p: raise E").body)
    (False, True)
    """
    for statement in body:
        match statement:
            case ast.Return() | ast.Break() | ast.Continue() | ast.Raise():
                return False
            case ast.If():
                branches = statement.body, statement.orelse
                if not any(may_complete(branch, suppresses) for branch in branches):
                    return False
            case ast.With():
                if not suppresses and not may_complete(statement.body, suppresses):
                    return False
            case ast.Try():
                ways = [[*statement.body, *statement.orelse], *(handler.body for handler in statement.handlers)]
                if not any(may_complete(way, suppresses) for way in ways):
                    return False
                if not may_complete(statement.finalbody, suppresses):
                    return False
            case ast.While(test=ast.Constant(value=value)) if value:
                if not any(isinstance(jump, ast.Break) for jump in find_exits(statement.body)):
                    return False
    return True
