"""Compiled programs in later processes: loaded from disk, quickly, with every form of recursion."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tagloom.interp.engines.jit import cache

CODE = """
import sys, time
sys.path.insert(0, sys.argv[1])
import numba
from support.programs.compiled_programs import drawn, even, lengths, looped, planted, ragged, spread, strips, vectors
from tagloom.core.value import fingerprint
from tagloom.interp.engines.compiled.run import compile_program, run_compiled
from tagloom.interp.engines.jit import native
made, compiled = native.compile_object, []
native.compile_object = lambda *given: compiled.append(given) or made(*given)
PROGRAMS = ((even, [7]), (spread, [3, 1, 0.5]), (looped, [3]), (drawn, [5]), (vectors, [[1.0], 2.0]), (planted, [9]))
for function, arguments in (*PROGRAMS, (ragged, [4, 0]), (lengths, [[0.5, -2.0]])):
    compile_program(function.program)
    hits = int(not compiled)
    del compiled[:]
    outcome = run_compiled(function.program, function.graph, arguments, seed=3)
    print(hits, outcome.status, *[None if each is None else fingerprint(each) for each in outcome.results], sep=";")
"""


def output_of_a_process(folder: Path) -> list[str]:
    tests = str(Path(__file__).parents[3])
    environment = os.environ | {"TAGLOOM_CACHE": str(folder), "PATH": ""}
    ran = subprocess.run(
        [sys.executable, "-c", CODE, tests], capture_output=True, text=True, timeout=100, env=environment
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout.splitlines()


@pytest.mark.heavy
def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    """A second process compiles nothing, survives deep recursion, and has the same results."""
    first, second = output_of_a_process(tmp_path), output_of_a_process(tmp_path)
    assert [line[0] for line in first] == ["0"] * 8 and [line[0] for line in second] == ["1"] * 8
    assert [line[1:] for line in first] == [line[1:] for line in second]


WITHOUT_NUMBA = """
import sys
sys.path.insert(0, sys.argv[1])
from support.programs.compiled_programs import drawn, even
from tagloom.interp.engines.compiled.run import run_compiled
for function in (even, drawn):
    print(run_compiled(function.program, function.graph, [7], seed=3).status, "numba" in sys.modules)
"""


@pytest.mark.full(first=1)
@pytest.mark.parametrize(("background", "loads_numba"), [("off", True), ("on", False)])
def test_scalars_in_a_second_process_need_no_numba(tmp_path: Path, background: str, loads_numba: bool) -> None:
    """A second process runs scalar programs without numba, whose import takes as long as all the rest; so does the
    first if another process compiles for it."""
    tests = str(Path(__file__).parents[3])
    environment = os.environ | {"TAGLOOM_CACHE": str(tmp_path), "TAGLOOM_BACKGROUND": background, "PATH": ""}
    command = [sys.executable, "-c", WITHOUT_NUMBA, tests]
    outputs = [
        subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout for _ in range(2)
    ]
    assert outputs == [f"Returned {loads_numba}\n" * 2, "Returned False\n" * 2]


ARRAYS = """
import sys
import numpy as np
import tagloom as tl
from tagloom.core.value import fingerprint
@tl.function
def stored_product(x):
    return tl.sum(tl.exp(x @ x * 0.01), axis=0), tl.flip(x)
@tl.function
def stored_loop(x):
    return tl.tanh(x) * 2.0 + tl.sqrt(x)
@tl.function
def stored_inverse(x):
    tl.print("trace", tl.sum(x))
    return tl.linalg.inv(x + tl.eye(200))
@tl.function
def stored_gradient(x):
    return tl.grad(lambda x: tl.mean(tl.softmax(x @ x)[:, 0]))(x)
x = np.linspace(0.0, 1.0, 40_000).reshape(200, 200)
for function in (stored_product, stored_loop, stored_inverse, stored_gradient):
    outcome = function.run(np.linspace(0.0, 1.0, 300_000) if function is stored_loop else x, engine="compiled")
    print(outcome.status, *map(fingerprint, outcome.results))
print("numba" in sys.modules, file=sys.stderr)
"""
LIBRARIES = ("runtime", "moves", "matmul_float64", "matmul_transposed_left_float64", "thread_pool")


def run_arrays(**variables: str) -> tuple[str, str]:
    """What a process prints: the results of programs on arrays, and whether it imported numba."""
    environment = os.environ | {"TAGLOOM_BACKGROUND": "off"} | variables
    run = subprocess.run([sys.executable, "-c", ARRAYS], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout, run.stderr.splitlines()[-1]


@pytest.mark.full
def test_arrays_in_a_second_process_need_no_numba(tmp_path: Path) -> None:
    """Programs on arrays that another process compiled run without numba, with the same bits: they allocate arrays,
    call BLAS, NumPy's loops, the libraries and Python, and use the thread pool. If a library is not on disk, or its
    file is damaged, numba is imported and compiles it again."""
    first, _ = run_arrays()
    assert run_arrays() == (first, "False")
    for path in cache.cache_folder().rglob("*.o"):
        if path.stem in LIBRARIES or path.stem.startswith("stored"):
            shutil.copytree(path.parent, tmp_path / "tagloom" / path.parent.name)
    assert run_arrays(TAGLOOM_CACHE=str(tmp_path)) == (first, "False")
    (path,) = tmp_path.rglob("matmul_transposed_left_float64.o")
    path.unlink()
    (path,) = tmp_path.rglob("moves.o")
    path.write_bytes(path.read_bytes()[:-1])
    assert run_arrays(TAGLOOM_CACHE=str(tmp_path)) == (first, "True")


WITHOUT_SCIPY = """
import sys
import numpy as np
import tagloom as tl
double = tl.function(lambda x: x * 2.0)
square = tl.function(lambda x: x @ x)
for function in (double, square):
    print(function.run(np.ones((3, 3)), engine="compiled").status, "scipy.linalg" in sys.modules)
"""


@pytest.mark.full
def test_programs_import_no_linear_algebra() -> None:
    """Programs on arrays do not import SciPy's linear algebra, which takes a tenth of a second; matrix products find
    its BLAS without it."""
    command = [sys.executable, "-c", WITHOUT_SCIPY]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == [
        "Returned", "False", "Returned", "False",
    ]  # fmt: skip


GENERATED = """
import sys
sys.path.insert(0, sys.argv[1])
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from support.generators.effect_programs import Witness
from support.generators.compiled_cases import KINDS
from tagloom.core.graph.lower import lower
from tagloom.core.value import fingerprint
from tagloom.interp.engines.compiled.run import run_compiled
patient = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
@settings(max_examples=40, phases=[Phase.generate], **patient)
@seed(5)
@given(st.one_of(*KINDS.values()))
def check(case):
    outcome = run_compiled(case.program, lower(case.program), case.arguments, world=Witness())
    if outcome is None:
        print("left")
    else:
        print(outcome.status, [None if each is None else fingerprint(each) for each in outcome.results])
check()
"""


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_generated_programs_in_a_second_process(tmp_path: Path) -> None:
    """A second process runs generated programs from disk with the same results."""
    tests = str(Path(__file__).parents[3])
    environment = os.environ | {"TAGLOOM_CACHE": str(tmp_path), "PATH": ""}
    actual = []
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, "-c", GENERATED, tests], capture_output=True, text=True, timeout=500, env=environment
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        actual.append(ran.stdout)
    assert actual[0] == actual[1] and len(actual[0].splitlines()) > 20
