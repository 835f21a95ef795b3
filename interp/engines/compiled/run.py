"""One run of the compiled engine: compile the program or find its module, run it, and say how it ended.

There are two ways to run. A program whose last run was quick runs on the calling thread (`run_on_caller`), under a
watchdog: if it takes long, or too much stack, it is stopped, and restarted in the other way. Every other run has a
thread with a large stack (`run_on_own_thread`), while the calling thread checks limits and Ctrl-C, and serves host
calls.

Depth is checked exactly; bytes, seconds and Ctrl-C are checked 50 times a second. A run that exhausts the stack before
its depth limit is Exhausted too: generated code checks the remaining stack before it calls.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....core.errors import Crash, Exhausted, TagloomError, Usage
from ....core.frontend.trace.pytree import TreeDef
from ....core.graph.graph import Graph
from ....core.ops.effects import EFFECT_OPS, draw_trap_message, size_trap_message
from ....core.ops.op import OPS, build_kernel, trap_message
from ....core.program.program import Node, Program
from ....core.tag import ROOT
from ....core.text.printer import print_program
from ....core.types import Type, type_of
from ....core.value import Literal, Value, admit, borrow
from ....core.world import World
from ...machine.event import Event, Token
from ...outcome.outcome import Outcome, build_trap, value_outcome
from ..interrupt import interrupt_between_steps
from ..jit import cache as module_cache
from ..jit import thread_pool
from ..jit.cache import show_compiling
from ..jit.compiler_process import CompileTask, compile_and_wait
from ..jit.native import load_native
from ..jit.state import (
    EXIT_BYTES,
    EXIT_DEPTH,
    EXIT_FALLBACK,
    EXIT_MEMORY,
    EXIT_STACK,
    EXIT_TAPE_FULL,
    EXIT_TRAP,
    PARALLEL_MIN_ELEMENTS,
)
from ..limits import (
    LimitMonitor,
    Limits,
    default_limits,
    depth_error,
    external_limit_error,
    recent_resident_memory,
    resolve_limits,
)
from ..protocol import PackedArrays
from ..reference import admit_arguments, default_structure
from . import call_buffer, codegen, watchdog
from .call_buffer import CallBuffer, CallLayout, call_layout
from .emitter import GeneratedModule
from .fusion import FusedChain
from .layout import has_recursion
from .support import has_effects, has_only_scalars, unsupported_program
from .thread import (
    CALLER_STACK_BYTES,
    RESERVED_STACK_BYTES,
    STACK_BYTES,
    HostCallServer,
    LargeStackThread,
    RunWaiter,
    caller_stack_floor,
    run_on_thread,
)

MAX_DEPTH = 2**24
"""The maximal depth of a tag, even if the limit is higher: more does not fit on the stack."""
POLL_SECONDS = 0.02
"""Seconds between two checks of the clock, the memory and Ctrl-C."""
QUICK_SECONDS = 0.005
"""The maximal number of seconds of a quick run."""
_ROOT_KEY = int(np.uint64(ROOT.key).astype(np.int64))

# Compiling


@dataclass(slots=True)
class CompiledProgram:
    """The machine code of a program, its data at run time, and the results of its earlier runs that later ones use."""

    program: Program
    parameters: tuple[Type, ...]
    module: GeneratedModule
    entry: Callable[..., int]
    call_layout: CallLayout
    has_only_scalars: bool
    is_recursive: bool
    has_effects: bool
    is_quick: bool = False
    """Whether its last run was quick and it makes no host calls."""
    needs_large_stack: bool = False
    """Whether a run needed more stack than the calling thread has."""


_compiled_programs: OrderedDict[int, CompiledProgram | Crash] = OrderedDict()
"""Recent programs, by id: machine code, or the crash of the compiler."""
_compile_lock = module_cache.lock_across_fork(threading.RLock())
"""Held while a program is compiled, so that no other thread compiles it too."""
_MAX_PROGRAMS = 64


def compile_program(program: Program) -> CompiledProgram:
    """The machine code of a program, compiled if it is not cached in memory or on disk. Raises Usage for an unsupported
    program, Crash where its code cannot be generated or compiled."""
    compiled = _compiled_programs.get(id(program))
    if compiled is None or compiled.program is not program:
        with _compile_lock:
            compiled = _compiled_programs.get(id(program))
            if compiled is None or compiled.program is not program:
                try:
                    compiled = compile_uncached(program)
                except Crash as crash:
                    compiled = crash
                _compiled_programs[id(program)] = compiled
            while len(_compiled_programs) > _MAX_PROGRAMS:
                _compiled_programs.popitem(last=False)
    mark_used(program)
    if isinstance(compiled, Crash):
        raise compiled.with_traceback(None)
    return compiled


def mark_used(program: Program) -> None:
    """Make a program the last one to be evicted."""
    try:  # noqa: SIM105
        _compiled_programs.move_to_end(id(program))
    except KeyError:  # another thread evicted it; `suppress` takes three times as long
        pass


def compile_uncached(program: Program) -> CompiledProgram:
    """Compile a program, or load its code from disk."""
    reason = unsupported_program(program)
    if reason is not None:
        raise Usage("engine compiled does not run this program", got=reason, hint='engine="reference" runs everything')
    with show_compiling(program.entry):
        try:
            module, entry = load_entry(program)
        except Exception as error:
            from ..jit.column_faults import explain_compile_error  # numba

            nodes = (node for function in program.reachable_functions() for node in function.body.walk())
            explanation = explain_compile_error(node.op for node in nodes)
            raise explanation or compile_crash(program, error) from error
    parameters = tuple(parameter.type for parameter in program.main.body.parameters)
    return CompiledProgram(
        program,
        parameters,
        module,
        entry,
        call_layout(parameters, len(program.main.results), module.max_operands),
        has_only_scalars(program),
        has_recursion(program),
        has_effects(program),
    )


def compile_crash(program: Program, error: Exception) -> Crash:
    """The crash for generated code that does not compile, with the program attached."""
    message, *_ = [*str(error).splitlines(), ""]
    crash = Crash(
        "engine compiled cannot compile this program",
        where=program.entry,
        got=f"{type(error).__name__}: {message}",
        hint='please report it with the program; engine="fast" runs it',
    )
    crash.program = program
    with suppress(Usage):  # some programs have no text form
        crash.add_note(f"the program:\n{print_program(program)}")
    return crash


_ENTRY_ARITY = 5
"""The number of words that `entry` takes; it returns 0, or another number if memory was exhausted."""


def load_entry(program: Program) -> tuple[GeneratedModule, Callable[..., int]]:
    """Generate and load a program's code; a program on scalars loads without numba. If the code is not on disk, this
    waits for another process that compiles it."""
    module = codegen.emit_module(program)
    task = module_task(program, module)
    compile_and_wait(task)
    return module, load_native(*task)


def compile_task(program: Program) -> CompileTask:
    """The task of compiling a supported program, with the texts that `load_entry` loads."""
    return module_task(program, codegen.emit_module(program))


def module_task(program: Program, module: GeneratedModule) -> CompileTask:
    """The task of compiling a program's module."""
    text = codegen.module_text(module, has_only_scalars=has_only_scalars(program))
    return CompileTask(code_name(program), text, "entry", _ENTRY_ARITY)


