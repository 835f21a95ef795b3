"""The widget of notebooks: history and page move together, in a kernel and in a browser."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from ast import literal_eval
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import tagloom as tl
from support.pictures.chromium import PATIENCE, Tab
from support.pictures.drawings import fib
from tagloom.core.errors import Usage
from tagloom.viz import notebook
from tagloom.viz.player import page
from tagloom.viz.player.page import read_asset

NOTEBOOK = """
import nbformat
from nbclient import NotebookClient

cells = [
    "import tagloom as tl\\n@tl.function\\ndef fib(n: tl.int64) -> tl.int64:\\n"
    "    return 1 if n <= 1 else fib(n - 1) + fib(n - 2)",
    "history = fib.history(3)\\nhistory.run()\\nhistory.jump(4)\\npage = tl.widget(history)\\npage",
    "page.position",
    "history.jump(9);",
    "page.position",
    "page.position = 20",
    "history.position",
    "page.position = 10**9\\nhistory.position == len(history)",
    "page.position == len(history)",
    "page.close()\\nhistory.jump(2);",
    "page.position == len(history)",
]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
for cell in notebook.cells:
    print([output["data"] for output in cell.outputs if output.output_type == "execute_result"])
"""


@pytest.mark.full
def test_history_and_page_move_together_in_a_kernel(tmp_path: Path) -> None:
    """After each cell the page has the position of the history, and a position that the page sets moves the history, at
    most to its end. A closed widget does not follow."""
    pytest.importorskip("anywidget")
    settings = {**os.environ, "IPYTHONDIR": os.devnull, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    command = [sys.executable, "-c", NOTEBOOK]
    ran = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    shown = [literal_eval(line) for line in ran.stdout.splitlines()]
    assert "application/vnd.jupyter.widget-view+json" in shown[1][0]
    texts = [cell[0]["text/plain"] if cell else None for cell in shown]
    assert texts[2:] == ["4", None, "9", None, "20", "True", "True", None, "True"]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without anywidget the error says how to install it."""
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    with pytest.raises(Usage, match="anywidget") as error:
        tl.widget(fib.history(3))
    assert isinstance(error.value, ImportError) and "tagloom[notebook]" in str(error.value)


PAGE = """<!doctype html><meta charset="utf-8"><div id="position">widget</div><div id="home"></div>
<script type="module">
const values = DATA;
const listeners = [];
window.saved = [];
window.model = {
  get: (name) => values[name],
  set: (name, value) => { values[name] = value; },
  save_changes: () => window.saved.push(values.position),
  on: (name, listener) => listeners.push([name, listener]),
  off: () => listeners.splice(0),
};
window.move = (position) => {
  values.position = position;
  listeners.forEach(([name, listener]) => name === "change:position" && listener());
};
const { default: widget } = await import("data:text/javascript," + encodeURIComponent(values.script));
window.remove = widget.render({ model: window.model, el: document.getElementById("home") });
window.received = [];
addEventListener("message", (event) => window.received.push(event.data?.tagloom?.position));
</script>"""


def test_only_histories_have_a_widget() -> None:
    """Another object is refused before anything is loaded."""
    with pytest.raises(Usage, match="a widget shows a history only") as error:
        tl.widget(fib)  # type: ignore[arg-type]
    assert isinstance(error.value, TypeError)


@pytest.mark.full
def test_a_refused_widget_moves_nothing() -> None:
    """A fork with another value has no page: its history stays where it is."""
    pytest.importorskip("anywidget")
    history = fib.history(3)
    history.run()
    history.jump(4)
    fork = history.change(0, True)
    with pytest.raises(Usage, match="an edited fork"):
        tl.widget(fork)
    assert fork.position == 4


