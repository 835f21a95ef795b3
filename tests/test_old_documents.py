"""Documents that earlier revisions wrote still load with the same meaning: programs, graphs, outcomes, logs, text and
checkpoints. `tests/documents` has a folder for each revision; its documents are never rewritten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.tui.cli.main import app
from typer.testing import CliRunner

FOLDER = Path(__file__).parent / "documents"
NAMES = sorted(path for path in FOLDER.glob("*/*.tl"))
RUNS = {"fib": (4,), "total": (3,), "slope": (2.0,), "quotient": (0,), "chain": (6,)}

each_program = pytest.mark.parametrize("path", NAMES, ids=lambda path: f"{path.parent.name}-{path.stem}")


class Net:
    """The objects of the checkpoint, with other values."""

    def __init__(self) -> None:
        self.w = tl.Variable([0.0, 0.0, 0.0])
        self.layers: list[Any] = [tl.Variable(np.zeros(4, np.int8)), {"k": tl.Variable(False)}]
        self.w2 = tl.Variable([0.0, 0.0])
        self.optimizer = tl.optimizers.Adam(0.1)


@each_program
def test_programs_and_graphs(path: Path) -> None:
    """The JSON and text forms of a program are still one program, and its graph is what lowering gives today."""
    program = tl.read_json(path.with_suffix(".program.json"))
    assert isinstance(program, tl.Program)
    text = tl.parse(path.read_text(encoding="utf-8"))[program.entry]
    assert tl.print_program(text) == tl.print_program(program)
    assert tl.read_json(path.with_suffix(".graph.json")) == tl.lower(program)


@each_program
def test_outcomes_and_logs(path: Path) -> None:
    """A run today ends as the outcome says, and every event of the log happens again."""
    graph = tl.read_json(path.with_suffix(".graph.json"))
    outcome = tl.read_json(path.with_suffix(".outcome.json"))
    log = tl.read_events(path.with_suffix(".jsonl"))
    again = tl.run_graph(graph, RUNS[path.stem], seed=7, keep="events")
    assert outcome.status == again.status
    assert list(map(str, log.events)) == list(map(str, again.events))


@each_program
def test_the_command_checks_a_log(path: Path) -> None:
    """`tagloom check` accepts the log as lines, and as columns if there are any."""
    for log in (path.with_suffix(".jsonl"), path.with_suffix(".npz")):
        assert not log.exists() or CliRunner().invoke(app, ["check", str(log)]).exit_code == 0


def test_old_keys() -> None:
    """The old keys `parked` and `held` are read as `deferred` and `throttled`, in logs of both kinds and in
    outcomes."""
    (path,) = (path for path in NAMES if path.stem == "chain")
    text = path.with_suffix(".jsonl").read_text(encoding="ascii")
    assert (text.count('"parked":'), text.count('"held":')) == (6, 6)
    columns = tl.read_events(path.with_suffix(".npz"))
    assert list(map(str, columns.events)) == list(map(str, tl.read_events(path.with_suffix(".jsonl")).events))
    residue = tl.to_json(tl.read_json(path.with_suffix(".outcome.json")))["residue"]
    assert {key for row in residue for entry in row[4:] for key in entry} == {"deferred", "throttled"}


@pytest.mark.parametrize("change", ["both", "false"])
def test_wrong_old_keys_are_refused(change: str, tmp_path: Path) -> None:
    """An old key beside its new one is refused, and so is one that says what the machine does not do."""
    (path,) = (path for path in NAMES if path.stem == "chain")
    text = path.with_suffix(".jsonl").read_text(encoding="ascii")
    line = {"both": '"held":true,"throttled":true', "false": '"held":false'}[change]
    log = tmp_path / "run.jsonl"
    log.write_text(text.replace('"held":true', line, 1), encoding="ascii")
    with pytest.raises({"both": tl.Malformed, "false": tl.Disagreement}[change]):
        tl.read_events(log)


@pytest.mark.parametrize("folder", sorted(FOLDER.iterdir()), ids=lambda folder: folder.name)
def test_checkpoints(folder: Path) -> None:
    """Every variable of a checkpoint is restored, with all its bits; the state of the optimizer as well."""
    net, step = Net(), tl.Variable(0)
    net.optimizer.make_slots(net.w2)
    report = tl.Checkpoint(net=net, step=step).restore(folder / "net.safetensors")
    assert int(step) == 3
    assert np.asarray(net.w).tobytes() == np.array([0.5, -0.0, np.inf]).tobytes()
    assert np.asarray(net.layers[0]).tolist() == [0, 1, 2, 3] and bool(net.layers[1]["k"])
    assert np.asarray(net.w2).tolist() == [0.7015862729460303, 1.7006233920464653]
    assert int(net.optimizer.slots["variable"]["count"]) == 3
    report.check()