def code_name(program: Program) -> str:
    """The name of a program's files on disk, which every file system and locale has."""
    return program.entry[:64] if program.entry.isidentifier() and program.entry.isascii() else "main"


def find_compiled(program: Program) -> CompiledProgram | None:
    """The machine code of a program, if it is in memory."""
    compiled = _compiled_programs.get(id(program))
    return compiled if isinstance(compiled, CompiledProgram) and compiled.program is program else None


def is_compiled(program: Program) -> bool:
    """Whether the machine code of a program is in memory."""
    return find_compiled(program) is not None


def compile_failure(program: Program) -> Crash | None:
    """The crash of an earlier attempt to compile a program, or None."""
    crash = _compiled_programs.get(id(program))
    return crash if isinstance(crash, Crash) and crash.program is program else None


# Running


def run_compiled(
    program: Program,
    graph: Graph,
    arguments: Sequence[object],
    *,
    limits: Limits | None = None,
    structure: TreeDef | None = None,
    seed: int = 0,
    world: World | None = None,
) -> Outcome | None:
    """Run a program and return its outcome, whose nodes are those of `graph`, the lowered program. Returns None if only
    a token engine can tell how the run ends: a cell was empty when it was read, or an op on cells trapped.

    The limits on firings and tokens have no effect. Raises Usage where the program is not supported, or the arguments
    do not fit.
    """
    compiled, limits = compile_program(program), resolve_limits(limits)
    admitted_arguments = admit_or_borrow(compiled, graph, arguments)
    run = run_on_caller(compiled, admitted_arguments, limits, seed) if may_run_on_caller(compiled, limits) else None
    if run is None:
        run = run_on_own_thread(compiled, admitted_arguments, limits, seed, world or World())
    buffer, error = run.buffer, run.error
    results: tuple[Value, ...] | None = None
    if error is not None:
        discard_results(compiled, buffer)
    elif buffer.exit_reason == EXIT_FALLBACK:
        return None
    elif buffer.exit_reason:
        error = limit_error(compiled, buffer, limits)
    else:
        results = take_results(compiled, buffer)
    structure = default_structure(graph) if structure is None else structure
    if error is not run.error:
        run = run._replace(error=error)
    outcome = compiled_outcome(compiled.module, graph, run, results, structure)
    buffer.recycle()
    return outcome


