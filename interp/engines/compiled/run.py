"""One run of the compiled engine: compile or find the program's module, run it, and report the outcome.

A run that is certainly short runs on the calling thread. So does one whose last run was short; a watchdog stops it if
it takes longer, and it starts again. Any other run gets a thread with a large stack.

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
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from ....core.errors import Crash, Exhausted, TagloomError, Usage
from ....core.frontend.trace.pytree import TreeDef
from ....core.graph.graph import Graph
from ....core.ops.effects import EFFECT_OPS, size_trap_message
from ....core.ops.op import OPS, build_kernel, trap_message
from ....core.program.program import Node, Program
from ....core.tag import ROOT
from ....core.types import type_of
from ....core.value import Literal, Value, admit, borrow
from ....core.world import World
from ...machine.event import Event, Token
from ...outcome.outcome import Outcome, build_trap, limit_exceeded, value_outcome
from ..interrupt import LimitMonitor, interrupt_between_steps, recent_resident_memory
from ..jit import cache as kept
from ..jit.cache import show_compiling
from ..jit.native import Unlinkable, load_native
from ..jit.state import EXIT_DEPTH, EXIT_FALLBACK, EXIT_MEMORY, EXIT_TAPE_FULL, EXIT_TRAP, PARALLEL_MIN_ELEMENTS
from ..jit.state import EXIT_STACK as NO_STACK
from ..protocol import Limits, resolve_limits
from ..reference import admit_arguments, default_structure, external_limit_error
from . import call_buffer as arena
from . import source, watchdog
from .call_buffer import CallBuffer, arguments_struct
from .chains import FusedChain
from .cost import LONG_WORK, CostModel, RunCost, constant_cost, elementwise_cost
from .emitter import GeneratedModule
from .layout import is_recursive
from .support import has_effects, is_of_scalars, unsupported_program
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
"""The greatest tag depth, whatever the limit: more does not fit on the stack."""
POLL_SECONDS = 0.02
"""Seconds between two checks of the clock, the memory and Ctrl-C."""


@dataclass(slots=True)
class CompiledProgram:
    """A compiled program."""

    program: Program
    module: GeneratedModule
    entry: Callable[..., int]
    is_of_scalars: bool
    is_recursive: bool
    has_effects: bool
    """Whether the program has effects."""
    has_host_calls: bool
    """Whether it calls the host: for effects, or ops without machine code."""
    argument_struct: Struct
    """The memory layout of its arguments."""
    max_operands: int
    """The most operands of a trap."""
    cost_model: CostModel | None
    """Its cost, where sizes determine that and it makes no host calls."""
    is_quick: bool = False
    """Whether its last run was quick and it makes no host calls."""
    needs_large_stack: bool = False
    """Whether a run needed more stack than the calling thread has."""


QUICK_SECONDS = 0.005
"""The most seconds of a quick run."""
_ROOT_KEY = int(np.uint64(ROOT.key).astype(np.int64))
_compiled_programs: OrderedDict[int, CompiledProgram] = OrderedDict()
_compile_lock = kept.lock_across_fork(threading.RLock())
"""Held while a program is compiled, so that threads that want the same program wait for it."""
_MAX_PROGRAMS = 64
_FALLBACK_HINT = 'other engines keep calls in memory: engine="fast"'


def compile_program(program: Program) -> CompiledProgram:
    """The machine code of a program; recent programs are cached in memory, all on disk. Raises Usage where there is
    none."""
    found = _compiled_programs.get(id(program))
    if found is None or found.program is not program:
        with _compile_lock:
            found = _compiled_programs.get(id(program))
            if found is None or found.program is not program:
                found = _compiled_programs[id(program)] = _compile_uncached(program)
            while len(_compiled_programs) > _MAX_PROGRAMS:
                _compiled_programs.popitem(last=False)
    try:  # noqa: SIM105
        _compiled_programs.move_to_end(id(program))
    except KeyError:  # another thread evicted it; `suppress` takes three times as long
        pass
    return found


def _compile_uncached(program: Program) -> CompiledProgram:
    why = unsupported_program(program)
    if why is not None:
        raise Usage("engine compiled does not run this program", got=why, hint='engine="reference" runs everything')
    with show_compiling(program.entry):
        try:
            text, entry = _load_entry(program)
        except Exception as error:
            explained = _explain_compile_error(program)
            if explained is None:
                raise
            raise explained from error
    of_scalars, acts = is_of_scalars(program), has_effects(program)
    asks = any("m.call_host(" in line for line in text.lines)
    brief = None if asks else elementwise_cost(program) or constant_cost(program)
    form = arguments_struct([parameter.type for parameter in program.main.body.parameters])
    return CompiledProgram(
        program, text, entry, of_scalars, is_recursive(program), acts, asks, form, text.max_operands, brief
    )


def _explain_compile_error(program: Program) -> Usage | None:
    from ..jit.column_faults import explain_compile_error  # numba

    functions = program.reachable_functions()
    return explain_compile_error(node.op for function in functions for node in function.body.walk())


def _load_entry(program: Program) -> tuple[GeneratedModule, Callable[..., int]]:
    """Generate and load a program's code; a program on scalars loads without numba."""
    name = program.entry if program.entry.isidentifier() else "main"
    if is_of_scalars(program):
        text = source.emit_module(program, native=True)
        with suppress(Unlinkable):
            return text, load_native(name, "\n".join(text.lines), "entry", 5)
    text = source.emit_module(program)
    return text, kept.load_module(name, source.flatten_member_access(text.lines)).entry


