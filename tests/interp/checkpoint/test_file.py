"""Checkpoint files: written atomically, and validated when they are read."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import tagloom as tl
from pytest import MonkeyPatch
from safetensors import safe_open
from safetensors.numpy import load_file, save
from support.generators.json_edits import mutate_data
from support.programs import checkpoint_writer
from support.programs.checkpoint_writer import model
from tagloom.core.files import lock_file, write_atomically
from tagloom.interp.checkpoint import file

WRITER = Path(checkpoint_writer.__file__)


def faults_of_killed_writers(path: Path, way: str, times: int) -> Iterator[str]:
    """What is wrong with the file after each of several writers was killed at a random moment. Writers get longer until
    one has saved: the machine may be busy."""
    dice, least, begun = random.Random(1), 0, time.monotonic()
    tl.Checkpoint(**model(least)).save(path)
    longest = 4 * (time.monotonic() - begun)
    child = subprocess.Popen(
        [sys.executable, WRITER, path, way], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert child.stdin is not None and child.stdout is not None
    with child:
        for _ in range(times):
            print(least + 1, file=child.stdin, flush=True)
            writer = int(child.stdout.readline())
            time.sleep(dice.random() * longest)
            os.kill(writer, signal.SIGKILL)
            assert child.stdout.readline() == "dead\n"
            for left in path.parent.glob(".tagloom-*.tmp"):
                left.unlink()
            there = model(-1.0)
            try:
                tl.Checkpoint(**there).restore(path).check()
            except tl.TagloomError as error:
                yield str(error)
                continue
            numbers = {float(number) for variable in there.values() for number in np.unique(variable.value)}
            if len(numbers) > 1 or min(numbers) < least:
                yield f"{numbers} in one file, after {least}"
            least = int(max(numbers))
            longest *= 1.0 if least else 1.2
        child.stdin.close()
    if not least:
        yield "no writer got so far as to save"


@pytest.mark.full
def test_a_writer_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    """Whenever a writer is killed, the file is completely the old one or the new one."""
    assert list(faults_of_killed_writers(tmp_path / "it.safetensors", "whole", 60)) == []


def test_files_of_killed_writers_are_removed(tmp_path: Path) -> None:
    """A manager that saves removes what killed writers have left, but neither the file of a writer that lives, however
    old it is, nor one that is too young to have its lock."""
    names = ("dead", "living", "young")
    dead, living, young = (tmp_path / f".tagloom-{name}.tmp" for name in names)
    for path in (dead, living, young, tmp_path / "dead.tmp"):
        path.write_bytes(b"part of a checkpoint")
        os.utime(path, (0, 0) if path != young else None)
    manager = tl.CheckpointManager(tl.Checkpoint(**model(1.0)), tmp_path)
    with living.open("rb") as writer, lock_file(writer.fileno(), required=False):
        manager.save(1)
    assert {path.name for path in tmp_path.glob("*.tmp")} == {living.name, young.name, "dead.tmp"}
    manager.save(2)
    assert {path.name for path in tmp_path.glob("*.tmp")} == {young.name, "dead.tmp"}


@pytest.mark.heavy
def test_250_writers_that_are_killed(tmp_path: Path) -> None:
    """250 killed writers all leave a whole file."""
    assert list(faults_of_killed_writers(tmp_path / "it.safetensors", "whole", 250)) == []


@pytest.mark.full
def test_a_torn_file_is_caught(tmp_path: Path) -> None:
    """A twin that writes to the file itself is caught."""
    assert next(faults_of_killed_writers(tmp_path / "it.safetensors", "torn", 60), None) is not None


def calls(path: Path, patch: MonkeyPatch) -> list[str]:
    """The system calls of a save, in order."""
    done: list[str] = []

    def noted(name: str) -> Any:
        original = getattr(os, name)

        def other(*arguments: Any) -> Any:
            what = Path(os.readlink(f"/proc/self/fd/{arguments[0]}") if name == "fsync" else arguments[0])
            done.append(f"{name} {'the folder' if what == path.parent else 'the new file'}")
            return original(*arguments)

        return other

    for name in ("fsync", "replace"):
        patch.setattr(os, name, noted(name))
    tl.Checkpoint(w=tl.Variable(1)).save(path)
    patch.undo()
    return done


def test_the_disk_has_the_data_before_the_name(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """The new file is synced before it is renamed to the old name, and then its folder is."""
    expected = ["fsync the new file", "replace the new file", "fsync the folder"]
    assert calls(tmp_path / "it", monkeypatch) == expected


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_error_leaves_the_old_file(call: str, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """After an error or interrupt while saving, the old file remains, and no other."""
    path, w = tmp_path / "it", tl.Variable(1.0)
    checkpoint = tl.Checkpoint(w=w)
    checkpoint.save(path)
    w.assign(2.0)
    for error, raised in ((OSError(28, "No space left on device"), tl.Usage), (KeyboardInterrupt(), KeyboardInterrupt)):

        def fail(*_: Any, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(os, call, fail)
        with pytest.raises(raised):
            checkpoint.save(path)
        monkeypatch.undo()
        assert os.listdir(tmp_path) == ["it"] and load_file(path)["w"] == 1.0


def test_too_many_variables_are_not_written(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """More variables than readers of safetensors accept are refused before the old file is replaced."""
    path = tmp_path / "it"
    tl.Checkpoint(w=tl.Variable(1)).save(path)
    monkeypatch.setattr(file, "MAX_HEADER_BYTES", 1000)
    with pytest.raises(tl.Usage, match="too many objects for a file"):
        tl.Checkpoint(w=[tl.Variable(n) for n in range(100)]).save(path)
    assert list(load_file(path)) == ["w"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Saving through a link replaces its target, and not the link. A new file has default permissions."""
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "it")
    tl.Checkpoint(w=tl.Variable(1)).save(tmp_path / "link")
    (tmp_path / "plain").touch()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "it").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert os.listdir(tmp_path / "there") == ["it"]


