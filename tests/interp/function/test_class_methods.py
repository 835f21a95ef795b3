"""Functions as class methods and static methods."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import tagloom as tl


class Scale:
    factor = 3.0

    @tl.function
    @classmethod
    def apply(cls, x: Any) -> Any:
        return x * cls.factor

    @tl.function(relax_shapes=True)
    @classmethod
    def total(cls, x: Any) -> Any:
        return tl.sum(x) * cls.factor

    @classmethod
    @tl.function
    def double(cls, x: Any) -> Any:
        return x * cls.factor * 2

    @staticmethod
    @tl.function
    def plus_one(x: Any) -> Any:
        return x + 1


class Larger(Scale):
    factor = 4.0


def test_each_class_has_its_own_function() -> None:
    """A class method is traced for its class, called on the class or on an instance; a subclass has its own."""
    assert (Scale.apply(2.0), Scale().apply(2.0), Larger.apply(2.0), Larger().apply(2.0)) == (6.0, 6.0, 8.0, 8.0)
    assert Scale.apply is Scale.apply is Scale().apply is not Larger.apply
    assert tl.grad(Scale.apply)(1.0) == 3.0
    assert Scale.apply.run(2.0, engine="reference").value == 6.0
    assert Scale.plus_one(1) == Scale().plus_one(1) == 2
    assert (Scale.total([1.0, 2.0]), Larger.total([1.0])) == (9.0, 4.0)


def test_the_other_order_can_be_called() -> None:
    """`@classmethod` above `@tl.function` binds the class, too; before Python 3.13, it gives functions."""
    assert (Scale.double(1.0), Larger().double(1.0)) == (6.0, 8.0)
    if sys.version_info < (3, 13):
        assert Scale.double.run(2.0, engine="reference").value == 12.0


def test_a_static_method_in_the_other_order_is_refused() -> None:
    """`@tl.function` above `@staticmethod` says which order to write."""
    with pytest.raises(TypeError, match="needs a Python function") as refused:
        tl.function(staticmethod(lambda x: x))
    assert "write @staticmethod above @tl.function" in str(refused.value)
