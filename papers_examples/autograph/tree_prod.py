"""A product over a tree, by recursion, on two systems: as a program, and as S-expressions with continuations.

`tree_prod` is plain Python over objects. `tl.autograph.to_sexpr` stages it, recursion included, and derives it by
continuations. `main` is the same recursion over arrays, since a program has no Python objects.

    tagloom run papers_examples/autograph/tree_prod.py 1.5 "[1.0, 2.0, 0.5, 3.0, 1.0, 0.25, 2.0]"

Source: `tree_prod` of "AutoGraph" (Moldovan and others, arXiv 1810.08061), whose Lantern back end stages recursion to
S-expressions; written anew from a description. A tree of n values has k = n + 1 empty ones, so the product is base^k
times that of the values, and its derivative by base is k base^(k-1) times that.
"""

from dataclasses import dataclass

import tagloom as tl


@dataclass
class Tree:
    """A tree; one without a value is empty."""

    value: float | None = None
    left: object = None
    right: object = None

    @property
    def is_empty(self):
        return self.value is None


def tree_prod(base, tree):
    if tree.is_empty:
        return base
    return tree_prod(base, tree.left) * tree_prod(base, tree.right) * tree.value


def product(base, values, i):
    """The product over the tree with the children of place i at 2 i and 2 i + 1, from 1."""
    if i > values.shape[0]:
        return base
    return product(base, values, 2 * i) * product(base, values, 2 * i + 1) * values[i - 1]


@tl.function
def main(base: tl.float64, values: tl.Array[tl.float64, None]) -> tl.float64:
    return product(base, values, 1)


slope = tl.grad(main)


def tree_of(values, i=1):
    """The same tree as objects."""
    return Tree(values[i - 1], tree_of(values, 2 * i), tree_of(values, 2 * i + 1)) if i <= len(values) else Tree()


VALUES = [1.0, 2.0, 0.5, 3.0, 1.0, 0.25, 2.0]
EXPECTED = [
    {"run": ("main", 1.5, VALUES), "result": 1.5**9, "firings": 241, "size": "quick"},
    {"run": ("slope", 1.5, VALUES), "result": 8 * 1.5**8, "firings": 353, "size": "quick"},
    {"run": ("main", 1.5, []), "result": 1.5, "firings": 14, "size": "quick"},
]
WAYS = {
    "eager": lambda: tree_prod(1.5, tree_of(VALUES)),
    "recursion in the graph": lambda: main(1.5, VALUES),
    "S-expressions": lambda: SEXPR(1.5, tree_of(VALUES)),
}
CLAIM = "recursion and its gradient by another back end; no speed is given"
SEXPR = tl.autograph.to_sexpr(tree_prod)

if __name__ == "__main__":
    print(SEXPR)
    print("the product:", float(SEXPR(1.5, tree_of(VALUES))), "as a program:", main(1.5, VALUES))
    print("its derivative:", float(SEXPR.gradient()(1.5, tree_of(VALUES))), "as a program:", slope(1.5, VALUES))
