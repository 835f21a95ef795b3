"""Restoring: greedy, partial with a report, and deferred for variables that are created later."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from safetensors.numpy import load_file
from support.generators.object_graphs import Object, Spec, bits, build, other_leaf_value, reachable_variables, specs
from tagloom.core.types import Type
from tagloom.interp.checkpoint.checkpoint import Checkpoint
from tagloom.interp.checkpoint.objects import find_objects, find_variables, object_path
from tagloom.interp.checkpoint.restore import Restoration


def named(root: Any) -> dict[str, tl.Variable]:
    """The variables by their paths."""
    there = find_objects(root)
    return {object_path(there, number): variable for number, variable in find_variables(there)}


@given(specs(trees=True), specs(trees=True), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_a_partial_restore(tmp_path_factory: Any, one: Spec, other: Spec, dice: Any) -> None:
    """Without shared parts, a variable gets the value under its path if the types match, and otherwise keeps its own.
    The report says which. The program may have other variables than the file, or only some of them."""
    changed = one._replace(edges=tuple(tuple(e for e in edges if dice.random() < 0.7) for edges in one.edges))
    for spec in (other, changed):
        saved, program = build(one).root, build(spec).root
        assume(any(True for _ in reachable_variables(saved)))
        path = tmp_path_factory.mktemp("checkpoint") / "it"
        tl.Checkpoint(**saved).save(path)
        theirs, mine = {n: (v._type, bits(v)) for n, v in named(saved).items()}, named(program)
        before = {name: (variable._type, bits(variable)) for name, variable in mine.items()}
        report = tl.Checkpoint(**program).restore(path)
        fits = {name for name in mine if name in theirs and theirs[name][0] == before[name][0]}
        for name, variable in mine.items():
            assert bits(variable) == (theirs if name in fits else before)[name][1]
        assert set(report.restored) == fits
        assert set(report.only_in_file) == theirs.keys() - mine.keys()
        assert set(report.only_in_program) == mine.keys() - theirs.keys()
        assert {(m.name, m.file, m.program) for m in report.mismatched} == {
            (name, theirs[name][0], before[name][0]) for name in mine.keys() & theirs.keys() - fits
        }
        assert report.is_complete == (fits == mine.keys() == theirs.keys())


@given(specs(trees=True), specs(trees=True), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_unclaimed_values_are_saved_again(tmp_path_factory: Any, one: Spec, other: Spec, dice: Any) -> None:
    """A program that lacks parts of a file saves them again under their paths, unless it has something else there."""
    changed = one._replace(edges=tuple(tuple(e for e in edges if dice.random() < 0.7) for edges in one.edges))
    for spec in (other, changed):
        assert list(faults_of_the_file(tmp_path_factory.mktemp("checkpoint"), one, spec)) == []


@pytest.mark.parametrize("more", [{}, {"momentum": 3.0}], ids=["all", "but for one"])
def test_removed_variables_are_not_saved(tmp_path: Path, more: dict[str, float]) -> None:
    """A variable that was restored and then removed is not saved, even if other values of the file are still
    unclaimed."""
    model = {"w": tl.Variable(1.0), "b": tl.Variable(2.0)}
    slots = {name: tl.Variable(value) for name, value in more.items()}
    tl.Checkpoint(model=model, slots=slots).save(tmp_path / "one")
    checkpoint = tl.Checkpoint(model=model, slots={})
    checkpoint.restore(tmp_path / "one")
    del model["b"]
    checkpoint.save(tmp_path / "other")
    report = tl.Checkpoint(model={}).restore(tmp_path / "other")
    assert {*report.only_in_file} == {"model.w", *(f"slots.{name}" for name in more)}


def faults_of_the_file(folder: Path, one: Spec, other: Spec) -> Iterator[str]:
    """What is wrong with the file of a program that has restored another one's."""
    saved, program = build(one).root, build(other).root
    if not any(True for _ in reachable_variables(saved)):
        return
    tl.Checkpoint(**saved).save(folder / "one")
    checkpoint = tl.Checkpoint(**program)
    left = checkpoint.restore(folder / "one").only_in_file
    mine, there = {name: bits(variable) for name, variable in named(program).items()}, find_objects(program)
    taken = {object_path(there, number) for number in range(len(there))}
    kept = [name for name in left if name not in taken and not any(name.startswith(f"{held}.") for held in mine)]
    expected = mine | {name: bits(variable) for name, variable in named(saved).items() if name in kept}
    if not expected:
        return
    checkpoint.save(folder / "other")
    tensors = {name: (each.dtype, each.shape, each.tobytes()) for name, each in load_file(folder / "other").items()}
    if tensors != expected:
        yield f"{sorted(tensors)} or other bits in the file, and not {sorted(expected)}"
    back = build(one, list(map(other_leaf_value, one.leaves))).root
    report = tl.Checkpoint(**back).restore(folder / "other")
    if not {*kept} <= {*report.restored}:
        yield f"{sorted({*kept} - {*report.restored})} was not restored again"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def test_the_first_match_stays(path: Path) -> None:
    """A variable that two edges of the file lead to keeps the nearer value, or the first by name; the report names the
    other."""
    tl.Checkpoint(a=tl.Variable(1.0), b=tl.Variable(2.0)).save(path)
    w = tl.Variable(0.0)
    report = tl.Checkpoint(b=w, a=w).restore(path)
    assert float(w) == 1.0 and report.restored == ("a",) and report.only_in_file == ("b",)
    with pytest.raises(tl.Usage, match="a checkpoint and a program differ"):
        report.check()


