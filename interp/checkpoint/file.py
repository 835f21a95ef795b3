"""Checkpoints as files: safetensors, with the graph of objects as JSON in its `__metadata__`.

The tensors have the paths of their variables for names, so that any reader of safetensors has use for them. Reading
believes nothing: what does not fit is Malformed, with the file and the place in it, and no code is ever run.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.errors import Malformed, Usage
from ...core.frontend.trace.source_location import here
from ...core.json.cursor import Cursor, form_of, head, parse, said
from ...core.types import MOST_AXES
from ...core.value import Literal, literal
from .whole import write_whole

KEY = "tagloom"
"""Which metadata of a safetensors file are ours."""
LONGEST = 100_000_000
"""How many bytes of names and shapes readers of safetensors take."""
_DTYPES = ("BOOL", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "F32", "F64")
"""What safetensors calls our dtypes."""


class Node(NamedTuple):
    """An object in a file: the numbers of those that its edges lead to, or the tensor of a variable."""

    edges: Mapping[str, int]
    tensor: str | None = None


class Saved(NamedTuple):
    """What a checkpoint has. The first node is the root."""

    path: str
    nodes: Sequence[Node]
    tensors: Mapping[str, Literal]


def write(path: str | os.PathLike[str], nodes: Sequence[Node], tensors: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write a checkpoint, whole or not at all; raises Usage where the file cannot be written, or not be read."""
    from safetensors.numpy import save  # not before it is used

    forms = [{"edges": node.edges} if node.tensor is None else {"tensor": node.tensor} for node in nodes]
    text = json.dumps(head("checkpoint", nodes=forms), separators=(",", ":"))
    data = save(dict(tensors), {KEY: text})
    size = int.from_bytes(data[:8], "little")
    if size > LONGEST:
        required = f"{LONGEST:,} bytes of names and shapes"
        raise Usage("too many objects for a file", where=here(), required=required, got=f"{size:,}")
    try:
        write_whole(Path(path), data)
    except OSError as error:
        raise Usage("this checkpoint cannot be written", where=here(), got=path, hint=error.strerror) from None


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a checkpoint; raises Usage where there is no file that can be read, and Malformed where it is none."""
    from safetensors import SafetensorError, safe_open

    name = os.fspath(path)
    if not Path(name).is_file():
        raise _unreadable(name, "it is no file" if Path(name).exists() else "there is no such file")
    try:
        with safe_open(name, framework="np") as file:
            nodes = _nodes(file.metadata() or {}, name, file.keys())
            tensors = {each: _tensor(file, each, name) for each in file.keys()}  # noqa: SIM118 - it is no dict
    except OSError as error:
        raise _unreadable(name, error.strerror or str(error)) from None
    except SafetensorError as error:
        raise Malformed("this is no safetensors file, or not a whole one", where=name, got=error) from None
    return Saved(name, nodes, tensors)


def _unreadable(path: str, why: str) -> Usage:
    return Usage("this checkpoint cannot be read", where=here(), got=path, hint=why)


def _nodes(metadata: Mapping[str, str], path: str, tensors: Sequence[str]) -> tuple[Node, ...]:
    """The graph of objects; every tensor belongs to one variable."""
    if KEY not in metadata:
        hint = "safetensors.numpy.load_file reads its tensors"
        raise Malformed("this is no checkpoint of tagloom", where=path, required=f"metadata {KEY}", hint=hint)
    at = Cursor(parse(metadata[KEY], f"{path}: $"), f"{path}: $")
    form_of(at, ("checkpoint",))
    listed = at.fields("tagloom", "version", "nodes")[2]
    nodes = listed.each(lambda node: _node(node, len(listed.raw())))
    if not nodes or nodes[0].tensor is not None:
        listed.refuse("a root, which has edges")
    named, there = Counter(node.tensor for node in nodes if node.tensor is not None), Counter(tensors)
    wrong = next(iter((named - there) | (there - named)), None)
    if wrong is not None:
        listed.refuse("one node for each tensor of the file, and no other", f"tensor {said(wrong)}")
    return nodes


def _node(at: Cursor, count: int) -> Node:
    if "tensor" in at.record():
        return Node({}, at.fields("tensor")[0].text())
    (edges,) = at.fields("edges")
    return Node({name: _number(target, count) for name, target in edges.items()})


def _number(at: Cursor, count: int) -> int:
    number = at.integer(0)
    if number >= count:
        at.refuse(f"the number of a node, below {count}")
    return number


def _tensor(file: Any, name: str, path: str) -> Literal:
    kept = file.get_slice(name)
    dtype, shape = kept.get_dtype(), kept.get_shape()
    try:
        if dtype not in _DTYPES or len(shape) > MOST_AXES:
            raise ValueError
        return literal(np.asarray(file.get_tensor(name)))
    except ValueError:
        required = f"one of {', '.join(_DTYPES)}, of {MOST_AXES} axes at most"
        got = f"{dtype} of {len(shape)} axes"
        what = f"tensor {said(name)} is none of tagloom's"
        raise Malformed(what, where=path, required=required, got=got) from None
