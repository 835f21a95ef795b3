"""A small language of words, compiled by LLVM alone: for long generated functions, on which numba takes minutes.

A text has two parts. The first is Python for numba: it defines `scalar_kernels`, a function of five words that the
second part calls as `compute`, `cast` and `traps`. The second part is a subset of Python in which every value is a word
of 64 bits, an integer that wraps:

- functions without keyword arguments; assignments to names, and of tuples to tuples; `if`, `while`, `break`,
  `continue`, `return`; `match` of a word against constants, with a last case for all others, and `go(N)` in its cases,
  which jumps to the case of N; constants at the top level;
- `+ - * & | ^ << >> ~`, comparisons, `and`, `or` and `not` in conditions, which evaluate both sides;
- calls of functions of the text, of `peek`, `poke` and `prefetch` (see `memory`), `min` and `max`.

numba's type inference and its analyses of live variables take 25 s of processor time on a thousand lines of the second
part, LLVM one second.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ....core.python_ast import parse_python

_WORD = ir.IntType(64)
_KERNEL_GROUPS = {"compute": 0, "cast": 1, "traps": 2}
"""The first argument of `scalar_kernels` for each function of words that it computes."""
KERNEL_ARITY = 5
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
    ast.LShift: "shl", ast.RShift: "ashr",
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="
}  # fmt: skip


def compile_library(text: str, function: str, kernel: Any) -> Any:
    """A library of numba's with the functions of the second part of a text. `kernel` is `scalar_kernels` of the first,
    compiled by `numba.cfunc`."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    with global_compiler_lock:
        library = cpu_target.target_context.codegen().create_library(function)
        library.enable_object_caching()
        module = library.create_ir_module(function)
        _WordModule(module, text, function, kernel.native_name).build()
        library.add_ir_module(module)
        library.add_linking_library(kernel._library)
        library.finalize()
    return library


