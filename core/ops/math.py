"""Elementary functions of floats. Outside their domain they give NaN or an infinity, never a trap.

On arrays they are NumPy's. Those of float32 are computed as such where NumPy's are within 2 ulp of the exact number:
of every 97th float32, those of tanh, sin and cos were within 1.5; those of exp and log were not within 2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..op import op
from . import guarded
from .rules import elementwise


def _function(name: str, numpy: Any, scalar: Any, doc: str, narrow: Any = None) -> None:
    op(name, arity=1, types=elementwise("f"), numpy=numpy, scalar=scalar, narrow=narrow, symbol=name, doc=doc)


_function("sqrt", np.sqrt, guarded.sqrt, "Square root; NaN below zero.\n\n>>> tl.sqrt(2.25)\n1.5\n")
_function("exp", np.exp, guarded.exp, "Exponential; inf where it overflows.\n\n>>> tl.exp(0.0)\n1.0\n")
_function("log", np.log, guarded.log, "Natural logarithm; -inf at zero, NaN below.\n\n>>> tl.log(1.0)\n0.0\n")
_function("sin", np.sin, guarded.sin, "Sine of radians; NaN at infinities.\n\n>>> tl.sin(0.0)\n0.0\n", np.sin)
_function("cos", np.cos, guarded.cos, "Cosine of radians; NaN at infinities.\n\n>>> tl.cos(0.0)\n1.0\n", np.cos)
_function("tanh", np.tanh, math.tanh, "Hyperbolic tangent.\n\n>>> tl.tanh(0.0)\n0.0\n", np.tanh)
