"""Strings that the run makes: a loop carries them, a branch chooses between them, a list holds them, and functions
return them; each as in Python, or refused in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import choices, library
from tagloom.core.frontend.source.open_lists import DifferentItems
from tagloom.core.frontend.trace import pytree


def one_or_many(n):
    return "one item" if n == 1 else f"{n} items"


def two_fields(n):
    return f"{n}..{n + 1:03d}"


def format_of_a_float(x):
    return f"{x:.2f} kg" if x > 0 else "none"


def binary_text(n):
    text = ""
    while n > 0:
        text = str(n % 2) + text
        n //= 2
    return text or "0"


def repeated_star(n):
    t = ""
    for _i in range(n):
        t += "*"
    return t


def printed_prefixes(n):
    t = ""
    for _i in range(n):
        t += "*"
        print(t)
    print(f"[{t}]", n)


def methods_of_characters(n):
    return chr(97 + n), chr(97 + n).upper(), str(n).zfill(5), str(n).rjust(4) + "|"


def shifted_letters(n):
    return "".join(chr((ord(c) - 97 + n) % 26 + 97) for c in "hello")


def state_machine(n):
    state = "idle"
    for i in range(n):
        if state == "idle":
            state = "run"
        elif state == "run" and i > 2:
            state = "stopped"
    return state


def joined_flags(n):
    parts = []
    if n > 2:
        parts.append("big")
    if n % 2:
        parts.append("odd")
    return ", ".join(parts)


def fizz_buzz(n):
    out = []
    for i in range(1, n + 1):
        if i % 15 == 0:
            out.append("FizzBuzz")
        elif i % 5 == 0:
            out.append("Buzz")
        elif i % 3 == 0:
            out.append("Fizz")
        else:
            out.append(str(i))
    return out


def fizz_in_a_comprehension(n):
    return ["Fizz" if i % 3 == 0 else str(i) for i in range(n)]


def joined_numbers(n):
    return ", ".join(str(i) for i in range(n))


def joined_choices(n):
    return "-".join(["a" if i % 2 else f"b{i}" for i in range(n)])


def roman_numeral(n):
    values = [10, 9, 5, 4, 1]
    symbols = ["X", "IX", "V", "IV", "I"]
    result = ""
    for v, s in zip(values, symbols, strict=False):
        while n >= v:
            result += s
            n -= v
    return result


def binary_by_recursion(n):
    if n < 2:
        return str(n)
    return binary_by_recursion(n // 2) + str(n % 2)


def binary_from_nothing(n):
    return "" if n == 0 else binary_from_nothing(n // 2) + str(n % 2)


def run_lengths(n):
    s = str(n)
    out = ""
    i = 0
    while i < len(s):
        j = i
        while j < len(s) and s[j] == s[i]:
            j += 1
        out += s[i] + str(j - i)
        i = j
    return out


def replaced_word(n):
    xs = ["a", "b"]
    if n > 0:
        xs[0] = "c"
    return xs


def name_of_the_best(n):
    best, name = 0, "none"
    for i in range(n):
        if i * i % 7 > best:
            best, name = i * i % 7, f"item {i}"
    return name


def pairs_with_words(n):
    out = []
    for i in range(n):
        if i % 2:
            out.append(("odd", i))
        else:
            out.append(("even", i))
    return out


def reversed_text(n):
    r = ""
    for c in str(n):
        r = c + r
    return r


def brackets(n):
    def go(k):
        if k == 0:
            return "0"
        return "(" + go(k - 1) + ")"

    return go(n)


def digits_with_commas(n):
    if n < 10:
        return str(n)
    return digits_with_commas(n // 10) + "," + digits_with_commas(n % 10)


def reversed_by_recursion(n):
    def rev(s):
        if len(s) <= 1:
            return s
        return rev(s[1:]) + s[0]

    return rev(str(n))


def sorted_words(n):
    xs = []
    for i in range(n):
        xs.append("b" if i % 2 else "a")
    xs.sort()
    return xs


def printed_words(n):
    xs = []
    for i in range(n):
        xs.append("b" if i % 2 else "a")
    print(xs)


def printed_pairs(n):
    xs = []
    for i in range(n):
        xs.append((i, i * i))
    print(xs)


def printed_dict(n):
    d = {}
    for i in range(n):
        d[i % 3] = i
    print(d)


def printed_floats(n):
    d = []
    for i in range(n):
        d.append(i / 2)
    print(d)


def count_words(n):
    xs = ["a" if i % 3 else "b" for i in range(n)]
    return xs.count("a"), "b" in xs, xs == ["b", "a"]


def word_dict(n):
    names = {1: "one", 2: "two"}
    return names.get(n, "many") + "!", (names[n] if n + 0 in names else "?")


def padded_words(n):
    name = "x" if n > 2 else "yy"
    return f"{name:>4}|{name:<5}|{n:>3}"


def long_words(n):
    out = []
    for w in ["the", "quick", "brown", "fox"]:
        if len(w) > n:
            out.append(w.upper())
    return out


def printed_pyramid(n):
    for i in range(n):
        print(" " * (n - i) + "*" * (2 * i + 1))


def repeated_texts(n):
    return "\n".join("*" * (i + 1) for i in range(n)), n * "ab", 2 * str(n), str(n) * 2, str(n) * n


def parts_that_may_be_empty(n):
    part = ""
    for _ in range(n % 3):
        part += "3"
    text = str(10 * n + 3)
    return text.count(part), text.replace(part, "-"), text.find(part), text.startswith(part), text.endswith(part)


STRINGS = (
    one_or_many,
    two_fields,
    format_of_a_float,
    binary_text,
    repeated_star,
    printed_prefixes,
    methods_of_characters,
    shifted_letters,
    state_machine,
    joined_flags,
    fizz_buzz,
    fizz_in_a_comprehension,
    joined_numbers,
    joined_choices,
    roman_numeral,
    binary_by_recursion,
    binary_from_nothing,
    run_lengths,
    replaced_word,
    name_of_the_best,
    pairs_with_words,
    reversed_text,
    brackets,
    digits_with_commas,
    reversed_by_recursion,
    sorted_words,
    printed_words,
    printed_pairs,
    printed_dict,
    printed_floats,
    count_words,
    word_dict,
    padded_words,
    long_words,
    printed_pyramid,
    repeated_texts,
    parts_that_may_be_empty,
)


NUMBERS = [(0,), (3,), (16,)]


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("function", STRINGS, ids=lambda function: function.__name__)
def test_strings(function: Any) -> None:
    """The string, or the lines, are those of Python, for none, some and many characters."""
    inputs = [(1.5,), (-1.0,), (2.345,)] if function is format_of_a_float else NUMBERS
    assert list(disagreements(function, inputs, RUNS[:1], [[True]])) == []


@pytest.mark.full
@pytest.mark.parametrize("function", (binary_text, fizz_buzz, printed_pairs), ids=lambda function: function.__name__)
def test_strings_on_engines(function: Any) -> None:
    """All schedules and engines agree on them."""
    assert list(disagreements(function, [(0,), (5,)], [*RUNS, ("compiled", "waves")], [[True]])) == []


def sorted_texts(n):
    return sorted([str(i * 7 % 20) for i in range(n)])


def split_text(n):
    return sum(int(p) for p in f"{n},{n + 1}".split(","))


def carried_float(n):
    text = ""
    for k in range(n):
        text += f"{k / 2} "
    return text


def find_from_a_position(n):
    return str(n).find("1", 1)


def title_of_a_letter(n):
    return chr(97 + n).title()


def prefix_of_several(n):
    return str(n).startswith(("1", "2"))


USES = {
    find_from_a_position: "str.find with these arguments",
    title_of_a_letter: "str.title",
    prefix_of_several: "str.startswith with these arguments",
}


@pytest.mark.parametrize("function", USES, ids=lambda function: function.__name__)
def test_refusals_name_the_use(function: Any) -> None:
    """A method, or arguments of it, that a program does not have for strings is refused by its name."""
    with pytest.raises(tl.Invalid, match=f"F4: {USES[function]} is not supported for a string"):
        tl.function(function)(12)


@pytest.mark.parametrize("function", (sorted_texts, split_text, carried_float), ids=lambda function: function.__name__)
def test_other_uses_are_refused(function: Any) -> None:
    """What a program cannot do with a string is refused, with a hint."""
    with pytest.raises(tl.Invalid, match="hint"):
        tl.function(function)(12)


TWINS: dict[str, tuple[Callable[[MonkeyPatch], None], Callable[..., Any]]] = {
    "items of a list are all the first option": (
        lambda patch: patch.setattr(choices, "_option_number", lambda *arguments: 0),
        fizz_in_a_comprehension,
    ),
    "parts of a string have no format": (
        lambda patch: patch.setattr(pytree, "_part_as_string", lambda part: str(getattr(part, "value", part))),
        format_of_a_float,
    ),
    "the last comma of a printed list stays": (
        lambda patch: patch.setattr(library, "join_items", joined_with_a_comma),
        printed_pairs,
    ),
    "an empty part is not before the first character": (
        lambda patch: patch.setattr(library, "count_codes", count_of_a_known_part),
        parts_that_may_be_empty,
    ),
}


def count_of_a_known_part(codes, part):
    count = 0
    for start in range(len(codes) - len(part) + 1):
        if library.has_codes_at(codes, part, start):
            count += 1
    return count - 1 if len(part) == 0 else count


def joined_with_a_comma(items, codes_of):
    codes = []
    for item in items:
        codes.extend(codes_of(item))
        codes.extend([44, 32])
    return codes


@pytest.mark.full
@pytest.mark.parametrize("name", TWINS)
def test_twins_are_caught(name: str) -> None:
    """A wrong option, format or separator shows."""
    twin, function = TWINS[name]
    with broken(twin):
        assert fails(function)


def fails(function: Callable[..., Any]) -> bool:
    """Whether a function disagrees with Python, or is refused."""
    inputs = [(1.5,), (2.345,)] if function is format_of_a_float else NUMBERS
    try:
        return bool(list(disagreements(function, inputs, RUNS[:1], [[True]])))
    except tl.Invalid:
        return True


def triangle(k: Any) -> Any:
    return ["*"] if k == 0 else triangle(k - 1) + ["*" * (k + 1)]


def test_lists_of_strings_of_several_lengths() -> None:
    """A recursive function returns a list with strings of several lengths."""
    assert not list(disagreements(triangle, [(3,), (0,)], RUNS[:1], [[True]]))


def gray(n: Any) -> Any:
    if n == 0:
        return [""]
    words = gray(n - 1)
    return ["0" + word for word in words] + ["1" + word for word in words[::-1]]


def gray_of_digits(n: Any) -> Any:
    if n <= 1:
        return ["0", "1"]
    words = gray_of_digits(n - 1)
    return ["0" + word for word in words] + ["1" + word for word in words[::-1]]


def parentheses(n: Any) -> Any:
    def extend(opened: Any, closed: Any) -> Any:
        if opened == 0 and closed == 0:
            return [""]
        words = []
        if opened > 0:
            words += ["(" + word for word in extend(opened - 1, closed)]
        if closed > opened:
            words += [")" + word for word in extend(opened, closed - 1)]
        return words

    return extend(n, n)


def arrangements(n: Any) -> Any:
    if n == 0:
        return [""]
    words = []
    for word in arrangements(n - 1):
        for k in range(n):
            words.append(word[:k] + chr(96 + n) + word[k:])
    return words


def empty_or_words(p: Any) -> Any:
    words = [""] if p else ["no", "perhaps"]
    return words + ["yes"]


@pytest.mark.parametrize("function", [gray, gray_of_digits, parentheses, arrangements])
def test_recursive_functions_return_lists_of_words_that_get_longer(function: Any) -> None:
    """The words of each list have one length, which differs from call to call: the program has their code points."""
    assert not list(disagreements(function, [(3,), (0,), (1,)], RUNS[:1], [[True]]))


def test_words_of_several_lengths_beside_an_empty_one_are_options() -> None:
    """Lists whose words differ in length stay lists of choices."""
    assert not list(disagreements(empty_or_words, [(True,), (False,)], RUNS[:1], [[True]]))


@pytest.mark.parametrize(
    ("module", "attribute", "fault"),
    [
        (choices, "_columns_of_strings", lambda values, scopes, depth: fail(DifferentItems)),
    ],
)
def test_words_without_their_code_points_are_caught(module: Any, attribute: str, fault: Any) -> None:
    """Words of one list have no common length if their code points are not joined."""
    with broken(lambda patch: patch.setattr(module, attribute, fault)):
        try:
            found = list(disagreements(arrangements, [(2,)], RUNS[:1], [[True]]))
        except tl.Invalid as error:
            found = [str(error)]
    assert found


def fail(error: type[Exception]) -> Any:
    raise error


def repeat_last(n: Any) -> Any:
    words = ["a"]
    for _ in range(n):
        words.append(words[-1] + "b")
    return words


def append_digits(n: Any) -> Any:
    words = [("a", 0)]
    for k in range(n):
        words.append((words[-1][0] + str(k), k))
    return words


def prolong_each(n: Any) -> Any:
    one, other, rows = ["a"], ["b"], [""]
    for k in range(n):
        one.append(other[-1] + "a")
        other.append(one[-1] + "b")
        rows[-1] = rows[-1] + "*"
        if k % 3 == 2:
            rows.append("")
    return one, other, rows


def name_multiples(n: Any) -> Any:
    words = ["Fizz"]
    for k in range(1, n + 1):
        words.append("FizzBuzz" if k % 15 == 0 else "Fizz" if k % 3 == 0 else "F")
    return words


def repeat_in_recursion(n: Any) -> Any:
    words = ["a"]

    def repeat(k: Any) -> None:
        if k > 0:
            words.append(words[-1] + "b")
            repeat(k - 1)

    repeat(n)
    return words


def pass_on(n: Any) -> Any:
    def repeat(k: Any, words: Any) -> Any:
        return words if k == 0 else repeat(k - 1, [*words, words[-1] + "b"])

    return repeat(n, ["a"])


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(
    "function", [repeat_last, append_digits, prolong_each, name_multiples, repeat_in_recursion, pass_on]
)
def test_strings_in_lists_that_get_longer(function: Any) -> None:
    """A string that an item of a list becomes, longer in each iteration or call, is as in Python."""
    assert not list(disagreements(function, [(0,), (1,), (4,)], RUNS[:1], [[True]]))


def nest_pairs(n: Any) -> Any:
    pair = None
    for k in range(n):
        pair = (k, pair)
    return pair


def nest_lists(n: Any) -> Any:
    items = []
    for _ in range(n):
        items = [items]
    return items


def lengthen_tuple(n: Any) -> Any:
    items = (1,)
    for k in range(n):
        items = items + (k,)
    return items


def nest_in_recursion(n: Any) -> Any:
    items = ()

    def nest(k: Any) -> None:
        nonlocal items
        if k > 0:
            items = (k, items)
            nest(k - 1)

    nest(n)
    return items


@pytest.mark.full
@pytest.mark.parametrize("function", [nest_pairs, nest_lists, lengthen_tuple, nest_in_recursion])
def test_structures_that_grow_in_each_trip_are_refused(function: Any) -> None:
    """A loop or recursion is traced again a bounded number of times: what grows without end is refused."""
    with pytest.raises(tl.Invalid, match=r"V5: loop variable|F4: nest calls itself"):
        tl.function(function)(3)


@pytest.mark.full
def test_lists_without_longer_items_are_caught() -> None:
    """Without the code points of the strings in a list, the loop would have ever more options, and is refused."""
    twin = broken(lambda patch: patch.setattr(choices, "with_longer_items", lambda before, after, scope: after))
    with twin, pytest.raises(tl.Invalid):
        tl.function(append_digits)(3)


def padded(n, width):
    return f"{n:>{width}}|{n:<{width}}|{n:*>{width + 1}}|{n:{width}}|{n:0{width}d}|{n!s:{width}}|{7:{width}}|"


def test_widths_that_the_run_knows() -> None:
    """A field of a string or an integer may have a symbolic width."""
    assert list(disagreements(padded, [(5, 4), (-12, 6), (0, 0), (123, 2)], RUNS[:1])) == []


def aligned(n, width):
    return f"{n:<0{width}d}|{-n:*>0{width}d}|{-n:>0{width}d}|{'ab':<0{width}}|{'ab':>0{width}}"


def test_zeros_beside_an_alignment() -> None:
    """Beside an alignment, a zero before the width only fills the field."""
    assert tl.function(aligned)(5, 6) == aligned(5, 6)


def test_a_sign_as_a_width() -> None:
    """A negative width is a sign for a number, and an error for a string, as in Python."""
    assert tl.function(lambda n, width: f"{n:{width}}|")(7, -3) == "  7|"
    with pytest.raises(ValueError, match="Sign"):
        tl.function(lambda n, width: f"{n!s:{width}}")(7, -3)
