"""Methods: the functions that belong to one instance, and are kept in it."""

from __future__ import annotations

from typing import Any

_ATTRIBUTE = "_tagloom_methods"


class BoundMethods:
    """The functions of one instance, by those of its class that they are methods of. A copy of the instance begins
    without."""

    __slots__ = ("functions", "instance")

    def __init__(self, instance: object) -> None:
        self.instance = instance
        self.functions: dict[Any, Any] = {}

    @classmethod
    def for_instance(cls, instance: object) -> BoundMethods | None:
        """Those of an instance; None where it has no place for them."""
        kept = getattr(instance, "__dict__", None)
        if kept is None:
            return None
        methods: BoundMethods | None = kept.get(_ATTRIBUTE)
        if methods is None or methods.instance is not instance:
            methods = kept[_ATTRIBUTE] = cls(instance)
        return methods

    def __reduce__(self) -> tuple[Any, ...]:
        return BoundMethods, (None,)
