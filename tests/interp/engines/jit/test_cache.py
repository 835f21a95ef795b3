"""Compiled modules on disk: each is compiled once and then loaded, and damaged or foreign files are never used."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tagloom.interp.engines.jit import cache
from tagloom.interp.engines.jit import cache as progress
from tagloom.interp.engines.jit.kernels import HEADER

TEXT = f"""{HEADER}
@njit(int64(int64, int64), cache=True)
def quotient(x, y):
    return k.floor_divide_ii(x, y)
"""
CODE = """
import sys, time
from tagloom.interp.engines.jit import cache
module = cache.load_module("quotients", sys.argv[1])
(hits,) = module.quotient.stats.cache_hits.values() or (0,)
print(module.quotient(-7, 2), hits, module.__file__)
"""


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate cache for one test."""
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept" / "tagloom"


def start(text: str = TEXT) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CODE, text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def result_of(process: subprocess.Popen[str]) -> tuple[int, Path]:
    """The number of cache hits of a process, and the path of its module."""
    text, complaint = process.communicate(timeout=100)
    assert process.returncode == 0, complaint
    value, hits, path = text.split()
    assert value == "-4"
    return int(hits), Path(path)


@pytest.mark.full
def test_second_process_compiles_nothing(own_cache: Path) -> None:
    """A second process loads what the first compiled, and compiles damaged files again."""
    hits, path = result_of(start())
    assert hits == 0 and path.parent.parent == own_cache and (path.parent / "sums.json").exists()
    assert result_of(start()) == (1, path)
    (code,) = path.parent.glob("__pycache__/*.nbc")
    whole = code.read_bytes()
    flipped = whole[:-200] + bytes([whole[-200] ^ 1]) + whole[-199:]
    code.write_bytes(flipped)
    assert result_of(start()) == (0, path)
    (path.parent / "sums.json").write_text("half")
    assert result_of(start()) == (0, path)
    assert result_of(start()) == (1, path)