def is_compiled(program: Program) -> bool:
    """Whether the machine code of a program is in memory."""
    found = _compiled_programs.get(id(program))
    return found is not None and found.program is program


def is_stack_exhausted(outcome: Outcome) -> bool:
    """Whether a run ended because the native stack did, which other engines do not need."""
    return isinstance(outcome.error, Exhausted) and outcome.error.hint == _FALLBACK_HINT


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
    """Run a program and return its outcome; `graph` is its lowering, to which the nodes of an outcome belong. Returns
    None where only a token engine can tell how the run ends: a cell was empty when it was read, or an op on cells
    trapped.

    The limits on firings and tokens have no effect. Raises Usage where the program is not supported, or the arguments
    do not fit.
    """
    ready, limits = compile_program(program), resolve_limits(limits)
    admitted = admit_arguments(
        graph, arguments, admit if ready.has_effects else borrow
    )  # what effects call may write there
    words, stopped, trap = _run_to_end(ready, admitted, limits, seed, world)
    results: tuple[Value, ...] | None = None
    if stopped is not None:
        _discard_results(ready, words)
    elif words.exit_reason == EXIT_FALLBACK:
        return None
    elif words.exit_reason:
        stopped = _limit_error(ready, words, limits)
    else:
        results = tuple([words.take_result(at, type_) for at, type_ in enumerate(program.main.results)])
    structure = default_structure(graph) if structure is None else structure
    outcome = build_outcome(ready.module, graph, words, results, stopped, structure, trap)
    words.recycle()
    return outcome


class _FinishedRun(NamedTuple):
    """A finished run: its call buffer, why it was stopped, and why an effect trapped."""

    call_buffer: CallBuffer
    stop_error: TagloomError | None
    trap_message: str | None


def _run_to_end(
    ready: CompiledProgram, admitted: Sequence[Value], limits: Limits, seed: int, world: World | None
) -> _FinishedRun:
    """Run to the end: first on this thread if the run is likely to be quick, and again on another thread if it was
    not."""
    deepest = min(limits.depth, MAX_DEPTH)
    steps = deepest if ready.is_recursive else min(deepest, len(ready.module.sites))  # no site is twice in a tag
    for hurry in (True, False) if _may_run_on_caller(ready, limits) else (False,):
        words = CallBuffer(
            admitted, ready.argument_struct, ready.max_operands, len(ready.program.main.results), steps, seed
        )
        work = _entry_call(ready, words, deepest)
        waiter = (
            HostCallServer(ready.module.trap_sites, words, world or World()) if ready.has_host_calls else RunWaiter()
        )
        with arena.RecordArena(words, limits.bytes) if ready.module.has_tapes else nullcontext():
            if hurry:
                stopped = _run_with_watchdog(ready, words, work, limits)
            elif _fits_on_caller(ready, words.borrowed_arguments, limits):
                words.set_stack_limit(STACK_BYTES)  # its depth is bounded
                stopped = _run_on_caller(ready, words, work, limits)
            else:
                stopped = _run_on_own_thread(ready, words, work, limits, waiter)
        if stopped is not None or not hurry or not _needs_restart(ready, words):
            break
        _discard_results(ready, words)
    return _FinishedRun(words, stopped, waiter.trap_message)


def _entry_call(ready: CompiledProgram, words: CallBuffer, deepest: int) -> Callable[[], None]:
    """A closure that calls the generated entry and keeps its buffer alive."""

    def work() -> None:
        ready.entry(words.address, words.arguments_address, words.results_address, deepest, _ROOT_KEY)

    return work


