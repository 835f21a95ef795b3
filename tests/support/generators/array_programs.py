"""Generated Python functions that change arrays of NumPy in place, by several names and by views."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from support.generators.python_programs import PythonProgram

Draw = Callable[[int, int], int]
_SHARING = (
    "b = a",
    "r = g[{k}]",
    "r = g[{k}][:]",
    "r = a[::-1]",
    "a = r",
    "b = a[:]",
    "b = a.copy()",
    "b = np.copy(a)",
    "b = v.copy()",
    "b = np.array(a)",
    "b = np.asarray(a)",
    "b = a + 0.0",
    "b = np.zeros(4)",
    "b = np.zeros_like(a)",
    "s = g.reshape(12)",
    "s = g.ravel()",
    "s = g.T",
    "s = g[1:]",
    "s = g[:, {k}]",
    "s = g.flatten()",
    "r = np.flip(a)",
    "a, b = b, a",
    "b = same(a)",
    "b = pick(n, a, r)",
    "b = doubled(a)",
    "r = (a, r, b)[i]",
    "r = [a, b][i]",
    "d['x'] = a",
    "b = d['x']",
    "out.append(a)",
    "out.append(a.copy())",
    "out.append(r)",
    "r = out[-1]",
    "for row in g: r = row",
    "r, *rest = g",
    "b = np.where(a > 1, a, b)",
    "if n > 2: b = a",
    "if n > 2: r = g[0]",
    "b = a if n > 2 else r",
    "for j in range(n): b = a",
    "for j in range(n): b = b * 1.5",
    "for j in range(n): a, b = b, a",
    "for j in range(n): out.append(a)",
    "for j in range(n): a[0] += 1.0; out.append(a)",
    "for j in range(n): out.append(b.copy()); b[j] = a[0]",
    "for j in range(n): b = a.copy(); b[j] = t; t += b.sum()",
    "h.x = a",
    "b = h.x",
)
"""Statements after which two names may have one array."""
_CHANGING = (
    "a[{k}] = {e}",
    "a[i] += {e}",
    "a[1:3] = {e}",
    "a[n - 1:] = {e}",
    "a[a > 2] = {e}",
    "a[b > 1] += {e}",
    "a[[0, 2]] = {e}",
    "a[[i, 2]] *= {e}",
    "a[:] = b",
    "a[::-1] = r",
    "a += {e}",
    "b[{k}] = {e}",
    "b *= 2.0",
    "r[{k}] = {e}",
    "r += {e}",
    "s[{k}] = {e}",
    "g[{k}] = a",
    "g[{k}, i] = {e}",
    "g[{k}][1] = {e}",
    "g[{k}][1:] += {e}",
    "g[1:, {k}] = {e}",
    "g[:, i] = {e}",
    "g += {e}",
    "g[0], g[1] = g[1], g[0]",
    "g[[0, i]] = g[[i, 0]]",
    "for j in range(n): a[j] = j",
    "for j in range(n): a[j] += b[j]",
    "for j in range(n): r[j] = a[j] + {e}",
    "for j in range(n): g[j, j] += a[j]",
    "for j in range(1, 3): a[j] = (a[j - 1] + a[j + 1]) / 2",
    "for row in g: row[0] = {e}",
    "for row in g: row += {e}",
    "if n > 2: a[0] = {e}",
    "if n > 2: r[1] += {e}",
    "change(a, {e})",
    "change(r, {e})",
    "change_deep(a, n)",
    "out[0][{k}] = {e}",
    "out[-1][0] += {e}",
    "d['x'][{k}] = {e}",
    "h.x[{k}] = {e}",
    "h.bump({k})",
    "while a[0] < 3.0: a[0] += 1.0",
    "for j in range(n): r = g[j]; r[0] += a[j]",
    "for j in range(n): a[j] = 2.0; r[j] = a[0]; t += b[j]",
    "a.fill({e})",
    "r.sort()",
)
"""Statements that change an array."""
_READING = (
    "t += a[{k}]",
    "t += r[{k}]",
    "t += b.sum()",
    "t += s.sum()",
    "t += g.sum() + g[{k}, 2]",
    "b = b + r",
    "for row in g: t += row[1]",
    "for j in range(n): t += a[j] * r[j]",
    "for x in a: t += x",
    "t += total(a)",
    "t += out[0][1]",
    "t += d['x'][0]",
    "if a[0] > 1.0: t += 1.0",
)
"""Statements that only read."""
_FUNCTIONS = """\
import numpy as np


class Holder:
    def __init__(self, x):
        self.x = x

    def bump(self, k):
        self.x[k] += 1.0


def same(x):
    return x


def pick(n, x, y):
    return x if n > 2 else y


def doubled(x):
    y = x.copy()
    y *= 2.0
    return y


def change(x, e):
    x[0] = e


def change_deep(x, n):
    if n > 0:
        x[n] = n
        change_deep(x, n - 1)


def total(x):
    result = 0.0
    for j in range(len(x)):
        result += x[j]
    return result


"""


def write_array_program(draw: Draw) -> PythonProgram:
    """A function `f(v, m, n, i)` of a vector, a matrix and two integers that shares, changes and reads arrays."""

    def statement(kinds: tuple[str, ...]) -> str:
        text = kinds[draw(0, len(kinds) - 1)]
        while "{e}" in text:
            text = text.replace("{e}", ("7.5", "n", "a[1] + 1", "t", "-2")[draw(0, 4)], 1)
        return text.replace("{k}", ("0", "1", "-1", "i")[draw(0, 3)])

    orders = (
        (_SHARING, _CHANGING, _READING),
        (_SHARING, _SHARING, _CHANGING),
        (_CHANGING, _SHARING, _CHANGING),
        (_SHARING, _CHANGING, _READING, _CHANGING),
    )
    kinds = [*orders[draw(0, 3)], *((_SHARING, _READING, _CHANGING)[draw(0, 2)] for _ in range(draw(0, 2)))]
    lines = [
        "a, b, g, t = v.copy(), np.ones(4), m.copy(), 0.0",
        "r, s, out, d, h = g[1], g.flatten(), [b], {'x': b}, Holder(b)",
        *map(statement, kinds),
    ]
    body = "\n".join(f"    {line}" for line in [*lines, "return a, b, g, r, s, t, out, d['x'], h.x"])
    text = f"{_FUNCTIONS}def f(v, m, n, i):\n{body}\n"
    vector, matrix = np.array([1.0, 2.0, 3.0, 0.5]), np.arange(12.0).reshape(3, 4)
    return PythonProgram(text, ((vector, matrix, 3, 1), (vector, matrix, 2, 0)))
