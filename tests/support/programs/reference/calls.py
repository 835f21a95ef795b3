"""Calls: of builtins, casts, lambdas, named tuples, methods and dynamic callees, by keyword, with defaults; recursion;
NumPy; print; generators and annotations."""

# ruff: noqa
# mypy: ignore-errors

import collections
import functools

import numpy as np
import tagloom as tl

from support.programs.reference.table import entry


@entry((2,), (-2,))
def a_dict_by_keyword(x):
    return dict(foo=x)


@entry((2,), (-2,))
def a_local_function_named_like_a_builtin(x):
    def len(y):
        return y + 1

    return len(x)


@entry((2,), (-2,))
def a_builtin_from_a_function(x):
    def constructor():
        return dict

    make = constructor()
    return make(foo=x)


@entry(([1, 2, 3],), ([],))
def the_length_of_a_list(xs):
    length = len
    return length(xs), list(range(len(xs)))


@entry((np.array([1.0, 2.0, 5.0]),))
def the_length_of_an_array(xs):
    return len(xs)


@entry((2.7,), (-2.7,))
def casts(x):
    return float(int(x)), int(x), bool(x), int(x > 0)


@entry((7, 2), (-7, 2), (0, 5))
def builtins_of_numbers(a, b):
    return abs(a), max(a, b), min(a, b, 1), sum([a, b, 1]), divmod(a, b)


@entry((2, 5), (2, 0))
def powers(a, n):
    return pow(a, n), a**n, pow(a, 3)


@entry((2.5,), (3.5,), (-0.5,))
def roundings(x):
    return round(x), round(x * 2)


@entry(([3, 1, 2],))
def zip_enumerate_reversed_map(xs):
    s = 0
    for k, (x, y) in enumerate(zip(xs, reversed(xs))):
        s = s * 10 + k * x + y
    return s, list(map(lambda x: x * 2, xs)), sum(x for x in xs), [x for x in xs if True]


@entry((3, True), (0, False))
def any_and_all(n, p):
    return any([n > 1, p]), all([n > 1, p]), any(n == k for k in range(4))


@entry((3,), (-3,))
def an_inline_lambda(x):
    square = lambda y: y * y if y > 0 else -y
    return square(x)


@entry((3,), (-3,))
def lambdas_on_one_line(x):
    first, second = lambda y: y + 1, lambda y: y - 1 if y > 0 else y
    return first(x) * 10 + second(x)


Pair = collections.namedtuple("Pair", ("a", "b"))


@entry((3,), (-3,))
def a_named_tuple(x):
    p = Pair(a=1, b=x)
    return p.a + p.b, p[1], p._replace(a=5).a


@entry((3,), (-3,))
def a_named_tuple_in_arms(x):
    if x > 0:
        p = Pair(1, x)
    else:
        p = Pair(x, 2)
    return p.a * 10 + p.b


def cube(x):
    return x * x * x


def line(x):
    return -1 * x + 11


def factory(n):
    if n == 1:
        return cube
    return line


@entry((3,), (-3,))
def static_callees(x):
    return cube(x) + line(x)


@entry((3,), (-3,))
def dynamic_callees(x):
    f = factory(1)
    a = f(x)
    f = factory(2)
    return a + f(x)


@entry((3,), (-3,))
def callees_by_keyword(x):
    def scaled(x, *, scale=2, **others):
        return x * scale + others.get("offset", 0)

    return scaled(x=x), scaled(x, scale=3), scaled(x, offset=x)


@entry((3,), (-3,))
def callees_with_packed_arguments(x):
    def add(a, b=4, *rest):
        return a + b * 10 + sum(rest)

    arguments = (x, 2, 3)
    return add(*arguments), add(x), add(**{"a": x, "b": 1}), functools.partial(add, x)(5)


@entry((3,), (-3,))
def a_function_chosen_by_a_symbol(x):
    if x > 0:
        f = cube
    else:
        f = line
    return f(x)


@entry((3,), (-3,))
def decorated(x):
    def twice(f):
        @functools.wraps(f)
        def call(y):
            return f(f(y))

        return call

    @twice
    def step(y):
        return y * 2 if y > 0 else y - 1

    return step(x)


