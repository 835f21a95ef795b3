"""`tagloom warm`: machine code compiled ahead of its first use, and kept on disk."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from ... import command_process
from ...core.errors import Usage
from ..load import Runnable, check_rules, find_program, find_programs, parameters, parse_arguments, program_and_graph
from .options import Arguments
from .terminal import print_diagnostic, print_text

if TYPE_CHECKING:
    from ...interp.engines.jit.compiler_process import CompileTask


def warm(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE[:NAME]", help="A .py, .tl, .json, .onnx, .mlir, .pb, .pbtxt or .pt2 file, and a name in it."
        ),
    ] = None,
    args: Arguments = None,
) -> None:
    """Compile machine code ahead of its first use.

    Without FILE, all token machines of the engine `fast` are compiled; they serve all programs. With FILE, the machine
    that its programs need, each program for the engine `compiled`, and its blocks, which `fast` uses in long runs. If
    the parameters of a function have no types, give NAME and ARGS; only the types of ARGS matter.

    Later processes find the code in the cache folder. The exit code is 1 if something could not be compiled.
    """
    has_handler = command_process.end_on_interrupt()  # there is nothing to report
    try:
        are_on_disk = compile_target(target, args or [])
    finally:
        if has_handler:
            command_process.restore_interrupts()
    raise typer.Exit(0 if all(are_on_disk) else 1)


def compile_target(target: str | None, words: list[str]) -> list[bool]:
    """Compile the machines and the programs, and print a line for each; whether each is on disk afterwards."""
    from ...interp.engines.fast.load import MachineVariant, machine_task  # here: other commands start without engines
    from ...interp.engines.jit.cache import numba_unavailable

    reason = numba_unavailable()
    if reason is not None:
        raise Usage("nothing can be compiled", got=reason)
    programs: dict[str, Runnable] = {}
    if target is not None:
        programs = {target: find_program(target)} if words else dict(find_programs(target))
    are_on_disk = [
        compile_and_report(f"the {variant}", machine_task(variant), "fast")
        for variant in ([MachineVariant.BASE] if programs else MachineVariant)
    ]
    return are_on_disk + [compile_program(name, subject, words) for name, subject in programs.items()]


def compile_program(name: str, subject: Runnable, words: list[str]) -> bool:
    """Compile the blocks of a graph, if it has any, and the program for `compiled`, if that supports it; print
    a line for each. Returns False if one failed."""
    from ...interp.engines.compiled.run import compile_task  # here: other commands start without the compiler
    from ...interp.engines.compiled.support import unsupported_program
    from ...interp.engines.fast.block_generation import block_program
    from ...interp.engines.fast.block_loader import block_task
    from ...interp.engines.fast.layout import DeliveryOrder
    from ...interp.image.image import cached_image

    check_rules(subject)
    untyped = [parameter for parameter, type_ in parameters(subject) if type_ is None]
    if untyped and not words:
        missing = f"the type of {untyped[0]} is not known; name the function, and give its arguments"
        print_text(f"{name:38} skipped: {missing}")
        return True
    program, graph = program_and_graph(subject, parse_arguments(subject, words) if words else None)
    has_blocks = True
    for order, schedule in ((DeliveryOrder.YOUNGEST, "lifo"), (DeliveryOrder.OLDEST, "waves")):
        blocks = block_program(cached_image(graph, {}), order)
        if blocks is not None:
            has_blocks &= compile_and_report(f"{name}: its blocks for {schedule}", block_task(blocks), "fast")
    reason = "it is a graph" if program is None else unsupported_program(program)
    if program is None or reason is not None:
        print_text(f"{name:38} skipped: compiled does not run it: {reason}")
        return has_blocks
    return compile_and_report(name, compile_task(program), "compiled") and has_blocks


def compile_and_report(subject: str, task: CompileTask, engine: str) -> bool:
    """Compile a task of an engine if its code is not on disk, and print a line; returns whether it is on disk
    afterwards. Raises Usage where nothing can be cached."""
    from ...interp.engines.jit import compiler_process
    from ...interp.engines.jit.cache import show_compiling

    began = time.monotonic()
    try:
        file = task.file()
    except OSError as error:
        raise Usage("nothing can be written into the cache folder", got=error.filename or str(error)) from None
    if file.exists():
        print_text(f"{subject:38} on disk")
        return True
    with show_compiling(subject):
        if compiler_process.is_enabled():
            compiler_process.compile_and_wait(task)
        else:
            task.compile()
    if not file.exists():
        print_diagnostic(f'{subject:38} not compiled: a run with engine="{engine}" says why')
        return False
    print_text(f"{subject:38} compiled in {time.monotonic() - began:.1f} s", flush=True)
    return True
