"""The registry of PyTorch's operators: a row for all overloads of an operator, in the file of its family. A row is a
Python function that applies tagloom's own functions; its parameters are named as in the operator's schema.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..refusals import require, tl, unsupported
from .graph import TensorMeta

__all__ = ["ROWS", "AtenRow", "find_row", "require", "row", "tl", "unsupported"]

Compute: TypeAlias = Callable[..., Any]
CopyRule: TypeAlias = Callable[[TensorMeta, TensorMeta], bool | None]
"""Whether a result is a copy of the operand, not a view; None if this is known only at run time."""
INFIX_IN_PLACE = {
    "aten.__iand__": "aten.__and__", "aten.__ior__": "aten.__or__", "aten.__ixor__": "aten.__xor__",
    "aten.__ilshift__": "aten.__lshift__", "aten.__irshift__": "aten.__rshift__",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AtenRow:
    """The row of an operator: the function that computes it."""

    name: str
    compute: Compute
    is_view: bool
    """Whether its results share the memory of its first operand."""
    copies: CopyRule | None
    """Whether such a result is a copy, by the declarations of the operand and of the result in the program."""
    mutates: tuple[str, ...]
    """The parameters that it may change; their new values follow its results, None for one that it leaves alone."""
    is_folded: bool
    """Whether its results are computed before the run if all operands are small constants."""
    parameters: frozenset[str]
    takes_result: bool
    takes_node: bool

    @property
    def is_structured(self) -> bool:
        """Whether its operands have no names, and graphs may be among them."""
        return self.takes_node


ROWS: dict[str, AtenRow] = {}


def row(
    *names: str,
    dialect: str = "aten",
    is_view: bool = False,
    copies: CopyRule | None = None,
    mutates: tuple[str, ...] = (),
    is_folded: bool = True,
) -> Callable[[Compute], Compute]:
    """Register a function as the row of operators. Its keyword parameter `result`, if it has one, takes the type of its
    first result, and `node` a `TorchCall`."""

    def register(compute: Compute) -> Compute:
        parameters = frozenset(inspect.signature(compute).parameters)
        for name in names:
            full_name = f"{dialect}.{name}"
            assert full_name not in ROWS, full_name
            ROWS[full_name] = AtenRow(
                full_name,
                compute,
                is_view,
                copies,
                mutates,
                is_folded,
                parameters - {"result", "node"},
                "result" in parameters,
                "node" in parameters,
            )
        return compute

    return register


def operator_name(target: str) -> str:
    """The name of an operator without its overload.

    >>> operator_name("torch.ops.aten.add.Tensor"), operator_name("_operator.mul")
    ('aten.add', '_operator.mul')
    """
    parts = target.removeprefix("torch.ops.").split(".")
    return ".".join(parts[:2]) if target.startswith("torch.ops.") else target


def base_name(name: str) -> str:
    """The name of the operator that computes the same as an operator that works in place."""
    return INFIX_IN_PLACE.get(name) or (name[:-1] if name.endswith("_") else name)


def has_row(target: str) -> bool:
    """Whether there is a row for an operator."""
    name = operator_name(target)
    return name in ROWS or base_name(name) in ROWS


def find_row(target: str) -> tuple[AtenRow, bool]:
    """The row of an operator, and whether the operator changes its first operand in place. Raises Unsupported where
    there is none."""
    name = operator_name(target)
    entry = ROWS.get(name) or ROWS.get(base_name(name))
    if entry is None:
        raise unsupported("op", f"tagloom has no operator {name}")
    return entry, name not in ROWS
