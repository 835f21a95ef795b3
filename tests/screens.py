"""`python tests/screens.py` makes the pictures of docs/player.md and docs/distributed.md anew, in Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from support.pictures.chromium import chromium

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
FIB = ROOT / "papers_examples" / "recursion" / "fib.py"
STEP = 120
"""A step of fib(5) at which most nodes have one token, labelled with its tag, and some tokens wait."""

STEP_ON_WORKERS = 700
"""A step of fib(9) on three workers, all of which are busy."""

LIVE_STEP, LIVE_CHOICES = 42, "40:d4;41:c40=7"
"""A step of the live page after a delivery by hand and a change."""


def main() -> None:
    with TemporaryDirectory() as folder, chromium() as tab:
        tab.do("Emulation.setDeviceMetricsOverride", width=960, height=960, deviceScaleFactor=1.5, mobile=False)
        page = Path(folder) / "run.html"
        subprocess.run([sys.executable, "-m", "tagloom", "play", FIB, "5", "-o", page], check=True, cwd=ROOT)
        for scheme, name in (("light", "player.png"), ("dark", "player_dark.png")):
            tab.prefer(reduced_motion="reduce", color_scheme=scheme)
            tab.open(page, f"#step={STEP}")
            add = tab.run("[...document.querySelectorAll('.node')].find(each => each.textContent.includes('add')).id")
            tab.click(f"#{add}")
            tab.screenshot(PICTURES / name)
        subprocess.run([sys.executable, "-m", "tagloom", "play", "--live", FIB, "5", "-o", page], check=True, cwd=ROOT)
        tab.prefer(reduced_motion="reduce", color_scheme="light")
        tab.open(page, f"#step={LIVE_STEP}&args=5&schedule=waves&choices={LIVE_CHOICES}")
        tab.screenshot(PICTURES / "player_live.png")
        log, workers = Path(folder) / "run.jsonl", ("--engine", "distributed", "--workers", "3")
        tagloom = sys.executable, "-m", "tagloom"
        program = shutil.copy(FIB, folder)  # a page of a log has sources only from the log's folder
        subprocess.run([*tagloom, "run", program, "9", *workers, "--keep", log], check=True, cwd=ROOT)
        subprocess.run([*tagloom, "play", log, "-o", page], check=True, cwd=ROOT)
        tab.open(page, f"#step={STEP_ON_WORKERS}")
        tab.screenshot(PICTURES / "player_workers.png")


if __name__ == "__main__":
    main()
