"""Files of exported programs, which are read without PyTorch."""

from __future__ import annotations

import copy
import json
import pickle
import random
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from attack.command_line import run_words
from support.programs.torch_archives import (
    ADDING,
    MODEL,
    WEIGHTS,
    archive,
    changed,
    document,
    first_node,
    full_name,
    graph_nodes,
)
from tagloom.interp.exchange.torch import rows, storage  # noqa: F401 - rows registers the operators
from tagloom.interp.exchange.torch.operations import ROWS
from tagloom.interp.exchange.torch.storage import TensorStorage, TensorView
from tagloom.viz.source_lines import local_line

PAIRS = [(27, 48), (99, 99), (0, 7)]


@pytest.mark.full
@pytest.mark.parametrize("pair", PAIRS)
def test_outcomes(pair: tuple[int, int]) -> None:
    """The model adds, under each schedule."""
    adding = tl.from_torch(ADDING)
    for schedule in ("fifo", "random:3"):
        assert adding.run(*pair, engine="reference", schedule=schedule).value == sum(pair)
    assert adding.run(*pair, engine="fast").value == sum(pair)


@pytest.mark.full
def test_the_program_says_what_the_file_says() -> None:
    """The loop over digits is one loop, and that of the LSTM another; the variables have the names of the module, and a
    node its place and its modules."""
    adding = tl.from_torch(ADDING)
    (function,) = adding.program.functions
    nodes = list(function.body.walk())
    loops = [node for node in nodes if node.op == "while_loop"]
    assert len(loops) == 2
    names = [variable.name for variable in function.body.parameters]
    assert names[:2] == ["a", "b"] and {"digits_weight", "head_bias", "writer_weight_ih"} < set(names)
    argmax = next(node for node in nodes if node.op == "argmax")
    location: Any = argmax.location
    assert "= aten.argmax(" in local_line(location) and "# torch_models.py:" in local_line(location)
    scopes = {entry.name for node in nodes for entry in getattr(node.location, "scopes", ())}
    assert {"reader", "head"} < scopes


def test_firings() -> None:
    """The loop reads the digits of the sum, the last one first, and the end; its condition fires for each."""
    outcome = tl.from_torch(ADDING).run(27, 48, engine="reference", keep="events")
    assert outcome.value == 75
    assert list(outcome.values("argmax_1").values()) == [5, 7, 10]
    assert len(outcome.values("logical_and")) == 3


@pytest.mark.full
def test_commands(tmp_path: Path) -> None:
    """A file runs, is shown, checked, played and debugged."""
    file = str(ADDING)
    assert run_words(["run", file, "27", "48"]).out == "75\n"
    shown = run_words(["show", file, "--form", "program"])
    assert shown.code == 0 and "while_loop" in shown.out
    assert "agrees" in run_words(["check", file, "27", "48"]).out
    page = tmp_path / "page.html"
    assert run_words(["play", file, "27", "48", "-o", str(page)]).code == 0 and page.stat().st_size > 10_000
    stepped = run_words(["debug", file, "27", "48", "--headless"], ["break op == 'argmax'", "continue", "where"])
    assert "= aten.argmax(" in stepped.out


def weights_change(**values: Any) -> Callable[[], bytes]:
    """An archive whose list of weights differs in the first one."""

    def change(data: Any) -> None:
        next(iter(data["config"].values())).update(values)

    return lambda: changed(change, WEIGHTS)


def node_change(target: str, /, **values: Any) -> Callable[[], bytes]:
    """An archive in whose program a node differs."""
    return lambda: changed(lambda data: first_node(data, target).update(values))


def meta_change(**values: Any) -> Callable[[], bytes]:
    """An archive whose program says another type of an argmax."""

    def change(data: Any) -> None:
        graph = data["graph_module"]["graph"]
        name = next(node for node in graph["nodes"] if "argmax" in node["target"])["outputs"][0]["as_tensor"]["name"]
        graph["tensor_values"][name].update(values)

    return lambda: changed(change)


def weight_sizes(sizes: list[int], strides: list[int]) -> Callable[[], bytes]:
    """An archive whose first weight has other sizes and strides."""

    def change(data: Any) -> None:
        entry = next(iter(data["config"].values()))["tensor_meta"]
        entry.update(sizes=[{"as_int": size} for size in sizes], strides=[{"as_int": stride} for stride in strides])

    return lambda: changed(change, WEIGHTS)