def run_quickly(program: Program, arguments: Sequence[Value | PackedArrays]) -> tuple[Value, ...] | None:
    """The results of a program whose last run was quick, within the default limits. The arguments must be values of the
    types of its parameters: a check takes as long as a small run. Returns None where `run_compiled` must run the
    program: it is not quick, it has effects, which need copies of the arguments, or this run did not return.

    Raises KeyboardInterrupt at Ctrl-C.
    """
    limits = default_limits()
    compiled = find_quick(program, limits)
    return None if compiled is None else run_to_results(compiled, arguments, limits)


def call_quickly(program: Program, arguments: Sequence[object]) -> tuple[Value, ...] | None:
    """As `run_quickly`, for arguments of any type; also returns None where they do not fit the program."""
    limits = default_limits()
    compiled = find_quick(program, limits)
    if compiled is None or len(arguments) != len(compiled.parameters):
        return None
    try:
        values = list(map(borrow, arguments, compiled.parameters))
    except Usage:
        return None
    return run_to_results(compiled, values, limits)


def find_quick(program: Program, limits: Limits) -> CompiledProgram | None:
    """The machine code of a program, if it may run on the calling thread and has no effects."""
    compiled = find_compiled(program)
    if compiled is None or compiled.has_effects or not may_run_on_caller(compiled, limits):
        return None
    return compiled


def run_to_results(
    compiled: CompiledProgram, arguments: Sequence[Value | PackedArrays], limits: Limits
) -> tuple[Value, ...] | None:
    """The results of a run on the calling thread; None if it did not return."""
    mark_used(compiled.program)
    run = run_on_caller(compiled, arguments, limits, 0)
    results = None if run is None else results_of(compiled, run)
    if run is not None and results is not None:
        run.buffer.recycle()
    return results


def results_of(compiled: CompiledProgram, run: FinishedRun) -> tuple[Value, ...] | None:
    """The results of a run on the calling thread; None if it did not return. Raises KeyboardInterrupt."""
    buffer = run.buffer
    if run.error is not None or buffer.exit_reason:
        discard_results(compiled, buffer)
        if isinstance(run.error, Exhausted) and run.error.limit == "interrupt":
            raise KeyboardInterrupt from run.error
        return None
    return take_results(compiled, buffer)


class RunFrame:
    """The memory of quick runs of a program one after another, whose caller writes the words of the arguments itself:
    a tenth of the time of a new buffer for each."""

    def __init__(self, compiled: CompiledProgram, borrowed_arguments: Sequence[npt.NDArray[Any]]) -> None:
        """The arguments are in, or point into, `borrowed_arguments`."""
        self._compiled = compiled
        steps = MAX_DEPTH if compiled.is_recursive else len(compiled.module.sites)
        self._depth = min(default_limits().depth, MAX_DEPTH)
        self._buffer = CallBuffer(None, compiled.call_layout, min(steps, self._depth), 0)
        self._buffer.borrowed_arguments += borrowed_arguments
        self._call_entry = entry_call(compiled, self._buffer, self._depth)

    @property
    def words(self) -> tuple[call_buffer.Words, int]:
        """The words of the buffer, and the position of the first argument."""
        return self._buffer.state, self._compiled.call_layout.arguments_begin

    def run(self) -> tuple[Value, ...] | None:
        """The results of a run; None if an engine must run the program. The frame cannot be used after that. Raises
        KeyboardInterrupt at Ctrl-C."""
        compiled, buffer, limits = self._compiled, self._buffer, default_limits()
        if find_quick(compiled.program, limits) is not compiled or min(limits.depth, MAX_DEPTH) != self._depth:
            return None
        mark_used(compiled.program)
        buffer.reset()
        buffer.set_memory_limit(limits.bytes)
        run = run_buffer_on_caller(compiled, buffer, self._call_entry, limits)
        return None if run is None else results_of(compiled, run)


