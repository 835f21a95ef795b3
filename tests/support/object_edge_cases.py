"""Edge cases of objects and state: what an exact graph is hard for, made as scenarios are (`object_scenarios`)."""

# ruff: noqa: B905, E731, E741, C416, PLE0101, RET504

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .container_programs import CONTAINER_PROGRAMS
from .everyday_programs import EVERYDAY_PROGRAMS
from .keyed_programs import KEYED_PROGRAMS
from .numpy_programs import NUMPY_PROGRAMS
from .object_programs import PROGRAMS
from .object_scenarios import SCENARIOS, ObjectScenario
from .research_programs import RESEARCH_PROGRAMS
from .stateful_programs import STATEFUL_PROGRAMS

EDGE_CASES: dict[str, ObjectScenario] = {}
"""All edge cases by name."""


def edge_case(make: ObjectScenario) -> ObjectScenario:
    """Add an edge case to the table, under the name of its function."""
    EDGE_CASES[make.__name__] = make
    return make


@edge_case
def dict_order_two_sites(speculate):
    @speculate
    def f(n):
        if n % 2:
            d = {"a": 1, "b": n}
        else:
            d = {"b": n}
            if n % 4 == 0:
                d["a"] = 2
        return d

    return f, [(n,) for n in range(12)]


@edge_case
def init_flag_order(speculate):
    class A:
        def __init__(self, flag):
            if flag:
                self.a = 1
            self.b = 2

    @speculate
    def f(n):
        x = A(True)
        y = A(False)
        if n > 4:
            y.a = n
        return x, y

    return f, [(n,) for n in range(12)]


@edge_case
def init_loop_order(speculate):
    class A:
        def __init__(self, n):
            for i in range(n):
                self.last = i
            self.n = n
            self.last = -1

    @speculate
    def f(n):
        return A(n % 3)

    return f, [(n,) for n in range(12)]


@edge_case
def init_reads_unassigned(speculate):
    class A:
        def __init__(self, n):
            if n > 5:
                self.x = n
            self.y = self.x + 1

    @speculate
    def f(n):
        return A(n)

    return f, [(n,) for n in (6, 7, 8, 9, 10, 3, 11, 2, 12)]


@edge_case
def escape_in_init(speculate):
    class A:
        def __init__(self, others, n):
            others.append(self)
            self.n = n
            self.count = len(others)

    @speculate
    def f(others, n):
        a = A(others, n)
        return a is others[-1], others[0].n

    l = []
    return f, [(l, n) for n in range(10)]


@edge_case
def escape_in_init_read(speculate):
    class A:
        def __init__(self, others, n):
            others.append(self)
            self.k = others[-1].n if n > 6 else 0
            self.n = n

    @speculate
    def f(others, n):
        return A(others, n).k

    l = []
    return f, [(l, n) for n in range(10)]


@edge_case
def eq_with_effects(speculate):
    class A:
        def __init__(self, n):
            self.n, self.calls = n, 0

        def __eq__(self, other):
            self.calls += 1
            return self.n == other.n

    @speculate
    def f(items, x):
        return x in items, items.index(x) if x == items[0] else -1

    a = [A(1), A(2), A(3)]
    return f, [(a, a[k % 3]) for k in range(10)]


@edge_case
def lt_wrong_type(speculate):
    @dataclass(order=True)
    class A:
        n: int

    @speculate
    def f(a, b, k):
        if k > 5:
            return a < 3
        return a == b, a != b

    return f, [(A(k), A(k % 3), k) for k in range(10)]


@edge_case
def dataclass_inherit_eq(speculate):
    @dataclass
    class A:
        n: int

    class B(A):
        pass

    @dataclass(eq=False)
    class C(A):
        m: int = 0

    @speculate
    def f(a, b):
        return a == b

    x = [A(1), B(1), C(1, 2), C(1, 3), A(2), B(1)]
    return f, [(x[i], x[j]) for i in range(6) for j in range(6)]


@edge_case
def frozen(speculate):
    @dataclass(frozen=True)
    class P:
        x: int
        y: int = 3

    @speculate
    def f(p, k):
        q = P(p.x + k)
        if k == 7:
            q.x = 5
        return q, q == p

    return f, [(P(k), k % 3 if k < 9 else 7) for k in range(12)]


