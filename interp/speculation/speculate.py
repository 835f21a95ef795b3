"""`tl.speculate`, the decorator. It loads the rest on first use: `import tagloom` needs no converter."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from ...core.errors import Usage
from ...core.frontend.trace.source_location import user_location

if TYPE_CHECKING:
    from .speculative_function import SpeculativeFunction


@overload
def speculate(python: Callable[..., Any]) -> SpeculativeFunction: ...
@overload
def speculate(
    *, watch: int = 3, engine: str | None = None, check: bool = False
) -> Callable[[Callable[..., Any]], SpeculativeFunction]: ...
def speculate(python: Any = ..., *, watch: int = 3, engine: str | None = None, check: bool = False) -> Any:
    """A decorator: calls of a Python function run as a graph as long as what was seen in earlier calls holds.

    The first `watch` calls run in Python. Then a graph is made under assumptions, such as the classes of objects and
    the types of attributes. A run of the graph changes no object. When all assumptions have passed, the changes are
    written; otherwise Python runs the call from its start. So each call does what it does in Python. `explain()` of the
    decorated function says how its calls ran, and why. `engine` is the engine of the graph, as in `tl.function`.
    With `check`, each call of the graph runs on copies of its objects, and in Python; a call raises Disagreement with
    the first difference in result, printed lines, exception or state.

    Raises Usage for anything but a Python function, and for a `watch` below 1.

    >>> @speculate
    ... def double(n):
    ...     return n + n
    >>> [double(n) for n in range(5)], double.counts.graph
    ([0, 2, 4, 6, 8], 2)
    """
    if type(watch) is not int or watch < 1:
        raise Usage("watch must be a number of calls", required="1 at least", got=repr(watch), python=ValueError)

    def decorate(python: Any) -> SpeculativeFunction:
        if not isinstance(python, FunctionType):
            raise Usage(
                "tl.speculate needs a Python function",
                got=type(python).__name__,
                where=user_location(),
                python=TypeError,
            )
        from .speculative_function import SpeculativeFunction  # here: import tagloom needs no converter

        return SpeculativeFunction(python, watch=watch, engine=engine, check=check)

    return decorate if python is ... else decorate(python)
