"""The bugs of docs/case-studies.md, each found on the smallest screen by at most five keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from onscreen import Screen, shown

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "case-studies.md"


class Hunt(NamedTuple):
    """A program with a bug: its arguments, the keys, and what the screen then shows, as patterns."""

    arguments: str
    keys: str
    evidence: tuple[str, ...]


HUNTS = {
    "power.py": Hunt("2 5", "$", (r"#1 power\(2, 5\)", r"#2 power\(4, 2\)")),
    "fibonacci.py": Hunt("10", "$ 5 F2", (r"loop\[1\]: i = 1, a = 0, b = 1", r"loop\[9\]: i = 9, a = 0, b = 1")),
    "backwards.py": Hunt(
        "6", "$ 9 F2", (r"nothing fills left\[4\]", r"loop\[4\] has not begun", r"backwards.loop is 4")
    ),
    "stairs.py": Hunt("5", "$ 5 F2", (r"ways\(1\) = 0", r"ways\(0\) = 0")),
    "catalan.py": Hunt("3", "$ 5 F2", (r"trees\(1\) = 0", r"loop\[0\]: .*ended: not left < subtract")),
    "doubled.py": Hunt("3", "$", (r"deadlock: nothing fills powers\[0\]", "answers")),
}
KEYS = {"$": "dollar_sign", "F2": "f2"}


@pytest.mark.full
@pytest.mark.parametrize("name", HUNTS)
def test_bugs_are_found_by_few_keys(name: str) -> None:
    """After the keys the screen shows what is wrong; before them it does not."""
    arguments, keys, evidence = HUNTS[name]
    assert len(keys.split()) <= 5

    async def script(screen: Screen) -> None:
        assert not all(re.search(pattern, screen.whole()) for pattern in evidence)
        await screen.press(*(KEYS.get(key, key) for key in keys.split()))
        text = screen.whole()
        assert [pattern for pattern in evidence if not re.search(pattern, text)] == [], text

    shown(script, str(ROOT / "docs" / "case_studies" / name), *arguments.split(), size=(80, 24))


def test_the_keys_of_the_page() -> None:
    """The page lists the programs with these arguments and keys."""
    rows = re.findall(r"^\| \[(\w+\.py)\]\(.*?\) `(.*?)` \| (.*?) \|", PAGE.read_text(), re.MULTILINE)
    listed = {name: (arguments, " ".join(re.findall("`(.*?)`", keys))) for name, arguments, keys in rows}
    assert listed == {name: (hunt.arguments, hunt.keys) for name, hunt in HUNTS.items()}
