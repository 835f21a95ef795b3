"""Ops that do more than compute a value from their operands: on cells, on the world outside, or with random numbers.

Such an op is a row too. What it does is the machine's to say (docs/semantics.md, S13 to S16), so that a row here has no
kernel, but for those that draw random numbers.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from ..errors import Usage
from ..value import Value
from .op import OPS, Op, TypeRule


@dataclass(frozen=True, slots=True)
class Act:
    """A row of the table of acts.

    `arity` is None where any number of operands will do. `resource` names what an effect is ordered on, and an effect
    has the order token as its trigger and as its second output. `form` says where the op stands: a `put` of a program
    is a `store` in a graph. `draw` computes random values from a key, the operands and the attributes; `undefined`
    says why there are none.
    """

    name: str
    arity: int | None
    types: TypeRule
    doc: str
    attributes: tuple[str, ...] = ()
    resource: str | None = None
    outputs: int = 1
    form: Literal["both", "program", "graph"] = "both"
    draw: Callable[..., Value] | None = None
    undefined: Callable[..., str | None] | None = None

    def __repr__(self) -> str:
        return f"<op {self.name}>"


_REGISTRY: dict[str, Act] = {}
ACTS: Mapping[str, Act] = MappingProxyType(_REGISTRY)
"""Every op that does more than compute, by name, in the order of the families."""
Row: TypeAlias = Op | Act
ROWS: Mapping[str, Row] = ChainMap(_REGISTRY, OPS)  # type: ignore[arg-type]  # neither is ever written through it
"""Every op that a node may have, but for those that route tokens or have structure."""


def act(name: str, **columns: Any) -> Act:
    """Declare a row."""
    assert name not in ROWS, f"{name} is declared twice"
    row = Act(name=name, **columns)
    _REGISTRY[name] = row
    return row


def row_of(name: str) -> Row:
    """The row of an op; raises Usage where there is none."""
    if name not in ROWS:
        raise Usage(f"no op is called {name!r}", hint=f"the ops are {', '.join(ROWS)}")
    return ROWS[name]


def resource_of(op: str) -> str | None:
    """What an effect is ordered on; None for ops that are no effects."""
    return ACTS[op].resource if op in ACTS else None


def stands_in(op: str, form: str) -> bool:
    """Whether an op may stand in a program, or in a graph."""
    return op in OPS or (op in ACTS and ACTS[op].form in (form, "both"))
