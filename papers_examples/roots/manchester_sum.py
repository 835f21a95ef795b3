"""The sum of a range by double recursion, compared with figures of the Manchester machine.

The sum of low .. high is that of the lower half plus that of the upper half, and the two are independent. So a sum is
parallel: for n numbers the work is 26 n - 11 firings, and for 2^d numbers the span is 9 d + 8 waves. Work divided by
span is the average parallelism.

The published figures for a sum named SUM/8 are a work of 123,472 and a span of 247 (S1 and Sinf in the paper), so an
average parallelism of 499.9. Our work is nearest for n = 4,749: 123,463 firings, but in 122 waves, so 1,012.0. We do
not know the size of SUM/8, so the two spans may be those of different problems. Also, the machines count different
things. Our figures are measured; the facts about the Manchester machine are generally known, and were not read in its
code:

- Their instructions have two inputs and two destinations at most, so that a value for many takes instructions that
  duplicate it, one after another, and these count in the work and in the span. Our edges are free. In the run for
  4,749 it would take 28,491 firings of such an instruction, 6 n - 3.
- A call there is several instructions that make a tag and set, read and restore its fields. Ours is one firing for an
  argument, and one for a result.
- We count merges and switches like any other node: 6 each of the 26 firings that a number takes.

One published size does not show growth; ours is stated above: the work grows with n, the span with log n.

    tagloom run papers_examples/roots/manchester_sum.py 4749 --stats

Source: Gurd, Kirkham and Watson, "The Manchester prototype dataflow computer" (Communications of the ACM, 1985), from
which are the figures of SUM/8, and these measures themselves. The program is ours.
"""

import tagloom as tl

PUBLISHED = {"work": 123_472, "span": 247}


@tl.function
def total(low: tl.int64, high: tl.int64) -> tl.int64:
    middle = (low + high) // 2
    return low if low == high else total(low, middle) + total(middle + 1, high)


@tl.function
def main(n: tl.int64) -> tl.int64:
    return total(1, n)


EXPECTED = [
    {"run": ("main", 1), "result": 1, "calls": {"main": 1, "total": 1}, "size": "quick"},
    {"run": ("main", 100), "result": 5050, "calls": {"main": 1, "total": 199}, "size": "quick"},
    {"run": ("main", 4749), "result": 11278875, "calls": {"main": 1, "total": 9497}, "size": "heavy"},
]


def duplicates(out: tl.Outcome) -> int:
    """How many instructions would duplicate values if each had two destinations: one for every further edge."""
    return sum(max(0, len(event.sent) - 2) for event in out.events)


def row(n: int) -> str:
    """A row of the README's table."""
    stats = main.run(n).stats
    return f"| {n:,} | {stats.firings:,} | {stats.span} | {stats.parallelism:,.1f} | {stats.largest_store:,} |"


def table(*sizes: int) -> list[str]:
    """The rows of the README's table."""
    return [row(n) for n in sizes]


HEADING = ["| sum of n numbers | work | span | work/span | largest store |", "|---|---|---|---|---|"]


if __name__ == "__main__":
    print(*HEADING, *table(16, 64, 256, 1024, 4749), sep="\n")
