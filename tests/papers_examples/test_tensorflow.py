"""The programs of papers_examples/tensorflow do what their EXPECTED and the tables of the README say."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs.papers import EXAMPLES, of_paper_anew
from tagloom.tui.cli import main as cli

FOLDER = EXAMPLES / "tensorflow"
FILES = sorted(path.stem for path in FOLDER.glob("*.py"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")
SCHEDULES = ("waves", "fifo", "lifo", "random:1")
RUNS = [line.split(" | ") for line in README.split("| program |")[1].split("\n\n")[0].splitlines()[2:]]
SLOW = ("digits.py 300",)
LEARNING = ("digits", "parameter_servers")
"""Programs whose tables take long, since they train on the digits."""


def load(name: str) -> ModuleType:
    """A program's file as a new module, since its variables change in each run."""
    return of_paper_anew("tensorflow", name)


def plain(value: Any) -> Any:
    return np.asarray(value).tolist()


def are_close(made: Any, wanted: Any) -> bool:
    """Whether a value is the expected one, but for rounding of floats, since processors add up matrix products in
    different orders."""
    array = np.asarray(made)
    if array.dtype.kind != "f":
        return bool(plain(made) == wanted)
    return array.shape == np.shape(wanted) and np.allclose(array, wanted, rtol=1e-12, atol=0.0)


def rows() -> list[Any]:
    """The rows of EXPECTED in all files; programs that learn run under one schedule."""
    results = []
    for name in FILES:
        for row in getattr(load(name), "EXPECTED", []):
            marks = [pytest.mark.heavy] if row["size"] == "heavy" else []
            some = SCHEDULES[:1] if name == "digits" else SCHEDULES
            results += [pytest.param(name, row, each, marks=marks) for each in some]
    return results


@pytest.mark.inner(first=19)
@pytest.mark.parametrize(("name", "row", "schedule"), rows())
def test_results_are_as_expected(name: str, row: dict[str, Any], schedule: str) -> None:
    """Programs have the expected results under every schedule, without residue."""
    function, *arguments = row["run"]
    out = getattr(load(name), function).run(*arguments, schedule=schedule)
    assert (out.status, out.residue) == ("Returned", ()) and are_close(out.value, row["result"])


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.heavy] if name in LEARNING else []) for name in FILES]
)
def test_the_readme_has_the_tables(name: str) -> None:
    """The README has the tables that a file prints."""
    module = load(name)
    result = module.table()
    assert result and "\n".join((*module.HEADING, *result)) in README


