"""Choices: where a symbolic condition chooses between values that differ in structure, such as None and a number, two
words, functions or objects, a converted function does what Python does with the one that is chosen."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements, is_refusal
from support.programs.choices import CHOICES
from support.programs.reference.table import Entry
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import choices, operators, option_operations, staging
from tagloom.core.frontend.source.operators import Operators
from tagloom.core.frontend.trace.choice import Choice

BY_NAME = {entry.function.__name__: entry for entry in CHOICES}
SAMPLE = ("none_arith", "mutate_chosen", "loop_words", "chosen_effect")
"""The functions that the plain test run checks."""


def check(entry: Entry) -> None:
    """An accepted function agrees; a refused one is refused in these words, and a gap is as described."""
    masks = [[True, True], [True, False], [False, True]]
    try:
        found = "\n".join(disagreements(entry.function, entry.inputs, RUNS, masks))
    except (tl.Invalid, tl.Usage) as error:
        assert is_refusal(error) and str(error).startswith(entry.refusal or "accepted"), error
        return
    assert not entry.refusal and (entry.gap in found if entry.gap else not found), found


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_choices(name: str) -> None:
    """Value, type, printed lines and exception are those of Python, on the engines and under the schedules."""
    check(BY_NAME[name])


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in SAMPLE])
def test_choices(name: str) -> None:
    """So are those of all others."""
    check(BY_NAME[name])


def test_a_choice_between_words_is_one_op() -> None:
    """A choice is a number; where branches compute nothing, that is one `where`, and Python's word is the result."""

    def word(n: Any) -> Any:
        return "positive" if n > 0 else "zero or less"

    outcome = tl.function(word).run(3)
    assert (outcome.value, outcome.firings) == ("positive", 4)
    assert tl.function(word)(-3) == "zero or less"


def test_a_known_word_is_a_result() -> None:
    """A function may return a word that no condition decides on."""
    assert tl.function(lambda n: "word")(3) == "word"


@pytest.mark.parametrize(
    "use", (hash, len, float, lambda choice: choice.__class__), ids=("hash", "len", "float", "class")
)
def test_uses_that_need_the_option(use: Any) -> None:
    """Python's own functions, which take one object, refuse a choice in words."""
    with pytest.raises(tl.Invalid, match="only at run time"):
        use(Choice(None, ("a", None)))


def _the_last_option(patch: MonkeyPatch) -> None:
    patch.setattr(option_operations, "choose", lambda perform, choice: perform(choice.options[-1]))


def _numbers_are_not_translated(patch: MonkeyPatch) -> None:
    patch.setattr(choices, "_is_first_numbering", lambda numbers: True)


def _attributes_of_arms_are_not_merged(patch: MonkeyPatch) -> None:
    patch.setattr(staging, "created_attributes", lambda contents, created: [])
    patch.setattr(choices, "_is_outer", lambda value, own_keys: True)


def _what_python_raises_is_not_staged(patch: MonkeyPatch) -> None:
    patch.setattr(option_operations, "located_exception", lambda error: error)


def _stars_take_the_known_items(patch: MonkeyPatch) -> None:
    patch.setattr(Operators, "inner_items", lambda self, subject, before, after: list(subject)[before:][:-after])


TWINS = [
    ("star_under_condition", _stars_take_the_known_items),
    ("mutate_chosen", _the_last_option),
    ("nested", _numbers_are_not_translated),
    ("fields_of_arm", _attributes_of_arms_are_not_merged),
    ("none_arith", _what_python_raises_is_not_staged),
]


@pytest.mark.full
@pytest.mark.parametrize(("name", "twin"), TWINS)
def test_broken_choices_are_caught(name: str, twin: Any) -> None:
    """Each fault changes what a function of the table does."""
    with broken(twin):
        try:
            found = list(disagreements(BY_NAME[name].function, BY_NAME[name].inputs, RUNS[:1], [[True, True]]))
        except tl.Invalid:
            return
        assert found


def test_the_options_of_a_choice_are_readable() -> None:
    """An error about structures lists the options of a choice, with words for its values."""

    def walk(k):
        return 0 if k == 0 else [walk(k - 1)]

    with pytest.raises(tl.Invalid, match=r"V6: walk returns different structures") as refused:
        tl.function(lambda n: walk(n))(3)
    assert "required: one value" in str(refused.value)
    assert "got: value or [value]" in str(refused.value)


def truth_of_containers(n):
    queue, counts, k = deque(), defaultdict(int), 0
    if n > 2 and counts:
        k = 1
    counts["a"] = n
    queue.append(n)
    if n > 2 and counts:
        k += 2
    if n > 3 and frozenset({1}) and not set() and counts.keys() and not {}.items():
        k += 4
    if n % 2 == 0 and queue:
        k += 8 * queue.popleft()
    if n > 3 or queue or deque():
        k += 16
    while n > 0 and range(3):
        n -= 1
        k += 32
    return k, list(queue)


def test_the_truth_of_containers_beside_a_condition() -> None:
    """In a test, `and` and `or` take deques, sets, ranges and dicts of all classes by whether they have items."""
    assert list(disagreements(truth_of_containers, [(n,) for n in range(5)], RUNS[:1], [[True]])) == []


def test_a_container_that_is_its_own_truth_is_caught() -> None:
    """If a test takes a deque for its truth, a program is refused."""
    plain = (list, tuple, dict, str)
    with broken(lambda patch: patch.setattr(operators, "_COLLECTIONS", plain)), pytest.raises(tl.TagloomError):
        list(disagreements(truth_of_containers, [(3,)], RUNS[:1], [[True]]))


def double(x):
    return 2 * x


def negate(x):
    return -x


def constants_of_an_iteration(n):
    for k in range(n):
        word, change = "found", double
        if k > 2:
            break
    else:
        word, change = "none", negate
    return word, change(n)


def list_of_an_iteration(n):
    for k in range(n):
        words = []
        if k > 2:
            break
    else:
        words = ["none"]
    return len(words)


def test_what_an_iteration_assigns_before_it_ends_the_loop() -> None:
    """Behind a `break`, a variable has what the body gave it, though it had nothing before the loop. Where that value
    is lost, a use is refused."""
    inputs = [(0,), (2,), (5,)]
    assert list(disagreements(constants_of_an_iteration, inputs, RUNS[:1])) == []
    with pytest.raises(tl.Invalid, match="not assigned on every path"):
        tl.function(list_of_an_iteration)(5)


def test_values_of_an_iteration_that_are_lost_are_caught() -> None:
    """Broken: the loop forgets the constants that its body assigns. A use is refused."""

    def forget(patch: MonkeyPatch) -> None:
        patch.setattr(staging._StagedLoop, "_is_lasting", staticmethod(lambda content: False))

    with broken(forget), pytest.raises(tl.Invalid, match="not assigned on every path"):
        tl.function(constants_of_an_iteration)(5)
