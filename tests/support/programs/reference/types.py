"""Types and shapes that change: legal where Python and the loop agree, refused by the name of the variable; slices of
arrays, and new axes."""

# ruff: noqa
# mypy: ignore-errors

import numpy as np
import tagloom as tl

from support.programs.reference.table import entry

MATRIX = np.array([[1, 2, 3], [4, 5, 6]])


@entry((3,), refusal="V5", mixed=False)
def a_dtype_that_changes_in_a_while(n):
    x = tl.astype(n, tl.int32)
    while n > 0:
        x = x / 2  # refused
        n -= 1
    return x


@entry((True,), refusal="V5: x has different types after the branches of `if`")
def a_dtype_that_differs_between_arms(p):
    if p:  # refused
        x = tl.asarray(1.5, dtype=tl.float32)
    else:
        x = tl.asarray(2, dtype=tl.int32)
    return x


@entry((3,), (0,))
def a_shape_that_changes_in_a_while(n):
    v = tl.arange(2)
    while n > 0:
        v = tl.concat([v, v])
        n -= 1
    return v


@entry((3,))
def a_structure_that_changes_in_a_while(n):
    s = {"a": n}
    while n > 0:
        s = n
        n -= 1
    return s


@entry((3,), (0,))
def a_list_that_grows_by_addition(n):
    s = [n]
    for i in range(n):
        s = s + [i]
    return len(s)


@entry((np.array([0, 0]), 3), (np.array([1, 2]), 0))
def an_array_of_fixed_shape(v, n):
    i = 0
    while i < n:
        v = v + i
        i += 1
    return v


@entry((np.array([0.0, 1.0]), True), (np.array([0.0, 1.0]), False))
def an_array_in_arms(v, p):
    return v * 2.0 if p else v - 1.0


@entry((MATRIX,))
def slices_of_a_matrix(m):
    return m[:, :], m[0, :], m[:, 0], m[1:, ::2]


@entry((np.array([1, 2, 3]),))
def new_axes(v):
    return v[:, None] - v[None, :]


@entry((np.array([1, 2, 3]), 2), (np.array([1, 2, 3]), 0), mixed=False)  # NumPy takes no symbol as an index
def an_element_at_a_symbolic_index(v, i):
    return v[i] + v[-1]


@entry((np.array([3, 1, 2]), 3), (np.array([3, 1, 2]), 0), mixed=False)
def elements_in_a_loop(v, n):
    best = -1
    for i in range(n):
        if v[i] > best:
            best = v[i]
    return best


@entry((np.array([1, 2, 3]),), refusal="F4: the truth of an array is ambiguous")
def the_truth_of_an_array(v):
    if v > 1:  # refused
        return 1
    return 2


@entry((3, 2.5), (-3, 0.5))
def floats_and_flags_side_by_side(n, x):
    p = n > 0
    while n > 0:
        x = x * 0.5
        p = not p
        n -= 1
    return x, p, n


@entry((5,), (0,))
def a_float_beside_an_int(n):
    s = 0.0
    for i in range(n):
        s = s + float(i) * 0.5
    return s
