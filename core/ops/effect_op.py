"""Ops that do more than compute a value from their operands: ops on cells, on the world outside, and random draws.

Such an op is a row too. The machine defines what it does (docs/semantics.md, S13 to S16), so a row here has no kernel,
except those that draw random numbers.
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
class EffectOp:
    """A row of the table of effect ops.

    With `arity` None the op takes any number of operands. `resource` names what an effect is ordered on; an effect has
    the order token as its trigger and as its second output. `form` says whether the op is one of programs, of graphs or
    of both: a `put` of a program is a `store` in a graph. `draw` computes random values from a key, the operands and
    the attributes; `trap_reason` says why there are none.
    """

    name: str
    arity: int | None
    type_rule: TypeRule
    doc: str
    attributes: tuple[str, ...] = ()
    resource: str | None = None
    output_count: int = 1
    form: Literal["both", "program", "graph"] = "both"
    draw: Callable[..., Value] | None = None
    trap_reason: Callable[..., str | None] | None = None

    def __repr__(self) -> str:
        return f"<op {self.name}>"


_REGISTRY: dict[str, EffectOp] = {}
EFFECT_OPS: Mapping[str, EffectOp] = MappingProxyType(_REGISTRY)
"""Every op that does more than compute, by name, in the order of the families."""
OpRow: TypeAlias = Op | EffectOp
ALL_OPS: Mapping[str, OpRow] = ChainMap(_REGISTRY, OPS)  # type: ignore[arg-type]  # neither is ever written through it
"""Every op that a node may have, except those that route tokens or have regions."""


def effect_op(name: str, **columns: Any) -> EffectOp:
    """Declare a row."""
    assert name not in ALL_OPS, f"{name} is declared twice"
    row = EffectOp(name=name, **columns)
    _REGISTRY[name] = row
    return row


def lookup_row(name: str) -> OpRow:
    """The row of an op; raises Usage where there is none."""
    if name not in ALL_OPS:
        raise Usage(f"no op is called {name!r}", hint=f"the ops are {', '.join(ALL_OPS)}")
    return ALL_OPS[name]


def resource_of(op: str) -> str | None:
    """The resource that an effect is ordered on; None for other ops."""
    return EFFECT_OPS[op].resource if op in EFFECT_OPS else None


def is_allowed_in(op: str, form: str) -> bool:
    """Whether an op may stand in a program, or in a graph."""
    return op in OPS or (op in EFFECT_OPS and EFFECT_OPS[op].form in (form, "both"))
