"""The programs of papers_examples/autograph do what their EXPECTED and the README say, op by op and as programs."""

from __future__ import annotations

import functools
import re
import shlex
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs.papers import EXAMPLES, of_paper_anew
from tagloom.tui.cli import main as cli

FOLDER = EXAMPLES / "autograph"
FILES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "measure")
README = (FOLDER / "README.md").read_text(encoding="utf-8")
PAPERS = (EXAMPLES.parent / "docs" / "papers.md").read_text(encoding="utf-8")
RUNS = [line.split(" | ") for line in README.split("| program |")[1].split("\n\n")[0].splitlines()[2:]]
SCHEDULES = ("waves", "fifo", "lifo", "random:1")


@functools.cache
def rows() -> list[tuple[str, dict[str, Any]]]:
    return [(name, row) for name in FILES for row in of_paper_anew("autograph", name).EXPECTED]


def load(name: str) -> ModuleType:
    """A program's file as a new module, since its variables change in each run."""
    return of_paper_anew("autograph", name)


def are_close(made: Any, row: dict[str, Any]) -> bool:
    return bool(np.allclose(np.asarray(made), row["result"], rtol=row.get("within", 1e-12), atol=0.0))


@pytest.mark.inner(first=3)
@pytest.mark.parametrize(("name", "row"), rows(), ids=lambda each: each if isinstance(each, str) else each["run"][0])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_results_and_firings_are_as_expected(schedule: str, name: str, row: dict[str, Any]) -> None:
    """Under every schedule, a run has its result and its number of firings, and leaves nothing over."""
    function, *arguments = row["run"]
    out = getattr(load(name), function).run(*arguments, schedule=schedule, engine="reference")
    assert (out.status, out.residue) == ("Returned", ()) and are_close(out.value, row)
    assert out.firings == row.get("firings", out.firings)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("name", [name for name in FILES if name != "listings"])
def test_all_ways_of_running_agree(name: str) -> None:
    """Op by op and as a program, a file's benchmark computes the same."""
    module, results = load(name), dict[str, Any]()
    for way, run in module.WAYS.items():
        if name == "mnist":
            module.restart()
        results[way] = run()
    eager = results.pop("eager")
    for way, result in results.items():
        wanted = {"beam_search": 0, "lbfgs": 2, "maml": 1}.get(name)
        expected = eager if wanted is None else eager[wanted]
        assert np.allclose(np.asarray(result), np.asarray(expected), rtol=1e-9), way


def test_a_loop_costs_what_the_loop_by_hand_costs() -> None:
    """The converted loop of a recurrent network has the firings and the graph of the hand-written one."""
    module = load("dynamic_rnn")
    runs = [function.run(8, engine="reference") for function in (module.main, module.by_hand)]
    assert runs[0].firings == runs[1].firings and runs[0].stats.span == runs[1].stats.span
    assert len(module.main.graph.nodes) == len(module.by_hand.graph.nodes)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("name", ["dynamic_rnn", "seq2seq", "tree_lstm"])
def test_gradients_are_differences(name: str) -> None:
    """The gradient by a variable is the slope of the result in a random direction."""
    module = load(name)
    variable = {"dynamic_rnn": "U", "seq2seq": "OUT", "tree_lstm": "WX"}[name]
    arguments = module.EXPECTED[0]["run"][1:]
    gradient, weights = np.asarray(module.gradient(*arguments)), getattr(module, variable)
    before, way = np.asarray(weights), np.random.default_rng(2).normal(size=gradient.shape)
    values = []
    for sign in (1.0, -1.0):
        weights.assign(tl.asarray(before + sign * 1e-5 * way))
        values.append(float(module.main(*arguments)))
    assert np.sum(gradient * way) == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-5)


def test_an_error_names_the_user_s_line() -> None:
    module = load("listings")
    with pytest.raises(ZeroDivisionError, match=r"listings\.py:\d+") as caught:
        module.quotient(0)
    line = int(re.findall(r"listings\.py:(\d+)", str(caught.value))[0])
    assert (FOLDER / "listings.py").read_text().splitlines()[line - 1] == "    return 10 // n"


@pytest.mark.full
def test_beam_search_finds_what_numpy_finds() -> None:
    """The scores are those of a search that is written with NumPy."""
    module = load("beam_search")
    logits, beams, words = np.asarray(module.LOGITS), module.BEAMS, module.WORDS
    after = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    scores, last, stay = np.where(np.arange(beams) == 0, 0.0, -1e9), np.ones(beams, int), np.full(words, -1e9)
    stay[0], steps = 0.0, 0
    while not (last == 0).all():
        candidates = (scores[:, None] + np.where((last == 0)[:, None], stay, after[last])).ravel()
        chosen = np.argsort(-candidates, kind="stable")[:beams]
        scores, last, steps = candidates[chosen], chosen % words, steps + 1
    assert steps == int(module.steps(32)) and float(module.main(32)) == pytest.approx(scores[0])


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("row", [pytest.param(row, id=row[2]) for row in RUNS])
def test_the_readme_s_commands_print_its_results(
    row: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    cli.app(["run", *shlex.split(row[2].strip("` "))], standalone_mode=False)
    printed, expected = capsys.readouterr().out.splitlines()[0], row[3].strip("| ")
    assert float(printed) == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("name", FILES)
def test_every_file_has_a_docstring(name: str) -> None:
    """Each file has a docstring with its source and its command, and a row in the README's table; its claim is in
    docs/papers.md."""
    module = load(name)
    assert module.__doc__ and "Source: " in module.__doc__ and f"autograph/{name}.py" in module.__doc__
    assert isinstance(module.main, tl.Function) and f"({name}.py)" in README
    assert f"autograph/{name}.py" in PAPERS and getattr(module, "CLAIM", "") in PAPERS


@pytest.mark.full
def test_one_command_makes_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The table of docs/papers.md has the heading and the programs of the command's."""
    measure = of_paper_anew("autograph", "measure")
    monkeypatch.setattr(measure, "PROGRAMS", ("tree_prod",))
    monkeypatch.setattr(measure, "least_time", lambda way: 2.0 if way() else 1.0)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("TAGLOOM_ENGINE", "compiled")  # main would set it for the process
    measure.main()
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == measure.HEADING and "eager 2, recursion in the graph 2, S-expressions 2" in printed[2]
    assert "\n".join(measure.HEADING) in PAPERS
    for name in load("measure").PROGRAMS:
        assert f"| [{name}](../papers_examples/autograph/{name}.py) |" in PAPERS
