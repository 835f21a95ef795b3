"""Reports of conformance: the verdict of every case on every backend, as JSON, as XML of JUnit, as a page of HTML, and
as badges. The page has a matrix of constructs, ops and dtypes by backends. Two reports are compared case by case.

JSON lists the cases that are not alike, and the counts of all. Every percentage stands beside its count and the count
of refusals.
"""

from __future__ import annotations

import datetime
import platform
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple
from xml.etree import ElementTree

from ...core import dtypes
from ...core.program.program import FunctionDef, Program, callees
from ...core.text import Document
from .backend_process import Backend
from .conform_corpus import run_corpus
from .fuzz import judge_case
from .generate import SEQUENCE_VERSION, generate_case
from .judge import FAILURES
from .protocol import ALL_CAPABILITIES, CONSTRUCTS, Capabilities
from .sweep import SWEEP_VERSION, sweep

REPORT_VERSION = 1
AXES = {"construct": "Constructs", "dtype": "Dtypes", "op": "Ops"}
"""The axes of the matrix, with their headings."""
BROKEN_VERDICTS = FAILURES | {"not run"}
"""The verdicts that show a regression of a backend."""
CELL_VERDICTS = ("different", "error", "crash", "hang", "refused", "not run", "undecided", "claimed")
"""The entries of a cell of the matrix, in order. A difference that the policy permits for an op is `claimed`."""


class CaseResult(NamedTuple):
    """The result of a case on a backend. `groups` are the rows of the matrix in which it counts, as (axis, row)."""

    name: str
    verdict: str
    reason: str
    groups: tuple[tuple[str, str], ...]


