"""Generated programs of scalars only."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st
from support.generators import generator
from support.generators.generator import PALETTES, Case, ProgramWriter, signatures, values
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.frontend.trace.program_builder import ProgramBuilder
from tagloom.core.frontend.trace.pytree import leaf_type
from tagloom.core.frontend.trace.symbol import Symbol
from tagloom.core.types import Type
from tagloom.core.value import admit


class ScalarWriter(ProgramWriter):
    """Writes programs of scalars."""

    without: Collection[str] = ()
    """Ops that the programs do not have."""

    @property
    def types(self) -> tuple[Type, ...]:
        return self.scalars

    def op(self, scope: list[Any]) -> Any:
        usable = {
            name: results
            for name, every in signatures(self.extra).items()
            if name not in self.without
            and (results := [each for each in every if all(type_.is_scalar for type_ in each[0])])
        }
        name = self.pick(*usable)
        types, attributes = self.pick(*usable[name])
        operands = [generator._strong(self.value(scope, type_)) for type_ in types]
        if name in ("floor_divide", "remainder", "pow") and types[1].dtype.is_integer and self.pick(True, True, False):
            operands[1] = generator._strong(admit(self.pick(2, 3, 1), types[1]))
        return apply(name, *operands, **dict(attributes))


@st.composite
def scalar_cases(draw: Any, without: Collection[str] = ()) -> Case:
    """Programs of scalars without some ops, and arguments for them."""
    extra = tuple(type_ for type_ in draw(st.sampled_from(PALETTES)) if type_.is_scalar)
    writer = ScalarWriter(draw, extra)
    writer.without = without
    writer.helpers = [writer.helper(position) for position in range(draw(st.sampled_from((1, 2, 0))))]
    main, types = writer.main()
    program, _ = ProgramBuilder(Symbol).build_program(main, tuple(map(leaf_type, types)))
    return Case(program, [draw(values(type_)) for type_ in types])
