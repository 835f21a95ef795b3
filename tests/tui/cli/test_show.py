"""`tagloom show` of runs: every form, at any moment; and errors if there is nothing to show."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tagloom.interp.image.image import build_image
from tagloom.interp.image.print_image import format_image
from tagloom.tui.cli import show
from tagloom.tui.cli.show import PICTURE_FORMS, STATIC_FORMS, TRACE_FORM, LayoutProgress
from tagloom.tui.load import find_program, program_and_graph
from tagloom.viz import film

RUNS = [form for form in PICTURE_FORMS if form not in (*STATIC_FORMS, TRACE_FORM)]


@pytest.mark.full
@pytest.mark.parametrize("form", ["graph", *RUNS])
def test_every_form_of_a_run(tagloom: Any, folder: Path, form: str) -> None:
    """With arguments a program is run and drawn into the file; nothing else is printed."""
    assert tagloom("show", "fib.py:fib", "3", "--form", form, "-o", "run.svg") == (0, "", "")
    assert "<svg" in (folder / "run.svg").read_text()


@pytest.mark.full
def test_show_prints_an_image(tagloom: Any, folder: Path) -> None:
    """The image is printed; it is no picture, and has no form of a run."""
    out = tagloom("show", "fib.py:fib", "--form", "image")
    assert out == (0, format_image(build_image(program_and_graph(find_program("fib.py:fib"))[1])), "")
    for words in (["3"], ["-o", "a.svg"], ["--ascii"], ["--at", "3"]):
        refused = tagloom("show", "fib.py:fib", *words, "--form", "image")
        assert refused.code == 2 and "an image is text, without a run" in refused.err


@pytest.mark.full
def test_show_prints_segments(tagloom: Any, folder: Path) -> None:
    """fib has two segments: what its argument suffices for, and what also needs the results of both calls."""
    out = tagloom("show", "fib.py:fib", "--form", "segments")
    assert out.code == 0
    assert [line for line in out.out.splitlines() if line.startswith("segment")] == [
        "segment of fib, needs 0",
        "segment of fib, needs 0, 1, 2",
    ]
    refused = tagloom("show", "fib.py:fib", "3", "--form", "segments")
    assert refused.code == 2 and "a list of segments is text, without a run" in refused.err


def test_show_prints_partitions(tagloom: Any, folder: Path) -> None:
    """The parts of a graph are graphs; what travels between them follows, and a device is required."""
    out = tagloom("show", "fib.py:fib", "--form", "partitions", "--place", "fib.add=/job:ps/task:1")
    assert (out.code, out.err) == (0, "")
    lines = out.out.splitlines()
    assert lines[-1] == "# fib.add: /job:ps/task:1 -> /job:worker/task:0"
    part = lines.index("# /job:ps/task:1")
    assert lines[part + 2].startswith("graph fib(recv_fib_") and any("add recv_fib_" in line for line in lines[part:])
    refused = tagloom("show", "fib.py:fib", "--form", "partitions")
    assert refused.code == 2 and "--place NAME=DEVICE" in refused.err and "tl.device" in refused.err
    refused = tagloom("show", "fib.py:fib", "--form", "partitions", "--place", "fib=/task:1", "--place", "fib=/task:2")
    assert refused.code == 2 and "fib more than once" in refused.err


PLAIN = """import tagloom as tl


@tl.function
def sign(n: tl.int64) -> tl.int64:
    if n < 0:
        return -1
    return 1
"""
CODE = """
       @tl.function
    5  def sign(n: tl.int64) -> tl.int64:

    7      def if_body():
    7          return -1

    8      def else_body():
    8          return 1
    6      return ag__.if_stmt(n < 0, if_body, else_body, lambda: ())
"""


@pytest.mark.full
def test_show_prints_converted_code(tagloom: Any, folder: Path) -> None:
    """The converted code is printed after the numbers of the user's lines; a file of another kind has none."""
    (folder / "plain.py").write_text(PLAIN)
    assert tagloom("show", "plain.py:sign", "--form", "code") == (0, CODE[1:], "")
    refused = tagloom("show", "plain.py:sign", "3", "--form", "code")
    assert refused.code == 2 and "converted code is text, without a run" in refused.err
    (folder / "plain.tl").write_text("func f(x: int64) -> int64 {\n  return x\n}\n")
    refused = tagloom("show", "plain.tl:f", "--form", "code")
    assert refused.code == 2 and "only a function of Python has converted code" in refused.err


@pytest.mark.full
@pytest.mark.parametrize("form", ["graph", "unfolded", "tags", "spacetime", "profile"])
def test_at_a_moment(tagloom: Any, folder: Path, form: str) -> None:
    """--at N shows N events; the number of all events gives the picture without the option."""
    drawn = []
    for words in (["--at", "30"], ["--at", "59"], []):
        assert tagloom("show", "fib.py:main", "3", "--form", form, *words, "-o", "run.svg").code == 0
        drawn.append((folder / "run.svg").read_text())
    assert drawn[0] != drawn[1] == drawn[2]
    out = tagloom("show", "fib.py:main", "3", "--form", form, "--at", "9999", "-o", "run.svg")
    assert out.code == 2 and "the run is over before" in out.err