@edge_case
def nan_sort(speculate):
    @speculate
    def f(items):
        return sorted(items), max(items), min(items)

    return f, [([3.0, 1.0, 2.0, float(k)],) for k in range(6)] + [([3.0, float("nan"), 1.0],), ([1.0, -0.0, 0.0],)]


@edge_case
def contains_nan(speculate):
    nan = float("nan")

    @speculate
    def f(items, x):
        return x in items

    return f, [([1.0, nan, 2.0], x) for x in (1.0, 2.0, 3.0, 1.0, nan, 2.0, 0.0)]


@edge_case
def print_then_raise(speculate):
    class A:
        def __init__(self):
            self.n = 0

    @speculate
    def f(a, k):
        a.n += 1
        print("before", a.n)
        x = 10 // k
        print("after", x, f"{x!r:>5}", True, None, 1.5, (1, 2.5))
        return x

    a = A()
    return f, [(a, k) for k in (1, 2, 3, 4, 0, 5, 6, 7, 8)]


@edge_case
def print_object(speculate):
    class A:
        def __init__(self, n):
            self.n = n

        def __repr__(self):
            return f"A({self.n})"

    @speculate
    def f(a, k):
        print(a)
        a.n += k
        print(a, f"<{a}> {a!r}", str(a))
        return repr(a)

    a = A(1)
    return f, [(a, k) for k in range(9)]


@edge_case
def texts_in_state(speculate):
    class A:
        def __init__(self, n):
            self.n, self.name, self.log = n, "", []

    @speculate
    def f(a, k):
        a.n += k
        a.name = f"n{a.n}"
        a.log.append(a.name + "!" if k % 2 else "even")
        return a.name

    a = A(1)
    return f, [(a, k) for k in range(12)]


@edge_case
def many_names(speculate):
    class A:
        def __init__(self, name):
            self.name, self.n = name, 0

    @speculate
    def f(items):
        for a in items:
            a.n += 1
        return items[0].name, [a.name for a in items if a.n > 3]

    items = [A(n) for n in "abcdefgh"]
    return f, [(items[k % 8 :] + items[:1],) for k in range(12)]


@edge_case
def compare_names(speculate):
    class A:
        def __init__(self, name):
            self.name = name

    @speculate
    def f(a, b):
        return a.name == b.name, a.name == "c", a.name != "zz"

    items = [A(n) for n in "abcdefgh"]
    return f, [(items[k % 8], items[k * 3 % 8]) for k in range(12)]


@edge_case
def nested_escape(speculate):
    class A:
        def __init__(self):
            self.f = None

    @speculate
    def f(a, k):
        g = lambda x: x + k
        a.f = g
        return g(1)

    a = A()
    return f, [(a, k) for k in range(8)]


@edge_case
def nested_late_binding(speculate):
    @speculate
    def f(n):
        total = 0

        def add(k):
            nonlocal total
            total += k * scale
            return total > 20

        scale = 2
        for i in range(n):
            if add(i):
                scale = 100
        k = 7
        add(k)
        return total, scale, k

    return f, [(n,) for n in range(10)]


@edge_case
def nested_shadow(speculate):
    @speculate
    def f(n):
        x = n

        def g(x):
            y = x * 2
            return y + 1

        y = 5
        z = g(x) + g(y)
        return x, y, z, [x for x in [x, y]], x

    return f, [(n,) for n in range(8)]


@edge_case
def any_all(speculate):
    class A:
        def __init__(self, n):
            self.n, self.calls = n, 0

        def test(self, k):
            self.calls += 1
            return self.n > k

    @speculate
    def f(items, k):
        return any(a.test(k) for a in items), all(a.test(0) for a in items if a.n != 3), sum(a.n for a in items)

    items = [A(n) for n in (1, 5, 2, 3)]
    return f, [(items, k) for k in range(9)]


@edge_case
def finally_return(speculate):
    class A:
        def __init__(self):
            self.log = []

    @speculate
    def f(a, n):
        for i in range(n):
            try:
                if i == 2:
                    break
                if i == 1 and n == 4:
                    return i
                a.log.append(i)
            finally:
                a.log.append(-i)
        else:
            a.log.append(100)
        return len(a.log)

    a = A()
    return f, [(a, n) for n in (0, 1, 2, 3, 4, 5, 1, 4, 2)]