def test_one_value_may_restore_two_variables(path: Path) -> None:
    """Two variables of the program can both get one value of the file."""
    w = tl.Variable(3.0)
    tl.Checkpoint(encoder={"w": w}, decoder={"w": w}).save(path)
    model = {"encoder": {"w": tl.Variable(0.0)}, "decoder": {"w": tl.Variable(0.0)}}
    report = tl.Checkpoint(**model).restore(path)
    report.check()
    assert float(model["encoder"]["w"]) == float(model["decoder"]["w"]) == 3.0
    assert report.restored == ("decoder.w", "encoder.w")


def test_edges_match_whatever_the_classes(path: Path) -> None:
    """An object with attributes 0 and 1 matches a list; names of variables do not matter."""
    tl.Checkpoint(model=[tl.Variable(1, name="x"), tl.Variable(2, name="y")]).save(path)
    model = Object()
    vars(model).update({"0": tl.Variable(0, name="y"), "1": tl.Variable(0, name="x")})
    tl.Checkpoint(model=model).restore(path).check()
    assert [int(each) for each in vars(model).values()] == [1, 2]


def test_a_variable_where_the_file_has_an_object(path: Path) -> None:
    """A variable does not match an object, either way."""
    tl.Checkpoint(a={"w": tl.Variable(1)}, b=tl.Variable(2)).save(path)
    a, w = tl.Variable(5), tl.Variable(6)
    report = tl.Checkpoint(a=a, b={"w": w}).restore(path)
    assert (int(a), int(w)) == (5, 6)
    assert (report.only_in_file, report.only_in_program) == (("b", "a.w"), ("a", "b.w"))


def test_variables_of_other_types_are_not_assigned(path: Path) -> None:
    """Variables with another dtype or shape are not assigned; open sizes accept any."""
    tl.Checkpoint(a=tl.Variable([1.0, 2.0]), b=tl.Variable(1), c=tl.Variable([[1.0, 2.0]])).save(path)
    rows = tl.Variable(np.zeros((3, 2)), dtype=tl.Array[tl.float64, None, 2])
    a, b = tl.Variable([0.0] * 3), tl.Variable(7, dtype=tl.int32)
    report = tl.Checkpoint(a=a, b=b, c=rows, d=tl.Variable(True)).restore(path)
    assert np.asarray(a).tolist() == [0.0] * 3 and int(b) == 7 and np.asarray(rows).tolist() == [[1.0, 2.0]]
    assert report.mismatched[0].file == Type(tl.float64, (2,)) and report.mismatched[0].program == Type(
        tl.float64, (3,)
    )
    assert str(report) == (
        f"1 variable restored from {path}\n"
        "  only in the program:\n"
        "    d\n"
        "  of different types:\n"
        "    a: float64[2] in the file, float64[3] in the program\n"
        "    b: int64 in the file, int32 in the program"
    )


