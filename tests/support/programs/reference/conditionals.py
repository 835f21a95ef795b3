"""Conditionals: `if` with any number of variables, nested and in sequence, `del`, None, ternaries, `match`."""

# ruff: noqa
# mypy: ignore-errors

from support.programs.reference.table import entry

POLES = ((1,), (-1,), (0,), (7,))


@entry(*POLES)
def ternaries_in_arms(x):
    if x > 0:
        x = -x if x < 5 else x
    else:
        x = -2 * x if x < 5 else 1
    return x * 10 if x < 0 else x


@entry(*POLES)
def ternaries_of_several_variables(x):
    if x > 0:
        y = 2 * x if x < 5 else x
        z = -y if y < 5 else y
    else:
        y = -x if x < 5 else x
        z = -y if y < 5 else y
    return x, y, z


@entry((1, 5), (0, 5))
def no_variables(c, v):
    if c:
        v + 1
    return v


@entry((3,), (0,))
def one_variable(n):
    i = 0
    if i < n:
        i += 1
    return i


@entry((3,), (0,))
def one_variable_on_both_arms(n):
    i = 0
    if i < n:
        i += 1
    else:
        i += 2
    return i


@entry((3,), (0,))
def two_variables(n):
    i, j = 0, 1
    if i < n:
        i += 1
        j *= 10
    return i, j


@entry((3,), (0,))
def two_variables_on_both_arms(n):
    i, j = 0, 1
    if i < n:
        i += 1
        j *= 10
    else:
        i += 2
        j *= 20
    return i, j


@entry((True,), (False,), refusal="F4: variable i is used, but not assigned on every path")
def created_in_one_arm(c):
    if c:
        i = 1
    return i  # refused


@entry((True,), (False,))
def created_in_both_arms(c):
    if c:
        i = 1
    else:
        i = 2
    return i


@entry((True,), (False,), refusal="F4: variable i is used, but not assigned on every path")
def created_in_the_other_arm(c):
    if c:
        pass
    else:
        i = 2
    return i  # refused


@entry((True,), (False,))
def created_in_one_arm_and_read_there(c):
    r = 0
    if c:
        i = 4
        r = i + 1
    return r


@entry((True,), (False,), refusal="F4: variable i is used, but not assigned on every path")
def deleted_in_one_arm(c):
    i = 1
    if c:
        del i
    return i  # refused


@entry((True,), (False,))
def deleted_in_both_arms(c):
    i = 1
    if c:
        del i
    else:
        del i
    return 3 if c else i


@entry((True,), (False,))
def none_in_one_arm(c):
    i, j = 0, 1
    if c:
        i, j = None, 2
    return i, j


@entry((True,), (False,))
def none_in_both_arms(c):
    if c:
        i, j = None, 1
    else:
        i, j = None, 2
    return i, j


@entry((True,), (False,))
def none_that_is_not_read(c):
    j = 1
    i = 0
    if c:
        i, j = None, 2
    return j


@entry((True,), (False,))
def local_in_one_arm(c):
    i = 0
    if c:
        j = 1
        i = j + 1
    return i


@entry((True,), (False,))
def local_in_both_arms(c):
    i = 0
    if c:
        j = 1
    else:
        j = 2
        i = j + 1
    return i


@entry((True,), (False,))
def modified_and_not_read_later(c):
    i, j = 0, 2
    if c:
        j = j + 1
        i = j + 1
    return i


@entry((1, 1), (0, 1), (1, 0), (0, 0))
def in_sequence(n, m):
    s = i = 0
    if i < n:
        s = s * 10 + i
        i += 1
    i = 0
    if i < m:
        s = s * 10 + i
        i += 1
    return s, i


@entry((1, 1), (0, 1), (1, 0), (0, 0))
def in_sequence_with_else(n, m):
    s = i = 0
    if i < n:
        s, i = s * 10 + i, i + 1
    else:
        s, i = s * 11 + i, i + 2
    if i < m:
        s, i = s * 10 + i, i + 1
    else:
        s, i = s * 11 + i, i + 2
    return s


@entry((1, 1), (0, 1), (1, 0), (0, 0))
def nested(n, m):
    i = total = 0
    if i < n:
        j = s = 0
        if j < m:
            s = s * 10 + i * j + 5
            j += 1
        total = total * 1000 + s
        i += 1
    return total