@pytest.mark.full
def test_several_moments(tagloom: Any, folder: Path) -> None:
    """Each moment has a file with its number, and all have the same size."""
    assert tagloom("show", "fib.py:fib", "3", "--at", "1,20,9", "-o", "f-%d.svg") == (0, "", "")
    pictures = [(folder / f"f-{number}.svg").read_text() for number in (1, 9, 20)]
    assert len({re.search('viewBox="[^"]*"', picture)[0] for picture in pictures}) == 1  # type: ignore[index]
    assert ["after 9 events" in picture for picture in pictures] == [False, True, False]
    assert tagloom("show", "fib.py:fib", "3", "--at", "7", "-o", "g-%d.svg") == (0, "", "")
    assert [path.name for path in folder.glob("g-*")] == ["g-7.svg"]


@pytest.mark.full
@pytest.mark.parametrize("suffix", ["gif", "apng"])
def test_an_animation_of_moments(tagloom: Any, folder: Path, suffix: str) -> None:
    """Moments of a range are frames of one size, each shown for the seconds that were asked for."""
    image = pytest.importorskip("PIL.Image")
    words = ("--at", "0-20:10,40", "--seconds", "0.25", "-o", f"run.{suffix}")
    assert tagloom("show", "fib.py:fib", "3", *words) == (0, "", "")
    with image.open(folder / f"run.{suffix}") as film:
        durations = []
        for number in range(film.n_frames):
            film.seek(number)
            durations.append(film.info["duration"])
    assert durations == [250] * 4


@pytest.mark.full
def test_a_document_of_moments(tagloom: Any, folder: Path) -> None:
    """Each moment is a page, whose letters are text."""
    pypdf = pytest.importorskip("pypdf")
    assert tagloom("show", "fib.py:fib", "3", "--at", "1,9", "-o", "run.pdf") == (0, "", "")
    pages = pypdf.PdfReader(folder / "run.pdf").pages
    assert len(pages) == 2 and pages[0].mediabox == pages[1].mediabox
    texts = [" ".join(page.extract_text().split()) for page in pages]
    assert ["after 9 events" in text for text in texts] == [False, True]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("3", "-o", "run.gif"), "an animation needs several moments"),
        (("-o", "run.gif"), "an animation shows moments of a run"),
        (("3", "--at", "9-1", "-o", "run.gif"), "its end is before its beginning"),
        (("3", "--at", "0-5000", "-o", "run.gif"), "more than 1,000 moments"),
        (("3", "--at", f"0-{10**17}", "-o", "run.gif"), "more than 1,000 moments"),
        (("3", "--at", f"0-{10**20}", "-o", "run.gif"), "is not a number of events"),
        (("3", "--at", "9" * 5000, "-o", "run.gif"), "is not a number of events"),
        (("3", "--at", "1,2", "-o", "run-%d.gif"), "in one file"),
    ],
)
def test_refused_animations(tagloom: Any, folder: Path, words: tuple[str, ...], message: str) -> None:
    """An animation needs a run and several moments."""
    out = tagloom("show", "fib.py:fib", *words)
    assert out.code == 2 and message in out.err.replace("\n", " ") and not list(folder.glob("run*"))


