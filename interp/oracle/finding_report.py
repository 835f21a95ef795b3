"""Writing a finding of `tagloom conform --fuzz` as a folder."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ...core.errors import TagloomError
from ...core.files import write_file
from ...core.graph.lower import lower
from ...core.json.value import value_to_json
from ...core.program.evaluate import evaluate
from ...core.program.program import Program
from ...core.text import print_program
from ...core.value import Value, format_value, is_same_value
from ...core.world import World
from ..engines.reference import run_graph
from ..exchange.export.python_source import to_script
from ..exchange.export.walker import Refusal
from .adapters import DIALECTS
from .blame import LevelBlame
from .finding_folder import FINDING_FILE, PROGRAM_FILE, SCRIPT_FILE
from .fuzz import FUZZ_LIMITS, FuzzFinding
from .judge import run_reference
from .shrink import count_nodes


def write_finding(
    finding: FuzzFinding,
    folder: Path,
    backend: str,
    dialect: str | None,
    seed: int,
    referee: str | None = None,
    blame: LevelBlame | None = None,
) -> None:
    """Write a finding as a folder: the program as text, a report, and a script in the backend's own API that exits with
    1 while the backend is wrong. `referee` is the answer of a second backend, `blame` the verdicts at the backend's
    levels."""
    folder.mkdir(parents=True, exist_ok=True)
    program, arguments = finding.case
    probes = finding.probes
    outcome = run_reference(program, arguments)
    words = [format_value(value) for value in arguments]
    write_file(folder / PROGRAM_FILE, print_program(program, locations=False).encode())
    evaluation = evaluate(program, arguments)
    report = {
        "backend": backend,
        "seed": seed,
        "number": finding.number,
        "verdict": finding.judgement.verdict,
        "reason": finding.judgement.reason,
        "arguments": [value_to_json(value) for value in arguments],
        "machine": describe_results([value for value in outcome.results if value is not None]),
        "evaluator": describe_results(evaluation.results or ()),
        "backend_results": describe_results(finding.judgement.answer.results),
        "referee": referee,
        "function": program.entry,
        "words": words,
        "first_difference": first_difference(program, arguments, finding.judgement.answer.results),
        "first_wrong_token": None if probes is None or probes.first is None else probes.first.to_json(),
        "first_wrong_level": None if blame is None else blame.to_json(),
        "nodes": count_nodes(program),
        "command": shlex.join(["tagloom", "conform", f"{PROGRAM_FILE}:{program.entry}", *words, "--backend", backend]),
    }
    write_file(folder / FINDING_FILE, (json.dumps(report, indent=2) + "\n").encode())
    if dialect is not None:
        with suppress(Refusal, TagloomError):
            script = to_script(program, DIALECTS[dialect], arguments, outcome.results)
            write_file(folder / SCRIPT_FILE, script.encode())


def first_difference(program: Program, arguments: Sequence[Value], actual: Sequence[Value]) -> dict[str, object] | None:
    """Where the reference sends the first result that the backend has not: the number of events up to there, the node
    that fires and its tag. Without results of the backend, the first result; None if no result differs."""
    run = run_graph(lower(program), arguments, limits=FUZZ_LIMITS, keep="events", world=World(lambda line: None))
    for position, event in enumerate(run.events):
        for token in event.sent:
            if token.node == -1 and not (token.port < len(actual) and is_same_value(actual[token.port], token.value)):
                node = run.graph.nodes[run.graph.results[token.port]]
                return {"events": position + 1, "result": token.port, "node": node.name, "tag": str(event.token.tag)}
    return None


def describe_results(results: Sequence[Value]) -> str:
    return ", ".join(map(format_value, results))
