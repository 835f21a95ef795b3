"""Functions without functions: f(4) + f(5) as equations over tags, which are the contexts of Rondogiannis and Wadge.

    result = f(4) + f(5);  f(x) = g(x + 1);  g(y) = y

They turn a program of first-order functions into plain equations, each with a value for every *context* w, a list of
call sites. The i-th call of f adds its number in front, and a parameter takes its argument from the call that stands
there:

    (call_i f)(w) = f(i:w)                      (actuals a)(i:w) = a_i(w)

    result = call_0 f + call_1 f
    f = call_0 g          x = actuals(4, 5)
    g = y                 y = actuals(x + 1)

So result at [] is f at [0] plus f at [1], f at [0] is y at [0, 0], which is x + 1 at [0], which is 5, and so on: 11.
The functions below this text are these equations in Python. They are driven by demand, and a *warehouse* stores
computed values by name and context.

A tag is such a context, and the machine is driven by data instead: the `call` of a site sends an argument from w to
i:w, a parameter is a merge of the calls of all its sites, and `return` sends the result from i:w back to w. The values
of x and y that the warehouse has at the end passed through these merges, under the tags of their contexts:

    context   tag            x   y
    [0]       main/f         4
    [1]       main/f_1       5
    [0, 0]    main/f/g           5
    [0, 1]    main/f_1/g         6

11, in 18 firings and 10 waves: two calls of f and two of g.

    tagloom run papers_examples/roots/rondogiannis_wadge.py 4 5

Source: Rondogiannis and Wadge, "First-order functional languages and intensional logic" (Journal of Functional
Programming, 1997).
"""

import functools

import tagloom as tl


@tl.function
def g(y: tl.int64) -> tl.int64:
    return y


@tl.function
def f(x: tl.int64) -> tl.int64:
    return g(x + 1)


@tl.function
def main(first: tl.int64, second: tl.int64) -> tl.int64:
    return f(first) + f(second)


WAREHOUSE: dict[tuple[str, tuple[int, ...]], int] = {}


def equation(variable):
    """A variable of the equations: its value at a context is computed once, and then stored in the warehouse."""

    @functools.wraps(variable)
    def at(context=()):
        place = variable.__name__, context
        if place not in WAREHOUSE:
            WAREHOUSE[place] = variable()(context)
        return WAREHOUSE[place]

    return at


def call(site, function):
    return lambda context: function((site, *context))


def actuals(*arguments):
    return lambda context: arguments[context[0]](context[1:])


@equation
def the_result():
    return lambda context: call(0, the_f)(context) + call(1, the_f)(context)


@equation
def the_f():
    return call(0, the_g)


@equation
def the_g():
    return the_y


@equation
def the_x():
    return actuals(lambda context: 4, lambda context: 5)


@equation
def the_y():
    return actuals(lambda context: the_x(context) + 1)


EXPECTED = [
    {"run": ("main", 4, 5), "result": 11, "calls": {"main": 1, "f": 2, "g": 2}, "size": "quick"},
    {"run": ("main", -1, 0), "result": 1, "calls": {"main": 1, "f": 2, "g": 2}, "size": "quick"},
]


if __name__ == "__main__":
    print(the_result())
    for (name, context), value in WAREHOUSE.items():
        print(f"{name} at {list(context)} = {value}")
