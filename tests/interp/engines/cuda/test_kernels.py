"""The opcodes have the reference's bits on the device, over the whole registry."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.generators.edges import EDGES
from support.observe.kernel_tables import ELEMENTARY, KernelSignature, same, signatures
from tagloom.core.graph.graph import GraphNode, NodeOutput
from tagloom.core.ops.op import build_kernel, trap_message
from tagloom.interp.engines.cuda.device import is_simulated, launch, simulator_settings
from tagloom.interp.engines.cuda.kernels import called_functions, named_device_functions, text
from tagloom.interp.image.image import WordArray, decode_word, encode_word
from tagloom.interp.image.opcodes import FIRST_KERNEL, cast_code, first_trapping_opcode, opcode_of, scalar_kernels

ROWS = 200
"""How many rows of operands an op has on each dtype: the simulator makes some 30,000 a second."""
ULPS = 1
"""How far a graphics processor's elementary functions may be from the C library's."""


_TABLE = f"""\
@cuda.jit
def table(codes, casts, a, b, c, out, trapped):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        trapped[i] = 0
        if codes[i] >= {first_trapping_opcode()} and traps(codes[i], a[i], b[i]):
            trapped[i] = 1
        else:
            out[i] = compute(codes[i], a[i], b[i], c[i])
            if casts[i]:
                out[i] = cast(casts[i], out[i])
"""


def evaluate_opcodes(
    codes: WordArray, casts: WordArray, a: WordArray, b: WordArray, c: WordArray
) -> tuple[WordArray, WordArray]:
    """Apply opcode codes[i] to the words a[i], b[i] and c[i], and the cast casts[i] to the result.

    Returns the results and the traps, int64 arrays of the length of `codes`: 1 for a trap, whose result is 0.
    """
    out, trapped = np.zeros(len(codes), np.int64), np.zeros(len(codes), np.int64)
    with simulator_settings():
        # Each thread computes many words, since starting one in the simulator is slow.
        launch(compile_table(), max(1, min(len(codes), 64)), codes, casts, a, b, c, out, trapped)
    return out, trapped


@cache
def compile_table() -> Any:
    """The kernel `table`, compiled: it evaluates opcodes on arrays of words."""
    module = dict(named_device_functions(called_functions(text())))
    exec(compile(text() + _TABLE, "<table>", "exec"), module)
    return module["table"]


class Firing(NamedTuple):
    """An op, its opcode, and operands."""

    signature: KernelSignature
    code: int
    operands: tuple[Any, ...]


def firings(dice: Random) -> Iterator[Firing]:
    """Every op that has an opcode of its own, on edge values of every dtype that it takes."""
    for signature in signatures():
        row, operands, result, _ = signature
        node = GraphNode(row.name, row.name, (None,) * row.arity, (NodeOutput(result, ()),), "main")
        code = opcode_of(node, operands, False)
        if code >= FIRST_KERNEL and len({type_.dtype for type_ in operands[row.name == "where" :]}) == 1:
            results = list(itertools.product(*(EDGES[type_.dtype] for type_ in operands)))
            for each in results if len(results) <= ROWS else dice.sample(results, ROWS):
                yield Firing(signature, code, each)


def words(firing: Firing) -> list[int]:
    pairs = zip(firing.operands, firing.signature.operands, strict=True)
    return ([encode_word(value, type_.dtype) for value, type_ in pairs] + [0, 0])[:3]


def are_equal(name: str, value: Any, meant: Any) -> bool:
    """Whether values are equal; on a GPU, approximately for ops that its own math library computes."""
    if same(value, meant):
        return True
    known = name in ELEMENTARY and not is_simulated() and math.isfinite(meant)
    return known and abs(value - meant) <= ULPS * math.ulp(meant)


def differences(fired: Sequence[Firing]) -> Iterator[str]:
    """Where the device's bits or traps differ from the reference's."""
    codes = np.array([firing.code for firing in fired], np.int64)
    casts = np.array([cast_code(firing.signature.result.dtype) for firing in fired], np.int64)
    a, b, c = np.array([words(firing) for firing in fired], np.int64).T.copy()
    result, trapped = evaluate_opcodes(codes, casts, a, b, c)
    for (signature, _, operands), word, traps in zip(fired, result.tolist(), trapped.tolist(), strict=True):
        if bool(traps) != (trap_message(signature.row, operands) is not None):
            yield f"{signature.row.name} of {operands} {'traps' if traps else 'does not trap'}"
        elif not traps:
            meant = build_kernel(signature.row, signature.operands, signature.result, signature.attributes)(*operands)
            value = decode_word(word, signature.result.dtype)
            if not are_equal(signature.row.name, np.asarray(value).item(), np.asarray(meant).item()):
                yield f"{signature.row.name} of {signature.operands} {operands}: {value!r}, not {meant!r}"


@pytest.mark.full
def test_opcodes_on_edge_values() -> None:
    """Every opcode has the reference's bits and traps on edge values of every dtype."""
    fired = list(firings(Random(1)))
    assert {firing.code for firing in fired} == set(range(FIRST_KERNEL, FIRST_KERNEL + len(scalar_kernels())))
    assert not list(differences(fired))
