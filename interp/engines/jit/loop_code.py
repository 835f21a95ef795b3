"""Compiles loops over elements without numba's analyses of bytecode: a generated module has many short functions
`body(words, first, last)` (thread_pool.py), and numba takes a tenth of a second for each.

A text is in a subset of Python: assignments of new names, and of elements of arrays with one axis, at indices that are
not negative; `for` over `range`; `if` with a `return`; calls. No two of its arrays share memory. Statements are
compiled in order, so the types of operands are known wherever an operator or a call stands. numba chooses the signature
by these types, and emits LLVM's instructions; so a loop computes the same bits as if numba compiled it. All functions
of a text are one module of LLVM. A function outside of the subset, such as one for an op that a user adds, is compiled
by numba.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from llvmlite import ir
from numba import int64, types
from numba.core import callconv
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from ....core.python_ast import parse_python
from .arrays import empty
from .memory import kernel
from .thread_pool import BODY_TYPES, body_type

_WORD = ir.IntType(64)
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Not: operator.not_, ast.USub: operator.neg, ast.Invert: operator.invert,
}  # fmt: skip
"""Not `**`, which numba compiles in another way for a constant exponent."""


class TypedValue(NamedTuple):
    """A value of LLVM, with its type of numba."""

    type: Any
    value: Any


class UnsupportedText(Exception):
    """Raised for a statement or an expression that is not in the subset."""


def compile_loops(text: str, namespace: Mapping[str, Any], symbols: Mapping[str, str]) -> bytes:
    """Object code with the functions of a text, each under its symbol; `namespace` has what they call."""
    definitions = [node for node in parse_python(text).body if isinstance(node, ast.FunctionDef)]
    with global_compiler_lock:
        context = cpu_target.target_context
        context.typing_context.refresh()
        context.refresh()
        context = context.subtarget(error_model=callconv.create_error_model("numpy", context), enable_nrt=True)  # type: ignore[no-untyped-call]
        library = context.codegen().create_library("loops")
        library.enable_object_caching()
        library.add_linking_library(rtsys.library)  # allocates and releases arrays
        module = library.create_ir_module("loops")
        with context.push_code_library(library):
            for definition in definitions:
                compile_loop(context, module, definition, namespace, symbols[definition.name])
        library.add_ir_module(module)
        library.finalize()
        code: bytes = library._get_compiled_object()
    return code


def compile_loop(
    context: Any, module: Any, definition: ast.FunctionDef, namespace: Mapping[str, Any], symbol: str
) -> None:
    """Add a function to a module of LLVM."""
    function = ir.Function(module, body_type(context), symbol)
    try:
        LoopCompiler(context, function, namespace).compile(definition)
    except (UnsupportedText, NumbaError):
        function.blocks.clear()
        call_compiled_body(context, function, definition, namespace)


def call_compiled_body(context: Any, function: Any, definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> None:
    """Let a function call the one that numba compiles from its definition."""
    compiled_names = dict(namespace)
    exec(ast.unparse(definition), compiled_names)
    (compiled,) = kernel(types.void(*BODY_TYPES))(compiled_names[definition.name]).overloads.values()
    context.add_linking_libs([compiled.library])
    callee = context.declare_function(function.module, compiled.fndesc)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(builder.call(callee, function.args))


def _is_positive(expression: ast.expr) -> bool:
    """Whether an expression is a positive integer."""
    return isinstance(expression, ast.Constant) and isinstance(expression.value, int) and expression.value > 0


class LoopCompiler:
    """Compiles one function: statements from top to bottom, and each expression with the types of its operands."""

    def __init__(self, context: Any, function: Any, namespace: Mapping[str, Any]) -> None:
        self.context, self.function, self.namespace = context, function, namespace
        self.typing = context.typing_context
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.values: dict[str, TypedValue] = {}
        self.addresses: dict[str, Any] = {}
        """The address of the elements of each array."""
        self.scopes: dict[str, Any] = {}
        """The alias scope of each array to which the function writes."""
        self.allocations: list[TypedValue] = []
        """The arrays that the function allocates, and releases at its end."""

    def compile(self, definition: ast.FunctionDef) -> None:
        """Compile the whole function."""
        names = [argument.arg for argument in definition.args.args]
        self.context.call_conv.decorate_function(self.function, names, BODY_TYPES)
        arguments = self.context.call_conv.get_arguments(self.function)
        for name, argument in zip(names, arguments, strict=True):
            self.values[name] = TypedValue(int64, argument)
        self.declare_scopes(definition)
        self.execute(definition.body)
        self.execute_return()

    def declare_scopes(self, definition: ast.FunctionDef) -> None:
        """Tell LLVM that no array to which the function writes shares memory with another one."""
        module, domain = self.function.module, f"{self.function.name} arrays"
        items = (node for node in ast.walk(definition) if isinstance(node, ast.Subscript))
        written = {
            each.value.id for each in items if isinstance(each.ctx, ast.Store) and isinstance(each.value, ast.Name)
        }
        node = module.add_metadata([ir.MetaDataString(module, domain)])
        for name in sorted(written):
            self.scopes[name] = module.add_metadata([ir.MetaDataString(module, f"{domain} {name}"), node])

    def mark_access(self, instruction: Any, array: str) -> None:
        """Note for LLVM which array an instruction accesses, and which arrays it does not access."""
        module = self.function.module
        if array in self.scopes:
            instruction.set_metadata("alias.scope", module.add_metadata([self.scopes[array]]))
        others = [scope for name, scope in self.scopes.items() if name != array]
        if others:
            instruction.set_metadata("noalias", module.add_metadata(others))

    # Statements

    def execute(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign([ast.Name(name)], value):
                    self.assign(name, self.value_of(value))
                    if name in self.addresses and not isinstance(value, ast.Call):
                        raise UnsupportedText(f"another name of an array: {name}")
                case ast.Assign([ast.Subscript(ast.Name(array), index)], value):
                    self.store(array, self.value_of(index), self.value_of(value))
                case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds), body, orelse=[]):
                    self.execute_loop(name, bounds, body)
                case ast.If(test, [ast.Return(None)], orelse=[]):
                    with self.builder.if_then(self.condition(test), likely=False):
                        self.execute_return()
                case ast.Expr(ast.Call() as call):
                    self.value_of(call)
                case _:
                    raise UnsupportedText(ast.unparse(statement))

    def assign(self, name: str, value: TypedValue) -> None:
        if name in self.values:
            raise UnsupportedText(f"another value of {name}")
        self.values[name] = value
        if isinstance(value.type, types.Array) and (value.type.ndim, value.type.layout) == (1, "C"):
            self.addresses[name] = self.context.make_array(value.type)(self.context, self.builder, value.value).data

    def execute_return(self) -> None:
        for array in self.allocations:
            self.context.nrt.decref(self.builder, array.type, array.value)
        self.context.call_conv.return_value(self.builder, self.context.get_dummy_value())

    def execute_loop(self, name: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        """A loop over integers, with a positive step."""
        if not 1 <= len(bounds) <= 3 or not all(_is_positive(step) for step in bounds[2:]):
            raise UnsupportedText(f"a loop over {name}")
        words = [self.cast(self.value_of(bound), int64) for bound in bounds]
        start, stop, step = (_WORD(0), *words, _WORD(1)) if len(words) == 1 else (*words, _WORD(1))[:3]
        before = self.builder.block
        head, inside, end = (self.function.append_basic_block(part) for part in ("head", "body", "end"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        index = self.builder.phi(_WORD, name)
        index.add_incoming(start, before)
        self.builder.cbranch(self.builder.icmp_signed("<", index, stop), inside, end)
        self.builder.position_at_end(inside)
        outer_values, outer_addresses, allocation_count = dict(self.values), dict(self.addresses), len(self.allocations)
        self.assign(name, TypedValue(int64, index))
        self.execute(body)
        if len(self.allocations) > allocation_count:
            raise UnsupportedText("an allocation in a loop")
        self.values, self.addresses = outer_values, outer_addresses
        index.add_incoming(self.builder.add(index, step, flags=["nsw"]), self.builder.block)
        self.builder.branch(head)
        self.builder.position_at_end(end)

    # Arrays

    def element_pointer(self, array: str, index: TypedValue) -> Any:
        """The address of an element, at an index that is not negative."""
        if array not in self.addresses:
            raise UnsupportedText(f"an element of {array}")
        return self.builder.gep(self.addresses[array], [self.cast(index, int64)], inbounds=True)

    def store(self, name: str, index: TypedValue, value: TypedValue) -> None:
        pointer, type_ = self.element_pointer(name, index), self.values[name].type.dtype
        element = self.context.data_model_manager[type_].as_data(self.builder, self.cast(value, type_))
        self.mark_access(self.builder.store(element, pointer), name)

    def load(self, name: str, index: TypedValue) -> TypedValue:
        element, type_ = self.builder.load(self.element_pointer(name, index)), self.values[name].type.dtype
        self.mark_access(element, name)
        return TypedValue(type_, self.context.data_model_manager[type_].from_data(self.builder, element))

    # Expressions

    def value_of(self, expression: ast.expr) -> TypedValue:
        match expression:
            case ast.Constant(bool() | int() | float() as constant):
                return self.constant(constant)
            case ast.Name(name) if name in self.values:
                return self.values[name]
            case ast.Name(name) if isinstance(self.namespace.get(name), float):  # inf and nan
                return self.constant(self.namespace[name])
            case ast.Name():
                return TypedValue(self.type_of_name(expression), self.context.get_dummy_value())
            case ast.Attribute(array, "size"):
                return self.size(self.value_of(array))
            case ast.Subscript(ast.Name(array), index):
                return self.load(array, self.value_of(index))
            case ast.Tuple(elements):
                values = [self.cast(self.value_of(element), int64) for element in elements]
                type_ = types.UniTuple(int64, len(values))  # type: ignore[no-untyped-call]
                return TypedValue(type_, self.context.make_tuple(self.builder, type_, values))
            case ast.BinOp(left, sign, right):
                return self.apply(type(sign), left, right)
            case ast.UnaryOp(sign, operand):
                return self.apply(type(sign), operand)
            case ast.Compare(left, [sign], [right]):
                return self.apply(type(sign), left, right)
            case ast.BoolOp(sign, values):
                return self.connective(isinstance(sign, ast.And), values)
            case ast.IfExp(test, body, orelse):
                return self.choose(self.condition(test), partial(self.value_of, body), partial(self.value_of, orelse))
            case ast.Call(function, arguments, keywords=[]):
                return self.call(self.type_of_name(function), list(map(self.value_of, arguments)))
        raise UnsupportedText(ast.unparse(expression))

    def constant(self, number: bool | int | float) -> TypedValue:
        type_: Any = types.unliteral(self.typing.resolve_value_type(number))  # type: ignore[no-untyped-call]
        return TypedValue(type_, self.context.get_constant(type_, number))

    def size(self, array: TypedValue) -> TypedValue:
        if not isinstance(array.type, types.Array):
            raise UnsupportedText(f"the size of {array.type}")
        return TypedValue(int64, self.context.make_array(array.type)(self.context, self.builder, array.value).nitems)

    def type_of_name(self, expression: ast.expr) -> Any:
        """The type of a function or a class outside of the text."""
        if not isinstance(expression, ast.Name):
            raise UnsupportedText(ast.unparse(expression))
        outer = self.namespace.get(expression.id, getattr(builtins, expression.id, None))
        type_ = self.typing.resolve_value_type(outer)
        if not isinstance(type_, types.Callable):
            raise UnsupportedText(f"{expression.id}, which is {type_}")
        return type_

    def apply(self, sign: type[ast.AST], *operands: ast.expr) -> TypedValue:
        """The value of an operator."""
        if sign not in _OPERATORS:
            raise UnsupportedText(sign.__name__)
        function_type = self.typing.resolve_value_type(_OPERATORS[sign])
        return self.call(function_type, list(map(self.value_of, operands)))

    def call(self, function_type: Any, arguments: Sequence[TypedValue]) -> TypedValue:
        """The result of a call: numba chooses the signature by the types of the arguments. A class casts."""
        if isinstance(function_type, types.NumberClass) and len(arguments) == 1:
            return TypedValue(function_type.dtype, self.cast(arguments[0], function_type.dtype))
        signature = function_type.get_call_type(self.typing, tuple(argument.type for argument in arguments), {})
        if signature is None or len(signature.args) != len(arguments):
            raise UnsupportedText(f"a call of {function_type}")
        function = self.context.get_function(function_type, signature)
        operands = [self.cast(*pair) for pair in zip(arguments, signature.args, strict=True)]
        result = TypedValue(signature.return_type, function(self.builder, operands))
        if function_type == self.typing.resolve_value_type(empty):
            self.allocations.append(result)
        return result

    def cast(self, value: TypedValue, type_: Any) -> Any:
        if value.type == type_:
            return value.value
        if not {value.type, type_} <= types.number_domain | {types.boolean}:
            raise UnsupportedText(f"{value.type} as {type_}")
        return self.context.cast(self.builder, value.value, value.type, type_)

    def condition(self, test: ast.expr) -> Any:
        value = self.value_of(test)
        if value.type != types.boolean:
            raise UnsupportedText(f"a condition that is {value.type}")
        return value.value

    def choose(self, condition: Any, then: Callable[[], TypedValue], otherwise: Callable[[], TypedValue]) -> TypedValue:
        """One of two values, in the type that numba finds for both. Only the chosen one is computed."""
        blocks = [self.function.append_basic_block(part) for part in ("then", "else", "end")]
        self.builder.cbranch(condition, *blocks[:2])
        branches = []
        for block, evaluate in zip(blocks, (then, otherwise), strict=False):
            self.builder.position_at_end(block)
            branches.append((evaluate(), self.builder.block))
        type_ = self.typing.unify_pairs(*(value.type for value, _ in branches))
        if type_ is None:
            raise UnsupportedText(f"either {branches[0][0].type} or {branches[1][0].type}")
        incoming = []
        for value, block in branches:
            self.builder.position_at_end(block)
            incoming.append((self.cast(value, type_), block))
            self.builder.branch(blocks[-1])
        self.builder.position_at_end(blocks[-1])
        result = self.builder.phi(self.context.get_value_type(type_))
        for value, block in incoming:
            result.add_incoming(value, block)
        return TypedValue(type_, result)

    def connective(self, is_and: bool, values: Sequence[ast.expr]) -> TypedValue:
        """`and` or `or` of conditions."""
        if len(values) == 1:
            return TypedValue(types.boolean, self.condition(values[0]))
        branches = partial(self.connective, is_and, values[1:]), partial(self.constant, not is_and)
        return self.choose(self.condition(values[0]), *(branches if is_and else reversed(branches)))
