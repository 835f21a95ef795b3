"""Which Python code is converted: the user's, and the counterparts of builtins; that of libraries is not."""

from __future__ import annotations

from types import FunctionType

from ..trace.source_location import is_installed_file, is_internal_file, unconverted_reason
from . import library


def is_convertible(function: FunctionType) -> bool:
    """Whether a function is one of the user's, or a counterpart of a builtin that another one calls, not of a library,
    and not marked as one that stays as it is."""
    file = function.__code__.co_filename
    if file == library.__file__:
        return True
    is_of_library = is_internal_file(file) or is_installed_file(file)
    return not is_of_library and unconverted_reason(function.__code__) is None