@pytest.mark.heavy
def test_any_damage(own_cache: Path) -> None:
    """Truncated, empty and foreign files are compiled again."""
    _, path = result_of(start())
    (code,) = path.parent.glob("__pycache__/*.nbc")
    (index,) = path.parent.glob("__pycache__/*.nbi")
    for file in (code, index, path, path.parent / "sums.json"):
        whole = file.read_bytes()
        for damaged in (whole[: len(whole) // 2], b"", b"nothing of ours"):
            file.write_bytes(damaged)
            assert result_of(start()) == (0, path)


@pytest.mark.heavy
def test_processes_at_once(own_cache: Path) -> None:
    """Of several processes that start together, one compiles and the others load."""
    actual = [result_of(process) for process in [start() for _ in range(3)]]
    assert sorted(hits for hits, _ in actual) == [0, 1, 1] and len({path for _, path in actual}) == 1


@pytest.mark.full
def test_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a writable cache everything still runs, and no file is left."""
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path / "file"))
    hits, path = result_of(start())
    assert hits == 0 and not path.exists() and tmp_path not in path.parents


@pytest.mark.full
def test_folder_that_is_full(own_cache: Path) -> None:
    """With a full disk everything still runs, and no partial file is left."""
    full = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)){CODE}"
    ran = [sys.executable, "-c", full, TEXT]
    process = subprocess.Popen(ran, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert result_of(process)[0] == 0
    with pytest.raises(TypeError):
        cache.write_atomically(own_cache / "file", "no bytes")  # type: ignore[arg-type]
    assert not [path for path in own_cache.rglob("*") if path.suffix == ".tmp" or path.name == "sums.json"]


@pytest.mark.parametrize(("mode", "is_private"), [(0o755, True), (0o777, False), (0o1777, True), (0o775, True)])
def test_a_folder_below_one_that_others_may_write(mode: int, is_private: bool, tmp_path: Path) -> None:
    """A folder is private only if nobody else may rename what is above it; in a sticky one, others may not."""
    folder = tmp_path / "above" / "cache"
    cache.make_private_folder(folder)
    assert (tmp_path / "above").stat().st_mode & 0o077 == 0
    (tmp_path / "above").chmod(mode)
    assert cache._is_private(folder) == is_private


@pytest.mark.full
def test_cached_files_are_private(own_cache: Path) -> None:
    """Files of the cache are private to the user under every umask, since their code is run."""
    before = os.umask(0)
    try:
        _, path = result_of(start())
    finally:
        os.umask(before)
    folders = [own_cache, *(each for each in own_cache.rglob("*") if each.is_dir())]
    assert path.parent / "__pycache__" in folders
    assert [each for each in folders if each.stat().st_mode & 0o077] == []


@pytest.mark.full
@pytest.mark.parametrize("shared", ["module", pytest.param("module/__pycache__", marks=pytest.mark.heavy)])
def test_a_folder_that_others_can_write_to(shared: str, own_cache: Path) -> None:
    """A cache that others can write to is neither read, despite valid checksums, nor written, with one warning. If only
    the machine code is in such a folder, it is compiled again elsewhere."""
    _, path = result_of(start())
    folder = own_cache / shared.replace("module", path.parent.name)
    folder.chmod(0o770)
    process = start(TEXT)
    text, complaint = process.communicate(timeout=100)
    assert text.split()[1] == "0"
    if shared.endswith("__pycache__"):
        assert result_of(start()) == (1, path) and folder.stat().st_mode & 0o077 == 0
    else:
        assert complaint.count(f"does not cache machine code in {folder}, since others may write") == 1
        assert str(own_cache) not in text


def test_folder_of_another_user(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of another user is not read; one of root is."""
    assert cache.module_folder(TEXT).parent == own_cache
    user = os.geteuid() + 1 if os.geteuid() else 4711
    monkeypatch.setattr(os, "geteuid", lambda: user)
    if own_cache.stat().st_uid == 0:
        assert cache.module_folder(TEXT).parent == own_cache
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        os.chown(own_cache, user, -1)
    cache._warn_insecure_folder.cache_clear()
    with pytest.warns(RuntimeWarning, match="does not cache machine code"), pytest.raises(PermissionError):
        cache.module_folder(TEXT)
    with pytest.raises(PermissionError):  # and it is not said again
        cache.module_folder(TEXT)


def test_temporary_files_are_new(tmp_path: Path) -> None:
    """Temporary files have unpredictable names, and never follow a link."""
    results = [tmp_path / f"file.{os.getpid()}.{threading.get_ident()}", tmp_path / "file.tmp"]
    for each in results:
        each.symlink_to(tmp_path / "other")
    cache.write_atomically(tmp_path / "file", b"words")
    assert (tmp_path / "file").read_bytes() == b"words" and not (tmp_path / "other").exists()
    assert len(list(tmp_path.iterdir())) == 3


def test_home_that_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a home folder nothing is cached, and everything else works."""
    for name in ("TAGLOOM_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    with pytest.raises(OSError, match="home"):
        cache.cache_folder()
    assert cache.load_module("unkept", TEXT).quotient(-7, 2) == -4


def test_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The cache key changes with the text, with any kernel's source, and with numba's settings, and with nothing
    else."""
    cache._environment_fingerprint.cache_clear()
    before = cache.cache_key(TEXT)
    assert cache.cache_key(TEXT + " ") != before
    for source in ("core/ops/op.py", "core/ops/scalar_kernels.py", "core/hashing.py", "interp/engines/jit/c_math.py"):
        path = tmp_path / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    monkeypatch.setattr(cache, "_PACKAGE_ROOT", tmp_path)
    keys = {before}
    for source in ("core/ops/op.py", "core/ops/scalar_kernels.py", "core/hashing.py", "interp/engines/jit/c_math.py"):
        (tmp_path / source).write_text("# changed")
        cache._environment_fingerprint.cache_clear()
        keys.add(cache.cache_key(TEXT))
    monkeypatch.setenv("NUMBA_OPT", "1")
    cache._environment_fingerprint.cache_clear()
    keys.add(cache.cache_key(TEXT))
    assert len(keys) == 6
    monkeypatch.undo()
    cache._environment_fingerprint.cache_clear()
    assert cache.cache_key(TEXT) == before


def test_compile_errors_are_not_cached(own_cache: Path) -> None:
    """A compile error is raised, and nothing is cached."""
    with pytest.raises(SyntaxError):
        cache.load_module("broken", "def f(:")
    assert not list(own_cache.glob("*/sums.json"))
    assert not [name for name in sys.modules if name.startswith("_tagloom") and name.endswith("_broken")]


class Terminal:
    """Standard error as a terminal."""

    def __init__(self) -> None:
        self.said = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.said += text
        return len(text)

    def flush(self) -> None: ...


def progress_output(monkeypatch: pytest.MonkeyPatch, seconds: float) -> str:
    """The terminal output of a compilation that takes this long, with time sped up."""
    import time

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.show_compiling("fib"):
        time.sleep(seconds)
    return terminal.said


@pytest.mark.full
def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long compilation shows one line, which is erased afterwards and can be disabled."""
    assert progress_output(monkeypatch, 0.0) == ""
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.01)
    line = "compiling fib ..."
    assert progress_output(monkeypatch, 0.3) == f"{line}\r{' ' * len(line)}\r"
    monkeypatch.setenv("TAGLOOM_PROGRESS", "off")
    assert progress_output(monkeypatch, 0.1) == ""
    assert os.environ["TAGLOOM_PROGRESS"] == "off"


def test_a_text_that_takes_a_deep_stack(own_cache: Path) -> None:
    """A long function is compiled, although numba recurses over its blocks; Python's recursion limit is restored."""
    limit = sys.getrecursionlimit()
    text = f"def down(n):\n    return n and down(n - 1)\ndown({3 * limit})\nentry = 7\n"
    assert (cache.load_module("deep", text).entry, sys.getrecursionlimit()) == (7, limit)
