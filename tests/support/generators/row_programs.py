"""Generated Python functions on lists of lists whose number is known only at run time, which several names share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from support.generators.python_programs import PythonProgram

Draw = Callable[[int, int], int]
_SHARING = (
    "b = rows + more",
    "b = more + rows",
    "b = [*rows, [{e}, {e}]]",
    "b = [[{e}, {e}], *rows]",
    "b = [*rows]",
    "b = rows[1:]",
    "b = rows[:]",
    "b = rows.copy()",
    "b = list(rows)",
    "b = list(reversed(rows))",
    "b = [r for r in rows]",
    "b = [r for r in rows if r[0] > {e}]",
    "b = [r for _, r in enumerate(rows)]",
    "b = sorted(rows, key=lambda r: -r[0])",
    "b = rows * 1",
    "b = rows * p",
    "b += rows",
    "b.extend(rows)",
    "b = glue(rows, more)",
    "b = without_first(rows)",
    "b = take_all(rows)",
    "x, *b = rows",
    "*b, x = rows",
    "b.append(new)",
    "b = [new]",
    "b.append(rows[{k}])",
    "b[0] = rows[{k}]",
    "b = rows",
    "new = rows[{k}]",
    "new = b[{k}]",
    "new = [{e}, {e}]",
    "rows[{k}] = new",
    "rows[i] = new",
    "rows.append(new)",
    "rows.insert(0, new)",
    "rows[1] = rows[0]",
    "for j in range(n): rows[j] = new",
    "for j in range(n): b.append(new)",
    "for j in range(n): b.append(rows[j])",
    "if p > 1: rows[0] = new",
    "if p > 1: b = rows",
)
"""Statements after which two lists may have one list as an item."""
_MOVING = (
    "rows.pop()",
    "b.pop()",
    "rows.pop(0)",
    "rows[0], rows[1] = rows[1], rows[0]",
    "rows[0], rows[i] = rows[i], rows[0]",
    "rows.reverse()",
    "rows.sort(key=lambda r: -r[1])",
    "del rows[0]",
    "rows.append([{e}, {e}])",
    "rows = [[y + 1 for y in r] for r in rows]",
    "rows[{k}] = [{e}, {e}]",
    "b = [r[:] for r in b]",
    "for r in rows: t += r[0]",
    "for r, s in zip(rows, more): t += r[0] * s[1]",
    "t += max(r[1] for r in rows)",
)
"""Statements that move, replace or only read items."""
_CHANGING = (
    "rows[{k}][0] = {e}",
    "rows[i][1] = {e}",
    "rows[-1][1] += {e}",
    "b[{k}][0] = {e}",
    "b[-1][1] += {e}",
    "new[0] = {e}",
    "new[1] += {e}",
    "more[{k}][0] = {e}",
    "for r in rows: r[0] += {e}",
    "for j in range(n): rows[j][1] = j",
    "for j in range(len(b)): b[j][0] += 1",
    "if p > 1: rows[0][0] = {e}",
    "if p > 1: new[0] = {e}",
    "rows[0].reverse()",
    "rows[0].sort()",
)
"""Statements that change a list which may be an item of another one."""
_LENGTHENING = (
    "rows[{k}].append({e})",
    "rows[i].append({e})",
    "rows[{k}] += [{e}, t]",
    "rows[{k}].extend(new)",
    "rows[{k}].insert(0, {e})",
    "rows[{k}] = rows[{k}] + [{e}]",
    "b[{k}].append({e})",
    "b[{k}] += [{e}]",
    "new.append({e})",
    "new += [{e}, {e}]",
    "new = new + [{e}]",
    "more[0].append({e})",
    "for r in rows: r.append({e})",
    "for j in range(n): rows[j % 2].append(j)",
    "for j in range(len(b)): b[j].append(j)",
    "if p > 1: rows[0].append({e})",
    "if p > 1: new.append({e})",
)
"""Statements that make a list longer which may be an item of another one."""
_SHORTENING = (
    "t += rows[{k}].pop()",
    "rows[i].pop()",
    "b[{k}].pop(0)",
    "del rows[{k}][0]",
    "rows[{k}].clear()",
    "new.clear()",
    "rows[{k}] = []",
    "rows[{k}] = rows[{k}][1:]",
    "rows.append([])",
    "rows.append(new[:])",
    "rows.append(rows[{k}] + new)",
    "b = [r + [t] for r in rows]",
    "b = [r[:p] for r in rows]",
    "b = [[] for _ in rows]",
    "b = rows + [r + [{e}] for r in rows]",
    "t += len(rows[{k}]) + len(b)",
    "t += sum(rows[{k}])",
    "t += sum(len(r) for r in rows)",
    "for r in rows: t = (t + sum(r) * len(r)) % 97",
    "t += rows[{k}] == b[{k}]",
    "t += new in rows",
)
"""Statements that make a list shorter or empty, or read lists of different lengths."""
_FUNCTIONS = """\
def glue(one, other):
    return one + other


