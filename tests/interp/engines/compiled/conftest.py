"""Tests compile hundreds of programs that nobody runs again: they are kept for as long as the tests run. Only mutants
run them again."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def kept_for_now(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache that goes with the tests' other files."""
    if os.environ.get("HYPOTHESIS_PROFILE") == "mutants":
        yield
        return
    before = os.environ.get("TAGLOOM_CACHE")
    os.environ["TAGLOOM_CACHE"] = str(tmp_path_factory.mktemp("compiled"))
    yield
    if before is None:
        del os.environ["TAGLOOM_CACHE"]
    else:
        os.environ["TAGLOOM_CACHE"] = before
