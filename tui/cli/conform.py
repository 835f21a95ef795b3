"""`tagloom conform`: a backend beside the reference, and the first difference."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from ...core.errors import Usage
from ...core.program.program import Program
from ...core.value import Value
from ...interp.oracle.adapters import backend_command, backend_names
from ...interp.oracle.backend_process import Backend, Clocks
from ...interp.oracle.judge import FAILURES, Judgement, judge, run_reference
from ..load import all_arguments, check_rules, find_program, parse_arguments, program_and_graph
from .options import Arguments
from .terminal import print_diagnostic, print_text


def conform(
    target: Annotated[str, typer.Argument(metavar="FILE[:NAME]", help="A .py, .tl or .json file, and a name in it.")],
    args: Arguments = None,
    backend: Annotated[
        str, typer.Option(help=f"{', '.join(backend_names())}, or the command of a process: './mine --fast'.")
    ] = "numpy",
    timeout: Annotated[
        float, typer.Option(help="The seconds that the backend has to start, to compile, and to run.")
    ] = 60.0,
    max_bytes: Annotated[int, typer.Option(help="End the backend's process if it uses more memory.")] = 8 * 2**30,
    as_json: Annotated[bool, typer.Option("--json", help="Print the judgement as JSON.")] = False,
) -> None:
    """Run a program on another system, and compare it with the reference.

    The exit code is 1 if the backend differs, fails, crashes or hangs, 2 if it does not start, else 0.
    """
    subject = find_program(target)
    check_rules(subject)
    values = parse_arguments(subject, args or [])
    program, _ = program_and_graph(subject, values)
    if program is None:
        raise Usage("a graph has no structured program, which backends take", got=target)
    with open_backend(backend, timeout, max_bytes) as process:
        judgement = run_case(process, program, all_arguments(subject, values))
        label = backend_label(backend, process)
    if as_json:
        print_text(json.dumps(judgement_to_json(backend, process, judgement)))
    else:
        print_text(f"{label:16} {judgement.verdict:9} {judgement.reason}")
        if judgement.required is not None:
            print_text(f"  required: {judgement.required}\n  got: {judgement.actual}")
        if judgement.verdict in ("crash", "not run") and process.error_text:
            print_diagnostic(process.error_text.rstrip())
    raise typer.Exit(exit_code(judgement))


def run_case(process: Backend, program: Program, arguments: Sequence[Value]) -> Judgement:
    """Judge one program."""
    return judge(program, arguments, run_reference(program, arguments), process.run(program, arguments))


def exit_code(judgement: Judgement) -> int:
    """1 for a backend that is wrong, 2 for one that does not run."""
    return 1 if judgement.verdict in FAILURES else 2 if judgement.verdict == "not run" else 0


def open_backend(name: str, timeout: float, max_bytes: int) -> Backend:
    """The backend of this name, or of this command. Raises Usage if there is none."""
    clocks = Clocks(timeout, timeout, timeout)
    return Backend(backend_command(name), clocks=clocks, max_bytes=max_bytes)


def backend_label(name: str, process: Backend) -> str:
    """The backend's name and version, as it says them."""
    capabilities = process.capabilities
    return name if capabilities is None else f"{capabilities.name} {capabilities.version}"


def judgement_to_json(name: str, process: Backend, judgement: Judgement) -> dict[str, object]:
    """A judgement as JSON data."""
    return {
        "backend": backend_label(name, process),
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "cause": judgement.answer.cause or None,
        "required": judgement.required,
        "actual": judgement.actual,
    }