def prepare_frame(program: Program, borrowed_arguments: Sequence[npt.NDArray[Any]]) -> RunFrame | None:
    """A frame for runs of a program; None if it may not run on the calling thread."""
    compiled = find_quick(program, default_limits())
    return None if compiled is None else RunFrame(compiled, borrowed_arguments)


def admit_or_borrow(compiled: CompiledProgram, graph: Graph, arguments: Sequence[object]) -> list[Value]:
    """The arguments of a run. Those of a program with effects are copies, since an effect may call a function that
    writes to them. Raises Usage where they do not fit."""
    return admit_arguments(graph, arguments, admit if compiled.has_effects else borrow)


def take_results(compiled: CompiledProgram, buffer: CallBuffer) -> tuple[Value, ...]:
    """The results of a run that returned."""
    types = compiled.program.main.results
    return tuple([buffer.take_result(index, type_) for index, type_ in enumerate(types)])


class FinishedRun(NamedTuple):
    """A finished run: its call buffer, the error that stopped it, and the message of an effect that trapped."""

    buffer: CallBuffer
    error: TagloomError | None
    trap_message: str | None = None


def begin_run(
    compiled: CompiledProgram, arguments: Sequence[Value | PackedArrays], limits: Limits, seed: int
) -> tuple[CallBuffer, Callable[[], None]]:
    """The call buffer of a new run, and the function that runs it."""
    depth = min(limits.depth, MAX_DEPTH)
    steps = depth if compiled.is_recursive else min(depth, len(compiled.module.sites))  # no site is twice in a tag
    buffer = CallBuffer(arguments, compiled.call_layout, steps, seed)
    buffer.set_memory_limit(limits.bytes)
    return buffer, entry_call(compiled, buffer, depth)


def entry_call(compiled: CompiledProgram, buffer: CallBuffer, depth: int) -> Callable[[], None]:
    """A closure that calls the generated entry and keeps its buffer alive. It raises MemoryError."""

    def call_entry() -> None:
        if compiled.entry(buffer.address, buffer.arguments_address, buffer.results_address, depth, _ROOT_KEY):
            raise MemoryError

    return call_entry


def may_run_on_caller(compiled: CompiledProgram, limits: Limits) -> bool:
    """Whether to try a run on the calling thread."""
    if not compiled.is_quick or compiled.needs_large_stack or limits.seconds is not None:
        return False
    if threading.current_thread() is not threading.main_thread() or caller_stack_floor() is None:
        return False  # the remaining stack is unknown
    return recent_resident_memory() <= limits.bytes and watchdog.ensure_started()


def run_on_caller(
    compiled: CompiledProgram, arguments: Sequence[Value | PackedArrays], limits: Limits, seed: int
) -> FinishedRun | None:
    """Run on the calling thread: switching to another thread and back takes longer than a small program. Returns None
    if the run was stopped, since it took too long or too much stack, and must start again; its results are
    discarded."""
    return run_buffer_on_caller(compiled, *begin_run(compiled, arguments, limits, seed), limits)


def run_buffer_on_caller(
    compiled: CompiledProgram, buffer: CallBuffer, call_entry: Callable[[], None], limits: Limits
) -> FinishedRun | None:
    """`run_on_caller`, with a buffer that has the arguments."""
    floor = (caller_stack_floor() or 0) + RESERVED_STACK_BYTES
    buffer.set_stack_limit(CALLER_STACK_BYTES, floor)
    with tape_arena(compiled, buffer, limits):
        attach_thread_pool(compiled, buffer)
        try:
            watchdog.call_watched(buffer, call_entry)
        except KeyboardInterrupt:  # delivered once machine code has returned
            return FinishedRun(buffer, external_limit_error("interrupt", limits))
        except MemoryError:
            if not buffer.is_stop_requested:
                return FinishedRun(buffer, memory_error(compiled))
        if buffer.wants_thread_pool:
            thread_pool.start_pool_async()
    compiled.is_quick = not buffer.is_stop_requested
    is_out_of_stack = compiled.is_quick and buffer.exit_reason == EXIT_STACK
    compiled.needs_large_stack = is_out_of_stack and buffer.stack_floor != floor  # else the caller was deep
    if compiled.is_quick and not is_out_of_stack:
        return FinishedRun(buffer, None)
    discard_results(compiled, buffer)
    return None


