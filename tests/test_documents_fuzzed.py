"""Malicious and damaged documents and logs: reading one gives a result or one of our own errors."""

from __future__ import annotations

import io
import json
import random
import resource
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.generators.json_edits import (
    EVERY,
    PROGRAMS,
    RUNS,
    arguments_for,
    corrupt_text,
    documents,
    edit_lines,
    fib,
    mutate_data,
)
from support.observe.event_bits import bits
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.program.program import Program
from tagloom.core.program.validate import program_problems
from tagloom.interp.history.replay import EventLog
from tagloom.interp.records.event_sink import LOG_SUFFIXES, log_lines

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
    """A context that fails if Python code is compiled, executed, imported or started in it."""
    global _watching
    _watching = seen = []
    try:
        yield
    finally:
        _watching = None
    assert not seen, seen


def read(text: bytes) -> Any:
    """The content of a document; None if it is rejected by one of our errors."""
    try:
        with no_code_runs():
            return tl.from_json(text)
    except ON_PURPOSE:
        return None


def use(subject: Any) -> None:
    """Check, lower and run a document, as the command line would."""
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
    """Import and compile everything that is loaded late, by running every document once."""
    for document in documents():
        use(read(json.dumps(document).encode()))
        read(json.dumps(document | {"version": 3}).encode())
    with TemporaryDirectory() as folder:
        fib.run(3, keep=f"{folder}/run.npz")
        tl.read_events(f"{folder}/run.npz")
    for broken in (b"\xff", b"{", b"[" * 5000, b"1" * 9999):
        read(broken)


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    """A context that allows at most one gigabyte more memory than at its beginning."""
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
            text = corrupt_text(dice, dice.choice(texts))
        else:
            text = json.dumps(mutate_data(dice, dice.choice(originals), dice.choice([1, 1, 2, 5]))).encode()
        try:
            subject = read(text)
            use(subject)
        except BaseException as error:
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}")
        understood += subject is not None
    assert len(seeds) / 20 < understood < len(seeds) * 3 / 4


@pytest.mark.full
def test_mutated_documents_are_read_or_rejected() -> None:
    """A mutated document is read and run, or rejected by one of our errors; no code runs, and memory is bounded."""
    fuzz_documents(range(600))


@pytest.mark.heavy
def test_10_000_mutated_documents_are_read_or_rejected() -> None:
    """Ten thousand times as many mutated documents are read or rejected."""
    fuzz_documents(range(600, 4_600))


def fuzz_logs(seeds: range, path: Path) -> None:
    for number, (graph, arguments) in enumerate(EVERY):
        tl.run_graph(graph, arguments, keep=path, unchecked=True, limits=LIMITS)
        original, header = path.read_bytes(), next(log_lines(path))
        whole = [bits(event) for event in tl.read_events(path).events]
        for seed in seeds:
            dice = random.Random(f"{number} {seed}")
            path.write_bytes(_changed_log(dice, original))
            try:
                with no_code_runs():
                    log = _log(path)
            except BaseException as error:
                pytest.fail(f"run {number}, seed {seed}: {type(error).__name__}: {error}")
            if log is not None and next(log_lines(path)) == header:
                told = [bits(event) for event in log.events]
                assert told == whole[: len(told)], f"run {number}, seed {seed}: another run was believed"


