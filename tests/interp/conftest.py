"""What tests of runs that somebody ends begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.observe.ctrl_c import default_ctrl_c


@pytest.fixture
def handled() -> Iterator[None]:
    """Ctrl-C is what it is by default, wherever the tests run."""
    with default_ctrl_c():
        yield
