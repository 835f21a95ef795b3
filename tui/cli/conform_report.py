"""`tagloom conform --report`: several parts on several backends, written as files."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from ...core.errors import Usage, plural
from ...core.files import path_errors, read_file, write_file
from ...interp.oracle.backend_process import Backend
from ...interp.oracle.judge import FAILURES
from ...interp.oracle.report import (
    REPORT_VERSION,
    BackendReport,
    CaseResult,
    compare_reports,
    corpus_results,
    is_report,
    op_results,
    op_setting,
    program_results,
    program_setting,
    report_to_badges,
    report_to_html,
    report_to_json,
    report_to_junit,
    started_capabilities,
)
from ..load import read_text
from .terminal import print_text


class ReportParts(NamedTuple):
    """What a report tries."""

    ops: bool
    op_names: list[str] | None
    corpus: Path | None
    programs: int
    seed: int


def write_report(
    names: Sequence[str],
    open_backend: Callable[[str], Backend],
    parts: ReportParts,
    files: Sequence[Path],
    older: Path | None,
    jobs: int,
) -> int:
    """Run the parts on each backend, on this many at a time, print their counts, write the files whenever a backend is
    through, and return the exit code."""
    for file in files:
        if file.suffix not in (".json", ".html", ".xml", ".svg"):
            raise Usage("reports have no such format", required=".json, .html, .xml or .svg", got=file.name)
        with path_errors(file, "this file cannot be written"):
            file.parent.mkdir(parents=True, exist_ok=True)
    before = None if older is None else read_report(older)
    finished: dict[str, BackendReport] = {}
    own_version = version("tagloom")  # fails early where it is not known
    is_cancelled = threading.Event()
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        futures = [pool.submit(run_parts, name, open_backend, parts, is_cancelled) for name in dict.fromkeys(names)]
        try:
            for future in as_completed(futures):
                report = future.result()
                finished[report.backend] = report
                reports = [finished[name] for name in names if name in finished]
                data = report_to_json(reports, own_version)
                write_files(reports, data, files)
        except BaseException:
            is_cancelled.set()
            raise
    verdicts = {result.verdict for report in reports for results in report.parts.values() for result in results}
    if before is None:
        return 1 if verdicts & FAILURES else 2 if "not run" in verdicts else 0
    changes = list(compare_reports(before, data))
    for change in changes:
        word = "broke" if change.is_worse else "mended" if change.is_better else "changed"
        print_text(
            f"{word:7} {change.backend} {change.part}: {change.name}: {change.old_verdict} -> {change.new_verdict}"
        )
    worse = sum(change.is_worse for change in changes)
    print_text(f"{plural(len(changes), 'verdict')} changed, {worse} for the worse")
    return 1 if worse else 0


def write_files(reports: Sequence[BackendReport], data: dict[str, Any], files: Sequence[Path]) -> None:
    """Write reports, whose JSON form is `data`, in the format of each file."""
    for file in files:
        match file.suffix:
            case ".json":
                write_file(file, (json.dumps(data, indent=1) + "\n").encode())
            case ".html":
                write_file(file, report_to_html(data).encode())
            case ".svg":
                write_file(file, report_to_badges(data).encode())
            case _:
                write_file(file, report_to_junit(reports))


def run_parts(
    name: str, open_backend: Callable[[str], Backend], parts: ReportParts, is_cancelled: threading.Event
) -> BackendReport:
    """Run the parts on a backend, until they are cancelled; if it does not start, that is the result of each of its
    cases."""
    report = BackendReport(name, name)

    def add(part: str, setting: str, results: Iterable[CaseResult]) -> None:
        counts = report.add(part, setting, takewhile(lambda result: not is_cancelled.is_set(), results))
        if backend.capabilities is not None:
            report.label = f"{backend.capabilities.name} {backend.capabilities.version}"
        words = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.most_common())
        print_text(f"{report.label}, {part}: {words}", flush=True)

    with open_backend(name) as backend:
        if parts.ops:
            add("ops", op_setting(parts.op_names), op_results(backend, parts.op_names))
        if parts.corpus is not None:
            texts = {file.name: read_text(file) for file in text_files(parts.corpus)}
            add("corpus", f"{parts.corpus.name}, {len(texts)} files", corpus_results(backend, texts))
        if parts.programs:
            add(
                "programs",
                program_setting(parts.seed, parts.programs, started_capabilities(backend)),
                program_results(backend, parts.seed, parts.programs),
            )
    return report


def text_files(folder: Path) -> list[Path]:
    """The .tl files of a folder, by name; raises Usage if there are none."""
    files = sorted(folder.glob("*.tl"))
    if not files:
        raise Usage("there are no .tl files in this folder", got=folder)
    return files


def read_report(file: Path) -> dict[str, object]:
    """A report that was written before; raises Usage if this is none."""
    try:
        data = json.loads(read_file(file, "report"))
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and data.get("report", REPORT_VERSION) != REPORT_VERSION:
        raise Usage("this report has an unknown version", required=f'"report": {REPORT_VERSION}', got=file)
    if not is_report(data):
        raise Usage("this is not a report of tagloom conform", got=file, hint="--report report.json writes one")
    return dict(data)
