"""Generated Python functions on lists that grow and shrink in loops, for the law of the front end."""

from __future__ import annotations

from collections.abc import Callable

from support.generators.python_programs import PythonProgram

Draw = Callable[[int, int], int]
_STEPS = (
    "xs.append({e})",
    "xs.append({e})",
    "xs.insert(0, {e})",
    "xs += [{e}, {e}]",
    "xs.extend([{e}])",
    "ys.append(xs[-1])",
    "ys = xs[1:] + ys",
    "ys = [x + {e} for x in xs]",
    "ys = [x for x in xs if x % 2 == {k}]",
    "xs.reverse()",
    "xs.sort()",
    "xs[{k}] = {e}",
    "xs[-1] += {e}",
    "t += xs[{k}]",
    "t += len(ys)",
    "t += sum(xs)",
    "t = max(xs)",
    "t += xs.pop()\nxs.append(t % 5)",
    "for v in xs: t = (t * 2 + v) % 97",
    "for p, v in enumerate(ys): t += p * v",
    "if {e} in xs: t += 1",
    "if ys: t += ys.pop()",
    "while len(xs) > 3: ys.append(xs.pop(0))",
    "zs = xs",
    "zs.append({e})",
    "if xs == ys: t += 7",
)
"""Statements on the lists `xs`, never empty, `ys` and `zs`, and the number `t`."""


def write_list_program(draw: Draw) -> PythonProgram:
    """A function of two numbers. Its loops run a few times, and its branches depend on its arguments."""
    body = ["    xs, ys, t, i = [m], [], 0, 0", "    zs = ys", *_write_block(draw, 2, "    "), "    for i in range(n):"]
    body += [*_write_block(draw, 2, "        "), "    return xs, ys, zs, t, len(xs)"]
    text = "\n".join(["def f(n, m):", *body, ""])
    return PythonProgram(text, ((2, 1), (0, 3), (3, -1)))


_USES = (
    "ys = xs + ys",
    "ys = ys * 2",
    "ys = xs * n",
    "ys = xs[::-1]",
    "t += xs[n % len(xs)]",
    "xs[n % len(xs)] = {e}",
    "t += xs.index(max(xs)) + xs.count({e})",
    "t += sum(x * y for x, y in zip(xs, ys))",
    "if xs < ys: t += 3",
    "for v in ys: xs.append(v + {e})",
    "ys = sorted(xs)",
    "ys = list(map(abs, xs))",
    "t += len(set(xs))",
    "first, *rest = xs\nt += first * len(rest)",
)
"""Statements on lists that are arguments."""


def write_argument_program(draw: Draw) -> PythonProgram:
    """A function of two lists of numbers and a number, without loops but those over the lists."""
    steps = (*_STEPS, *_USES, *_USES)
    body = ["    t, i, m, zs = 0, 1, n + 1, ys"]
    for _ in range(draw(2, 5)):
        step = steps[draw(0, len(steps) - 1)].format(e=_write_expression(draw), k=draw(0, 1))
        body += ["    " + line for line in step.split("\n")]
    numbers = [draw(-3, 5) for _ in range(draw(2, 4))]
    inputs = (
        (numbers, [draw(0, 3)], 2),
        ([1, 2, 3], numbers[::-1], 1),
        ([number % 3 for number in range(20)], [4, 1], 3),
    )
    text = "\n".join(["def f(xs, ys, n):", *body, "    return xs, ys, zs, t", ""])
    return PythonProgram(text, inputs)


def _write_expression(draw: Draw) -> str:
    return ("i", "n", "m", "i * 2 - m", "t % 7", str(draw(-3, 3)))[draw(0, 5)]


def _write_block(draw: Draw, depth: int, indent: str) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(1, 3)):
        kind = draw(0, 9)
        if kind == 0 and depth:
            lines += [f"{indent}for i in range({('n', 'm', '2')[draw(0, 2)]}):"]
            lines += _write_block(draw, depth - 1, indent + "    ")
        elif kind <= 2 and depth:
            test = ("n > 1", "i % 2 == 0", "t > m", "len(xs) > 2")[draw(0, 3)]
            lines += [f"{indent}if {test}:", *_write_block(draw, depth - 1, indent + "    ")]
            if draw(0, 1):
                lines += [f"{indent}else:", *_write_block(draw, depth - 1, indent + "    ")]
        else:
            step = _STEPS[draw(0, len(_STEPS) - 1)].format(e=_write_expression(draw), k=draw(0, 1))
            lines += [indent + line for line in step.split("\n")]
    return lines


