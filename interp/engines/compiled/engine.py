"""The engine `compiled`: runs the structured program as machine code, without tokens; it returns values, and no
counts."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

from ....core.errors import Crash, Exhausted
from ....core.program.program import Program
from ....core.value import Value
from ...outcome.outcome import Outcome
from ..fast.engine import run_on_one_core
from ..interrupt import import_slowly, interrupt_at_once
from ..jit.cache import numba_unavailable
from ..jit.compiler_process import Compilation
from ..protocol import Job, PackedArrays, RunOptions
from .support import unsupported_option, unsupported_program

_RUN_MODULE = f"{__package__}.run"


class CompiledEngine:
    """Runs programs. Where only a token engine can tell how a run ends, the engine `fast` runs the program again."""

    name = "compiled"

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        if job.program is None:
            return "it runs programs, and this graph was not lowered from one"
        if options.k is not None:
            return "it does not support k-bounds, since it runs iterations one after another"
        reason = unsupported_option(options.schedule, options.until, options.keep) or numba_unavailable()
        return reason or (None if has_machine_code(job.program) else unsupported_program(job.program))

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        # not in `interrupt_at_once`: a short run reports Ctrl-C itself
        run = _run_module()
        assert job.program is not None
        run.compile_program(job.program)
        start_time = time.monotonic()
        outcome: Outcome | None = run.run_compiled(
            job.program,
            job.graph,
            arguments,
            limits=options.limits,
            structure=job.structure,
            seed=options.seed,
            world=options.world,
        )
        if outcome is None:
            with interrupt_at_once():
                return run_on_one_core(job, arguments, options, time.monotonic() - start_time)
        return outcome


@cache
def _run_module() -> Any:
    """The module `run`. Importing it imports numba."""
    return import_slowly(_RUN_MODULE)


def has_machine_code(program: Program | None) -> bool:
    """Whether the machine code of a program is in memory. Imports nothing, since that takes a third of a second."""
    run = sys.modules.get(_RUN_MODULE)
    is_compiled = getattr(run, "is_compiled", None)  # another thread may be importing the module
    return is_compiled is not None and is_compiled(program)


def run_quickly(job: Job, arguments: Sequence[Value | PackedArrays]) -> tuple[Value, ...] | None:
    """The results of a run on the calling thread, without an outcome, which takes half of the time of a small run. The
    arguments must be values of the types of the program's parameters: they are not checked. Returns None if the machine
    code of the program is not in memory, may take long, has effects, or did not return: then an engine must run the
    job. Raises KeyboardInterrupt at Ctrl-C."""
    if job.program is None or not has_machine_code(job.program):
        return None
    results: tuple[Value, ...] | None = _run_module().run_quickly(job.program, arguments)
    return results


def prepare_frame(program: Program, borrowed_arguments: Sequence[Any]) -> Any:
    """The `RunFrame` for quick runs of a program whose caller writes the words of the arguments, which are in, or point
    into, `borrowed_arguments`; None if `run_quickly` would return None."""
    return _run_module().prepare_frame(program, borrowed_arguments) if has_machine_code(program) else None


def call_quickly(program: Program, arguments: Sequence[object]) -> tuple[Value, ...] | None:
    """As `run_quickly`, for arguments of any type; also returns None where they do not fit the program."""
    call = getattr(sys.modules.get(_RUN_MODULE), "call_quickly", None)  # as in `has_machine_code`
    results: tuple[Value, ...] | None = None if call is None else call(program, arguments)
    return results


def compile_failure(program: Program | None) -> Crash | None:
    """The crash of an earlier attempt to compile a program, or None. Imports nothing."""
    run = sys.modules.get(_RUN_MODULE)
    find_failure = getattr(run, "compile_failure", None)
    return find_failure(program) if find_failure is not None and program is not None else None


def code_compilation(program: Program) -> Compilation:
    """The compilation of a supported program, not yet requested. Raises OSError where nothing can be cached."""
    return Compilation(_run_module().compile_task(program))


def load_machine_code(program: Program) -> None:
    """Load the machine code of a supported program into memory. Raises as a run of it does."""
    _run_module().compile_program(program)


def ran_out_of_stack(outcome: Outcome) -> bool:
    """Whether a run of this engine exhausted the native stack, which other engines do not need for calls."""
    return isinstance(outcome.error, Exhausted) and outcome.error.limit == "stack"


ENGINE = CompiledEngine()
