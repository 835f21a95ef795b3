"""Generated Python functions on dicts and sets whose keys depend on the data, for the law of the front end."""

from __future__ import annotations

from collections.abc import Callable

from support.generators.python_programs import PythonProgram

Draw = Callable[[int, int], int]
_STEPS = (
    "d[{e}] = {v}",
    "d[{e}] = d.get({e}, 0) + 1",
    "d[{e}] = d.get({v}, t)",
    "t += d.setdefault({e}, {v})",
    "t += d.pop({e}, 3)",
    "if {e} in d: d[{e}] += {v}",
    "if {e} in d: del d[{e}]",
    "d.update([({e}, {v}), ({v}, 1)])",
    "d = {{k: v + 1 for k, v in d.items() if k != {e}}}",
    "for k in d: t = (t * 2 + k) % 97",
    "for k, v in d.items(): t = (t + k * v) % 97",
    "t += sum(d.values()) + len(d)",
    "if d: t += max(d)",
    "e = dict(d)",
    "e = d",
    "e[{e}] = {v}",
    "if d == e: t += 5",
    "s.add({e})",
    "s.add({e})",
    "s.discard({e})",
    "if {e} in s: s.remove({e})",
    "if {e} not in s: t += 2",
    "s = s | {{{e}, {v}}}",
    "s &= {{{e}, {v}, 1, 2}}",
    "s -= {{{e}}}",
    "s = {{x % 3 for x in s}}",
    "for x in sorted(s): t = (t * 3 + x) % 97",
    "t += len(s) + sum(s)",
    "if s <= {{0, 1, 2, {e}}}: t += 1",
    "p.add(({e}, {v}))",
    "if ({e}, {v}) in p: t += 4",
    "q[{e}, 0] = q.get(({e}, 0), 0) + {v}",
)
"""Statements on the dicts `d`, `e` and `q`, the sets `s` and `p`, of which `p` and `q` have tuples, and the number
`t`."""


