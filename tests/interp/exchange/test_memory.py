"""The memory that damaged and hostile files need is bounded: in this process, and in those of the parsers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
MOST_BYTES = 2**29
"""The most memory that such files may need, beyond what an undamaged one needs. The files have less than 200 kB."""
MODULES = {
    "onnx": ("interp.exchange.onnx.test_files", "onnx"),
    "stablehlo": ("interp.exchange.stablehlo.test_import", "jaxlib"),
    "tensorflow": ("interp.exchange.tensorflow.test_graphs", "numpy"),
    "torch": ("interp.exchange.torch.test_files", "numpy"),
}
"""By format, the module whose `check_damaged` or `check_damaged_bytes` reads damaged files, and what it needs."""
SCRIPT = """
import json, resource, sys
sys.path.insert(0, sys.argv[1])
import importlib
module = importlib.import_module(sys.argv[2])
check = getattr(module, "check_damaged_bytes", None) or module.check_damaged

def peaks():
    return [1024 * resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]

check(60, 1)
before = peaks()
check(int(sys.argv[3]), int(sys.argv[4]))
print(json.dumps([before, peaks()]))
"""


def peak_growth(name: str, count: int, seed: int) -> Sequence[int]:
    """By how many bytes damaged files raise the peak of the memory of a process, and of its largest child."""
    words = [sys.executable, "-c", SCRIPT, str(TESTS), MODULES[name][0], str(count), str(seed)]
    run = subprocess.run(words, capture_output=True, text=True, cwd=TESTS, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    before, after = json.loads(run.stdout.splitlines()[-1])
    return [late - early for early, late in zip(before, after, strict=True)]


@pytest.mark.heavy
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", MODULES)
def test_memory_of_many_damaged_files(name: str) -> None:
    """2,000 damaged files of each format need little more memory than others."""
    if find_spec(MODULES[name][1]) is None:
        pytest.skip(f"{MODULES[name][1]} is not installed")
    assert max(peak_growth(name, 2_000, 22)) < MOST_BYTES
