"""Mutated texts: whatever is done to a valid text, the parser gives a document, or an error in words."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable

import pytest
import tagloom as tl
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.program import Program
from tagloom.core.program.validate import program_problems
from tagloom.core.text import Document, parse, print_document

FAC = """
# the factorial
from "fac.py"
func fac(n: int64) -> int64 {   at 3
  small = less_equal n, 0       at 4
  r = cond small, n {           at 4
    then(n: int64) { yield 1 }
    else(n: int64) {
      m = subtract n, 1         at "other.py":7
      f = call fac m
      p = multiply n, f
      yield p
    }
  }
  return r
}
case fac(5) returns 120 in 52 firings
case fac([1, 2]) traps "integer \\"division\\" by zero"
case fac(5) exhausts 1000 depth
case fac refused V4
"""
LOOP = """
func total(n: int64, x: float64[3, ?]) {
  i, s, y: int64 = while_loop 0, 0.5, n {
    while(i: int64, s: float64, n: int64) {
      more = less i, n
      yield more
    }
    do(i: int64, s: float64, n: int64) {
      t = add s, float64(2.5)
      j = add i, int8(1)
      yield j, t, n
    }
  }
  z = add x, [[0.5], [nan], [-inf]]
  w = astype z, dtype=float32
  return s, w, float64[2, 0]([])
}
"""
GRAPHS = """
graph race(x: int64) -> int64 {
  m = merge x, x
  return m
}
graph even(@trigger, n: int64) -> bool {
  site even.f calls odd
  site loop even.g calls odd
  even.n = merge n | 3, ?
  even.zero: bool = equal even.n, 0
  even.f.call_n = call[even.f] even.n @ trigger
  even.f = return[even.f] odd.r, dtype=int8
  even.s = switch[loop even.g] even.f, even.zero
  odd.r: () = nothing[@] even.s:1
  even.t = return[] odd.q
  odd.q = identity [1, 2] @ ?
  results even.f, odd.r
}
"""
ACTS = """
entry fill
func square(c: cells[float64[2, ?]], i: int64) -> cells[float64[2, ?]] {
  d = put c, i, [[0.5, 1.5], [nan, -inf]]
  return d
}
func fill(n: int64) -> int64[?], float64[2] {
  c = cells n, element=float64[2, ?]
  i, d = while_loop 0, c, parallel_iterations=2 {
    while(i: int64, c: cells[float64[2, ?]]) {
      more = less i, n
      yield more
    }
    do(i: int64, c: cells[float64[2, ?]]) {
      v = call square c, i
      j = add i, 1
      yield j, v
    }
  }
  g = get d, 0
  a = collect d
  u = uniform shape=[2]
  o = permutation n
  p = print n, u, text="{} of {{{}}}"
  y = callback n, function="f", returns=int64[?]
  b = breakpoint p
  return o, u
}
graph acts(@trigger, @output, n: int64) -> bool {
  c = cells n, element=int64
  s = store c, 0, n
  g = get c, 0
  e = next_iteration[acts.l] n, parallel_iterations=3
  u = integers 0, 10, shape=[] @ trigger
  p = print g, text="{}" @ output
  q = print text="done" @ p:1
  return p:0
}
"""
SEEDS = (FAC, LOOP, GRAPHS, ACTS, FAC + GRAPHS + LOOP, ACTS)
_TOKEN = re.compile(r"\s+|\w+|.", re.S)
_STRANGE = "\x00\ufeff\u2028\u00e9\u0663\udc80\t\r\n\"'\\{}[]()@|?:,=.->#;$\U0001f600"
_WORDS = [
    "func",
    "graph",
    "case",
    "entry",
    "from",
    "at",
    "return",
    "yield",
    "results",
    "call",
    "calls",
    "site",
    "loop",
    "cond",
    "while_loop",
    "then",
    "else",
    "do",
    "while",
    "true",
    "nan",
    "inf",
    "int8(",
    "float64[",
    "cells[",
    "cells[int64]",
    "cells",
    "put",
    "store",
    "print",
    "shape=[",
    "element=",
    "text=",
    "parallel_iterations=",
    f"bool[{', '.join('1' * 71)}]",
    f"int8[{', '.join('2' * 64)}]",
    f"float64[{', '.join('0' * 71)}]([])",
    "[",
    "]",
    "{",
    "}",
    "1",
    "-1",
    "1e999",
    "0x",
    "9999999999999999999999",
    "in",
    "firings",
]


def letters(dice: random.Random, text: str) -> str:
    """A letter is removed, inserted or replaced."""
    at, letter = dice.randrange(len(text) + 1), dice.choice([dice.choice(_STRANGE), dice.choice(text or "x")])
    return text[:at] + dice.choice([letter, ""]) + text[at + dice.choice([0, 1]) :]


def cut(dice: random.Random, text: str) -> str:
    """A piece is removed."""
    begin, end = sorted(dice.randrange(len(text) + 1) for _ in range(2))
    return text[:begin] + text[end:] if dice.random() < 0.5 else text[:begin]


def splice(dice: random.Random, text: str) -> str:
    """A piece of a text is inserted."""
    other = dice.choice(SEEDS)
    begin, end = sorted(dice.randrange(len(other)) for _ in range(2))
    at = dice.randrange(len(text) + 1)
    return text[:at] + other[begin : min(end, begin + 200)] + text[at:]


def tokens(dice: random.Random, text: str) -> str:
    """A token is removed, or replaced by another of the text or by a word of the language."""
    words = _TOKEN.findall(text) or [" "]
    at = dice.randrange(len(words))
    words[at] = dice.choice(["", words[at] * 2, dice.choice(words), dice.choice(_WORDS)])
    return "".join(words)


def lines(dice: random.Random, text: str) -> str:
    """Two lines are swapped, or one is repeated."""
    result = text.split("\n")
    one, other = dice.randrange(len(result)), dice.randrange(len(result))
    result[one], result[other] = result[other], dice.choice([result[one], result[other]])
    return "\n".join(result)


MUTATIONS: tuple[Callable[[random.Random, str], str], ...] = (letters, cut, splice, *(tokens,) * 4, *(lines,) * 2)


def fuzz(seed: int) -> str | None:
    """Mutates a text, reads it, and uses the document; returns the name of the error, if any."""
    dice = random.Random(seed)
    text = dice.choice(SEEDS)
    for _ in range(dice.choice([1, 1, 1, 2, 3, 8])):
        text = dice.choice(MUTATIONS)(dice, text)
    try:
        document = parse(text, dice.choice([None, "fuzzed.tl"]))
    except (tl.Malformed, tl.Invalid) as error:
        assert str(error).isprintable() or "\n" in str(error)
        assert not re.search(r"__ANON|UnexpectedToken|_NL\b|DOTTED", str(error)), text
        return type(error).__name__
    use(document)
    return None


def use(document: Document) -> None:
    """A document that was read is validated, lowered and printed, and survives a round trip."""
    assert parse(print_document(document)) == document
    for name in document.names:
        subject = document[name]
        if isinstance(subject, Program):
            if not program_problems(subject):
                assert not graph_problems(lower(subject))
        else:
            graph_problems(subject)


def check(seeds: range) -> None:
    ended: dict[str | None, int] = {}
    for seed in seeds:
        try:
            reply = fuzz(seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        ended[reply] = ended.get(reply, 0) + 1
    assert ended[None] > len(seeds) / 20 and ended["Malformed"] > len(seeds) / 4


@pytest.mark.full
def test_mutated_texts() -> None:
    """A mutated text is read, or is Malformed or Invalid: no other exception is raised, and no message has the parser's
    own words. A document that is read can be validated, lowered and printed, and survives a round trip."""
    check(range(1_200))


@pytest.mark.heavy
def test_many_mutated_texts() -> None:
    """Ten thousand mutated texts behave so."""
    check(range(10_000, 14_000))


def test_reading_runs_no_code() -> None:
    """Reading a text compiles, executes, opens and starts nothing."""
    parse(FAC)
    seen: list[str] = []
    watching = True

    def hook(event: str, _: object) -> None:
        if watching and event.split(".")[0] in ("exec", "compile", "open", "import", "subprocess", "os", "socket"):
            seen.append(event)

    sys.addaudithook(hook)
    for text in (FAC, LOOP, GRAPHS, 'case f("__import__") returns 1', "func __import__(x: int64) { return x }"):
        try:
            parse(text)
        except tl.Malformed:
            continue
    watching = False
    assert seen == []
