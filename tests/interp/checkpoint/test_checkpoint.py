"""Checkpoints restore the values of variables in any object graph."""

from __future__ import annotations

import copy
import json
from collections import OrderedDict, deque
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from pytest import MonkeyPatch
from safetensors import safe_open
from safetensors.numpy import load_file
from support.generators.object_graphs import (
    Object,
    Spec,
    bits,
    build,
    follow_path,
    other_leaf_value,
    reachable_variables,
    specs,
)
from tagloom.interp.checkpoint import checkpoint, restore
from tagloom.interp.checkpoint.file import write_checkpoint
from tagloom.interp.checkpoint.objects import find_objects
from tagloom.interp.checkpoint.restore import Restoration


def violations(spec: Spec, path: Path) -> Any:
    """The laws broken by saving a graph, and restoring it into one with the same edges and other values."""
    there, back = build(spec), build(spec, list(map(other_leaf_value, spec.leaves)))
    expected, untouched = list(map(bits, there.variables)), list(map(bits, back.variables))
    tl.Checkpoint(**there.root).save(path)
    if list(map(bits, there.variables)) != expected:
        yield "saving changed a variable"
    yield from _file_violations(there.root, path)
    again = tl.Checkpoint(**back.root)
    report = again.restore(path)
    ids = set(map(id, reachable_variables(back.root)))
    for variable, new, old in zip(back.variables, expected, untouched, strict=True):
        if bits(variable) != (new if id(variable) in ids else old):
            yield f"{variable!r} has not the bits that were saved"
    if not report.is_complete or set(report.restored) != set(load_file(path)):
        yield f"not complete: {report}"
    before = path.read_bytes()
    again.save(path)
    if path.read_bytes() != before:
        yield "the file of what was restored is another one"


def _file_violations(root: Any, path: Path) -> Any:
    """Any reader of safetensors finds each variable once, under a path that leads to it."""
    tensors, variables = load_file(path), list(reachable_variables(root))
    if len(tensors) != len(variables):
        yield f"{len(variables)} variables, and {len(tensors)} tensors"
    for name, array in tensors.items():
        variable = follow_path(root, "__metadata__" if name == "\\__metadata__" else name)
        if not isinstance(variable, tl.Variable) or bits(variable) != (array.dtype, array.shape, array.tobytes()):
            yield f"{name} does not lead to what is under it"


@given(specs())
@settings(max_examples=60)
def test_round_trip(tmp_path_factory: Any, spec: Spec) -> None:
    """Restored variables have the saved bits: every dtype, scalars, empty arrays, NaNs of any payload. Shared parts are
    saved once, cycles end, and names in the file are paths."""
    if any(True for _ in reachable_variables(build(spec).root)):
        assert list(violations(spec, tmp_path_factory.mktemp("checkpoint") / "it.safetensors")) == []


@pytest.mark.heavy
@given(specs())
@settings(max_examples=600)
def test_round_trip_600(tmp_path_factory: Any, spec: Spec) -> None:
    """The law of `test_round_trip`, on more graphs."""
    if any(True for _ in reachable_variables(build(spec).root)):
        assert list(violations(spec, tmp_path_factory.mktemp("checkpoint") / "it.safetensors")) == []


def tree(*names: str) -> tuple[dict[str, Any], list[tl.Variable]]:
    variables = [tl.Variable(float(number), name="v") for number in range(len(names))]
    return dict(zip(names, variables, strict=True)), variables


def by_name_of_variable(patch: MonkeyPatch) -> None:
    """Tensors are matched with variables by name."""

    def matches(self: Any) -> Any:
        there = list(restore.find_variables(restore.find_objects(self._root)))
        for _, variable in there:
            for node in self._nodes:
                if node.tensor is not None and node.tensor.endswith(variable.name):
                    yield id(variable), node.tensor

    patch.setattr(Restoration, "_match_tensors", matches)


def by_order(patch: MonkeyPatch) -> None:
    """Tensors are matched with variables in the order of creation."""

    def matches(self: Any) -> Any:
        there = [variable for _, variable in restore.find_variables(restore.find_objects(self._root))]
        tensors = [node.tensor for node in self._nodes if node.tensor is not None]
        return zip(map(id, sorted(there, key=lambda each: each._resource.creation_order)), tensors, strict=False)

    patch.setattr(Restoration, "_match_tensors", matches)


