"""Small programs for tests of partial runs."""

from __future__ import annotations

from typing import Any

import tagloom as tl
from support.generators.generator import Case


def case(text: str, *arguments: object) -> Case:
    return Case(tl.parse_program(text), list(arguments))


@tl.function
def model(x: tl.float64, w: tl.float64) -> tl.float64:
    h = tl.tanh(x * w)
    tl.print("h", h)
    total = tl.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + h), 0, 0.0)[1]
    return tl.cond(total > 1.0, lambda: h * h + total, lambda: total - x)


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def endless(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: i + 1, n)[0]


@tl.function
def noisy(x: tl.float64) -> tl.float64:
    return x * tl.uniform() + x


@tl.function
def lean(n: tl.int64, x: tl.float64) -> tl.float64:
    """Four loop variables: the second needs the first only, and the fourth the third only."""

    def body(i: Any, s: Any, t: Any, u: Any) -> tuple[Any, ...]:
        tl.print("{}", i)
        s, t = tl.cond(i % 2 == 0, lambda: (s + x, t * 3.0), lambda: (tl.sin(s), t - 1.0))
        return i + 1, s, t, u + t

    _, s, _, u = tl.while_loop(lambda i, s, t, u: i < n, body, 0, x, 1.0, 0.5)
    return s + u


LEAN = case(tl.print_program(lean.program, locations=False), 3, 0.5)
MODEL = case(tl.print_program(model.program, locations=False), 1.0, 2.0)
STEP = Case(tl.value_and_grad(model).program, [1.0, 2.0])
NOISY = Case(tl.value_and_grad(noisy).program, [3.0])
SEVERAL = case(
    """func several(n: int64) -> int64, int64 {
  i, s = while_loop 0, n {
    while(i: int64, s: int64) {
      p = less i, 3
      yield p
    }
    do(i: int64, s: int64) {
      j = add i, 1
      t = multiply s, 2
      yield j, t
    }
  }
  return i, s
}""",
    5,
)
RECURSIVE = case(
    """func fac(n: int64) -> int64 {
  small = less_equal n, 1
  r = cond small, n {
    then(n: int64) { yield 1 }
    else(n: int64) {
      m = subtract n, 1
      f = call fac m
      p = multiply n, f
      yield p
    }
  }
  return r
}""",
    5,
)
CELLS = case(
    """func kept(x: int64) -> int64 {
  a = cells 2, element=int64
  b = put a, 0, x
  c = cond true, a {
    then(h: cells[int64]) { yield h }
    else(h: cells[int64]) { yield h }
  }
  filled = call fill c, x
  other = cells 1, element=int64
  late = put other, 0, x
  got = get a, 1
  more = get late, 0
  s = add got, more
  return s
}

func fill(h: cells[int64], x: int64) -> int64 {
  y = multiply x, 3
  p = put h, 1, y
  return y
}""",
    4,
)
FILLED = case(
    """func filled(n: int64) -> int64, int64 {
  a = cells 3, element=int64
  i, h, s, m = while_loop 0, a, 0, n {
    while(i: int64, h: cells[int64], s: int64, m: int64) {
      p = less i, 3
      yield p
    }
    do(i: int64, h: cells[int64], s: int64, m: int64) {
      j = add i, 1
      q = multiply i, m
      k = put h, i, q
      t = add s, q
      yield j, k, t, m
    }
  }
  g = get a, 2
  return g, s
}""",
    7,
)
CHOSEN = case(
    """func chosen(n: int64) -> int64, int64, int64 {
  p = less n, 3
  a, b, c = cond p, n, 4 {
    then(n: int64, m: int64) {
      d = multiply n, m
      e = subtract n, 1
      yield n, d, e
    }
    else(n: int64, m: int64) {
      f = add n, m
      yield m, f, n
    }
  }
  return a, b, c
}""",
    2,
)
DRAWS = case(
    """func drawn(n: int64) -> float64 {
  small = less_equal n, 1
  more = cond small, n {
    then(n: int64) { yield 0.5 }
    else(n: int64) {
      m = subtract n, 1
      f = call drawn m
      yield f
    }
  }
  again = uniform shape=[]
  s = add more, again
  return s
}""",
    3,
)
CALLED = case(
    """func called(n: int64, m: int64) -> int64, int64 {
  a, b, c = call three n, m
  e, f = call two a, b
  g, h = call two n, c
  return e, h
}

func three(x: int64, y: int64) -> int64, int64, int64 {
  s = add x, 1
  t = multiply y, 2
  q, r = call down s, t
  return s, q, r
}

func two(x: int64, y: int64) -> int64, int64 {
  s = subtract x, y
  t = add x, y
  return s, t
}

func down(x: int64, y: int64) -> int64, int64 {
  e = subtract x, 1
  shown = print e, text="{}"
  g = multiply y, y
  return e, g
}""",
    3,
    4,
)
UNCALLED = case(
    """func main(n: int64) -> int64, int64 {
  a, b = call g n
  z = add n, 1
  return a, z
}

func g(x: int64) -> int64, int64 {
  p, q = call f x, x
  r = call u x
  return p, r
}

func u(x: int64) -> int64 {
  s, t = call f x, x
  v = add s, t
  return v
}

func f(x: int64, y: int64) -> int64, int64 {
  s = add x, 1
  t = multiply y, 2
  return s, t
}""",
    3,
)
TWICE = case(
    """func main(n: int64) -> int64, int64 {
  a = call g n
  b = call g a
  z = add n, 1
  return b, z
}

func g(x: int64) -> int64 {
  p, q = call f x
  d = floor_divide 1, x
  return p
}

func f(x: int64) -> int64, int64 {
  s = add x, 1
  t = multiply x, 2
  return s, t
}""",
    3,
)
ALL = {
    "several": SEVERAL,
    "cells": CELLS,
    "chosen": CHOSEN,
    "called": CALLED,
    "uncalled": UNCALLED,
    "twice": TWICE,
    "filled": FILLED,
    "lean": LEAN,
    "draws": DRAWS,
    "recursive": RECURSIVE,
    "noisy": NOISY,
    "step": STEP,
    "model": MODEL,
}
"""Quick programs first."""