@edge_case
def with_return(speculate):
    class A:
        def __init__(self):
            self.d, self.log = 0, []

        def __enter__(self):
            self.d += 1
            return self.d

        def __exit__(self, *e):
            self.d -= 1

    class B:
        def __init__(self):
            self.d, self.log = 0, []

        def __enter__(self):
            self.d += 1
            return self.d

        def __exit__(self, a, b, c):
            self.d -= 10
            return True

    @speculate
    def f(a, n):
        with a as d:
            for i in range(n):
                if i == 3:
                    return i + d
            if n == 1:
                raise ValueError
        return -1

    a = B()
    return f, [(a, n) for n in (0, 2, 3, 4, 1, 5, 2, 4, 1, 2)]


@edge_case
def super_chain(speculate):
    class A:
        def __init__(self):
            self.n = 1

        def f(self):
            return self.n

    class B(A):
        def __init__(self):
            super().__init__()
            self.m = 2

        def f(self):
            return super().f() * 10

    class C(A):
        def f(self):
            return super().f() + 5

    class D(B, C):
        pass

    @speculate
    def f(k):
        d = D() if k % 2 else B()
        return d.f(), d, type(d) is D, d.__class__ is B

    return f, [(k,) for k in range(8)]


@edge_case
def class_shadow(speculate):
    class A:
        total = 0
        names = None

    class B(A):
        pass

    @speculate
    def f(k, make):
        A.total += k
        if make:
            B.total = 100
        b = B()
        b.total += 1
        return b.total, B.total, A.total, b

    def calls():
        for k in range(12):
            if k == 8:
                B.total = 50
            yield k, False

    return f, calls()


@edge_case
def list_methods(speculate):
    @speculate
    def f(items, k):
        items.insert(k - 2, k)
        items.extend(items[1:] if k > 100 else items)
        x = items.pop(0)
        items.reverse()
        while len(items) > 6:
            items.pop(-2)
        other = items + [k] * 2
        other += items
        c = other.copy()
        c.append(1)
        return x, items.count(k), other, c is other, c, 2 in items, [] + items

    l = [1, 2, 3]
    return f, [(l, k) for k in range(10)]


@edge_case
def aliased_new(speculate):
    class N:
        def __init__(self, v):
            self.v, self.next = v, None

    @speculate
    def f(n):
        a = N(1)
        b = a
        c = [a, b, N(2)]
        for x in c:
            x.v += n
        a.next = a if n % 2 else c[2]
        return a, b, c, {"a": a, "c": c}

    return f, [(n,) for n in range(8)]


@edge_case
def zero_init(speculate):
    class N:
        def __init__(self):
            self.v, self.f, self.b, self.n, self.l = 0, 0.0, False, None, []

    @speculate
    def f(n):
        return [N() for _ in range(n)]

    return f, [(n,) for n in (1, 2, 0, 3, 9, 20, 1, 40)]


@edge_case
def float_ints(speculate):
    class N:
        def __init__(self, v):
            self.v = v

    @speculate
    def f(n, x):
        return N(x if n > 2 else n), N(-0.0)

    return f, [(n, n * 0.5) for n in range(8)]


@edge_case
def new_two_attributes(speculate):
    class N:
        pass

    @speculate
    def f(o, n):
        if n % 2:
            o.a = 1
            o.b = n
        else:
            o.b = n
            o.a = 2
        return o

    return f, [(N(), n) for n in range(8)]


@edge_case
def memo_default(speculate):
    @speculate
    def f(n, seen=None):
        if seen is None:
            seen = []
        seen.append(n)
        return seen if n < 1 else f(n - 1, seen)

    return f, [(n,) for n in range(7)]


@edge_case
def radd(speculate):
    class V:
        def __init__(self, n):
            self.n = n

        def __add__(self, o):
            return V(self.n + (o.n if isinstance(o, V) else o))

        def __radd__(self, o):
            return V(self.n * 100 + o)

        def __iadd__(self, o):
            self.n += 1000
            return self

        def __neg__(self):
            return V(-self.n)

        def __bool__(self):
            return self.n > 5

        def __call__(self, x, k=2):
            return self.n + x * k

    @speculate
    def f(a, k):
        b = k + a
        c = a + k
        a += k
        return a, b, c, bool(a), not c, b(1), b(1, k=k), sum([1, 2], 3) if k > 100 else 0

    v = V(1)
    return f, [(v, k) for k in range(8)]


