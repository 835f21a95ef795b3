"""Functions as class methods and static methods."""

from __future__ import annotations

from typing import Any

import pytest
import tagloom as tl


class Scale:
    factor = 3.0

    @classmethod
    @tl.function
    def apply(cls, x: Any) -> Any:
        return x * cls.factor

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


@pytest.mark.parametrize("descriptor", [classmethod, staticmethod])
def test_the_other_order_is_refused(descriptor: Any) -> None:
    """`@tl.function` above `@classmethod` says which order to write."""
    with pytest.raises(TypeError, match="needs a Python function") as refused:
        tl.function(descriptor(lambda x: x))
    assert f"write @{descriptor.__name__} above @tl.function" in str(refused.value)
