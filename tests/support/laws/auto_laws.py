"""The laws of the engine auto: whenever machine code gets ready, before a run, within one or between two, each run of a
sequence ends as on the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from support.generators.effect_programs import Witness
from support.generators.generator import Case
from support.laws.compiled_laws import differences_from_reference
from support.laws.fast_laws import comparable_fields, with_value_bits
from tagloom.core.frontend.trace.pytree import flat_treedef
from tagloom.core.graph.lower import lower
from tagloom.interp.engines import auto, registry
from tagloom.interp.engines.fast import load
from tagloom.interp.engines.jit.compiler_process import CompileState
from tagloom.interp.engines.protocol import Job, RunOptions
from tagloom.interp.engines.reference import run_graph

NEVER = 10**9


class FakeCompilation:
    """A compilation that is ready after this many looks at it."""

    def __init__(self, looks: int) -> None:
        self.looks_left = looks
        self.requests = 0

    @property
    def is_ready(self) -> bool:
        return self.looks_left < 0

    def request(self) -> None:
        self.requests += 1

    def poll(self) -> CompileState:
        self.looks_left -= 1
        return CompileState.READY if self.is_ready else CompileState.PENDING


class WorkAtOnce(auto.HelperThread):
    """Work that is done at once, in place of a thread, so that tests do not depend on time."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._run()


@contextmanager
def code_ready_after(fast_looks: int, compiled_looks: int) -> Iterator[None]:
    """A context in which no program has run yet, `auto` looks for machine code after each firing, and finds the token
    machine and the code of programs after this many looks."""
    machine, code = FakeCompilation(fast_looks), FakeCompilation(compiled_looks)
    has_machine_code = auto.compiled_engine.has_machine_code
    with pytest.MonkeyPatch.context() as patch:
        for name in ("WARMUP_FIRINGS", "LOADED_WARMUP_FIRINGS", "WARMUP_SECONDS", "POLL_SECONDS"):
            patch.setattr(auto, name, 0)
        for name in ("POLL_FIRINGS", "FIRST_BURST_STEPS"):
            patch.setattr(auto, name, 1)
        patch.setattr(auto, "_warmups", {})
        patch.setattr(auto, "HelperThread", WorkAtOnce)
        patch.setattr(auto, "compiler_process", SimpleNamespace(is_enabled=lambda: True))
        patch.setattr(auto, "machine_compilation", lambda variant: machine)
        patch.setattr(auto, "is_machine_prepared", lambda variant: True)
        patch.setattr(load, "is_machine_loaded", lambda variant: False)
        patch.setattr(auto.compiled_engine, "code_compilation", lambda program: code)
        patch.setattr(
            auto.compiled_engine, "has_machine_code", lambda program: code.is_ready and has_machine_code(program)
        )
        yield


def switch_violations(case: Case, looks: tuple[int, int], *, measures: bool, runs: int = 3) -> Iterator[str]:
    """Where runs of `auto`, one after another, differ from those of the reference, if machine code gets ready after so
    many looks."""
    graph = lower(case.program)
    job = Job(graph, flat_treedef(len(graph.results)), case.program)
    with code_ready_after(*looks):
        for seed in range(runs):
            worlds = Witness(), Witness()
            expected = run_graph(graph, case.arguments, seed=seed, world=worlds[0])
            options = RunOptions(seed=seed, world=worlds[1], measures=measures)
            got = registry.run(job, case.arguments, options, "auto")
            where = f"run {seed} of {looks}, on {got.engine}"
            if got.engine == "compiled" and measures:
                yield f"{where}: measures were wanted"
            elif got.engine == "compiled":
                yield from (f"{where}: {each}" for each in differences_from_reference(expected, got))
            else:
                yield from differing_fields(where, comparable_fields(expected), comparable_fields(got))
            if worlds[0].lines != worlds[1].lines or with_value_bits(worlds[0].calls) != with_value_bits(
                worlds[1].calls
            ):
                yield f"{where}: the effects differ: {worlds[1].lines} and not {worlds[0].lines}"


def differing_fields(where: str, expected: dict[str, Any], got: dict[str, Any]) -> Iterator[str]:
    """The fields of an outcome that differ."""
    for key, value in expected.items():
        if got[key] != value:
            yield f"{where}: {key} is {got[key]} and not {value}"