@pytest.fixture
def stepped(tab: Tab, tmp_path: Path) -> Callable[..., Tab]:
    """A function that shows a widget at event 7 of fib(3), with its scripts edited, and waits for that."""

    def show(edit_page: tuple[str, str] = ("", ""), edit_widget: tuple[str, str] = ("", "")) -> Tab:
        history = fib.history(3)
        history.run()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(page, "read_asset", lambda name: read_asset(name).replace(*edit_page))
            html = page.page_of_history(history).html
        script = read_asset("widget.js").replace(*edit_widget)
        data = {"html": html, "title": "fib(3)", "height": 700, "position": 7, "script": script}
        target = tmp_path / "widget.html"
        target.write_text(PAGE.replace("DATA", json.dumps(data).replace("<", "\\u003c")))
        tab.open(target)
        wait_for_step(tab, 7)
        return tab

    return show


def wait_for_step(tab: Tab, number: int) -> None:
    """Wait until the page in the frame is at this number of events."""
    deadline = time.monotonic() + PATIENCE
    while f'"Step {number} of ' not in json.dumps(tab.do("DOM.getDocument", depth=-1, pierce=True)):
        assert time.monotonic() < deadline, f"the page never was at event {number}"
        time.sleep(0.05)


def positions_sent(tab: Tab) -> list[int]:
    """The positions that the page has sent, after twice the time in which it sends one."""
    return list(tab.run("new Promise((done) => setTimeout(() => done(window.received), 600))"))


@pytest.mark.full
def test_history_and_page_move_together_in_a_browser(stepped: Callable[..., Tab]) -> None:
    """The page begins at the position of the history and follows it, and sends neither position back; a step on the
    page reaches the model once; a message of another page, or without a number, moves nothing; a removed widget reports
    nothing."""
    tab = stepped()
    tab.run("window.move(20)")
    wait_for_step(tab, 20)
    assert positions_sent(tab) == []
    tab.run("document.querySelector('iframe').contentWindow.postMessage({tagloom: {position: 'x'}}, '*')")
    tab.run("postMessage({tagloom: {position: 3}}, '*')")
    tab.run("document.querySelector('iframe').focus()")
    for key in ("w", "w", "ArrowRight"):  # steps by event
        tab.key(key)
    wait_for_step(tab, 21)
    tab.wait("window.saved.length === 1")
    assert tab.run("window.saved") == [21] and tab.run("window.model.get('position')") == 21
    tab.run("window.remove()")
    tab.key("ArrowRight")
    tab.wait("window.received.at(-1) === 22")
    assert tab.run("window.saved") == [21] and tab.complaints == []


@pytest.mark.full
def test_a_page_that_sends_back_what_it_is_told_is_caught(stepped: Callable[..., Tab]) -> None:
    """A twin of the page sends the position of the history back, which may have moved on by then."""
    assert positions_sent(stepped(edit_page=(" && number !== sharedNumber", ""))) == [7]


@pytest.mark.full
def test_a_widget_that_listens_to_every_page_is_caught(stepped: Callable[..., Tab]) -> None:
    """A twin of the widget takes a position from another window than its frame."""
    tab = stepped(edit_widget=("event.source !== frame.contentWindow || ", ""))
    tab.run("postMessage({tagloom: {position: 3}}, '*')")
    tab.wait("window.saved.length === 1 && window.saved[0] === 3")


@pytest.mark.full
def test_messages_of_any_kind_leave_the_history_at_a_moment() -> None:
    """A page may send anything: what is no position is refused, and any position moves the history within its run."""
    pytest.importorskip("anywidget")
    traitlets = pytest.importorskip("traitlets")
    dice, history = random.Random(5), fib.history(3)
    history.run()
    widget = tl.widget(history)
    values = [0, -1, 2**63, 10**400, -(10**400), 1.5, float("nan"), None, "7", "x", [1], {"position": 3}, True]
    for _ in range(300):
        value = dice.choice([*values, dice.randint(-9, 3 * len(history))])
        with suppress(traitlets.TraitError):
            widget.set_state({dice.choice(["position", "height", "title", "history", "_events"]): value})
        assert widget.history is history and 0 <= history.position <= len(history)
    widget.close()
