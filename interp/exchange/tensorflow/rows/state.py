"""Ops with effects: variables, assertions, prints and draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..interpreter import TensorFlowCall
from ..operations import operation, tl, unsupported
from ..tensors import ElementType, StringArray
from ..values import FormattedText, VariableHandle, is_array
from .common import dtype_of, elements, scalar, shape_of, to_dtype, vector
from .indexing import as_index, scatter
from .shapes import INT32

PLACE = ("container", "shared_name", "allowed_devices", "debug_name")
"""Attributes that determine where a variable is stored."""


@operation("VarHandleOp", takes_values=True, ignored=PLACE)
def variable_handle(*, node: TensorFlowCall) -> Any:
    return node.interpreter.captures.get(node.node.name, VariableHandle(node.node.name))


@operation("VariableV2", "Variable", takes_values=True, ignored=PLACE, has_effect=True)
def variable(*, node: TensorFlowCall) -> Any:
    """A variable of TensorFlow 1, whose node gives its value."""
    return variable_handle(node=node).contents().value


@operation("ReadVariableOp", takes_values=True, has_effect=True)
def read_variable(handle: Any) -> Any:
    return contents(handle).value


def contents(handle: Any) -> Any:
    """The variable of a resource."""
    if not isinstance(handle, VariableHandle):
        raise unsupported("construct", "a resource that is not a variable")
    return handle.contents()


@operation("AssignVariableOp", takes_values=True, has_effect=True, ignored=("validate_shape",))
def assign(handle: Any, value: Any) -> Any:
    contents(handle).assign(value)
    return []


@operation("AssignAddVariableOp", takes_values=True, has_effect=True)
def assign_add(handle: Any, value: Any) -> Any:
    contents(handle).assign(tl.add(contents(handle).value, value))
    return []


@operation("AssignSubVariableOp", takes_values=True, has_effect=True)
def assign_sub(handle: Any, value: Any) -> Any:
    contents(handle).assign(tl.subtract(contents(handle).value, value))
    return []


@operation("VarIsInitializedOp", takes_values=True)
def is_initialized(handle: Any) -> Any:
    contents(handle)
    return np.asarray(True)


@operation("VariableShape", takes_values=True)
def variable_shape(handle: Any, *, out_type: ElementType = INT32) -> Any:
    return vector(shape_of(contents(handle).value), out_type.dtype)


@operation("ResourceGather", takes_values=True, has_effect=True, ignored=("validate_indices",))
def resource_gather(handle: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    if batch_dims:
        raise unsupported("attribute", "ResourceGather with batch_dims")
    return tl.take(contents(handle).value, as_index(indices), axis=0)


@operation("ResourceScatterUpdate", takes_values=True, has_effect=True)
def resource_scatter_update(handle: Any, indices: Any, updates: Any) -> Any:
    value = contents(handle).value
    contents(handle).assign(scatter(tl.scatter, value, tl.expand_dims(indices, axis=-1), updates))
    return []


@operation("ResourceScatterAdd", takes_values=True, has_effect=True)
def resource_scatter_add(handle: Any, indices: Any, updates: Any) -> Any:
    value = contents(handle).value
    contents(handle).assign(scatter(tl.scatter_add, value, tl.expand_dims(indices, axis=-1), updates))
    return []


@operation("Assert", takes_values=True, has_effect=True, ignored=("summarize",))
def assert_(condition: Any, *data: Any) -> Any:
    """The message of a failed assertion has the texts among its data."""
    texts = [text for operand in data if isinstance(operand, StringArray) for text in operand.strings]
    tl.assert_(scalar(condition), " ".join(texts))
    return []


@operation("StringFormat", takes_values=True, ignored=("summarize",))
def string_format(*operands: Any, template: str = "%s", placeholder: str = "%s") -> Any:
    return FormattedText(template, placeholder, operands)


@operation("PrintV2", takes_values=True, has_effect=True, ignored=("output_stream", "end"))
def print_v2(text: Any) -> Any:
    parts: Sequence[Any] = list(text.strings) if isinstance(text, StringArray) else text.parts()
    tl.print(*(part.strip() if isinstance(part, str) else part for part in parts))
    return []


@operation("Print", takes_values=True, has_effect=True, ignored=("first_n", "summarize"))
def print_(x: Any, *data: Any, message: str = "") -> Any:
    tl.print(message, *(operand for operand in data if is_array(operand)))
    return x


SEEDS = ("seed", "seed2")
"""Attributes of random ops. They are ignored: tagloom draws, with its own seed."""


@operation("RandomUniform", has_effect=True, ignored=SEEDS)
def random_uniform(sizes: Any, *, dtype: ElementType) -> Any:
    return to_dtype(tl.uniform(tuple(elements(sizes))), dtype.dtype)


@operation("RandomStandardNormal", has_effect=True, ignored=SEEDS)
def random_normal(sizes: Any, *, dtype: ElementType) -> Any:
    return to_dtype(tl.normal(tuple(elements(sizes))), dtype.dtype)


@operation("RandomUniformInt", has_effect=True, ignored=SEEDS)
def random_integers(sizes: Any, low: Any, high: Any) -> Any:
    draws = tl.integers(to_dtype(low, tl.int64), to_dtype(high, tl.int64), tuple(elements(sizes)))
    return to_dtype(draws, dtype_of(low))


@operation("RandomShuffle", has_effect=True, ignored=SEEDS)
def random_shuffle(x: Any) -> Any:
    return tl.take(x, tl.permutation(tl.shape(x)[0]), axis=0)
