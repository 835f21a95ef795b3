"""Fixtures for tests of runs that are interrupted, and of objects that are frozen in the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from support.observe.ctrl_c import default_ctrl_c
from tagloom.interp.history import segment


@pytest.fixture
def handled() -> Iterator[None]:
    """Ctrl-C has Python's default handler, wherever the tests run."""
    with default_ctrl_c():
        yield


@pytest.fixture
def unfrozen() -> None:
    """No object is frozen in the garbage collector. An app of an earlier test may have frozen itself: it is a cycle, so
    nothing frees it before a collection."""
    gc.unfreeze()
    gc.collect()
    assert not segment._freeze_owners