def factorial(n):
    return 1 if n <= 0 else n * factorial(n - 1)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@entry((5,), (0,))
def recursion(n):
    return factorial(n)


@entry((5,), (0,))
def mutual_recursion(n):
    return is_even(n), is_odd(n)


@entry((5,), (0,))
def recursion_of_a_local_function(n):
    def down(k, acc):
        if k <= 0:
            return acc
        return down(k - 1, acc + k * n)

    return down(n, 1)


def tree(n):
    if n <= 1:
        return n, 1
    a, c = tree(n - 1)
    b, d = tree(n - 2)
    return a + b, c + d


@entry((6,), (1,))
def recursion_with_two_results(n):
    return tree(n)


@entry((4, 3), (0, 2))
def recursion_in_a_loop(n, m):
    s = 0
    for i in range(m):
        s += factorial(i % 4) * n
    return s


@entry((6,), (9,))
def recursion_with_early_returns(n):
    def steps(k):
        if k == 1:
            return 0
        if k % 2 == 0:
            return 1 + steps(k // 2)
        return 1 + steps(3 * k + 1)

    return steps(n)


@entry((3,), (0,))
def an_array_function(n):
    return 2 * np.arange(4)[1] + n


@entry((3.0,), (0.25,))
def a_function_of_tagloom(x):
    if x > 1.0:
        return tl.sqrt(x)
    return tl.exp(x)


@entry((3,), (-1,))
def lone_print(x):
    print(x)


@entry((3,), (-1,))
def prints_of_several_values(x):
    print("x is", x)
    print("x is", x, {"foo": "bar"}, [x, 1], sep=", ")
    print(f"{x} and {x + 1!r}")


@entry((3,), (0,))
def a_print_in_an_arm(x):
    if x == 0:
        print(x)
    else:
        print("not zero")
    print("end")


@entry((3,), (0,))
def prints_in_a_loop(n):
    while n > 0:
        if n % 2:
            print("odd", n)
        n -= 1
    print("done")
    return n


@entry((3,), (0,))
def prints_in_operands(n):
    def tell(k):
        print("tell", k)
        return k

    return tell(n) > 1 and tell(n + 1) > 2 or tell(7) > n


@entry((3,), (0,))
def a_generator_of_known_values(n):
    def numbers():
        yield 1
        yield 2

    s = n
    for k in numbers():
        s = s * 10 + k
    return s


@entry(([4, 5, 6],))
def next_of_an_iterator(xs):
    it = iter(xs)
    a = next(it)
    for x in it:
        a = a * 10 + x
        break
    return a * 100 + next(it) + next(it, 7)


@entry(([1, 2], 1), refusal="F4: an iterator is advanced")
def next_under_a_condition(xs, n):
    it = iter(xs)
    while n > 0:  # refused
        next(it)
        n -= 1
    return n


@entry((3,), (0,))
def annotations(n: int) -> int:
    k: int
    m: "not evaluated" = n + 1
    if n > 0:
        k = m
    else:
        k = 2
    return k


@entry((3,), (0,))
def an_import_inside(n):
    import math

    return n + math.floor(2.5)


@entry((3,), (0,))
def a_comprehension(n):
    return [k * n for k in range(3) if k != 1], {k: n + k for k in range(2)}


@entry((3,), (0,))
def a_class_inside(n):
    class Point:
        size = 2

        def __init__(self, x):
            self.x = x

        def moved(self, d):
            return Point(self.x + d) if d > 0 else self

    return Point(n).moved(4).x + Point.size


@entry((3,), (0,))
def a_format(n):
    print(
        f"{n:03d}", f"{n / 4:.2f}", "%4d of %s" % (n, n > 1), "{0}, {n!r}".format(n, n=n + 1), ", ".join([str(n), "b"])
    )


@entry((3,), (0,))
def the_length_of_a_text(n):
    return len(str(n))


@entry((3,), (0,))
def a_print_of_a_flag(n):
    print(n > 1)
