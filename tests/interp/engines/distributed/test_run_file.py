"""Checkpoints in files: a run goes on from one as if nothing had happened, and bad files are refused in words."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.generators.effect_programs import Witness, act_cases, unbounded
from support.generators.generator import Case, cases
from support.laws.distributed_laws import LIMITS, common_fields, uses_cells
from support.laws.fast_laws import with_value_bits
from support.programs.parallel_programs import fib, sums
from tagloom.core.errors import Usage
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.distributed import engine, run_file
from tagloom.interp.engines.distributed.engine import run_on_workers
from tagloom.interp.engines.distributed.run_file import write_run
from tagloom.interp.engines.protocol import Job, RunOptions
from tagloom.interp.engines.reference import default_structure, run_graph
from tagloom.interp.outcome.outcome import Outcome


class DriverDeath(Exception):
    """The driver's process is killed after a checkpoint."""


def run_with_file(graph: Graph, arguments: list[Any], cluster: str, world: Witness, **options: Any) -> Outcome:
    job = Job(graph, default_structure(graph))
    run_options = RunOptions(limits=LIMITS, world=world, workers=3, cluster=cluster, **options)
    return run_on_workers(job, arguments, run_options)


def run_until_death(graph: Graph, arguments: list[Any], cluster: str, path: Path, count: int) -> tuple[int, int] | None:
    """Run until the driver dies after so many checkpoints; returns how many effects the last one contains, or None if
    the run ended before."""
    world, lengths = Witness(), list[tuple[int, int]]()

    def write(*arguments: Any) -> None:
        write_run(*arguments)
        lengths.append((len(world.lines), len(world.calls)))
        if len(lengths) == count:
            raise DriverDeath

    with MonkeyPatch.context() as patch:
        patch.setattr(engine, "write_run", write)
        try:
            run_with_file(graph, arguments, cluster, world, checkpoint=path)
        except DriverDeath:
            return lengths[-1]
    return None


def differences(graph: Graph, arguments: list[Any], dice: Random, path: Path) -> Iterator[str]:
    """Where a run that goes on from a file differs from one on the reference, in its outcome or its effects."""
    worlds = Witness(), Witness()
    expected = run_graph(graph, arguments, limits=LIMITS, world=worlds[0])
    if expected.status == "Exhausted" or expected.has_double_write:
        return
    for count in (1, 2, 3):
        first, second = (f"network:{dice.randrange(10**6)}" for _ in range(2))
        contained = run_until_death(graph, arguments, first, path, count)
        if contained is None:
            return
        world = Witness()
        got = run_with_file(graph, arguments, second, world, resume=path)
        has_cells = uses_cells(graph)
        fields = common_fields(got, has_cells=has_cells)
        for name, value in common_fields(expected, has_cells=has_cells).items():
            if fields[name] != value:
                yield f"from checkpoint {count}: {name} is {fields[name]} and not {value}"
        lines, calls = contained
        effects = worlds[0].lines[lines:], with_value_bits(worlds[0].calls[calls:])
        if (world.lines, with_value_bits(world.calls)) != effects:
            yield f"from checkpoint {count}: the effects are {world.lines} and {world.calls}, not {effects}"