@dataclass
class BackendReport:
    """The results of all cases on a backend, by part: ops, corpus, programs."""

    backend: str
    label: str = ""
    parts: dict[str, list[CaseResult]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    """The settings of each part: the same settings give the same cases."""
    seconds: float = 0.0

    def add(self, part: str, setting: str, results: Iterable[CaseResult]) -> Counter[str]:
        """Run a part; returns its counts by verdict."""
        start = time.monotonic()
        self.settings[part] = setting
        self.parts[part] = list(results)
        self.seconds += time.monotonic() - start
        return Counter(result.verdict for result in self.parts[part])


def op_results(backend: Backend, names: list[str] | None = None) -> Iterator[CaseResult]:
    """The sweep over ops: a case for each op, dtypes and group of operands."""
    for result in sweep(backend, names):
        words = result.label.split()
        groups = [("op", words[0]), *(("dtype", word) for word in words[1:] if word in dtypes.BY_NAME)]
        reason = result.example or result.reason
        yield CaseResult(f"{result.label}, {result.group}", result.reported_verdict, reason, tuple(groups))


def corpus_results(backend: Backend, texts: Mapping[str, Document]) -> Iterator[CaseResult]:
    """The cases of texts, by the names of their files."""
    for file, document in texts.items():
        for name, program, judgement in run_corpus(backend, document):
            groups = tuple(("construct", construct) for construct in constructs(program))
            yield CaseResult(f"{file}: {name}", judgement.verdict, judgement.reason, groups)


def started_capabilities(backend: Backend) -> Capabilities:
    """The features that a backend says it supports; everything if it does not start."""
    backend.start()
    return backend.capabilities or ALL_CAPABILITIES


def program_results(backend: Backend, seed: int, count: int) -> Iterator[CaseResult]:
    """Generated programs of ops that a backend supports, without those that take the reference too long."""
    capabilities = started_capabilities(backend)
    for number in range(count):
        case = generate_case(seed, number, capabilities)
        judgement = judge_case(backend, case)
        if judgement is not None:
            groups = tuple(("construct", construct) for construct in constructs(case.program))
            yield CaseResult(f"{seed}-{number}", judgement.verdict, judgement.reason, groups)


def op_setting(names: Sequence[str] | None = None) -> str:
    """A description of a sweep over ops; the same description means the same cases, judged in the same way."""
    return f"{', '.join(names or ['all'])}, sweep {SWEEP_VERSION}"


def program_setting(seed: int, count: int, capabilities: Capabilities = ALL_CAPABILITIES) -> str:
    """A description of a part of generated programs; the same description means the same programs."""
    unsupported = tuple(name for name in CONSTRUCTS if name != "recursion" and not capabilities.supports(name))
    limits = {"dtypes": capabilities.dtypes, "ops": capabilities.ops, "without": unsupported or None}
    words = [f"{key} {' '.join(names)}" for key, names in limits.items() if names is not None]
    return ", ".join([f"seed {seed}, {count} programs, sequence {SEQUENCE_VERSION}", *words])


def constructs(program: Program) -> list[str]:
    """The constructs of a program: conds, loops, loops in loops, calls, recursion, or none of them."""
    functions = program.reachable_functions()
    names = {node.op for function in functions for node in function.body.walk()} & {"cond", "while_loop", "call"}
    if any(is_recursive(program, function) for function in functions):
        names.add("recursion")
    loops = [node for function in functions for node in function.body.walk() if node.op == "while_loop"]
    if any(inner.op == "while_loop" for loop in loops for region in loop.regions for inner in region.walk()):
        names.add("nested loops")
    return sorted(names) or ["straight line"]


def is_recursive(program: Program, function: FunctionDef) -> bool:
    """Whether a function calls itself, directly or through others."""
    return any(
        function.name == reachable_function.name
        for callee in callees(function)
        for reachable_function in program.reachable_functions(callee)
    )


def report_to_json(reports: Iterable[BackendReport], version: str) -> dict[str, Any]:
    """Reports as JSON data."""
    return {
        "report": REPORT_VERSION,
        "date": utc_date(),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, tagloom {version}",
        "backends": [backend_to_json(backend) for backend in reports],
    }


def utc_date() -> str:
    """The date, in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def backend_to_json(report: BackendReport) -> dict[str, Any]:
    """The report of a backend as JSON data: counts, and the cases that are not alike."""
    groups: dict[str, dict[str, Counter[str]]] = {axis: {} for axis in AXES}
    for results in report.parts.values():
        for result in results:
            for axis, row in result.groups:
                groups[axis].setdefault(row, Counter())[result.verdict] += 1
    return {
        "backend": report.backend,
        "label": report.label,
        "date": utc_date(),
        "seconds": round(report.seconds, 1),
        "settings": report.settings,
        "counts": {part: dict(Counter(result.verdict for result in results)) for part, results in report.parts.items()},
        "groups": {axis: {row: dict(counts) for row, counts in sorted(rows.items())} for axis, rows in groups.items()},
        "cases": {
            part: {
                result.name: [result.verdict, single_line(result.reason)]
                for result in results
                if result.verdict != "alike"
            }
            for part, results in report.parts.items()
        },
    }


def single_line(text: str) -> str:
    """The first 160 characters of a text without line breaks."""
    return " ".join(text.split())[:160]


class Change(NamedTuple):
    """A case whose verdict differs from an older report."""

    backend: str
    part: str
    name: str
    old_verdict: str
    new_verdict: str

    @property
    def is_worse(self) -> bool:
        """Whether the backend fails now or does not start, and did not before."""
        return self.new_verdict in BROKEN_VERDICTS and self.old_verdict not in BROKEN_VERDICTS

    @property
    def is_better(self) -> bool:
        """Whether a case that failed is alike now."""
        return self.old_verdict in BROKEN_VERDICTS and self.new_verdict == "alike"


def is_report(data: Any) -> bool:
    """Whether JSON data is a report, as far as a comparison reads it."""
    match data:
        case {"report": int(), "backends": [*backends]}:
            return all(map(_is_backend, backends))
    return False


def _is_backend(data: Any) -> bool:
    match data:
        case {"backend": str(), "settings": dict(settings), "cases": dict(parts)}:
            return settings.keys() == parts.keys() and all(map(_has_verdicts, parts.values()))
    return False


def _has_verdicts(cases: Any) -> bool:
    if not isinstance(cases, dict):
        return False
    return all(isinstance(case, list) and case and isinstance(case[0], str) for case in cases.values())


def compare_reports(old_report: Mapping[str, Any], new_report: Mapping[str, Any]) -> Iterator[Change]:
    """The cases whose verdicts changed, of backends and parts that both reports tried with the same settings."""
    old_backends = {backend["backend"]: backend for backend in old_report["backends"]}
    for report in new_report["backends"]:
        former = old_backends.get(report["backend"])
        if former is None:
            continue
        for part, cases in report["cases"].items():
            if former["settings"].get(part) != report["settings"][part]:
                continue
            for name in sorted({*cases, *former["cases"][part]}):
                verdicts = [document["cases"][part].get(name, ["alike"])[0] for document in (former, report)]
                if verdicts[0] != verdicts[1]:
                    yield Change(report["backend"], part, name, *verdicts)


def report_to_junit(reports: Iterable[BackendReport]) -> bytes:
    """Reports as JUnit's XML: a suite for each backend and part; refused and undecided cases are skipped."""
    root = ElementTree.Element("testsuites")
    for report in reports:
        for part, results in report.parts.items():
            counts = Counter(result.verdict for result in results)
            failures = sum(counts[verdict] for verdict in FAILURES - {"error"})
            skipped_count = counts.total() - counts["alike"] - failures - counts["error"]
            numbers = {"tests": len(results), "failures": failures, "errors": counts["error"], "skipped": skipped_count}
            attributes = {key: str(value) for key, value in numbers.items()}
            attributes["name"] = f"{report.label} {part}"
            suite = ElementTree.SubElement(root, "testsuite", attributes)
            for result in results:
                case = ElementTree.SubElement(suite, "testcase", classname=f"{report.backend}.{part}", name=result.name)
                if result.verdict == "alike":
                    continue
                kind = "failure" if result.verdict in FAILURES else "skipped"
                kind = "error" if result.verdict == "error" else kind
                message = f"{result.verdict}: {single_line(result.reason)}"
                ElementTree.SubElement(case, kind, message=replace_control_characters(message))
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def replace_control_characters(text: str) -> str:
    """A text without the control characters that XML forbids."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


BADGE_HEIGHT, LETTER_WIDTH, BADGE_PADDING = 20, 7, 8
"""Sizes of a badge in pixels. The width of the text is the sum of the widths of its letters, in any font."""
BADGE = """<g transform="translate(0 {top})">
<rect width="{label_width}" height="{height}" fill="#444"/>
<rect x="{label_width}" width="{result_width}" height="{height}" fill="{colour}"/>
<text x="{padding}" y="14" textLength="{label_length}">{label}</text>
<text x="{result_x}" y="14" textLength="{result_length}">{result}</text>
</g>
"""


def report_to_badges(report: Mapping[str, Any]) -> str:
    """A badge for each backend as SVG, one below the other: its name and version, and how many cases are alike, fail
    or are refused."""
    badges, width = [], 0
    for position, backend in enumerate(report["backends"]):
        counts = Counter[str]()
        for part_counts in backend["counts"].values():
            counts.update(part_counts)
        failures = sum(counts[verdict] for verdict in FAILURES)
        label = backend["label"]
        result = f"{counts['alike']:,} alike, {failures:,} failing, {counts['refused']:,} refused"
        lengths = [LETTER_WIDTH * len(text) for text in (label, result)]
        widths = [length + 2 * BADGE_PADDING for length in lengths]
        width = max(width, sum(widths))
        badges.append(
            BADGE.format(
                top=position * (BADGE_HEIGHT + 4),
                height=BADGE_HEIGHT,
                padding=BADGE_PADDING,
                label=escape(label),
                result=escape(result),
                label_width=widths[0],
                result_width=widths[1],
                label_length=lengths[0],
                result_length=lengths[1],
                result_x=widths[0] + BADGE_PADDING,
                colour="#b3261e" if failures or counts["not run"] else "#2e7d32",
            )
        )
    height = len(badges) * (BADGE_HEIGHT + 4)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img">\n'
        f"<title>Conformance, {escape(report['date'])}</title>\n"
        f'<g font-family="monospace" font-size="12" fill="#fff">\n{"".join(badges)}</g>\n</svg>\n'
    )


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Conformance of backends</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin-block: 1rem 2rem; }}
th, td {{ border: 1px solid #8888; padding: .25rem .5rem; text-align: right; vertical-align: top; }}
th[scope=row], caption {{ text-align: left; }}
th[scope=row] {{ position: sticky; left: 0; background: Canvas; }}
td {{ white-space: nowrap; }}
caption {{ font-weight: 600; padding-block: .5rem; }}
td.alike {{ background: #2a91; }}
td.failing {{ background: #d334; font-weight: 600; }}
td.refused {{ opacity: .65; }}
small {{ display: block; opacity: .8; font-weight: 400; }}
li {{ margin-block: .2rem; }}
</style>
<h1>Conformance of backends</h1>
<p>{date}. {system}. Each cell shows the share of the cases run that are alike, and below it how many cases the backend
refused, how many failed, and how many the policy leaves open (undecided, claimed).</p>
<ul>{backends}</ul>
{tables}
{failures}
</html>
"""


def report_to_html(report: Mapping[str, Any]) -> str:
    """A report as one page, without scripts."""
    backends = report["backends"]
    parts = {part: part for backend in backends for part in backend["counts"]}
    tables = [table("Parts", parts, backends, lambda backend: backend["counts"])]
    for axis, heading in AXES.items():
        rows = sorted({row for backend in backends for row in backend["groups"][axis]})
        if rows:
            tables.append(table(heading, rows, backends, lambda backend, axis=axis: backend["groups"][axis]))
    return PAGE.format(
        date=escape(report["date"]),
        system=escape(report["system"]),
        backends="".join(map(backend_item, backends)),
        tables="\n".join(tables),
        failures="".join(map(failure_list, backends)),
    )


def backend_item(backend: Mapping[str, Any]) -> str:
    """A backend as an item of a list: its date, and its parts with their settings."""
    settings = "; ".join(f"{part}: {setting}" for part, setting in backend["settings"].items())
    return f"<li>{escape(backend['label'])}, {escape(backend['date'])}: {escape(settings)}</li>"


def table(heading: str, rows: Iterable[str], backends: Any, counts_of: Any) -> str:
    """A table of the matrix: a row for each group, a column for each backend."""
    head = "".join(f'<th scope="col">{escape(backend["label"])}</th>' for backend in backends)
    lines = [f"<tr><td></td>{head}</tr>"]
    for row in rows:
        cells = "".join(cell(counts_of(backend).get(row, {})) for backend in backends)
        lines.append(f'<tr><th scope="row">{escape(row)}</th>{cells}</tr>')
    words = f'class="wide" role="region" aria-label="{escape(heading)}" tabindex="0"'  # keys scroll it
    return f"<div {words}><table><caption>{escape(heading)}</caption>{''.join(lines)}</table></div>"


def cell(counts: Mapping[str, int]) -> str:
    """A cell: the share of alike cases among those that were not refused.

    >>> cell({"alike": 3, "different": 1, "refused": 2})
    '<td class="failing">75 % of 4<small>1 different</small><small>2 refused</small></td>'
    """
    alike_count, refused_count = counts.get("alike", 0), counts.get("refused", 0) + counts.get("not run", 0)
    run_count = sum(counts.values()) - refused_count
    other_counts = [
        f"{counts[verdict]:,} {verdict}" for verdict in CELL_VERDICTS if verdict != "alike" and counts.get(verdict)
    ]
    all_alike = "alike" if run_count and alike_count == run_count else "refused" if not run_count else ""
    name = "failing" if FAILURES & set(counts) else all_alike
    # Rounded down: 100 % means all.
    words = f"{100 * alike_count // run_count} % of {run_count:,}" if run_count else "–"
    return f'<td class="{name}">{words}{"".join(f"<small>{note}</small>" for note in other_counts)}</td>'


def failure_list(backend: Mapping[str, Any]) -> str:
    """The failures of a backend, as a list."""
    items = [
        f"<li>{escape(part)}: {escape(name)}: <b>{escape(verdict)}</b> {escape(reason)}</li>"
        for part, cases in backend["cases"].items()
        for name, (verdict, reason) in cases.items()
        if verdict in FAILURES
    ]
    if not items:
        return ""
    return f"<h2>Failures of {escape(backend['label'])}: {len(items)}</h2><ul>{''.join(items)}</ul>"