@pytest.mark.full
def test_a_long_report_is_cut(path: Path) -> None:
    """A report lists at most twenty entries of each kind."""
    tl.Checkpoint(w=[tl.Variable(n) for n in range(1025)]).save(path)
    report = tl.Checkpoint(v=tl.Variable(1), w=[tl.Variable(0)]).restore(path)
    assert len(report.only_in_file) == 1024 and str(report).count("\n") == 24 and "and 1,004 more" in str(report)


class Dense:
    """A layer that creates its weights at its first call, when it knows its number of inputs."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, x: Any) -> Any:
        if not hasattr(self, "w"):
            with tl.init_scope():
                self.w = tl.Variable(tl.zeros((x.shape[-1], self.size)), name="w")
                self.b = tl.Variable(tl.zeros(self.size), name="b")
        return x @ self.w + self.b


def saved_net(path: Path) -> Any:
    net = [Dense(2), Dense(1)]
    x = tl.asarray([[1.0, 2.0, 3.0]])
    net[1](net[0](x))
    for number, layer in enumerate(net, 1):
        layer.w.assign(tl.asarray(np.arange(layer.w.shape[0] * layer.size).reshape(-1, layer.size) + 0.5))
        layer.b.assign(tl.full(layer.size, float(number)))
    tl.Checkpoint(net=net).save(path)
    return x, np.asarray(net[1](net[0](x)))


def test_variables_that_are_created_later(path: Path) -> None:
    """Variables created later have their restored values before they can be read."""
    x, expected = saved_net(path)
    net = [Dense(2), Dense(1)]
    checkpoint = tl.Checkpoint(net=net)
    report = checkpoint.restore(path)
    assert report.restored == () and len(report.only_in_file) == 4
    assert np.array_equal(net[1](net[0](x)), expected)
    checkpoint.complete().check()


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("engine", ["reference", "fast", pytest.param("compiled", marks=pytest.mark.heavy)])
def test_variables_that_a_program_creates(path: Path, engine: str) -> None:
    """Variables that a function creates at its first call get their restored values."""
    x, expected = saved_net(path)
    net = [Dense(2), Dense(1)]
    call = tl.function(lambda x: net[1](net[0](x)))
    checkpoint = tl.Checkpoint(net=net)
    checkpoint.restore(path)
    assert np.array_equal(call.run(x, engine=engine).value, expected)
    checkpoint.complete().check()


def test_used_variables_are_not_overwritten(path: Path) -> None:
    """A variable that was read or assigned before it was reachable keeps its value, until the caller completes the
    restore."""
    tl.Checkpoint(a=[tl.Variable(1.0)], b=[tl.Variable(2.0)], c=[tl.Variable(3.0)]).save(path)
    a, b, c = [], [], []  # type: ignore[var-annotated]
    checkpoint = tl.Checkpoint(a=a, b=b, c=c)
    checkpoint.restore(path)
    assigned, seen, new = tl.Variable(0.0), tl.Variable(0.0), tl.Variable(0.0)
    assigned.assign(9.0)
    assert float(seen) == 0.0
    a.append(assigned), b.append(seen), c.append(new)
    assert (float(new), float(assigned), float(seen)) == (3.0, 9.0, 0.0)
    assigned.assign_add(1.0)
    checkpoint.complete().check()
    assert (float(new), float(assigned), float(seen)) == (3.0, 1.0, 2.0)


def later_values(path: Path) -> tuple[float, ...]:
    """The values of three variables that are added after `restore`: unused, assigned, and existing before."""
    tl.Checkpoint(a=tl.Variable(1.0), b=[tl.Variable(2.0), tl.Variable(3.0), tl.Variable(4.0)]).save(path)
    a, b = tl.Variable(0.0), list[tl.Variable]()
    checkpoint = tl.Checkpoint(a=a, b=b)
    checkpoint.restore(path)
    a.assign(5.0)
    assigned, new = tl.Variable(0.0), tl.Variable(0.0)
    assigned.assign(6.0)
    b += [new, assigned]
    return float(new), float(assigned), float(a)


def never_later(patch: MonkeyPatch) -> None:
    """Variables that are added later are not restored."""
    patch.setattr(Checkpoint, "fill_new_variables", lambda checkpoint: None)


def overwrite_used_variables(patch: MonkeyPatch) -> None:
    """Variables that were used are restored all the same."""
    patch.setattr(Checkpoint, "fill_new_variables", Checkpoint.complete)


def restore_twice(patch: MonkeyPatch) -> None:
    """Restored variables are restored again."""
    patch.setattr(Restoration, "_assigned_tensor", lambda restoration, variable: None)
    overwrite_used_variables(patch)


@pytest.mark.parametrize("twin", [never_later, overwrite_used_variables, restore_twice], ids=lambda twin: twin.__name__)
def test_wrong_deferred_restores_are_caught(twin: Any, path: Path, monkeypatch: MonkeyPatch) -> None:
    """A twin that does not restore later variables, or overwrites used ones, is caught."""
    assert later_values(path) == (2.0, 6.0, 5.0)
    twin(monkeypatch)
    assert later_values(path) != (2.0, 6.0, 5.0)


def test_a_value_is_restored_once(path: Path) -> None:
    """Completing a restore skips variables that were restored, even if they have changed since."""
    tl.Checkpoint(a=tl.Variable(1.0), b=[tl.Variable(2.0)]).save(path)
    a, b = tl.Variable(0.0), []  # type: ignore[var-annotated]
    checkpoint = tl.Checkpoint(a=a, b=b)
    checkpoint.restore(path)
    a.assign(5.0)
    b.append(tl.Variable(0.0))
    assert float(b[0]) == 2.0 and float(a) == 5.0
    checkpoint.complete().check()
    assert float(a) == 5.0
    assert checkpoint.restore(path).is_complete and float(a) == 1.0


def test_unused_later_variables_are_saved(path: Path, tmp_path: Path) -> None:
    """A later variable that is unused is saved with its restored value."""
    tl.Checkpoint(slots=[tl.Variable(4.0)]).save(path)
    slots: list[Any] = []
    checkpoint = tl.Checkpoint(slots=slots)
    checkpoint.restore(path)
    slots.append(tl.Variable(0.0))
    checkpoint.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def training(path: Path) -> tuple[Any, Any, Any]:
    """A model and its optimizer, restored from a file."""
    w, optimizer = tl.Variable([1.0, 2.0], name="w"), tl.optimizers.Adam(0.1)
    checkpoint = tl.Checkpoint(w=w, optimizer=optimizer)
    if path.exists():
        checkpoint.restore(path)
    return w, optimizer, checkpoint


def slots_survive(path: Path) -> bool:
    """Whether optimizer slots survive a program that restores them, makes no step, and saves."""
    w, optimizer, checkpoint = training(path)
    optimizer.apply(tl.asarray([0.5, -2.0]), w)
    checkpoint.save(path)
    before = path.read_bytes()
    training(path)[2].save(path)
    w, optimizer, checkpoint = training(path)
    optimizer.apply(tl.asarray([0.0, 0.0]), w)
    return path.read_bytes() == before and int(optimizer.slots["w"]["count"]) == 2 and checkpoint.complete().is_complete


def test_saving_before_the_first_step_loses_nothing(path: Path, monkeypatch: MonkeyPatch) -> None:
    """Slots that an optimizer has not created yet are saved all the same; a twin that omits unclaimed values is
    caught."""
    assert slots_survive(path)
    path.unlink()
    monkeypatch.setattr(Restoration, "pending_parts", lambda restoration: {})
    assert not slots_survive(path)


def test_another_checkpoint_drops_unclaimed_values(path: Path, tmp_path: Path) -> None:
    """Values that a program no longer has are dropped when a new checkpoint saves it; shared parts remain shared until
    then."""
    shared = tl.Variable(3.0)
    tl.Checkpoint(a=tl.Variable(1.0), old={"w": shared, "me": [shared]}).save(path)
    a = tl.Variable(0.0)
    checkpoint = tl.Checkpoint(a=a)
    assert checkpoint.restore(path).only_in_file == ("old.w",)
    for _ in range(2):
        checkpoint.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == path.read_bytes()
    tl.Checkpoint(a=a).save(tmp_path / "again")
    assert list(load_file(tmp_path / "again")) == ["a"]


@pytest.mark.full
def test_a_dropped_checkpoint_restores_nothing(path: Path) -> None:
    """A checkpoint restores later variables as long as it exists, and until it restores another file."""
    tl.Checkpoint(a=[tl.Variable(1.0)]).save(path)
    a: list[Any] = []
    tl.Checkpoint(a=a).restore(path)
    gc.collect()
    a.append(tl.Variable(0.0))
    assert float(a[0]) == 0.0
