"""A counter: state that a function closes over, in program order on a machine that has none.

`counter()` makes a variable, and a function that counts it up; each counter has its own. The function captures the
variable by reference: in its graph the count comes in as one more argument and leaves as one more result, which the
variable keeps when the run has returned. So calls count on: 1, 2, 3.

`main` calls one three times in one graph. Functions nest, and what the inner ones assign is threaded through the outer
one: the second call gets the count that the first one gave. Nothing else keeps the order, and no schedule can change
it.

    tagloom run papers_examples/eager/counter.py 0

Source: "TensorFlow Eager" (Agrawal and others, arXiv 1903.01855) has a counter that a function closes over, and
functions that call functions; written anew from descriptions.
"""

import tagloom as tl


def counter():
    count = tl.Variable(0, name="count")

    @tl.function
    def counted() -> tl.int64:
        count.assign_add(1)
        return count.value

    return count, counted


COUNT, counted = counter()


@tl.function
def main(start: tl.int64) -> tl.int64:
    """The calls as the digits of a number."""
    COUNT.assign(start)
    return 100 * counted() + 10 * counted() + counted()


def thrice():
    """A counter of its own, called from Python."""
    _, function = counter()
    return function(), function(), function()


def plainly():
    """The same eagerly, without a function."""
    count = tl.Variable(0)

    def one():
        count.assign_add(1)
        return count.value

    return one(), one(), one()


EXPECTED = [
    {"run": ("main", 0), "result": 123, "size": "quick"},
    {"run": ("main", 4), "result": 567, "size": "quick"},
]
EAGER = [(thrice, (1, 2, 3)), (plainly, (1, 2, 3)), (lambda: (main(0), COUNT.value), (123, 3))]


HEADING = ["| counted | |", "|---|---|"]


if __name__ == "__main__":
    print(*HEADING, sep="\n")
    for name, function in (("eagerly", plainly), ("by calls of a function", thrice)):
        print(f"| {name} | {', '.join(str(int(each)) for each in function())} |")
    print(f"| by three calls in one graph | {', '.join(str(int(main(0))))} |")
