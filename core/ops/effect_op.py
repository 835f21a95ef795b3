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
class EffectOp:
    """A row of the table of acts.

    `arity` is None where any number of operands will do. `resource` names what an effect is ordered on, and an effect
    has the order token as its trigger and as its second output. `form` says where the op stands: a `put` of a program
    is a `store` in a graph. `draw` computes random values from a key, the operands and the attributes; `trap_reason`
    says why there are none.
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
"""Every op that a node may have, but for those that route tokens or have structure."""


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
    """What an effect is ordered on; None for ops that are no effects."""
    return EFFECT_OPS[op].resource if op in EFFECT_OPS else None


def is_allowed_in(op: str, form: str) -> bool:
    """Whether an op may stand in a program, or in a graph."""
    return op in OPS or (op in EFFECT_OPS and EFFECT_OPS[op].form in (form, "both"))
