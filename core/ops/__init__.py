"""The families of ops, in the order in which documents list them. A family is a file of rows."""

from . import (
    arithmetic,
    bits,
    cells,
    compare,
    effect,
    factor,
    index,
    linalg,
    math,
    open,
    order,
    parts,
    random,
    reduce,
    select,
    shape,
)

__all__ = [
    "arithmetic",
    "bits",
    "cells",
    "compare",
    "effect",
    "factor",
    "index",
    "linalg",
    "math",
    "open",
    "order",
    "parts",
    "random",
    "reduce",
    "select",
    "shape",
]
