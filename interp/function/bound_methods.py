"""Methods: the functions that belong to one instance, and are kept in it."""

from __future__ import annotations

from typing import Any

_PLACE = "_tagloom_methods"


class Methods:
    """The functions of one instance, by those of its class that they are methods of. A copy of the instance begins
    without."""

    __slots__ = ("found", "instance")

    def __init__(self, instance: object) -> None:
        self.instance = instance
        self.found: dict[Any, Any] = {}

    @classmethod
    def of(cls, instance: object) -> Methods | None:
        """Those of an instance; None where it has no place for them."""
        kept = getattr(instance, "__dict__", None)
        if kept is None:
            return None
        methods: Methods | None = kept.get(_PLACE)
        if methods is None or methods.instance is not instance:
            methods = kept[_PLACE] = cls(instance)
        return methods

    def __reduce__(self) -> tuple[Any, ...]:
        return Methods, (None,)
