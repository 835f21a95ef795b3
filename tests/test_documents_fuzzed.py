"""Documents and logs from hands that mean harm, or from a disk that does: a result, or an error on purpose."""

from __future__ import annotations

import json
import random
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.generators.json_edits import EVERY, PROGRAMS, RUNS, arguments_for, documents, garbled, mutated, reordered
from support.observe.event_bits import bits
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.program.program import Program
from tagloom.core.program.validate import program_problems
from tagloom.interp.history.replay import EventLog

ON_PURPOSE = (tl.Malformed, tl.Invalid, tl.Usage, tl.Disagreement, tl.Exhausted)
LIMITS = tl.Limits(firings=300, tokens=10_000, depth=100)
GIGABYTE = 2**30
RUNS_CODE = ("exec", "compile", "import", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
"""The audit events of Python that running code raises."""
_watching: list[str] | None = None


def _hook(event: str, arguments: Any) -> None:
    if _watching is not None and event in RUNS_CODE:
        _watching.append(f"{event} {arguments!r:.200}")


sys.addaudithook(_hook)


@contextmanager
def no_code_runs() -> Iterator[None]:
    """Fails where Python code is compiled, executed, imported or started meanwhile."""
    global _watching
    _watching = seen = []
    try:
        yield
    finally:
        _watching = None
    assert not seen, seen


def read(text: bytes) -> Any:
    """What a document says; None where it is refused on purpose."""
    try:
        with no_code_runs():
            return tl.from_json(text)
    except ON_PURPOSE:
        return None


def use(subject: Any) -> None:
    """Check, lower and run what was read, as the command line would."""
    try:
        if isinstance(subject, Program):
            if program_problems(subject):
                return
            subject = lower(subject)
        if isinstance(subject, Graph):
            tl.run_graph(subject, arguments_for(subject), limits=LIMITS, unchecked=True)
    except ON_PURPOSE:
        pass


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Everything that is imported or compiled late has been, by one round of all there is."""
    for document in documents():
        use(read(json.dumps(document).encode()))
        read(json.dumps(document | {"version": 3}).encode())
    for broken in (b"\xff", b"{", b"[" * 5000, b"1" * 9999):
        read(broken)


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    """A gigabyte more than there is now is more than any of these may take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    status = Path("/proc/self/statm")
    if status.exists():
        used = int(status.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + GIGABYTE, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def fuzz_documents(seeds: range) -> None:
    originals = documents()
    texts = [json.dumps(document).encode() for document in originals]
    understood = 0
    for seed in seeds:
        dice = random.Random(seed)
        if dice.random() < 0.5:
            text = garbled(dice, dice.choice(texts))
        else:
            text = json.dumps(mutated(dice, dice.choice(originals), dice.choice([1, 1, 2, 5]))).encode()
        try:
            subject = read(text)
            use(subject)
        except BaseException as error:
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}")
        understood += subject is not None
    assert len(seeds) / 20 < understood < len(seeds) * 3 / 4


@pytest.mark.full
def test_documents() -> None:
    """A mutated document is read and run, or refused on purpose; no code runs, and little memory is taken."""
    fuzz_documents(range(600))


@pytest.mark.heavy
def test_documents_10_000() -> None:
    """The same, ten thousand times more."""
    fuzz_documents(range(600, 4_600))


def fuzz_logs(seeds: range, path: Path) -> None:
    for number, (graph, arguments) in enumerate(EVERY):
        tl.run_graph(graph, arguments, keep=path, unchecked=True, limits=LIMITS)
        lines = path.read_bytes().splitlines(keepends=True)
        whole = [bits(event) for event in tl.read_events(path).events]
        for seed in seeds:
            dice = random.Random(f"{number} {seed}")
            made = [garbled(dice, b"".join(lines))] if dice.random() < 0.4 else reordered(dice, lines)
            path.write_bytes(b"".join(made))
            try:
                with no_code_runs():
                    log = _log(path)
            except BaseException as error:
                pytest.fail(f"run {number}, seed {seed}: {type(error).__name__}: {error}")
            if log is not None and path.read_bytes().startswith(lines[0]):
                told = [bits(event) for event in log.events]
                assert told == whole[: len(told)], f"run {number}, seed {seed}: another run was believed"


def _log(path: Path) -> EventLog | None:
    try:
        return tl.read_events(path)
    except ON_PURPOSE:
        return None


@pytest.mark.full
def test_logs(tmp_path: Path) -> None:
    """A mutated log is refused on purpose, or tells of the same run: what it says more or else is not believed."""
    fuzz_logs(range(60), tmp_path / "run.jsonl")


@pytest.mark.heavy
def test_logs_10_000(tmp_path: Path) -> None:
    """The same, ten thousand times more."""
    fuzz_logs(range(60, 460), tmp_path / "run.jsonl")


def _nested(depth: int) -> bytes:
    return b'{"tagloom": "graph", "version": 1, "name": ' + b"[" * depth + b"]" * depth + b"}"


BOMBS: list[Callable[[], bytes]] = [
    lambda: _nested(100_000),
    lambda: b'{"a":' * 100_000,
    lambda: b'"' + b"\\ud800" * 100_000 + b'"',
    lambda: b"[" + b"1," * 1_000_000 + b"1]",
    lambda: b"{" + b",".join(b'"%d":1' % n for n in range(100_000)) + b"}",
    lambda: _shaped([2**62] * 64, []),
    lambda: _shaped([0] + [2**62] * 63, []),
    lambda: _shaped([1] * 100_000, [1]),
    lambda: _shaped([0, 10**18], []),
]


def _shaped(shape: list[int], data: list[int]) -> bytes:
    document = tl.to_json(RUNS[5][0])
    document["nodes"][0]["ports"][0] = {"dtype": "int64", "shape": shape, "data": data}
    return json.dumps(document).encode()


@pytest.mark.inner(first=7)
@pytest.mark.parametrize("bomb", BOMBS, ids=range(len(BOMBS)))
def test_bombs(bomb: Callable[[], bytes]) -> None:
    """What is small on disk and huge in memory, or deep, or long, is refused in no time."""
    with no_code_runs():
        try:
            made = tl.from_json(bomb())
        except tl.Malformed:
            return
    assert isinstance(made, Graph) and np.size(made.nodes[0].ports[0].value) == 0  # type: ignore[union-attr]
    use(made)


def test_the_hook_sees_code() -> None:
    """Were something to run code, the tests above would know."""
    with pytest.raises(AssertionError, match="compile"), no_code_runs():
        eval("1 + 1")


def test_the_corpus_is_understood() -> None:
    """Unchanged, every document is read, and says what it said."""
    for document in documents():
        assert tl.to_json(tl.from_json(json.dumps(document))) == document
    assert len(PROGRAMS) == 5
