"""Generated recursions that hold arrays while they go down: what limits on bytes and seconds and Ctrl-C must end."""

from random import Random
from typing import Any, NamedTuple

import tagloom as tl

DEPTH = 200_000
"""The depth of a recursion: its arrays take more memory than any machine that runs tests has."""


class ArrayRecursion(NamedTuple):
    """A recursion of one argument, its depth; each level holds an array of `array_bytes` bytes or more."""

    function: tl.Function
    array_bytes: int


def draw_array_recursion(seed: int) -> ArrayRecursion:
    """The recursion of a seed. Its array is made before the call and used after it: in the same function, in the
    caller, inside a loop, or as an argument that the next level gets changed."""
    dice = Random(seed)
    count = dice.choice([10_000, 50_000, 200_000])
    dtype = dice.choice([tl.float64, tl.int64, tl.float32])
    array = tl.Array[dtype, count]
    form = dice.choice(["caller", "function", "loop", "argument"])
    factor = dice.randint(1, 3)

    def make(n: Any) -> Any:
        return tl.arange(count, dtype=dtype) * tl.astype(n + factor, dtype)

    def total(x: Any, result: Any = 0.0) -> Any:
        """A sum that needs the array and the result of a call: no engine can free the array before the call returns."""
        return tl.astype(tl.sum(x + tl.astype(result, dtype)), tl.float64)

    @tl.function
    def in_caller(n: tl.int64) -> tl.float64:
        return tl.cond(n <= 0, lambda: 0.0, lambda: held(n, make(n)))

    @tl.function
    def held(n: tl.int64, x: array) -> tl.float64:
        return total(x, in_caller(n - 1))

    @tl.function
    def in_function(n: tl.int64) -> tl.float64:
        def deeper() -> Any:
            x = make(n)
            return total(x, in_function(n - 1))

        return tl.cond(n <= 0, lambda: 0.0, deeper)

    @tl.function
    def in_loop(n: tl.int64) -> tl.float64:
        def body(i: Any, s: Any) -> Any:
            x = make(n + i)
            return i + 1, s + total(x, in_loop(n - 1))

        return tl.cond(n <= 0, lambda: 0.0, lambda: tl.while_loop(lambda i, s: i < 2, body, 0, 0.0)[1])

    @tl.function
    def as_argument(n: tl.int64) -> tl.float64:
        return changed(n, make(n))

    @tl.function
    def changed(n: tl.int64, x: array) -> tl.float64:
        return tl.cond(n <= 0, lambda: total(x), lambda: total(x, changed(n - 1, x + tl.astype(n, dtype))))

    functions = {"caller": in_caller, "function": in_function, "loop": in_loop, "argument": as_argument}
    return ArrayRecursion(functions[form], count * {tl.float32: 4}.get(dtype, 8))
