"""Fuzzing: generated programs on a backend, each failure shrunk, one finding a class.

A class is a verdict with its symptom (the signal, or the error without its digits) and the ops of the shrunk program.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ...core.program.evaluate import evaluate
from ...core.value import is_same_value
from ..engines.limits import Limits
from .backend_process import Backend
from .generate import COMPARISONS, FuzzCase, generate_case
from .judge import FAILURES, Judgement, judge, run_reference
from .probe import ProbeReport, find_wrong_token
from .protocol import ALL_CAPABILITIES, Level
from .shrink import MAX_TRIES, shrink

FUZZ_STEPS, FUZZ_LIMITS = 1_000, Limits(firings=20_000, depth=200)
"""The limits of the evaluator, in nodes, and of the machine; a program beyond them is discarded."""
MAX_FINAL_RUNS = 20
"""Some failures do not happen in every run. If the shrunk program fails in none of this many runs, the original program
is the finding."""
VARYING_WORDS = r"\([^()]*\)|[\d.]+|'[^']*'|%\S+"
"""Parts of a message that differ between failures of one class: numbers, names, and text in parentheses."""


class FuzzFinding(NamedTuple):
    """A failure of a backend, shrunk: the number of the program in its sequence, the case, its judgement, and the
    findings of probes if results are wrong."""

    number: int
    case: FuzzCase
    judgement: Judgement
    symptom: str
    """The class of the failure, before it was shrunk."""
    probes: ProbeReport | None = None

    @property
    def ops(self) -> str:
        """The ops of the shrunk program, in alphabetical order; comparisons count as one op."""
        nodes = (node for function in self.case.program.functions for node in function.body.walk())
        return " ".join(sorted({"compare" if node.op in COMPARISONS else node.op for node in nodes}))


@dataclass
class FuzzReport:
    """The result of a fuzz run: the number of programs by verdict, those that were discarded, and the findings."""

    verdicts: Counter[str] = field(default_factory=Counter)
    discarded: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    """How often the backend refused a program, by the kind and the message."""
    undecided: Counter[str] = field(default_factory=Counter)
    """How often the policy leaves a difference open, by the condition."""
    findings: list[FuzzFinding] = field(default_factory=list)
    seconds: float = 0.0
    levels: tuple[Level, ...] = ()
    """The levels of the backend."""


class FuzzOptions(NamedTuple):
    """How long to fuzz: until this many programs were tried, or the minutes are over."""

    programs: int = 500
    seed: int = 0
    minutes: float = 5.0
    jobs: int = 1
    max_tries: int = MAX_TRIES


def fuzz(
    open_backend: Callable[[], Backend],
    options: FuzzOptions,
    progress: Callable[[FuzzReport], None] = lambda report: None,
) -> FuzzReport:
    """Fuzz a backend: each job has a process of its own, and takes every `jobs`-th program of the sequence."""
    report, lock, start = FuzzReport(), threading.Lock(), time.monotonic()
    errors: list[BaseException] = []

    def work(job: int) -> None:
        try:
            with open_backend() as backend:
                backend.start()
                for number in range(job, options.programs, options.jobs):
                    if errors or time.monotonic() - start > 60 * options.minutes:
                        return
                    try_number(backend, options, number, report, lock)
                    with lock:
                        report.levels = backend.levels
                        report.seconds = time.monotonic() - start
                        progress(report)
                    if report.verdicts["not run"]:
                        return
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(job,)) for job in range(options.jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt as interrupt:
        errors.append(interrupt)
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    report.findings.sort(key=lambda finding: finding.number)
    return report


def try_number(backend: Backend, options: FuzzOptions, number: int, report: FuzzReport, lock: threading.Lock) -> None:
    """Compare one program; shrink it if it is the first of its symptom."""
    case = generate_case(options.seed, number, backend.capabilities or ALL_CAPABILITIES)
    judgement = judge_case(backend, case)
    if judgement is None:
        with lock:
            report.discarded += 1
        return
    symptom = describe_symptom(judgement)
    with lock:
        report.verdicts[judgement.verdict] += 1
        report.refusals[judgement.reason] += judgement.verdict == "refused"
        report.undecided[judgement.reason.rpartition(" meets ")[2]] += judgement.verdict == "undecided"
        is_reported = judgement.verdict == "error" and any(finding.symptom == symptom for finding in report.findings)
    if judgement.verdict not in FAILURES or is_reported:
        return

    smallest = shrink(
        case, lambda candidate: find_failing_run(backend, candidate, symptom) is not None, options.max_tries
    )
    final = find_failing_run(backend, smallest, symptom, MAX_FINAL_RUNS)
    if final is None:
        smallest, final = case, judgement
    finding = FuzzFinding(number, smallest, final, symptom, probe_case(backend, smallest, final))
    with lock:
        if not any((former.symptom, former.ops) == (finding.symptom, finding.ops) for former in report.findings):
            report.findings.append(finding)


def find_failing_run(backend: Backend, case: FuzzCase, symptom: str, runs: int = 1) -> Judgement | None:
    """The judgement on the first of this many runs of a case that shows a symptom; None if none does. If the symptom is
    a crash, each run has a new process: in a process that is used again, an earlier program may prevent a crash, or
    cause it."""
    for _ in range(runs):
        if symptom.startswith("crash"):
            backend.stop()
        judgement = judge_case(backend, case)
        if judgement is None:
            return None
        if describe_symptom(judgement) == symptom:
            return judgement
    return None


def judge_case(backend: Backend, case: FuzzCase) -> Judgement | None:
    """The judgement on a case; None if the reference does not return within the limits. The machine runs only where the
    backend differs from the evaluator, which is faster."""
    program, arguments = case
    evaluation = evaluate(program, arguments, max_steps=FUZZ_STEPS, max_depth=FUZZ_LIMITS.depth)
    if evaluation.results is None:
        return None
    answer = backend.run(program, arguments)
    if answer.kind == "returned" and all(map(is_same_value, evaluation.results, answer.results)):
        return Judgement("alike", "the results have the same bits", answer)
    outcome = run_reference(program, arguments, FUZZ_LIMITS)
    return judge(program, arguments, outcome, answer) if outcome.status == "Returned" else None


def probe_case(backend: Backend, case: FuzzCase, judgement: Judgement) -> ProbeReport | None:
    """The findings of probes for a case with wrong results; None if there are none."""
    if judgement.verdict != "different":
        return None
    program, arguments = case
    return find_wrong_token(program, arguments, judgement.answer, lambda probe: backend.run(probe, arguments))


def describe_symptom(judgement: Judgement) -> str:
    """The verdict, and for errors and crashes how they show: the cause, or the message without digits and names."""
    answer = judgement.answer
    if judgement.verdict not in ("error", "crash", "hang"):
        return judgement.verdict
    line = (answer.message.splitlines() or [""])[0]
    return f"{judgement.verdict} {answer.cause or re.sub(VARYING_WORDS, '#', line)}"[:200]
