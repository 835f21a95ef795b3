"""Fixtures for tests of runs that are interrupted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.observe.ctrl_c import default_ctrl_c


@pytest.fixture
def handled() -> Iterator[None]:
    """Ctrl-C has Python's default handler, wherever the tests run."""
    with default_ctrl_c():
        yield
