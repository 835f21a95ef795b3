"""A counter: state that a function closes over, in program order on a machine without one.

`counter()` creates a variable, and a function that increments it; each counter has its own. The function captures the
variable by reference: in its graph the count is one more argument and one more result, which becomes the variable's
value when the run has returned. So successive calls give 1, 2, 3.

`main` calls a counter three times in one graph. Functions nest, and the assignments of inner ones are threaded through
the outer one: the second call gets the count of the first. This is all that orders them, and no schedule can change
it.

    tagloom run papers_examples/eager/counter.py 0

Source: "TensorFlow Eager" (Agrawal and others, arXiv 1903.01855) has a counter that a function closes over, and
functions that call functions; written anew from descriptions.
"""

import tagloom as tl


def counter():
    count = tl.Variable(0, name="count")

    @tl.function
    def increment() -> tl.int64:
        count.assign_add(1)
        return count.value

    return count, increment


COUNT, increment = counter()


@tl.function
def main(start: tl.int64) -> tl.int64:
    """The three counts as the digits of a number."""
    COUNT.assign(start)
    return 100 * increment() + 10 * increment() + increment()


def count_by_calls():
    """The counts of a new counter, called from Python."""
    _, function = counter()
    return function(), function(), function()


def count_eagerly():
    """The counts of an eager counter, without a function."""
    count = tl.Variable(0)

    def increment():
        count.assign_add(1)
        return count.value

    return increment(), increment(), increment()


EXPECTED = [
    {"run": ("main", 0), "result": 123, "size": "quick"},
    {"run": ("main", 4), "result": 567, "size": "quick"},
]
EAGER = [(count_by_calls, (1, 2, 3)), (count_eagerly, (1, 2, 3)), (lambda: (main(0), COUNT.value), (123, 3))]


HEADING = ["| counted | |", "|---|---|"]


if __name__ == "__main__":
    print(*HEADING, sep="\n")
    for name, function in (("eagerly", count_eagerly), ("by calls of a function", count_by_calls)):
        print(f"| {name} | {', '.join(str(int(count)) for count in function())} |")
    print(f"| by three calls in one graph | {', '.join(str(int(main(0))))} |")
