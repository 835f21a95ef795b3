"""`python tests/tutorial.py` makes the pictures of docs/tutorial.md anew, by the commands on that page."""

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
    """A command of the page: its words after `tagloom`, and its output if the page quotes it; a quote that ends in
    "..." is only the beginning."""

    words: list[str]
    says: str


def commands() -> list[Command]:
    """The commands of the page, in order."""
    result = re.findall(
        r"^```sh\ntagloom (.*?)\n```\n(?:\n```\n(.*?)^```$)?", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    return [Command(shlex.split(line), says) for line, says in result]


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    command = [sys.executable, "-m", "tagloom", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)


def expected(words: list[str]) -> int:
    """The exit code of a command: 1 for those that show an error."""
    return int(("--k" in words and "run" in words) or "--against" in words)


def main() -> None:
    """Make the pictures; stops before writing any if a command exits with another code than the page says."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for words, _ in commands():
            print(*words, flush=True)
            ran = run(words, folder)
            if ran.returncode != expected(words):
                sys.exit(f"it exits with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
        for picture in folder.glob("*.svg"):
            (PICTURES / picture.name).write_bytes(picture.read_bytes())


if __name__ == "__main__":
    main()