def _limit_error(ready: CompiledProgram, words: CallBuffer, limits: Limits) -> TagloomError | None:
    """The error for the limit that generated code met, if any."""
    if words.exit_reason == EXIT_TAPE_FULL:
        return external_limit_error("bytes", limits)
    if words.exit_reason == EXIT_DEPTH:
        return limit_exceeded("nested calls and loops", "depth", min(limits.depth, MAX_DEPTH))
    if words.exit_reason == NO_STACK:
        error = Exhausted(
            f"the run exceeds the {STACK_BYTES:,} bytes of stack that engine compiled has for nested calls",
            rule="S12",
            hint=_FALLBACK_HINT,
        )
        error.limit = "depth"
        return error
    if words.exit_reason == EXIT_MEMORY:
        function, node, _ = ready.module.trap_sites[words.trap_number]
        node = node if isinstance(node, Node) else node.nodes[-1]
        name = f"{function}.{node.name}"
        return Exhausted(f"the result of node {name} does not fit into memory", rule="S12", where=node.location or name)
    return None


def _fits_on_caller(ready: CompiledProgram, given: Sequence[Any], limits: Limits) -> bool:
    """Whether a run is certainly short and fits into memory."""
    if ready.cost_model is None or limits.seconds is not None:
        return False
    if isinstance(ready.cost_model, RunCost) and threading.current_thread() is not threading.main_thread():
        return False  # other threads may have little stack
    work, most = ready.cost_model.cost(given)
    return work <= LONG_WORK and recent_resident_memory() + most <= limits.bytes


def _may_run_on_caller(ready: CompiledProgram, limits: Limits) -> bool:
    """Whether to try a run on the calling thread."""
    if not ready.is_quick or ready.needs_large_stack or limits.seconds is not None:
        return False
    if threading.current_thread() is not threading.main_thread() or caller_stack_floor() is None:
        return False  # the remaining stack is unknown
    return recent_resident_memory() <= limits.bytes and watchdog.ensure_started()


def _run_with_watchdog(
    ready: CompiledProgram, words: CallBuffer, work: Callable[[], None], limits: Limits
) -> TagloomError | None:
    """Run on the calling thread; a watchdog stops the run if it takes long."""
    words.set_stack_limit(CALLER_STACK_BYTES, _caller_stack_floor())
    with watchdog.watch(words):
        return _run_on_caller(ready, words, work, limits)


def _needs_restart(ready: CompiledProgram, words: CallBuffer) -> bool:
    """Whether a run on the calling thread must start again: it took too long, or too much stack. Results of a stopped
    run may be wrong."""
    is_slow = words.is_stop_requested
    is_deep = not is_slow and words.exit_reason == NO_STACK
    ready.is_quick = not is_slow
    ready.needs_large_stack = is_deep and words.stack_floor != _caller_stack_floor()  # else the caller was deep
    return is_slow or is_deep


def _discard_results(ready: CompiledProgram, words: CallBuffer) -> None:
    """Release the results and operands of a run that was stopped, or starts again."""
    words.discard_results(ready.program.main.results)
    if words.exit_reason == EXIT_TRAP:
        for at, type_ in enumerate(ready.module.trap_sites[words.trap_number][2]):
            words.borrow_operand(at, type_)


def _caller_stack_floor() -> int:
    """The lowest stack address that a run on the calling thread may use."""
    return (caller_stack_floor() or 0) + RESERVED_STACK_BYTES


def _run_on_caller(
    ready: CompiledProgram, words: CallBuffer, work: Callable[[], None], limits: Limits
) -> TagloomError | None:
    """Run on the calling thread: a switch to another thread and back takes as long as 100,000 additions."""
    _attach_thread_pool(ready, words)
    try:
        work()
    except KeyboardInterrupt:  # delivered once machine code has returned
        return external_limit_error("interrupt", limits)
    except MemoryError:
        return None if words.is_stop_requested else _memory_error(ready)
    if words.wants_thread_pool:
        _start_pool_async()
    return None


def _run_on_own_thread(
    ready: CompiledProgram, words: CallBuffer, work: Callable[[], None], limits: Limits, waiter: RunWaiter
) -> TagloomError | None:
    """Run on a thread with a large stack until the run ends, a limit is exceeded, or Ctrl-C."""
    _attach_thread_pool(ready, words)
    failed: list[BaseException] = []

    def guarded_entry() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)
        finally:
            waiter.notify_finished()

    begin = time.monotonic()
    with interrupt_between_steps() as interrupt:
        alarm = LimitMonitor(limits.seconds, limits.bytes, interrupt)
        ringing = alarm.exceeded_limit(0 if recent_resident_memory() > limits.bytes else 1, None)  # 0: measure again
        if ringing is None:
            with run_on_thread(words, guarded_entry, waiter, recurs=ready.is_recursive) as thread:
                ringing = _wait_for_end(thread, words, alarm, waiter)
        ready.is_quick = not ready.has_host_calls and time.monotonic() - begin < QUICK_SECONDS
        if isinstance(waiter.op_error, Usage):  # it names the op, and its column that is broken
            message = f"compiled code failed: {waiter.op_error.message}"
            raise Crash(message, where=ready.program.entry) from waiter.op_error.__cause__
        failed += [waiter.op_error] if waiter.op_error is not None else []
        if failed and not isinstance(failed[0], MemoryError):
            raise Crash("compiled code failed", where=ready.program.entry) from failed[0]
        is_out = bool(failed)
        failed.clear()  # its frames refer to the arguments and to this frame
        if interrupt.acknowledge():
            return external_limit_error("interrupt", limits)
    if is_out:
        return _memory_error(ready)
    return None if ringing is None else external_limit_error(ringing, limits)