@entry((1, 1), (0, 1), (1, 0), (0, 0))
def nested_with_else(n, m):
    i = total = 0
    if i < n:
        j = 0
        if j < m:
            s = 10 + j
        else:
            s = 11 + j
        total = total * 1000 + s
    else:
        j = 4
        if j < m:
            s = 12 + j
        else:
            s = 13 + j
        total = total * 2000 + s
    return total + s + j


@entry((True, True), (True, False), (False, True))
def nested_return_in_one_arm(c, d):
    if c:
        if d:
            return 1
    return 2


@entry((3, 2), (3, -2), (-3, 2))
def independent(x, y):
    z = 0
    if x > 0:
        if y > 0:
            z = x + y
    return z


@entry((3,), (-3,), (0,))
def dependent(x):
    y = 0
    if x > 0:
        y = -2 * x
        if y > 0:
            x = -3 * x
    else:
        y = 4 * x
    return x, y


@entry((2,), (3,), (0,))
def dependent_and_one_sided(x):
    y = 0
    if x > 0:
        if x < 3:
            y = -2 * x
            x = -3 * x
    return x, y


@entry((1,), (2,), (3,), (9,), (-1,))
def a_ladder(n):
    if n == 1:
        r = 10
    elif n == 2:
        r = 20
    elif n > 8:
        r = 30
    elif n < 0:
        return -1
    else:
        r = 50
    return r + n


@entry((0,), (3,), (-2,))
def a_number_as_test(n):
    if n:
        return 1
    return 5 if not n else 2


@entry((0.0,), (2.5,), (-0.0,))
def a_float_as_test(x):
    return 1 if x else 2


@entry(((1, 2),), ((),))
def a_tuple_as_test(xs):
    return 1 if xs else 2


@entry((0,), (1,), (2,), (5,), (12,))
def match_with_guard(n):
    match n:
        case 0:
            return 100
        case 1 | 2:
            r = 200
        case k if k > 10:
            r = k * 2
        case other:
            r = other
    return r + 1


@entry((3,), (0,), (-4,))
def walrus_in_a_test(n):
    if (m := n * 2) > 3 and (k := m + 1) > 0:
        return k
    return m


@entry((4, 2), (2, 4), (0, 0))
def swap_in_an_arm(a, b):
    if a > b:
        a, b = b, a
    return a, b


@entry((1, 2, 3), (3, 2, 1), (2, 2, 2), (0, 5, 1))
def ors(x, y, z):
    return (x > 1) or (y > 2) or (z > 2)


@entry((1, 2, 3), (0, 2, 0), (0, 0, 0), (0, 0, 4))
def ors_give_operands(x, y, z):
    last = lambda: z
    return x or y or last()


@entry((1, 2, 3), (0, 2, 0), (5, 0, 0), (0, 0, 4))
def ands_give_operands(x, y, z):
    return x and y and z


@entry((1, 2, 3), (0, 2, 0), (5, 0, 0), (0, 0, 4))
def ands_in_ors(x, y, z):
    return x or y or z and y and z


@entry((1, 1), (1, 2))
def equality(x, y):
    return x == y, x != y, not x == y


@entry((1, 1, 1), (1, 2, 2), (2, 2, 1))
def equality_of_three(x, y, z):
    return x == y == z, x == y != z


@entry((1, 2, 3), (3, 2, 1), (1, 3, 3))
def comparison(x, y, z):
    return x < y and y < z, x < y <= z, x < y < z > 2


@entry((0,), (5,))
def the_right_operand_is_not_computed(n):
    return n == 0 or 10 // n > 1, n != 0 and 10 % n == 0


@entry((0,), (5,), (2,))
def the_middle_is_computed_once(n):
    count = []

    def middle():
        count.append(1)
        return 3

    r = 1 < middle() < n
    return r, len(count)


@entry((3,), (4,), (9,))
def membership(n):
    return n in (1, 3, n + 1), n not in [4, 5], n in range(4, 7)


@entry((True, False), (False, False))
def a_flag_is_true(a, b):
    return a is True, a is not False, a is not b


@entry((3,), (4,))
def nothing_is_none(n):
    return n is None, n is not None


@entry((2, True), (2, False))
def an_expression_of_a_flag(n, p):
    return (n if p else -n) + int(p) * 10, not p
