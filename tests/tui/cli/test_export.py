"""`tagloom show -o` of a file that another system reads: a model, or a script."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LOOP = """
func main(n: int64) -> int64 {
  i, s, m = while_loop 0, 0, n {
    while(i: int64, s: int64, n: int64) {
      p = less i, n
      yield p
    }
    do(i: int64, s: int64, n: int64) {
      j = add i, 1
      t = add s, i
      yield j, t, n
    }
  }
  return s
}
"""


@pytest.fixture
def program(folder: Path) -> str:
    (folder / "sum.tl").write_text(LOOP)
    return "sum.tl"


def test_a_script(tagloom: Any, folder: Path, program: str) -> None:
    """Without arguments a script defines `main`; with arguments it checks the results, and fails on others."""
    assert tagloom("show", program, "-o", "x.py") == (0, "", "")
    assert runpy.run_path(str(folder / "x.py"))["main"](5) == (10,)
    assert tagloom("show", program, "5", "-o", "x.py") == (0, "", "")
    run = subprocess.run([sys.executable, "x.py"], cwd=folder, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "10 and 10 is right\n"), run.stderr
    (folder / "x.py").write_text((folder / "x.py").read_text().replace("main(np.int64(5)", "main(np.int64(4)"))
    assert subprocess.run([sys.executable, "x.py"], cwd=folder, capture_output=True).returncode == 1


def test_a_script_knows_signs_of_zeros(tagloom: Any, folder: Path) -> None:
    """A script fails where a zero has the other sign, and takes all NaNs for one value, as the policy does."""
    (folder / "zero.tl").write_text(
        "func main(x: float64, y: bool) -> float64, bool {\n  z = negative x\n  return z, y\n}\n"
    )
    for argument, other, code in (("0.0", "-0.0", 1), ("0.0", "0.0", 0), ("nan", "float('nan')", 0)):
        assert tagloom("show", "zero.tl", argument, "true", "-o", "x.py") == (0, "", "")
        text = (folder / "x.py").read_text()
        (folder / "x.py").write_text(text.replace("main(np.float64(0.0)", f"main(np.float64({other})"))
        assert subprocess.run([sys.executable, "x.py"], cwd=folder, capture_output=True).returncode == code, argument


def test_a_script_in_another_system(tagloom: Any, folder: Path, program: str) -> None:
    """`--system` names the API of the script."""
    assert tagloom("show", program, "-o", "x.py", "--system", "jax") == (0, "", "")
    assert "lax.while_loop" in (folder / "x.py").read_text()
    refused = tagloom("show", program, "-o", "x.py", "--system", "fortran")
    assert refused.code == 2 and "no system in Python is called 'fortran'" in refused.err


@pytest.mark.parametrize(
    "words, message",
    [
        (("-o", "x.onnx", "--system", "jax"), "--system is only for scripts in Python"),
        (("--system", "jax"), "--system is only for scripts in Python"),
        (("3", "-o", "x.mlir", "--form", "unfolded"), "a file for another system contains the whole program"),
        (("3", "-o", "x.py", "--at", "2"), "a file for another system contains the whole program"),
        (("-o", "x.py", "--form", "code"), "a file for another system contains the whole program"),
        (("-o", "x.py", "--ascii"), "a file for another system contains the whole program"),
    ],
)
def test_options_that_do_not_apply(tagloom: Any, folder: Path, program: str, words: Any, message: str) -> None:
    """An option that says nothing about the file is refused, and so is another form: converted code is not a script."""
    refused = tagloom("show", program, *words)
    assert refused.code == 2 and message in refused.err and not list(folder.glob("x.*"))


def test_the_program_is_not_replaced(tagloom: Any, folder: Path) -> None:
    """A script never takes the place of the Python file that it is made from, by whatever path."""
    text = (folder / "fib.py").read_text()
    for output in ("fib.py", str(folder / "fib.py")):
        refused = tagloom("show", "fib.py:fib", "3", "-o", output)
        assert refused.code == 2 and "the output would replace the program" in refused.err
    assert (folder / "fib.py").read_text() == text


def test_a_model(tagloom: Any, folder: Path, program: str) -> None:
    """A .onnx file is a model that the evaluator of the `onnx` package runs."""
    pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    assert tagloom("show", program, "-o", "x.onnx") == (0, "", "")
    import numpy as np

    assert ReferenceEvaluator(str(folder / "x.onnx")).run(None, {"n": np.int64(5)}) == [10]


def test_what_cannot_be_said(tagloom: Any, folder: Path) -> None:
    """What the other system cannot say is bad usage, with the reason and its kind."""
    refused = tagloom("show", "fib.py:fib", "-o", "x.py", "--system", "jax")
    assert refused.code == 2 and not (folder / "x.py").exists()
    assert "this program cannot be written as .py: fib is recursive, and this target has no recursion" in refused.err
    assert "(fib.py:fib)" in refused.err and "got: construct" in refused.err


def test_a_refused_op_has_its_line(tagloom: Any, folder: Path) -> None:
    """The error names the line of the op that the system lacks."""
    (folder / "f.tl").write_text(
        'func main(x: float64[3]) -> int64[3] {\n  k = searchsorted x, x, side="left"\n  return k\n}\n'
    )
    refused = tagloom("show", "f.tl", "-o", "x.mlir")
    assert '`k = searchsorted x, x, side="left"` needs searchsorted of float64' in refused.err
    assert "(f.tl:2)" in refused.err


def test_a_script_needs_results(tagloom: Any, folder: Path) -> None:
    """A script with arguments checks results: a run that traps has none."""
    (folder / "trap.tl").write_text("func main(n: int64) -> int64 {\n  y = floor_divide n, 0\n  return y\n}\n")
    refused = tagloom("show", "trap.tl", "1", "-o", "x.py")
    assert refused.code == 2 and "a script checks results, and this run has none" in refused.err
