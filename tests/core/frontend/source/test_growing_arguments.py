"""Lists and strings that get longer from call to call of a recursion: a function of the program has one parameter for
their items, or they are refused in words."""

from __future__ import annotations

from typing import Any

import pytest
import tagloom as tl
from support.laws.python_laws import RUNS, agrees_or_is_refused, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import recursion


def parentheses(n):
    words = []

    def grow(text, opened, closed):
        if len(text) == 2 * n:
            words.append(text)
            return
        if opened < n:
            grow(text + "(", opened + 1, closed)
        if closed < opened:
            grow(text + ")", opened, closed + 1)

    grow("", 0, 0)
    return words


def count_subsets(n, total):
    def walk(k, chosen):
        if k == n:
            return 1 if sum(chosen) == total else 0
        return walk(k + 1, chosen) + walk(k + 1, [*chosen, k])

    return walk(0, [])


def words_of_bits(n):
    words = []

    def walk(word):
        if len(word) == n:
            words.append(word)
            return
        for bit in "01":
            walk(word + bit)

    walk("")
    return words


def turned_by_recursion(n):
    def turn(rest, done):
        if not rest:
            return done
        return turn(rest[1:], [rest[0], *done])

    return turn(list(range(n)), [])


def path_to(a, b):
    def search(x, y, path):
        if x > b:
            return path
        return search(y, x + y, [*path, x])

    return search(a, a + 1, [])


def pairs_beside_a_label(n):
    def collect(k, pairs, label):
        if k > n:
            return len(pairs), label, sum(i * j for i, j in pairs)
        return collect(k + 1, [*pairs, (k, k * k)], label + ("a" if k % 2 else "b"))

    return collect(1, [], "")


def numbers_of_a_higher_kind(n):
    def halve(k, seen):
        if k < 1:
            return sum(seen)
        return halve(k / 2, [*seen, k])

    return halve(n, [0.0])


def beside_changed_state(n):
    best = [0]

    def walk(k, path):
        if sum(path) > best[0]:
            best[0] = sum(path)
        if k > 0:
            walk(k - 1, [*path, k * (-1) ** k])

    walk(n, [])
    return best[0]


def dealt_in_turn(n):
    def deal(k, mine, others):
        if k == 0:
            return mine, others
        return deal(k - 1, others, [*mine, k])

    return deal(n, [], [])


GROWING: dict[Any, list[Any]] = {
    turned_by_recursion: [(6,), (1,), (0,)],
    numbers_of_a_higher_kind: [(9.0,), (0.5,)],
    words_of_bits: [(2,), (1,)],
    count_subsets: [(3, 3), (1, 0)],
    parentheses: [(2,), (0,)],
    path_to: [(3, 40), (1, 0)],
    pairs_beside_a_label: [(4,)],
    beside_changed_state: [(5,), (0,)],
    dealt_in_turn: [(9,), (0,)],
}


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", GROWING, ids=lambda function: function.__name__)
def test_growing_arguments(function: Any) -> None:
    """Such a recursion returns what Python returns, for more calls than were traced."""
    inputs = GROWING[function]
    assert list(disagreements(function, inputs, RUNS[:1], [[True] * len(inputs[0])])) == []


@pytest.mark.full
def test_growing_arguments_on_engines() -> None:
    """All schedules and engines agree on it."""
    assert list(disagreements(path_to, [(3, 40)], [*RUNS, ("compiled", "waves")])) == []


def turned(k, done):
    return done if k == 0 else turned(k - 1, [k, *done])


def repeated(k, word=""):
    if k == 0:
        return word
    return repeated(k - 1, word + "ab")


def sums_of_choices(items, k, chosen, total):
    if k == len(items):
        return 1 if sum(chosen) == total else 0
    longer = [*chosen, items[k]]
    return sums_of_choices(items, k + 1, chosen, total) + sums_of_choices(items, k + 1, longer, total)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(turned, (9, [7])), (repeated, (9,)), (sums_of_choices, ([1, 2, 3, 4, 2], 0, [], 6))],
)
def test_growing_arguments_of_functions_of_the_program(function: Any, arguments: Any) -> None:
    """A function that is a function of the program itself may call itself with longer lists and strings."""
    assert tl.function(function)(*arguments) == function(*arguments)


def changed_in_the_body(n):
    def walk(k, path):
        path.append(k)
        if k > 0:
            return walk(k - 1, [*path, 0])
        return sum(path) + len(path)

    return walk(n, [])


def changed_by_the_caller(n):
    paths = []

    def walk(k, path):
        paths.append(path)
        if k > 0:
            walk(k - 1, [*path, k])
        path.append(-1)

    walk(n, [0])
    return paths


def changed_after_the_call(n):
    def walk(k, path):
        if k > 0:
            return walk(k - 1, [*path, k])
        return path

    first = [7]
    last = walk(n, first)
    last.append(1)
    return first, last


def changed_beside_the_result(n):
    def walk(k, path):
        if k == 0:
            return path
        mine = [k, 2]
        result = walk(k - 1, mine)
        mine[0] = 77
        return result

    return walk(n, [n, 5])


def longer_beside_the_result(n):
    def walk(k, path):
        if k == 0:
            return path
        longer = [*path, k]
        result = walk(k - 1, longer)
        longer.append(99)
        return result

    return walk(n, [])


def shared_beside_the_result(n):
    def walk(k, path):
        path.append(k)
        if k == 0:
            return path
        result = walk(k - 1, path)
        path.append(-k)
        return result

    return walk(n, [])


def same_list_when_it_ends(n):
    def walk(k, path):
        path.append(k)
        if k > 0:
            walk(k - 1, path)
        path[0] += 1
        return path

    return walk(n, [5])


@pytest.mark.parametrize(
    "function",
    [
        changed_in_the_body, changed_by_the_caller, changed_after_the_call, same_list_when_it_ends,
        changed_beside_the_result, longer_beside_the_result, shared_beside_the_result,
    ],
)  # fmt: skip
def test_changes_of_growing_arguments_are_seen_or_refused(function: Any) -> None:
    """A change of such a list shows by all its names, or is refused."""
    agrees_or_is_refused(function.__name__, function, [(0,), (3,)], masks=[[True]])


def test_lost_changes_beside_a_result_are_caught() -> None:
    """If the arguments may change after a call that returns one of them, the law fails."""
    with broken(lambda patch: patch.setattr(recursion, "note_copied", lambda state: None)):
        assert list(disagreements(changed_beside_the_result, [(3,)], RUNS[:1], [[True]]))


@pytest.mark.parametrize(("attribute", "fault"), [
    ("GROWING_CALLS", 100),
    ("open_like", lambda content, model: model),
])  # fmt: skip
def test_broken_growth_is_caught(attribute: str, fault: Any) -> None:
    """Without open lengths, or with the items of the first call, the law fails."""
    with broken(lambda patch: patch.setattr(recursion, attribute, fault)):
        try:
            found = list(disagreements(turned_by_recursion, [(6,)], RUNS[:1], [[True]]))
        except tl.TagloomError:
            return
    assert found