@pytest.mark.full
@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=row[2], marks=[pytest.mark.heavy] if row[2].strip("` ") in SLOW else []) for row in RUNS],
)
def test_the_readme_s_commands_print_its_results(
    row: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of the README's first table print its results."""
    monkeypatch.chdir(FOLDER)
    cli.app(["run", *shlex.split(row[2].strip("` "))], standalone_mode=False)
    printed, expected = capsys.readouterr().out.splitlines()[0], row[3].strip("| ")
    assert printed == expected or ("." in expected and are_close(float(printed), float(expected)))


@pytest.mark.parametrize("name", FILES)
def test_every_file_has_a_docstring(name: str) -> None:
    """Each file has a docstring with its source and its command, and a row in the README's table."""
    module = load(name)
    assert module.__doc__ and "Source: " in module.__doc__ and f"tensorflow/{name}.py" in module.__doc__
    assert isinstance(module.main, tl.Function) and f"({name}.py)" in README


@pytest.mark.full
def test_digits_are_learnt() -> None:
    """Trained step by step, the network recognizes over 95 % of the held-out digits; one program with all steps gives
    the same."""
    module, whole = load("digits"), load("digits")
    right, losses = module.step_by_step(100)
    assert whole.main.run(100, engine="reference").value == int(right)
    for one, other in zip(bits(module), bits(whole), strict=True):
        assert one == other
    assert losses[0] == pytest.approx(np.log(10)) and losses[-1] < 0.3
    for k in range(100, 300):
        module.step(k)
    assert int(module.count_correct()) > 0.95 * len(module.digits()[3])


def bits(module: ModuleType) -> list[bytes]:
    kept = [each for slots in module.optimizer.slots.values() for each in slots.values()]
    return [np.asarray(each).tobytes() for each in (module.w, module.b, *kept)]


def test_branches_that_are_not_taken_do_not_fire() -> None:
    """Nodes outside of a branch always fire, and those in it only if it is taken; a loop in it then gets no token."""
    module, loops = load("cond"), load("loops")
    for function, expected in ((module.main, [[1, 0], [1, 1]]), (module.inside, [[1, 0], [0, 1]])):
        assert [module.products(function, *at) for at in ((2, 3), (3, 2))] == expected
    assert loops.of_loop(False) == 0 < loops.of_loop(True)


@pytest.mark.full
def test_gradients_of_loops() -> None:
    """First and second derivatives of a conditional in a loop are those computed alongside by hand. The gradient by a
    loop's constant is n w^(n-1) x."""
    module, constant = load("cond_in_while"), load("loop_constant")
    for n in range(6):
        actual = [float(f(0.75, n)) for f in (module.main, module.slope, module.curvature)]
        assert actual == pytest.approx(module.by_hand(0.75, n))
        assert float(constant.by_w(1.5, 2.0, n)) == pytest.approx(n * 1.5 ** (n - 1) * 2.0)


@pytest.mark.full
def test_gradients_through_time() -> None:
    """The gradient of the recurrent network agrees with differences, and one graph serves all lengths."""
    module = load("rnn")
    states, gradient = np.asarray(module.states(module.XS)), np.asarray(module.gradient(module.XS))
    assert float(module.main(module.XS)) == pytest.approx(np.sum(states[-1] ** 2))
    assert float(module.unrolled(tl.asarray(module.XS))) == float(module.main(module.XS))
    before = np.asarray(module.U)
    for at in np.ndindex(2, 2):
        ends = []
        for change in (1e-6, -1e-6):
            moved = before.copy()
            moved[at] += change
            module.U.assign(moved)
            ends.append(float(module.main(module.XS)))
        module.U.assign(before)
        assert gradient[at] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


@pytest.mark.full
def test_momentum_is_that_of_the_library() -> None:
    """The momentum of the program has the bits of the library's."""
    module = load("momentum")
    module.main(30)
    assert plain(module.w) == plain(module.library_weights(30))


@pytest.mark.full
def test_a_pipeline_resumes() -> None:
    """A pipeline that is interrupted after any number of steps begins at the last saved one, and ends with the same
    bits."""
    module = load("pipeline")
    ends = [module.interrupt_and_resume(step) for step in range(20)]
    assert [first for first, *_ in ends] == [after - after % 5 for after in range(20)]
    assert len({(slope, offset) for _, slope, offset in ends}) == 1
    assert module.main.run(21).status == "Trapped"


@pytest.mark.full
def test_only_rows_of_the_sentence_change() -> None:
    """Words that are not in the sentence keep their vectors, and their state in Adagrad."""
    module = load("embedding")
    module.main(module.SENTENCE)
    first, seen = np.asarray(module.initial_vectors()), set(module.SENTENCE)
    for k, shard in enumerate(module.words.shards):
        squares = np.asarray(module.optimizer.slots[shard.name]["squares"])
        moved = np.any(np.asarray(shard) != first[k::3], axis=1)
        assert [3 * row + k in seen for row in range(len(moved))] == moved.tolist()
        assert np.array_equal(moved, np.any(squares != 0.1, axis=1))


@pytest.mark.full
def test_sampled_training_learns_the_language() -> None:
    """A training with samples learns the same language, more slowly; other seeds draw other samples."""
    module = load("sampled_softmax")
    before = float(module.whole(0))
    some = float(module.main(60))
    module.reset()
    other = float(module.main.run(60, seed=1).value)
    module.reset()
    assert float(module.whole(60)) < min(some, other) < max(some, other) < before - 0.1 and some != other


SPANS: dict[str, Callable[[int], int]] = {"map_rounds": lambda n: 5 * n + 21, "fold_rounds": lambda n: 20 * n + 9}


@pytest.mark.parametrize("name", SPANS)
def test_the_critical_paths_of_map_and_foldl(name: str) -> None:
    """The critical path of map grows by a loop's counter for each element, and that of foldl by a whole iteration."""
    function = getattr(load("folds"), name)
    for n in (1, 2, 5, 20):
        assert function.run([0.5] * n, keep="events").stats.span == SPANS[name](n)
