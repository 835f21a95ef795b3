"""The code generator of maps: a program of scalars as text in the Python of numba.cuda, for one thread per element.

A function that cannot call itself becomes a device function with `if`, `while` and calls:

    f(x0, ..., stack, t, sp, left, fuel) -> exit code, fuel, results

Functions that can call each other share one device function, a state machine of blocks between their calls. It takes
no values: those that are used in another block than the one that computes them are words of a frame on the stack of the
thread, as are arguments and results.

    g(pc, stack, t, sp, left, fuel) -> exit code, fuel

    frame of a call: stack[sp, t]          the block of the caller that continues, or -1
                     stack[sp + 1 + k, t]  argument k; after the call, result k
                     stack[sp + ..., t]    other values

`left` is the number of tag levels that remain: every call takes at least one, so a stack of `left` frames cannot
overflow. `fuel` is the number of iterations and calls that remain for the element. The exit code is 0 if the function
returned; the results of any other exit are meaningless.

Values are in lanes, as in `jit.kernels`. A device contracts a product and a sum into one operation, which rounds once;
`exact_product` prevents that.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from ....core.program.program import FunctionDef, Node, Operand, Program, Region
from ....core.python_ast import parse_python
from ....core.types import Type
from ....core.value import Literal
from ..compiled.layout import functions_reaching, is_recursive_group, strongly_connected_components
from ..jit import kernels
from ..jit.kernels import LANE_TYPES, lane

EXIT_RETURNED, EXIT_FUEL, EXIT_DEPTH, EXIT_TRAP = range(4)
"""The exit codes."""
_STACK_PARAMETERS = ("stack", "t", "sp")
_COPIED_OPS = ("breakpoint", "identity", "stop_gradient")
_KERNEL_CALL = re.compile(r"\bk\.(\w+)")


class ThreadCode(NamedTuple):
    """The text of a program: `element` computes an element. `kernel_names` are the functions of `jit.kernels` that it
    calls; a frame of its stack has at most `frame_words` words, 0 if no function can call itself."""

    text: str
    kernel_names: frozenset[str]
    frame_words: int


class TypedText(NamedTuple):
    """The text of a value, and its type."""

    text: str
    type: Type


@dataclass(slots=True)
class StackValue:
    """A value of a state machine: its variable in the block that computes it, and its word in the frame if other blocks
    use it."""

    type: Type
    variable: str
    block: int
    word: int | None = None


Line = str | StackValue
"""A line of a block; a StackValue is a place at which the value is stored, if it has a word."""


def emit_program(program: Program) -> ThreadCode:
    """Generate the code of a program of scalars."""
    return DeviceProgramEmitter(program).emit()


class DeviceProgramEmitter:
    """The functions of a program: their names, and whether they need the stack."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self.frame_words = 0
        self.groups: dict[str, StateMachineEmitter] = {}
        """The group of each function that can call itself."""
        components = [[phase.function for phase in members] for members in strongly_connected_components(program)]
        recursive = [
            [phase.function.name for phase in members]
            for members in strongly_connected_components(program)
            if is_recursive_group(members)
        ]
        names = {name for group in recursive for name in group}
        self.components = components
        self.recursive_names = names
        self.stack_users = names | functions_reaching(
            program, lambda node: node.op == "call" and node.attribute("function") in names
        )
        self.names = {function.name: f"f{k}" for k, group in enumerate(components) for function in group}

    def emit(self) -> ThreadCode:
        for number, functions in enumerate(self.components):
            if functions[0].name in self.recursive_names:
                group = StateMachineEmitter(self, f"g{number}", functions)
                self.groups |= {function.name: group for function in functions}
                group.emit_functions()
            else:
                DeviceFunctionEmitter(self, functions[0].name).emit_function(functions[0])
        self.emit_element()
        return self.thread_code()

    def thread_code(self) -> ThreadCode:
        """The code that has been emitted."""
        text = "\n".join(self.lines)
        names = frozenset(_KERNEL_CALL.findall(text))
        return ThreadCode(_KERNEL_CALL.sub(r"k_\1", text), names, self.frame_words)

    def emit_element(self) -> None:
        """Emit `element`, which calls the entry function."""
        main = self.program.main
        emitter = DeviceFunctionEmitter(self, "")
        emitter.results = main.results
        texts = [f"x{number}" for number in range(len(main.body.parameters))]
        self.lines += [
            "@cuda.jit(device=True)",
            f"def element({', '.join([*texts, *_STACK_PARAMETERS, 'left', 'fuel'])}):",
        ]
        results = emitter.emit_call(main, texts, 0)
        emitter.emit(f"return ({', '.join(['int64(0)', 'fuel', *results])})")


