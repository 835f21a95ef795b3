"""Compiles generated functions without numba's analyses of bytecode, which take longer than LLVM does: from text to
LLVM's instructions, in one pass.

A text is in a subset of Python: assignments, of elements of arrays too, at indices that are not negative; `if`,
`while`, `for` over `range`, `break`, `return`; calls. Statements are compiled in order, so the types of operands are
known wherever an operator or a call stands. numba chooses the signature by these types, and emits LLVM's instructions;
so a function computes the same bits as if numba compiled it. A variable keeps the type of its first value. All
functions of a text are one module of LLVM. numba compiles an expression outside of the subset, such as that of an op
that a user adds.

There are two kinds of functions. A decorator is the signature of a *function*: `@float64(int64, float64)`. Its `return`
without a value returns zeros. A function without a decorator is a *body* `body(words, first, last)`, the loop over
elements of an array (parallel_loops.py); no two of its arrays share memory. A call `body(s, count, values)` computes it
for all elements, by the function `parallel_for_large` (runtime.py).

Arrays are counted by reference. The result of a call is a new reference, which a variable takes over; arguments are
borrowed from the caller. A variable is released after the statement of its block that uses it last, and wherever the
code leaves that block. If that statement is an `if`, each branch releases it after its own last use, so that a call
later in the branch does not keep it alive.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import int64, types
from numba.core import callconv, cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from ....core.python_ast import parse_python
from . import arrays
from .folding_builder import FoldingBuilder, remove_unused
from .memory import (
    array_field,
    emit_memory_exit,
    emit_reference_change,
    emit_word_block,
    item_size,
    kernel,
    tuple_element,
)
from .parallel_loops import BODY_TYPES
from .symbols import declared_names

MAX_INLINE_LINES = 40
"""The most lines of a function that LLVM may inline. Longer ones stay calls: inlining them took two thirds of the
compile time of a training step."""
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


class GeneratedFunction(NamedTuple):
    """A function of a text, as LLVM declares it."""

    definition: ast.FunctionDef
    signature: Any
    value: Any
    is_body: bool


class UnsupportedText(Exception):
    """Raised for a statement or an expression that is not in the subset."""


def compile_functions(text: str, namespace: dict[str, Any], exports: Mapping[str, str]) -> tuple[bytes, list[str]]:
    """The object code of the functions of a text, and the names of the functions that it calls; `namespace` has the
    functions that they call. Each function of words in `exports` has a C function under a symbol, which returns 0, or
    another number if memory was exhausted."""
    with global_compiler_lock:
        context = cpu_target.target_context
        context.typing_context.refresh()
        context.refresh()
        context = context.subtarget(error_model=callconv.create_error_model("numpy", context), enable_nrt=True)  # type: ignore[no-untyped-call]
        library = context.codegen().create_library("functions")
        with context.push_code_library(library):
            compiler = _ModuleCompiler(context, library.create_ir_module("functions"), text, namespace)
            compiler.compile(exports)
        module = llvm.parse_assembly(cgutils.normalize_ir_text(str(compiler.module)))  # type: ignore[no-untyped-call]
        module.verify()
        libraries = dict.fromkeys([rtsys.library, *library._linking_libraries])  # the first one allocates arrays
        for linked_library in libraries:
            module.link_in(linked_library._get_module_for_linking(), preserve=True)
        _optimize(module, context.codegen())
        code: bytes = context.codegen()._tm.emit_object(module)
        return code, declared_names(module)


def _optimize(module: Any, codegen: Any) -> None:
    """Run LLVM's passes: once over the module, after a round that finds the references that cancel each other. numba
    also simplifies each function on its own before that, which takes a quarter of the time and changes nothing."""
    first_passes = llvm.create_new_module_pass_manager()
    first_passes.add_sroa_pass()
    first_passes.add_instruction_combine_pass()
    first_passes.add_simplify_cfg_pass()
    first_passes.add_refprune_pass()
    first_passes.run(module, codegen._pass_builder())
    passes, builder = codegen._module_pass_manager()
    passes.run(module, builder)


class _ModuleCompiler:
    """Compiles the functions of a text."""

    def __init__(self, context: Any, module: Any, text: str, namespace: dict[str, Any]) -> None:
        self.context, self.module, self.namespace = context, module, namespace
        self.dispatchers: list[Any] = []
        """The functions that numba compiles, to which its types refer weakly."""
        statements = parse_python(text).body
        constants = [node for node in statements if not isinstance(node, ast.FunctionDef)]
        exec(compile(ast.Module(constants, []), "<constants>", "exec"), namespace)
        self.functions = {node.name: self.declare(node) for node in statements if isinstance(node, ast.FunctionDef)}

    def declare(self, definition: ast.FunctionDef) -> GeneratedFunction:
        signature = types.void(*BODY_TYPES)
        for decorator in definition.decorator_list:
            signature = eval(compile(ast.Expression(decorator), "<signature>", "eval"), self.namespace)
        type_ = self.context.call_conv.get_function_type(signature.return_type, signature.args)
        value = ir.Function(self.module, type_, definition.name)
        value.linkage = "internal"
        if (definition.end_lineno or 0) - definition.lineno > MAX_INLINE_LINES:
            value.attributes.add("noinline")
        return GeneratedFunction(definition, signature, value, not definition.decorator_list)

    def compile(self, exports: Mapping[str, str]) -> None:
        for function in self.functions.values():
            _FunctionCompiler(self, function).compile()
        for name, symbol in exports.items():
            self.export(self.functions[name], symbol)

    def export(self, function: GeneratedFunction, symbol: str) -> None:
        """Add the C function that calls a function."""
        exported = ir.Function(self.module, ir.FunctionType(_WORD, [_WORD] * len(function.signature.args)), symbol)
        builder = ir.IRBuilder(exported.append_basic_block("entry"))
        status, _ = self.context.call_conv.call_function(
            builder, function.value, function.signature.return_type, function.signature.args, exported.args
        )
        builder.ret(builder.sext(status.code, _WORD))


def _is_positive(expression: ast.expr) -> bool:
    """Whether an expression is a positive integer."""
    return isinstance(expression, ast.Constant) and isinstance(expression.value, int) and expression.value > 0


class _VariableScopes:
    """Where the variables of a function begin and end. The block of a variable is the innermost list of statements that
    contains all of its uses."""

    def __init__(self, definition: ast.FunctionDef, is_transfer: Callable[[ast.Call], bool]) -> None:
        parameters = {argument.arg for argument in definition.args.args}
        self.assignments = Counter(parameters)
        """The number of assignments to each variable; a parameter counts as one."""
        self.indices = Counter[str]()
        """The number of loops whose index each variable is."""
        self.transferred = set[str]()
        """The variables whose references a call takes over."""
        self.block: dict[str, int] = {}
        """The block of each variable, by the identity of its list."""
        self.loop_depth: dict[str, int] = {}
        """The number of loops around that block."""
        self.last_uses: dict[int, list[str]] = {}
        """The variables that a statement of their block uses last, by the identity of the statement."""
        self.last_uses_of_branches: dict[int, list[str]] = {}
        """The same for branches of an `if` that is the last use. A branch that does not use a variable has the identity
        of its list."""
        self.released_in_branches = set[str]()
        """The variables that branches release."""
        self._is_transfer = is_transfer
        self._names: dict[int, tuple[set[str], list[set[str]]]] = {}
        """The names that each statement uses outside of its blocks, and those in each block."""
        self._collect_block(definition.body)
        self._assign_blocks(definition.body, {*self.assignments}, parameters, 0)

    def _collect_block(self, block: Sequence[ast.stmt]) -> set[str]:
        """Collect the names in a block."""
        return set[str]().union(*map(self._collect_statement, block))

    def _collect_statement(self, statement: ast.stmt) -> set[str]:
        blocks = _blocks(statement)
        heads: list[ast.AST] = [
            getattr(statement, part) for part in ("test", "target", "iter") if hasattr(statement, part)
        ]
        names = set[str]()
        for node in (node for head in (heads if blocks else [statement]) for node in ast.walk(head)):
            if isinstance(node, ast.Name):
                names.add(node.id)
                if isinstance(node.ctx, ast.Store):
                    self.assignments[node.id] += 1
            elif isinstance(node, ast.Call) and self._is_transfer(node):
                self.transferred |= {argument.id for argument in node.args if isinstance(argument, ast.Name)}
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            self.indices[statement.target.id] += 1
        self._names[id(statement)] = names, list(map(self._collect_block, blocks))
        return names.union(*self._names[id(statement)][1])

    def _assign_blocks(
        self, block: Sequence[ast.stmt], variables: set[str], block_variables: set[str], depth: int
    ) -> None:
        """Assign each of these variables, which are used in this block only, to this block or to a block inside it;
        `block_variables` belong to this block in any case."""
        block_variables, last_users = set(block_variables), dict[str, ast.stmt]()
        for statement in block:
            head, inner = self._names[id(statement)]
            names = head.union(*inner) & variables
            block_variables |= names & (last_users.keys() | head)
            last_users.update(dict.fromkeys(names, statement))
        for statement in block:
            inner_blocks, inner_names = _blocks(statement), self._names[id(statement)][1]
            inner_names = [
                {name for name in names & variables - block_variables if last_users[name] is statement}
                for names in inner_names
            ]
            shared = set.intersection(*inner_names) if len(inner_names) > 1 else set[str]()
            block_variables |= shared
            for inner_block, names in zip(inner_blocks, inner_names, strict=True):
                if names - shared:
                    is_loop = isinstance(statement, ast.While | ast.For)
                    self._assign_blocks(inner_block, names - shared, set(), depth + is_loop)
        for name in block_variables:
            self.block[name], self.loop_depth[name] = id(block), depth
            if name in last_users:
                self.last_uses.setdefault(id(last_users[name]), []).append(name)
                self._assign_branches(last_users[name], name)

    def _assign_branches(self, statement: ast.stmt, name: str) -> None:
        """Note the last use of a variable in each branch of its last use, if that is an `if`."""
        if not isinstance(statement, ast.If):
            return
        self.released_in_branches.add(name)
        for block, names in zip(_blocks(statement), self._names[id(statement)][1], strict=True):
            users = [user for user in block if self._uses(user, name)] if name in names else []
            if users and isinstance(users[-1], ast.If):
                self._assign_branches(users[-1], name)
            else:
                self.last_uses_of_branches.setdefault(id(users[-1] if users else block), []).append(name)

    def _uses(self, statement: ast.stmt, name: str) -> bool:
        head, inner = self._names[id(statement)]
        return name in head.union(*inner)


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of a statement."""
    return [block for block in (getattr(statement, "body", []), getattr(statement, "orelse", [])) if block]