@edge_case
def radd_subclass(speculate):
    class V:
        def __init__(self, n):
            self.n = n

        def __add__(self, o):
            return self.n

        def __eq__(self, o):
            return self.n == 1

    class W(V):
        def __radd__(self, o):
            return -1

        def __eq__(self, o):
            return "w"

    @speculate
    def f(a, b):
        return a + b, a == b

    x = [V(1), W(2), W(1), V(3)]
    return f, [(x[i], x[j]) for i in range(4) for j in range(4)]


@edge_case
def union_none(speculate):
    class A:
        def __init__(self):
            self.best = None

    @speculate
    def f(a, k):
        if k == 9:
            a.best = None
        if a.best is None:
            a.best = k
        return a.best + 1

    a = A()
    return f, [(a, k) for k in (1, 2, 3, 9, 5, 6, 9, 8)]


@edge_case
def property_in_init(speculate):
    class A:
        def __init__(self, n):
            self.value = n
            self.twice = self.double
            self.reset()

        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, n):
            self._value = n + 1

        @property
        def double(self):
            return 2 * self._value

        def reset(self):
            self.z = self.twice

    @speculate
    def f(n):
        a = A(n)
        a.value += 3
        return a, a.value

    return f, [(n,) for n in range(8)]


@edge_case
def tuple_exits(speculate):
    @speculate
    def f(n):
        s = 0
        for k in (1, 2, 3):
            s += k * n
        return s

    return f, [(n,) for n in range(8)]


@edge_case
def init_flag_paths(speculate):
    class A:
        def __init__(self, flag):
            if flag:
                self.a, self.b = 1, 2
            else:
                self.c = 3
            self.d = 4

    @speculate
    def f(n):
        return A(n % 2)

    return f, [(n,) for n in range(9)]


@edge_case
def union_with_none(speculate):
    class A:
        def __init__(self):
            self.best, self.count = None, 0

    @speculate
    def f(a, k):
        a.count += 1
        if k == 9:
            a.best = None
        elif k > 3:
            a.best = k
        return a.best + 1

    a = A()
    return f, [(a, k) for k in (4, 5, 6, 7, 8, 2, 9, 5, 6)]


@edge_case
def string_or_none(speculate):
    class A:
        def __init__(self):
            self.name = None

    @speculate
    def f(a, k):
        x = "a" if k % 3 == 0 else ("b" if k % 3 == 1 else None)
        a.name = x if k % 4 else f"n{k}"
        return a.name, x == "b"

    a = A()
    return f, [(a, k) for k in range(14)]


@edge_case
def loop_whose_test_raises(speculate):
    @speculate
    def f(n):
        items = []
        if n > 3:
            return n
        while items[0] > n:
            n += 1
        return n

    return f, [(n,) for n in (4, 5, 6, 7, 2, 8, 9, 3)]


@edge_case
def test_that_assigns(speculate):
    class Link:
        def __init__(self, next=None):
            self.next = next

    @speculate
    def f(link):
        def advance():
            nonlocal link
            link = link.next
            return True

        if link is not None and advance():
            return 1 if link is None else 2
        return 0

    return f, [
        (x,) for x in (Link(Link()), None, Link(), Link(Link()), Link(), Link(), None, Link(Link(Link())), Link())
    ]


@edge_case
def contained_in_tuple(speculate):
    class A:
        def __init__(self, n):
            self.n, self.calls = n, 0

        def __eq__(self, other):
            self.calls += 1
            return self.n == other.n

    @speculate
    def f(x, a, b):
        return x in (a, b), x not in (b, a, x)

    a, b, c = A(1), A(2), A(2)
    return f, [(x, a, b) for x in (a, b, c) * 3]


@edge_case
def nested_hidden_by_sibling(speculate):
    @speculate
    def f(n):
        k = n

        def read():
            return k

        def add():
            nonlocal k
            k += 1
            return k

        def hide(k):
            return read() * 100 + add() + k

        return hide(7), k

    return f, [(n,) for n in range(8)]


@edge_case
def nested_hidden_by_comprehension(speculate):
    @speculate
    def f(n, items):
        k = n
        read = lambda: k * 10
        products = [read() + k for k in range(3)]
        return products, any(read() == 20 + k for k in range(2)), sum(read() for k in items), k

    return f, [(n, [1, 2]) for n in range(8)]


