"""The op functions in the namespace `tagloom`, derived from the registry.

functions.pyi declares them for type checkers and editors; `python tests/op_stubs.py` writes it, and a test compares it.
"""

from __future__ import annotations

from .array_api import convolution, creation, datatypes, indexing, linalg, manipulation, neural_network, numeric
from .eager.op_functions import derive_functions, document

document(convolution, creation, datatypes, indexing, linalg, manipulation, neural_network, numeric)
_functions = derive_functions("tagloom")
globals().update(_functions)
__all__ = list(_functions)
