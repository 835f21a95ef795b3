"""`tagloom simulate`: its table, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest


def test_the_table(tagloom: Any) -> None:
    """A row for each number of workers, with the published figure where there is one."""
    code, out, err = tagloom("simulate", "null", "--workers", "1,2", "--steps", "3")
    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 4)
    assert lines[0] == "null: milliseconds of a step, with 16 servers"
    assert lines[1].split() == ["workers", "backup", "median", "mean", "10", "%", "90", "%", "gain", "published"]
    assert lines[2].split()[:2] == ["1", "0"] and lines[2].split()[-1] == "1.80"
    assert 1.6 < float(lines[2].split()[2]) < 1.9 and len(lines[3].split()) == 6


def test_backup_workers(tagloom: Any) -> None:
    """A row for each number of backup workers, with the gain beside the first row."""
    out = tagloom("simulate", "backup", "--backup", "0,4", "--steps", "200").out.splitlines()
    assert out[2].split()[:2] == ["50", "0"] and out[3].split()[:2] == ["50", "4"]
    assert out[3].split()[-2:] == ["%", "1,930"] and "%" not in out[2]


def test_other_parameters_have_no_published_figures(tagloom: Any) -> None:
    """With other parameters than the paper's, its figures are left out."""
    for options in (["--servers", "4"], ["--work", "1"], ["--bytes", "1e6"], ["--straggling", "exponential:1"]):
        out = tagloom("simulate", "null", "--workers", "1", "--steps", "2", *options).out
        assert len(out.splitlines()[-1].split()) == 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["moon"], "no kind of step is called 'moon'"),
        (["--workers", "1,x"], "--workers takes integers separated by commas"),
        (["--workers", "0"], "--workers is out of range"),
        (["--backup", "-1"], "--backup takes integers"),
        (["--servers", "0"], "this training has no steps"),
        (["--steps", "0"], "--steps is out of range"),
        (["--steps", "9" * 20], "at most 1,000,000"),
        (["--bytes", "nan"], "--bytes is out of range"),
        (["--work", "inf"], "--work is out of range"),
        (["--straggling", "often"], "not a distribution of stragglers"),
        (["--workers", "100000000"], "this step is too large"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
@pytest.mark.inner(first=1)
def test_refusals(tagloom: Any, words: list[str], message: str) -> None:
    """What does not fit is refused in words, before anything is printed."""
    code, out, err = tagloom("simulate", *words)
    assert (code, out) == (2, "") and message in err