def _changed_log(dice: random.Random, log: bytes) -> bytes:
    """A log with changed bytes or lines; in an archive, with changed or missing members."""
    if dice.random() < 0.4:
        return corrupt_text(dice, log)
    if not log.startswith(b"PK"):
        return b"".join(edit_lines(dice, log.splitlines(keepends=True)))
    with zipfile.ZipFile(io.BytesIO(log)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    for _ in range(dice.choice((1, 1, 2, 5))):
        where = dice.randrange(len(members))
        name, content = members[where]
        match dice.randrange(5):
            case 0:
                del members[where]
            case 1:
                members[where] = (name, dice.choice(members)[1])
            case 2:
                members.append(
                    (dice.choice((f"9/{name}", "0/texts/ends.npy", "0/closed/fired.npy", "x", "x/")), content)
                )
            case 3:
                members[where] = (name, corrupt_text(dice, content))
            case 4:
                changed = bytearray(content)
                at = dice.randrange(min(128, len(content) - 1), len(content))
                changed[at] = dice.randrange(256)
                members[where] = (name, bytes(changed))
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that occur twice
        for name, content in members:
            archive.writestr(name, content, dice.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    return result.getvalue()


def _log(path: Path) -> EventLog | None:
    try:
        return tl.read_events(path)
    except ON_PURPOSE:
        return None


@pytest.mark.full
@pytest.mark.parametrize("suffix", LOG_SUFFIXES)
def test_mutated_logs_are_rejected_or_true(suffix: str, tmp_path: Path) -> None:
    """A mutated log is rejected, or describes the same run: nothing else that it claims is believed."""
    fuzz_logs(range(60), tmp_path / f"run{suffix}")


@pytest.mark.heavy
@pytest.mark.parametrize("suffix", LOG_SUFFIXES)
def test_10_000_mutated_logs_are_rejected_or_true(suffix: str, tmp_path: Path) -> None:
    """Ten thousand times as many mutated logs are rejected or describe the same run."""
    fuzz_logs(range(60, 460), tmp_path / f"run{suffix}")


def _npy(descr: str, shape: str, content: bytes = b"") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


ARCHIVE_BOMBS: dict[str, Callable[[], bytes]] = {
    "claims more than it has": lambda: _npy("<i8", "(1000000000000,)"),
    "is deflated zeros": lambda: _npy("|u1", f"({2**28},)", bytes(2**28)),
    "has a long header": lambda: _npy("|u1", "(1,)" + " " * 60_000, b"0"),
    "has a negative shape": lambda: _npy("|u1", "(-1,)"),
    "has objects": lambda: _npy("|O", "(1,)", b"cos\nsystem\n(S'true'\ntR."),
    "runs code": lambda: _npy("<i8", "(__import__('os').system('true'),)"),
    "has two axes": lambda: _npy("<i8", "(1, 1)", bytes(8)),
    "is empty": lambda: b"",
}


@pytest.mark.full
@pytest.mark.parametrize("bomb", ARCHIVE_BOMBS.values(), ids=ARCHIVE_BOMBS)
@pytest.mark.parametrize(
    "member", ("header", "format", "0/events/node", "0/events/sent", "0/inputs/word", "0/texts/ends")
)
def test_archive_bombs_are_rejected(member: str, bomb: Callable[[], bytes], tmp_path: Path) -> None:
    """An archive member that claims huge memory, or contains code, is rejected before it is read."""
    path = tmp_path / "run.npz"
    fib.run(3, keep=path)
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (members | {f"{member}.npy": bomb()}).items():
            archive.writestr(name, content)
    with no_code_runs(), pytest.raises(tl.Malformed):
        tl.read_events(path)


@pytest.mark.full
def test_a_truncated_archive_is_rejected(tmp_path: Path) -> None:
    """A truncated column log is rejected with a hint; one under another name is read."""
    path, other = tmp_path / "run.npz", tmp_path / "run.jsonl"
    fib.run(3, keep=path)
    other.write_bytes(path.read_bytes())
    assert tl.read_events(other) == tl.read_events(path)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(tl.Malformed, match="not a log of events") as raised:
        tl.read_events(path)
    assert raised.value.hint == "a run that was killed leaves an archive without its end"


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


@pytest.mark.inner(first=4)
@pytest.mark.parametrize("bomb", BOMBS, ids=range(len(BOMBS)))
def test_bombs_are_rejected(bomb: Callable[[], bytes]) -> None:
    """Documents that are small on disk but huge in memory, too deep, or too long are rejected at once."""
    with no_code_runs():
        try:
            result = tl.from_json(bomb())
        except tl.Malformed:
            return
    assert isinstance(result, Graph) and np.size(result.nodes[0].ports[0].value) == 0  # type: ignore[union-attr]
    use(result)


def test_the_hook_sees_code() -> None:
    """The audit hook of the tests above notices code that runs."""
    with pytest.raises(AssertionError, match="compile"), no_code_runs():
        eval("1 + 1")


@pytest.mark.full
def test_unmutated_documents_are_read() -> None:
    """Every document that is not mutated is read, and its content is right."""
    for document in documents():
        assert tl.to_json(tl.from_json(json.dumps(document))) == document
    assert len(PROGRAMS) == 5
