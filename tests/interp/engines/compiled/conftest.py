"""A cache of compiled programs for these tests. They compile hundreds of programs that never run again, so the cache is
deleted at the end. Only mutants keep it, since they run the same programs again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tagloom.interp.engines.fast.load import load_machine


@pytest.fixture(scope="session")
def program_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in the tests' temporary folder, shared by all test processes. Code that all programs share is loaded
    before, so that it stays in the user's cache: the token machine, to which some programs move, takes 34 s to
    compile."""
    import_module("tagloom.interp.engines.jit.strided_ops")
    import_module("tagloom.interp.engines.jit.runtime").LIBRARY.load()
    load_machine()
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder /= "compiled"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@pytest.fixture(scope="module", autouse=True)
def use_program_cache(program_cache: Path) -> Iterator[None]:
    """Uses this cache for the tests of this folder only; elsewhere machines are loaded from the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("HYPOTHESIS_PROFILE") != "mutants":
            patch.setenv("TAGLOOM_CACHE", str(program_cache))
        yield
