"""The short programs that the paper explains conversion with: each is Python, and a program.

    tagloom run papers_examples/autograph/listings.py -3.0

Source: listings of "AutoGraph" (Moldovan and others, arXiv 1810.08061), from descriptions.
"""

import tagloom as tl


@tl.function
def main(x: tl.float64) -> tl.float64:
    """The square of a positive number; one arm assigns, the other does nothing."""
    if x > 0:
        x = x * x
    return x


@tl.function
def shrink(x: tl.float64, eps: tl.float64) -> tl.float64:
    """A loop whose end depends on a value."""
    while x > eps:
        x = x / 2.0
    return x


@tl.function
def double(xs: tl.Array[tl.float64, 4]) -> tl.Array[tl.float64, 4]:
    """A list that grows in a loop of known length, and is stacked."""
    items = []
    for k in range(4):
        items.append(2.0 * xs[k])
    return tl.stack(items)


@tl.function
def set_item(xs: tl.Array[tl.float64, None], i: tl.int64, x: tl.float64) -> tl.Array[tl.float64, None]:
    """A write to an element, which is a new array."""
    return tl.scatter(xs, x, i)


@tl.function
def quotient(n: tl.int64) -> tl.int64:
    """An error of the run names this line, and is the exception that Python raises."""
    return 10 // n


@tl.function
def first_negative(xs: tl.Array[tl.float64, None]) -> tl.int64:
    """`continue`, `break` and `else` of a loop."""
    for i in range(xs.shape[0]):
        if xs[i] >= 0.0:
            continue
        index = i
        break
    else:
        index = -1
    return index


EXPECTED = [
    {"run": ("main", -3.0), "result": -3.0, "firings": 5, "size": "quick"},
    {"run": ("main", 3.0), "result": 9.0, "firings": 6, "size": "quick"},
    {"run": ("shrink", 8.0, 1.5), "result": 1.0, "firings": 36, "size": "quick"},
    {"run": ("double", [1.0, 2.0, 3.0, 4.0]), "result": [2.0, 4.0, 6.0, 8.0], "firings": 15, "size": "quick"},
    {"run": ("set_item", [1.0, 2.0], 1, 5.0), "result": [1.0, 5.0], "firings": 5, "size": "quick"},
    {"run": ("quotient", 3), "result": 3, "firings": 3, "size": "quick"},
    {"run": ("first_negative", [1.0, -2.0, -3.0]), "result": 1, "firings": 81, "size": "quick"},
    {"run": ("first_negative", [1.0]), "result": -1, "firings": 56, "size": "quick"},
]

if __name__ == "__main__":
    print(tl.autograph.to_code(main))
    print(main(-3.0), main(3.0), shrink(8.0, 1.5), first_negative([1.0, -2.0]))
    try:
        quotient(0)
    except ZeroDivisionError as error:
        print(error)
