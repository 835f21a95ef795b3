"""A browser, and the page of a run that most tests use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.pictures.chromium import Tab, chromium
from support.pictures.drawings import fib


@pytest.fixture(scope="module")
def browser() -> Iterator[Tab]:
    with chromium() as tab:
        yield tab


@pytest.fixture
def tab(browser: Tab) -> Iterator[Tab]:
    """A tab whose page has no errors, and loads nothing from the network."""
    browser.complaints.clear()
    browser.requests.clear()
    browser.prefer(reduced_motion="reduce", color_scheme="light")
    yield browser
    assert browser.complaints == []
    assert browser.requests == []


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of fib(5), by waves."""
    target = tmp_path_factory.mktemp("pages") / "fib.html"
    fib.run(5, keep="events").player().save(target)
    return target