_CHANGES = (
    "rows[0].append({e})",
    "rows[-1][0] = {e}",
    "rows.append([{e}])",
    "rows.insert(0, [{e}, n])",
    "rows.reverse()",
    "rows[0], rows[-1] = rows[-1], rows[0]",
    "rows[0] = rows[-1]",
    "rows[0] = [{e}]",
    "if len(rows) > 2: del rows[0]",
    "if len(rows) > 2: rows.pop().append({e})",
    "table['b'] = xs",
    "table['a'].append({e})",
    "table[{k}] = [{e}]",
    "table['a'] = table['a'] + [{e}]",
    "table['a'] = table.pop('a')",
    "xs.append({e})",
    "xs.sort()",
    "xs = xs + [{e}]",
    "xs += [{e}]",
    "xs[{k}] = {e}",
    "rows.append(xs)",
    "for row in rows: row[0] = {e}",
    "for i in range(n): xs.append(i)",
    "for i in range(n): rows.append([i, i])",
    "if n > 1: rows[0][0] = {e}",
    "if n > 1: xs.append({e})",
)
"""Statements on arguments: the list of lists `rows`, the dict of lists `table` and the list `xs`."""


def write_change_program(draw: Draw) -> PythonProgram:
    """A function that changes nested arguments, and returns nothing."""
    body = ["    i, m, t = 0, n + 1, 2"]
    for _ in range(draw(1, 4)):
        step = _CHANGES[draw(0, len(_CHANGES) - 1)].format(e=_write_expression(draw), k=draw(0, 1))
        body.append("    " + step)
    inputs = (
        ([[1], [2, 3]], {"b": [1], "a": [2, 2]}, [draw(-3, 3), draw(-3, 3)], 2),
        ([[1, 2], [3, 4]], {"a": [5], 0: []}, [4, 3, 2], 1),
    )
    return PythonProgram("\n".join(["def f(rows, table, xs, n):", *body, ""]), inputs)


_ROW_CHANGES = (
    "rows.reverse()",
    "rows[{k}] = [{e}, {e}]",
    "rows[i] = [{e}, i]",
    "rows.pop()",
    "rows.pop(i % len(rows))",
    "rows[0], rows[-1] = rows[-1], rows[0]",
    "rows[i % len(rows)], rows[0] = rows[0], rows[i % len(rows)]",
    "rows[i % len(rows)] = rows[0]",
    "rows[{k}][0] = {e}",
    "rows[i % len(rows)][1] = {e}",
    "a = rows[i % len(rows)]",
    "b = rows[m % len(rows)]",
    "a[0] = {e}",
    "b[1] = {e}",
    "t += a[0] + b[1]",
    "a.reverse()",
    "rows.append(a)",
    "rows.append([{e}, {e}])",
    "rows.insert(0, [{e}, {e}])",
    "others.append(rows[0])",
    "others = rows[:]",
    "rows[1:] = [[{e}, 1]]",
    "rows[:1] = others",
    "rows[:] = rows[::-1]",
    "del rows[i % len(rows)]",
    "xs[1:3] = [{e}]",
    "xs[i:] = [{e}, 1]",
    "xs[:i] = xs",
    "xs[::2] = [{e}] * len(xs[::2])",
    "del xs[i:m]",
    "if t > 3: rows.reverse()",
    "if i > 1: rows[0][0] = {e}",
    "for row in rows: row.reverse()",
    "for k in range(len(rows)): rows[k] = [x + {e} for x in rows[k]]",
    "rows.sort()",
    "rows.sort(key=lambda row: row[0])",
    "t += [1, 2] in rows",
)
"""Statements on the rows `rows`, two names of rows, the list of rows `others`, and the list of numbers `xs`."""


