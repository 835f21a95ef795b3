"""The engine `cuda`: whole runs on the simulator, and its refusals before a run."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import Phase, given, settings
from support.generators.generator import Case
from support.generators.gradient_programs import differentiate
from support.generators.scalar_cases import scalar_cases
from support.laws.fast_laws import comparable_fields
from support.laws.parallel_laws import ends_of_waves
from support.laws.wave_laws import outcome_differences
from support.observe.kernel_tables import ELEMENTARY
from support.observe.lateness import is_soon
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.program import Program
from tagloom.core.text import parse
from tagloom.core.text.literals import parse_value
from tagloom.interp.engines.cuda import device, wave
from tagloom.interp.engines.cuda import wave as cuda
from tagloom.interp.engines.cuda.device import is_simulated
from tagloom.interp.engines.cuda.wave import WaveRun, unsupported
from tagloom.interp.engines.cuda.wave_kernels import WaveStop
from tagloom.interp.engines.fast import store
from tagloom.interp.engines.fast.layout import Register
from tagloom.interp.engines.fast.run import FastRun
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import admit_arguments, first_state, run_graph

ROOT = Path(tl.__file__).resolve().parent
CORPUS = sorted(path for path in (ROOT / "tests" / "corpus").glob("*.tl") if not path.stem.startswith("refused"))
SHORT = Limits(firings=60)
ASKED = {"schedule": "waves", "until": "quiet", "keep": None, "k": None}


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def quotients(n: tl.int64) -> tl.int64:
    """Divides by 3, 2, 1, 0, -1, while calls continue."""
    return tl.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + n // (3 - i) + fib(i)), 0, 0)[1]


@tl.function
def vector(x: tl.Array[tl.float64, 3]) -> tl.Array[tl.float64, 3]:
    return x + x


@tl.function
def bounded(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i < n, lambda i: (i + 1,), 0, parallel_iterations=2)[0]


@tl.function
def drawn(n: tl.float64) -> tl.float64:
    return n + tl.uniform()


@tl.function
def printed(n: tl.int64) -> tl.int64:
    tl.print("n is", n)
    return n


@tl.function
def celled(n: tl.int64) -> tl.int64:
    return tl.get(tl.put(tl.cells(3, tl.int64), 0, n), 0)


@tl.function
def endless(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: i * 0, n)[0]


@pytest.mark.full
def test_results_and_statistics() -> None:
    """A run has the reference's results and statistics: firings by node, critical path, profiles."""
    wanted, out = fib.run(5, engine="reference"), fib.run(5, engine="cuda")
    assert (out.engine, out.value, out.stats.span) == ("cuda", 5, 37)
    assert not outcome_differences(out, wanted, [5])
    assert (out.stats.largest_store, out.stats.largest_flight) == ends_of_waves(fib.graph, [5], Limits())


def supported(path: Path) -> Iterator[tuple[Graph, list[Any]]]:
    """The cases of a corpus file that the engine supports."""
    document = parse(path.read_text(encoding="utf-8"), path.name)
    for case in [case for case in document.cases if case.kind not in ("refused", "breaks")]:
        subject = document[case.name]
        graph = lower(subject) if isinstance(subject, Program) else subject
        if not graph_problems(graph) and unsupported(graph, ASKED) is None:
            wanted = graph.arguments[graph.hidden_count :]
            yield graph, [parse_value(text, of.type) for text, (_, of) in zip(case.arguments, wanted, strict=True)]


@pytest.mark.full
def test_corpus() -> None:
    """The first supported case of a corpus file ends as on the reference if it is short, with residue and traps."""
    ran = 0
    for path in CORPUS:
        for graph, arguments in islice(supported(path), 1):
            wanted = run_graph(graph, arguments, limits=SHORT)
            if wanted.status != "Exhausted":
                run = WaveRun(first_state(graph, admit_arguments(graph, arguments), "waves"), Limits())
                out = run.outcome(run.run_to_end(), wanted.structure)
                assert not outcome_differences(out, wanted, arguments), path.name
                ran += 1
    assert ran > 10


@pytest.mark.full
def test_generated_programs() -> None:
    """Generated programs of scalars end as on the reference; a GPU runs many more of them."""
    several, limits = (6, Limits(firings=150)) if is_simulated() else (150, Limits(firings=1_500))
    endings = Counter[str]()

    @settings(max_examples=several, phases=[Phase.generate])
    @given(scalar_cases())
    def agrees(case: Case) -> None:
        graph = lower(case.program)
        if unsupported(graph, ASKED) is None and (is_simulated() or ELEMENTARY.isdisjoint(n.op for n in graph.nodes)):
            wanted = run_graph(graph, case.arguments, limits=limits, schedule="waves")
            run = WaveRun(first_state(graph, case.arguments, "waves"), limits)
            out = run.outcome(run.run_to_end(), wanted.structure)
            assert not outcome_differences(out, wanted, case.arguments, limits)
            endings[wanted.status] += 1

    agrees()
    assert endings["Returned"], endings


