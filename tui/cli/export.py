"""Programs as files of other systems: ONNX models, StableHLO text, and scripts for systems that Python programs."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import Usage
from ...core.program.program import Program
from ...core.value import Value
from ...interp.exchange.export.python_source import to_python, to_script
from ...interp.exchange.export.stablehlo import to_stablehlo
from ...interp.exchange.export.walker import Refusal
from ...interp.oracle.adapters import DIALECTS
from ...interp.oracle.judge import run_reference
from ...viz.source_lines import local_line
from ..load import all_arguments, check_rules, find_program, parse_arguments, program_and_graph
from ..run_start import RunRequest

EXPORT_SUFFIXES = ("mlir", "onnx", "py")
"""The suffixes of files that other systems read."""


def export_bytes(start: RunRequest, suffix: str, system: str) -> bytes:
    """The contents of a file that another system reads. With arguments, the types of a function without annotations are
    theirs, and a script checks the results of a run on them. Raises Usage where the system cannot say the program."""
    subject = find_program(start.target)
    check_rules(subject)
    values = parse_arguments(subject, start.words) if start.words else None
    program, _ = program_and_graph(subject, values)
    if program is None:
        raise Usage("a graph has no structured program, which other systems take", got=start.target)
    try:
        return export_program(program, suffix, system, None if values is None else all_arguments(subject, values))
    except Refusal as refusal:
        place = refusal.location
        line = "" if place is None else local_line(place).strip()
        link = "needs" if refusal.kind == "op" else "is refused:"  # a line of a model may need several ops
        reason = f"`{line}` {link} {refusal.message}" if line else refusal.message
        message = f"this program cannot be written as .{suffix}: {reason}"
        raise Usage(message, where=place or start.target, got=refusal.kind) from refusal


def export_program(program: Program, suffix: str, system: str, arguments: Sequence[Value] | None) -> bytes:
    """A program as a file of another system; raises Refusal."""
    if suffix == "mlir":
        return to_stablehlo(program).encode()
    if suffix == "onnx":
        try:
            from ...interp.exchange.export.onnx_model import to_onnx
        except ImportError as error:
            raise Usage("ONNX is not installed", hint='pip install "tagloom[onnx]"', python=ImportError) from error
        return bytes(to_onnx(program).SerializeToString())
    if system not in DIALECTS:
        raise Usage(f"no system in Python is called {system!r}", required=", ".join(DIALECTS))
    dialect = DIALECTS[system]
    if arguments is None:
        return to_python(program, dialect).encode()
    outcome = run_reference(program, arguments)
    if outcome.status != "Returned":
        raise Usage("a script checks results, and this run has none", got=outcome.status, hint="leave out ARGS")
    return to_script(program, dialect, arguments, outcome.results).encode()