class _WordModule:
    """The LLVM module of a text."""

    def __init__(self, module: ir.Module, text: str, entry: str, kernel_name: str) -> None:
        self.module = module
        self.constants: dict[str, int] = {}
        self.definitions: dict[str, ast.FunctionDef] = {}
        for node in parse_python(text).body:
            if isinstance(node, ast.FunctionDef):
                self.definitions[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                expression = compile(ast.Expression(node.value), "<constants>", "eval")
                self.constants[node.targets[0].id] = eval(expression, {"__builtins__": {}}, self.constants)
        self.functions = {name: self.declare(name, len(node.args.args)) for name, node in self.definitions.items()}
        for name, function in self.functions.items():
            if name != entry:
                function.linkage = "internal"
        kernel_type = ir.FunctionType(_WORD, [_WORD] * KERNEL_ARITY)
        self.kernel = ir.Function(module, kernel_type, kernel_name)

    def declare(self, name: str, arity: int) -> ir.Function:
        return ir.Function(self.module, ir.FunctionType(_WORD, [_WORD] * arity), name)

    def build(self) -> None:
        for name, definition in self.definitions.items():
            _WordFunction(self, self.functions[name], definition).build()


class _WordFunction:
    """The code of a function. Local names are stack slots, which LLVM turns into registers."""

    def __init__(self, module: _WordModule, function: ir.Function, definition: ast.FunctionDef) -> None:
        self.module, self.function, self.definition = module, function, definition
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.locals: dict[str, Any] = {}
        self.loops: list[tuple[Any, Any]] = []
        """For each loop around the current statement, where it continues and where it ends."""
        self.cases: dict[int | None, Any] = {}
        """The cases of the `match` around it; None is the last one."""

    def build(self) -> None:
        names = [argument.arg for argument in self.definition.args.args]
        targets = (node.id for node in ast.walk(self.definition) if isinstance(node, ast.Name) and _is_target(node))
        for name in dict.fromkeys([*names, *targets]):
            self.locals[name] = self.builder.alloca(_WORD, name=name)
        for name, argument in zip(names, self.function.args, strict=True):
            self.builder.store(argument, self.locals[name])
        self.execute(self.definition.body)
        if not self.builder.block.is_terminated:
            self.builder.ret(_WORD(0))

    def execute(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.builder.block.is_terminated:
                return
            self.execute_one(statement)

    def execute_one(self, statement: ast.stmt) -> None:
        builder = self.builder
        match statement:
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                words = list(map(self.word, values))
                for target, word in zip(targets, words, strict=True):
                    self.assign(target, word)
            case ast.Assign([target], value):
                self.assign(target, self.word(value))
            case ast.AugAssign(target, operator, value):
                self.assign(target, self.operation(operator, builder.load(self.place(target)), self.word(value)))
            case ast.If(test, body, orelse):
                self.execute_if(test, body, orelse)
            case ast.While(test, body):
                self.execute_while(test, body)
            case ast.Match(subject, cases):
                self.execute_match(subject, cases)
            case ast.Expr(ast.Call(ast.Name("go"), [ast.Constant(int(number))])):
                builder.branch(self.cases.get(number, self.cases[None]))
            case ast.Break():
                builder.branch(self.loops[-1][1])
            case ast.Continue():
                builder.branch(self.loops[-1][0])
            case ast.Return(value):
                builder.ret(_WORD(0) if value is None else self.word(value))
            case ast.Expr(ast.Constant(str())):
                pass
            case ast.Expr(value):
                self.word(value)
            case _:
                raise NotImplementedError(ast.unparse(statement))

    def execute_if(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        then, otherwise, end = (self.function.append_basic_block() for _ in range(3))
        self.builder.cbranch(self.condition(test), then, otherwise)
        is_reached = False
        for block, statements in ((then, body), (otherwise, orelse)):
            self.builder.position_at_end(block)
            self.execute(statements)
            if not self.builder.block.is_terminated:
                self.builder.branch(end)
                is_reached = True
        self.builder.position_at_end(end)
        if not is_reached:
            self.builder.unreachable()

    def execute_match(self, subject: ast.expr, cases: Sequence[ast.match_case]) -> None:
        blocks = [self.function.append_basic_block() for _ in cases]
        end = self.function.append_basic_block()
        self.cases = {number: block for case, block in zip(cases, blocks, strict=True) for number in _numbers(case)}
        switch = self.builder.switch(self.word(subject), self.cases[None])
        for number, block in self.cases.items():
            if number is not None:
                switch.add_case(_WORD(number), block)
        for case, block in zip(cases, blocks, strict=True):
            self.builder.position_at_end(block)
            self.execute(case.body)
            if not self.builder.block.is_terminated:
                self.builder.branch(end)
        self.builder.position_at_end(end)

    def execute_while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        head, body_block, end = (self.function.append_basic_block() for _ in range(3))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        self.builder.cbranch(self.condition(test), body_block, end)
        self.builder.position_at_end(body_block)
        self.loops.append((head, end))
        self.execute(body)
        self.loops.pop()
        if not self.builder.block.is_terminated:
            self.builder.branch(head)
        self.builder.position_at_end(end)

    def assign(self, target: ast.expr, word: Any) -> None:
        self.builder.store(word, self.place(target))

    def place(self, target: ast.expr) -> Any:
        assert isinstance(target, ast.Name)
        return self.locals[target.id]

    def condition(self, test: ast.expr) -> Any:
        """A test as a bit."""
        builder = self.builder
        match test:
            case ast.Compare(left, [operator], [right]):
                return builder.icmp_signed(_COMPARISONS[type(operator)], self.word(left), self.word(right))
            case ast.BoolOp(operator, values):
                combine = builder.and_ if isinstance(operator, ast.And) else builder.or_
                bit, *further_bits = map(self.condition, values)
                for next_bit in further_bits:
                    bit = combine(bit, next_bit)
                return bit
            case ast.UnaryOp(ast.Not(), value):
                return builder.not_(self.condition(value))
        return builder.icmp_signed("!=", self.word(test), _WORD(0))

    def operation(self, operator: ast.operator, left: Any, right: Any) -> Any:
        return getattr(self.builder, _OPERATORS[type(operator)])(left, right)

    def word(self, expression: ast.expr) -> Any:
        """The value of an expression."""
        builder = self.builder
        match expression:
            case ast.Constant(int(value)):
                return _WORD(int(value))
            case ast.Name(name) if name in self.locals:
                return builder.load(self.locals[name])
            case ast.Name(name):
                return _WORD(int(self.module.constants[name]))
            case ast.BinOp(left, operator, right):
                return self.operation(operator, self.word(left), self.word(right))
            case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
                return _WORD(-value)
            case ast.UnaryOp(ast.USub(), operand):
                return builder.neg(self.word(operand))
            case ast.UnaryOp(ast.Invert(), operand):
                return builder.not_(self.word(operand))
            case ast.Call(ast.Name(name), arguments):
                return self.call(name, list(map(self.word, arguments)))
        raise NotImplementedError(ast.unparse(expression))

    def call(self, name: str, arguments: list[Any]) -> Any:
        builder = self.builder
        match name:
            case "peek":
                return builder.load(self.pointer(*arguments))
            case "poke":
                return builder.store(arguments[2], self.pointer(*arguments[:2]))
            case "prefetch":
                return self.prefetch(self.pointer(*arguments))
            case "min" | "max":
                comparison = builder.icmp_signed("<" if name == "min" else ">", *arguments)
                return builder.select(comparison, *arguments)
            case _ if name in _KERNEL_GROUPS:
                words = [_WORD(_KERNEL_GROUPS[name]), *arguments]
                words += [_WORD(0)] * (KERNEL_ARITY - len(words))
                return builder.call(self.module.kernel, words)
        return builder.call(self.module.functions[name], arguments)

    def prefetch(self, pointer: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = self.module.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        return self.builder.call(function, [self.builder.bitcast(pointer, byte), number(1), number(3), number(1)])

    def pointer(self, address: Any, index: Any) -> Any:
        return self.builder.gep(self.builder.inttoptr(address, _WORD.as_pointer()), [index])


def _numbers(case: ast.match_case) -> list[int | None]:
    """The constants of a case; None for the last one."""
    patterns = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
    return [ast.literal_eval(pattern.value) if isinstance(pattern, ast.MatchValue) else None for pattern in patterns]


def _is_target(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)
