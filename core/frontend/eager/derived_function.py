"""Derived functions: callables traced in the name and at the source location of another Python function."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any


class DerivedFunction:
    """A callable with its own name and implementation, and the source location and docstring of the function `of`."""

    def __init__(self, name: str, of: Callable[..., Any], traced: Callable[..., Any]) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = of.__doc__
        self.__code__ = _renamed_code(of.__code__, of.__code__.co_filename, name)
        self.implementation = traced

    def __call__(self, *arguments: Any) -> Any:
        return self.implementation(*arguments)


@cache
def _renamed_code(code: CodeType, file: str, name: str) -> CodeType:
    """The code of a function under another name, which distinguishes a derived function from the original. The file is
    part of the cache key, since equal functions in two files have equal code."""
    return code.replace(co_name=name, co_filename=file)