def nested_results(depth: int) -> Callable[[], bytes]:
    """An archive whose program nests its results so deep."""
    spec = '{"type": null, "context": null, "children_spec": []}'
    for _ in range(depth):
        spec = f'{{"type": "builtins.tuple", "context": "null", "children_spec": [{spec}]}}'

    def change(data: Any) -> None:
        data["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = f"[1, {spec}]"

    return lambda: changed(change)


def version_change() -> bytes:
    return changed(lambda data: data["schema_version"].update(major=99))


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "no archive": (lambda: b"PK" * 50, "not a file of torch.export.save"),
    "nothing": (lambda: b"", "not a file of torch.export.save"),
    "a compressed entry": (lambda: archive({}, zipfile.ZIP_DEFLATED), "not a file of torch.export.save"),
    "another version": (version_change, "a different version of the schema"),
    "no JSON": (lambda: archive({full_name(MODEL): b"{"}), "not JSON"),
    "nested JSON": (lambda: archive({full_name(MODEL): b"[" * 100_000}), "not JSON"),
    "other JSON": (lambda: archive({full_name(MODEL): b"[1, 2]"}), "not an exported program"),
    "another model": (lambda: archive({"archive/models/b.json": b"{}"}), "not one exported program"),
    "the other byte order": (lambda: archive({full_name("byteorder"): b"big"}), "other byte order"),
    "a pickled weight": (weights_change(use_pickle=True), "is pickled; tagloom does not run pickled code"),
    "a missing weight": (weights_change(path_name="none"), "does not have the elements"),
    "a large weight": (weights_change(tensor_meta=None), "is pickled"),
    "an empty weight of huge sizes": (weight_sizes([0, 2**31, 2**31, 2**31], [1] * 4), "larger than its bytes"),
    "a weight of repeated elements": (weight_sizes([20_000, 20_000], [0, 0]), "repeat the elements"),
    "a weight of overlapping elements": (weight_sizes([600, 200, 200, 400], [1] * 4), "repeat the elements"),
    "a huge number": (
        node_change("aten.argmax", inputs=[{"name": "dim", "arg": {"as_float": 10**400}, "kind": 1}]), "OverflowError"
    ),
    "deep containers": (nested_results(300), "containers nest deeper"),
    "an unknown op": (node_change("aten.argmax", target="torch.ops.aten.fft_fft.default"), "no operator aten.fft_fft"),
    "an op of the user's": (node_change("aten.argmax", target="torch.ops.mine.op.default"), "no operator mine.op"),
    "no argument": (node_change("aten.argmax", inputs=[]), "does not take these operands"),
    "another argument": (
        node_change("aten.argmax", inputs=[{"name": "q", "arg": {"as_int": 1}, "kind": 1}]), "with the argument q"
    ),
    "an object": (
        node_change("aten.argmax", inputs=[{"name": "self", "arg": {"as_custom_obj": {}}, "kind": 1}]),
        "kind as_custom_obj",
    ),
    "an unknown name": (
        node_change("aten.argmax", inputs=[{"name": "self", "arg": {"as_tensor": {"name": "q"}}, "kind": 1}]),
        "no value of this name",
    ),
    "another dtype": (meta_change(dtype=7), "a different type than the program declares"),
    "an unknown dtype": (meta_change(dtype=10), "no values of PyTorch's dtype complex64"),
    "another shape": (meta_change(sizes=[{"as_int": 3}]), "a different type than the program declares"),
    "a sparse tensor": (meta_change(layout=1), "no sparse tensors"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refusals(name: str) -> None:
    """What tagloom lacks, or what is damaged, is said in words."""
    make, words = BAD[name]
    with pytest.raises(tl.TagloomError, match=words) as raised:
        tl.from_torch(make()).program  # noqa: B018
    assert not isinstance(raised.value, tl.Crash)


class Harmful:
    """An object that writes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    """Pickled entries are not read, even where a weight names one."""
    trace = tmp_path / "trace"
    content = pickle.dumps(Harmful(trace))
    pickle.loads(content)
    assert trace.exists()
    trace.unlink()
    names = (
        "archive/data/sample_inputs/model.pt",
        "archive/data/constants/custom_obj_0",
        full_name("weights/weight_0"),
    )
    tl.from_torch(archive(dict.fromkeys(names[:2], content)))
    with pytest.raises(tl.Malformed, match="larger than its bytes"):
        tl.from_torch(archive(dict.fromkeys(names, content[:16])))
    assert not trace.exists()


def outcome_of(content: bytes) -> str:
    """What becomes of an archive: the class of an error of ours, or the status of a run."""
    try:
        limits = tl.Limits(firings=2_000)
        return str(tl.from_torch(content).run(27, 48, engine="reference", limits=limits).status)
    except tl.TagloomError as error:
        assert not isinstance(error, tl.Crash), error
        return type(error).__name__


def check_damaged_bytes(count: int, seed: int) -> Counter[str]:
    """Raises where a file that is cut off, or with other bytes, raises something that is no error of ours; returns the
    number of each ending."""
    content, dice, ends = ADDING.read_bytes(), random.Random(seed), Counter[str]()
    for _ in range(count):
        damaged = bytearray(content)
        if dice.random() < 0.3:
            damaged = damaged[: dice.randrange(len(content))]
        else:
            for _ in range(dice.choice((1, 4, 40))):
                damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        ends[outcome_of(bytes(damaged))] += 1
    return ends


@pytest.mark.full
def test_damaged_bytes() -> None:
    """A file that is cut off, or with other bytes, is refused by an error of ours, or runs."""
    assert check_damaged_bytes(40, 7)["Malformed"]


VALUES = (None, 0, -1, 2**70, 1.5, "x", [], {}, True, ["a"], {"as_int": 3}, {"as_none": True}, float("nan"))


def places(data: Any) -> list[tuple[Any, Any]]:
    """All containers of JSON data, each with each of its keys."""
    found, pending = [], [data]
    while pending:
        container = pending.pop()
        keys = range(len(container)) if isinstance(container, list) else list(container)
        found += [(container, key) for key in keys]
        pending += [container[key] for key in keys if isinstance(container[key], list | dict)]
    return found


def check_damaged_documents(ending: str, count: int, seed: int) -> Counter[str]:
    """The same for an entry of JSON with another value in one place, or with a part left out."""
    dice, data, ends = random.Random(seed), document(ending), Counter[str]()
    for _ in range(count):
        contents = copy.deepcopy(data)
        container, key = dice.choice(places(contents))
        if dice.random() < 0.3:
            del container[key]
        else:
            container[key] = dice.choice(VALUES)
        ends[outcome_of(archive({full_name(ending): json.dumps(contents).encode()}))] += 1
    return ends


@pytest.mark.full
@pytest.mark.parametrize("ending", [MODEL, WEIGHTS])
def test_damaged_documents(ending: str) -> None:
    """A document with another value in one place, or with a part left out, is refused, or runs."""
    assert {"Malformed", "Returned"} <= set(check_damaged_documents(ending, 40, 11))


@pytest.mark.heavy
@pytest.mark.timeout(7200)
def test_many_damaged_files() -> None:
    """The same, for 1,000 files with damaged bytes and 1,000 with damaged documents."""
    ends = check_damaged_bytes(1_000, 8) + check_damaged_documents(MODEL, 700, 9)
    assert {"Malformed", "Returned"} <= set(ends + check_damaged_documents(WEIGHTS, 300, 10))


@pytest.mark.full
def test_exchanged_nodes() -> None:
    """A program with other operators or operands is refused, or runs."""
    dice = random.Random(13)
    ends = set()
    for _ in range(40):
        contents = copy.deepcopy(document())
        nodes = graph_nodes(contents["graph_module"]["graph"])
        node, other = dice.choice(nodes), dice.choice(nodes)
        match dice.randrange(3):
            case 0:
                node["target"] = f"torch.ops.{dice.choice(sorted(ROWS))}.default"
            case 1:
                node["inputs"] = other["inputs"]
            case _:
                node["outputs"] = other["outputs"]
        ends.add(outcome_of(archive({full_name(MODEL): json.dumps(contents).encode()})))
    assert "Malformed" in ends and len(ends) > 1


def shuffled_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: the loop's results are in the opposite order."""
    true = ROWS["higher_order.while_loop"]
    monkeypatch.setitem(
        ROWS,
        "higher_order.while_loop",
        replace(true, compute=lambda *each, **keywords: true.compute(*each, **keywords)[::-1]),
    )


def opposite_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: the state of the LSTM is what it should forget."""
    from tagloom.interp.exchange.torch.rows import recurrent

    true = recurrent.split_gates
    monkeypatch.setattr(recurrent, "split_gates", lambda x, count: true(x, count)[::-1])


@pytest.mark.full
@pytest.mark.parametrize("break_code", [shuffled_results, opposite_gates])
def test_broken_twins(break_code: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong importer is caught: by the types, or by the outcomes."""
    break_code(monkeypatch)
    assert any(
        outcome_of(ADDING.read_bytes()) != "Returned" or tl.from_torch(ADDING).run(*pair).value != sum(pair)
        for pair in PAIRS
    )


VIEWS: dict[str, Callable[[Any], Any]] = {
    "a row": lambda x: x[1],
    "a column": lambda x: x[:, 2],
    "a part": lambda x: x[1:, 1:3],
    "a strided part": lambda x: x[::2, ::2],
    "a transposed part": lambda x: x.T[1],
    "another shape": lambda x: x.reshape(2, 6),
    "an element": lambda x: x[2, 1],
    "a diagonal": lambda x: x.reshape(-1)[::5],
    "all, reversed": lambda x: x[::-1],
    "nothing": lambda x: x[3:],
}


def write_and_read(name: str) -> tuple[Any, Any, Any]:
    """An array after a write to its view; what another view of the same shows then; and what NumPy gives."""
    array = np.arange(12.0).reshape(3, 4)
    root = TensorStorage(array.copy())
    view = TensorView(root, VIEWS[name], VIEWS[name](array))
    other = TensorView(root, lambda x: x[1:].T, array[1:].T)
    value = -1 - np.arange(float(np.size(view.read()))).reshape(np.shape(view.read()))
    view.write(value)
    expected = array.copy()
    places = np.asarray(VIEWS[name](np.arange(12).reshape(3, 4)))
    expected.reshape(-1)[places] = value
    return root.read(), other.read(), expected


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(name: str) -> None:
    """A write to a view is a write to what it is a view of, and other views show it."""
    array, other, expected = write_and_read(name)
    assert np.array_equal(np.asarray(array), expected) and np.array_equal(np.asarray(other), expected[1:].T)


def test_limits_of_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Views of views, and tensors changed through views, have bounds; a file may ask for any number."""
    memory: Any = TensorStorage(np.zeros(3))
    with pytest.raises(tl.TagloomError, match="views of views"):
        for _ in range(storage.MAX_VIEWS + 1):
            memory = TensorView(memory, lambda x: x, memory.value)
    monkeypatch.setattr(storage, "MAX_VIEW_ELEMENTS", 11)
    with pytest.raises(tl.TagloomError, match="so many elements"):
        storage.insert_view(np.zeros((3, 4)), np.zeros(4), lambda x: x[0])


@pytest.mark.parametrize("pair", [("mul", 2**40, 2**40), ("pow", 10**9, 10**9)])
def test_sizes_of_numbers(pair: tuple[str, int, int]) -> None:
    """Numbers of a program have at most 64 bits, as in PyTorch: a few nodes cannot make one that fills the memory."""
    name, first, second = pair
    with pytest.raises(tl.Malformed, match="more than 64 bits"):
        ROWS[f"_operator.{name}"].compute(first, second)


def test_views_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that writes to the first elements is caught."""

    def insert_first(base: Any, value: Any, compute: Any) -> Any:
        array = np.array(base)
        array.reshape(-1)[: np.size(value)] = np.asarray(value).reshape(-1)
        return array

    monkeypatch.setattr(storage, "insert_view", insert_first)
    wrong = 0
    for name in VIEWS:
        array, _, expected = write_and_read(name)
        wrong += not np.array_equal(np.asarray(array), expected)
    assert wrong > 5


@pytest.mark.parametrize("source", [b"", "no_file.pt2", 3, len])
def test_other_sources(source: Any) -> None:
    """What is no exported program is refused in words."""
    with pytest.raises(tl.TagloomError):
        tl.from_torch(source)
