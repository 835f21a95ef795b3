"""The programs of papers_examples/eager do what their EXPECTED, their EAGER and the tables of the README say."""

from __future__ import annotations

import functools
import shlex
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.programs.papers import EXAMPLES, of_paper
from tagloom.tui.cli import main as cli

FOLDER = EXAMPLES / "eager"
load = functools.partial(of_paper, "eager")
FILES = sorted(path.stem for path in FOLDER.glob("*.py"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")
SCHEDULES = ("waves", "fifo", "lifo", "random:1")
ROWS = [line.split(" | ") for line in README.split("| program |")[1].split("\n\n")[0].splitlines()[2:]]


def plain(value: Any) -> Any:
    """Arrays as lists."""
    return tuple(map(plain, value)) if isinstance(value, tuple) else np.asarray(value).tolist()


@pytest.mark.inner(first=8)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", FILES)
def test_results_are_as_expected(name: str, schedule: str) -> None:
    """Graphs have the expected results under every schedule, without residue."""
    for row in load(name).EXPECTED:
        function, *arguments = row["run"]
        out = getattr(load(name), function).run(*arguments, schedule=schedule)
        assert (out.status, plain(out.value), out.residue) == ("Returned", row["result"], ()), row


@pytest.mark.full
@pytest.mark.parametrize("name", FILES)
def test_eager_results_are_as_expected(name: str) -> None:
    """Eager calls have the expected results."""
    for call, result in load(name).EAGER:
        assert plain(call()) == result


@pytest.mark.full(first=3)
@pytest.mark.parametrize("name", FILES)
def test_the_readme_has_the_tables(name: str) -> None:
    """The README has the tables that a file prints."""
    command = [sys.executable, str(FOLDER / f"{name}.py")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert name == "selection" or all(f"\n{line}\n" in README for line in filter(None, ran.stdout.splitlines()))


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2])
def test_the_readme_s_commands_print_its_results(
    row: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of the README's first table print its results, and then the values of variables."""

    monkeypatch.chdir(FOLDER)
    cli.app(["run", *shlex.split(row[2].strip("` "))], standalone_mode=False)
    first, *variables = capsys.readouterr().out.splitlines()
    assert first == row[3].strip("| ")
    assert variables == {"counter.py": ["count: 3"], "l2hmc.py": ["count: 3"]}.get(row[2].strip("` ").split()[0], [])


@pytest.mark.full
def test_one_flag_gives_two_graphs() -> None:
    """The graph for evaluating draws nothing, and the one for training keeps a fifth."""
    module = load("lossy_matmul")
    drawn = [{node.op for node in function.graph.nodes} for function in (module.evaluating, module.main)]
    assert ["uniform" in ops for ops in drawn] == [False, True]
    kept = [module.main.run(module.ONES, module.ONES, seed=seed).value for seed in range(50)]
    assert [module.lossy_matmul(module.ONES, module.ONES, False)[0, 0] for _ in range(2)] == [4.0, 4.0]
    assert module.lossy_matmul.explain().startswith("lossy_matmul: 1 specialization")
    module.lossy_matmul.trace(module.ONES, module.ONES, True)
    assert "unlike 1: training was False, and is True" in module.lossy_matmul.explain()
    assert {float(each) for result in kept for each in result.flat} == {0.0, 20.0}
    assert 0.15 < np.mean([result > 0 for result in kept]) < 0.25


def test_noise_of_numpy_is_a_literal() -> None:
    """`tl.uniform` draws other numbers for each seed and in each iteration, alike under every schedule."""
    module = load("add_noise")
    assert not module.frozen.program.main.body.nodes[0].inputs == ()
    assert len({module.frozen.run(0.0, seed=seed).value for seed in range(9)}) == 1
    assert len({module.main.run(0.0, seed=seed).value for seed in range(9)}) == 9
    walked = [[module.walk.run(0.0, n, schedule=each).value for n in range(5)] for each in SCHEDULES]
    assert all(each == walked[0] for each in walked)
    assert len({round(step, 12) for step in np.diff(walked[0])}) == 4


def test_weights_are_created_once() -> None:
    """An input of another length gives another trace of a network, and no further weights. A new network is restored
    while it creates its weights."""
    module = load("net")
    net = module.Net()
    for xs, ys in ((module.XS, module.YS), (module.XS[:2], module.YS[:2])):
        net.step(xs, ys)
    assert (net.w.shape, net.b.shape) == ((1, 1), (1,))
    assert len(net.step.explain().split("unlike")) == 2
    assert module.restore_net() == (("net.b", "net.w"), 21.0)
    assert module.LOSSES[0] == 21.0 and module.LOSSES[-1] < 1e-6


@pytest.fixture
def sampler() -> Any:
    return load("l2hmc").Sampler(np.random.default_rng(1).normal(size=(5, 2)), seed=3, step=0.3)


@pytest.mark.full
def test_staging_changes_no_numbers() -> None:
    """Losses, samples and all weights after three steps are those of a tape."""
    module = load("l2hmc")
    one, other = (module.Sampler(np.ones((6, 2)), seed=2) for _ in range(2))
    for _ in range(3):
        assert float(one.eager(1e-4)) == pytest.approx(float(other.staged(1e-4)), rel=1e-9)
    assert np.asarray(one.samples) == pytest.approx(np.asarray(other.samples), rel=1e-9)
    for left, right in zip(one.variables, other.variables, strict=True):
        assert np.asarray(left) == pytest.approx(np.asarray(right), rel=1e-9, abs=1e-12)


def after_leapfrogs(sampler: Any, x: Any, v: Any, ahead: bool, steps: int) -> Any:
    """The position after this many leapfrog steps, forwards or back, and the logarithm of the change of volume."""
    side, grown = np.full((len(x), 1), ahead), np.zeros(len(x))
    for k in range(10 - steps if not ahead else 0, 10 if not ahead else steps):
        _, x, v, grown = sampler.leapfrog(k, x, v, grown, side)
    return np.asarray(x), np.asarray(v), np.asarray(grown)


@pytest.mark.full
def test_leapfrog_steps_are_reversible(sampler: Any) -> None:
    """A step back is the inverse of one forwards, also in its change of volume, which is the determinant of the
    step."""
    x, v = np.asarray(sampler.samples), np.random.default_rng(2).normal(size=(5, 2))
    there, w, grown = after_leapfrogs(sampler, x, v, True, 3)
    back, u, same = after_leapfrogs(sampler, there, w, False, 3)
    assert np.abs(there - x).max() > 0.1 and np.abs(grown).max() > 0.01
    assert back == pytest.approx(x) and u == pytest.approx(v) and same == pytest.approx(grown)

    def moved(z: Any) -> Any:
        there, w, _ = after_leapfrogs(sampler, z[None, :2], z[None, 2:], True, 3)
        return np.concatenate([there[0], w[0]])

    start = np.concatenate([x[0], v[0]])
    slopes = [(moved(start + 1e-6 * way) - moved(start - 1e-6 * way)) / 2e-6 for way in np.eye(4)]
    assert np.log(abs(np.linalg.det(np.array(slopes)))) == pytest.approx(grown[0], rel=1e-4)


@pytest.mark.full
def test_a_sampler_with_a_wrong_volume_is_caught(sampler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that leaves out the change of volume of one half step is caught."""
    kick = sampler.kick
    monkeypatch.setattr(sampler, "kick", lambda *operands: (kick(*operands)[0], np.zeros(len(operands[0]))))
    with pytest.raises(AssertionError):
        test_leapfrog_steps_are_reversible(sampler)
