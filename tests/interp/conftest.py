"""What tests of runs that somebody ends begin with."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def handled() -> Iterator[None]:
    """Ctrl-C is what it is by default, wherever the tests run."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
