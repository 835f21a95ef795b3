"""What is known of a function's results while functions are traced: how they nest, their types, and which are Python
numbers so far.

Owns how one trace's finding is joined with another's: types only widen.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..dtypes import promote
from ..errors import Invalid
from ..program import Location
from ..types import Type
from .resource import Resource
from .structure import Form, Structure
from .tracing import Names

Weak = tuple[int | float | None, ...]
"""For each leaf a number of its kind, where it is a Python number so far."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a function's results. A weak one is a Python number so far, and takes any dtype that fits."""

    form: Form
    weak: Weak
    lines: tuple[Location | None, ...] = field(compare=False)
    captured: tuple[Resource, ...] = ()
    """What it uses beside its arguments, and takes as further parameters."""
    assigned: tuple[Resource, ...] = ()
    """The variables that it assigns, and gives as further results."""

    @property
    def results(self) -> tuple[Type, ...]:
        """The types of all results."""
        return (*self.form.types, *(variable.type for variable in self.assigned))

    @property
    def structure(self) -> Structure:
        """How the results nest, and what follows them."""
        names = Names()
        return replace(self.form.structure, behind=tuple(names.fresh(variable.name) for variable in self.assigned))

    @classmethod
    def firmly(cls, form: Form) -> Known:
        return cls(form, (None,) * len(form.types), (None,) * len(form.types))


def joined(name: str, known: Known | None, found: Known) -> Known:
    """What is known, and what another trace found; raises Invalid where no type admits both."""
    if known is None:
        return found
    types = []
    for k, (one, other) in enumerate(zip(known.form.types, found.form.types, strict=True)):
        type_ = _widened(one, other) if known.weak[k] is None else _numbers(known, found, k)
        if type_ is None:
            raise Invalid(
                f"{name} returns two types",
                required=at(one, known.lines[k]),
                got=at(other, found.lines[k]),
                hint="convert one with tl.astype, or annotate the result",
            )
        types.append(type_)
    weak = tuple(one and other and one * other for one, other in zip(known.weak, found.weak, strict=True))
    return Known(Form(known.form.structure, tuple(types)), weak, found.lines)


def _widened(one: Type, other: Type) -> Type | None:
    """The type of a result that was traced again: of a wider dtype now, if what it met was a number before."""
    wider = promote(one.dtype, other.dtype) is other.dtype
    return replace(one, dtype=other.dtype).join(other) if wider else None


def _numbers(known: Known, found: Known, position: int) -> Type:
    """The type of a weak result that was traced again: of an int and a float the float's."""
    before = isinstance(known.weak[position], float) and isinstance(found.weak[position], int)
    return (known if before else found).form.types[position]


def at(what: object, line: Location | None) -> str:
    """A type or structure, and the line that it comes from."""
    return f"{what} ({line})" if line else str(what)
