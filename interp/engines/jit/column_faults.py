"""Faults of scalar columns: finds the ops whose column numba does not compile, and why.

Called only after a module has failed to compile: each column that the module may contain is then compiled on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from typing import Any

from ....core import dtypes
from ....core.errors import Usage
from ....core.ops.op import OPS, Attributes, Op, fault_error
from ....core.types import Type
from . import kernels
from .symbols import declared_names, define_symbols

_DTYPES = (dtypes.bool, dtypes.int64, dtypes.uint64, dtypes.float64)


def uncompilable_columns(names: Iterable[str] | None = None) -> dict[str, str]:
    """The ops, among these or all, whose scalar column does not compile, with numba's message."""
    rows = [OPS[name] for name in (OPS if names is None else names) if name in OPS]
    faults = {row.name: find_fault(row) for row in rows if row.scalar is not None}
    return {name: fault for name, fault in faults.items() if fault is not None}


def explain_compile_error(ops: Iterable[str]) -> Usage | None:
    """The error that names the faulty column of a program with these ops; None if all columns compile."""
    faults = uncompilable_columns(dict.fromkeys(ops))
    return next((fault_error(name, fault) for name, fault in faults.items()), None)


@cache
def find_fault(row: Op) -> str | None:
    """Why the scalar column of a row does not compile; None if it does."""
    for operands, attributes, result in scalar_signatures(row):
        names = list("abcd"[: len(operands)])
        lanes = [kernels.LANE_TYPES[kernels.lane(type_.dtype)] for type_ in operands]
        try:
            text = kernels.expression(row.name, operands, result, attributes, names)
            probe = f"def probe({', '.join(names)}):\n    return {text}\n"
            module: dict[str, Any] = {}
            exec(f"{kernels.HEADER}{probe}probe = kernel(probe)\nprobe.compile(({', '.join(lanes)},))\n", module)
            (compiled,) = module["probe"].overloads.values()
            names_called = declared_names(compiled.library._final_module)
            define_symbols(name for name in names_called if not name.startswith("llvm."))
        except Exception as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            kinds = ", ".join(map(str, operands))
            return f"the column scalar does not compile for {kinds}: {type(error).__name__}: {' '.join(lines[:3])}"
    return None


def scalar_signatures(row: Op) -> Iterator[tuple[list[Type], Attributes, Type]]:
    """Dtypes on which the row computes scalars, one combination per lane."""
    attributes: list[Attributes] = [(("dtype", dtype),) for dtype in _DTYPES] if "dtype" in row.attributes else [()]
    for values, kinds in product(attributes, product(map(Type, _DTYPES), repeat=row.arity or 0)):
        try:
            yield list(kinds), values, row.type_rule(*kinds, **dict(values))
        except Exception:  # dtypes that it rejects
            continue
