"""DOT source: pure functions of what they draw.

>>> from tagloom import Builder, Type, int64
>>> builder = Builder("double")
>>> x = builder.argument("x", Type(int64))
>>> (y,) = builder.node("add", "y", [x, x], [Type(int64)])
>>> source = graph_dot(builder.build([y]))
>>> print("\\n".join(line.strip() for line in source.splitlines() if "->" in line)) # doctest: +ELLIPSIS
a0 -> n0 [...]
a0 -> n0 [...]
n0 -> n1 [...]
n1 -> r0 [...]
"""

from .flat import graph_dot
from .structured import program_dot

__all__ = ["graph_dot", "program_dot"]
