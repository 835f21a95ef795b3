"""Ranges whose bounds are symbolic."""

from __future__ import annotations

from typing import Any, NoReturn

from ...errors import Invalid
from ..control_flow import cond
from ..eager.apply import apply
from ..trace.program_builder import to_operand
from ..trace.python_operations import fail_as_python
from ..trace.source_location import user_location
from .raising import stage_assertion


class CountedRange:
    """`range(start, stop, step)` with a symbolic bound; a `for` loop counts through it."""

    VALUE_HINT = "tl.arange(n) makes an array, and list(range(n)) a list"
    """The hint where a program needs a value."""
    is_live = False
    """Whether the body of a loop may change where it ends."""

    def __init__(self, *bounds: Any) -> None:
        self.start, self.stop, self.step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        if type(self.step) is int and self.step == 0:
            fail_as_python(ValueError("range() arg 3 must not be zero"))

    def has(self, number: Any) -> Any:
        """Whether the range goes on to this number, which is a multiple of the step from its start."""
        return number < self.stop if self.step > 0 else number > self.stop

    def __reversed__(self) -> CountedRange:
        if type(self.step) is not int:
            self._refuse()
        reach = self.stop - self.start + (self.step - (1 if self.step > 0 else -1))
        last = self.start + (reach // self.step - 1) * self.step  # an empty range is empty in reverse
        return type(self)(last, self.start - self.step, -self.step)

    def _refuse(self, *arguments: object) -> NoReturn:
        raise Invalid(
            "only a for loop counts through a range with a symbolic bound",
            rule="F1",
            where=user_location(),
            hint="write a for loop; tl.arange(n) makes an array",
            python=TypeError,
        )

    __iter__ = __len__ = __getitem__ = _refuse


class SymbolicRange(CountedRange):
    """A range with a bound that the program under trace computes; the step may be symbolic, too."""

    def __init__(self, *bounds: Any) -> None:
        super().__init__(*bounds)
        self._check_types()
        if type(self.step) is not int:
            fault = ValueError("range() arg 3 must not be zero")
            stage_assertion(apply("not_equal", self.step, 0), fault)

    def _check_types(self) -> None:
        for bound in (self.start, self.stop, self.step):
            if not to_operand(bound).type.is_scalar or to_operand(bound).type.dtype.kind not in "iu":
                fail_as_python(TypeError(f"{to_operand(bound).type} cannot be interpreted as an integer"))

    def has(self, number: Any) -> Any:
        if type(self.step) is int:
            return apply("less", number, self.stop) if self.step > 0 else apply("greater", number, self.stop)
        return cond(
            apply("greater", self.step, 0),
            lambda: apply("less", number, self.stop),
            lambda: apply("logical_and", apply("less", self.step, 0), apply("greater", number, self.stop)),
        )

    def length(self) -> Any:
        """The number of items. Raises Invalid (F1) for a symbolic step."""
        if type(self.step) is not int:
            self._refuse()
        reach = self.stop - self.start + (self.step - (1 if self.step > 0 else -1))
        return apply("maximum", reach // self.step, 0)

    def sum(self) -> Any:
        """The sum of all items. Raises Invalid (F1) for a symbolic step."""
        count = self.length()
        return self.start * count + self.step * (count * (count - 1) // 2)
