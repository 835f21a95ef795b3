"""The garbage collector is paused only inside of its context."""

from __future__ import annotations

import gc

import pytest
from tagloom.core.collector import paused_collector


def test_the_collector_works_again_after_an_error() -> None:
    """Errors and inner contexts leave it as it was."""
    with pytest.raises(KeyboardInterrupt), paused_collector():
        with paused_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise KeyboardInterrupt
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    """The caller may have switched it off."""
    gc.disable()
    try:
        with paused_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
