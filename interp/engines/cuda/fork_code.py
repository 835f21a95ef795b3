"""The code generator of depth-first runs: the functions of a program that call themselves, or functions that do, as one
state machine that many threads advance.

Calls of one region that do not need each other's results *fork*: each gets a frame, the thread goes on with the first
and puts the others on its stack of ready frames. A function that returns stores its results into the frame of its
caller and frees its own. The last of the calls to return *joins*: its thread goes on with the caller.

    advance(pool, ready, control, t, top, free, fuel) -> exit code, frame, pc, top, free, fuel, blocks

    frame of a call, FRAME_WORDS words of `pool`:
        0  the frame of the caller; in a free frame, the next free one, or -1
        1  the block with which it goes on
        2  the number of calls that have not returned
        3  the tag levels that remain
        4  the word of the caller's frame for the first result
        5  arguments, results of calls and other values

`ready[k, t]` for k below `top` are the ready frames of thread t, and `free` is the first of its free frames. A block of
the state machine changes nothing before its end, except words that no block before reads. So a thread that runs out of
fuel or frames within a block leaves, and begins this block again in a later round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....core.program.program import FunctionDef, Node, Operand, Program, Region
from ....core.types import Type
from ....core.value import Literal
from .thread_code import (
    EXIT_FUEL,
    DeviceFunctionEmitter,
    DeviceProgramEmitter,
    StackValue,
    StateMachineEmitter,
    ThreadCode,
    TypedText,
    literal_text,
    pack_word,
)

EXIT_FULL, EXIT_IDLE = 4, 5
"""Further exit codes: no free frame, or no room for ready ones; and nothing ready."""
CALLER, PC, PENDING, LEFT, RESULT, HEADER_WORDS = range(6)
"""The words of the header of a frame, and their number."""


class ForkCode(NamedTuple):
    """The code of a program: `advance` is its state machine of `block_count` blocks, and `entry` the one that the entry
    function begins with."""

    code: ThreadCode
    entry: int
    block_count: int


def emit_forks(program: Program) -> ForkCode | None:
    """Generate the code of a program of scalars; None if no function that the entry reaches calls itself."""
    emitter = _ForkProgramEmitter(program)
    return emitter.emit_forks() if program.entry in emitter.stack_users else None


class _ForkProgramEmitter(DeviceProgramEmitter):
    """The functions of a program: those that reach a recursion are one state machine, the others device functions."""

    def emit_forks(self) -> ForkCode:
        members = list[FunctionDef]()
        for functions in self.components:
            if functions[0].name in self.stack_users:
                members += functions
            else:
                DeviceFunctionEmitter(self, functions[0].name).emit_function(functions[0])
        machine = ForkEmitter(self, "advance", members)
        machine.emit_functions()
        return ForkCode(self.thread_code(), machine.entry_blocks[self.program.entry], len(machine.blocks))


class Call(NamedTuple):
    """A call of a member of the state machine, and its arguments."""

    node: Node
    inputs: Sequence[StackValue | TypedText]


class ForkEmitter(StateMachineEmitter):
    """Writes the state machine. Blocks are those of `StateMachineEmitter`; frames are in a pool instead of a stack."""

    header_words = HEADER_WORDS

    def word_text(self, word: int) -> str:
        return f"pool[base + {word}]"

    def exit_text(self, code: str) -> str:
        return f"return ({code}, frame, pc, top, free, fuel, blocks)"

    def emit_machine(self, frames: Mapping[str, int]) -> None:
        self.program.lines += [
            "@cuda.jit(device=True)",
            "def advance(pool, ready, control, t, top, free, fuel):",
            " frame, pc, base, left, blocks = int64(-1), int64(-1), int64(0), int64(0), int64(0)",
            " while fuel > 0:",
            "  fuel -= 1",
            "  blocks += 1",
            "  if frame < 0:",
            f"   if top == 0: {self.exit_text(f'int64({EXIT_IDLE})')}",
            "   top -= 1",
            "   frame = ready[top, t]",
            "   base = frame * FRAME_WORDS",
            f"   pc, left = pool[base + {PC}], pool[base + {LEFT}]",
        ]
        self.emit_blocks()
        self.program.lines.append(f" {self.exit_text(f'int64({EXIT_FUEL})')}")

    # Forks and joins

    def emit_split_region(
        self, region: Region, arguments: Sequence[StackValue | TypedText]
    ) -> list[StackValue | TypedText]:
        """As in `StateMachineEmitter`, but a call waits until another node needs its results, together with the calls
        after it that do not."""
        values: dict[str, StackValue | TypedText] = {
            parameter.name: argument for parameter, argument in zip(region.parameters, arguments, strict=True)
        }
        waiting = list[Call]()

        def fork() -> None:
            if waiting:
                for call, results in zip(waiting, self.emit_fork(waiting), strict=True):
                    define(call.node, results)
                waiting.clear()

        def define(node: Node, results: Sequence[StackValue | TypedText]) -> None:
            values.update((variable.name, result) for variable, result in zip(node.results, results, strict=True))

        def value(operand: Operand) -> StackValue | TypedText:
            if isinstance(operand, Literal):
                return literal_text(operand)
            if operand not in values:
                fork()
            return values[operand]

        for node in region.nodes:
            inputs = list(map(value, node.inputs))
            if node.op == "call" and self.is_split(node):
                waiting.append(Call(node, inputs))
            elif not self.is_split(node):
                texts = [TypedText(self.load(input_), input_.type) for input_ in inputs]
                pairs = zip(self.emit_node(node, texts), node.results, strict=True)
                define(node, [self.define(text, variable.type) for text, variable in pairs])
            else:
                fork()
                emit = self.emit_split_cond if node.op == "cond" else self.emit_split_loop
                define(node, emit(node, inputs))
        fork()
        return [value(result) for result in region.results]

    def emit_fork(self, calls: Sequence[Call]) -> list[list[StackValue]]:
        """End the block with calls; return their results, which the next block has."""
        self.emit_depth_check()
        children, continuation = [self.fresh_name() for _ in calls], self.add_block()
        texts = [list(map(self.load, call.inputs)) for call in calls]
        for child in children:
            self.emit(f"{child}, free = take_frame(pool, control, free)")
        with self.block(f"if {children[-1]} < 0 or top + {len(calls)} > ready.shape[0]:"):
            for child in reversed(children):
                self.emit(f"if {child} >= 0: free = free_frame(pool, {child}, free)")
            self.emit(self.exit_text(f"int64({EXIT_FULL})"))
        results = []
        for call, child, arguments in zip(calls, children, texts, strict=True):
            callee = self.program.program[call.node.attribute("function")]
            words = [self.fresh_word() for _ in callee.results]
            results.append([StackValue(type_, "", -1, word) for word, type_ in zip(words, callee.results, strict=True)])
            header = {CALLER: "frame", PC: self.entry_blocks[callee.name], LEFT: f"left - {self.loops + 1}"}
            for word, text in (header | {RESULT: words[0] if words else 0}).items():
                self.emit(f"pool[{child} * FRAME_WORDS + {word}] = {text}")
            for number, (text, parameter) in enumerate(zip(arguments, callee.body.parameters, strict=True)):
                word_text = f"pool[{child} * FRAME_WORDS + {HEADER_WORDS + number}]"
                self.emit(f"{word_text} = {pack_word(text, parameter.type)}")
        self.emit(f"{self.word_text(PC)} = {continuation}")
        self.emit(f"{self.word_text(PENDING)} = {len(calls)}")
        for child in reversed(children[1:]):
            self.emit(f"ready[top, t] = {child}")
            self.emit("top += 1")
        self.emit_switch(children[0])
        self.enter_block(continuation)
        return results

    def emit_switch(self, frame: str) -> None:
        """Emit the change to another frame."""
        self.emit(f"frame = {frame}")
        self.emit("base = frame * FRAME_WORDS")
        self.emit(f"pc, left = {self.word_text(PC)}, {self.word_text(LEFT)}")

    def emit_return(self, texts: Sequence[str], types: Sequence[Type]) -> None:
        caller = self.assign_word(self.word_text(CALLER))
        target = self.assign_word(f"{caller} * FRAME_WORDS + {self.word_text(RESULT)}")
        for number, (text, type_) in enumerate(zip(texts, types, strict=True)):
            self.emit(f"pool[{target} + {number}] = {pack_word(text, type_)}")
        self.emit("free = free_frame(pool, frame, free)")
        self.emit("frame = int64(-1)")
        self.emit("cuda.threadfence()")
        with self.block(f"if cuda.atomic.add(pool, {caller} * FRAME_WORDS + {PENDING}, -1) == 1:"):
            self.emit("cuda.threadfence()")
            self.emit_switch(caller)

    def assign_word(self, text: str) -> str:
        name = self.fresh_name()
        self.emit(f"{name} = {text}")
        return name
