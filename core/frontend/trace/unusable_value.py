"""Placeholders where Python has no value that can be used: every use is an error."""

from __future__ import annotations

from typing import NoReturn


class UnusableValue:
    """A value whose every operation calls `fail`, which raises an error. Its class defines the result of `repr`."""

    __slots__ = ()

    def fail(self, *arguments: object, **options: object) -> NoReturn:
        """Raise the error of a use."""
        raise NotImplementedError

    def _fail(self, *arguments: object, **options: object) -> NoReturn:
        self.fail()

    __bool__ = __call__ = __iter__ = __len__ = __getitem__ = __setitem__ = __contains__ = __hash__ = _fail
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _fail
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _fail
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = _fail
    __rshift__ = __rrshift__ = __neg__ = __pos__ = __abs__ = __invert__ = _fail
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _fail
    __int__ = __float__ = __index__ = __complex__ = __format__ = _fail
