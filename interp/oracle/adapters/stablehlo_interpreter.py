"""The adapter of the reference interpreter of StableHLO, which comes with jaxlib. It compiles nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ....core import dtypes
from ....core.program.program import Program
from ....core.types import Type, type_of
from ....core.value import Value, normalize
from ...exchange.export.stablehlo import dense_text, to_stablehlo
from .system import SystemAdapter


class StableHloAdapter(SystemAdapter):
    """StableHLO's interpreter. It optimises nothing, and so has no flags and no levels."""

    name, module, language = "stablehlo of jaxlib", "jaxlib", "C++"

    def __init__(self, settings: Sequence[str] = ()) -> None:
        super().__init__(settings)
        self.ir = import_module("jaxlib.mlir.ir")
        self.interpreter = import_module("jaxlib.mlir.dialects.stablehlo")
        self.context = import_module("jax.interpreters.mlir").make_ir_context()
        self.parser = import_module("...exchange.stablehlo.parse", __package__)

    def compile(self, program: Program) -> Callable[[Sequence[Value]], Sequence[Value]]:
        text = to_stablehlo(program)
        with self.context:
            module = self.ir.Module.parse(text)
        types = program.main.results

        def compute(arguments: Sequence[Value]) -> Sequence[Value]:
            with self.context:
                operands = [self.ir.Attribute.parse(dense_text(value, type_of(value))) for value in arguments]
                results = self.interpreter.eval_module(module, operands)
                return [self.value(result, type_) for result, type_ in zip(results, types, strict=True)]

        return compute

    def value(self, attribute: Any, type_: Type) -> Value:
        """The value of an attribute that is an array."""
        shape, dtype = tuple(self.ir.ShapedType(attribute.type).shape), type_.dtype
        if dtype is dtypes.bfloat16:
            array = np.resize(self.parser.bfloat16_bits(str(attribute)), math.prod(shape)).view(dtype.numpy)
        elif dtype is dtypes.float16:
            array = np.array(attribute)
        else:
            form = self.ir.DenseFPElementsAttr if dtype.kind == "f" else self.ir.DenseIntElementsAttr
            array = np.array(list(form(attribute)), dtype.numpy)
        return normalize(array.reshape(shape), Type(dtype, shape))
