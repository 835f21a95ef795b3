"""The tutorial: its commands make the pictures that it shows and print what it quotes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_gallery import said
from tutorial import PAGE, PICTURES, commands, expected, run


@pytest.fixture(scope="module")
def lessons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all commands of the page have been run, in order."""
    folder = tmp_path_factory.mktemp("tutorial")
    for words, says in commands():
        ran = run(words, folder)
        assert ran.returncode == expected(words), (words, ran.stderr)
        said_all = ran.stdout + ran.stderr
        assert not says or said_all == says or (says.endswith("...\n") and said_all.startswith(says[:-4])), words
    return folder


@pytest.mark.full
def test_the_pictures(lessons: Path) -> None:
    """Each picture on the page is made by the command above it, with the texts of the one in the repository, which has
    no others."""
    shown = re.findall(r"\]\(tutorial/([\w.]+)\)", PAGE.read_text())
    results = [words[-1] for words, _ in commands() if words[-1].endswith(".svg")]
    assert shown == results and sorted(results) == sorted(path.name for path in PICTURES.iterdir())
    for name in results:
        assert said((lessons / name).read_bytes()) == said((PICTURES / name).read_bytes()), name


def test_there_are_seven_steps() -> None:
    """The tutorial has seven steps, each with a command and a picture."""
    steps = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:-1]
    assert [step.partition(".")[0] for step in steps] == list("1234567")
    assert all("```sh" in step and "](tutorial/" in step for step in steps)


def test_the_pictures_agree_with_the_text() -> None:
    """The pictures show what the text describes: tokens in flight, waiting, deferred and throttled."""
    signs = {"token": "\u25cf", "waits": "\u25cb", "tags": "fib", "deadlock": "\u25a1"}
    for name, sign in signs.items():
        assert any(sign in each for each in said((PICTURES / f"{name}.svg").read_bytes())), name
    assert any("\u2016" in each for each in said((PICTURES / "deadlock.svg").read_bytes()))