@pytest.mark.full
def test_generated_gradients() -> None:
    """The gradients of generated programs of scalars, whose loops have reverse passes, end as on the reference."""
    several, limits = (60, Limits(firings=400)) if is_simulated() else (500, Limits(firings=3_000))
    endings = Counter[str]()

    @settings(max_examples=several, phases=[Phase.generate], deadline=None)
    @given(scalar_cases())
    def agrees(case: Case) -> None:
        derivative = differentiate(case)
        graph = None if derivative is None else lower(derivative.program)
        if derivative is None or graph is None or unsupported(graph, ASKED) is not None:
            endings["Refused"] += 1
        elif is_simulated() or ELEMENTARY.isdisjoint(n.op for n in graph.nodes):
            wanted = run_graph(graph, derivative.arguments, limits=limits, schedule="waves")
            run = WaveRun(first_state(graph, derivative.arguments, "waves"), limits)
            out = run.outcome(run.run_to_end(), wanted.structure)
            assert not outcome_differences(out, wanted, derivative.arguments, limits)
            endings[wanted.status] += 1

    agrees()
    assert endings.total() > endings["Refused"], endings


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays begin with room for a few tokens and activations, and new memory is not cleared."""

    def used_before(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        array = device.allocate(shape, dtype)
        array.copy_to_device(np.full(shape, np.iinfo(dtype).max // 2, dtype))
        return array

    monkeypatch.setattr(store, "SLACK_STEPS", 1)
    monkeypatch.setattr(wave, "allocate", used_before)


@pytest.mark.full
@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(("function", "argument"), [(fib, 7), (quotients, 100)], ids=["fib", "quotients"])
def test_arrays_grow(monkeypatch: pytest.MonkeyPatch, function: tl.Function, argument: int) -> None:
    """Arrays on the device grow with tokens, activations and waves."""
    wanted, grown, grow = function.run(argument, engine="reference"), Counter[str](), WaveRun._grow
    monkeypatch.setattr(WaveRun, "_grow", lambda self, shapes: (grown.update([*shapes]), grow(self, shapes)))
    monkeypatch.setattr(wave, "_SMALL_BYTES", 0)
    assert not outcome_differences(function.run(argument, engine="cuda"), wanted, [argument])
    assert min(grown[name] for name in ("flight", "mem", "profile")) > 1


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("known", [True, False], ids=["it says so", "it fails"])
@pytest.mark.parametrize("enough", [0, 2, 5])
def test_a_run_leaves_a_full_device(monkeypatch: pytest.MonkeyPatch, known: bool, enough: int) -> None:
    """A run that needs more memory than the device has continues on `fast` from before that wave."""
    calls, left, resume, allocate = Counter[str](), [], FastRun.resume, wave.allocate

    def free() -> float:
        calls["free"] += 1
        return 1e12 if calls["free"] <= enough else 0.0

    def failing(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        calls["allocate"] += 1
        if calls["allocate"] > enough:
            raise MemoryError
        return allocate(shape, dtype)

    def gone_on(self: FastRun) -> Any:
        left.append(self.store.live_tokens)
        return resume(self)

    wanted = fib.run(7, engine="reference")
    monkeypatch.setattr(FastRun, "resume", gone_on)
    monkeypatch.setattr(wave, "_SMALL_BYTES", 0)
    monkeypatch.setattr(wave, *(("free_bytes", free) if known else ("allocate", failing)))
    assert not outcome_differences(fib.run(7, engine="cuda"), wanted, [7])
    assert left and left[0] > 0


@pytest.mark.usefixtures("narrow")
def test_a_wrong_copy_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that copies the flight from the half that the last wave has read is caught."""
    if not is_simulated():
        pytest.skip("tokens that are none lead anywhere, which no graphics processor recovers from")
    used = wave.live_parts

    def careless(name: str, array: Any, registers: Any) -> Any:
        registers = registers.copy()
        registers[Register.WAVES] += name == "flight"
        return used(name, array, registers)

    monkeypatch.setattr(wave, "live_parts", careless)
    wanted = fib.run(7, engine="reference")
    monkeypatch.setattr(wave, "_SMALL_BYTES", 0)
    try:
        differs = bool(outcome_differences(fib.run(7, engine="cuda", limits=Limits(seconds=20)), wanted, [7]))
    except (tl.Crash, IndexError):
        differs = True
    assert differs


def test_bytes() -> None:
    """The limit on bytes includes memory of the device."""
    out = fib.run(5, engine="cuda", limits=Limits(bytes=1))
    assert (out.status, out.error and out.error.limit) == ("Exhausted", "bytes")  # type: ignore[attr-defined]