@settings(max_examples=12, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(cases() | cases(arrays=True) | act_cases(bounded=False, early=True), st.integers(0, 2**32 - 1).map(Random))
def test_generated_programs(tmp_path_factory: pytest.TempPathFactory, case: Case, dice: Random) -> None:
    """A run that goes on from a checkpoint has the outcome of the whole, and the effects that the checkpoint does not
    contain, once."""
    path = tmp_path_factory.mktemp("runs") / "run.json"
    assert list(differences(lower(unbounded(case.program)), case.arguments, dice, path)) == []


@tl.function
def printed(n: tl.int64) -> tl.int64:
    for i in range(n):
        tl.print("trip {}", i)
    return fib(n)


def all_differences(path: Path, seeds: int) -> Iterator[str]:
    for seed in range(seeds):
        for function in (fib, sums, printed):
            yield from differences(function.graph, [5], Random(seed), path)


@pytest.mark.full
def test_small_programs(tmp_path: Path) -> None:
    """Recursion, loops and prints go on from their first, second and third checkpoint."""
    assert list(all_differences(tmp_path / "run.json", 3)) == []


def forgets_effects(patch: MonkeyPatch) -> None:
    """The file has no results of effects that a rollback may repeat."""
    true = write_run
    patch.setitem(run_until_death.__globals__, "write_run", lambda *all: true(*all[:-1], ()))


def saves_one_worker_late(patch: MonkeyPatch) -> None:
    """The stores of one worker are those of the checkpoint before."""
    earlier: dict[str, list[Any]] = {}
    true = write_run

    def write(path: Path, digest: str, stores: list[Any], results: Iterable[Any]) -> None:
        true(path, digest, [*earlier.get(digest, stores)[:1], *stores[1:]], results)
        earlier[digest] = stores

    patch.setitem(run_until_death.__globals__, "write_run", write)


@pytest.mark.full
@pytest.mark.parametrize("how", [saves_one_worker_late, forgets_effects])
def test_the_law_catches_broken_files(how: Any, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Checkpoints whose stores are not of one moment, or lack effects from before a rollback, are caught."""
    how(monkeypatch)
    try:
        found = next(all_differences(tmp_path / "run.json", 60), None)
    except (AssertionError, LookupError) as error:
        found = repr(error)
    assert found
    print(found)


@tl.function
def decays(n: tl.int64, x: Any) -> Any:
    """A loop that changes an array."""
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * 0.5 + x), 0, x)[1]


@pytest.mark.full
def test_files_have_arrays_as_json(tmp_path: Path) -> None:
    """In a file, an array is a value as in all documents of the project; a run goes on with the same bits."""
    path, x = tmp_path / "run.json", np.array([[1.0, -0.0], [np.nan, np.inf]])
    expected = decays.run(100, x)
    limited = decays.run(100, x, engine="distributed", checkpoint=path, limits=tl.Limits(firings=300))
    assert (limited.status, limited.firings) == ("Exhausted", 300)
    assert '{"dtype":"float64","shape":[2,2],"data":[' in path.read_text()
    outcome = decays.run(100, x, engine="distributed", cluster="network:5", resume=path)
    assert outcome.firings == expected.firings
    assert outcome.value.tobytes() == expected.value.tobytes()


def test_files_that_are_refused(tmp_path: Path) -> None:
    """A file that is damaged, of another run or of another kind is refused, with what is required; so is another number
    of workers."""
    path = tmp_path / "run.json"
    options = {"engine": "distributed", "cluster": "network"}
    assert fib.run(7, **options, workers=3, checkpoint=path).value == 13
    assert os.listdir(tmp_path) == ["run.json"]
    assert fib.run(7, **options, resume=path).value == 13
    content = path.read_text().split(',"content":', 1)[1].rstrip("\n")[:-1]
    strange = content.replace('"flight"', '"fight"')
    cases = {
        "is damaged": path.read_text().replace("[", "[ ", 1),
        "is not a checkpoint": f'{{"sha256":"{sha256(strange.encode()).hexdigest()}","content":{strange}}}\n',
        "this is not a checkpoint of a run": "a poem",
    }
    for text, data in cases.items():
        other = tmp_path / "other.json"
        other.write_text(data)
        with pytest.raises(Usage, match=f"(?s)({text}|{text.replace('is', 'this is')}).*run with checkpoint"):
            fib.run(7, **options, resume=other)
    with pytest.raises(Usage, match=r"(?s)of a different run.*the same program, arguments and seed"):
        fib.run(8, **options, resume=path)
    with pytest.raises(Usage, match=r"(?s)of a different run"):
        sums.run(7, **options, resume=path)
    with pytest.raises(Usage, match=r"(?s)not the number of workers of the checkpoint.*required: 3.*got: 2"):
        fib.run(7, **options, resume=path, workers=2)
    with pytest.raises(Usage, match="cannot be read"):
        fib.run(7, **options, resume=tmp_path / "nothing.json")
    with pytest.raises(Usage, match="cannot be written"):
        fib.run(7, **options, checkpoint=tmp_path / "nowhere" / "run.json")
    with pytest.raises(Usage, match="no workers"):
        fib.run(7, engine="fast", resume=path)
    assert json.loads(path.read_text())["sha256"] == sha256(content.encode()).hexdigest()


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    """A checkpoint replaces no folder, pipe or device; where it can never be written, the run does not begin. Through a
    link, it replaces the file. What a killed run left beside the file is removed."""
    pipe, real, link = tmp_path / "pipe", tmp_path / "run.json", tmp_path / "link.json"
    os.mkfifo(pipe)
    link.symlink_to(real)
    stale = tmp_path / ".tagloom-0.tmp"
    stale.touch()
    os.utime(stale, (0, 0))
    for path in (pipe, tmp_path, tmp_path / "nowhere" / "run.json", ""):
        world = Witness()
        with pytest.raises(Usage, match="cannot be written"):
            run_with_file(printed.graph, [2], "network", world, checkpoint=path)
        assert world.lines == []
    with pytest.raises(TypeError, match=r"(?s)cannot be written.*required: a string"):
        fib.run(7, engine="distributed", checkpoint=3)
    assert pipe.is_fifo()
    assert fib.run(7, engine="distributed", checkpoint=link).value == 13
    assert link.is_symlink() and real.is_file() and sorted(os.listdir(tmp_path)) == ["link.json", "pipe", "run.json"]


def first_flight(content: Any) -> list[Any]:
    return next(store["flight"] for store in content["stores"] if store["flight"])


def no_rows(width: int) -> dict[str, Any]:
    """A table without rows."""
    return {"dtype": "int64", "shape": [0, width], "data": []}


FORGERIES: dict[str, Callable[[Any], object]] = {
    "no workers": lambda content: content["stores"].clear(),
    "too many workers": lambda content: content["stores"].extend(content["stores"] * 64),
    "steps are text": lambda content: content["stores"][0].update(steps="many"),
    "too few nodes": lambda content: content["stores"][0].update(firings=[1]),
    "a node that is not there": lambda content: first_flight(content)[0].__setitem__(0, 10**6),
    "a port that is not there": lambda content: first_flight(content)[0].__setitem__(1, 77),
    "a token twice": lambda content: first_flight(content).append(first_flight(content)[0]),
    "no activations": lambda content: [
        store.update(records=no_rows(5), fired=no_rows(2), waiting=no_rows(3), operands=[])
        for store in content["stores"]
    ],
    "fewer activations": lambda content: [store.update(records=no_rows(5)) for store in content["stores"]],
    "a depth that is never reached": lambda content: content["stores"][0]["counts"][0]["data"].__setitem__(0, 10**18),
    "a depth that no integer has": lambda content: content["stores"][0]["counts"][0]["data"].__setitem__(0, 10**20),
    "counts that are no table": lambda content: content["stores"][0]["counts"][0].update(shape=[-1]),
    "counts that are no integers": lambda content: content["stores"][0]["counts"][0].update(dtype="float64"),
    "no depths": lambda content: content["stores"][0].update(depths=no_rows(4)),
}


def run_forged(name: str, path: Path, cluster: str) -> None:
    """Write a checkpoint, forge it, and go on from it."""
    out = fib.run(10, engine="distributed", checkpoint=path, limits=tl.Limits(firings=400))
    assert out.status == "Exhausted"
    content = json.loads(path.read_text())["content"]
    FORGERIES[name](content)
    text = json.dumps(content, separators=(",", ":"))
    path.write_text(f'{{"sha256":"{sha256(text.encode()).hexdigest()}","content":{text}}}\n')
    with pytest.raises(Usage, match=r"(?s)this is not a|no run can resume from this") as caught:
        fib.run(10, engine="distributed", cluster=cluster, resume=path)
    assert "a file that a run with checkpoint=PATH wrote" in str(caught.value)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("name", FORGERIES)
def test_contradictions_are_refused(name: str, tmp_path: Path) -> None:
    """A file with the right digest whose parts contradict each other is refused in words, when it is read or later."""
    run_forged(name, tmp_path / "run.json", "network")


@pytest.mark.full  # processes take seconds to start
def test_contradictions_are_refused_where_workers_are_processes(tmp_path: Path) -> None:
    """So it is if a worker's process is where the contradiction shows."""
    run_forged("a token twice", tmp_path / "run.json", "processes")


def writes_in_place(patch: MonkeyPatch) -> None:
    """A checkpoint takes the place of whatever has its path, which nobody looks at before."""

    def write(path: Path, data: bytes) -> None:
        partial = path.with_name(path.name + ".part")
        partial.write_bytes(data)
        partial.replace(path)

    patch.setattr(engine, "prepare_path", lambda path: None)
    patch.setattr(run_file, "write_atomically", write)


def passes_contradictions_on(patch: MonkeyPatch) -> None:
    """What a contradiction raises inside a run comes out."""
    patch.setattr(engine, "refuse_contradictions", lambda path: nullcontext())


def test_broken_twins_are_caught(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """A writer that replaces pipes, and a run that passes on what it raises inside, are caught."""
    with monkeypatch.context() as patch:
        writes_in_place(patch)
        with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
            test_what_is_no_file_is_not_replaced(tmp_path)
    with monkeypatch.context() as patch:
        passes_contradictions_on(patch)
        with pytest.raises((IndexError, KeyError)):
            run_forged("no activations", tmp_path / "forged.json", "network")


PROGRAM = """
import tagloom as tl

@tl.function
def fib(n: tl.int64) -> tl.int64:
    return n if n < 2 else fib(n - 1) + fib(n - 2)

@tl.function
def main(n: tl.int64) -> tl.int64:
    tl.print("begin")
    r = fib(n)
    tl.print("end", r)
    return r
"""


def run_and_kill(command: list[str], folder: Path, checkpoint: Path) -> str:
    """Kill the process with SIGKILL as soon as it has written a checkpoint: what it had printed."""
    with subprocess.Popen([*command, "--checkpoint", checkpoint.name], cwd=folder, stdout=subprocess.PIPE) as process:
        while not checkpoint.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.stdout is not None
        return process.stdout.read().decode()


@pytest.mark.heavy
def test_a_run_whose_driver_was_killed_goes_on(tmp_path: Path) -> None:
    """SIGKILL of the driver's process: `--resume` goes on from the last checkpoint, and repeats nothing before it.

    A run that ends before the signal reaches it shows nothing: a longer one follows.
    """
    (tmp_path / "fib.py").write_text(PROGRAM)
    path = tmp_path / "run.json"
    for n in range(18, 30, 2):
        program = [sys.executable, "-m", "tagloom", "run", "fib.py:main", str(n)]
        distributed = [*program, "--engine", "distributed"]
        printed = run_and_kill([*distributed, "--cluster", "processes"], tmp_path, path)
        if "end" not in printed:
            break
        path.unlink(missing_ok=True)
    assert printed in ("", "begin\n")
    resume = [*distributed, "--resume", path.name, "--stats"]
    out = subprocess.run(resume, cwd=tmp_path, capture_output=True, check=True, text=True)
    whole = subprocess.run([*program, "--stats"], cwd=tmp_path, capture_output=True, check=True, text=True)
    lines, whole_lines = ([line for line in run.stdout.splitlines() if line != "begin"] for run in (out, whole))
    assert lines[:2] == whole_lines[:2]
    assert lines[0] == f"end {lines[1]}"
    assert next(line for line in lines if line.startswith("firings")) in whole_lines