@edge_case
def comprehension_of_two_loops(speculate):
    @speculate
    def f(n, items):
        pairs = [x * 10 + y for x in range(n) for y in range(x + 1) if y != 2]
        return pairs, [x + y for x in items for y in items], [[x * y for y in range(x)] for x in range(n)]

    return f, [(n, [5, 7]) for n in (2, 3, 1, 4, 0, 2, 3, 1)]


@edge_case
def comprehension_that_reads_too_early(speculate):
    @speculate
    def f(n):
        y = 2
        return [y for x in range(n) for y in range(y)]

    return f, [(n,) for n in (0, 0, 0, 0, 1, 2, 0, 0, 3)]


@edge_case
def truth_with_effects(speculate):
    class A:
        def __init__(self, n):
            self.n, self.times_asked = n, 0

        def __bool__(self):
            self.times_asked += 1
            return self.n > 0

    @speculate
    def f(a, b, k):
        x, y, z = a or b, a and b, not (a and b)
        if (a and not b) or k:
            a.n -= 1
        assert not (a and b and k > 5)
        return x, y, z, 5 if b or not a else 6

    a, b = A(3), A(0)
    return f, [(a, b, 1), (b, a, 0), (a, a, 1), (b, b, 1), (a, b, 0), (A(5), a, 2), (A(2), A(1), 0), (b, A(1), 6)]


@edge_case
def truth_of_operands(speculate):
    class A:
        def __init__(self, n):
            self.n, self.times_asked = n, 0

        def __len__(self):
            self.times_asked += 1
            return self.n

    @speculate
    def f(a, b, c):
        return (a and b) or c

    a, b, c = A(1), A(0), A(2)
    return f, [(a, b, c), (b, a, c), (a, a, c), (b, b, c), (a, c, b), (b, c, a), (c, b, b), (a, b, c)]


@edge_case
def init_that_returns(speculate):
    class A:
        def __init__(self, n):
            self.n = n
            if n > 4:
                return n
            return None

    @speculate
    def f(n):
        return A(n)

    return f, [(n,) for n in range(9)]


@edge_case
def many_constant_strings(speculate):
    class A:
        def __init__(self):
            self.mode = "idle"

    @speculate
    def f(a, s):
        if a.mode == s:
            return "same"
        a.mode = "idle" if s == "stop" else s
        return a.mode

    a = A()
    return f, [(a, s) for s in ("go", "go", "stop", "a", "b", "c", "d", "d", "e", "stop", "stop", "")]


@edge_case
def strings_that_may_be_empty(speculate):
    @speculate
    def f(a, b, k):
        s, t = a + b, a if k > 1 else b + "!"
        u = "" if k > 2 else f"{k}"
        return s or "none", t, u or "zero", s == b, not u

    calls = [("x", "y", 1), ("", "y", 2), ("", "", 3), ("q", "", 4), ("r", "s", 0), ("t", "", 5), ("", "", 6)]
    return f, [*calls, ("u", "u", 7), ("", "", 1)]


@edge_case
def finalizer_of_dropped_objects(speculate):
    log = []

    class Handle:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(self.n)

    @speculate
    def f(n):
        handle = Handle(n)
        before = len(log)
        handle = None
        return before, len(log), handle

    return f, [(n,) for n in range(8)]


@edge_case
def finalizer_that_a_class_gets(speculate):
    log = []

    class Handle:
        def __init__(self, n):
            self.n = n

    @speculate
    def f(n):
        if n == 4:
            enable()
        handle = Handle(n)
        handle = None
        return len(log), handle

    def enable():
        Handle.__del__ = lambda handle: log.append(handle.n)

    return f, [(n,) for n in range(8)]


@edge_case
def finalizer_of_a_replaced_attribute(speculate):
    log = []

    class Handle:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(self.n)

    class Owner:
        pass

    owner = Owner()

    @speculate
    def f(owner):
        owner.handle = None
        return len(log), owner

    def calls():
        for n in range(8):
            owner.handle = Handle(n)
            yield (owner,)

    return f, calls()


# Slices, and items under computed indices


@edge_case
def parts_of_lists(speculate):
    class Tape:
        def __init__(self):
            self.items, self.copies = [1, 2, 3, 4, 5], []

    @speculate
    def cut(tape, low, high):
        part = tape.items[low:high]
        rest = tape.items[high:]
        whole = tape.items[:]
        part.append(low)
        whole[0] = high
        tape.items = whole + tape.items[:low] if len(whole) < 7 else tape.items[1:4]
        print(len(part), len(rest), part[0])
        return part, rest, whole is tape.items

    tape = Tape()
    bounds = (1, 3), (0, 9), (-2, 5), (2, -1), (-99, 2), (4, 1), (3, 3), (-1, -3), (True, 4), (0, 0), (5, -9)
    return cut, [(tape, *pair) for pair in bounds]


