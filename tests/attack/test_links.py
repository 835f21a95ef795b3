"""Links to the player's pages: whatever a link says, the page shows a run, and nothing of the link becomes code."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack.surfaces import MARKUP
from support.pictures.chromium import Tab, chromium
from support.pictures.drawings import fib
from tagloom.viz.player import page
from tagloom.viz.player.live import build_live_page
from tagloom.viz.player.page import read_asset

MARK = "forged"
WORDS = (
    *MARKUP, f"<img src=x onerror={MARK}=1>", f"javascript:{MARK}=1", f"');{MARK}=1//", "__proto__", "constructor", "%",
    "%zz", "%00", "%F0%9F", "\u202e", "9" * 300, "-1", "1e999", "nan", "0x10", "7", "4", "30", "", "true", "random:7",
    "random:" + "9" * 200, "random:%", "lifo", "waves", "5:d0", "9:d1", "0:c1=9", "12:c57=x", "3:i0.0.0=5",
    "3:i9999.9999.9999999=5", "9999999:d9999999",
)  # fmt: skip
LISTENER = 'addEventListener("hashchange", ({ newURL }) => {'
"""The line of the page that takes a link."""
KEYS = ("step", "args", "schedule", "choices", "__proto__", "toString", "STEP", "")
OPEN = """(async () => {
  history.replaceState = () => {};  // the browser limits its calls
  dispatchEvent(new HashChangeEvent('hashchange', { newURL: 'file:///page.html' + %(link)s }));
  await new Promise((resolve) => setTimeout(resolve));
  if (typeof %(mark)s !== 'undefined' || document.querySelector('%(mark)s, img, [onmark]')) return 'executed';
  return document.getElementById('position').textContent ? '' : 'no position';
})()"""
"""Follows a link, and says what is wrong then."""


def hostile_link(dice: random.Random) -> str:
    """The part of an address after `#`: parts that the page knows and others, with values that are none."""
    parts = []
    for _ in range(dice.randrange(1, 6)):
        separator = dice.choice([",", ";", ""])
        value = separator.join(dice.choices(WORDS, k=dice.randrange(4)))
        parts.append(dice.choice(KEYS) + dice.choice(["=", "=", "=", "", "=="]) + value)
    link = "#" + dice.choice(["&", "&", "?", ""]).join(parts)
    if dice.random() < 0.3:
        position = dice.randrange(len(link))
        link = link[:position] + chr(dice.choice([0, 10, 34, 38, 60, 61, 0x202E, 0x1F600])) + link[position + 1 :]
    return link if dice.random() < 0.9 else link * 200


def link_problems(tab: Tab, path: Path, seed: int, count: int) -> list[str]:
    """What these links do to a page, besides showing a run within PATIENCE."""
    dice = random.Random(f"links {seed}")
    tab.complaints.clear()
    tab.requests.clear()
    tab.open(path)
    links = [hostile_link(dice) for _ in range(count)]
    problems = [(tab.run(OPEN % {"mark": MARK, "link": json.dumps(link)}), link) for link in links]
    return [*(f"{what}: {link}" for what, link in problems if what), *tab.complaints, *tab.requests]


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with chromium() as tab:
        yield tab


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A live page, and a page with a recorded run."""
    folder = tmp_path_factory.mktemp("pages")
    pages = {"live": folder / "live.html", "recorded": folder / "recorded.html"}
    build_live_page(fib.history(5).graph, [5], "waves").save(pages["live"])
    fib.run(5, keep="events").player().save(pages["recorded"])
    return pages


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["live", "recorded"])
def test_links_neither_execute_nor_hang(tab: Tab, pages: dict[str, Path], kind: str) -> None:
    """Links with fixed seeds."""
    assert link_problems(tab, pages[kind], 1, 60 if kind == "live" else 300) == []


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["live", "recorded"])
def test_new_links_neither_execute_nor_hang(tab: Tab, pages: dict[str, Path], kind: str) -> None:
    """Links with new seeds; they are printed."""
    start = time.time_ns() % 10**9
    print(f"{kind}: seeds from {start}")
    for seed in range(start, start + 40):
        assert link_problems(tab, pages[kind], seed, 50) == [], seed


@pytest.mark.full
def test_a_page_that_writes_links_as_markup_is_found(tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law fails for a page that puts its address into its text as markup."""

    def read_broken_asset(name: str) -> str:
        return read_asset(name).replace(LISTENER, f"{LISTENER} byId('call').innerHTML = newURL;")

    monkeypatch.setattr(page, "read_asset", read_broken_asset)
    fib.run(3, keep="events").player().save(tmp_path / "twin.html")
    assert any("executed" in problem for problem in link_problems(tab, tmp_path / "twin.html", 1, 60))
