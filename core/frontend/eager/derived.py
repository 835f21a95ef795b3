"""What is traced instead of a function of Python's: under another name, and in its place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any


class DerivedFunction:
    """A function that is made of another one, where that is defined."""

    def __init__(self, name: str, of: Callable[..., Any], traced: Callable[..., Any]) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = of.__doc__
        self.__code__ = _renamed_code(of.__code__, of.__code__.co_filename, name)
        self.implementation = traced

    def __call__(self, *arguments: Any) -> Any:
        return self.implementation(*arguments)


@cache
def _renamed_code(code: CodeType, file: str, name: str) -> CodeType:
    """The code of a function under another name: what tells a derived function from its own. Of two files with the same
    function the code is equal, so that the file is a key."""
    return code.replace(co_name=name, co_filename=file)
