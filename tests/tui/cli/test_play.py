"""`tagloom play`: a page from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tagloom.core.errors import Usage
from tagloom.core.world import World
from tagloom.interp.history.history import History
from tagloom.tui.cli.main import app
from tagloom.tui.run_start import RunRequest
from typer.testing import CliRunner

FIB = str(Path(__file__).resolve().parents[3] / "papers_examples" / "recursion" / "fib.py")


def play(*words: str) -> tuple[int, str, str]:
    ran = CliRunner().invoke(app, ["play", *words])
    return ran.exit_code, ran.stdout, ran.stderr


@pytest.mark.full
def test_a_page_of_a_run(tmp_path: Path) -> None:
    """A page is one file, far smaller than 2 MB, that loads nothing from elsewhere."""
    target = tmp_path / "run.html"
    assert play(FIB, "8", "-o", str(target)) == (0, f"{target}\n", "")
    html = target.read_text()
    assert len(html) < 200_000
    assert "src=" not in html and "http" not in html.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


@pytest.mark.full
def test_omitted_parts_are_reported(tmp_path: Path) -> None:
    """If the page leaves something out, stderr and the page say so."""
    target = tmp_path / "run.html"
    code, _, text = play(FIB, "8", "-o", str(target), "--from", "100", "--most", "50")
    assert code == 0 and text == "50 events are shown: 100 to 149; the run goes on\n"
    assert "50 events are shown" in target.read_text()
    code, _, text = play(FIB, "8", "-o", str(target), "--from", "700")
    assert code == 0 and text == "68 of 768 events are shown: 700 to 767\n"
    code, _, text = play(FIB, "3", "-o", str(target), "--fold", "fib")
    assert code == 0 and text == ""
    picture = target.read_text().partition("</svg>")[0]  # the data below has what unfolds
    assert ">fib</text>" in picture and "n &lt;= 1" not in picture
    code, _, text = play(FIB, "8", "-o", str(target), "--under", "main/fib")
    assert code == 0 and "those under main/fib" in text


@pytest.mark.full
@pytest.mark.parametrize(
    ("option", "limit", "message"),
    [
        ("--max-tokens", "3", "the limit of 3 on tokens"),
        ("--max-depth", "2", "the limit of 2 on"),
        ("--max-bytes", "1", "bytes"),
        ("--timeout", "0", "the limit of 0 on time"),
    ],
)
def test_a_run_that_reaches_a_limit(tmp_path: Path, option: str, limit: str, message: str) -> None:
    """A run is played up to its limit, which the page names."""
    target = tmp_path / "run.html"
    assert play(FIB, "8", option, limit, "-o", str(target))[0] == 0
    html = target.read_text()
    assert '"Exhausted"' in html and message in html[html.index('"Exhausted"') :][:300]


@pytest.mark.full
def test_other_schedules_and_a_deadlock(tmp_path: Path) -> None:
    """Runs of other schedules, and deadlocks, can be played."""
    deadlock = str(Path(FIB).parents[1] / "roots" / "bounded_deadlock.py")
    target = tmp_path / "run.html"
    assert play(deadlock, "4", "--k", "2", "--schedule", "lifo", "-o", str(target))[0] == 0
    assert '"Deadlocked"' in target.read_text()


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("words", [(), ("--under", "main/fib_1")])
def test_a_run_stops_at_the_last_event_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A page of 50 events computes few more, however long the run is; the page says that the run goes on."""
    histories: list[History] = []
    start = RunRequest.history

    def begin(self: RunRequest, world: World) -> History:
        histories.append(start(self, world))
        return histories[-1]

    monkeypatch.setattr(RunRequest, "history", begin)
    target = tmp_path / "run.html"
    code, _, text = play(FIB, "23", "-o", str(target), "--most", "50", *words)
    assert code == 0 and text.startswith("50 events are shown") and text.endswith("; the run goes on\n")
    assert len(histories[0]) == 50 if not words else 50 < len(histories[0]) < 500
    assert '"status": ""' in target.read_text() or '"status":""' in target.read_text()


@pytest.mark.full
def test_a_page_that_computes(tmp_path: Path) -> None:
    """--live writes a page with the graph and the machine, whatever the run would take; it loads nothing either."""
    target = tmp_path / "run.html"
    assert play("--live", FIB, "90", "-o", str(target)) == (0, f"{target}\n", "")
    html = target.read_text()
    assert len(html) < 250_000 and "class Machine" in html
    assert "src=" not in html and "http" not in html.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert play(FIB, "5", "-o", str(target))[0] == 0 and "class Machine" not in target.read_text()


@pytest.mark.full
@pytest.mark.parametrize("words", [(), ("--live",)], ids=["recorded", "live"])
def test_a_page_to_embed(tmp_path: Path, words: tuple[str, ...]) -> None:
    """--embed changes the form of a page and nothing else: its data and scripts are the same."""
    target, pages = tmp_path / "run.html", list[str]()
    for option in ((), ("--embed",)):
        assert play(*words, *option, FIB, "3", "-o", str(target))[0] == 0
        pages.append(target.read_text())
    whole, embedded = pages
    assert '<body class="embed">' in embedded and '<body class="embed">' not in whole
    assert embedded.replace('<body class="embed">', "<body>") == whole


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "3"), "--live takes neither --from, --under nor --schedule hand:FILE"),
        (("--under", "main/fib"), "--live takes neither"),
        (("--schedule", "sideways"), "no schedule is called"),
    ],
)
def test_options_that_do_not_go_with_live(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    """Options of recorded runs are refused, and so are unknown schedules."""
    ran = CliRunner().invoke(app, ["play", "--live", FIB, "5", *words, "-o", str(tmp_path / "run.html")])
    assert isinstance(ran.exception, Usage) and message in str(ran.exception)


def test_programs_of_arrays_have_no_live_page(tmp_path: Path) -> None:
    """A program of arrays is refused in words, and no file is written."""
    source, target = tmp_path / "f.tl", tmp_path / "run.html"
    source.write_text("func f(x: float64[3]) -> float64 {\n  y = sum x, axis=none, keepdims=false\n  return y\n}\n")
    ran = CliRunner().invoke(app, ["play", "--live", str(source), "[1.0, 2.0, 3.0]", "-o", str(target)])
    assert isinstance(ran.exception, Usage) and "computes on scalars only" in str(ran.exception)
    assert not target.exists()


def test_a_page_is_html(tmp_path: Path) -> None:
    """Browsers would show another file as text, so its name is refused before anything runs."""
    ran = CliRunner().invoke(app, ["play", FIB, "5", "-o", str(tmp_path / "run.txt")])
    assert isinstance(ran.exception, Usage) and "a page needs an HTML file" in str(ran.exception)
    assert not list(tmp_path.iterdir())
