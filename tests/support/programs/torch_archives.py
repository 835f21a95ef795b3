"""An exported program of PyTorch that tests use without PyTorch, and archives made of changed copies of it."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

ADDING = Path(__file__).parents[3] / "docs" / "models" / "adding.pt2"
"""An LSTM that adds numbers of two digits (`torch_models.py`)."""
MODEL, WEIGHTS = "models/model.json", "data/weights/model_weights_config.json"


@lru_cache(maxsize=1)
def entries() -> dict[str, bytes]:
    """The entries of the program's archive."""
    with zipfile.ZipFile(ADDING) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def full_name(ending: str) -> str:
    return next(name for name in entries() if name.endswith(ending))


def document(ending: str = MODEL) -> Any:
    """The data of an entry."""
    return json.loads(entries()[full_name(ending)])


def archive(changes: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive with other contents for some entries, or with more of them."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as target:
        for name, entry in {**entries(), **changes}.items():
            target.writestr(zipfile.ZipInfo(name), entry, compress_type=compression)
    return content.getvalue()


def changed(change: Callable[[Any], None], ending: str = MODEL) -> bytes:
    """An archive in which a function has changed the data of an entry."""
    data = copy.deepcopy(document(ending))
    change(data)
    return archive({full_name(ending): json.dumps(data).encode()})


def graph_nodes(graph: Any) -> list[Any]:
    """The nodes of a graph of a document, those in its inner graphs included."""
    found = []
    for node in graph["nodes"]:
        found.append(node)
        for argument in node["inputs"]:
            if "as_graph" in argument["arg"]:
                found += graph_nodes(argument["arg"]["as_graph"]["graph"])
    return found


def first_node(data: Any, target: str) -> Any:
    """The first node of a document that applies an operator."""
    return next(node for node in graph_nodes(data["graph_module"]["graph"]) if target in node["target"])
