"""The benchmark suite: each benchmark runs one row, its output has the documented form, and wrong values are caught."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parent / "benchmarks"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The modules of the suite, which import each other as scripts do; modules of other tests with the same names are
    hidden."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setitem(sys.modules, "peers", None)
    return {name: importlib.import_module(name) for name in ("rows", "conduct", "table", "promises")}


@pytest.mark.full
def test_a_row_makes_a_table(tmp_path: Path) -> None:
    """Without peers, a benchmark takes seconds: it prints a table of the requested systems with promises below it, and
    saves all samples as JSON."""
    target = tmp_path / "all.json"
    command = [sys.executable, str(FOLDER / "peers.py"), "--quick", "--only", "scalar", "--json", str(target)]
    ran = subprocess.run([*command, "--systems", "tagloom", "plain"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    blocks = ran.stdout.split("\n\n")
    header, dashes, *lines = next(block for block in blocks if block.startswith("| system |")).splitlines()
    assert {line.count("|") for line in (header, dashes, *lines)} == {7}
    assert [line.split(" | ")[0] for line in lines] == [
        "| reference",
        "| fast, lifo",
        "| fast, waves",
        "| compiled",
        "| CPython",
    ]
    assert all(line.split(" | ")[2] for line in lines), "a system has no figure"
    assert blocks[-1].startswith("Promises: ")
    document = json.loads(target.read_text())
    assert set(document) == {"machine", "versions", "effort", "promises", "rows", "starts", "memory"}
    assert all(rung["seconds"] for system in document["rows"]["scalar"].values() for rung in system["rungs"])


@pytest.mark.heavy
def test_cores_make_a_table() -> None:
    """The benchmark of cores prints a row for each program, with a figure for each way to run it."""
    ran = subprocess.run([sys.executable, str(FOLDER / "cores.py"), "--quick"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    _, table, processors = ran.stdout.split("\n\n")
    _, _, *lines = table.splitlines()
    assert len(lines) == 7
    assert all(float(figure) > 0 for line in lines for figure in line.strip("| ").split(" | ")[2:])
    assert processors.startswith("Processor time")


@pytest.mark.heavy
def test_blocks_make_a_table() -> None:
    """The benchmark of blocks prints a row for each program, after it has compared the statistics of both ways."""
    ran = subprocess.run([sys.executable, str(FOLDER / "blocks.py"), "--quick"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    _, table = ran.stdout.split("\n\n")
    _, _, *lines = table.splitlines()
    assert len(lines) == 8
    assert all(float(figure) > 0 for line in lines for figure in line.strip("| ").split(" | ")[2:])


GPU_STEPS = [
    "surroundings", "correctness", "Collatz, mapped", "fib by hand", "tak(24, 16, 8)",
    "1,000 loops of 1,000 iterations in a loop", "parts of a wave", "tools",
]  # fmt: skip
"""A step of each kind."""
GPU_WAYS = ["cuda, waves", "cuda, lifo", "fast, lifo", "fast, all cores", "compiled"]


@pytest.mark.heavy
def test_gpu_writes_a_document(tmp_path: Path) -> None:
    """The benchmark of a GPU, on the simulator: every step has figures or says why not, and all ways to run a program
    have the same value."""
    target, environment = tmp_path / "gpu.json", {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, str(FOLDER / "gpu.py"), "--quick", "--json", str(target), "--only", *GPU_STEPS]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    steps = json.loads(target.read_text())["steps"]
    assert set(steps) == set(GPU_STEPS) and not any("skipped" in found for found in steps.values())
    tak = steps["tak(24, 16, 8)"]
    assert tak["agree"] and all(way["value"] == 2 and way["seconds"] for way in map(tak.get, GPU_WAYS))
    assert sum(tak["cuda, lifo"]["kernel_seconds"].values()) > 0 < tak["cuda, waves"]["bytes_allocated"]
    assert "call themselves" in steps["1,000 loops of 1,000 iterations in a loop"]["cuda, lifo"]["refused"]
    assert sum(steps["correctness"]["programs"].values()) and not steps["correctness"]["wrong"]
    mapped = steps["Collatz, mapped"]["8 elements"]
    assert {mapped[name]["value"] for name in ("cuda", "compiled", "by hand")} == {0 + 1 + 7 + 2 + 5 + 8 + 16 + 3}
    assert steps["fib by hand"]["value"] == 34
    parts = steps["parts of a wave"]
    assert [parts[name]["value"] for name in ("as it is", "counters off", "profile off")] == [8, 8, 8]


@pytest.mark.heavy
def test_trees_make_a_table() -> None:
    """The benchmark of trees prints a row, after it has compared the values of all systems."""
    ran = subprocess.run([sys.executable, str(FOLDER / "trees.py"), "--quick"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    _, table = ran.stdout.split("\n\n")
    header, _, line = table.strip().splitlines()
    assert "fast without batches" in header and line.startswith("| treernn, 2 | ")


@pytest.mark.heavy
def test_auto_keeps_its_promise() -> None:
    """Where nothing is compiled, a thousand calls of a training step take 1.3 times what `compiled` takes, and what the
    reference takes while it is compiled, at most."""
    ran = subprocess.run([sys.executable, str(FOLDER / "auto.py")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    _, calls, table, *_, verdict = ran.stdout.split("\n\n")
    assert calls.startswith("1000 calls of ") and len(table.splitlines()) == 4 and "promised 1.3: met." in verdict


@pytest.mark.full
def test_gradients_make_a_table() -> None:
    """The benchmark of gradients prints for each program a line for each engine and size; the number of waiting tokens
    is proportional to activations."""
    ran = subprocess.run([sys.executable, str(FOLDER / "gradients.py"), "--quick"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    _, _, *lines = ran.stdout.split("\n\n")[1].splitlines()
    each = [float(line.strip("| ").split(" | ")[4]) for line in lines]
    assert len(each) == 12
    assert all(abs(more / few - 1) < 0.03 for few, more in zip(each[::2], each[1::2], strict=True))


@pytest.mark.full
def test_eager_makes_a_table() -> None:
    """The eager benchmark prints a line for each op, shape and dtype, with median and minimum for each system; missing
    systems are left out, and promises that compare with them are not measured."""
    command = [sys.executable, str(FOLDER / "eager.py"), "--quick", "--only", "add", "reshape"]
    ran = subprocess.run([*command, "--systems", "numpy", "tagloom"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    *_, table, _, text = ran.stdout.strip().split("\n\n")
    header, _, *lines = table.splitlines()
    assert header.startswith("| op | shape | dtype | NumPy | tagloom | tagloom, tape |") and len(lines) == 6
    figures = [figure.rstrip(")").split(" (") for line in lines for figure in line.split(" | ")[3:6]]
    assert all(float(median) >= float(least) > 0 for median, least in figures)
    assert text == "Promises: 0 met, 0 missed, 2 not measured."


def test_wrong_values_are_not_timed(modules: dict[str, ModuleType]) -> None:
    """A system whose value differs from CPython's is removed and reported; integers must be equal, other values up to
    rounding."""
    conduct = modules["conduct"]

    def found(value: object) -> object:
        return conduct.RowResult([conduct.Rung((10,), 10, 1.0, [1.0], value)])

    systems = {"numba": found(7), "CPython": found(8)}
    conduct._compare(systems)
    assert systems["numba"].unable.startswith("WRONG")
    assert not systems["numba"].rungs
    assert systems["CPython"].rungs
    assert not conduct.same(2**62, 2**62 + 1)
    assert conduct.same([[3], 1.0, 2.0], [[3], 1.0, 2.0000001])
    assert not conduct.same([[3], 1.0, 2.0], [[3], 1.0, 2.1])
    assert not conduct.same([[3], 1.0], 1.0)


def test_promises(modules: dict[str, ModuleType]) -> None:
    """A promise is met, missed or not measured; a firing of TensorFlow counts dead nodes, as documented."""
    conduct, promises = modules["conduct"], modules["promises"]

    def found(seconds: float, firings: tuple[float, float] | None = None) -> object:
        return conduct.RowResult([conduct.Rung((100,), 100, 1.0, [seconds], 0, firings)])

    row = {"compiled": found(1.0), "numba": found(0.8), "JAX": found(2.0)}
    row |= {"fast, lifo": found(1.0, (1000.0, 1000.0)), "TF Session": found(13.0, (1000.0, 1300.0))}
    texts = {promise.text: promise.line({"scalar": row})[1:] for promise in promises.PROMISES}
    assert texts["compiled / numba by hand, scalar loop, at most 1.1"] == ["1.25", "missed"]
    assert texts["compiled / JAX, scalar loop, at most 1"] == ["0.5", "met"]
    assert texts["compiled / XLA of TensorFlow, scalar loop, at most 1"] == ["", "not measured"]
    begin = "fast, lifo: firings in the time of one firing of TensorFlow's executor, scalar; at least 12 (goal 20)"
    assert texts[f"{begin}; live ones only"] == ["13", "met"]
    assert texts[f"{begin}; dead ones counted"] == ["10", "missed"]


def test_promises_of_training_and_of_ops(modules: dict[str, ModuleType]) -> None:
    """The promise about a training step compares with the fastest staging system; the one about ops takes the worst
    op."""
    conduct, promises = modules["conduct"], modules["promises"]

    def found(seconds: float) -> object:
        return conduct.RowResult([conduct.Rung((10,), 10, seconds + 0.5, [seconds], 0)])

    rows = {"softmax": {"compiled": found(0.9), "JAX": found(1.0), "tf.function": found(2.0), "PyTorch": found(0.1)}}
    rows["l2hmc"] = {"compiled": found(1.0), "eager": found(9.0)}
    texts = {promise.text: promise.line(rows)[1:] for promise in promises.TRAINING}
    assert texts["a step, compiled / the best of JAX and tf.function: softmax, batch 10, at most 1"] == ["0.9", "met"]
    assert texts["a step, op by op / compiled: l2hmc, 10 samples, at least 10"] == ["9", "missed"]
    assert texts["first call of compiled, s: softmax, at most 1"] == ["0.5", "met"]
    assert promises.summary_line(rows, promises.TRAINING) == f"2 met, 1 missed, {len(texts) - 3} not measured"
    ops = {"x + y": {"tagloom": 1.0, "PyTorch": 1.0}, "exp(x)": {"tagloom": 1.6, "PyTorch": 1.0}}
    assert [promise.line(ops)[1:] for promise in promises.EAGER] == [["1.6", "missed"], ["", "not measured"]]


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("row", ["softmax", "treernn", "l2hmc"])
def test_eager_and_staged_training_steps_agree(
    modules: dict[str, ModuleType], row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training step has the same loss and parameters op by op and as a graph; another learning rate is caught."""
    ours, data, worker = (importlib.import_module(name) for name in ("systems.tagloom", "training_data", "worker"))
    size = modules["rows"].ROWS[row].ladder[0]
    staged = worker.digest(ours.build("reference", row, size).run())
    assert modules["conduct"].same(worker.digest(ours.build("eager", row, size).run()), staged)
    monkeypatch.setattr(data, "RATE", 0.2)
    assert not modules["conduct"].same(worker.digest(ours.build("eager", row, size).run()), staged)


