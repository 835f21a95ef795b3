"""Exported programs of PyTorch as programs. Importing this package imports no PyTorch, and reading files needs none."""

from __future__ import annotations

import os
from typing import Any

from ...function.function import Function

SUFFIX = ".pt2"
"""The suffix of the names of files that contain an exported program."""


def from_torch(source: str | os.PathLike[str] | bytes | Any, /) -> Function:
    """The function that an exported program of PyTorch computes, with its control flow: `cond`, `while_loop`, `scan`
    and `map`.

    `source` is a result of `torch.export.export`, the path of a `.pt2` file, or its bytes. The result takes the
    arguments of the module's `forward`, of the same dtypes and shapes, nested in the same way; sizes that
    `dynamic_shapes` left open may differ. It returns the results of `forward`; a container of a class that tagloom
    lacks is a tuple.

    Parameters and buffers become variables of tagloom with copies of their values: the result has them by their names
    in the module, as `variables["head.bias"]`. A tape differentiates with respect to parameters, and a run may assign
    buffers. A constant of more than 64 elements becomes a hidden argument.
    Reading files needs no PyTorch, and runs nothing: pickled entries of a file are refused or ignored.

    Raises Usage if the source cannot be read, Malformed if it is damaged, and, when the function is traced, Usage for a
    feature that tagloom lacks.
    """
    from .model import import_exported  # here: most programs need no exported programs

    return import_exported(source)
