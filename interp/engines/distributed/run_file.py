"""Checkpoints in a file, from which a run continues when its driver's process has died.

A file is one JSON document: a digest of the run (its graph, arguments and seed), the stores of each worker (`stores`),
the results of the effects that a rollback may repeat, and a digest of all this. A new checkpoint replaces the file
atomically, so the file always has a complete one. Effects on the outside world after the last checkpoint happen again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ....core.errors import Usage
from ....core.files import path_errors, read_file, remove_stale_files, replaceable_path, write_atomically
from ....core.graph.graph import Graph
from ....core.json.graph import graph_to_json
from ....core.json.value import value_to_json
from ....core.value import Value
from ...machine.state import State
from ...outcome.worker_lanes import MAX_WORKERS
from ...records.documents import TagTable
from .messages import FiringResult, message_to_json, read_message, read_names, table_to_json
from .stores import WorkerStores, read_stores

_NOUN = "checkpoint of a run"
REQUIRED_FILE = "a file that a run with checkpoint=PATH wrote"
_UNWRITABLE = f"this {_NOUN} cannot be written"


class SavedRun(NamedTuple):
    """A run at one moment: the stores of each worker, as documents, and the results of effects that these do not
    contain."""

    stores: list[Any]
    effect_results: tuple[FiringResult, ...]


def run_digest(graph: Graph, arguments: Sequence[Value], seed: int) -> str:
    """A digest of everything that determines a run; source lines do not."""
    nodes = tuple(replace(node, location=None) for node in graph.nodes)
    content = [graph_to_json(replace(graph, nodes=nodes)), [value_to_json(argument) for argument in arguments], seed]
    return sha256(json.dumps(content).encode()).hexdigest()


def prepare_path(path: str | os.PathLike[str]) -> None:
    """Remove leftovers of killed runs beside a file for checkpoints. Raises Usage, which is also an OSError, where none
    can be written, before a run spends time on one."""
    with path_errors(path, _UNWRITABLE):
        remove_stale_files(replaceable_path(path).parent)


def write_run(path: str | os.PathLike[str], digest: str, stores: list[Any], results: Iterable[FiringResult]) -> None:
    """Write a checkpoint of the run with this digest. Raises Usage, which is also an OSError, where that is
    impossible."""
    table = TagTable(())
    effects = [message_to_json(table, result) for result in results]
    names = table_to_json(table)
    document = {"run": digest, "stores": stores, "effects": [effects, *names]}
    content = json.dumps(document, separators=(",", ":"), default=value_to_json)  # arrays are not data for JSON
    text = f'{{"sha256":"{sha256(content.encode()).hexdigest()}","content":{content}}}\n'
    with path_errors(path, _UNWRITABLE):
        write_atomically(Path(path), text.encode())


def read_run(path: str | os.PathLike[str], graph: Graph, digest: str) -> SavedRun:
    """The run of a file. Raises Usage if it cannot be read, is damaged, or is of another run."""
    data = read_file(path, _NOUN)
    required = REQUIRED_FILE
    try:
        prefix, content = data.decode().rstrip("\n").split(',"content":', 1)
        if prefix != f'{{"sha256":"{sha256(content[:-1].encode()).hexdigest()}"':
            raise Usage(f"this {_NOUN} is damaged", required=required, got=os.fspath(path))
        document = json.loads(content[:-1])
        if document["run"] != digest:
            required = "the same program, arguments and seed"
            raise Usage("this checkpoint is of a different run", required=required, got=os.fspath(path))
        stores = document["stores"]
        if not 1 <= len(stores) <= MAX_WORKERS:
            raise ValueError
        check_depths([read_stores(json.loads(json.dumps(document)), State(graph, None)) for document in stores])
        effects, *names = document["effects"]
        results = tuple(read_message(read_names(*names), effect) for effect in effects)
    except Usage:
        raise
    except Exception:  # what a document of another form raises where it is read
        raise Usage(f"this is not a {_NOUN}", required=required, got=os.fspath(path), python=ValueError) from None
    return SavedRun(stores, tuple(result for result in results if isinstance(result, FiringResult)))


def check_depths(parts: Sequence[WorkerStores]) -> None:
    """Raise ValueError for a depth that no run has: statistics would count up to it. A run has firings of every depth
    below its deepest, so no depth is greater than the number of different depths."""
    deepest = len({depth for part in parts for depth in part.meter.firings})
    for part in parts:
        meter = part.meter
        of_tokens = *meter.operand_depths.values(), *part.fill_depths.values()
        for depth in chain(meter.firings, meter.tokens, meter.waiting_changes, of_tokens):
            if type(depth) is not int or not 0 <= depth <= deepest:
                raise ValueError
