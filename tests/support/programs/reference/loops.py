"""Loops: basic ones, exits, `else`, scopes of targets and of variables created in them, calls in them, nesting."""

# ruff: noqa
# mypy: ignore-errors

import numpy as np

from support.programs.reference.table import entry


@entry((0,), (3,))
def while_no_variables(n):
    i = 0
    while i < n:
        i += 1
    return n


@entry((0,), (30,))
def while_one_variable(n):
    i = 0
    while i < n:
        i = i * 10 + 1
    return i


@entry((0,), (4,))
def while_two_variables(n):
    s = i = 0
    while i < n:
        s = s * 10 + i
        i += 1
    return s


@entry((0,), (4,), (-2,))
def for_no_variables(n):
    for _ in range(n):
        pass
    return 3


@entry((1,), (4,))
def for_target_is_read_after(n):
    i = 77
    for i in range(n):
        pass
    return i


@entry((0,), (-3,))
def for_zero_trips_leave_the_target(n):
    i = 77
    for i in range(n):
        pass
    return i


@entry((np.array([1, 2, 3]),), (np.array([5]),))
def for_over_an_array(xs):
    s = 0
    for x in xs:
        s = s * 10 + x
    return s


@entry(([1, 2, 3],), ([4],), ([],))
def for_over_a_list(xs):
    s = 0
    for x in xs:
        s = s * 10 + x
    return s


@entry((np.array([[1, 2], [3, 4], [5, 6]]),))
def for_over_a_matrix(m):
    s = 0
    for row in m:
        for x in row:
            s = s * 10 + x
    return s


@entry((((1, 2), (3,), ()),), (((),),))
def for_over_ragged_tuples(m):
    s = 0
    for row in m:
        for x in row:
            s = s * 10 + x
    return s


@entry((3, 5), (0, 2), (4, 0))
def for_steps_and_starts(n, m):
    s = 0
    for i in range(1, n * 3, 2):
        s = s * 7 + i
    for i in range(m, n):
        s = s + i * 100
    for i in range(n, -1, -1):
        s = s * 3 + i
    return s % 100003


@entry((3, 1), (3, 2), (7, -1), (1, -2))
def for_a_symbolic_step(n, step):
    s = 0
    for i in range(n, n + 5 * step, step):
        s = s * 11 + i
    return s


@entry((2, 3), (0, 3), (2, 0))
def in_sequence(n, m):
    s = i = 0
    while i < n:
        s = s * 10 + i
        i += 1
    for i in range(m):
        s = s * 10 + i
    return s, i


@entry((2, 3), (0, 3), (2, 0))
def nested_whiles(n, m):
    i = total = 0
    while i < n:
        j = s = 0
        while j < m:
            s = s * 10 + i * j
            j += 1
        total = total * 1000 + s
        i += 1
    return total


@entry((4,), (0,), (5,))
def continue_in_a_for(n):
    s = 0
    for i in range(n):
        if i % 2 > 0:
            continue
        s += i
    return s


@entry((4,), (0,), (5,))
def continue_in_a_while(n):
    s = 0
    while n > 0:
        n -= 1
        if n % 2 > 0:
            continue
        s += n
    return s


@entry((3, 4), (0, 1))
def continue_in_an_inner_loop(n, m):
    s = 0
    for i in range(n):
        for j in range(m):
            if (i + j) % 2 > 0:
                continue
            s += i * 10 + j
    return s


@entry((3, 4), (2, 0))
def continue_in_an_inner_while(x, y):
    s = 0
    while x > 0:
        x -= 1
        while y > 0:
            y -= 1
            if (x + y) % 2 > 0:
                continue
            s += x + y
    return s


@entry((4,), (1,), (0,))
def break_in_a_for(n):
    s = 0
    for i in range(n):
        if i % 3 == 2:
            break
        s += i + 1
    return s, n


@entry(([2, 4, 5, 6],), ([1],), ([2, 2],))
def break_in_a_for_over_a_list(xs):
    s = 0
    for x in xs:
        if x % 2 > 0:
            break
        s += x
    return s


