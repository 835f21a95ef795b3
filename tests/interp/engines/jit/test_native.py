"""Object code on disk: it is loaded without numba, and compiled again if the file was changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from pytest import MonkeyPatch
from tagloom.interp.engines.jit import cache, kernels, native

TEXT = f"""
{kernels.HEADER}
import numpy as np

def run(a, b):
    return np.int64(k.exp_ff(float64(a)) * 1000.0) + b
"""
WANTED = 7389 + 5
CHILD = """
import sys
from pathlib import Path
from tagloom.interp.engines.jit import native
run = native.load_native("trial", Path(sys.argv[1]).read_text(), "run", 2)
print(run(2, 5), "numba" in sys.modules)
"""


@pytest.fixture
def object_path(tmp_path: Path, monkeypatch: MonkeyPatch) -> Path:
    """The path of the object code of TEXT."""
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path))
    monkeypatch.setattr(native, "_functions", {})
    return cache.cache_folder() / cache.cache_key(TEXT) / "trial.o"


@pytest.mark.full
@pytest.mark.parametrize("allocates", [False, True])
def test_the_second_process_needs_no_numba(object_path: Path, tmp_path: Path, allocates: bool) -> None:
    """A second process runs the compiled code without importing numba, also code that allocates an array."""
    text = tmp_path / "text.py"
    text.write_text(TEXT.replace("return ", "c = np.zeros(a)\n    return np.int64(c[0]) + ") if allocates else TEXT)
    ran = [
        subprocess.run([sys.executable, "-c", CHILD, text], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert ran == [f"{WANTED} True\n", f"{WANTED} False\n"]
    assert allocates or object_path.exists()


def test_each_function_is_linked_once(object_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Linked code is never freed, so it is found again, even by a program that was forgotten meanwhile."""
    monkeypatch.setattr(native, "_engines", [])
    first, *others = [native.load_native("trial", TEXT, "run", 2) for _ in range(3)]
    assert all(each is first for each in others) and len(native._engines) == 1


def test_files_of_killed_writers_are_removed(object_path: Path) -> None:
    """A process that was killed while it wrote leaves a file, which the next writer removes once it is old."""
    object_path.parent.mkdir(parents=True, mode=0o700)
    old, new = object_path.with_name(".tagloom-0.tmp"), object_path.with_name(".tagloom-1.tmp")
    for temporary in (old, new):
        temporary.write_text("")
    os.utime(old, (0, 0))
    native.load_native("trial", TEXT, "run", 2)
    assert not old.exists() and new.exists() and object_path.exists()


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("damage", [b"", b"{}\n", b"5\n[]\nabc", "cut", "changed"])
def test_damaged_files_are_compiled_again(object_path: Path, damage: bytes | str) -> None:
    """An empty, truncated or changed file is written anew, and the function is right."""
    assert native.load_native("trial", TEXT, "run", 2)(2, 5) == WANTED
    whole = object_path.read_bytes()
    changed = whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:]
    object_path.write_bytes(
        {"cut": whole[:-1], "changed": changed}.get(str(damage), damage if isinstance(damage, bytes) else b"")
    )
    native._functions.clear()
    assert native.load_native("trial", TEXT, "run", 2)(2, 5) == WANTED
    assert native.link_function(native.ObjectFile.unpack(object_path.read_bytes()), 2)(2, 5) == WANTED


def test_every_changed_bit_is_detected(object_path: Path) -> None:
    """A changed bit anywhere, in the header or in the code, is detected: a wrong symbol would be an invalid address."""
    native.load_native("trial", TEXT, "run", 2)
    whole = object_path.read_bytes()
    for at in [*range(200), *range(200, len(whole), 97)]:
        with pytest.raises(ValueError, match="damaged"):
            native.ObjectFile.unpack(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Without a writable cache everything is compiled, and runs."""
    occupied = tmp_path / "file"
    occupied.write_text("")
    monkeypatch.setattr(native, "_functions", {})
    monkeypatch.setenv("TAGLOOM_CACHE", str(occupied))
    assert native.load_native("trial", TEXT, "run", 2)(2, 5) == WANTED


@pytest.mark.full
def test_a_folder_that_others_may_write_to(object_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Files that others can write are neither run nor overwritten."""
    other = TEXT.replace("+ b", "- b")
    native.load_native("trial", other, "run", 2)
    planted = (cache.cache_folder() / cache.cache_key(other) / "trial.o").read_bytes()
    native.load_native("trial", TEXT, "run", 2)
    object_path.write_bytes(planted)
    native._functions.clear()
    assert native.load_native("trial", TEXT, "run", 2)(2, 5) == WANTED - 10
    native._functions.clear()
    object_path.parent.chmod(0o777)
    cache._warn_insecure_folder.cache_clear()
    with pytest.warns(RuntimeWarning, match="does not cache machine code"):
        assert native.load_native("trial", TEXT, "run", 2)(2, 5) == WANTED
    assert object_path.read_bytes() == planted


@pytest.mark.full
def test_code_with_unknown_symbols_is_not_cached(object_path: Path) -> None:
    """Object code that calls a symbol which another process does not have is not cached: it would end that process."""
    llvm.add_symbol("unknown_abs", kernels.function_address("labs"))
    head = "from numba import int64, types\nunknown_abs = types.ExternalFunction('unknown_abs', int64(int64))\n"
    text = head + TEXT.replace("return ", "return unknown_abs(a) + ")
    with pytest.raises(native.Unlinkable, match="unknown_abs"):
        native.load_native("trial", text, "run", 2)
    assert not (cache.cache_folder() / cache.cache_key(text) / "trial.o").exists()


@pytest.mark.full
def test_numba_keeps_its_error_functions(object_path: Path) -> None:
    """Functions that numba compiles raise their exceptions in a process that has loaded object code from disk."""
    code = "import sys, numba\nfrom pathlib import Path\nfrom tagloom.interp.engines.jit import native\n"
    code += "native.load_native('trial', Path(sys.argv[1]).read_text(), 'run', 2)\n"
    code += "@numba.njit\ndef fails(x):\n    raise ValueError('so much', x)\n"
    code += "try:\n    fails(3)\nexcept ValueError as error:\n    print(error.args)\n"
    text = object_path.parents[2] / "text.py"
    text.write_text(TEXT)
    ran = subprocess.run([sys.executable, "-c", code, text], capture_output=True, text=True, check=True)
    assert ran.stdout == "('so much', 3)\n"
