"""ONNX models as programs. Importing this package does not import the package `onnx`, which is optional."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

from ....core.errors import Usage
from ...function.function import Function


def from_onnx(source: str | os.PathLike[str] | bytes | Any, /, **constants: Any) -> Function:
    """The function that an ONNX model computes: it has the model's inputs as parameters, and returns its outputs, a
    tuple if there are several. A sequence is a list of arrays, if its length is known, or else its elements and shapes.

    `source` is the path of a file, the bytes of one, or a model. `constants` fixes inputs by name: a model whose inputs
    decide the number of axes, or other things that must be known before a run, needs that. An input with a value in the
    model is not a parameter, but a constant may replace its value. Tensors of the model of more than 64 elements become
    hidden arguments.

    Raises Usage for a file that cannot be read, Malformed for a model that breaks ONNX's rules, and, when the function
    is traced, Usage for a feature that tagloom lacks.

    >>> from onnx import TensorProto, helper
    >>> x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    >>> graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "exponential", [x], [y])
    >>> from_onnx(helper.make_model(graph)).run([0.0, 0.0]).value.tolist()
    [1.0, 1.0]
    """
    if find_spec("onnx") is None:
        hint = 'pip install "tagloom[onnx]"'
        raise Usage("ONNX models cannot be read", required="the package onnx", hint=hint, python=ImportError)
    from .model import import_model  # here: most programs need no models

    return import_model(source, constants)
