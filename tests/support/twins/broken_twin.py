"""Twins: a twin changes one behaviour of the code, and then breaks a law on a program on which the true code keeps
it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from random import Random

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from pytest import MonkeyPatch
from support.generators.generator import Case

Break = Callable[[MonkeyPatch], None]
"""A function that patches the true code into a twin."""


@contextmanager
def broken(break_code: Break) -> Iterator[None]:
    """A context in which the twin replaces the true code."""
    with MonkeyPatch.context() as patch:
        break_code(patch)
        yield


def caught(
    programs: st.SearchStrategy[Case],
    fails: Callable[[Case], bool],
    description: object,
    examples: int,
    phases: Collection[Phase] = (Phase.generate,),
    seed: int | None = None,
) -> Case:
    """A program on which a law fails: the first of a fixed sequence of examples, or a shrunk one if a phase says so. A
    seed chooses another sequence.

    Raises NoSuchExample, with the twin's description, if there is none.
    """
    options = settings(
        max_examples=examples,
        phases=phases,
        deadline=None,
        database=None,
        derandomize=seed is None,
        suppress_health_check=list(HealthCheck),
    )
    try:
        return find(programs, fails, settings=options, random=None if seed is None else Random(seed))
    except NoSuchExample as error:
        error.add_note(f"no law caught this: {description}")
        raise