@edge_case
def parts_of_lists_of_objects(speculate):
    class Card:
        def __init__(self, value):
            self.value = value

    @speculate
    def deal(deck, n):
        hand = deck[:n]
        for card in hand[::-1]:
            card.value += n
        return hand, len(hand[-1:]), [card.value for card in deck[n:]]

    deck = [Card(k) for k in range(6)]
    return deal, [(deck, n) for n in (1, 2, 0, 3, 6, 9, -1, -7, 2, 1)]


@edge_case
def parts_with_steps(speculate):
    @speculate
    def pick(items, n):
        return items[::2], n

    return pick, [([1, 2, 3, k], k) for k in range(9)]


@edge_case
def parts_with_steps_that_are_floats(speculate):
    @speculate
    def turn(items):
        return items[::-1.0]

    return turn, [([1, 2, k],) for k in range(6)]


@edge_case
def parts_with_no_step_but_a_float(speculate):
    @speculate
    def cut(items, k):
        return items[k::1.0]

    return cut, [([1, 2, 3], k) for k in range(6)]


@edge_case
def parts_of_tuples(speculate):
    class Box:
        def __init__(self, sizes):
            self.sizes = sizes

    @speculate
    def measure(box, k):
        first, last = box.sizes[:2], box.sizes[::-1]
        box.sizes = (*last[1:], k) if k < 0 else last
        return first, last[-2:], box.sizes[5:]

    box = Box((1, 2.0, 3))
    return measure, [(box, k) for k in range(10)]


@edge_case
def parts_that_are_assigned(speculate):
    @speculate
    def replace(items, k):
        items[1:2] = [k, k]
        return len(items)

    items = [1, 2, 3]
    return replace, [(items, k) for k in range(8)]


@edge_case
def item_of_a_tuple_under_an_index(speculate):
    class Menu:
        def __init__(self):
            self.seen, self.prices = 0, (3, 5.5, True, None)

    @speculate
    def choose(menu, k):
        menu.seen += 1
        price = menu.prices[k]
        menu.seen += 10
        return price, (menu, menu.prices, k)[k]

    menu = Menu()
    return choose, [(menu, k) for k in (0, 1, 2, -1, -3, 3, 0, 1, 3, -4, -5, 4, 2, 1)]


@edge_case
def items_of_long_and_empty_tuples(speculate):
    class Shelf:
        def __init__(self):
            self.items, self.empty = tuple(range(20)), ()

    @speculate
    def choose(shelf, k):
        try:
            value = shelf.empty[k]
        except IndexError:
            value = shelf.items[-1] + shelf.items[True] + shelf.items[19]
        return value + k

    shelf = Shelf()
    return choose, [(shelf, k) for k in range(10)]


@edge_case
def item_of_a_tuple_that_may_be_missing(speculate):
    @speculate
    def choose(log, k):
        try:
            value = (10, 20, 30)[k]
        except IndexError:
            log.append(k)
            return -1
        log.append(value)
        return value

    log = []
    return choose, [(log, k) for k in (0, 1, 2, 3, -3, -4, 5, 1, 0, 7, 2)]