@entry((np.array([2, 4, 5, 6]),), (np.array([1]),))
def break_in_a_for_over_an_array(xs):
    s = 0
    for x in xs:
        if x % 2 > 0:
            break
        s += x
    return s


@entry((6,), (1,), (0,))
def break_in_a_while(n):
    s = 0
    while n > 0:
        n -= 1
        if n % 3 == 0:
            break
        s += n
    return s, n


@entry((3, 4), (2, 1))
def break_in_an_inner_while(x, y):
    s = 0
    while x > 0:
        x -= 1
        y = x + 2
        while y > 0:
            y -= 1
            if (x + y) % 2 == 0:
                break
            s += x + y
    return s


@entry((3, 4), (2, 1))
def break_or_continue_on_each_path(x, y):
    s = 0
    while x > 0:
        x -= 1
        z = y
        while z > 0:
            z -= 1
            if (x + z) % 3 == 0:
                break
            else:
                s += 1
                continue
            s += 1000
    return s


@entry((5, 4), (0, 4), (5, 1))
def break_followed_by_an_if(x, y):
    for i in range(y):
        if i == 2:
            break
        if x > 0:
            x -= 1
    return x


@entry((3,), (1,), (20,))
def several_breaks(n):
    s, i = 1, 0
    while i < n:
        i += 1
        if i > 10:
            break
        if i == n - 1:
            break
        s = s * 3 + i
    return i, s


@entry((3,), (0,))
def return_in_each_trip(n):
    s = 0
    for i in range(n):
        s += i + 5
        return s
    return -1


@entry((3,), (4,), (0,))
def return_on_each_path(n):
    s = 0
    while n > 0:
        n -= 1
        s += n
        if n % 2 > 0:
            return s
        else:
            return -s
    return 100


@entry((5, 3), (5, 9), (0, 0))
def return_out_of_two_loops(n, key):
    for i in range(n):
        for j in range(i):
            if i * j == key:
                return i * 10 + j
    return -1


@entry((5, 2), (3, 9), (0, 1))
def while_else(x, y):
    s = 0
    while x > 0:
        x -= 1
        if x == y:
            break
        s += x
    else:
        s = -100
    return s


@entry((5, 2), (3, 9), (0, 1))
def for_else(n, key):
    s = 0
    for c in range(n):
        if c == key:
            break
        s = s * 10 + c
    else:
        s = -1000
    return s


@entry(([1, 2, 3], 2), ([1, 2, 3], 5), ([], 1))
def for_else_over_a_list(xs, key):
    for x in xs:
        if x == key:
            found = True
            break
    else:
        found = False
    return found


@entry((4, 2), (4, 7))
def else_with_return(n, key):
    for i in range(n):
        if i == key:
            break
    else:
        return -5
    return i


@entry((3,), (1,))
def nested_else(n):
    t = 0
    for i in range(n):
        for j in range(i):
            if j == 1:
                break
            t += 1
        else:
            t += 100
            continue
        t += 1000
    else:
        t += 10000
    return t


@entry((3,), refusal="F4: variable j is used, but not assigned on every path")
def a_while_creates_a_variable(n):
    i = 0
    while i < n:
        i = n + 1
        j = i + 1
    return i, j  # refused


@entry((3,), refusal="F4: variable i is used, but not assigned on every path")
def a_for_creates_its_target(n):
    for i in range(n):
        pass
    return i  # refused


@entry(([3, 4],))
def a_for_over_a_list_creates_its_target(xs):
    for x in xs:
        y = x + 2
    return x, y


@entry((3,), (0,))
def a_local_variable_of_the_body(n):
    s = 0
    for i in range(n):
        x = i + 2
        s = s * 10 + x
    return s


@entry((3,), (0,))
def a_local_variable_of_a_while(x):
    s = 0
    while x > 0:
        y = x + 2
        s = s * 10 + y
        x -= 1
    return s


@entry((3,), refusal="F4: variable x is used, but not assigned on every path")
def initialized_in_the_first_trip(n):
    s = 0
    for i in range(n):
        if i == 0:
            x = 0
        else:
            x += 1  # refused
        s = s * 10 + x
    return s


