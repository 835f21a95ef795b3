"""Functions in which a symbolic condition chooses between values that differ in structure, and what Python does with
them: identity, changes through a second name, attributes, calls, words, None, loops and patterns."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import enum, functools, math
from dataclasses import dataclass
from typing import NamedTuple
from support.programs.reference.table import Entry

CHOICES: list[Entry] = []


def choice(refusal="", gap=""):
    def add(function):
        CHOICES.append(Entry(function, INPUTS, refusal, True, gap))
        return function

    return add


INPUTS = ((3, 1), (-2, 5), (0, 0))


class Box:
    def __init__(self, v):
        self.v = v
        self.n = 0

    def bump(self, k):
        self.n += k
        print("bump", self.v)
        return self.n

    def get(self):
        return self.v * 10 + self.n


class Node:
    def __init__(self, value, nxt=None):
        self.value = value
        self.nxt = nxt


@choice()
def mutate_chosen(a, b):
    x, y = Box(1), Box(2)
    z = x if a > b else y
    z.bump(a)
    z.v = b
    return x.get(), y.get(), z.get(), z is x, z is y


@choice()
def alias(a, b):
    x, y = Box(a), Box(b)
    z = x if a > 0 else y
    w = y if a > 0 else x
    z.n = 5
    w.n += z.n + 1
    return x.n, y.n, z.n, w.n, z is w


@choice()
def both_same(a, b):
    x = Box(a)
    z = x if a > 0 else x
    z.n += 4
    return x.n, z is x


@choice()
def fields_of_arm(a, b):
    if a > 0:
        z = Box(a + b)
        z.n = b * 2
    else:
        z = Box(a - b)
    z.n += 1
    return z.get()


@choice()
def none_arith(a, b):
    x = None if a > 0 else b
    return x + 1


@choice()
def none_attr(a, b):
    x = None if a > 0 else Box(b)
    return x.get()


@choice()
def none_call(a, b):
    f = None if a > 0 else math.sqrt
    return f(abs(b))


@choice()
def none_index(a, b):
    t = None if a > 0 else (b, a)
    return t[0]


@choice()
def guard(a, b):
    x = None if a > 0 else Box(b)
    if x is not None and x.v > 2:
        return x.get()
    if not x:
        return -1
    return 7


@choice()
def or_default(a, b):
    x = (None if a > 0 else b) or 9
    return x * 2


@choice()
def eq_words(a, b):
    w = "p" if a > 0 else "n"
    v = "p" if b > 0 else "z"
    return w == v, w != v, w == "p", w in ("z", "p"), v in "zebra", w < v


@choice()
def concat(a, b):
    w = "p" if a > 0 else "neg"
    s = w + "-" + w * 2
    print(s, len(s), s.upper(), f"{w:>5}|{w!r}")
    return len(s), s


@choice()
def three_way(a, b):
    w = "lt" if a < b else "gt" if a > b else "eq"
    n = {"lt": 1, "gt": 2, "eq": 3}[w]
    print("w", w, "n", n)
    return n, w


@choice()
def loop_words(a, b):
    state = "idle"
    count = 0
    i = 0
    while i < a + 3:
        if state == "idle":
            state = "busy"
        elif state == "busy" and i > b:
            state = "done"
        elif state == "done":
            count += 10
        i += 1
        count += 1
    return count, state


@choice()
def loop_none(a, b):
    last = None
    for i in range(a + 2):
        if i % 2 == 1:
            last = i * b
    return last


@choice()
def loop_best(a, b):
    best = None
    for i in range(a + 3):
        v = (i - b) * (i - b)
        if best is None or v < best[0]:
            best = (v, i)
    return best


@choice(gap="Python returned 5, the program 5.0")
def loop_kind(a, b):
    x = None
    for i in range(a + 3):
        x = 1.5 if i == b else i
    return x


@choice()
def function_results(a, b):
    def find(k):
        if k > 0:
            return k
        return None

    def name(k):
        return "pos" if k > 0 else "neg"

    r, s = find(a), find(b)
    print(name(a), name(b))
    return (0 if r is None else r) + (100 if s is None else s), name(a) == name(b)


@choice()
def chosen_effect(a, b):
    log = []

    def p(k):
        print("p", k)
        log.append(k)
        return k

    def q(k):
        print("q")
        return -k

    f = p if a > 0 else q
    x = f(b)
    return x, len(log)


@choice()
def chosen_closure(a, b):
    k = a * 2
    f = (lambda v: v + k) if a > b else (lambda v: v - k)
    k = 100
    return f(b)


@choice(refusal="F4: variable t is used")
def arm_closure(a, b):
    if a > 0:
        t = a * b
        f = lambda v: v + t
    else:
        f = lambda v: v
    return f(1)


@choice()
def chosen_class(a, b):
    C = Box if a > 0 else Node
    c = C(b)
    return c.v if isinstance(c, Box) else c.value + 100


@choice()
def isinst(a, b):
    x = b if a > 0 else None if a < 0 else "s"
    return isinstance(x, int), isinstance(x, str), x is None, type(x) is int


@choice()
def nested(a, b):
    x = (None if b > 0 else "q") if a > 0 else b
    if x is None:
        return 1
    if x == "q":
        return 2
    return x


@choice(refusal="F1: this line needs a concrete value")
def in_list(a, b):
    x = None if a > 0 else b
    xs = [1, x, 3]
    return xs.count(None), sum(1 if e is None else e for e in xs), len(xs)


@choice()
def tuple_result(a, b):
    t = ("ok", a) if a > b else ("bad", b)
    kind, value = t
    return kind, value


@choice()
def tuple_lengths(a, b):
    t = (a,) if a > b else (a, b)
    return len(t), t[0], sum(t), t[-1]


@choice()
def unpack(a, b):
    t = (a, "x") if a > b else (None, "y")
    u, v = t
    return v, u is None


@choice()
def attribute_holds(a, b):
    x = Box(None)
    if a > 0:
        x.v = b
    y = x.v
    x.v = 3
    return y, x.v


@choice()
def dict_value(a, b):
    d = {"k": None, "m": 1}
    if a > 0:
        d["k"] = b
    return d["k"], d["m"], "k" in d, d.get("k") is None


@choice()
def dict_chosen_key(a, b):
    d = {"x": 0, "y": 10}
    k = "x" if a > b else "y"
    d[k] += 5
    d[k] *= 2
    return d


@choice()
def print_none(a, b):
    x = None if a > 0 else b
    print("x", x, sep="=")
    print([1, 2], x)
    return a


@choice()
def percent(a, b):
    w = "yes" if a > 0 else "no"
    print("%s and %d" % (w, b))
    print("{} {}".format(w, a))
    print("/".join([w, "z", w]))
    return a


@choice(gap="Python returned 1, the program 1.0")
def int_or_float_word(a, b):
    x = 0.5 if a > 0 else "half"
    return 1 if x == "half" else x * 2


@choice(refusal="F4: `is` does not compare numbers")
def compare_choice(a, b):
    x = None if a > 0 else a
    y = None if b > 0 else b
    return x == y, x is y if (a > 0 and b > 0) else 3


class Color(enum.Enum):
    R = 1
    G = 2

    def next(self):
        return Color.G if self is Color.R else Color.R


@choice()
def enums(a, b):
    c = Color.R if a > 0 else Color.G
    d = c.next()
    print(c.name, d.value)
    return c is d, c == Color.R, {Color.R: 5, Color.G: 6}[c], d


class Pt(NamedTuple):
    x: int
    y: int


@choice()
def named(a, b):
    p = Pt(a, b) if a > b else None
    return (p.x if p is not None else -1), p


@choice()
def bool_of(a, b):
    w = "" if a > 0 else "t"
    x = [] if b > 0 else (1,)
    return (1 if w else 2), (1 if x else 2), bool(w), not w


@choice()
def recursion_none(a, b):
    def half(k):
        if k < 0:
            return None
        if k == 0:
            return 0
        return half(k - 1)

    return half(a) is None


@choice()
def sort_words(a, b):
    ws = ["c" if a > 0 else "x", "b", "m" if b > 0 else "a"]
    return sorted(ws)[0], max(ws), min(ws, key=len)


@choice()
def while_node(a, b):
    n3 = Node(3)
    n2 = Node(2, n3)
    n1 = Node(1, n2)
    cur = n1
    i = 0
    total = 0
    while cur is not None and i < a:
        total += cur.value
        cur = cur.nxt
        i += 1
    return total


@choice()
def try_none(a, b):
    x = None if a > 0 else b
    try:
        return x + 1
    except TypeError:
        return -5


@choice()
def walr(a, b):
    if (x := (None if a > 0 else b)) is None:
        return 8
    return x


@choice()
def chained(a, b):
    x = "m" if a > 0 else "b"
    return "a" < x < "k", a < b < 3


@choice()
def swap_loop(a, b):
    x, y = Box(1), Box(2)
    for i in range(a + 3):
        if i % 2 == 0:
            x, y = y, x
        x.n += i
    return x.v, x.n, y.n


@choice()
def global_like(a, b):
    fs = {"inc": lambda v: v + 1, "dbl": lambda v: v * 2}
    op = "inc" if a > 0 else "dbl"
    return fs[op](b)


@choice()
def getattr_chosen(a, b):
    x = Box(b)
    name = "v" if a > 0 else "n"
    setattr(x, name, 42)
    return getattr(x, name), x.v, x.n


@choice()
def list_or_none(a, b):
    xs = [a, b] if a > 0 else None
    return 0 if xs is None else xs[0] + len(xs)


@choice(refusal="F4: this list comes from")
def list_or_none_append(a, b):
    xs = [a, b] if a > 0 else None
    if xs is None:
        xs = []
    xs.append(7)
    return xs


@choice()
def default_mutable(a, b):
    acc = None
    for i in range(a + 2):
        if acc is None:
            acc = 0
        acc += i
    return acc


@choice()
def return_early_word(a, b):
    for i in range(a + 4):
        if i == b:
            return "found", i
    return "none", None


@choice()
def matchw(a, b):
    w = "go" if a > 0 else None if a < 0 else 5
    match w:
        case None:
            return "none"
        case "go":
            return "g"
        case int(k):
            return k


@choice()
def star_under_condition(a, b):
    xs = [a, b, 3] if a > 0 else [b]
    match xs:
        case [x, *middle, 3] if x > 2:
            return x, len(middle), middle
        case [x, *rest]:
            return x, len(rest), rest


@choice()
def list_of_one_path(a, b):
    if a > 0:
        xs = [k * b for k in range(a)]
    total = 0
    if a > 0:
        for x in xs:
            total += x
    return total


@choice()
def numeral_or_word(a, b):
    w = "12" if a > 0 else "seven"
    return int(w)


@choice()
def word_that_is_missing(a, b):
    w = "q" if a > 0 else "z"
    return ["p", "q"].index(w)


@choice()
def divisor_of_function(a, b):
    f = (lambda x: x // 0) if a < 0 else (lambda x: x)
    return f(7)


@choice()
def raise_a_class(a, b):
    raise (ValueError if a > b else KeyError)


@choice()
def raise_an_instance(a, b):
    error = ValueError("more") if a > b else KeyError("less") if a < b else None
    if error is not None:
        raise error
    return a


@choice()
def raise_in_try(a, b):
    kind = ValueError if a > b else KeyError
    try:
        if b > 0:
            raise kind("b")
        print("fine")
    finally:
        print("end")
    return a


@choice()
def recursion_with_another_word(a, b):
    def depth(k, side):
        if k <= 0:
            return 0
        return 1 + depth(k - 2, "r" if side == "l" else "l") + (1 if side == "l" else 0)

    return depth(a, "l"), depth(b, "l" if a > 0 else "r")


@choice()
def mutual_recursion_of_words(a, b):
    def even(n):
        return "even" if n <= 0 else odd(n - 1)

    def odd(n):
        return "odd" if n <= 0 else even(n - 1)

    return even(a), odd(b)


@choice()
def joined_words(a, b):
    return ",".join("x" if (a + k) % 2 else "yy" for k in range(3))


@functools.lru_cache
def printed_square(n):
    print("square of", n)
    return n * n


@choice("F4: printed_square prints, and its results are cached")
def first_call_in_an_arm(a, b):
    total = printed_square(3) if a > b else 0
    return total + printed_square(3)
