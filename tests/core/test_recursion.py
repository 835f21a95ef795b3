"""The recursion limit is that of the context with the highest one, in any thread."""

from __future__ import annotations

import sys
import threading

import pytest
from tagloom.core.recursion import recursion_limit


def test_a_context_that_ends_leaves_the_limit_of_another_thread() -> None:
    """Python has one limit for all threads: a compiler in one needs its own until it ends."""
    limit = sys.getrecursionlimit()
    has_begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        with recursion_limit(limit + 2):
            has_begun.set()
            may_end.wait()

    other = threading.Thread(target=work)
    try:
        with recursion_limit(limit + 1):
            other.start()
            has_begun.wait()
        assert sys.getrecursionlimit() == limit + 2
    finally:
        may_end.set()
        other.join()
    assert sys.getrecursionlimit() == limit


def test_contexts_may_be_nested() -> None:
    """An inner context never lowers the limit, even one with the limit outside; an error ends it, too."""
    limit = sys.getrecursionlimit()
    with recursion_limit(limit + 1):
        with pytest.raises(RecursionError), recursion_limit(limit):
            assert sys.getrecursionlimit() == limit + 1
            raise RecursionError
        assert sys.getrecursionlimit() == limit + 1
    assert sys.getrecursionlimit() == limit