def write_table_program(draw: Draw) -> PythonProgram:
    """A function of two numbers. Its loops run a few times, and its branches depend on its arguments."""

    def expression() -> str:
        return ("i % 3", "n", "m", "i * 2 - m", "t % 5", str(draw(0, 3)))[draw(0, 5)]

    def block(depth: int, indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(draw(1, 3)):
            kind = draw(0, 9)
            if kind == 0 and depth:
                lines += [f"{indent}for i in range({('n', 'm', '2')[draw(0, 2)]}):", *block(depth - 1, indent + "    ")]
            elif kind <= 2 and depth:
                test = ("n > 1", "i % 2 == 0", "t > m", "len(d) > 2", "n in s")[draw(0, 4)]
                lines += [f"{indent}if {test}:", *block(depth - 1, indent + "    ")]
                if draw(0, 1):
                    lines += [f"{indent}else:", *block(depth - 1, indent + "    ")]
            else:
                step = _STEPS[draw(0, len(_STEPS) - 1)].format(e=expression(), v=expression())
                lines.append(indent + step)
        return lines

    body = [
        "    d, s, q, p, t, i = {}, set(), {}, set(), 0, 0",
        "    e = d",
        *block(2, "    "),
        "    for i in range(n):",
    ]
    body += [*block(2, "        "), "    return d, e, list(q.items()), sorted(s), sorted(p), t, len(d)"]
    text = "\n".join(["def f(n, m):", *body, ""])
    return PythonProgram(text, ((2, 1), (0, 3), (4, 2)))


_GROUPINGS = (
    "d[{k}].append({e})",
    "d[{k}] = [{e}]",
    "d[{k}] = xs",
    "xs.append({e})",
    "xs = d[{k}]",
    "ys = d[{k}]",
    "ys.append({e})",
    "d[{k}] += [{e}]",
    "d[{k}] = d[{k}] + xs",
    "t += len(d[{k}])",
    "for r in d.values(): r.append({e})",
    "for k, r in d.items(): t += k * len(r)",
    "for k, r in d.items(): ys = r",
    "d.setdefault({k}, []).append({e})",
    "xs = d.setdefault({k}, [1])",
    "d.setdefault({k}, xs)",
    "xs = d.get({k}, [])",
    "if {k} in d: del d[{k}]",
    "if {k} in d: d[{k}].clear()",
    "xs = d.pop({k}, [])",
    "rows = list(d.values())",
    "rows.append(xs)",
    "if p > 1: d[{k}].append({e})",
    "if p > 1: xs = d[{k}]",
    "for j in range(n): d[j % 2].append(j)",
    "for j in range(n): xs = d[j]",
    "e = dict(d)",
    "e = d.copy()",
    "e = d",
    "e[{k}] = [{e}]",
    "t += sum(sum(r) for r in d.values())",
    "d = {{k: r + [t] for k, r in d.items()}}",
    "d[{k}], d[{j}] = d[{j}], d[{k}]",
    "d[{k}] = d[{j}]",
    "if d[{k}] == xs: t += 1",
    "d.update({{{k}: xs}})",
    "xs = [1, 2]",
    "if len(rows) > 0: rows[0].append({e})",
    "ys = e.get({k})\nif ys is None:\n    ys = e[{k}] = [t]\nys.append({e})",
    "ys = d.get({k})\nif ys is None:\n    ys = []\n    d[{k}] = ys\nys.append({e})",
    "ys = d.get({k})\nif not ys:\n    ys = d[{k}] = [8]\n    d[{j}] = [9]\nys.append({e})",
    "xs = d.get({k})\nif xs is not None:\n    xs.append({e})\nelse:\n    xs = [t]",
    "xs = ys = d.get({k})\nif xs is None:\n    xs = d[{k}] = []\n"
    "d[{j}].append({e})\nxs.append({e})\nif ys is None:\n    ys = [5]",
    "if {k} not in e:\n    xs = e[{k}] = []\nelse:\n    xs = e[{k}]\nxs.append({e})",
    "xs = e[{k}] = [{e}] if {k} not in e else e[{j}]\nxs.append(6)",
)
"""Statements on the dicts `d` and `e`, whose values are lists, the lists `xs` and `ys`, the list of lists `rows` and
the number `t`."""


def write_group_program(draw: Draw) -> PythonProgram:
    """A function `f(n, p, i)` of dicts whose values are lists that grow, and may have other names."""

    def statement() -> list[str]:
        text = _GROUPINGS[draw(0, len(_GROUPINGS) - 1)]
        keys = "0", "1", "p", "n", "i"
        return text.format(e=("7", "n", "p + 1", "t")[draw(0, 3)], k=keys[draw(0, 4)], j=keys[draw(0, 4)]).split("\n")

    lines = [
        "d, e, xs, ys, rows, t = defaultdict(list), {}, [3], [4], [], 0",
        "for j in range(n + 2): d[j % 3].append(j)",
        *(line for _ in range(draw(2, 5)) for line in statement()),
        "return dict(d), dict(e), xs, ys, rows, t",
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return PythonProgram(f"from collections import defaultdict\n\n\ndef f(n, p, i):\n{body}\n", ((4, 1, 2), (3, 2, 0)))


_NESTINGS = (
    "d[{k}][{j}] = {e}",
    "d[{k}][{j}] = {e}",
    "d.setdefault({k}, {{}})[{j}] = {e}",
    "row = d[{k}]",
    "row[{j}] = {e}",
    "row = d.get({k}, {{}})",
    "row = d.get({k}, {{}})\nrow[{j}] = {e}\nd[{k}] = row",
    "row = row if p > 1 else d[{k}]",
    "row = {{{k}: {e}}}",
    "d[{k}] = row",
    "d[{k}] = {{}}",
    "d[{k}] = {{{j}: t}}",
    "d[{k}], d[{j}] = d[{j}], d[{k}]",
    "if {j} in d[{k}]: del d[{k}][{j}]",
    "if {k} in d: del d[{k}]",
    "t += d[{k}].pop({j}, 0)",
    "t += d[{k}].get({j}, 0) + len(d[{k}])",
    "d[{k}].update({{{j}: {e}, {k}: t}})",
    "for v in d.values(): t += sum(v.values())",
    "for k, v in d.items(): v[k] = t",
    "for j in range(n): d[j % 2][j] = t",
    "if p > 1: d[{k}][{j}] = {e}",
    "if p > 1: d[{k}] = row",
    "if i > 0:\n    d[{k}] = row\n    row[{j}] = {e}\nelse:\n    row[{j}] = 8",
    "row = d.setdefault({k}, row)",
    "row = d[{k}]\nd.clear()",
    "s[{k}].add({e})",
    "s[{k}].discard({j})",
    "s[{k}] |= s[{j}]",
    "s[{k}] = s[{k}] | {{{e}}}",
    "names = s[{k}]",
    "names.add({e})",
    "t += {e} in s[{k}]",
    "rows[{k} % len(rows)][{j}] = {e}",
    "rows.append({{{k}: t}})",
    "rows[-1][{j}] = {e}",
    "row = rows[{k} % len(rows)]",
    "for each in rows: each[{j}] = len(each)",
    "pair['a' if {k} > 1 else 'b']['c'] += {e}",
    "pair['a']['x'] = {e}",
    "chosen = pair['a'] if {k} > 1 else pair['b']\nchosen['c'] = {e}",
    "words[f'k{{{k}}}'] = {e}",
    "words[f'k{{{k}}}'] = words.get(f'k{{{j}}}', 0) + 1",
    "if f'k{{{k}}}' in words: del words[f'k{{{k}}}']",
    "t += next(iter(words.values()), 0)",
)
"""Statements on `d`, a dict of dicts, `s`, a dict of sets, `rows`, a list of dicts, `pair`, a dict of two dicts with
known keys, `words`, a dict whose keys are strings, the dict `row`, the set `names` and the number `t`."""


def write_nested_program(draw: Draw) -> PythonProgram:
    """A function `f(n, p, i)` of dicts and sets in dicts and lists, which change and may have other names."""

    def statement() -> list[str]:
        text = _NESTINGS[draw(0, len(_NESTINGS) - 1)]
        keys = "0", "1", "p", "n", "i"
        return text.format(e=("7", "n", "p + 1", "t")[draw(0, 3)], k=keys[draw(0, 4)], j=keys[draw(0, 4)]).split("\n")

    statements = [line for _ in range(draw(2, 5)) for line in statement()]
    if draw(0, 2) == 0:
        statements = ["for i in range(n):", *(f"    {line}" for line in statements)]
    lines = [
        "d, s, rows, row, names, t = defaultdict(dict), defaultdict(set), [{} for _ in range(n)], {}, set(), 0",
        "pair, words = {'a': {'c': 1}, 'b': {'c': n}}, {'k1': 2}",
        "for j in range(n + 2): d[j % 3][j] = j",
        *statements,
        "return dict(d), {k: sorted(v) for k, v in s.items()}, rows, row, sorted(names), pair, words, t",
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return PythonProgram(f"from collections import defaultdict\n\n\ndef f(n, p, i):\n{body}\n", ((4, 1, 2), (3, 2, 0)))
