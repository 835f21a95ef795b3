"""A program that only a machine with non-strict calls computes."""

from __future__ import annotations

NOT_STRICT = """func f(x: int64, y: int64) -> int64 {
  done = less_equal x, 1
  r = cond done, x, y {
    then(x: int64, y: int64) { yield 1 }
    else(x: int64, y: int64) {
      x1 = subtract x, 1
      inner = call f x, y
      outer = call f x1, inner
      yield outer
    }
  }
  return r
}
"""
"""f(2, 0) returns only if f(1, y) does not wait for y: the inner call never returns."""
