"""Early returns: with a default, in nested ifs, before loops, in context managers, in `try` and `finally`; exceptions
and assertions."""

# ruff: noqa
# mypy: ignore-errors

from contextlib import nullcontext, suppress

from support.programs.reference.table import entry

POLES = ((3,), (7,), (0,), (-4,))


@entry(*POLES)
def with_a_default(x):
    if x > 0:
        print("x", x)
        return x
    return x * x


@entry(*POLES)
def dependent_on_a_local(x):
    t = 1
    if x > 2:
        return t
    t = [t, t, x]
    return sum(t)


@entry((3,), (-2,))
def possibly_nothing(x):
    if x > 0:
        if x < 5:
            return x
    else:
        return x * x * x


@entry(*POLES)
def nested_ifs(x):
    if x > 0:
        if x < 5:
            return x
        else:
            return x * x
    else:
        return x * x * x


@entry((True, True, 2), (True, False, 3), (False, True, 0))
def before_a_loop(c, d, n):
    if c:
        if d:
            return 1
    for _ in range(n):
        pass
    return 2


@entry(*POLES)
def in_nested_context_managers(x):
    with nullcontext():
        if x > 0:
            if x < 5:
                with nullcontext():
                    return x
            else:
                return x * x
        else:
            return x * x * x


@entry(*POLES)
def unreachable(x):
    with nullcontext():
        if x > 0:
            return x
        else:
            return x * x
    return x * x * x * x


@entry(*POLES)
def with_a_default_in_a_context_manager(x):
    with nullcontext(5) as five:
        if x > 0:
            return five
        return 0


@entry(*POLES)
def in_try_with_finally(x):
    try:
        if x > 0:
            return 1
        else:
            return 0
    finally:
        x = x + 1


@entry(*POLES)
def with_a_default_in_try_with_finally(x):
    y = 0
    try:
        if x > 0:
            return x
        y = 10
    finally:
        x = x + 1
    return x + y


@entry(*POLES)
def in_finally(x):
    try:
        return 2
    finally:
        if x > 0:
            return 1
        else:
            return 0


@entry(*POLES)
def with_a_default_in_finally(x):
    try:
        return 2
    finally:
        if x > 0:
            return 1
        return 0


@entry(*POLES)
def in_finally_with_a_default_in_try(x):
    try:
        if x > 0:
            return 0
    finally:
        return 1


def _fail():
    raise ValueError("failed")


@entry(*POLES)
def caught_during_a_return(x):
    try:
        return _fail()
    except ValueError:
        pass
    return x


@entry((True,), (False,))
def caught_in_a_tail(c):
    if c:
        return 2
    try:
        return _fail()
    except ValueError:
        pass
    return 1


@entry((3,), (1,), (0,))
def a_modification_that_an_exception_hides(x):
    y = 0
    if x > 0:
        try:
            _fail()
            y = 1
        except ValueError:
            y += 2
    return y


@entry((3,), (0,))
def a_handler_of_a_symbolic_exception(x):
    y = 0
    try:
        if x > 1:
            raise ValueError("more than one")
        y = 1
    except ValueError:
        pass
    return y


@entry((9,), (3,))
def continue_in_a_context_manager(x):
    z = 0
    while x > 0:
        with nullcontext():
            x = x - 1
            if x < 5:
                continue
            z = z + 1
    return z


@entry((9,), (3,))
def continue_in_try(x):
    z = 0
    while x > 0:
        x = x - 1
        try:
            if x < 5:
                continue
            z = z + 1
        finally:
            z = z + 10
    return z


@entry((9,), (3,))
def break_in_a_context_manager(x):
    z = 0
    while x > 0:
        with nullcontext():
            x = x - 1
            if x < 5:
                break
            z = z + 1
    return z, x


@entry((9,), (3,))
def break_in_try(x):
    z = 0
    while x > 0:
        x = x - 1
        try:
            if x < 5:
                break
            z = z + 1
        finally:
            z = z + 10
    return z, x


@entry((9,), (3,))
def return_in_try_in_a_loop(x):
    z = 0
    while x > 0:
        x = x - 1
        try:
            if x < 5:
                return z * 100 + x
            z = z + 1
        finally:
            z = z + 10
    return z


@entry((3,), (0,), (-1,))
def an_assertion(x):
    assert x > 0, "x is positive"
    return x


@entry((3,), (0,), (-1,))
def an_assertion_in_an_arm(x):
    if x < 2:
        assert x > -1, "x is not negative"
        x += 5
    return x


@entry((3,), (0,), (9,))
def an_assertion_in_a_loop(n):
    s = 0
    for i in range(n):
        assert i < 5, "few trips"
        s += i
    return s


@entry((3,), (-1,), (0,))
def exceptions_of_three_classes(n):
    if n < 0:
        raise KeyError("negative")
    if n == 0:
        raise IndexError("zero")
    if n > 2:
        raise TypeError("large")
    return n


@entry((4,), (0,), (2,))
def a_division_by_zero(n):
    return 12 // n + 12 % (n - 2)


@entry((4,), (2,))
def a_division_of_constants_in_an_arm(n):
    zero = 0
    if n > 3:
        return 1 // zero
    return n


@entry((4,), (2,))
def an_index_beyond_a_list_in_an_arm(n):
    xs = [1, 2]
    if n > 3:
        return xs[5]
    return n


@entry((4,), (2,))
def a_missing_key_in_an_arm(n):
    d = {"a": 1}
    if n > 3:
        d["b"] += 1
    return d["a"] + n


@entry((4,), (2,))
def a_missing_key_in_both_arms(n):
    d = {"a": {"a": n}}
    if n > 3:
        d["b"]["a"] = 1
    else:
        d["b"]["a"] = -1
    return n


@entry((4,), (2,))
def an_unassigned_variable_in_an_arm(n):
    if n > 3:
        n += later
    later = 1
    return n + later


@entry((4,), (1,))
def a_raise_in_a_loop_that_ends_before(n):
    for i in range(3):
        if i == n:
            raise RuntimeError("reached")
    return n


@entry((4,), (1,))
def a_suppressed_exception(n):
    with suppress(ValueError):
        _fail()
        n += 100
    return n


@entry((3,), (-1,))
def a_raise_after_a_raise_of_an_arm(n):
    for k in (0, 4):
        if k > 3:
            raise ValueError("last")
        if n < 0:
            raise IndexError("first")
    return n