class DeviceFunctionEmitter:
    """Writes one device function with structured control flow."""

    def __init__(self, program: DeviceProgramEmitter, function: str) -> None:
        self.program, self.function = program, function
        self.results: tuple[Type, ...] = ()
        self.lines: list[Line] = program.lines  # type: ignore[assignment]
        self.indent = 1
        self.count = 0
        self.loops = 0
        """The number of loops around the current line."""

    def emit_function(self, function: FunctionDef) -> None:
        self.results = function.results
        parameters = [f"x{number}" for number in range(len(function.body.parameters))]
        stack = _STACK_PARAMETERS if function.name in self.program.stack_users else ()
        name = self.program.names[function.name]
        self.lines += ["@cuda.jit(device=True)", f"def {name}({', '.join([*parameters, *stack, 'left', 'fuel'])}):"]
        self.emit_fuel_check()
        results = self.emit_region(function.body, parameters)
        self.emit(f"return ({', '.join(['int64(0)', 'fuel', *results])})")

    # Lines and exits

    def emit(self, text: str) -> None:
        self.lines.append(" " * self.indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.emit(head)
        self.indent += 1
        yield
        self.indent -= 1

    def fresh_name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def assign(self, text: str, type_: Type) -> str:
        name = self.fresh_name()
        self.emit(f"{name} = {in_lane(text, type_)}")
        return name

    def exit_text(self, code: str) -> str:
        """The statement that leaves the function with an exit code."""
        zeros = [f"{LANE_TYPES[lane(type_.dtype)]}(0)" for type_ in self.results]
        return f"return ({', '.join([code, 'fuel', *zeros])})"

    def emit_exit(self, condition: str, code: str) -> None:
        with self.block(f"if {condition}:"):
            self.emit(self.exit_text(code))

    def emit_fuel_check(self) -> None:
        self.emit("fuel -= 1")
        self.emit_exit("fuel < 0", f"int64({EXIT_FUEL})")

    def emit_depth_check(self) -> None:
        """Check that one more level of tags is left."""
        self.emit_exit(f"left < {self.loops + 1}", f"int64({EXIT_DEPTH})")

    def stack_pointer(self) -> str:
        """The first word of the stack that is free for calls."""
        return "sp"

    # Regions

    def emit_region(self, region: Region, texts: Sequence[str]) -> list[str]:
        """Emit the nodes of a region; return the text of its results."""
        values = {
            parameter.name: TypedText(text, parameter.type)
            for parameter, text in zip(region.parameters, texts, strict=True)
        }

        def value(operand: Operand) -> TypedText:
            return literal_text(operand) if isinstance(operand, Literal) else values[operand]

        for node in region.nodes:
            results = self.emit_node(node, list(map(value, node.inputs)))
            pairs = zip(node.results, results, strict=True)
            values.update((variable.name, TypedText(text, variable.type)) for variable, text in pairs)
        return [value(result).text for result in region.results]

    def emit_node(self, node: Node, inputs: Sequence[TypedText]) -> list[str]:
        """Emit one node; return the text of its results."""
        texts = [input_.text for input_ in inputs]
        if node.op == "cond":
            return self.emit_cond(node, texts)
        if node.op == "while_loop":
            return self.emit_loop(node, texts)
        if node.op == "call":
            self.emit_depth_check()
            return self.emit_call(self.program.program[node.attribute("function")], texts, self.loops + 1)
        if node.op in _COPIED_OPS:
            return texts
        return [self.emit_op(node, inputs)]

    def emit_op(self, node: Node, inputs: Sequence[TypedText]) -> str:
        result, types, texts = node.results[0].type, [i.type for i in inputs], [i.text for i in inputs]
        condition = kernels.trap_condition(node.op, types, result, texts)
        if condition is not None:
            self.emit_exit(condition, f"int64({EXIT_TRAP})")
        text = kernels.expression(node.op, types, result, node.attributes, texts)
        if all(type_.dtype.kind == "f" for type_ in (*types, result)):
            text = exact_products(text)
        return self.assign(text, result)

    def emit_cond(self, node: Node, texts: Sequence[str]) -> list[str]:
        names = [self.fresh_name() for _ in node.results]
        for head, region in zip((f"if {texts[0]}:", "else:"), node.regions, strict=True):
            with self.block(head):
                results = self.emit_region(region, texts[1:])
                for name, text, variable in zip(names, results, node.results, strict=True):
                    self.emit(f"{name} = {in_lane(text, variable.type)}")
                if not names:
                    self.emit("pass")
        return names

    def emit_loop(self, node: Node, texts: Sequence[str]) -> list[str]:
        self.emit_depth_check()
        condition, body = node.regions
        types = [parameter.type for parameter in body.parameters]
        names = [self.assign(text, type_) for text, type_ in zip(texts, types, strict=True)]
        self.loops += 1
        with self.block("while True:"):
            (test,) = self.emit_region(condition, names)
            self.emit(f"if not {test}: break")
            results = self.emit_region(body, names)
            if names:
                values = ", ".join(in_lane(text, type_) for text, type_ in zip(results, types, strict=True))
                self.emit(f"{', '.join(names)} = {values}")
            self.emit_fuel_check()
        self.loops -= 1
        return names

    def emit_call(self, callee: FunctionDef, texts: Sequence[str], levels: int) -> list[str]:
        """Emit a call of a function that cannot call the current one, `levels` tag levels deeper."""
        left, code, pointer = f"left - {levels}", self.fresh_name(), self.stack_pointer()
        group = self.program.groups.get(callee.name)
        if group is None:
            names = [self.fresh_name() for _ in callee.results]
            stack = ("stack", "t", pointer) if callee.name in self.program.stack_users else ()
            arguments = ", ".join([*texts, *stack, left, "fuel"])
            self.emit(f"{', '.join([code, 'fuel', *names])} = {self.program.names[callee.name]}({arguments})")
            self.emit_exit(f"{code} != 0", code)
            return names
        for number, (text, parameter) in enumerate(zip(texts, callee.body.parameters, strict=True)):
            self.emit(f"stack[{pointer} + {number + 1}, t] = {pack_word(text, parameter.type)}")
        self.emit(f"stack[{pointer}, t] = -1")
        entry = group.entry_blocks[callee.name]
        self.emit(f"{code}, fuel = {group.name}(int64({entry}), stack, t, {pointer}, {left}, fuel)")
        self.emit_exit(f"{code} != 0", code)
        return [
            self.assign(unpack_word(f"stack[{pointer} + {number + 1}, t]", type_), type_)
            for number, type_ in enumerate(callee.results)
        ]


class StateMachineEmitter(DeviceFunctionEmitter):
    """Writes the state machine of functions that can call each other. A node without such a call is emitted as in a
    function, into the current block; a call, and a cond or loop around one, ends the block."""

    header_words = 1
    """The words of a frame before arguments and results."""

    def __init__(self, program: DeviceProgramEmitter, name: str, functions: Sequence[FunctionDef]) -> None:
        super().__init__(program, functions[0].name)
        self.name, self.functions = name, functions
        self.members = {function.name for function in functions}
        self.blocks: list[list[Line]] = [[] for _ in functions]
        """The lines of each block, the code from one call to the next."""
        self.entry_blocks = {function.name: number for number, function in enumerate(functions)}
        self.current = 0
        self.frame_words = 0
        self.loaded_variables: dict[int, str] = {}
        """The variables of the current block that have loaded values, by the id of the value."""

    def emit_functions(self) -> None:
        frames = {}
        for function in self.functions:
            self.function = function.name
            self.enter_block(self.entry_blocks[function.name])
            self.frame_words = self.header_words + max(len(function.body.parameters), len(function.results))
            values = [
                StackValue(parameter.type, "", -1, self.header_words + number)
                for number, parameter in enumerate(function.body.parameters)
            ]
            results = [self.load(value) for value in self.emit_split_region(function.body, values)]
            self.emit_return(results, function.results)
            frames[function.name] = self.frame_words
        self.program.frame_words = max(self.program.frame_words, *frames.values())
        self.emit_machine(frames)

    def emit_return(self, texts: Sequence[str], types: Sequence[Type]) -> None:
        """Emit the end of the last block of a function."""
        for number, (text, type_) in enumerate(zip(texts, types, strict=True)):
            self.emit(f"{self.word_text(self.header_words + number)} = {pack_word(text, type_)}")
        self.emit("pc = stack[sp, t]")
        self.emit_exit("pc < 0", f"int64({EXIT_RETURNED})")

    def emit_machine(self, frames: Mapping[str, int]) -> None:
        """Emit the device function, from its blocks and the sizes of frames by function."""
        lines = self.program.lines
        lines += [f"{self.frame_name(name)} = {words}" for name, words in frames.items()]
        lines += ["@cuda.jit(device=True)", f"def {self.name}(pc, stack, t, sp, left, fuel):", " while True:"]
        self.emit_blocks()

    def emit_blocks(self) -> None:
        """Emit the choice among the blocks by `pc`."""
        lines = self.program.lines
        for number, block in enumerate(self.blocks):
            lines.append(f"  {'elif' if number else 'if'} pc == {number}:")
            for line in block:
                if isinstance(line, str):
                    lines.append(line)
                elif line.word is not None:
                    lines.append(f"   {self.word_text(line.word)} = {pack_word(line.variable, line.type)}")
        lines += ["  else:", f"   {self.exit_text(f'int64({EXIT_RETURNED})')}"]

    def word_text(self, word: int) -> str:
        """A word of the current frame."""
        return f"stack[sp + {word}, t]"

    def frame_name(self, function: str) -> str:
        """The constant that is the number of words of a frame."""
        return f"{self.name}_WORDS_{self.entry_blocks[function]}"

    def exit_text(self, code: str) -> str:
        return f"return ({code}, fuel)"

    def stack_pointer(self) -> str:
        return f"sp + {self.frame_name(self.function)}"

    # Blocks and values

    def add_block(self) -> int:
        self.blocks.append([])
        return len(self.blocks) - 1

    def enter_block(self, number: int) -> None:
        self.current, self.lines, self.indent, self.loaded_variables = number, self.blocks[number], 3, {}

    def fresh_word(self) -> int:
        self.frame_words += 1
        return self.frame_words - 1

    def define(self, text: str, type_: Type) -> StackValue:
        """A value that the current block has just computed."""
        value = StackValue(type_, text, self.current)
        self.lines.append(value)
        return value

    def load(self, value: StackValue | TypedText) -> str:
        """The text of a value in the current block."""
        if isinstance(value, TypedText):
            return value.text
        if value.block == self.current:
            return value.variable
        if value.word is None:
            value.word = self.fresh_word()
        if id(value) not in self.loaded_variables:
            self.loaded_variables[id(value)] = self.assign(
                unpack_word(self.word_text(value.word), value.type), value.type
            )
        return self.loaded_variables[id(value)]

    def store(self, texts: Sequence[str], values: Sequence[StackValue]) -> None:
        """Store the texts into the words of values."""
        for text, value in zip(texts, values, strict=True):
            assert value.word is not None
            self.emit(f"{self.word_text(value.word)} = {pack_word(text, value.type)}")

    # Regions

    def is_split(self, node: Node) -> bool:
        """Whether a node is, or has in its regions, a call of a member of the group."""
        inner = (part for region in node.regions for part in region.walk())
        return any(part.op == "call" and part.attribute("function") in self.members for part in (node, *inner))

    def emit_split_region(
        self, region: Region, arguments: Sequence[StackValue | TypedText]
    ) -> list[StackValue | TypedText]:
        """Emit the nodes of a region, which may end in another block; return its results."""
        values: dict[str, StackValue | TypedText] = {
            parameter.name: argument for parameter, argument in zip(region.parameters, arguments, strict=True)
        }

        def value(operand: Operand) -> StackValue | TypedText:
            return literal_text(operand) if isinstance(operand, Literal) else values[operand]

        for node in region.nodes:
            inputs = list(map(value, node.inputs))
            results: Sequence[StackValue | TypedText]
            if not self.is_split(node):
                texts = [TypedText(self.load(input_), input_.type) for input_ in inputs]
                pairs = zip(self.emit_node(node, texts), node.results, strict=True)
                results = [self.define(text, variable.type) for text, variable in pairs]
            elif node.op == "cond":
                results = self.emit_split_cond(node, inputs)
            elif node.op == "while_loop":
                results = self.emit_split_loop(node, inputs)
            else:
                results = self.emit_split_call(node, list(map(self.load, inputs)))
            values.update((variable.name, result) for variable, result in zip(node.results, results, strict=True))
        return [value(result) for result in region.results]

    def emit_split_cond(self, node: Node, inputs: Sequence[StackValue | TypedText]) -> list[StackValue]:
        joined = [StackValue(variable.type, "", -1, self.fresh_word()) for variable in node.results]
        branches, end = [self.add_block(), self.add_block()], self.add_block()
        self.emit(f"pc = int64({branches[0]}) if {self.load(inputs[0])} else int64({branches[1]})")
        for number, region in zip(branches, node.regions, strict=True):
            self.enter_block(number)
            results = self.emit_split_region(region, inputs[1:])
            self.store(list(map(self.load, results)), joined)
            self.emit(f"pc = int64({end})")
        self.enter_block(end)
        return joined

    def emit_split_loop(self, node: Node, inputs: Sequence[StackValue | TypedText]) -> list[StackValue]:
        self.emit_depth_check()
        condition, body = node.regions
        values = [StackValue(parameter.type, "", -1, self.fresh_word()) for parameter in body.parameters]
        head, start, end = self.add_block(), self.add_block(), self.add_block()
        self.store(list(map(self.load, inputs)), values)
        self.emit(f"pc = int64({head})")
        self.loops += 1
        self.enter_block(head)
        (test,) = self.emit_split_region(condition, values)
        self.emit(f"pc = int64({start}) if {self.load(test)} else int64({end})")
        self.enter_block(start)
        results = self.emit_split_region(body, values)
        texts = list(map(self.load, results))  # all are loaded before the first is stored
        self.emit_fuel_check()
        self.store(texts, values)
        self.emit(f"pc = int64({head})")
        self.loops -= 1
        self.enter_block(end)
        return values

    def emit_split_call(self, node: Node, texts: Sequence[str]) -> list[StackValue]:
        """Push a frame; the block that follows pops it and has the results."""
        callee = self.program.program[node.attribute("function")]
        self.emit_depth_check()
        self.emit_fuel_check()
        pointer, levels, continuation = self.stack_pointer(), self.loops + 1, self.add_block()
        for number, (text, parameter) in enumerate(zip(texts, callee.body.parameters, strict=True)):
            self.emit(f"stack[{pointer} + {number + 1}, t] = {pack_word(text, parameter.type)}")
        self.emit(f"stack[{pointer}, t] = {continuation}")
        self.emit(f"sp += {self.frame_name(self.function)}")
        self.emit(f"left -= {levels}")
        self.emit(f"pc = int64({self.entry_blocks[callee.name]})")
        self.enter_block(continuation)
        self.emit(f"sp -= {self.frame_name(self.function)}")
        self.emit(f"left += {levels}")
        texts = [
            self.assign(unpack_word(f"stack[{pointer} + {number + 1}, t]", type_), type_)
            for number, type_ in enumerate(callee.results)
        ]
        return [self.define(text, type_) for text, type_ in zip(texts, callee.results, strict=True)]


# Text of values


def in_lane(text: str, type_: Type) -> str:
    """Text that computes a value in the lane of its type."""
    return f"{LANE_TYPES[lane(type_.dtype)]}({text})"


def literal_text(literal: Literal) -> TypedText:
    """A literal in its lane. The cast keeps Python, as numba does, from computing with its own numbers."""
    return TypedText(in_lane(kernels.literal_expression(literal.value, literal.type.dtype), literal.type), literal.type)


def pack_word(text: str, type_: Type) -> str:
    """A value in its lane as a word of the stack."""
    return f"float64({text}).view(np.int64)" if type_.dtype.kind == "f" else f"int64({text})"


def unpack_word(word: str, type_: Type) -> str:
    """A word of the stack as a value in the lane of a type.

    >>> from ....core import dtypes
    >>> [unpack_word("w", Type(dtype)) for dtype in (dtypes.bool, dtypes.int8, dtypes.uint8, dtypes.float32)]
    ['w != 0', 'w', 'uint64(w)', 'int64(w).view(np.float64)']
    """
    match lane(type_.dtype):
        case "b":
            return f"{word} != 0"
        case "u":
            return f"uint64({word})"
        case "f":
            return f"int64({word}).view(np.float64)"
    return word


def exact_products(text: str) -> str:
    """An expression of floats whose products are calls of `exact_product`.

    >>> exact_products("(a * b + c)")
    'exact_product(a, b) + c'
    """
    if "*" not in text:
        return text
    return ast.unparse(_ProductCalls().visit(parse_python(text, "eval")))


class _ProductCalls(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Mult):
            return node
        return ast.Call(ast.Name("exact_product"), [node.left, node.right], [])
