"""Takeuchi's function: four call sites in one body, three of them arguments of the fourth.

The three inner calls depend on the arguments only, so they run at the same time, and so do the calls inside
them.

If y >= x, this function returns z (McCarthy's variant; Takeuchi's own returns y), and it evaluates all three arguments,
needed or not: tak(24, 16, 8) = 9, in 2,493,349 calls.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018),
from whose tables the rows with `thesis` are: seconds with static graphs, and with dynamic ones.
"""

import tagloom as tl


@tl.function
def tak(x: tl.int64, y: tl.int64, z: tl.int64) -> tl.int64:
    if y < x:
        return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))
    return z


EXPECTED = [
    {"run": ("tak", 1, 2, 3), "result": 3, "calls": {"tak": 1}, "size": "quick"},
    {"run": ("tak", 8, 4, 2), "result": 3, "calls": {"tak": 137}, "size": "quick"},
    {"run": ("tak", 18, 12, 6), "result": 7, "calls": {"tak": 63609}, "size": "heavy"},
    {"run": ("tak", 24, 16, 8), "result": 9, "calls": {"tak": 2493349}, "size": "huge", "thesis": (18.881, 16.075)},
    {"run": ("tak", 27, 17, 8), "result": 9, "calls": {"tak": 24802269}, "size": "huge", "thesis": (188.51, 159.78)},
]


if __name__ == "__main__":
    for x, y, z in ((1, 2, 3), (8, 4, 2)):
        out = tak.run(x, y, z)
        count = out.activations()["tak"]
        print(f"tak({x}, {y}, {z}) = {out.value}, in {count:,} {'call' if count == 1 else 'calls'}")
