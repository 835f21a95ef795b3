"""`python tests/gallery.py` makes the pictures of docs/pictures.md anew, by the commands on that page."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "pictures.md"


def commands() -> list[list[str]]:
    """The commands of the page, as words after `tagloom`."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]


def main() -> None:
    for words in commands():
        print(words[-1], flush=True)
        subprocess.run([sys.executable, "-m", "tagloom", *words], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
