"""The notebooks of the papers' programs run without errors, and are stored without outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDERS = sorted(
    path for path in (Path(__file__).resolve().parents[2] / "papers_examples").iterdir() if any(path.glob("*.py"))
)
RUN = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())]
assert any("image/svg+xml" in each for each in shown), "no picture is shown"
assert any("<iframe" in each.get("text/html", "") for each in shown), "no run is played"
"""


@pytest.mark.full(first=2)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_notebook_runs(folder: Path) -> None:
    """Each folder has a notebook that starts in its folder, shows a picture and plays a run."""
    notebook = folder / f"{folder.name}.ipynb"
    settings = {**os.environ, "IPYTHONDIR": os.devnull, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    command = [sys.executable, "-c", RUN, str(notebook)]
    ran = subprocess.run(command, cwd=folder, env=settings, capture_output=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_notebook_has_no_outputs(folder: Path) -> None:
    """The stored notebook has no outputs: whoever runs it creates them."""
    cells = json.loads((folder / f"{folder.name}.ipynb").read_text())["cells"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code")