NODES = [{"edges": {"a": 1, "b": 2}}, {"edges": {"w": 2, "v": 3, "me": 1}}, {"tensor": "b"}, {"tensor": "a.v"}]
FORM = {"tagloom": "checkpoint", "version": 1, "nodes": NODES}
TENSORS = {"b": np.array([1.0, 2.0]), "a.v": np.array(3)}


def write_file(path: Path, form: object = FORM, tensors: Any = TENSORS, key: str = "tagloom") -> Path:
    path.write_bytes(save(tensors, {key: form if isinstance(form, str) else json.dumps(form)}))
    return path


def message_of_refusal(path: Path) -> tl.TagloomError | None:
    """The message of a file that is not restored; nothing is assigned."""
    b, v = tl.Variable([0.0, 0.0]), tl.Variable(0)
    checkpoint = tl.Checkpoint(b=b, a={"v": v})
    try:
        checkpoint.restore(path)
    except (tl.Malformed, tl.Usage) as error:
        assert np.asarray(b).tolist() == [0.0, 0.0] and int(v) == 0 and str(path) in str(error)
        return error
    return None


def test_a_file_by_hand(tmp_path: Path) -> None:
    """A valid file is read, even if another program wrote it."""
    assert message_of_refusal(write_file(tmp_path / "it")) is None


WRONG: list[tuple[Any, Any, str]] = [
    ("", TENSORS, "this is not JSON"),
    ("[" * 200_000, TENSORS, "nested too deep"),
    ([], TENSORS, "required: an object"),
    ({**FORM, "tagloom": "graph"}, TENSORS, "required: one of checkpoint"),
    ({**FORM, "version": 2}, TENSORS, "required: version 1"),
    ({**FORM, "more": 1}, TENSORS, "no keys but"),
    ({**FORM, "nodes": []}, TENSORS, "a root, which has edges"),
    ({**FORM, "nodes": [{"tensor": "b"}, {"tensor": "a.v"}]}, TENSORS, "a root, which has edges"),
    ({**FORM, "nodes": [{"edges": {"a": 4}}, *NODES[1:]]}, TENSORS, "the number of a node, below 4"),
    ({**FORM, "nodes": [{"edges": {"a": -1}}, *NODES[1:]]}, TENSORS, "from 0 up"),
    ({**FORM, "nodes": [{"edges": {"a": True}}, *NODES[1:]]}, TENSORS, "required: an integer"),
    ({**FORM, "nodes": [*NODES, {"edges": {}, "tensor": "b"}]}, TENSORS, "no keys but tensor"),
    ({**FORM, "nodes": [*NODES, {}]}, TENSORS, "the key edges"),
    ({**FORM, "nodes": [*NODES, {"tensor": "c"}]}, TENSORS, 'got: tensor "c"'),
    ({**FORM, "nodes": [*NODES, {"tensor": "b"}]}, TENSORS, 'got: tensor "b"'),
    (FORM, {**TENSORS, "x": np.zeros(1)}, 'got: tensor "x"'),
    (FORM, {**TENSORS, "b": np.zeros(2, np.complex64)}, 'no values like tensor "b"'),
]


@pytest.mark.parametrize(("form", "tensors", "message"), WRONG, ids=[message for *_, message in WRONG])
def test_malformed(form: Any, tensors: Any, message: str, tmp_path: Path) -> None:
    """An invalid file is Malformed, with its path and the problem."""
    error = message_of_refusal(write_file(tmp_path / "it", form, tensors))
    assert isinstance(error, tl.Malformed) and message in str(error)


def test_no_checkpoint(tmp_path: Path) -> None:
    """Other files, folders, missing files, and safetensors files of others are refused."""
    assert isinstance(error := message_of_refusal(write_file(tmp_path / "it", key="other")), tl.Malformed)
    assert "this is not a tagloom checkpoint" in str(error)
    (tmp_path / "text").write_text("hello")
    assert "this is not a safetensors file, or an incomplete one" in str(message_of_refusal(tmp_path / "text"))
    assert isinstance(message_of_refusal(tmp_path), tl.Usage) and isinstance(
        message_of_refusal(tmp_path / "none"), tl.Usage
    )