def _wait_for_end(thread: LargeStackThread, words: CallBuffer, alarm: LimitMonitor, waiter: RunWaiter) -> str | None:
    """Wait for a run to end, and serve its host calls. Returns the limit that was exceeded, or None."""
    while not waiter.serve_until_finished(thread, POLL_SECONDS):
        ringing = alarm.exceeded_limit(0, None)
        if ringing is not None:
            return ringing
        if words.wants_thread_pool:
            words.set_thread_pool(_start_pool_async())
    return None


@cache
def _thread_pool_module() -> Any:
    """The thread pool's module, which runs on scalars do not import."""
    from ..jit import thread_pool as crew

    return crew


def _start_pool_async() -> int:
    """Start the thread pool in the background if it is not running."""
    return int(_thread_pool_module().start_pool_async())


def _attach_thread_pool(ready: CompiledProgram, words: CallBuffer) -> None:
    """Attach the thread pool to a run if it is running, and start it if an argument is large: before limits are
    checked, since the pool may have to be compiled."""
    if ready.is_of_scalars:
        return
    crew = _thread_pool_module()
    for each in words.borrowed_arguments:
        if each.size >= PARALLEL_MIN_ELEMENTS:
            words.set_thread_pool(crew.start_pool())
            return
    words.set_thread_pool(crew.pool_address())


def _memory_error(ready: CompiledProgram) -> Exhausted:
    return Exhausted("the run does not fit into memory", rule="S12", where=ready.program.entry)


# The outcome of a compiled run, built from its call buffer.


def build_outcome(
    text: GeneratedModule,
    graph: Graph,
    words: CallBuffer,
    results: tuple[Value, ...] | None,
    stopped: TagloomError | None,
    structure: TreeDef,
    failed: str | None,
) -> Outcome:
    """The outcome of a run: with results, or ended by `stopped`. With neither, the run trapped: the call buffer says
    where, and `failed` why, if an effect trapped."""
    if stopped is not None:
        return value_outcome(graph, structure, "compiled", None, stopped)
    if results is not None:
        return value_outcome(graph, structure, "compiled", results)
    event = _build_trap_event(text, graph, words, failed)
    return value_outcome(graph, structure, "compiled", None, build_trap(graph, event), (event,))


def _build_trap_event(text: GeneratedModule, graph: Graph, words: CallBuffer, failed: str | None) -> Event:
    """The firing that trapped: the first that a sequential evaluation meets."""
    function, node, types = text.trap_sites[words.trap_number]
    operands = tuple(words.take_operand(at, type_) for at, type_ in enumerate(types))
    if isinstance(node, FusedChain):
        node, operands = _find_trapping_node(node, operands)
    tag = ROOT
    for site, iteration in words.tag_steps():
        tag = tag.child(text.sites[site], iteration)
    (number,) = (at for at, each in enumerate(graph.nodes) if str(each) == f"{function}.{node.name}")
    trigger: tuple[Value, ...] = (True,) * graph.nodes[number].has_trigger
    inputs = (*operands, *trigger)
    message = _trap_message(node, operands) if failed is None else failed
    return Event(Token(number, 0, tag, inputs[0]), 0, inputs, (), (), message, (), False)


def _find_trapping_node(chain: FusedChain, given: Sequence[Value]) -> tuple[Node, tuple[Value, ...]]:
    """The node of a chain that trapped, and its operands, found by evaluating the chain on its inputs."""
    values = dict(zip(chain.inputs, given, strict=True))
    for node in chain.nodes:
        operands = tuple(each.value if isinstance(each, Literal) else values[each] for each in node.inputs)
        row = OPS[node.op]
        if trap_message(row, operands, node.attributes) is not None:
            return node, operands
        values[node.name] = build_kernel(row, list(map(type_of, operands)), node.results[0].type, node.attributes)(
            *operands
        )
    raise Crash("a chain of ops traps, and none of them does", where=chain.nodes[0].location)


def _trap_message(node: Node, operands: tuple[Any, ...]) -> str | None:
    if node.op in OPS:
        return trap_message(OPS[node.op], operands, node.attributes)
    undefined = size_trap_message if node.op == "cells" else EFFECT_OPS[node.op].trap_reason
    return undefined(*operands) if undefined else None
