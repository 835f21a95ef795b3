"""Generated sums of matrix products: large enough to be computed in place, with fixed and open sizes. All numbers are
small integers, so the order of additions does not change results."""

from __future__ import annotations

from typing import Any

import numpy as np
import tagloom as tl
from hypothesis import strategies as st
from support.generators.generator import Case


@st.composite
def sum_cases(draw: Any) -> Case:
    """Products, transposed factors, zeros and arguments, added one after another. One of three open sizes does not
    match the others."""

    def pick(*choices: Any) -> Any:
        return draw(st.sampled_from(choices))

    dtype, rows, columns = pick(("float64", 8, 64), ("float32", 16, 32))
    zero = "0.0" if dtype == "float64" else "float32(0.0)"
    reply, given, lines = list[str](), list[Any](), list[str]()

    def argument(*sizes: int) -> str:
        at = pick(None, 0, 1)
        type_ = ", ".join("?" if axis == at else str(size) for axis, size in enumerate(sizes))
        result = [size + (axis == at and pick(0, 0, 1)) for axis, size in enumerate(sizes)]
        reply.append(f"x{len(reply)}: {dtype}[{type_}]")
        given.append(np.random.default_rng(len(reply)).integers(-1, 2, result).astype(dtype))
        return f"x{len(reply) - 1}"

    def term(name: str) -> str:
        match pick("product", "turned", "product", "zeros", "argument"):
            case "zeros":
                lines.append(f" {name} = broadcast_to {zero}, shape=[{rows}, {columns}]")
            case "argument":
                return argument(rows, columns)
            case kind:
                inner = pick(16, 5, 1)
                left = argument(rows, inner) if kind == "product" else argument(inner, rows)
                if kind == "turned":
                    lines.append(f" {name}_turned = permute_dims {left}, axes=[1, 0]")
                    left = f"{name}_turned"
                lines.append(f" {name} = matmul {left}, {argument(inner, columns)}")
        return name

    total, results = term("t0"), list[str]()
    for at in range(1, pick(2, 3, 4)):
        one, other = total, term(f"t{at}")
        lines.append(f" s{at} = add {', '.join((one, other)[:: pick(1, -1)])}")
        results += [one] if pick(False, False, True) else []
        total = f"s{at}"
    text = [f"func main({', '.join(reply)}) {{", *lines, f" return {', '.join([total, *results])}", "}"]
    return Case(tl.parse_program("\n".join(text)), given)
