"""Choices: one of several Python values; a number of the program chooses it."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CellType
from typing import Any, NoReturn

from ...errors import Invalid
from .python_operations import perform
from .source_location import is_internal_file, user_location

OPERATIONS: CellType = CellType()
"""The function that performs an operation on each option, given the operation and its operands. Staging sets it."""


def _method(operation: Callable[..., Any], *, is_reflected: bool = False) -> Any:
    def method(self: Choice, *operands: Any) -> Any:
        operands = (*reversed(operands), self) if is_reflected else (self, *operands)
        return OPERATIONS.cell_contents(operation, *operands)

    return method


def _caller_file() -> str:
    """The file of the code that uses a method of a choice."""
    return sys._getframe(2).f_code.co_filename


class Choice:
    """The option with this number, of values that differ in structure: None or a number, one of two strings, or of two
    functions. In the program it is the number and the leaves of all options; those of the options that are not chosen
    are never read.

    Python's operations on it are performed on each option, under the condition that it is chosen.
    """

    __slots__ = ("number", "options")

    def __init__(self, number: Any, options: Sequence[Any]) -> None:
        self.number, self.options = number, tuple(options)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class for code of tagloom; for all other code it is that of the option."""
        if not is_internal_file(_caller_file()):
            self.refuse()
        return Choice

    def __repr__(self) -> str:
        return f"<symbolic choice: one of {', '.join(map(repr, self.options))}>"

    def __getattr__(self, name: str) -> Any:
        is_asked_by_user = name in ("__name__", "__qualname__") and not is_internal_file(_caller_file())
        if name.startswith(("__", "_tagloom")) and not is_asked_by_user:
            raise AttributeError(name)
        return OPERATIONS.cell_contents(operator.attrgetter(name), self)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return OPERATIONS.cell_contents(lambda option: perform(option, *arguments, **keywords), self)

    def __iter__(self) -> Iterator[Any]:
        items = OPERATIONS.cell_contents(tuple, self)
        if type(items) is not tuple:
            self.refuse()
        return iter(items)

    def refuse(self, *arguments: object) -> NoReturn:
        """Raise the error of a use that needs to know the option."""
        raise Invalid(
            "this is one of several values, chosen only at run time",
            rule="F4",
            where=user_location(),
            got=repr(self)[:200],
            hint="do this in the branches of the `if` that chooses it",
        )

    __bool__ = __len__ = __hash__ = __int__ = __float__ = __index__ = __format__ = refuse
    __eq__, __ne__ = _method(operator.eq), _method(operator.ne)
    __lt__, __le__ = _method(operator.lt), _method(operator.le)
    __gt__, __ge__ = _method(operator.gt), _method(operator.ge)
    __neg__, __pos__, __abs__ = _method(operator.neg), _method(operator.pos), _method(abs)
    __invert__, __getitem__ = _method(operator.invert), _method(operator.getitem)


def _define_binary_operators() -> None:
    operations: tuple[Callable[..., Any], ...] = (
        operator.add, operator.sub, operator.mul, operator.matmul, operator.truediv, operator.floordiv, operator.mod,
        operator.pow, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
    )  # fmt: skip
    for operation in operations:
        name = operation.__name__.strip("_")
        setattr(Choice, f"__{name}__", _method(operation))
        setattr(Choice, f"__r{name}__", _method(operation, is_reflected=True))


_define_binary_operators()