def without_first(items):
    return items[1:]


def take_all(items):
    result = []
    for item in items:
        result.append(item)
    return result


def table(n, start):
    result = []
    for k in range(n):
        result.append(ROW)
    return result


"""


def write_row_program(draw: Draw) -> PythonProgram:
    """A function `f(n, p, i)` that shares, moves and changes the items of lists, which are rows of one length."""
    orders = ((_SHARING, _CHANGING), (_SHARING, _MOVING, _CHANGING), (_SHARING, _SHARING, _CHANGING))
    kinds = [*orders[draw(0, 2)], *((_SHARING, _MOVING, _CHANGING)[draw(0, 2)] for _ in range(draw(0, 2)))]
    return _write_program(draw, kinds, "[k, start - k]")


def write_ragged_program(draw: Draw) -> PythonProgram:
    """A function as of `write_row_program`, whose rows differ in length, and change it."""
    families = (_SHARING, _MOVING, _CHANGING, _LENGTHENING, _LENGTHENING, _SHORTENING)
    kinds = [families[draw(0, 5)] for _ in range(draw(1, 4))]
    return _write_program(draw, [*kinds, _LENGTHENING], "[k, start - k, k * k][: 1 + (k + start) % 3]")


def _write_program(draw: Draw, kinds: Sequence[tuple[str, ...]], row: str) -> PythonProgram:
    """A function with a statement of each of these kinds; `row` is an item of its lists."""

    def statement(kinds: tuple[str, ...]) -> str:
        text = kinds[draw(0, len(kinds) - 1)]
        while "{e}" in text:
            text = text.replace("{e}", ("7", "n", "p + 1", "t", "-2")[draw(0, 4)], 1)
        return text.replace("{k}", ("0", "1", "-1", "i")[draw(0, 3)])

    lines = ["rows, more, b, new, t, x = table(n, 5), table(n, 9), [[3, 4]], [1, 2], 0, 0", *map(statement, kinds)]
    body = "\n".join(f"    {line}" for line in [*lines, "return rows, more, b, new, t"])
    text = f"{_FUNCTIONS.replace('ROW', row)}def f(n, p, i):\n{body}\n"
    return PythonProgram(text, ((4, 1, 2), (3, 2, 0)))


_SORTING = (
    "rows.sort()",
    "rows.sort(key=lambda r: r[1])",
    "b = sorted(rows)",
    "b = sorted(rows, key=lambda r: (-r[0], r[1]))",
    "b.sort(reverse=True)",
    "b = sorted(b, key=len)",
    "first = rows[{k}]",
    "first = b[{k}]",
    "first = rows[i]",
    "rows[0], rows[1] = rows[1], rows[0]",
    "rows[{k}][0] = {e}",
    "rows[i][1] = {e}",
    "b[{k}][1] += {e}",
    "b[-1][0] = {e}",
    "first[0] = {e}",
    "first.append({e})",
    "b.append(first)",
    "b.append([{e}, 4])",
    "b = b[1:]",
    "rows[{k}] = [{e}, 1]",
    "for r in b: r[1] += 1",
    "if p > 1: rows[0][0] = {e}",
    "if p > 1: b = sorted(rows)",
    "out = []\nfor r in rows:\n    if out and r[0] <= out[-1][1]:\n"
    "        out[-1][1] = max(out[-1][1], r[1])\n    else:\n        out.append(r[:])",
    "out = [rows[0]]\nfor lo, hi in rows[1:]:\n    if lo <= out[-1][1]:\n"
    "        out[-1][1] = max(out[-1][1], hi)\n    else:\n        out.append([lo, hi])",
    "for r in b:\n    if r[0] > 1:\n        out.append(r)",
    "if out: out[-1][0] = {e}",
)
"""Statements on the lists of lists `rows`, `b` and `out`, of which `rows` has a known length, and the list `first`."""


def write_sorted_program(draw: Draw) -> PythonProgram:
    """A function `f(n, p, i)` that sorts lists by symbolic numbers in them, and changes them afterwards."""

    def statement() -> list[str]:
        text = _SORTING[draw(0, len(_SORTING) - 1)]
        return text.format(e=("7", "n", "p + 1")[draw(0, 2)], k=("0", "1", "2")[draw(0, 2)]).split("\n")

    lines = [
        "rows, out = [[n % 3, 2], [p, n], [i, 3]], []",
        "b, first = list(rows), rows[1]",
        f"rows.sort({('', 'key=lambda r: -r[0]')[draw(0, 1)]})",
        *(line for _ in range(draw(2, 5)) for line in statement()),
        "return rows, b, first, out",
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return PythonProgram(f"def f(n, p, i):\n{body}\n", ((4, 1, 2), (3, 2, 0)))
