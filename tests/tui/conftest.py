"""A folder with right and wrong programs, and the command line in the process of the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pytest
from tagloom.tui.cli.main import main

HEAD = "import tagloom as tl\n\n"
FILES = {
    "add.py": """
@tl.function
def add(x: tl.int64, y: tl.int64) -> tl.int64:
    return x + y
""",
    "fib.py": """
@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def main(n: tl.int64) -> tl.int64:
    return fib(n) + 1
""",
    "acts.py": """
@tl.function
def chain(n: tl.int64) -> tl.int64:
    cells = tl.put(tl.cells(n + 1, tl.int64), n, 1)
    cells, _ = tl.while_loop(
        lambda a, j: j < n, lambda a, j: (tl.put(a, j, 2 * a[j + 1]), j + 1), cells, 1, parallel_iterations=5
    )
    return cells[1]


@tl.function
def twice(n: tl.int64) -> tl.int64:
    return chain(n) + chain(n + 1)


@tl.function
def told(n: tl.int64) -> tl.int64:
    def body(i):
        tl.print("i is", i)
        return i + 1

    (i,) = tl.while_loop(lambda i: i < n, body, 0)
    return i


@tl.function
def dice(n: tl.int64) -> tl.int64:
    return tl.integers(1, n * 1000)
""",
    "kinds.py": """
@tl.function
def negative(x: tl.int64) -> tl.int64:
    return -x


@tl.function
def half(x: tl.float64) -> tl.float64:
    return x / 2


@tl.function
def flip(p: tl.bool) -> tl.bool:
    return ~p


@tl.function
def doubled(v: tl.Array[tl.int64, None]) -> tl.Array[tl.int64, None]:
    return v + v


@tl.function
def both(x: tl.int64) -> tuple[tl.int64, tl.bool]:
    return x + 1, x < 3


@tl.function
def nothing() -> tl.int64:
    return tl.cond(True, lambda: 7, lambda: 8)


@tl.function
def anything(x):
    return tl.add(x, x)


@tl.function
def word(n):
    return ("odd" if n % 2 else None), (("pair", n) if n > 2 else ())
""",
    "arrays.py": """
Pair = tl.Array[tl.int64, 2]


@tl.function
def thirds(xs: tl.Array[tl.float64, 3], y: tl.float64) -> tl.float64:
    return tl.sum((xs / 3.0) * y) / (tl.sum(xs) * y) * 1.0


@tl.function
def walk(left: Pair, right: Pair, values: Pair, i: tl.int64) -> tl.int64:
    return tl.cond(i < 0, lambda: 0, lambda: values[i] + walk(left, right, values, i - 1))
""",
    "ends.py": """
@tl.function
def divide(x: tl.int64, y: tl.int64) -> tl.int64:
    return x // y


@tl.function
def partly(x: tl.int64) -> tuple[tl.int64, tl.int64]:
    return 1 // x, x


@tl.function
def traps(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + 1 // (i * 0)), 0, 0)[1]


@tl.function
def endless(n: tl.int64) -> tl.int64:
    return n * endless(n)


@tl.function
def first(x: tl.int64, y: tl.int64) -> tl.int64:
    return tl.cond(x <= 1, lambda: 1, lambda: first(x - 1, first(x, y)))


@tl.function
def careless(n: tl.int64) -> tl.int64:
    tl.floor_divide(1, n)
    later = tl.floor_divide(2, n * 0)
    tl.while_loop(lambda i: i < 9, lambda i: i + 1, 0)
    return n
""",
    "graphs.py": """
from tagloom.core.value import literal

INT, BOOL = tl.Type(tl.int64), tl.Type(tl.bool)


def make_double():
    builder = tl.GraphBuilder("double")
    x = builder.argument("x", INT)
    (y,) = builder.node("add", "y", [x, x], [INT])
    return builder.build([y])


def make_race():
    builder = tl.GraphBuilder("race")
    x = builder.argument("x", INT)
    (m,) = builder.node("merge", "m", [x, x], [INT])
    return builder.build([m])


def make_stuck():
    builder = tl.GraphBuilder("stuck")
    x = builder.argument("x", INT)
    (p,) = builder.node("less", "p", [x, literal(3)], [BOOL])
    taken, other = builder.node("switch", "s", [x, p], [INT, INT])
    (total,) = builder.node("add", "total", [taken, other], [INT])
    return builder.build([total])


double, race, stuck = make_double(), make_race(), make_stuck()
""",
    "none.py": "x = 3\n",
    "imports.py": "from add import add\n",
    "divides.py": "\nx = 1 // 0\n",
    "converts.py": "\nint('x')\n",
    "misses.py": "\nimport a_module_that_is_not_there\n",
    "exits.py": "\nimport sys\n\nsys.exit()\n",
    "recurses.py": "\ndef f():\n    return f()\n\n\nf()\n",
    "syntax.py": "def f(:\n",
    "if.py": """
@tl.function
@tl.autograph.do_not_convert
def f(n: tl.int64) -> tl.int64:
    if n > 3:
        return n
    return n + 1
""",
    "traced.py": """
@tl.function
def misspelt(n: tl.int64) -> tl.int64:
    return n + m


@tl.function
def quits(n: tl.int64) -> tl.int64:
    raise SystemExit(5)


def plain(n):
    return tl.cond(n < 1, lambda: n, lambda: plain(n - 1))


@tl.function
def forever(n: tl.int64) -> tl.int64:
    return plain(n)


@tl.function
def untyped(n: tl.int64):
    return untyped(n - 1)
""",
    "note.txt": "nothing",
}


class CommandRun(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str


CommandLine: TypeAlias = Callable[..., CommandRun]


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of the user is read or written."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the files, which is the working directory."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(HEAD + text)
    (tmp_path / "bytes.py").write_bytes(b'import tagloom as tl\nx = "\xff\xfe"\n')
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "folder.svg").mkdir()
    np.save(tmp_path / "numbers.npy", np.array([1, 2, 3]))
    np.save(tmp_path / "floats.npy", np.array([1.0, 2.0], dtype=np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tagloom(folder: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """`tagloom("run", "add.py", "2", "3")` is the command line, in this process."""

    def command(*words: str) -> CommandRun:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(words)
        code = ended.value.code
        assert isinstance(code, int)
        return CommandRun(code, *capsys.readouterr())

    return command
