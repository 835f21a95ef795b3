"""`try` with handlers: exceptions on which symbolic conditions decide, and that the same function catches, are branches
of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from tagloom.core.frontend.source import handlers, tries
from tagloom.core.frontend.source.state import Journal

Function = Callable[..., Any]


def quotient(a, b):
    try:
        return a // b
    except ZeroDivisionError:
        return None


def kinds_of_exceptions(a, b):
    try:
        if a < 0:
            raise ValueError("negative")
        result = a // b
    except ValueError:
        result = -1
    except ArithmeticError:
        result = -2
    else:
        result += 100
    finally:
        print("done", a)
    return result


def state_before_the_exception(n):
    items, total = [], 0
    try:
        items.append(n)
        total += 1
        items.append(12 // n)
        total += 10
        items.append(12 // (n - 2))
        total += 100
    except ZeroDivisionError:
        items.append(-1)
    return items, total


def printed_lines(n):
    try:
        print("before", n)
        if n > 3:
            raise KeyError(n)
        print("after", n)
    except KeyError:
        print("caught")
    return n


def conditions_nest(n):
    try:
        if n > 0:
            if n % 2 == 0:
                raise ValueError
            n += 10
            if n > 13:
                raise KeyError("large")
        else:
            n -= 1
            assert n > -4, "small"
        n *= 2
    except LookupError:
        n = 1000
    except (ValueError, AssertionError):
        n = -n
    return n


def statements_nest(n):
    log = 0
    try:
        try:
            if n == 0:
                raise KeyError("zero")
            if n < 0:
                raise ValueError("negative")
            log += 7 // (n - 3)
        except KeyError:
            log += 10
        finally:
            log += 100
    except (ValueError, ZeroDivisionError):
        log += 1000
    return log


def loop_in_a_try(n):
    total = 0
    try:
        for i in range(n):
            total += 12 // (4 - i)
    except ZeroDivisionError:
        total = -total
    return total


def loop_with_exits_in_a_try(n):
    k = 0
    try:
        while True:
            k += 1
            if k == n:
                break
            if k * k > 50:
                raise RuntimeError
            if k > 5 and n < 0:
                raise ValueError
            if 24 % (k - n + 3) == 5:
                return -k
    except RuntimeError:
        return 1000 + k
    except ZeroDivisionError:
        k += 500
    except ValueError:
        return "negative"
    return k


def loops_nest_in_a_try(n):
    total = 0
    try:
        for i in range(n):
            for j in range(i):
                total += 10 // (i + j - 4)
    except ZeroDivisionError:
        return total, -1
    return total, n


def try_in_a_loop(n):
    total = 0
    for k in range(n):
        try:
            if k == 4:
                continue
            total += 12 // (k - 2)
            if total > 20:
                break
        except ZeroDivisionError:
            total += 1000
    return total


def check_positive(x):
    if x <= 0:
        raise ValueError("not positive")
    return x * 2


def exception_of_a_called_function(n):
    total = 0
    for x in (n, n - 1, 3):
        try:
            total += check_positive(x)
        except ValueError:
            total -= 100
    return total


def index_and_key(i):
    try:
        first = [10, 20, 30][i]
    except IndexError:
        first = 0
    try:
        second = {1: 5, 2: 6}[i]
    except KeyError:
        second = -1
    return first, second


def float_quotient(n):
    try:
        return 1.0 / n
    except ZeroDivisionError:
        return 0.0


def handler_that_raises(n):
    try:
        try:
            if n > 2:
                raise ValueError("large")
        except ValueError:
            raise KeyError("other") from None
        n += 1
    except KeyError:
        n = -1
    return n


def handler_that_raises_again(n):
    try:
        if n > 2:
            raise ValueError("large")
        if n < 0:
            raise KeyError("small")
    except ValueError:
        print("large")
        raise
    return n


class Wallet:
    def __init__(self, amount):
        self.amount = amount

    def __enter__(self):
        print("opened")
        return self

    def __exit__(self, *error):
        print("closed", self.amount)

    def pay(self, price):
        if price > self.amount:
            raise ValueError("too little")
        self.amount -= price


def object_keeps_its_state(n):
    wallet, failures = Wallet(n), 0
    for price in (3, 5, 2):
        try:
            wallet.pay(price)
        except ValueError:
            failures += 1
    return wallet.amount, failures


def bare_except(n):
    try:
        n = 10 % n
    except:  # noqa: E722
        n = -1
    return n


def exception_by_name(n):
    try:
        if n > 2:
            raise ValueError("large")
        n += 1
    except ValueError as error:
        n = len(error.args)
        print(error)
    return n


def popped(n):
    items = list(range(n))
    try:
        items.pop()
        items.pop()
    except IndexError:
        return -1
    return len(items)


def known_operations_that_raise(n):
    try:
        x = int("12") + n
        if x > 14:
            x = int("abc")
        for i in range(n - 2):
            x += len([i].index(7))
    except ValueError:
        x = -1
    return x


def loops_of_known_length(n):
    total = 0
    try:
        for k in [1, 2, 3]:
            total += 6 // (k - n)
        squares = [12 // (k - 2) for k in range(n)]
        total += len(squares)
    except ZeroDivisionError:
        total += 100
    return total


def exits_and_finally(n):
    found = []
    for i in range(3):
        try:
            if i == n:
                continue
            if n == 5:
                break
            found.append(6 // (i - n + 1))
        except ZeroDivisionError:
            found.append(0)
            if n == 2:
                return found, "early"
        finally:
            print("trip", i)
    return found, "end"


def exit_before_the_else(n):
    total = 0
    for i in range(4):
        try:
            if n > 3:
                break
            if i == 2 and n != 1:
                return total, "returned"
        except ValueError:
            total = -1
        else:
            total += 5
    return total


def finally_in_a_loop_in_a_try(n):
    c = n % 3
    try:
        while c > 0 and n % 2 == 0:
            c -= 1
            try:
                n += {1: 5, 2: 7}[n % 5]
                if n > 8:
                    break
            except ValueError:
                n = 0
            finally:
                n += abs(5)
        assert n % 2 == 1
    except Exception:
        n //= 4
    return n, c


def code_after_a_raise(n):
    for i in range(n):
        try:
            try:
                if i > 1:
                    return n
                raise KeyError("always")
                q = n
                print(q)
            except KeyError:
                n += 1
        finally:
            n -= 1
    return n


def manager_in_a_try(n):
    try:
        with Wallet(n) as wallet:
            if n > 2:
                raise ValueError
            wallet.amount += 5
            n += 5
    except ValueError:
        n = -n
    return n


def recursive_try(n):
    try:
        if n <= 0:
            raise ValueError
        return n * recursive_try(n - 1)
    except ValueError:
        return 1


def print_before_the_end_of_a_loop(n):
    try:
        for i in range(n):
            print(i)
            if i > 2:
                raise ValueError
    except ValueError:
        return -1
    return n


def condition_that_raises(n):
    k = 0
    try:
        while 10 // (n - k) > 1:
            k += 1
    except ZeroDivisionError:
        return -k
    return k


def recursion(n):
    return 7 // n if n <= 0 else recursion(n - 1)


def recursion_in_a_try(n):
    try:
        return recursion(n)
    except ZeroDivisionError:
        return -1


def many_checks(n):
    total = 0
    try:
        for k in range(40):
            total += 100 // (n - k)
    except ZeroDivisionError:
        return -1
    return total


def unpacking(items):
    try:
        first, second, third = items
    except ValueError:
        return -1
    return first + second + third


NUMBERS = [(-5,), (-1,), (0,), (1,), (2,), (3,), (4,), (5,), (9,)]
PAIRS = [(7, 2), (7, 0), (-1, 3), (0, 5), (-2, 0)]
FUNCTIONS: dict[Function, list[tuple[Any, ...]]] = {
    quotient: PAIRS, kinds_of_exceptions: PAIRS, unpacking: [([3, 1, 2],), ([1, 2],)],
    **dict.fromkeys([
        state_before_the_exception, printed_lines, conditions_nest, statements_nest, loop_in_a_try,
        loop_with_exits_in_a_try, loops_nest_in_a_try, try_in_a_loop, exception_of_a_called_function, index_and_key,
        float_quotient, handler_that_raises, handler_that_raises_again, object_keeps_its_state, bare_except,
        exception_by_name, popped, known_operations_that_raise, loops_of_known_length, exits_and_finally,
        exit_before_the_else,
        finally_in_a_loop_in_a_try,
        code_after_a_raise,
        manager_in_a_try, recursive_try,
    ], NUMBERS),
}  # fmt: skip


def check(function: Function) -> None:
    found = list(disagreements(function, FUNCTIONS[function], RUNS[:1]))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("function", [quotient, state_before_the_exception], ids=lambda each: each.__name__)
def test_small_tries(function: Function) -> None:
    """Value, printed lines and exception are those of Python."""
    check(function)


@pytest.mark.full
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_tries(function: Function) -> None:
    """Value, printed lines and exception are those of Python."""
    check(function)


REFUSED = {
    print_before_the_end_of_a_loop: "depends on an effect in it",
    condition_that_raises: "catches an exception of the condition of a loop",
    recursion_in_a_try: "floor_divide may raise ZeroDivisionError in a `try`",
    many_checks: "more than 24 places",
}


@pytest.mark.full
@pytest.mark.parametrize("function", REFUSED, ids=lambda each: each.__name__)
def test_other_tries_are_refused(function: Function) -> None:
    """What no branch can represent is refused in words, with its line."""
    with pytest.raises(tl.Invalid, match=REFUSED[function]) as caught:
        tl.function(function).run(5)
    assert caught.value.rule == "F4" and caught.value.where is not None and caught.value.hint


def by_hand(a, b):
    return tl.cond(b != 0, lambda: a // b, lambda: -1)


def quotient_or_number(a, b):
    try:
        return a // b
    except ZeroDivisionError:
        return -1


def test_a_check_costs_a_branch() -> None:
    """A check costs the firings of a `tl.cond` on the same condition, and those of the choice of the exit."""
    tried, written = tl.function(quotient_or_number).run(7, 2), tl.function(by_hand).run(7, 2)
    assert tried.value == written.value == 3
    assert (tried.firings, written.firings) == (14, 9)


@pytest.mark.full
def test_broken_tries_are_detected(monkeypatch: MonkeyPatch) -> None:
    """Broken: the changes of a run of the body are kept; so are its nodes; a check in a loop does not count after the
    loop; decisions are turned round."""
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "undo", lambda journal: None)
        assert list(disagreements(state_before_the_exception, NUMBERS, RUNS[:1]))
    with monkeypatch.context() as patch:
        patch.setattr(handlers, "_keep_condition", lambda *arguments: None)
        assert list(disagreements(printed_lines, NUMBERS, RUNS[:1]))
    with monkeypatch.context() as patch:
        patch.setattr(handlers, "check", lambda *arguments: True)
        assert list(disagreements(loop_in_a_try, NUMBERS, RUNS[:1]))
    passes = tries.OpenTry.passes
    with monkeypatch.context() as patch:
        patch.setattr(tries.OpenTry, "passes", lambda statement, condition: not passes(statement, condition))
        assert list(disagreements(quotient, PAIRS, RUNS[:1]))


def test_gradients_of_a_try() -> None:
    """A gradient, and a tape in a function, take the path that the run takes."""

    def inverse(x):
        try:
            return 1.0 / x
        except ZeroDivisionError:
            return x * 3.0

    @tl.function
    def recorded(x):
        with tl.Tape() as tape:
            tape.watch(x)
            y = inverse(x)
        return tape.gradient(y, x)

    for x, expected in ((2.0, -0.25), (0.0, 3.0)):
        assert tl.grad(inverse)(x) == recorded(tl.asarray(x)) == expected


def test_variables_in_a_try() -> None:
    """A `tl.Variable` has what the body has assigned before the exception."""
    variable = tl.Variable(0)

    @tl.function
    def assign(n):
        try:
            variable.assign_add(1)
            variable.assign_add(10 // n)
        except ZeroDivisionError:
            variable.assign_add(100)
        return variable.value

    assert [assign(n) for n in (2, 0)] == [6, 107] and variable.value == 107
