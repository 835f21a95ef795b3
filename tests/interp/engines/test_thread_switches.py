"""Threads take turns more often while a helper thread works."""

from __future__ import annotations

import sys

import pytest
from tagloom.interp.engines.thread_switches import SWITCH_SECONDS, frequent_switches


def test_the_interval_is_short_until_the_last_helper_ends() -> None:
    """The interval is short until the last helper ends, and then what it was."""
    before = sys.getswitchinterval()
    with frequent_switches():
        with frequent_switches():
            pass
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    assert sys.getswitchinterval() == pytest.approx(before)
