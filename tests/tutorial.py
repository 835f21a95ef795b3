"""`python tests/tutorial.py` makes the pictures of docs/tutorial.md anew, by the commands that stand there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
PICTURES = ROOT / "docs" / "tutorial"


class Command(NamedTuple):
    """A command of the page: its words after `tagloom`, and the beginning of what it says, where the page has it."""

    words: list[str]
    says: str


def commands() -> list[Command]:
    """The commands of the page, in their order."""
    found = re.findall(
        r"^```sh\ntagloom (.*?)\n```\n(?:\n```\n(.*?)^```$)?", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    return [Command(shlex.split(line), says) for line, says in found]


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    command = [sys.executable, "-m", "tagloom", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for words, _ in commands():
            print(*words, flush=True)
            run(words, folder)
        for picture in folder.glob("*.svg"):
            (PICTURES / picture.name).write_bytes(picture.read_bytes())


if __name__ == "__main__":
    main()