def test_a_missing_library_is_named(tagloom: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Pillow or pypdf, the command says how to install it, before it draws anything."""
    monkeypatch.setattr(film, "find_spec", lambda name: None)
    monkeypatch.setattr(show, "draw_frame", lambda *given: pytest.fail("drawn"))
    for suffix, library in (("gif", "Pillow"), ("pdf", "pypdf")):
        out = tagloom("show", "fib.py:fib", "3", "--at", "1,2", "-o", f"run.{suffix}")
        assert out.code == 2 and library in out.err and "tagloom[frames]" in out.err


@pytest.mark.full
def test_a_moment_far_ahead(tagloom: Any, folder: Path) -> None:
    """The fast machine runs to it, beyond the limit of pictures with all events; a requested limit ends the run, with a
    message."""
    words = ("fib.py:fib", "26", "--schedule", "lifo", "--at", "3000000", "-o", "run.svg")
    assert tagloom("show", *words) == (0, "", "")
    assert "after 3,000,000 events" in (folder / "run.svg").read_text()
    out = tagloom("show", *words, "--max-firings", "1000")
    assert out.code == 2 and "a limit ends the run before" in out.err and "--at 0 to 1" in out.err


@pytest.mark.full
def test_a_log_is_a_run(tagloom: Any, folder: Path) -> None:
    """A log of events is drawn like its run."""
    assert tagloom("run", "fib.py:fib", "3", "--keep", "run.jsonl").code == 0
    for words in (["run.jsonl"], ["fib.py:fib", "3"]):
        assert tagloom("show", *words, "--form", "tags", "-o", f"{len(words)}.dot").code == 0
    assert (folder / "1.dot").read_text() == (folder / "2.dot").read_text()


@pytest.mark.full
def test_runs_that_deadlock_or_break(tagloom: Any, folder: Path) -> None:
    """A run is drawn however it ended, with its ending; an invalid graph needs --unchecked."""
    assert tagloom("show", "acts.py:chain", "10", "-o", "run.dot").code == 0
    text = (folder / "run.dot").read_text()
    assert "Deadlocked" in text and "throttled by a bound" in text and "deferred at an empty cell" in text
    assert "\u25a1 cell " in text
    assert tagloom("show", "graphs.py:race", "1", "-o", "run.dot").code == 2
    assert tagloom("show", "graphs.py:race", "1", "--unchecked", "-o", "run.dot").code == 0
    assert "Broken" in (folder / "run.dot").read_text()


def test_prints_of_the_program_go_to_stderr(tagloom: Any) -> None:
    """Prints of the program go to stderr while the run is drawn."""
    out = tagloom("show", "acts.py:told", "2", "-o", "run.dot")
    assert (out.code, out.out) == (0, "") and "i is" in out.err


@pytest.mark.full
def test_schedules_and_dark(tagloom: Any, folder: Path) -> None:
    """Options of runs apply, and --dark gives dark paper."""
    for number, words in enumerate((["--schedule", "lifo"], [], ["--dark"])):
        assert tagloom("show", "fib.py:fib", "4", "--at", "30", *words, "-o", f"{number}.dot").code == 0
    texts = [(folder / f"{number}.dot").read_text() for number in range(3)]
    assert len(set(texts)) == 3 and "bgcolor" in texts[2]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add.py", "--bogus"], "there is no option --bogus"),
        (["add.py", "3"], "add takes 2 arguments"),
        (["add.py", "3", "4"], "the picture of a run needs an output file"),
        (["add.py", "3", "4", "--form", "program", "-o", "a.svg"], "a run can only be drawn on the graph"),
        (["add.py", "3", "4", "-o", "a.tl"], "unknown picture format"),
        (["add.py", "3", "4", "--at", "-1", "-o", "a.svg"], "events are counted from 0"),
        (["add.py", "3", "4", "--form", "profile", "-o", "a.png"], "a chart can only be drawn as svg"),
        (["add.py", "3", "4", "--form", "profile", "--schedule", "lifo", "-o", "a.svg"], "waves are counted"),
        (["add.py", "3", "4", "--fold", "loop", "-o", "a.svg"], "there is no function, loop, branch or helper"),
        (["add.py", "--only", "mul", "-o", "a.svg"], "there is no function, loop, branch or helper of this name"),
        (["add.py", "3", "4", "--most", "0", "-o", "a.svg"], "a picture needs at least one box"),
        (
            ["add.py", "3", "4", "--form", "spacetime", "--only", "add", "-o", "a.svg"],
            "a chart cannot be restricted or folded",
        ),
        (["add.py", "--form", "tags", "-o", "a.svg"], "add takes 2 arguments"),
        (["add.py", "3", "4", "--at", "1,x", "-o", "a%d.svg"], "is not a number of events"),
        (["add.py", "3", "4", "--at", "1,2", "-o", "a.svg"], "several moments need a file name with a number"),
        (
            ["add.py", "3", "4", "--at", "1,2", "--form", "tags", "-o", "a%d.svg"],
            "only a picture of the graph can show",
        ),
        (["add.py", "3", "4", "--at", "1,2"], "several moments need a file name with a number\n  got: no -o\n"),
        (
            ["add.py", "3", "4", "--at", "1,2", "--ascii"],
            "several moments need a file name with a number\n  got: --ascii\n",
        ),
        (["add.py", "3", "4", "--form", "trace"], "a trace needs a .json file"),
        (["add.py", "3", "4", "--form", "trace", "-o", "a.svg"], "a trace needs a .json file"),
    ],
)
def test_wrong_requests_are_refused(tagloom: Any, words: list[str], message: str) -> None:
    """Wrong requests are refused in words, with exit code 2."""
    out = tagloom("show", *words)
    assert out.code == 2 and message in out.err and "Traceback" not in out.err


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_layout_says_so(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    """After a second a line says so, which is erased at the end; a file never gets it."""
    screen = StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stderr", screen)
    with LayoutProgress() as progress:
        progress.report(0.5)
        assert screen.getvalue() == ""
        progress.report(2.0)
    text = "\rlaying out the picture: 2 s (Ctrl-C ends it)\r\x1b[K"
    assert screen.getvalue() == (text if terminal else "")