class _FunctionCompiler:
    """Compiles one function: statements from top to bottom, and each expression with the types of its operands."""

    def __init__(self, module: _ModuleCompiler, function: GeneratedFunction) -> None:
        self.module, self.context, self.namespace = module, module.context, module.namespace
        self.definition, self.signature, self.function, self.is_body = function
        self.typing = self.context.typing_context
        self.builder = FoldingBuilder(self.function.append_basic_block("entry"))
        self.scopes = _VariableScopes(self.definition, self.is_transfer)
        self.values: dict[str, TypedValue] = {}
        """The variables that are assigned once, in their own block."""
        self.slots: dict[str, TypedValue] = {}
        """The addresses of all others. A slot without a reference has zeros."""
        self.reference_holders: dict[str, None] = {}
        """The variables that may hold references."""
        self.temporaries: list[TypedValue] = []
        """The references of the current statement."""
        self.open_blocks: list[int] = []
        self.loop_ends: list[Any] = []
        self.alias_scopes: dict[str, Any] = {}
        """The alias scope of each array to which a body writes."""

    def compile(self) -> None:
        names, kinds = [argument.arg for argument in self.definition.args.args], self.signature.args
        self.context.call_conv.decorate_function(self.function, names, kinds)
        if self.is_body:
            self.declare_alias_scopes()
        values = self.context.call_conv.decode_arguments(self.builder, kinds, self.function)
        for name, type_, value in zip(names, kinds, values, strict=True):
            if self.has_slot(name):
                self.open_blocks.append(self.scopes.block[name])
                self.assign(name, TypedValue(type_, value))
                self.open_blocks.pop()
            else:
                self.values[name] = TypedValue(type_, value)
        self.execute(self.definition.body)
        if not self.builder.block.is_terminated:
            self.execute_return(None)
        remove_unused(self.function)

    def declare_alias_scopes(self) -> None:
        """Tell LLVM that no array to which a body writes shares memory with another one."""
        module, domain = self.module.module, f"{self.function.name} arrays"
        items = (node for node in ast.walk(self.definition) if isinstance(node, ast.Subscript))
        written_arrays = {
            item.value.id for item in items if isinstance(item.ctx, ast.Store) and isinstance(item.value, ast.Name)
        }
        node = module.add_metadata([ir.MetaDataString(module, domain)])
        for name in sorted(written_arrays):
            self.alias_scopes[name] = module.add_metadata([ir.MetaDataString(module, f"{domain} {name}"), node])

    def mark_access(self, instruction: Any, array: ast.expr) -> None:
        """Note for LLVM which array an instruction accesses, and which arrays it does not access."""
        name = array.id if isinstance(array, ast.Name) else ""
        if name in self.alias_scopes:
            instruction.set_metadata("alias.scope", self.module.module.add_metadata([self.alias_scopes[name]]))
        other_scopes = [scope for array_name, scope in self.alias_scopes.items() if array_name != name]
        if other_scopes:
            instruction.set_metadata("noalias", self.module.module.add_metadata(other_scopes))

    # Statements

    def execute(self, block: Sequence[ast.stmt]) -> None:
        """Compile a block."""
        outer_values = dict(self.values)
        self.open_blocks.append(id(block))
        self.release_in_branch(block)
        for statement in block:
            if self.builder.block.is_terminated:
                break
            self.execute_one(statement)
            if not self.builder.block.is_terminated:
                self.release_temporaries()
                self.release_in_branch(statement)
                for name in self.scopes.last_uses.get(id(statement), ()):
                    self.release(name)
        self.open_blocks.pop()
        self.values = outer_values
        self.reference_holders = {name: None for name in self.reference_holders if self.scopes.block[name] != id(block)}

    def execute_one(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign([ast.Name(name)], value):
                self.assign(name, self.value_of(value))
            case ast.Assign([ast.Tuple() as targets], value):
                for name, new_value in [(name, self.acquire(part)) for name, part in self.unpack(targets, value)]:
                    self.assign(name, new_value)
            case ast.Assign([ast.Subscript(array, index)], value):
                self.store(array, index, self.value_of(value))
            case ast.AugAssign(ast.Name(name), sign, value):
                self.assign(name, self.value_of(ast.BinOp(ast.Name(name, ast.Load()), sign, value)))
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds), body, orelse=[]):
                self.execute_for(name, bounds, body)
            case ast.While(test, body, orelse=[]):
                self.execute_while(test, body)
            case ast.If(test, body, orelse):
                self.execute_if(test, body, orelse)
            case ast.Return(value):
                self.execute_return(value)
            case ast.Break():
                self.release_variables(len(self.loop_ends))
                self.builder.branch(self.loop_ends[-1])
            case ast.Pass():
                pass
            case ast.Expr(ast.Call() as call):
                self.value_of(call)
            case _:
                raise UnsupportedText(ast.unparse(statement))

    def unpack(self, target: ast.expr, value: ast.expr | TypedValue) -> list[tuple[str, TypedValue]]:
        """The variables of nested tuples of targets, each with its value."""
        if isinstance(target, ast.Name):
            return [(target.id, value if isinstance(value, TypedValue) else self.value_of(value))]
        if not isinstance(target, ast.Tuple):
            raise UnsupportedText(ast.unparse(target))
        if isinstance(value, ast.Tuple):
            parts: Sequence[Any] = value.elts
        else:
            tuple_value = value if isinstance(value, TypedValue) else self.value_of(value)
            parts = [self.element(tuple_value, index) for index in range(len(target.elts))]
        pairs = zip(target.elts, parts, strict=True)
        return [variable for part, value in pairs for variable in self.unpack(part, value)]

    def execute_return(self, expression: ast.expr | None) -> None:
        """Return a value, or zeros; the caller takes over its reference."""
        kind, value = self.signature.return_type, self.context.get_dummy_value()
        if kind != types.none:
            value = self.context.get_constant_null(kind)
            if expression is not None:
                value = self.take(TypedValue(kind, self.cast(self.value_of(expression), kind)))
            value = self.context.get_return_value(self.builder, kind, value)
        self.release_temporaries()
        self.release_variables(0)
        self.context.call_conv.return_value(self.builder, value)

    def execute_if(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        condition = self.condition(test)
        self.release_temporaries()
        then, otherwise = (self.function.append_basic_block(part) for part in ("then", "else"))
        end = self.function.append_basic_block("end") if orelse else otherwise
        branch, is_reached = self.builder.cbranch(condition, then, otherwise), not orelse
        if self.is_body:  # in other functions, LLVM's own estimate is better: fib(28) takes three quarters of the time
            branch.set_weights([1, 99])
        for block, statements in ((then, body), (otherwise, orelse)):
            if statements:
                self.builder.position_at_end(block)
                self.execute(statements)
                if not self.builder.block.is_terminated:
                    self.builder.branch(end)
                    is_reached = True
        self.builder.position_at_end(end)
        if not is_reached:
            self.builder.unreachable()

    def execute_while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        head, body_block, end = (self.function.append_basic_block(part) for part in ("head", "body", "end"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        condition = self.condition(test)
        self.release_temporaries()
        self.builder.cbranch(condition, body_block, end)
        self.execute_loop_body(body_block, end, body)
        if not self.builder.block.is_terminated:
            self.builder.branch(head)
        self.builder.position_at_end(end)

    def execute_for(self, name: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        """A loop over integers, with a positive step; only its body uses the index."""
        is_index = self.scopes.assignments[name] == self.scopes.indices[name] and name not in self.values
        if not is_index or not 1 <= len(bounds) <= 3 or not all(_is_positive(step) for step in bounds[2:]):
            raise UnsupportedText(f"a loop over {name}")
        words = [self.cast(self.value_of(bound), int64) for bound in bounds]
        self.release_temporaries()
        start, stop, step = (_WORD(0), *words, _WORD(1)) if len(words) == 1 else (*words, _WORD(1))[:3]
        entry_block = self.builder.block
        head, body_block, end = (self.function.append_basic_block(part) for part in ("head", "body", "end"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        index = self.builder.phi(_WORD, name)
        index.add_incoming(start, entry_block)
        self.builder.cbranch(self.builder.icmp_signed("<", index, stop), body_block, end)
        self.values[name] = TypedValue(int64, index)
        self.execute_loop_body(body_block, end, body)
        del self.values[name]
        if not self.builder.block.is_terminated:
            index.add_incoming(self.builder.add(index, step, flags=["nsw"]), self.builder.block)
            self.builder.branch(head)
        self.builder.position_at_end(end)

    def execute_loop_body(self, body_block: Any, end: Any, body: Sequence[ast.stmt]) -> None:
        self.builder.position_at_end(body_block)
        self.loop_ends.append(end)
        self.execute(body)
        self.loop_ends.pop()

    # Variables and references

    def has_slot(self, name: str) -> bool:
        """Whether a variable may have several values, or lose its reference to a call or in a branch."""
        scopes = self.scopes
        return scopes.assignments[name] > 1 or name in scopes.transferred or name in scopes.released_in_branches

    def assign(self, name: str, value: TypedValue) -> None:
        """Assign a value to a variable, which takes over the statement's reference or has one of its own."""
        if self.is_body and self.is_counted(value.type) and value not in self.temporaries:
            raise UnsupportedText(f"{name}, a second name of an array")
        if not self.has_slot(name) and self.scopes.block[name] == self.open_blocks[-1]:
            self.values[name] = TypedValue(value.type, self.take(value))
        else:
            if name not in self.slots:
                slot = cgutils.alloca_once(self.builder, self.context.get_value_type(value.type))  # type: ignore[no-untyped-call]
                self.slots[name] = TypedValue(value.type, slot)
            kind, slot = self.slots[name]
            if value.type != kind and self.typing.unify_pairs(kind, value.type) != kind:
                raise UnsupportedText(f"{name}, which is {kind} and {value.type}")
            new_value = self.take(value if value.type == kind else TypedValue(kind, self.cast(value, kind)))
            if self.is_counted(kind):
                emit_reference_change(self.context, self.builder, kind, self.builder.load(slot), "NRT_decref")
            self.builder.store(new_value, slot)
        if self.is_counted(value.type):
            self.reference_holders[name] = None

    def is_counted(self, kind: Any) -> bool:
        """Whether values of a type hold references."""
        return isinstance(kind, types.Array | types.BaseTuple) and bool(
            self.context.data_model_manager[kind].contains_nrt_meminfo()
        )

    def acquire(self, value: TypedValue) -> TypedValue:
        """A value whose reference is the statement's."""
        if self.is_counted(value.type) and value not in self.temporaries:
            emit_reference_change(self.context, self.builder, value.type, value.value, "NRT_incref")
            self.temporaries.append(value)
        return value

    def take(self, value: TypedValue) -> Any:
        """A value with a reference of its own: the statement's, if it has one."""
        if self.is_counted(value.type):
            if value in self.temporaries:
                self.temporaries.remove(value)
            else:
                emit_reference_change(self.context, self.builder, value.type, value.value, "NRT_incref")
        return value.value

    def release_temporaries(self) -> None:
        for kind, value in self.temporaries:
            emit_reference_change(self.context, self.builder, kind, value, "NRT_decref")
        self.temporaries.clear()

    def release_in_branch(self, end: ast.stmt | Sequence[ast.stmt]) -> None:
        """Release the variables that a branch does not use after this statement, or not at all. Other branches still
        have their references."""
        for name in self.scopes.last_uses_of_branches.get(id(end), ()):
            if name in self.reference_holders:
                self.drop_reference(name)

    def release(self, name: str) -> None:
        """Release the reference of a variable."""
        if name in self.reference_holders:
            self.drop_reference(name)
            del self.reference_holders[name]

    def drop_reference(self, name: str) -> None:
        """Release the reference of a variable, whose slot, if it has one, then has zeros again."""
        kind, value = self.variable(name)
        emit_reference_change(self.context, self.builder, kind, value, "NRT_decref")
        if name in self.slots:
            self.builder.store(self.context.get_constant_null(kind), self.slots[name].value)

    def release_variables(self, depth: int) -> None:
        """Release the references of the variables inside of this many loops, before the code leaves these. It may enter
        them again."""
        for name in self.reference_holders:
            if self.scopes.loop_depth[name] >= depth:
                self.drop_reference(name)

    def variable(self, name: str) -> TypedValue:
        if name in self.values:
            return self.values[name]
        kind, slot = self.slots[name]
        return TypedValue(kind, self.builder.load(slot))

    # Arrays

    def field(self, array: TypedValue, name: str) -> Any:
        """A field of an array: the address of its elements, their number, or its shape."""
        if not isinstance(array.type, types.Array):
            raise UnsupportedText(f"the {name} of {array.type}")
        return array_field(self.context, self.builder, array.type, array.value, name)

    def element_pointer(self, array: TypedValue, index: ast.expr) -> Any:
        """The address of an element, at indices that are not negative."""
        expressions = index.elts if isinstance(index, ast.Tuple) else [index]
        data, shape = self.field(array, "data"), self.field(array, "shape")
        if (len(expressions), array.type.layout) != (array.type.ndim, "C"):
            raise UnsupportedText(f"{ast.unparse(index)} of {array.type}")
        position, *further_indices = [self.cast(self.value_of(expression), int64) for expression in expressions]
        for axis, word in enumerate(further_indices, 1):
            position = self.builder.add(self.builder.mul(position, self.builder.extract_value(shape, axis)), word)
        return self.builder.gep(data, [position], inbounds=True)

    def store(self, array: ast.expr, index: ast.expr, value: TypedValue) -> None:
        target = self.value_of(array)
        pointer, kind = self.element_pointer(target, index), target.type.dtype
        element = self.context.data_model_manager[kind].as_data(self.builder, self.cast(value, kind))
        self.mark_access(self.builder.store(element, pointer), array)

    def load(self, array: ast.expr, index: ast.expr) -> TypedValue:
        source = self.value_of(array)
        if isinstance(source.type, types.BaseTuple):
            if not isinstance(index, ast.Constant):
                raise UnsupportedText(f"element {ast.unparse(index)} of a tuple")
            return self.element(source, index.value)
        element, kind = self.builder.load(self.element_pointer(source, index)), source.type.dtype
        self.mark_access(element, array)
        return TypedValue(kind, self.context.data_model_manager[kind].from_data(self.builder, element))

    def element(self, value: TypedValue, index: Any) -> TypedValue:
        """An element of a tuple."""
        return TypedValue(value.type.types[index], tuple_element(self.builder, value.value, index))

    # Expressions

    def value_of(self, expression: ast.expr) -> TypedValue:
        match expression:
            case ast.Constant(bool() | int() | float() as constant):
                return self.constant(constant)
            case ast.Name(name) if name in self.values or name in self.slots:
                return self.variable(name)
            case ast.Name(name) if name in self.scopes.assignments:
                raise UnsupportedText(f"{name}, which has no value")
            case ast.Name(name) if isinstance(self.namespace.get(name), float):  # inf and nan
                return self.constant(self.namespace[name])
            case ast.Name(name) if isinstance(self.namespace.get(name), np.ndarray):
                kind = self.typing.resolve_value_type(self.namespace[name])
                return TypedValue(kind, self.context.get_constant_generic(self.builder, kind, self.namespace[name]))
            case ast.Name():
                return TypedValue(self.type_of_name(expression), self.context.get_dummy_value())
            case ast.Attribute(array, "size"):
                return TypedValue(int64, self.field(self.value_of(array), "nitems"))
            case ast.Attribute(array, "nbytes"):
                count = self.field(value := self.value_of(array), "nitems")
                return TypedValue(int64, self.builder.mul(count, item_size(self.context, value.type)))
            case ast.Subscript(ast.Attribute(array, "shape"), ast.Constant(int(axis))):
                return TypedValue(int64, self.builder.extract_value(self.field(self.value_of(array), "shape"), axis))
            case ast.Subscript(array, index):
                return self.load(array, index)
            case ast.Tuple(elements):
                return self.tuple_of(list(map(self.value_of, elements)))
            case ast.BinOp(left, sign, right) if type(sign) in _OPERATORS:
                return self.apply(sign, left, right)
            case ast.UnaryOp(sign, operand) if type(sign) in _OPERATORS:
                return self.apply(sign, operand)
            case ast.Compare(left, [sign], [right]) if type(sign) in _OPERATORS:
                return self.apply(sign, left, right)
            case ast.BoolOp(sign, values):
                return self.connective(isinstance(sign, ast.And), values)
            case ast.IfExp(test, body, orelse):
                return self.choose(self.condition(test), partial(self.value_of, body), partial(self.value_of, orelse))
            case ast.Call(ast.Name(name), arguments, keywords=[]) if name in self.module.functions:
                return self.call_function(self.module.functions[name], list(map(self.value_of, arguments)))
            case ast.Call(ast.Name("min" | "max" as name), [left, right], keywords=[]) if name not in self.namespace:
                return self.extremum(ast.Lt if name == "min" else ast.Gt, self.value_of(left), self.value_of(right))
            case ast.Call(function, arguments, keywords=[]):
                result = self.call(self.type_of_name(function), list(map(self.value_of, arguments)))
                if self.is_transfer(expression) and isinstance(arguments[0], ast.Name):
                    self.drop_reference(arguments[0].id)
                return result
        return self.call_numba(expression)

    def call_numba(self, expression: ast.expr) -> TypedValue:
        """The value of an expression outside of the subset, which numba compiles as a function of its variables."""
        used_names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
        names = sorted(used_names & self.scopes.assignments.keys())
        namespace = dict(self.namespace)
        exec(f"def compute({', '.join(names)}): return {ast.unparse(expression)}", namespace)
        self.module.dispatchers.append(kernel(namespace["compute"]))
        function_type: Any = types.Dispatcher(self.module.dispatchers[-1])
        return self.call(function_type, list(map(self.variable, names)))

    def constant(self, number: bool | int | float) -> TypedValue:
        kind: Any = types.unliteral(self.typing.resolve_value_type(number))  # type: ignore[no-untyped-call]
        return TypedValue(kind, self.context.get_constant(kind, number))

    def tuple_of(self, values: Sequence[TypedValue]) -> TypedValue:
        kind: Any = types.BaseTuple.from_types([value.type for value in values])  # type: ignore[no-untyped-call]
        if values and all(value.type == int64 and isinstance(value.value, ir.Constant) for value in values):
            words = [value.value for value in values]
            return TypedValue(kind, ir.Constant(ir.ArrayType(_WORD, len(words)), words))
        return TypedValue(kind, self.context.make_tuple(self.builder, kind, [value.value for value in values]))

    def type_of_name(self, expression: ast.expr) -> Any:
        """The type of a function or a class outside of the text."""
        if not isinstance(expression, ast.Name):
            raise UnsupportedText(ast.unparse(expression))
        outer = self.namespace.get(expression.id, getattr(builtins, expression.id, None))
        kind = self.typing.resolve_value_type(outer)
        if not isinstance(kind, types.Callable):
            raise UnsupportedText(f"{expression.id}, which is {kind}")
        return kind

    def is_transfer(self, call: ast.Call) -> bool:
        """Whether a call takes over the reference of a variable."""
        return isinstance(call.func, ast.Name) and self.namespace.get(call.func.id) is arrays.transfer

    def apply(self, sign: ast.AST, *operands: ast.expr) -> TypedValue:
        """The value of an operator."""
        return self.operation(type(sign), list(map(self.value_of, operands)))

    def operation(self, sign: type[ast.AST], operands: Sequence[TypedValue]) -> TypedValue:
        return self.call(self.typing.resolve_value_type(_OPERATORS[sign]), operands)

    def extremum(self, sign: type[ast.AST], left: TypedValue, right: TypedValue) -> TypedValue:
        """The second of two numbers if it compares so with the first, else the first, as Python's `min` and `max`."""
        return self.choose(self.is_true(self.operation(sign, [right, left])), lambda: right, lambda: left)

    def call_function(self, function: GeneratedFunction, arguments: Sequence[TypedValue]) -> TypedValue:
        """The result of a function of the text."""
        if function.is_body:
            return self.call_body(function, *arguments)
        builder, (kind, parameters) = self.builder, (function.signature.return_type, function.signature.args)
        operands = [self.cast(*pair) for pair in zip(arguments, parameters, strict=True)]
        words = self.context.get_arg_packer(parameters).as_arguments(builder, operands)
        with builder.goto_entry_block():  # not zeros, as numba's `call_function` has, with which fib(28) takes longer
            result_slot = builder.alloca(function.value.args[0].type.pointee)
        status = builder.call(function.value, [result_slot, self.function.args[1], *words])
        with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, status)):  # type: ignore[no-untyped-call]
            builder.ret(status)  # the callee has noted the exception
        result = self.context.get_returned_value(builder, kind, builder.load(result_slot))
        return self.adopt(TypedValue(kind, result))

    def call_body(
        self, function: GeneratedFunction, state: TypedValue, count: TypedValue, values: TypedValue
    ) -> TypedValue:
        """Compute a body for all elements, on several threads if there are many. Its words are the state, the number of
        elements, and the values: numbers, and the addresses of arrays, which live until it ends."""
        context, builder = self.context, self.builder
        words = arrays.emit_words(context, builder, values.type, values.value)
        block = emit_word_block(builder, [state.value, count.value, *words])
        addresses = [TypedValue(int64, builder.ptrtoint(pointer, _WORD)) for pointer in (function.value, block)]
        succeeded = self.call(self.type_of_name(ast.Name("parallel_for_large")), [state, *addresses, count])
        emit_memory_exit(context, builder, builder.not_(succeeded.value))
        return TypedValue(types.none, context.get_dummy_value())

    def call(self, function_type: Any, arguments: Sequence[TypedValue]) -> TypedValue:
        """The result of a call: numba chooses the signature by the types of the arguments. A class casts."""
        if isinstance(function_type, types.NumberClass) and len(arguments) == 1:
            return TypedValue(function_type.dtype, self.cast(arguments[0], function_type.dtype))
        signature = function_type.get_call_type(self.typing, tuple(argument.type for argument in arguments), {})
        if signature is None or len(signature.args) != len(arguments):
            raise UnsupportedText(f"a call of {function_type}")
        function = self.context.get_function(function_type, signature)
        operands = [self.cast(*pair) for pair in zip(arguments, signature.args, strict=True)]
        return self.adopt(TypedValue(signature.return_type, function(self.builder, operands)))

    def adopt(self, result: TypedValue) -> TypedValue:
        """The result of a call, whose reference the statement adopts."""
        if self.is_counted(result.type):
            self.temporaries.append(result)
        return result

    def cast(self, value: TypedValue, kind: Any) -> Any:
        if value.type == kind:
            return value.value
        if isinstance(kind, types.BaseTuple) and isinstance(value.type, types.BaseTuple):
            parts: list[Any] = list(kind)  # type: ignore[call-overload]
            if len(parts) == value.type.count:  # type: ignore[attr-defined]
                elements = [self.cast(self.element(value, index), part) for index, part in enumerate(parts)]
                return self.context.make_tuple(self.builder, kind, elements)
        if not {value.type, kind} <= types.number_domain | {types.boolean}:
            raise UnsupportedText(f"{value.type} as {kind}")
        return self.context.cast(self.builder, value.value, value.type, kind)

    def condition(self, test: ast.expr) -> Any:
        return self.is_true(self.value_of(test))

    def is_true(self, value: TypedValue) -> Any:
        return value.value if value.type == types.boolean else self.cast(value, types.boolean)

    def choose(self, condition: Any, then: Callable[[], TypedValue], otherwise: Callable[[], TypedValue]) -> TypedValue:
        """One of two values, in the type that numba finds for both. Only the chosen one is computed."""
        blocks = [self.function.append_basic_block(part) for part in ("then", "else", "end")]
        self.builder.cbranch(condition, *blocks[:2])
        branches, count = [], len(self.temporaries)
        for block, evaluate in zip(blocks, (then, otherwise), strict=False):
            self.builder.position_at_end(block)
            branches.append((evaluate(), self.builder.block))
        kind = self.typing.unify_pairs(*(value.type for value, _ in branches))
        if kind is None or len(self.temporaries) > count:
            raise UnsupportedText(f"either {branches[0][0].type} or {branches[1][0].type}")
        incoming = []
        for value, block in branches:
            self.builder.position_at_end(block)
            incoming.append((self.cast(value, kind), block))
            self.builder.branch(blocks[-1])
        self.builder.position_at_end(blocks[-1])
        result = self.builder.phi(self.context.get_value_type(kind))
        for value, block in incoming:
            result.add_incoming(value, block)
        return TypedValue(kind, result)

    def connective(self, is_and: bool, values: Sequence[ast.expr]) -> TypedValue:
        """`and` or `or` of values."""
        first = self.value_of(values[0])
        if len(values) == 1:
            return first
        branches = partial(self.connective, is_and, values[1:]), lambda: first
        return self.choose(self.is_true(first), *(branches if is_and else reversed(branches)))