def saved_as_float32(patch: MonkeyPatch) -> None:
    """Values are saved as float32."""
    patch.setattr(
        checkpoint,
        "write_checkpoint",
        lambda path, nodes, held: write_checkpoint(
            path, nodes, {name: x.astype(np.float32) for name, x in held.items()}
        ),
    )


def only_the_first_edge(patch: MonkeyPatch) -> None:
    """Only the first edge to each object is saved."""

    def other(*given: Any) -> Any:
        there, led = find_objects(*given), set[int]()
        for each in there:
            each.edges = {name: to for name, to in each.edges.items() if to not in led}
            led.update(each.edges.values())
        return there

    patch.setattr(checkpoint, "find_objects", other)


@pytest.mark.parametrize(
    "twin", [by_name_of_variable, by_order, saved_as_float32, only_the_first_edge], ids=lambda twin: twin.__name__
)
def test_broken_checkpoints_are_caught(twin: Any, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Twins that match variables by name or by creation, change bits, or lose edges are caught."""

    def caught() -> bool:
        path = tmp_path / "it.safetensors"
        shared = tl.Variable(7.0, name="v")
        tl.Checkpoint(b=tree("y", "x")[0], a={"z": shared}, c=[shared]).save(path)
        model, (x, y) = tree("x", "y")
        new = tl.Variable(0.0, name="v")
        report = tl.Checkpoint(b=model, c=[new]).restore(path)
        return (float(x), float(y), float(new)) != (1.0, 0.0, 7.0) or len(report.restored) != 3

    assert not caught()
    twin(monkeypatch)
    assert caught()


def test_containers_have_named_edges() -> None:
    """Paths lead through subclasses of dicts and lists with attributes, ordered dicts, deques and partial functions,
    with integer keys."""

    class Layers(list):  # type: ignore[type-arg]
        extra: Any

    layers, w = Layers([tl.Variable(1), tl.Variable(2)]), [tl.Variable(n) for n in range(6)]
    layers.extra = w[0]
    held = OrderedDict({3: w[1], "q": deque([w[2]]), "p": partial(print, w[3], end={"x": w[4]})})
    held["me"] = held
    there = restore.find_objects({"a": layers, "b": held, "c": w[5]})
    names = [restore.object_path(there, number) for number, _ in restore.find_variables(there)]
    assert sorted(names) == [
        "a.0", "a.1", "a.extra", "b.3", "b.p.args.0", "b.p.keywords.end.x", "b.q.0", "c",
    ]  # fmt: skip


def test_the_shortest_path_is_the_name(tmp_path: Path) -> None:
    """A variable is named by its shortest path, the first in order among equal ones."""
    w, model = tl.Variable([1.0]), Object()
    model.inner = {"deep": w}  # type: ignore[attr-defined]
    tl.Checkpoint(model=model, b=[w], a=[w]).save(tmp_path / "it.safetensors")
    assert list(load_file(tmp_path / "it.safetensors")) == ["a.0"]
    with safe_open(tmp_path / "it.safetensors", "np") as opened:
        form = json.loads(opened.metadata()["tagloom"])
    assert form == {
        "tagloom": "checkpoint",
        "version": 1,
        "nodes": [
            {"edges": {"a": 1, "b": 2, "model": 3}},
            {"edges": {"0": 4}},
            {"edges": {"0": 4}},
            {"edges": {"inner": 5}},
            {"tensor": "a.0"},
            {"edges": {"deep": 4}},
        ],
    }


def test_code_has_no_state(tmp_path: Path) -> None:
    """Functions, methods, modules, classes and programs are not searched, nor are numbers and arrays."""
    w = tl.Variable(2.0)

    class Model:
        held = tl.Variable(1.0)

        def __init__(self) -> None:
            self.w, self.module, self.kind, self.array = w, np, Model, tl.asarray([1.0])
            self.method, self.function = self.call, tl.function(lambda x: x * w)
            self.function(3.0)

        def call(self) -> Any:
            return self.w

        @property
        def asked(self) -> Any:
            raise AssertionError("nothing of an object's own is run")

    tl.Checkpoint(model=Model()).save(tmp_path / "it.safetensors")
    assert list(load_file(tmp_path / "it.safetensors")) == ["model.w"]


class Stepping:
    def __init__(self) -> None:
        self.w = tl.Variable(1.0)

    @tl.function
    def step(self) -> Any:
        self.w.assign_add(1.0)
        return self.w


def test_methods_that_ran_are_code(tmp_path: Path) -> None:
    """An object's cached `tl.function` methods are no state: the file is the same whether they have run or not, and a
    copy leads to no variable of the original."""
    net = Stepping()
    tl.Checkpoint(net=net).save(tmp_path / "before")
    net.step()
    net.w.assign(1.0)
    for same in (net, Stepping()):
        tl.Checkpoint(net=same).save(tmp_path / "after")
        assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()
    other = copy.copy(net)
    other.w = tl.Variable(5.0)
    tl.Checkpoint(other=other, **vars(net)).save(tmp_path / "copy")
    assert sorted(load_file(tmp_path / "copy")) == ["other.w", "w"]
    fresh = tl.Checkpoint(other=Stepping(), w=tl.Variable(0.0))
    fresh.restore(tmp_path / "copy").check()


def test_a_queue_is_not_saved(tmp_path: Path) -> None:
    """The elements of a queue are no state."""
    queue = tl.FIFOQueue(3, tl.float64)
    queue.enqueue(1.0)
    tl.Checkpoint(queue=queue, w=tl.Variable(1)).save(tmp_path / "it.safetensors")
    assert list(load_file(tmp_path / "it.safetensors")) == ["w"]


@pytest.mark.parametrize(
    ("holder", "where"),
    [
        (lambda w: {"a": {w}}, "in model.a"),
        (lambda w: [{(1, 2): w}], "in model.0"),
        (lambda w: {None: [w]}, "in model"),
        (lambda w: {True: w}, "in model"),
        (lambda w: {"a\ud800": w}, "in model"),
        (lambda w: {"1": 2.5, 1: [], "x": {"1": [], 1: w}}, "in model.x"),
        (lambda w: {w: 1}, "in model"),
    ],
)
def test_a_variable_without_a_path_is_refused(holder: Any, where: str, tmp_path: Path) -> None:
    """A variable in a set, or under a key that is no string, is refused, unless named edges lead to it as well."""
    w = tl.Variable(1.0, name="lonely")
    with pytest.raises(tl.Usage, match="variable lonely has no name in a file") as refused:
        tl.Checkpoint(model=holder(w)).save(tmp_path / "it")
    assert str(refused.value.got).endswith(where) and not (tmp_path / "it").exists()
    tl.Checkpoint(model=holder(w), w=w).save(tmp_path / "it")


def test_refused_saves(tmp_path: Path) -> None:
    """Objects without variables, paths that cannot be written, and saving in a trace are refused."""
    with pytest.raises(
        tl.Usage, match=r"step cannot contain a variable.*(\n.*)+got: 5\n.*hint: write step=tl.Variable"
    ) as no:
        tl.Checkpoint(step=5)
    assert "test_checkpoint.py" in str(no.value.where)
    for nothing in (tl.Checkpoint(), tl.Checkpoint(model=[])):
        with pytest.raises(tl.Usage, match="there are no variables to save"):
            nothing.save(tmp_path / "it")
    saved = tl.Checkpoint(w=tl.Variable(1))
    for path, hint in ((tmp_path / "none" / "it", "No such file"), (tmp_path, "directory")):
        with pytest.raises(tl.Usage, match="this checkpoint cannot be written") as refused:
            saved.save(path)
        assert hint in str(refused.value.hint)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(tl.Usage, match="there is no restored checkpoint to complete"):
        saved.complete()

    @tl.function
    def saving(n: tl.int64) -> tl.int64:
        saved.save(tmp_path / "it")
        return n

    with pytest.raises(tl.Usage, match="a checkpoint cannot be saved in traced code"):
        saving(1)


@pytest.mark.full
def test_a_chain_of_objects_may_be_long(tmp_path: Path) -> None:
    """Memory bounds the depth of objects, and not Python's stack."""
    first = last = Object()
    for _ in range(5_000):
        last.next = last = Object()  # type: ignore[attr-defined]
    last.w = w = tl.Variable(1.5)  # type: ignore[attr-defined]
    chain = tl.Checkpoint(first=first)
    chain.save(tmp_path / "it")
    w.assign(0.0)
    assert chain.restore(tmp_path / "it").is_complete and float(w) == 1.5
