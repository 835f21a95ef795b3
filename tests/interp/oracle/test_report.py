"""Reports of conformance: their counts, their four formats, and the comparison of two."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import pytest
import tagloom as tl
from conformance import DOCS, PROGRAMS, SEED, is_current
from support.twins.wrong_backends import AtLeastOneTrip, RightBackend
from tagloom.interp.oracle.generate import SEQUENCE_VERSION, generate_case
from tagloom.interp.oracle.judge import FAILURES
from tagloom.interp.oracle.protocol import Capabilities
from tagloom.interp.oracle.report import (
    BackendReport,
    CaseResult,
    Change,
    cell,
    compare_reports,
    constructs,
    corpus_results,
    op_results,
    op_setting,
    program_results,
    program_setting,
    report_to_badges,
    report_to_html,
    report_to_json,
    report_to_junit,
)

SVG = "{http://www.w3.org/2000/svg}"
TEXT = """
func main(n: int64) -> int64 {
  m = while_loop n {
    while(k: int64) {
      p = less k, 3
      yield p
    }
    do(k: int64) {
      j = add k, 1
      yield j
    }
  }
  return m
}
case main(1) returns 3
case main(4) returns 4
"""


def report_of(backend: Any, name: str = "mine") -> BackendReport:
    """A report of a backend on one op, a text of two cases, and twenty generated programs."""
    report = BackendReport(name, f"{name} 1.0")
    report.add("ops", "add", op_results(backend, ["logical_and"]))
    report.add("corpus", "one text", corpus_results(backend, {"trips.tl": tl.parse(TEXT)}))
    report.add("programs", "seed 1", program_results(backend, 1, 20))
    return report


def test_a_right_backend() -> None:
    """Every case of a right backend is alike, in every row of the matrix; no case is listed."""
    (data,) = report_to_json([report_of(RightBackend())], "0")["backends"]
    assert data["counts"]["ops"] == {"alike": 1} and data["counts"]["corpus"] == {"alike": 2}
    assert set(data["counts"]["programs"]) == {"alike"} and data["counts"]["programs"]["alike"] > 10
    assert data["cases"] == {"ops": {}, "corpus": {}, "programs": {}}
    assert data["groups"]["op"] == {"logical_and": {"alike": 1}} and data["groups"]["dtype"] == {"bool": {"alike": 1}}
    assert data["groups"]["construct"]["while_loop"]["alike"] > 2


def test_comparison() -> None:
    """What a new version broke is worse, what it mended is not; parts with other settings are not compared."""
    right, wrong = (report_to_json([report_of(backend())], "0") for backend in (RightBackend, AtLeastOneTrip))
    broken = list(compare_reports(right, wrong))
    assert ("mine", "corpus", "trips.tl: main(4) returns 4", "alike", "different") in broken
    assert not any("main(1)" in change.name for change in broken)
    assert all(change.is_worse and change.new_verdict in FAILURES for change in broken)
    mended = list(compare_reports(wrong, right))
    assert len(mended) == len(broken) and not any(change.is_worse for change in mended)
    assert all(change.is_better for change in mended)
    wrong["backends"][0]["settings"] = {"ops": "add", "corpus": "another text", "programs": "seed 2"}
    assert list(compare_reports(right, wrong)) == []
    wrong["backends"][0]["backend"] = "yours"
    assert list(compare_reports(right, wrong)) == []


def test_a_backend_that_no_longer_starts_is_worse() -> None:
    """`not run` is worse than any answer; to be refused is no improvement on a failure."""
    assert Change("mine", "ops", "add", "alike", "not run").is_worse
    assert not Change("mine", "ops", "add", "different", "not run").is_worse
    assert not Change("mine", "ops", "add", "different", "refused").is_better


def test_junit() -> None:
    """JUnit has a suite for each part, whose numbers are those of its cases."""
    reports = [report_of(AtLeastOneTrip())]
    reports[0].parts["ops"].append(CaseResult("pow, trap", "refused", "op: \x00", ()))
    root = ElementTree.fromstring(report_to_junit(reports))
    suites = {suite.attrib["name"]: suite for suite in root}
    assert list(suites) == ["mine 1.0 ops", "mine 1.0 corpus", "mine 1.0 programs"]
    for suite in suites.values():
        assert int(suite.attrib["tests"]) == len(suite)
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))
    assert suites["mine 1.0 corpus"].attrib["failures"] == "1"
    assert suites["mine 1.0 ops"].find("testcase/skipped").attrib["message"] == "refused: op: ?"  # type: ignore[union-attr]


def test_the_page() -> None:
    """The page has a column for each backend and escapes what they say. 100 % is all."""
    report = report_of(RightBackend(), "<b>")
    page = report_to_html(report_to_json([report, report_of(AtLeastOneTrip())], "0"))
    assert '<th scope="col">&lt;b&gt; 1.0</th>' in page and "<b> 1.0" not in page
    assert "Failures of mine 1.0" in page and "Failures of &lt;b&gt;" not in page
    assert cell({"alike": 999, "different": 1}).startswith('<td class="failing">99 % of 1,000')
    assert cell({"refused": 2}) == '<td class="refused">–<small>2 refused</small></td>'
    assert cell({}) == '<td class="refused">–</td>'


def test_the_page_says_what_ran_when() -> None:
    """The page has the date of each backend and what was tried, and the setting of programs names their sequence, so
    that a report of other programs is not compared."""
    report = report_of(RightBackend())
    report.settings["programs"] = program_setting(7, 200)
    data = report_to_json([report], "0")
    data["backends"][0]["date"] = "2026-01-31"
    page = report_to_html(data)
    assert f"<li>mine 1.0, 2026-01-31: ops: add; corpus: one text; programs: {program_setting(7, 200)}</li>" in page
    assert f"sequence {SEQUENCE_VERSION}" in page


class ScalarBackend(RightBackend):
    """Supports loops on int64 and bool."""

    capabilities: Any = Capabilities("scalars", "1", "C", ("bool", "int64"), ("add", "less"), ("while_loop",))


@pytest.mark.full
def test_programs_of_what_a_backend_supports() -> None:
    """A report tries programs of what a backend supports, as fuzzing does; the setting says so, as other programs are
    not compared. What all systems of this package support is no part of it."""
    backend: Any = ScalarBackend()
    generated = [generate_case(1, number, backend.capabilities).program for number in range(20)]
    rows = {name for program in generated for name in constructs(program)}
    report = report_of(backend)
    assert {row for result in report.parts["programs"] for axis, row in result.groups if axis == "construct"} <= rows
    assert rows <= {"straight line", "while_loop", "nested loops"}
    words = f"sequence {SEQUENCE_VERSION}, dtypes bool int64, ops add less, without cond call arrays"
    assert program_setting(1, 20, backend.capabilities) == f"seed 1, 20 programs, {words}"
    assert program_setting(1, 20, Capabilities("", "", "", constructs=("cond", "while_loop", "call", "arrays"))) == (
        program_setting(1, 20)
    )


@pytest.mark.full
def test_the_report_of_the_docs() -> None:
    """The page of the docs is that of its data, which has every system that the script names, with a date."""
    data = json.loads((DOCS / "conformance.json").read_text())
    assert [backend["backend"] for backend in data["backends"]] == list(PROGRAMS)
    assert all(backend["label"] and backend["date"] <= data["date"] for backend in data["backends"])
    assert (DOCS / "conformance.html").read_text() == report_to_html(data)
    (numpy, *_) = data["backends"]
    current = {**numpy, "settings": {"ops": op_setting(), "programs": program_setting(SEED, PROGRAMS["numpy"])}}
    assert is_current("numpy", current, numpy["label"]) and is_current("numpy", current, None)
    assert not is_current("numpy", current, "numpy 0") and not is_current("numpy", None, numpy["label"])
    assert not is_current("numpy", {**current, "settings": {"ops": op_setting()}}, numpy["label"])


def test_badges() -> None:
    """There is a badge for each backend, with its label and the counts of its verdicts; only one without failures, of a
    backend that starts, is green."""
    reports = [report_of(RightBackend(), "<b>"), report_of(AtLeastOneTrip()), report_of(RightBackend(), "yours")]
    reports[2].parts["ops"].append(CaseResult("add", "not run", "", ()))
    root = ElementTree.fromstring(report_to_badges(report_to_json(reports, "0")))
    texts, fills = (list(root.iter(f"{SVG}{name}")) for name in ("text", "rect"))
    counts = [Counter(result.verdict for results in report.parts.values() for result in results) for report in reports]
    words = [
        f"{count['alike']} alike, {sum(count[verdict] for verdict in FAILURES)} failing, {count['refused']} refused"
        for count in counts
    ]
    assert [text.text for text in texts] == ["<b> 1.0", words[0], "mine 1.0", words[1], "yours 1.0", words[2]]
    assert "0 failing" in words[0] and "0 failing" not in words[1]
    assert [rect.attrib["fill"] == "#2e7d32" for rect in fills[1::2]] == [True, False, False]


def test_constructs() -> None:
    """A program counts for every construct in it."""
    loop, fib = tl.parse(TEXT)["main"], tl.parse(FIB)["fib"]
    assert constructs(loop) == ["while_loop"] and constructs(fib) == ["call", "recursion"]  # type: ignore[arg-type]
    words = {name for number in range(40) for name in constructs(generate_case(3, number).program)}
    assert words == {"call", "cond", "nested loops", "straight line", "while_loop"}


FIB = "func fib(n: int64) -> int64 {\n  m = call fib n\n  return m\n}\n"


def test_numbers_are_json() -> None:
    """The report is JSON without NaN or infinity."""
    json.dumps(report_to_json([report_of(AtLeastOneTrip())], "0"), allow_nan=False)


@pytest.mark.parametrize("verdict", sorted(FAILURES))
def test_failures_are_marked(verdict: str) -> None:
    """Every kind of failure marks its cell."""
    assert cell({"alike": 3, verdict: 1}) == f'<td class="failing">75 % of 4<small>1 {verdict}</small></td>'