@edge_case
def quotients_of_floats(speculate):
    class Meter:
        def __init__(self):
            self.quotients, self.remainders = [], []

    @speculate
    def divide(meter, a, b):
        meter.quotients.append(a // b)
        meter.remainders.append(a % b)
        a %= 2.5
        return a, b // 0.3, 7 // b, -7 % b

    meter, inf, nan = Meter(), float("inf"), float("nan")
    pairs = (7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (0.3, 0.1), (-0.0, 3.0), (0.0, -3.0), (inf, 2.0), (1.0, inf)
    rest = (-1.0, inf), (nan, 1.0), (1.0, nan), (1e300, 1e-300), (5e-324, 3.0), (1.0, 0.0), (6.0, -0.0), (-6.0, 1.5)
    return divide, [(meter, *pair) for pair in (*pairs, *rest)]


@edge_case
def quotients_of_ints_and_floats(speculate):
    @speculate
    def wrap(n, size):
        return n % size, n // size, size % 3, True % size

    return wrap, [
        (n, size) for n, size in zip(range(-5, 7), (0.5, 1.5, -2.0, 7.25, 0.1, 3.0, -0.1, 1e9, 2.0, 0.7, 9.5, 0.0))
    ]


@edge_case
def slots_of_a_base(speculate):
    class Point:
        __slots__ = ("x", "y")

        def __init__(self, x, y):
            self.x, self.y = x, y

    class Particle(Point):
        __slots__ = ("speed",)

    class Marked(Particle):
        pass

    @speculate
    def move(particle, t):
        particle.speed = 2.0 * t
        particle.x += particle.speed
        particle.y = particle
        return Point(particle.x, t)

    points = Particle(1.0, None), Marked(0.5, None)
    return move, [(points[k // 2 % 2], k) for k in range(12)]


@edge_case
def slots_beside_shared_dicts(speculate):
    class Base:
        __slots__ = ("x",)

    class Mixed(Base):
        pass

    @speculate
    def change(a, b):
        a.x += 1
        b.y += a.x
        return a.y

    pairs = []
    for k in range(12):
        a, b = Mixed(), Mixed()
        a.x, b.x, a.y, b.y = k, 0, 1, 2
        if k > 6:
            b.__dict__ = a.__dict__
        pairs.append((a, b))
    return change, pairs


@edge_case
def slots_that_are_not_assigned(speculate):
    class Box:
        __slots__ = ("content", "opened")

    @speculate
    def open_box(box):
        box.opened = True
        return box.content

    boxes = [Box() for _ in range(12)]
    for k, box in enumerate(boxes):
        if k != 9:
            box.content = k
    return open_box, [(box,) for box in boxes]


@edge_case
def slots_that_classes_hide(speculate):
    class Base:
        __slots__ = "value"

    class Derived(Base):
        __slots__ = ("value",)

    @speculate
    def add(item, n):
        item.value += n
        return item.value

    items = Base(), Derived()
    for number, item in enumerate(items):
        Base.value.__set__(item, 10)
        item.value = number
    return add, [(items[k % 2], k) for k in range(10)]


@edge_case
def slot_with_two_names(speculate):
    class Cell:
        __slots__ = ("first",)

    Cell.second = Cell.first

    @speculate
    def write(cell, n):
        cell.first = n
        cell.second = cell.first + 1
        return cell.first

    cell = Cell()
    return write, [(cell, n) for n in range(10)]


@edge_case
def slot_that_a_class_hides(speculate):
    class Base:
        __slots__ = ("size",)

    class Fixed(Base):
        __slots__ = ()
        size = 7

    @speculate
    def read(fixed, n):
        return fixed.size + n

    fixed = Fixed()
    Base.size.__set__(fixed, 1)
    return read, [(fixed, n) for n in range(10)]


@edge_case
def slot_that_is_removed(speculate):
    class Item:
        __slots__ = ("price",)

    @speculate
    def read(item, n):
        return item.price * n

    def calls():
        item = Item()
        item.price = 3
        for n in range(12):
            if n == 8:
                del Item.price
            yield item, n

    return read, calls()


@edge_case
def slots_of_dataclasses(speculate):
    @dataclass(slots=True)
    class Order:
        count: int
        price: float = 2.5

    @dataclass(frozen=True, slots=True)
    class Receipt:
        total: float

    @speculate
    def pay(order):
        order.count += 1
        return Receipt(order.count * order.price), Order(order.count)

    order = Order(1)
    return pay, [(order,) for _ in range(8)]


@edge_case
def int_keys_that_calls_add(speculate):
    class Tally:
        def __init__(self):
            self.counts = {"all": 0, 1: 0, 2: 0}

    @speculate
    def count(tally, k):
        tally.counts["all"] += 1
        tally.counts[k] = tally.counts.get(k, 0) + 1
        return 2 in tally.counts, k in tally.counts, tally.counts[1]

    tally = Tally()
    return count, [(tally, k) for k in (1, 2, 1, 1, 2, 1, True, 2, 3, 3, 1, 2**70, 1, 3)]


@edge_case
def keys_equal_to_ints(speculate):
    @speculate
    def read(table, k):
        table[k] += 1
        return table[1] if k in table else -1

    tables = {1: 1, 2: 5}, {True: 3, 2: 1}, {1.0: 7, 2: 0}, {1: 2, 2: 2}
    return read, [(tables[(0, 3, 0, 0, 3, 0, 1, 0, 2, 3, 1, 0)[k]], 1 + k % 2) for k in range(12)]


@edge_case
def missing_int_keys(speculate):
    @speculate
    def price(prices, k, log):
        try:
            found = prices[k]
        except KeyError:
            log.append(k)
            return None
        log.append(-found)
        return found

    prices, log = {10: 1, 20: 2, -5: 3}, []
    return price, [(prices, k, log) for k in (10, 20, -5, 10, 7, 20, 8, 9, 10, 7, 20, -5, 11, 10)]


@edge_case
def int_keys_of_new_dicts(speculate):
    @speculate
    def choose(n, kept):
        names = {0: n, 1: n * n, -1: 0}
        names[1] += 1
        kept[3] = names
        return names[n % 2]

    kept = {3: None}
    return choose, [(n, kept) for n in range(10)]


@edge_case
def one_dict_at_two_places(speculate):
    class Owner:
        def __init__(self, table):
            self.table = table

    @speculate
    def change(first, second, k):
        first.table[k] = k
        second.table[2] += 1
        return first.table[2], second.table[k]

    shared = {1: 0, 2: 0}
    owners = [(Owner(dict(shared)), Owner({1: 3, 2: 4, 5: 0})), (Owner(shared), Owner(shared))]
    return change, [(*owners[k // 2 % 2], 1 + k % 2) for k in range(14)]


@edge_case
def int_keys_that_others_add(speculate):
    @speculate
    def has(table, k):
        return k in table, 1 in table

    def calls():
        table = {0: None, 1: None}
        for k in range(12):
            if k == 8:
                table[9] = None
            yield table, 9 if k == 6 or k > 8 else k % 3

    return has, calls()


@edge_case
def int_keys_of_empty_dicts(speculate):
    @speculate
    def find(table, k):
        return k in table, table.get(k, 5)

    return find, [({}, 1 + k % 2) for k in range(6)] + [({"a": 1}, 1), ({1: 2}, 1), ({1: 2}, 3), ({1: 2, 3: 4}, 3)]


@edge_case
def variable_of_a_branch_in_finally(speculate):
    class Log:
        def __init__(self):
            self.total = 0

    @speculate
    def f(log, n):
        step = 1
        try:
            if n > 3:
                step = n
                return n
            step = 2 * n
            return -n
        finally:
            log.total += step

    log = Log()
    return f, [(log, n) for n in range(9)]


@edge_case
def variables_of_different_returns(speculate):
    @speculate
    def f(items, n):
        found = position = None
        for item in items:
            label = "small" if item < n else item
            if item == n:
                found = [item]
                return found
            if item > 2 * n:
                position = (item, label)
                return position
            found = item
        return found

    return f, [([3, 1, n % 5, 9, 40], n) for n in range(12)]


@edge_case
def sizes_of_numpy_that_differ(speculate):
    @speculate
    def measure(x, y):
        return len(x), x.shape, x.size, y.shape[1], y.size, "some" if len(x) else "none"

    return measure, [(np.arange(float(k % 4)), np.ones((2, 1 + k % 3))) for k in range(12)]


@edge_case
def powers_of_floats(speculate):
    class Account:
        def __init__(self):
            self.balance = 1000.0

    @speculate
    def grow(account, rate, years):
        account.balance *= (1 + rate) ** years
        return account.balance**0.5, rate**2, 2**rate, (rate - 0.5) ** years

    account = Account()
    rates = [0.3, 0.5, 0.7, 1.9, 0.0, 0.5, 0.8, 0.45, 0.9, 0.2, 0.61, 0.9]
    years = [2, 3, 1.5, 2.0, 2, -1, 0.25, 0.5, 2.0, 2.0, 0.1, 900.0]
    return grow, [(account, rate, float(count)) for rate, count in zip(rates, years)]


ALL = {
    **SCENARIOS,
    **EDGE_CASES,
    **PROGRAMS,
    **STATEFUL_PROGRAMS,
    **EVERYDAY_PROGRAMS,
    **RESEARCH_PROGRAMS,
    **NUMPY_PROGRAMS,
    **CONTAINER_PROGRAMS,
    **KEYED_PROGRAMS,
}
"""All scenarios, edge cases and programs by name."""