def run_on_own_thread(
    compiled: CompiledProgram, arguments: Sequence[Value], limits: Limits, seed: int, world: World
) -> FinishedRun:
    """Run on a thread with a large stack until the run ends, a limit is exceeded, or Ctrl-C."""
    buffer, call_entry = begin_run(compiled, arguments, limits, seed)
    waiter = (
        HostCallServer(compiled.module.trap_sites, buffer, world) if compiled.module.has_host_calls else RunWaiter()
    )
    failures: list[BaseException] = []

    def guarded_entry() -> None:
        try:
            call_entry()
        except BaseException as error:
            failures.append(error)
        finally:
            waiter.notify_finished()

    with tape_arena(compiled, buffer, limits):
        attach_thread_pool(compiled, buffer)
        begin = time.monotonic()
        with interrupt_between_steps() as interrupt:
            monitor = LimitMonitor(limits.seconds, limits.bytes, interrupt)
            # 0: measure memory again
            limit = monitor.exceeded_limit(0 if recent_resident_memory() > limits.bytes else 1, None)
            if limit is None:
                with run_on_thread(buffer, guarded_entry, waiter, recurs=compiled.is_recursive) as thread:
                    limit = wait_for_end(thread, buffer, monitor, waiter)
            compiled.is_quick = not compiled.module.has_host_calls and time.monotonic() - begin < QUICK_SECONDS
            if isinstance(waiter.op_error, Usage):  # it names the op, and its column that is broken
                message = f"compiled code failed: {waiter.op_error.message}"
                raise Crash(message, where=compiled.program.entry) from waiter.op_error.__cause__
            failures += [waiter.op_error] if waiter.op_error is not None else []
            if failures and not isinstance(failures[0], MemoryError):
                raise Crash("compiled code failed", where=compiled.program.entry) from failures[0]
            is_out_of_memory = bool(failures)
            failures.clear()  # its frames refer to the arguments and to this frame
            if interrupt.acknowledge():
                return FinishedRun(buffer, external_limit_error("interrupt", limits))
    if is_out_of_memory:
        return FinishedRun(buffer, memory_error(compiled))
    return FinishedRun(buffer, None if limit is None else external_limit_error(limit, limits), waiter.trap_message)


def wait_for_end(thread: LargeStackThread, buffer: CallBuffer, monitor: LimitMonitor, waiter: RunWaiter) -> str | None:
    """Wait for a run to end, and serve its host calls. Returns the limit that was exceeded, or None."""
    while not waiter.serve_until_finished(thread, POLL_SECONDS):
        limit = monitor.exceeded_limit(0, None)
        if limit is not None:
            return limit
        if buffer.wants_thread_pool:
            buffer.set_thread_pool(int(thread_pool.start_pool_async()))
    return None


_NO_ARENA = nullcontext()


def tape_arena(compiled: CompiledProgram, buffer: CallBuffer, limits: Limits) -> Any:
    """A context in which a run has memory for the records of its tapes, if the program has tapes."""
    return call_buffer.RecordArena(buffer, limits.bytes) if compiled.module.has_tapes else _NO_ARENA


def attach_thread_pool(compiled: CompiledProgram, buffer: CallBuffer) -> None:
    """Attach the thread pool to a run, if the pool is running or an argument is large; in the second case, start it.
    This comes before limits are checked, since the pool may have to be compiled."""
    if compiled.has_only_scalars:
        return
    address = thread_pool.pool_address()
    if not address:
        for argument in buffer.borrowed_arguments:  # `any` takes 0.5 us longer
            if argument.size >= PARALLEL_MIN_ELEMENTS:
                address = thread_pool.start_pool()
                break
    buffer.set_thread_pool(address)


