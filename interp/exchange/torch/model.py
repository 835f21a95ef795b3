"""Functions from .pt2 files, and from results of `torch.export.export`: PyTorch writes such a result into an archive,
which is read like a file. Nothing in a file is run."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from ....core.errors import Usage
from ....core.files import read_regular_file
from ...function.function import Function
from ..functions import identifier
from . import rows  # noqa: F401 - registers the operators
from .archive import ExportedArchive, read_archive
from .interpreter import ExportedInterpreter
from .operations import has_row

MAX_BYTES = 2**33
"""The most bytes of a file."""


def import_exported(source: Any) -> Function:
    """`from_torch`, for any of its sources."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return archive_function(read_archive(read_regular_file(path, "program", MAX_BYTES), path.name), path.stem)
    if isinstance(source, bytes):
        return archive_function(read_archive(source, None), "program")
    if hasattr(source, "graph_signature") and hasattr(source, "module_call_graph"):
        archive = read_archive(save(source), None)
        return archive_function(archive, archive.program.name)
    required = "a path, bytes, or a result of torch.export.export"
    hint = "call torch.export.export(module, arguments)" if callable(source) else None
    raise Usage("this is not an exported program of PyTorch", required=required, got=type(source).__name__, hint=hint,
                python=TypeError)  # fmt: skip


def archive_function(archive: ExportedArchive, name: str) -> Function:
    """The function of an archive."""
    return ExportedInterpreter(archive.program, archive.array, identifier(name, "program")).function()


def decompose(exported: Any) -> Any:
    """The program with operators that have no row decomposed into others, where PyTorch can."""
    import torch  # here: PyTorch is an extra

    graphs = [module.graph for module in exported.graph_module.modules() if hasattr(module, "graph")]
    targets = {node.target for graph in graphs for node in graph.nodes if node.op == "call_function"}
    operators = {target for target in targets if isinstance(target, torch._ops.OpOverload)}
    without_row = {target for target in operators if not has_row(f"torch.ops.{target}")}
    if not without_row:
        return exported
    table = torch.export.default_decompositions()
    rules = {target: table[target] for target in without_row if target in table}
    return exported.run_decompositions(rules) if rules else exported


def save(exported: Any) -> bytes:
    """The archive of an exported program, decomposed where it needs to be."""
    import torch  # here: PyTorch is an extra

    content = io.BytesIO()
    try:
        torch.export.save(decompose(exported), content)
    except Exception as error:  # of PyTorch's own kinds
        problem = f"{type(error).__name__}: {error}"[:300]
        raise Usage(
            "PyTorch cannot save this program", required="one that torch.export.save takes", got=problem
        ) from None
    return content.getvalue()
