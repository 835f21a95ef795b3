"""A training that is interrupted at any step and resumed by another process ends with the same bits on each engine."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import killed_training
from support.programs.killed_training import Training

of = tl.optimizers
STEPS = 6
MAKERS = {
    "sgd": lambda: of.SGD(0.1),
    "momentum": lambda: of.Momentum(0.1),
    "adagrad": lambda: of.Adagrad(0.1),
    "adadelta": lambda: of.Adadelta(0.5),
    "rmsprop": lambda: of.RMSProp(0.1, momentum=0.5, centered=True),
    "adam": lambda: of.Adam(0.1),
}


def end_of_training(
    make: Any, breaks: tuple[int, ...], folder: Path, *, left_out: str = "", engine: str = "reference"
) -> list[bytes]:
    """The end of a training with interruptions, each resumed by new objects from the file alone."""
    for end in (*breaks, STEPS):
        result = Training(make())
        objects = {name: part for name, part in vars(result).items() if name != left_out}
        checkpoint = tl.Checkpoint(**objects)
        if (folder / "kept").exists():
            checkpoint.restore(folder / "kept")
        while int(result.done) < end:
            result.step.run(engine=engine)
        checkpoint.save(folder / "kept")
    return result.bits()


@pytest.mark.full
@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.heavy)])
def test_a_training_resumes_at_any_step(engine: str, tmp_path: Path) -> None:
    """The optimizer's slots, which are created at its first step, and the generator's count continue where they
    were."""
    (tmp_path / "whole").mkdir()
    whole = end_of_training(MAKERS["adam"], (), tmp_path / "whole", engine=engine)
    for end in range(STEPS):
        (tmp_path / f"{end}").mkdir()
        assert end_of_training(MAKERS["adam"], (end,), tmp_path / f"{end}", engine=engine) == whole


@pytest.mark.full
@pytest.mark.parametrize("name", MAKERS)
def test_every_optimizer(name: str, tmp_path: Path) -> None:
    """Every optimizer resumes with the state that it keeps between steps."""
    (tmp_path / "whole").mkdir()
    assert end_of_training(MAKERS[name], (2,), tmp_path) == end_of_training(MAKERS[name], (), tmp_path / "whole")


@settings(max_examples=5)
@given(breaks=st.lists(st.integers(0, STEPS - 1), max_size=4).map(sorted).map(tuple))
def test_a_training_resumes_several_times(breaks: tuple[int, ...], tmp_path_factory: pytest.TempPathFactory) -> None:
    """A training resumes after several interruptions, even if it is saved again before a step."""
    folders = [tmp_path_factory.mktemp(name) for name in ("whole", "parts")]
    assert end_of_training(MAKERS["adam"], breaks, folders[1]) == end_of_training(MAKERS["adam"], (), folders[0])


@pytest.mark.full
@pytest.mark.parametrize("left_out", ["optimizer", "batches"])
def test_state_that_is_not_saved_is_missed(left_out: str, tmp_path: Path) -> None:
    """Without the optimizer's slots, or without the generator, the weights differ."""
    (tmp_path / "whole").mkdir()
    whole = end_of_training(MAKERS["adam"], (), tmp_path / "whole")
    assert end_of_training(MAKERS["adam"], (3,), tmp_path, left_out=left_out)[:2] != whole[:2]


def reported_steps(folder: Path, engine: str, times: int) -> list[int]:
    """The steps that the processes of a training report; this many of them are killed at random moments."""
    dice, result = random.Random(times), list[int]()
    parent = subprocess.Popen(
        [sys.executable, killed_training.__file__, folder, engine],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdin is not None and parent.stdout is not None
    with parent:
        for life in range(times + 1):
            print(file=parent.stdin, flush=True)
            child, reply = int(parent.stdout.readline()), iter(parent.stdout.readline, "dead\n")
            if life < times:
                result += map(int, islice(reply, dice.randint(1, 2)))
                time.sleep(dice.random() * 0.01)
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            result += map(int, reply)
        parent.stdin.close()
    return result


@pytest.mark.full
@pytest.mark.parametrize(("engine", "kills"), [("reference", 4), pytest.param("compiled", 2, marks=pytest.mark.heavy)])
def test_a_killed_training_resumes(engine: str, kills: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Processes that are killed at any moment, in a step or while they save, leave a file from which the next one
    continues. The final file is that of a training without interruptions, byte for byte."""
    killed_training.go_on(str(tmp_path / "whole"), engine)
    assert capsys.readouterr().out.split() == [str(step + 1) for step in range(killed_training.STEPS)]
    steps = reported_steps(tmp_path / "parts", engine, kills)
    assert steps == sorted(set(steps)) and len(steps) > kills
    last = f"step-{killed_training.STEPS}.safetensors"
    assert (tmp_path / "parts" / last).read_bytes() == (tmp_path / "whole" / last).read_bytes()
