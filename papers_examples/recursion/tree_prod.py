"""A product over a tree, and its derivatives: recursion differentiated twice, with one call for each node.

    tree_prod(tree) = base                                              of an empty tree
    tree_prod(tree) = tree_prod(left) * tree_prod(right) * value        of any other

A tree of n values has k = n + 1 empty ones, so this is base^k times the product of the values. Its derivative by the
base is k base^(k-1) times the product, and the second one k (k-1) base^(k-2). The values are an array; the children of
place i are at 2i and 2i + 1, counted from 1, so every place beyond the end is an empty tree.

Seven values have eight empty trees: 15 calls, with derivatives too. `by_values` is the derivative by each value.

    tagloom run papers_examples/recursion/tree_prod.py 1.5 "[1.0, 2.0, 0.5, 3.0, 1.0, 0.25, 2.0]"

Source: `tree_prod` is a program of "AutoGraph" (Moldovan and others, arXiv 1810.08061), whose other back end
differentiates recursion by continuations; written anew from a description. That the body stands in the graph once is
the claim of "Recursive functions in static dataflow graphs", arXiv 2410.20225.
"""

import tagloom as tl

Values = tl.Array[tl.float64, None]


@tl.function
def product(base: tl.float64, values: Values, i: tl.int64) -> tl.float64:
    if i > tl.size(values):
        return base
    return product(base, values, 2 * i) * product(base, values, 2 * i + 1) * values[i - 1]


@tl.function
def main(base: tl.float64, values: Values) -> tl.float64:
    return product(base, values, 1)


slope = tl.grad(main)
curvature = tl.grad(slope)
by_values = tl.grad(main, 1)

VALUES = [1.0, 2.0, 0.5, 3.0, 1.0, 0.25, 2.0]
CALLS = {"grad_grad_main": 1, "grad_main_split": 1, "main_split_split": 1, "product_split_split": 15}
EXPECTED = [
    {"run": ("main", 1.5, VALUES), "result": 1.5**9, "calls": {"main": 1, "product": 15}, "size": "quick"},
    {"run": ("main", 1.5, [2.0] * 3), "result": 1.5**4 * 8.0, "calls": {"main": 1, "product": 7}, "size": "quick"},
    {
        "run": ("slope", 1.5, VALUES),
        "result": 8 * 1.5**8,
        "calls": {"grad_main": 1, "main_split": 1, "product_split": 15},
        "size": "quick",
    },
    {"run": ("curvature", 1.5, VALUES), "result": 56 * 1.5**7, "calls": CALLS, "size": "quick"},
]


if __name__ == "__main__":
    print("the product:", main(1.5, VALUES))
    print("its derivative by the base:", slope(1.5, VALUES))
    print("its second derivative:", curvature(1.5, VALUES))
    print("its derivatives by the values:", by_values(1.5, VALUES))
