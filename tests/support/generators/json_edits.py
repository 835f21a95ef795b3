"""JSON documents, and random mutations of their data and of their bytes."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import tagloom as tl
from support.programs.hand_written_graphs import counting_loop, race, stuck, sum_graph
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower

STRANGE: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**200,
    0.5, -0.0, 1.0, 1e308, float("inf"), float("nan"), "",
    "nan", "-inf", "x", "add", "merge", "call", "get", "store", "print", "uniform", "int64", "float32", "nothing",
    "9007199254740993", "12", "99999999999999999999", "a" * 500, "\ud800", "\x00", "héllo",
    [], {}, [0, 0], [[]], [None], [1, 2, 3],
    {"dtype": "int64", "data": 3}, {"dtype": "float64", "shape": [2], "data": [1.5, "inf"]},
    {"dtype": "uint8", "data": 255}, {"name": "x"}, {"literal": {"dtype": "bool", "data": True}},
    {"dtype": "int64", "shape": [None, 3]}, {"dtype": "cells", "element": {"dtype": "bool", "shape": []}},
    {"function": "f", "name": "g", "kind": "loop"}, {"file": "x.py", "line": 3},
]  # fmt: skip
"""Values that mutations insert."""
Place = tuple[Any, Any]
"""A dict or list, and a key or index of it."""


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def mean(v: tl.Array[tl.float64, None], n: tl.int64) -> tuple[tl.Array[tl.float64, None], tl.int64]:
    """A function with arrays, a loop, an attribute, and a trap for n = 0."""
    result = tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + v * 0.5), 0, v)
    return result[1] + tl.astype(n, tl.float64), 7 // n


@tl.function
def quotients(n: tl.int64) -> tl.int64:
    """Traps in a loop."""
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + 6 // (i - 1)), 0, 0)[1]


FILL = tl.parse_program("""
entry fill
func square(c: cells[int64], i: int64) -> int64 {
  s = multiply i, i
  d = put c, i, s
  return s
}
func fill(n: int64) -> int64[?], float64[2], bool, int64[?] {
  c = cells n, element=int64
  g = get c, 1
  i, d = while_loop 0, c, parallel_iterations=1 {
    while(i: int64, c: cells[int64]) {
      more = less i, 3
      yield more
    }
    do(i: int64, c: cells[int64]) {
      v = call square c, i
      j = add i, 1
      yield j, c
    }
  }
  a = collect c
  u = uniform shape=[2]
  p = print g, text="cell 1 of {{}} is {}"
  b = breakpoint p
  o = permutation n
  return a, u, b, o
}
""")
"""Write-once cells, a bound on a loop, random numbers, an effect; fewer than 3 cells trap, more deadlock."""
TWICE = tl.parse_program("""
func twice(n: int64) -> float64 {
  c = cells 2, element=float64
  a = put c, n, 1.5
  b = put c, n, 2.5
  g = get c, 0
  return g
}
""")
"""A second put to a cell."""


RUNS: list[tuple[Any, list[Any]]] = [
    (fib.trace(4).graph, [4]),
    (mean.graph, [np.array([1.5, np.nan]), 2]),
    (mean.graph, [np.array([1.5, -0.0]), 0]),
    (quotients.trace(3).graph, [3]),
    (counting_loop([("count", 0)]), [2]),
    (sum_graph(), [3, 4]),
    (stuck(), [1]),
    (race("merge", 1), [1, 2]),
    (race("add", 2), [1, 2, 3]),
]
"""Graphs and arguments: recursion, arrays, loops, traps, a deadlock, and graphs that break."""
ACTING: list[tuple[Any, list[Any]]] = [(lower(FILL), [3]), (lower(FILL), [4]), (lower(TWICE), [0])]
"""Cells, effects, random numbers and bounds: a run that returns, a deadlock, a trap."""
EVERY = [*RUNS, *ACTING]
PROGRAMS = [fib.trace(4).program, mean.program, quotients.trace(3).program, FILL, TWICE]


def documents() -> list[Any]:
    """One document of each form."""
    graphs = [graph for graph, _ in EVERY]
    outcomes = [tl.run_graph(graph, arguments, unchecked=True) for graph, arguments in EVERY]
    return [tl.to_json(subject) for subject in (*PROGRAMS, *graphs, *outcomes)]


def places(data: Any) -> Iterator[Place]:
    """The path of every element of a document."""
    ahead = [data]
    while ahead:
        at = ahead.pop()
        keys = list(at) if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()
        for key in keys:
            yield at, key
            ahead.append(at[key])


def mutate_data(dice: random.Random, document: Any, times: int = 1) -> Any:
    """A copy of a document with some random changes."""
    result = copy.deepcopy(document)
    for _ in range(times):
        all_places = list(places(result))
        if not all_places:
            return result
        _change(dice, dice.choice(all_places), all_places)
    return result


def _change(dice: random.Random, place: Place, others: list[Place]) -> None:
    at, key = place
    match dice.randrange(7):
        case 0 | 1:
            at[key] = copy.deepcopy(dice.choice(STRANGE))
        case 2:
            del at[key]
        case 3 if isinstance(at, list):
            at.insert(key, copy.deepcopy(at[key]))
        case 3 | 4 if isinstance(at, dict):
            at[
                dice.choice(
                    [
                        "new",
                        "dtype",
                        "shape",
                        "literal",
                        "inputs",
                        "element",
                        "deferred",
                        "throttled",
                        "parked",
                        "held",
                        "a.b",
                    ]
                )
            ] = copy.deepcopy(dice.choice(STRANGE))
        case 4 if isinstance(at, list):
            at.append(copy.deepcopy(dice.choice(STRANGE)))
        case 5 if type(at[key]) is int:
            at[key] += dice.choice([-1, 1, 2, 2**53])
        case _:
            there, other = dice.choice(others)
            at[key] = copy.deepcopy(there[other])


def corrupt_text(dice: random.Random, text: bytes) -> bytes:
    """A text with a few bytes changed, dropped or added."""
    result = bytearray(text)
    for _ in range(dice.choice([1, 1, 2, 5])):
        where = dice.randrange(len(result) + 1)
        match dice.randrange(4):
            case 0:
                result[where : where + 1] = bytes([dice.randrange(256)])
            case 1:
                del result[where : where + dice.choice([1, 3, 50])]
            case 2:
                result[where:where] = dice.choice(
                    [b'"', b"{", b"[" * 30, b"NaN", b"-", b"1e999", b"\xff", b"\\ud800", b",", b"0"]
                )
            case 3:
                other = dice.randrange(len(result) + 1)
                result[where:where] = result[other : other + 20]
    return bytes(result)


def edit_lines(dice: random.Random, lines: list[bytes]) -> list[bytes]:
    """The lines of a log, one of them dropped, duplicated, moved, cut or changed as data."""
    result, where = list(lines), dice.randrange(len(lines))
    match dice.randrange(6):
        case 0:
            del result[where]
        case 1:
            result.insert(where, result[where])
        case 2:
            result.insert(dice.randrange(len(result)), result.pop(where))
        case 3:
            result[where:] = [result[where][: dice.randrange(len(result[where]))]]
        case _:
            changed = mutate_data(dice, json.loads(result[where]), dice.choice([1, 1, 2]))
            result[where] = json.dumps(changed).encode() + b"\n"
    return result


def arguments_for(graph: Graph) -> list[Any]:
    """Small arguments for a graph's parameters; for huge parameter types, arguments that do not match."""
    results = []
    for _, output in graph.arguments[max(graph.hidden_count, 0) :]:
        shape = [2 if size is None else size for size in output.type.shape or ()]
        small = len(shape) < 9 and all(size < 9 for size in shape)
        results.append(np.ones(shape, output.type.dtype.numpy) if small else 0)
    return results
