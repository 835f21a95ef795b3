"""Which Python code is the user's: this is converted, that of libraries is not."""

from __future__ import annotations

import sysconfig
from types import FunctionType

from ..trace.source_location import is_internal_file, unconverted_reason

_LIBRARY_FOLDERS = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def is_convertible(function: FunctionType) -> bool:
    """Whether a function is one of the user's, not of a library, and not marked as one that stays as it is."""
    file = function.__code__.co_filename
    is_of_library = is_internal_file(file) or is_library_file(file)
    return not is_of_library and unconverted_reason(function.__code__) is None


def is_library_file(file: str) -> bool:
    """Whether a file is one of the standard library, or of an installed package."""
    return file.startswith((*_LIBRARY_FOLDERS, "<frozen "))