def header(data: bytes, change: Any) -> bytes:
    """A file with another header."""
    size = int.from_bytes(data[:8], "little")
    result = json.dumps(change(json.loads(data[8 : 8 + size]))).encode()
    return len(result).to_bytes(8, "little") + result + data[8 + size :]


HEADERS = {
    "huge": lambda h: {**h, "b": {"dtype": "F64", "shape": [2**61, 2**61], "data_offsets": [8, 24]}},
    "huge and empty": lambda h: {**h, "b": {"dtype": "F64", "shape": [0, 2**62, 2**62], "data_offsets": [8, 8]}},
    "beyond": lambda h: {**h, "b": {"dtype": "F64", "shape": [200], "data_offsets": [8, 1608]}},
    "negative": lambda h: {**h, "b": {"dtype": "F64", "shape": [-2], "data_offsets": [8, 24]}},
    "over another": lambda h: {**h, "b": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}},
    "many axes": lambda h: {**h, "b": {"dtype": "F64", "shape": [1] * 90 + [2], "data_offsets": [8, 24]}},
    "of bits": lambda h: {**h, "b": {"dtype": "F4", "shape": [32], "data_offsets": [8, 24]}},
    "no dtype": lambda h: {**h, "b": {"dtype": "PICKLE", "shape": [2], "data_offsets": [8, 24]}},
}


@pytest.mark.parametrize("name", HEADERS)
def test_hostile_headers(name: str, tmp_path: Path) -> None:
    """A header with huge claims is refused without allocating."""
    path = write_file(tmp_path / "it")
    path.write_bytes(header(path.read_bytes(), HEADERS[name]))
    assert isinstance(message_of_refusal(path), tl.Malformed)


@pytest.mark.full
def test_every_truncation(tmp_path: Path) -> None:
    """A file that is cut anywhere, or has trailing bytes, is refused."""
    data = write_file(tmp_path / "it").read_bytes()
    for size in range(len(data)):
        (tmp_path / "cut").write_bytes(data[:size])
        assert isinstance(message_of_refusal(tmp_path / "cut"), tl.Malformed), size
    (tmp_path / "cut").write_bytes(data + b"\0")
    assert isinstance(message_of_refusal(tmp_path / "cut"), tl.Malformed)


SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parents[3] / "docs" / "schemas" / "checkpoint.json").read_text())
)


@pytest.mark.full
def test_the_schema(tmp_path: Path) -> None:
    """Written files fit the published schema, and files that it rejects are not read."""
    tl.Checkpoint(**model(1.0), more=[{"w": tl.Variable(1)}]).save(tmp_path / "it")
    with safe_open(tmp_path / "it", "np") as opened:
        SCHEMA.validate(json.loads(opened.metadata()["tagloom"]))
    SCHEMA.validate(FORM)
    dice, rejected = random.Random(7), 0
    for _ in range(400):
        form = mutate_data(dice, FORM, 1)
        if not SCHEMA.is_valid(form):
            rejected += 1
            assert isinstance(message_of_refusal(write_file(tmp_path / "it", form)), tl.Malformed), form
    assert rejected > 100


@pytest.mark.full
def test_mutations(tmp_path: Path) -> None:
    """Mutated object graphs and bytes are read or refused, without any other error."""
    dice, path = random.Random(5), tmp_path / "it"
    read = {True: 0, False: 0}
    for _ in range(300):
        read[message_of_refusal(write_file(path, mutate_data(dice, FORM, dice.choice([1, 1, 3])))) is None] += 1
    data = write_file(path).read_bytes()
    for _ in range(700):
        changed = bytearray(data)
        for _ in range(dice.choice([1, 1, 4])):
            changed[dice.randrange(len(data))] = dice.choice([0, 255, dice.randrange(256), *b'"{}[]:,0'])
        path.write_bytes(changed)
        read[message_of_refusal(path) is None] += 1
    assert min(read.values()) > 50


def read_leniently(patch: MonkeyPatch) -> None:
    """A twin that restores what can be read, and skips the rest."""
    patch.setattr(file, "parse_nodes", lambda metadata, path, tensors: [file.CheckpointNode({})])


def test_a_lenient_reader_is_caught(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """A twin that reads parts of an invalid file is caught."""
    read_leniently(monkeypatch)
    assert message_of_refusal(write_file(tmp_path / "it", "")) is None


def test_a_large_file_is_written_by_name(tmp_path: Path) -> None:
    """The temporary file has a short name of its own: the target's may be as long as a name can be."""
    write_atomically(tmp_path / ("x" * 255), b"data")
    assert os.listdir(tmp_path) == ["x" * 255]
