"""Generated Python functions whose loops and branches give arrays or lists other names, and change them by these."""

from __future__ import annotations

from collections.abc import Callable

from support.generators.python_programs import PythonProgram

Draw = Callable[[int, int], int]
_BEFORE = ("x = a", "x = b", "b = a", "p = [a, b]", "p = [c, x]", "h = {'k': a}", "y = a[:]", "a[0] = 4.0", "p[0] = c")
_RENAMING = (
    "a, b = b, a",
    "a, b = b, a",
    "a, b, c = b, c, a",
    "t = a\na = b\nb = t",
    "b = a",
    "a = c",
    "c = a",
    "x = a",
    "a = new(j)",
    "b = new(j + n)",
    "a = new(j)\nb = a",
    "if j % 2 == 0:\n    a, b = b, a",
    "if n > 2:\n    a, b = b, a",
    "if n > 2:\n    a = new(n)",
    "if j == 1:\n    break",
    "if n > 2:\n    x = b\nelse:\n    x = c",
    "for k in range(n):\n    a, b = b, a\n    a[0] += 1.0",
    "h['k'] = a",
    "a, h['k'] = h['k'], a",
    "p[0], p[1] = p[1], p[0]",
    "p = [b, a]",
    "out.append(a)",
    "out.append(copy(a))",
    "out.append(copy(b))\nb = new(j)",
    "y = a[:]",
    "a, b = change(a, b, j)",
    "exchange()",
)
_CHANGING = (
    "a[0] += {e}",
    "a[1] = {e}",
    "b[0] = {e}",
    "b[j % 2] = a[0] + 1.0",
    "c[1] += {e}",
    "x[0] += {e}",
    "y[1] = {e}",
    "p[0][0] = {e}",
    "p[-1][1] += {e}",
    "h['k'][0] += {e}",
    "if n > 2:\n    a[0] = {e}",
    "s += a[0] * 3.0 + b[1]",
    "s = s * 2.0 + x[0] + y[0]",
    "s += p[0][1] + h['k'][0]",
)
_NEW = {
    "array": "np.array([k + 0.5, k * 2.0])",
    "list": "[k + 0.5, k * 2.0]",
}


def write_renaming_program(draw: Draw, kind: str) -> PythonProgram:
    """A function `f(n)` with one loop; `kind` is `array` or `list`."""

    def statements(families: tuple[tuple[str, ...], ...], count: int, indent: str) -> list[str]:
        lines = list[str]()
        for _ in range(count):
            family = families[draw(0, len(families) - 1)]
            text = family[draw(0, len(family) - 1)].replace("{e}", ("7.5", "n", "b[1] + 1.0", "s", "-2.0")[draw(0, 4)])
            lines += [indent + line for line in text.split("\n")]
        return lines

    both, number = (_RENAMING, _CHANGING), "    j = n\n"
    loop = [*statements((_RENAMING,), 1, ""), *statements((_CHANGING,), 1, ""), *statements(both, draw(0, 2), "")]
    if draw(0, 1):
        loop = [*statements((_CHANGING,), 1, ""), *statements((_RENAMING,), 1, ""), *statements(both, draw(0, 2), "")]
    after = [line for line in statements(both, draw(0, 1), "    ") if "break" not in line and "j == 1" not in line]
    names = ["a", "b", "c", "x", "y", "p", "h['k']", "s", "out"]
    kept = [name for name in names if draw(0, 2)] or ["a"]
    text = f"""\
import numpy as np


def new(k):
    return {_NEW[kind]}


def copy(x):
    return x.copy()


def change(x, y, k):
    x[0] += k
    return y, x


def f(n):
    def exchange():
        nonlocal a, b
        a[1] += 1.0
        a, b = b, a

    a, b, c, x, s, out = new(1), new(2), new(3), new(4), 0.0, []
    p, h, y = [new(5), new(6)], {{'k': new(7)}}, a[:]
"""
    body = [
        *statements((_BEFORE,), draw(0, 2), "    "),
        "    for j in range(n):",
        *(f"        {line}" for line in loop),
    ]
    text += "\n".join([*body, number + "\n".join(after), f"    return {', '.join(kept)},", ""])
    return PythonProgram(text, ((0,), (1,), (2,), (3,)))
