"""The pass on private names: `self.__x` in a class is `self._Class__x`.

>>> import ast
>>> print(ast.unparse(mangle_names(ast.parse("def f(self): return self.__x + __y + self.__z__").body[0], "_Tree")))
def f(self):
    return self._Tree__x + _Tree__y + self.__z__
"""

from __future__ import annotations

import ast

from ..nodes import walk_nodes
from ..reader import FunctionNode


def mangle_names(node: FunctionNode, class_name: str | None) -> FunctionNode:
    """The function, changed in place, with the names that it has in this class."""
    prefix = (class_name or "").lstrip("_")
    if prefix:
        for child in walk_nodes([node]):
            if isinstance(child, ast.Attribute) and _is_private(child.attr):
                child.attr = f"_{prefix}{child.attr}"
            elif isinstance(child, ast.Name) and _is_private(child.id):
                child.id = f"_{prefix}{child.id}"
            elif isinstance(child, ast.arg) and _is_private(child.arg):
                child.arg = f"_{prefix}{child.arg}"
    return node


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")