@pytest.mark.full
def test_ctrl_c(handled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a run between two batches of waves, with an outcome."""
    fib.run(3, engine="cuda")  # compiled by then: before, Ctrl-C is what it always is
    result = WaveRun.run_waves
    monkeypatch.setattr(
        WaveRun, "run_waves", lambda self, count: (result(self, count), signal.raise_signal(signal.SIGINT))[0]
    )
    out = fib.run(7, engine="cuda")
    assert (out.status, out.error and out.error.limit) == ("Exhausted", "interrupt")  # type: ignore[attr-defined]
    assert len(out.stats.waiting or ()) == wave.BATCH_WAVES


@pytest.mark.full
def test_ctrl_c_in_the_last_wave(handled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the last batch is raised."""
    fib.run(3, engine="cuda")
    result = WaveRun.run_waves

    def waves(self: WaveRun, count: int) -> WaveStop:
        stop = result(self, count)
        if not self.fallback.store.registers[Register.FLIGHT_LENGTH]:
            signal.raise_signal(signal.SIGINT)
        return stop

    monkeypatch.setattr(WaveRun, "run_waves", waves)
    with pytest.raises(KeyboardInterrupt):
        fib.run(3, engine="cuda")


@pytest.mark.full
def test_traps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device records traps and runs on to the end; a run with more of them than it records starts again."""
    wanted = quotients.run(100, engine="reference")
    assert wanted.status == "Trapped"
    for rows in (4096, 0):
        monkeypatch.setattr(wave, "TRAP_ROWS", rows)
        assert not outcome_differences(quotients.run(100, engine="cuda"), wanted, [100])


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(
    "limits", [Limits(firings=57), Limits(tokens=6), Limits(depth=2), Limits(firings=1, depth=1)], ids=str
)
def test_limits_are_exact(limits: tl.Limits) -> None:
    """A run that reaches a limit within a wave ends at the same firing as on the reference: it starts again."""
    assert comparable_fields(fib.run(5, engine="cuda", limits=limits)) == comparable_fields(
        fib.run(5, engine="reference", limits=limits)
    )


@pytest.mark.full
@pytest.mark.parametrize("stop", [WaveStop.LIMIT, WaveStop.FULL])
def test_a_run_that_moves_has_the_remaining_seconds(monkeypatch: pytest.MonkeyPatch, stop: WaveStop) -> None:
    """S12: a run that continues on `fast` has only the remaining seconds."""

    def slow(self: WaveRun, count: int) -> WaveStop:
        time.sleep(0.4)
        return stop

    endless.run(1, engine="fast", limits=Limits(firings=1))
    monkeypatch.setattr(WaveRun, "run_waves", slow)

    def seconds_of_a_run() -> float:
        begun = time.monotonic()
        out = endless.run(1, engine="cuda", limits=Limits(seconds=0.5))
        took = time.monotonic() - begun
        assert (out.status, out.error and out.error.limit) == ("Exhausted", "seconds")  # type: ignore[attr-defined]
        assert out.firings > 0 and took >= 0.5
        return took

    assert is_soon(seconds_of_a_run, 0.8)


REFUSALS: list[tuple[Any, dict[str, Any], str]] = [
    (fib, {"schedule": "fifo"}, "it supports only the schedule waves"),
    (fib, {"until": "result"}, "until='result'"),
    (fib, {"keep": "events"}, "it keeps no events"),
    (fib, {"k": 2}, "it does not support k-bounds"),
    (bounded, {}, "it does not support k-bounds: that needs an order"),
    (vector, {}, "has other operands"),
    (drawn, {}, "it has no random numbers, as uniform: frames"),
    (printed, {}, "it has no effects, as print: that needs an order"),
    (celled, {}, "it has no cells, as "),
]


@pytest.mark.parametrize(("function", "options", "why"), REFUSALS, ids=[why for _, _, why in REFUSALS])
def test_refusals(function: tl.Function, options: dict[str, Any], why: str) -> None:
    """Unsupported options and programs are refused before the run starts."""
    with pytest.raises(tl.Usage, match=f"engine cuda cannot run this\n  got: .*{why}"):
        function.run([1.0, 2.0, 3.0] if function is vector else 5, engine="cuda", **options)


def test_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing device is refused too, with a hint how to do without one."""
    monkeypatch.setattr(cuda, "missing_requirement", lambda: "numba.cuda finds no GPU")
    with pytest.raises(tl.Usage, match="finds no GPU"):
        fib.run(5, engine="cuda")


@pytest.mark.full
def test_importing_loads_no_numba(tmp_path: Path) -> None:
    """Importing the engine's modules needs no device, and loads neither numba nor numba.cuda."""
    cuda = "tagloom.interp.engines.cuda"
    code = f"import sys, {cuda}.wave, {cuda}.kernels; print('numba' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("False\n", "")


@pytest.mark.full
def test_runs_in_several_threads() -> None:
    """Several threads use the simulator one at a time."""
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda n: fib.run(n, engine="cuda").value, (3, 4, 2))) == [2, 3, 1]
