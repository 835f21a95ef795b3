"""Operators for S-expressions: converted Python is staged to a program of functions, each defined once.

A Python function that is called with a symbolic argument becomes a function of the program, and the call becomes a call
of the program, so recursion needs no special case. A loop becomes a local function that calls itself. Each expression
is written once, in the order of evaluation, as a binding of a `let*`.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType
from typing import Any, NoReturn

import numpy as np

from ....core.errors import Invalid, Usage, describe_class
from ....core.frontend import functions as op_functions
from ....core.frontend.source.convert import convert, is_converted
from ....core.frontend.source.raising import is_raised
from ....core.frontend.source.state import CellPlace, Journal, open_journal, staging_depth
from ....core.frontend.source.trees import Tree, is_same, split
from ....core.frontend.source.user_code import is_convertible
from ....core.frontend.trace.annotation import underlying_function
from ....core.frontend.trace.pytree import LEAF, TreeDef
from ....core.frontend.trace.source_location import definition_location, unconverted_reason, user_location
from ....core.ops.op import OPS
from ....core.program.program import UniqueNames
from ..functions import named_signature, unique_identifiers
from ..operators import BackendOperators, Leaves, refuse
from .continuations import gradient_definitions
from .expressions import Definition, Expression, Identifier, read_expressions
from .machine import run

_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "logical_and",
    "or": "logical_or",
    "xor": "logical_xor",
}
"""The op of each operator of Python that has a reflected form."""
_COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
_VARIABLE = re.compile(r"_v(_\d+)?")
"""The names of variables while a function is staged."""
_MATH = {getattr(math, name): name for name in ("exp", "log", "sin", "cos", "tan", "tanh", "sqrt", "floor", "ceil")}
MAX_VERSIONS = 8
"""The most definitions of one Python function that are being staged at a time."""
_OPERATOR_FUNCTIONS = [getattr(operator, name) for name in operator.__all__]
_OPS_BY_FUNCTION = {getattr(op_functions, name): name for name in op_functions.__all__} | _MATH


class SexprValue:
    """A symbolic value: the variable or literal of an S-expression, in the function of the program that has it."""

    def __init__(self, backend: SexprBackend, expression: Expression) -> None:
        self._backend, self._expression, self._owner = backend, expression, backend.owner

    def __getattr__(self, name: str) -> SexprValue:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._backend.emit("get", self, Identifier(name))

    def __getitem__(self, position: Any) -> SexprValue:
        if isinstance(position, slice | tuple):
            refuse(self._backend, "a slice", "take items one by one")
        return self._backend.emit("item", self, position)

    def __neg__(self) -> SexprValue:
        return self._backend.emit("negative", self)

    def __abs__(self) -> SexprValue:
        return self._backend.emit("abs", self)

    def __repr__(self) -> str:
        return f"<symbolic {self._expression}>"

    def _refuse(self, *arguments: object) -> NoReturn:
        raise Invalid(
            "a symbolic value is known only when the S-expression runs",
            rule="F1",
            where=user_location(),
            got=repr(self),
            hint="convert the function that needs it",
            python=TypeError,
        )

    __bool__ = __iter__ = __len__ = __index__ = __int__ = __float__ = __array__ = __call__ = _refuse
    __hash__ = object.__hash__


def _install_operators() -> None:
    def binary(op: str) -> Callable[[SexprValue, Any], SexprValue]:
        return lambda self, other: self._backend.emit(op, self, other)

    def reflected_operator(op: str) -> Callable[[SexprValue, Any], SexprValue]:
        return lambda self, other: self._backend.emit(op, other, self)

    for name, op in (_BINARY | _COMPARISONS).items():
        setattr(SexprValue, f"__{name}__", binary(op))
        if name in _BINARY:
            setattr(SexprValue, f"__r{name}__", reflected_operator(op))


_install_operators()


@dataclass
class _StagedFunction:
    """A Python function that is, or is being, staged to a definition."""

    name: Identifier
    parameters: list[Identifier]
    result: TreeDef | None = None
    """The structure of its result, once a branch without recursion has determined it."""
    has_missing_branches: bool = False
    """Whether a branch was left out, since the structure of a result was not known yet."""
    is_open: bool = False
    """Whether it is being staged."""
    is_provisional: bool = False
    """Whether the next call stages it again: a branch was left out, since another function under staging had no result
    yet."""
    body: Expression = None
    keep_alive: list[Any] = field(default_factory=list)
    """Objects whose identity distinguishes it from other functions."""


class _ResultUnknown(BaseException):
    """Raised by a recursive call where the structure of its result is not known yet."""


class SexprBackend:
    """Stages to S-expressions."""

    name = "S-expressions"

    def __init__(self) -> None:
        self.names = UniqueNames()
        self.staged_functions: dict[tuple[Any, ...], _StagedFunction] = {}
        self.owner: object = None
        """The function of the program that is being staged."""
        self.codes: list[tuple[CodeType, int]] = []
        """The functions that run in their callers, each with the number of staged branches and loops around it."""
        self.blocks: list[list[tuple[Identifier, Expression]]] = [[]]
        """The bindings of each block around."""

    def fresh_name(self, name: str = "_v") -> Identifier:
        return Identifier(self.names.fresh_name(name))

    def emit(self, form: str, *operands: Any, **attributes: Any) -> SexprValue:
        """Add a binding to the block; returns its variable."""
        parts = [self.to_expression(operand) for operand in operands]
        keywords = [part for name, value in attributes.items() for part in (Identifier(f":{name}"), _attribute(value))]
        return self.bind((Identifier(form), *parts, *keywords))

    def bind(self, expression: Expression, name: str = "_v") -> SexprValue:
        variable = self.fresh_name(name)
        self.blocks[-1].append((variable, expression))
        return SexprValue(self, variable)

    def to_expression(self, value: Any) -> Expression:
        """An operand as an expression. Raises Invalid (F4) for a symbolic value of another function, and for an object
        that is not a value."""
        if isinstance(value, SexprValue):
            if value._owner is not self.owner:
                refuse(self, f"{value!r}, which another function computes,", "pass it as an argument")
            return value._expression
        if isinstance(value, bool | int | float | Identifier):
            return value
        if isinstance(value, np.bool_ | np.integer | np.floating):
            return value.item()
        if isinstance(value, tuple | list):
            return Identifier("tuple"), *map(self.to_expression, value)
        if hasattr(value, "__array__"):
            return _array(np.asarray(value).tolist())
        return refuse(self, f"{describe_class(value)}", "use numbers, arrays and tuples", repr(value)[:200])

    @contextmanager
    def block(self) -> Iterator[list[tuple[Identifier, Expression]]]:
        """A new block of bindings."""
        self.blocks.append([])
        try:
            yield self.blocks[-1]
        finally:
            self.blocks.pop()

    # The protocol of backends

    def is_symbolic(self, value: Any) -> bool:
        return isinstance(value, SexprValue)

    def truth(self, value: Any) -> Any:
        return value

    def negate(self, value: Any) -> Any:
        return self.emit("not", value)

    def cast(self, value: Any, kind: type) -> Any:
        if kind is bool:
            return self.emit("not", self.emit("not", value))
        return self.emit("astype", value, dtype=Identifier("int64" if kind is int else "float64"))

    def round(self, value: Any) -> Any:
        return self.cast(self.emit("round", value), int)

    def python_class(self, value: Any) -> type:
        return refuse(self, "the class of a symbolic value", "S-expressions have no types")

    def zero_like(self, leaf: Any) -> Any:
        return 0

    def length(self, array: Any) -> Any:
        return self.emit("len", array)

    def branch(self, predicate: Any, then: Callable[[], Leaves], otherwise: Callable[[], Leaves]) -> Leaves:
        branches: list[tuple[list[tuple[Identifier, Expression]], Leaves | None, Expression]] = []
        raised_error: Any = None
        for branch in (then, otherwise):
            leaves, failure = None, None
            with self.block() as bindings:
                try:
                    leaves = branch()
                except _ResultUnknown:
                    self._current().has_missing_branches = True
                except Exception as error:
                    if not is_raised(error):
                        raise
                    raised_error, failure = error, _failure(error)
            branches.append((bindings, leaves, failure))
        typed_leaves = next((leaves for _, leaves, _ in branches if leaves is not None), None)
        test = self.to_expression(predicate)
        if typed_leaves is None:
            if any(failure is None for _, _, failure in branches):
                raise _ResultUnknown
            raised_error.expression = (
                Identifier("if"), test, *(let_expression(bindings, failure) for bindings, _, failure in branches)
            )  # fmt: skip
            raise raised_error
        columns = [leaves if leaves is not None else typed_leaves for _, leaves, _ in branches]
        positions = [k for k, pair in enumerate(zip(*columns, strict=True)) if not is_same(*pair)]
        if any(failure is not None for *_, failure in branches):
            positions = list(range(len(typed_leaves)))
        results = list(typed_leaves)
        if (
            not positions
            and not any(bindings for bindings, *_ in branches)
            and all(failure is None for *_, failure in branches)
        ):
            return results
        bodies = [
            let_expression(bindings, failure if failure is not None else self._pack([column[k] for k in positions]))
            for (bindings, _, failure), column in zip(branches, columns, strict=True)
        ]
        for k, value in zip(positions, self._unpack((Identifier("if"), test, *bodies), len(positions)), strict=True):
            results[k] = value
        return results

    def _pack(self, leaves: Leaves) -> Expression:
        """Several values as one expression."""
        parts = [self.to_expression(leaf) for leaf in leaves]
        return parts[0] if len(parts) == 1 else (Identifier("tuple"), *parts)

    def _unpack(self, expression: Expression, count: int, name: str = "_v") -> Leaves:
        """The values of an expression that `_pack` has made."""
        value = self.bind(expression, name)
        return [value] if count == 1 else [value[k] for k in range(count)]

    def loop(self, test: Callable[[Leaves], Any], body: Callable[[Leaves], Leaves], start: Leaves) -> Leaves:
        name, variables = self.fresh_name("loop"), [self.fresh_name() for _ in start]
        leaves: Leaves = [SexprValue(self, variable) for variable in variables]
        with self.block() as test_bindings:
            condition = self.to_expression(test(leaves))
        with self.block() as body_bindings:
            try:
                next_leaves = body(leaves)
            except _ResultUnknown:
                self._current().has_missing_branches = True
                return start
            next_iteration_call = (Identifier("call"), name, *map(self.to_expression, next_leaves))
        choice = (Identifier("if"), condition, let_expression(body_bindings, next_iteration_call), self._pack(leaves))
        bindings = tuple(zip(variables, map(self.to_expression, start), strict=True))
        return self._unpack((Identifier("let"), name, bindings, let_expression(test_bindings, choice)), len(start))

    def assertion(self, predicate: Any, message: tuple[Any, ...]) -> None:
        self.bind((Identifier("assert"), self.to_expression(predicate), *map(str, message)))

    def call(
        self, function: FunctionType, converted: FunctionType, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        bound = inspect.signature(function).bind(*arguments, **keywords)
        bound.apply_defaults()
        tree = split(tuple(bound.arguments.values()))
        cells = [cell for cell in _cells([function]) if self.is_symbolic(CellPlace(cell, "").read())]
        code, depth = function.__code__, staging_depth()
        entry_depth = next((outer for traced_code, outer in reversed(self.codes) if traced_code is code), depth)
        is_symbolic_call = bool(cells) or any(map(self.is_symbolic, tree.leaves))
        if entry_depth < depth or (is_symbolic_call and (self.owner is None or _is_recursive(function))):
            return self._call_staged(function, converted, bound, tree, cells)
        self.codes.append((code, depth))
        try:
            return converted(*arguments, **keywords)
        finally:
            self.codes.pop()

    def _call_staged(
        self,
        function: FunctionType,
        converted: FunctionType,
        bound: inspect.BoundArguments,
        tree: Tree,
        cells: Sequence[CellType],
    ) -> Any:
        contents = [CellPlace(cell, "").read() for cell in function.__closure__ or ()]
        parts = [type(content) if self.is_symbolic(content) else _identity_key(content) for content in contents]
        key = (function.__code__, tuple(bound.arguments), tree.treedef, *parts)
        staged = self.staged_functions.get(key)
        if staged is None:
            versions = [
                staged_function
                for (code, *_), staged_function in self.staged_functions.items()
                if code is function.__code__ and staged_function.is_open
            ]
            if len(versions) >= MAX_VERSIONS:
                subject = f"{function.__name__}, whose arguments have a different structure in each recursive call,"
                refuse(self, subject, "pass numbers, arrays, and objects that stay the same")
            names = [self.fresh_name(name) for name in _parameter_names(bound, tree)]
            captured_names = [self.fresh_name("captured") for _ in cells]
            staged = _StagedFunction(
                self.fresh_name(function.__name__),
                [*names, *captured_names],
                keep_alive=[function, *contents, *bound.arguments.values()],
            )
            self.staged_functions[key] = staged
            try:
                self._define(staged, converted, bound, tree, cells)
            except BaseException:
                del self.staged_functions[key]
                raise
        elif staged.result is None:
            self._current().has_missing_branches = True
            raise _ResultUnknown
        elif staged.is_provisional and not staged.is_open:
            self._define(staged, converted, bound, tree, cells)
        operands = [*tree.leaves, *(cell.cell_contents for cell in cells)]
        expression = (Identifier("call"), staged.name, *map(self.to_expression, operands))
        assert staged.result is not None, "a definition has a result"
        return Tree([], staged.result).rebuild(self._unpack(expression, staged.result.size, staged.name))

    def _current(self) -> _StagedFunction:
        return self.owner if isinstance(self.owner, _StagedFunction) else _StagedFunction(Identifier("main"), [])

    def _define(
        self,
        staged: _StagedFunction,
        converted: FunctionType,
        bound: inspect.BoundArguments,
        tree: Tree,
        cells: Sequence[CellType],
    ) -> None:
        """Stage the body of a function, again where its result turns out to have another structure."""
        outer, old_contents = self.owner, [cell.cell_contents for cell in cells]
        self.owner, staged.is_open = staged, True
        try:
            while True:
                staged.has_missing_branches = False
                values = [SexprValue(self, name) for name in staged.parameters]
                for cell, value in zip(cells, values[len(tree.leaves) :], strict=True):
                    cell.cell_contents = value
                inner: Any = tree.rebuild(values[: len(tree.leaves)])
                call = inspect.BoundArguments(bound.signature, dict(zip(bound.arguments, inner, strict=True)))
                with self.block() as bindings, open_journal() as journal:
                    try:
                        result = split(converted(*call.args, **call.kwargs))
                        self._check_changes(staged, journal)
                        packed, structure = self._pack(result.leaves), result.treedef
                    except Exception as error:
                        if not is_raised(error):
                            raise
                        packed, structure = _failure(error), LEAF
                    finally:
                        journal.undo()
                is_settled = staged.result == structure or not staged.has_missing_branches
                staged.result, staged.body, staged.is_provisional = (
                    structure,
                    let_expression(bindings, packed),
                    staged.has_missing_branches,
                )
                if is_settled:
                    break
            if staged.is_provisional and isinstance(outer, _StagedFunction):
                outer.has_missing_branches = True
        except _ResultUnknown:
            if staged.result is None and isinstance(outer, _StagedFunction):
                raise
            raise Invalid(
                f"{staged.name} calls itself on every path",
                rule="F4",
                where=user_location(),
                hint="a recursion needs a branch without a recursive call",
            ) from None
        finally:
            self.owner, staged.is_open = outer, False
            for cell, content in zip(cells, old_contents, strict=True):
                cell.cell_contents = content

    def _check_changes(self, staged: _StagedFunction, journal: Journal) -> None:
        outer_cells = {id(cell) for cell in _cells(staged.keep_alive)}
        for place, _ in journal.originals.values():
            if not isinstance(place, CellPlace) or id(place.cell) in outer_cells:
                subject = f"{staged.name}, which changes {place.label} and is a function of the program,"
                refuse(self, subject, "return the value")

    def call_other(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        try:
            op: str | None = _OPS_BY_FUNCTION.get(function)
        except TypeError:  # not hashable
            op = None
        operands = [*arguments, *keywords.values()]
        if not any(map(self.is_symbolic, operands)) and not isinstance(function, SexprValue):
            return function(*arguments, **keywords)
        if op is not None:
            attributes = dict(zip(OPS[op].attributes, arguments[OPS[op].arity or len(arguments) :], strict=False))
            return self.emit(
                op, *arguments[: OPS[op].arity], **{**OPS[op].attribute_defaults, **attributes, **keywords}
            )
        if function is abs or function in _OPERATOR_FUNCTIONS:
            return function(*arguments, **keywords)
        name = getattr(function, "__name__", None) or repr(function)
        if isinstance(function, type) or getattr(function, "__self__", None) is not None:
            return function(*arguments, **keywords)  # a container, or a method of one
        return refuse(self, f"a call of {name}", "call functions of Python, and ops of tagloom")

    def discard(self, compute: Callable[[], Any]) -> Any:
        with self.block() as bindings:
            value = compute()
        if not self.is_symbolic(value):
            self.blocks[-1].extend(bindings)
        return value


def _is_recursive(function: FunctionType) -> bool:
    """Whether a function can reach itself by the functions that it names."""
    pending, visited_ids = _callees(function), set[int]()
    for callee in pending:  # a worklist: the loop appends to it
        if callee.__code__ is function.__code__:
            return True
        if id(callee) not in visited_ids:
            visited_ids.add(id(callee))
            pending += _callees(callee)
    return False


def _callees(function: FunctionType) -> list[FunctionType]:
    """The Python functions that a function names, in its module and in the functions around it."""
    codes = [function.__code__]
    for code in codes:  # a worklist: the loop appends to it
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    values = [function.__globals__.get(name) for code in codes for name in code.co_names]
    closure_values = [CellPlace(cell, "").read() for cell in function.__closure__ or ()]
    unwrapped = [getattr(value, "_python", value) for value in (*values, *closure_values)]
    return [function for function in unwrapped if isinstance(function, FunctionType) and is_convertible(function)]


def let_expression(bindings: Sequence[tuple[Identifier, Expression]], result: Expression) -> Expression:
    """The expression of a block. Parts of tuples that nothing reads are left out."""
    used_bindings, names = list[tuple[Identifier, Expression]](), _names(result)
    for name, value in reversed(bindings):
        if name in names or value[0] != "item":
            used_bindings.insert(0, (name, value))
            names |= _names(value)
    if used_bindings and used_bindings[-1][0] == result:
        result = used_bindings.pop()[1]
    return (Identifier("let*"), tuple(used_bindings), result) if used_bindings else result


def _names(expression: Expression) -> set[str]:
    if isinstance(expression, tuple):
        return {name for part in expression for name in _names(part)}
    return {expression} if isinstance(expression, Identifier) else set()


def _renumber(definition: Definition) -> Definition:
    """The definition with the variables that staging has named counted from 1, in the order of the text."""
    numbers: dict[str, Identifier] = {}

    def rename(expression: Expression) -> Expression:
        if isinstance(expression, tuple):
            return tuple(map(rename, expression))
        if isinstance(expression, Identifier) and _VARIABLE.fullmatch(expression):
            return numbers.setdefault(expression, Identifier(f"v{len(numbers) + 1}"))
        return expression

    body = rename(definition.body)
    return Definition(definition.name, definition.parameters, body)


def _failure(error: Any) -> Expression:
    """The expression of the exception that a branch raises."""
    expression = getattr(error, "expression", None)
    return expression or (Identifier("raise"), Identifier(type(error).__name__), *map(str, error.args))


def _attribute(value: Any) -> Expression:
    return Identifier(value.name) if hasattr(value, "numpy") and hasattr(value, "name") else value


def _array(numbers: Any) -> Expression:
    return (Identifier("array"), *map(_array, numbers)) if isinstance(numbers, list) else numbers


def _identity_key(value: Any) -> Any:
    return (type(value), value) if isinstance(value, bool | int | float | str) else id(value)


def _cells(objects: Sequence[Any]) -> list[CellType]:
    """The cells that functions close over, and the functions that are in these cells."""
    pending, visited_ids, cells = list(objects), set[int](), list[CellType]()
    for callee in pending:  # a worklist: the loop appends to it
        if isinstance(callee, FunctionType) and id(callee) not in visited_ids:
            visited_ids.add(id(callee))
            new_cells = [
                cell for cell in callee.__closure__ or () if all(cell is not known_cell for known_cell in cells)
            ]
            cells += new_cells
            pending += [CellPlace(cell, "").read() for cell in new_cells]
    return cells


def _parameter_names(bound: inspect.BoundArguments, tree: Tree) -> list[str]:
    names: list[str] = []
    for name, value in bound.arguments.items():
        count = len(split((value,)).leaves)
        names += [name] if count == 1 else [f"{name}_{k}" for k in range(count)]
    assert len(names) == len(tree.leaves)
    return names


class SexprProgram:
    """A Python function as a program of S-expressions. `print` shows its text; a call runs it, and raises Usage, which
    is also a TypeError, if it does not fit the parameters."""

    def __init__(
        self, definitions: Sequence[Definition], main: str, signature: inspect.Signature | None = None
    ) -> None:
        self.definitions: dict[str, Definition] = {definition.name: definition for definition in definitions}
        self.main = main
        names = unique_identifiers(self.definitions[main].parameters)
        self.signature = named_signature(names) if signature is None else signature

    @classmethod
    def parse(cls, text: str) -> SexprProgram:
        """The program of a text, whose last function is the main one; raises Malformed."""
        definitions = [Definition(*expression[1:]) for expression in read_expressions(text)]
        return cls(definitions, definitions[-1].name)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.definitions.values()))

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        try:
            bound = self.signature.bind(*arguments, **keywords)
        except TypeError as error:
            required, python = f"{self.main}{self.signature}", TypeError
            raise Usage(f"the call does not fit {self.main}", required=required, got=error, python=python) from None
        bound.apply_defaults()
        return run(self.definitions, self.main, list(bound.arguments.values()))

    def gradient(self, *positions: int) -> SexprProgram:
        """The program of the derivatives of the result, one float, by the arguments at these positions; by the first
        one, if none is given."""
        definitions = gradient_definitions(self.definitions, self.main, positions or (0,))
        return SexprProgram(definitions, definitions[-1].name, self.signature)


def to_sexpr(function: Callable[..., Any]) -> SexprProgram:
    """Stage a Python function to S-expressions, all its parameters symbolic.

    Raises Usage where it cannot be converted, and Invalid (F4, V5) for a feature that S-expressions lack.
    """
    python = underlying_function(getattr(function, "_python", function))
    backend = SexprBackend()
    operators = BackendOperators(backend)
    if not is_converted(convert(python, operators.cell)):
        reason = unconverted_reason(python.__code__)
        raise Usage(f"{python.__name__} cannot be staged", got=reason, where=definition_location(python.__code__))
    signature = inspect.signature(python)
    parameters = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    values = {parameter.name: SexprValue(backend, Identifier(parameter.name)) for parameter in parameters}
    bound = inspect.BoundArguments(signature, values)
    operators.call(python, *bound.args, **bound.kwargs)
    staged = list(backend.staged_functions.values())
    if not staged:
        raise Usage(f"{python.__name__} has no parameters", hint="call it")
    definitions = [
        _renumber(Definition(definition.name, tuple(definition.parameters), definition.body)) for definition in staged
    ]
    return SexprProgram(
        [*definitions[1:], definitions[0]], definitions[0].name, signature.replace(parameters=parameters)
    )
