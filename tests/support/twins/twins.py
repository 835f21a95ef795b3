"""Twins: what does one thing otherwise than the true one, and breaks a law on some program on which that keeps it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from pytest import MonkeyPatch
from support.generators.generator import Case

Break = Callable[[MonkeyPatch], None]
"""What makes a twin of the true one."""


@contextmanager
def broken(how: Break) -> Iterator[None]:
    """Meanwhile the twin stands in the place of the true one."""
    with MonkeyPatch.context() as patch:
        how(patch)
        yield


def caught(
    programs: st.SearchStrategy[Case],
    fails: Callable[[Case], bool],
    said: object,
    examples: int,
    phases: Collection[Phase] = (Phase.generate,),
) -> Case:
    """A program, of so many and always the same, on which a law fails: the first, unless a phase shrinks it.

    Raises NoSuchExample, which says of what, where there is none.
    """
    options = settings(
        max_examples=examples,
        phases=phases,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    try:
        return find(programs, fails, settings=options)
    except NoSuchExample as error:
        error.add_note(f"no law caught this: {said}")
        raise