def discard_results(compiled: CompiledProgram, buffer: CallBuffer) -> None:
    """Release the results, and the operands of a trap, of a run that was stopped or starts again."""
    buffer.discard_results(compiled.program.main.results)
    if buffer.exit_reason == EXIT_TRAP:
        for index, type_ in enumerate(compiled.module.trap_sites[buffer.trap_number].types):
            buffer.borrow_operand(index, type_)


# How a run ended


def limit_error(compiled: CompiledProgram, buffer: CallBuffer, limits: Limits) -> TagloomError | None:
    """The error for the limit at which generated code stopped, if any."""
    if buffer.exit_reason in (EXIT_TAPE_FULL, EXIT_BYTES):
        return external_limit_error("bytes", limits)
    if buffer.exit_reason == EXIT_DEPTH:
        return depth_error(limits, "compiled", MAX_DEPTH)
    if buffer.exit_reason == EXIT_STACK:
        error = Exhausted(
            f"the run exceeds the {STACK_BYTES:,} bytes of stack that engine compiled has for nested calls",
            rule="S12",
            hint='engine="fast" keeps calls on the heap',
        )
        error.limit = "stack"
        return error
    if buffer.exit_reason == EXIT_MEMORY:
        function, node, _ = compiled.module.trap_sites[buffer.trap_number]
        node = node if isinstance(node, Node) else node.nodes[-1]
        name = f"{function}.{node.name}"
        error = Exhausted(
            f"the result of node {name} does not fit into memory", rule="S12", where=node.location or name
        )
        error.limit = "bytes"
        return error
    return None


def memory_error(compiled: CompiledProgram) -> Exhausted:
    """The error for a run that does not fit into memory."""
    return Exhausted("the run does not fit into memory", rule="S12", where=compiled.program.entry)


def compiled_outcome(
    module: GeneratedModule, graph: Graph, run: FinishedRun, results: tuple[Value, ...] | None, structure: TreeDef
) -> Outcome:
    """The outcome of a run: with results, or with the error that stopped it. With neither, the run trapped."""
    if run.error is not None:
        return value_outcome(graph, structure, "compiled", None, run.error)
    if results is not None:
        return value_outcome(graph, structure, "compiled", results)
    event = build_trap_event(module, graph, run)
    return value_outcome(graph, structure, "compiled", None, build_trap(graph, event), (event,))


def build_trap_event(module: GeneratedModule, graph: Graph, run: FinishedRun) -> Event:
    """The firing that trapped, the first one in sequential order. The call buffer has its trap site; if an effect
    trapped, `run.trap_message` is the message."""
    function, node, types = module.trap_sites[run.buffer.trap_number]
    operands = tuple(run.buffer.take_operand(index, type_) for index, type_ in enumerate(types))
    if isinstance(node, FusedChain):
        node, operands = find_trapping_node(node, operands)
    tag = ROOT
    for site, iteration in run.buffer.tag_steps():
        tag = tag.child(module.sites[site], iteration)
    (number,) = (index for index, graph_node in enumerate(graph.nodes) if str(graph_node) == f"{function}.{node.name}")
    trigger: tuple[Value, ...] = (True,) * graph.nodes[number].has_trigger
    message = run.trap_message
    if message is None and node.op in OPS:
        message = trap_message(OPS[node.op], operands, node.attributes)
    elif message is None:
        message = (
            size_trap_message(*operands)  # type: ignore[arg-type]
            if node.op == "cells"
            else draw_trap_message(EFFECT_OPS[node.op], operands, node.attributes)
        )
    inputs = (*operands, *trigger)
    return Event(Token(number, 0, tag, inputs[0]), 0, inputs, (), (), message, (), False)


def find_trapping_node(chain: FusedChain, inputs: Sequence[Value]) -> tuple[Node, tuple[Value, ...]]:
    """The node of a chain that trapped, and its operands, found by evaluating the chain on its inputs."""
    values = dict(zip(chain.inputs, inputs, strict=True))
    for node in chain.nodes:
        operands = tuple(input_.value if isinstance(input_, Literal) else values[input_] for input_ in node.inputs)
        row = OPS[node.op]
        if trap_message(row, operands, node.attributes) is not None:
            return node, operands
        kernel = build_kernel(row, list(map(type_of, operands)), node.results[0].type, node.attributes)
        values[node.name] = kernel(*operands)
    raise Crash("a chain trapped in machine code, but none of its ops traps", where=chain.nodes[0].location)
