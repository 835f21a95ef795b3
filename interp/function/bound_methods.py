"""Bound methods: the functions of one instance, stored in the instance."""

from __future__ import annotations

from typing import Any

_ATTRIBUTE = "_tagloom_methods"


class BoundMethods:
    """The functions of one instance, by the functions of its class. A copy of the instance starts without them."""

    __slots__ = ("functions", "instance")

    def __init__(self, instance: object) -> None:
        self.instance = instance
        self.functions: dict[Any, Any] = {}

    @classmethod
    def for_instance(cls, instance: object) -> BoundMethods | None:
        """The bound methods of an instance; None if it has no place to store them."""
        kept = getattr(instance, "__dict__", None)
        if kept is None:
            return None
        methods: BoundMethods | None = kept.get(_ATTRIBUTE)
        if methods is None or methods.instance is not instance:
            methods = kept[_ATTRIBUTE] = cls(instance)
        return methods

    def __reduce__(self) -> tuple[Any, ...]:
        return BoundMethods, (None,)