def write_row_program(draw: Draw) -> PythonProgram:
    """A function that changes rows of one length; it has lists for its results, too."""
    body = ["    t, m, others, a, b = 0, n + 1, [], rows[0], rows[-1]", "    i = n"]
    for _ in range(draw(2, 6)):
        step = _ROW_CHANGES[draw(0, len(_ROW_CHANGES) - 1)].format(e=_write_expression(draw), k=draw(0, 1))
        body.append("    " + step)
    body.append("    xs.append(t)\n    xs.extend(a)\n    xs.extend(b)\n    xs.extend(x for row in others for x in row)")
    inputs = (([[1, 2], [3, 4], [5, 6]], [1, 2, 3, 4], 1), ([[1, 2], [3, 4]], [7, 8, 9], 0))
    return PythonProgram("\n".join(["def f(rows, xs, n):", *body, ""]), inputs)


_RENAMINGS = (
    "a.append({e})",
    "a.append({e})",
    "b.append({e})",
    "c.append({e})",
    "a = []",
    "a = [{e}]",
    "b = [{e}, i]",
    "a, b = b, a",
    "a, b = b, []",
    "b, c = [], b",
    "a = a + [{e}]",
    "a += [{e}]",
    "a = b[:]",
    "out.append(a)",
    "out.append(b)",
    "out.append(a)\na = []",
    "out.append(a)\na, t = [{e}], t + 1",
    "c = a",
    "c = b if {t} else a",
    "if {t}: a, b = b, a",
    "if {t}: a, b, c = c, a, b",
    "if len(a) > len(c): c = a[:]",
    "a = [] if {t} else a",
    "b = [{e}] if {t} else []",
    "if len(a) > len(c): c = a",
    "t += sum(a) + len(b)",
    "t += sum(c)",
    "if a: a[0] = {e}",
    "if b: t += b.pop()",
    "for x in a[:3]: b.append(x + {e})",  # of all of `a`, lists that swap their names would grow without bound
    "pair = a, b",
    "t += len(pair[0])",
    "out = [a, b]",
    "if out: t += sum(out[-1])",
    "if out: a = out.pop()",
    "a.reverse()",
    "if a == b: t += 5",
    "t += {e} in a",
)
"""Statements that give the lists `a`, `b` and `c` other names, and change them."""
_TESTS = ("n > 1", "i % 2 == 0", "t > m", "len(a) > 2", "i == m")


def write_renaming_program(draw: Draw) -> PythonProgram:
    """A function that changes lists which swap their names, or lose them, in branches and loops."""
    body = ["    a, b, c, out, t, i, pair = [m], [], [0], [], 0, 0, ([], [])", *_write_renamings(draw, 2, "    ")]
    if draw(0, 2):
        body += ["    for i in range(n):", *_write_renamings(draw, 2, "        ")]
    body += [*_write_renamings(draw, 1, "    "), *_write_renamings(draw, 1, "    ")]
    names = ("a", "b", "c", "out", "t")
    body.append(f"    return {', '.join([name for name in names if draw(0, 3)] + ['n'])}")
    return PythonProgram("\n".join(["def f(n, m):", *body, ""]), ((2, 1), (0, 3), (4, -1), (5, 2)))


def _write_renamings(draw: Draw, depth: int, indent: str) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(1, 3)):
        kind = draw(0, 9)
        if kind == 0 and depth:
            lines += [f"{indent}for i in range({('n', 'm', '2')[draw(0, 2)]}):"]
            lines += _write_renamings(draw, depth - 1, indent + "    ")
        elif kind <= 2 and depth:
            lines += [f"{indent}if {_TESTS[draw(0, 4)]}:", *_write_renamings(draw, depth - 1, indent + "    ")]
            if draw(0, 1):
                lines += [f"{indent}else:", *_write_renamings(draw, depth - 1, indent + "    ")]
        else:
            step = _RENAMINGS[draw(0, len(_RENAMINGS) - 1)]
            step = step.format(e=_write_expression(draw), t=_TESTS[draw(0, 4)])
            lines += [indent + line for line in step.split("\n")]
    return lines
