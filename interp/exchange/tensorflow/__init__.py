"""Graphs of TensorFlow as programs. Importing this package imports no TensorFlow, and reading files needs none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ....core.graph.graph import Graph
from ...function.function import Function

SUFFIXES = (".pb", ".pbtxt")
"""The suffixes of files that contain a graph: in protobuf's wire format, or as text."""
MODEL_FILES = tuple(f"saved_model{suffix}" for suffix in SUFFIXES)
"""The names of the file with the model in the folder of a SavedModel; one of them is there."""


def is_saved_model(path: Path) -> bool:
    """Whether a path is the folder of a SavedModel."""
    return path.is_dir() and any((path / name).is_file() for name in MODEL_FILES)


def from_tensorflow(
    source: str | os.PathLike[str] | bytes | Any,
    /,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    signature: str | None = None,
) -> Function:
    """The function that a graph of TensorFlow computes, with its control flow: functional, or of frames.

    `source` is a concrete function, a GraphDef, the bytes of one, the path of a `.pb` or `.pbtxt` file, or the folder
    of a SavedModel. A graph has its placeholders as parameters, in order, and returns the values that no node takes;
    `inputs` and `outputs` name others, as "NODE" or "NODE:NUMBER". `signature` chooses one of a SavedModel's; without
    it, the signature is serving_default, or the only one.

    Variables of a concrete function or a SavedModel become variables of tagloom, with copies of their values. A
    constant of more than 64 elements becomes a hidden argument. Reading files needs no TensorFlow, and runs nothing.

    Raises Usage if the source cannot be read, Malformed if the graph is damaged, and, when the function is traced,
    Usage for a feature that tagloom lacks.
    """
    from .model import import_graph  # here: most programs need no graphs

    return import_graph(source, inputs, outputs, signature)


def executor_graph(
    source: str | os.PathLike[str] | bytes | Any,
    /,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
) -> Graph:
    """A graph of TensorFlow as its executor runs it: node by node, with dead tokens.

    `source` is a GraphDef, the bytes of one, or the path of a `.pb` or `.pbtxt` file; `inputs` and `outputs` are as in
    `from_tensorflow`. `tl.run_graph` and `tl.History` run the graph, on the reference. A race traps, and so does a
    result that is dead.

    Raises Usage if the source cannot be read, or has an op that tagloom lacks or that has effects; Malformed if the
    graph is damaged.
    """
    from .model import import_executor_graph  # here: most programs need no graphs

    return import_executor_graph(source, inputs, outputs)