def test_the_table_of_staging(modules: dict[str, ModuleType]) -> None:
    """The table tells how many times as long a step takes op by op, here and in the best of the other systems; nothing
    is printed for what was not measured."""
    conduct, training = modules["conduct"], importlib.import_module("training")
    seconds = {"eager": 0.05, "reference": 0.1, "compiled": 0.001, "TF eager": 0.3}
    actual = {name: conduct.RowResult([conduct.Rung((10,), 10, 1.0, [each], 0)]) for name, each in seconds.items()}
    *_, few, many = training.gains({"l2hmc": actual}).splitlines()
    assert few == "| l2hmc | 10 | 50 | 0.5 |  | 50 |  |"
    assert many == "| l2hmc | 200 |  |  |  |  |  |"
    assert training.ratios({"l2hmc": actual}).splitlines()[2:] == ["| l2hmc | 10 | 1 | TF eager | 300.00 |"]


def test_sizes_of_rows(modules: dict[str, ModuleType]) -> None:
    """Sizes grow, printed sizes are on the ladder, and the stated number of calls of a recursion is right."""
    rows = modules["rows"]
    plain = importlib.import_module("systems.plain")
    for row in rows.ROWS.values():
        units = [row.units(*size) for size in row.ladder]
        assert units == sorted(set(units)), row.name
        assert set(row.shown) <= set(row.ladder), row.name
    assert plain.fib(10) == 89
    assert [rows.calls_of_fib(n) for n in (24, 33)] == [150_049, 11_405_773]


