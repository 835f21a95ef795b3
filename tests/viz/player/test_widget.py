"""The widget of notebooks: history and page move together, in a kernel and in a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest
import tagloom as tl
from support.pictures.chromium import Tab
from support.pictures.drawings import fib
from tagloom.core.errors import Usage
from tagloom.viz import notebook
from tagloom.viz.player.page import page_of_history, read_asset

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


@pytest.mark.full
def test_history_and_page_move_together_in_a_browser(tab: Tab, tmp_path: Path) -> None:
    """The page begins at the position of the history and follows it; a position on the page reaches the model once; a
    message of another page, or without a number, moves nothing; a removed widget reports nothing."""
    history = fib.history(3)
    history.run()
    data = {
        "html": page_of_history(history).html, "title": "fib(3)", "height": 700, "position": 7,
        "script": read_asset("widget.js"),
    }  # fmt: skip
    target = tmp_path / "widget.html"
    target.write_text(PAGE.replace("DATA", json.dumps(data).replace("<", "\\u003c")))
    tab.open(target)
    tab.wait("window.received && window.received.at(-1) === 7")
    assert tab.run("window.saved.length") == 0
    tab.run("window.move(20)")
    tab.wait("window.received.at(-1) === 20")
    assert tab.run("window.saved.length") == 0
    frame = "document.querySelector('iframe').contentWindow"
    tab.run(f"{frame}.postMessage({{tagloom: {{position: 'x'}}}}, '*')")
    tab.run(f"{frame}.postMessage({{tagloom: {{position: 11}}}}, '*')")
    tab.wait("window.saved.length === 1 && window.saved[0] === 11")
    assert tab.run("window.model.get('position')") == 11
    tab.run("postMessage({tagloom: {position: 3}}, '*')")
    tab.run("window.remove()")
    tab.run(f"{frame}.postMessage({{tagloom: {{position: 30}}}}, '*')")
    tab.wait("window.received.at(-1) === 30")
    assert tab.run("window.saved") == [11] and tab.complaints == []