@entry(([5, 6, 7],))
def initialized_in_the_first_trip_over_a_list(xs):
    s = 0
    for k, x in enumerate(xs):
        if k == 0:
            y = x
        else:
            y += x
        s = s * 10 + y
    return s


@entry((4,), (0,))
def the_body_alters_the_target(n):
    i, s = 7, 0
    for i in range(n):
        i = 3 * i + 1
        s = s * 10 + i
    return i, s


@entry((4,), (0,))
def a_lambda_over_the_target(n):
    s = 0
    for i in range(n):
        double = lambda: i * 2
        s += double()
    return s


@entry(([1, 2, 3],))
def lambdas_over_a_target_see_its_last_value(xs):
    functions = []
    for x in xs:
        functions.append(lambda: x)
    return [f() for f in functions]


@entry(([1, 2, 3],))
def lambdas_with_a_default_keep_each_value(xs):
    functions = []
    for x in xs:
        functions.append(lambda x=x: x)
    return [f() for f in functions]


def triple(x):
    return x * 3


@entry((2,), (0,))
def a_call_in_the_test(n):
    i = s = 0
    while i < triple(n):
        s = s * 3 + i
        i += 1
    return s


@entry((2,), (0,))
def a_call_in_the_range(n):
    s = 0
    for i in range(triple(n)):
        s = s * 3 + i
    return s


@entry((3,), (0,))
def a_call_in_the_body(n):
    def local(x):
        return triple(x) + n

    i = s = 0
    while i < n:
        s = s * 10 + local(i)
        i += 1
    return s


@entry((3,), (0,))
def a_closure_over_a_loop_variable(n):
    i = 9

    def shifted():
        return i + 2

    s = 0
    for i in range(n):
        s = s * 10 + shifted()
    return s, shifted()


@entry((3,), (0,))
def a_callable_object_over_a_loop_variable(n):
    i = 9

    class Reader:
        def __call__(self):
            return i

    read = Reader()
    s = i = 0
    while i < n:
        s = s * 10 + read()
        i += 1
    return s, read()


@entry((3, 2), (0, 2))
def an_independent_inner_while(a, b):
    p = 0
    while a > 0:
        tmp = b
        while tmp > 0:
            p += 1
            tmp -= 1
        a -= 1
    return p


@entry((7, 2), (1, 5))
def a_dependent_inner_while(a, b):
    r = 1
    while a > 0:
        r += 1
        tmp = b
        while tmp > 0:
            a -= 1
            tmp -= 1
        a -= 1
    return r


@entry((5,), (0,))
def an_if_in_a_for(n):
    k = 0
    for i in range(n):
        if i % 2 > 0:
            j = i // 2
            k += j
    return k


@entry((4,), (1,))
def a_flag_ends_the_loop(n):
    go_on, k = True, 0
    while go_on:
        k += 1
        go_on = k < n
    return k


@entry((12,), (7,))
def a_test_of_several_parts(n):
    k = 0
    while k < n and k * k < 50 and not k == 9:
        k += 1
    return k


@entry((3,), (6,))
def an_endless_loop_with_a_return(n):
    while True:
        n += 1
        if n % 5 == 0:
            return n


@entry((10,), (3,))
def the_test_after_a_break_is_not_evaluated(n):
    k = 3
    while 12 // k > 0:
        k -= 1
        if k == 0:
            break
        if n < 5:
            k -= 1
            if k <= 0:
                break
    return k


@entry((4,), (2,))
def a_list_of_known_length_in_a_loop(n):
    xs = [0, 1]
    while n > 0:
        xs = [xs[1], xs[0] + xs[1]]
        n -= 1
    return xs


@entry((4,), (0,))
def a_tuple_in_a_loop(n):
    pair = (0, 1)
    for _ in range(n):
        pair = (pair[1], pair[0] + pair[1])
    return pair


@entry(
    (3, 4),
)
def a_walrus_in_the_test(n, m):
    t = 0
    while (d := n * m - t) > 2:
        t += d // 2
    return t, d