@pytest.mark.full
def test_the_cost_of_speculation_that_never_pays_is_measured() -> None:
    """The benchmark of losses prints a row for each function, with the reason why it is given up. Its exit status, and
    whether `add_up` is given up, depend on times, and are not looked at."""
    command = [sys.executable, str(FOLDER / "losses.py"), "--calls", "3", "--count", "100"]
    ran = subprocess.run(command, capture_output=True, text=True)
    _, _, *lines = ran.stdout.splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines]
    assert [row[0] for row in cells] == ["overflow", "search", "generate", "add_up"], ran.stdout + ran.stderr
    assert all(float(row[2].removesuffix(" times")) > 0 for row in cells)
    *rows, add_up = cells
    assert all(row[3] != "None" for row in rows)
    assert add_up[3] == "None" or add_up[3].startswith("a call takes"), add_up


@pytest.mark.heavy
@pytest.mark.timeout(1800)
def test_assumptions_are_dropped_in_turn() -> None:
    """The ablation compares results, and prints the time of a graph without each assumption, and the parallelism."""
    command = [sys.executable, str(FOLDER / "objects.py"), "--seconds", "0.01", "--only", "TreeRNN", "--ablation"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    ways = [line.split(" | ")[1] for line in ran.stdout.splitlines() if line.startswith("| TreeRNN")]
    dropped = ["without shapes", "without classes", "without shapes and classes", "with ranges unrolled"]
    assert sorted(ways) == sorted(["tagloom, eager", "tl.speculate", *dropped, "parallelism"]), ran.stdout
    assert "no graph" not in ran.stdout
    (parallelism,) = re.findall(r"parallelism \| \| (\S+) nodes", ran.stdout)
    assert float(parallelism) > 1
