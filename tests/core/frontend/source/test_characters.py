"""Strings of symbolic integers: a program reads their characters as Python does, or refuses them in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import characters, library, methods


def is_palindrome(n):
    text = str(n)
    return text == text[::-1]


def constant_text(n):
    return str(n) == "121" or "7" in str(n)


def sum_of_digits(n):
    return sum(int(c) for c in str(n))


def list_of_digits(n):
    return [int(c) for c in str(n)]


def turned_number(n):
    return int(str(n)[::-1]) if n >= 0 else -int(str(-n)[::-1])


def length_of_text(n):
    return len(str(n))


def happy(n):
    seen = 0
    while n != 1 and seen < 20:
        n = sum(int(c) ** 2 for c in str(n))
        seen += 1
    return n == 1


def classes_and_ends(n):
    t = str(n)
    return isinstance(t, str), type(t) is str, t[0] == "-", t[0].isdigit(), t.startswith("1"), t.endswith("21")


def counted_characters(n):
    return str(n).count("1"), ord(str(n)[0]), str(n) > "12", str(n) <= "5"


def indexes(n):
    s = str(n)
    total = 0
    for i in range(len(s)):
        if i % 2 == 0:
            total += int(s[i])
        else:
            total += ord(s[i])
    return total


def numbered_characters(n):
    total = 0
    for i, c in enumerate(str(n)):
        if c in "13579":
            total += i * int(c)
        elif c == "2":
            total -= 100
    return total


def neighbours(n):
    s = str(n)
    return [int(a) - int(b) + int(c) for a, b, c in zip(s, s[1:], s[2:], strict=False)]


def luhn_sum(n):
    total = 0
    for i, c in enumerate(reversed(str(n))):
        d = int(c)
        if i % 2 == 1:
            d *= 2
            if d > 9:
                d -= 9
        total += d
    return total % 10 == 0


def without_first_digit(n):
    return int(str(n)[1:])


def two_ends(n):
    s = str(n)
    i, j = 0, len(s) - 1
    while i < j:
        if s[i] != s[j]:
            return False
        i += 1
        j -= 1
    return True


def truth_of_text(n):
    s = str(n)[1:]
    if s:
        return 1
    return 2 if not s else 3


def text_in_an_arm(n):
    if n > 100:
        t = str(n)
        return len(t) + int(t[0])
    return 0


def text_as_argument(n):
    def f(t):
        return len(t) + int(t[-1])

    return f(str(n)) + f(str(n + 1))


def armstrong(n):
    power = len(str(n))
    return n == sum(int(d) ** power for d in str(n))


def any_all(n):
    return any(c == "0" for c in str(n)), all(c.isdigit() for c in str(n)), max(int(c) for c in str(n)) if n >= 0 else 0


def joined_texts(n):
    return int("".join([str(n), "0", str(n)])) if n > 0 else 0


def text_and_number(n):
    return str(n) == n, str(n) != n, [str(n)] == [n]


def binary_digits(n):
    return bin(n).count("1"), len(bin(n)), int(bin(n)[-1]), bin(n)[2:] == "101"


def longest_run_of_ones(n):
    best = run = 0
    for c in bin(n)[2:]:
        if c == "1":
            run += 1
            best = max(best, run)
        else:
            run = 0
    return best


def joined_from_the_end(n):
    return int("".join(reversed(str(n)))) if n > 0 else 0


def joined_numbers(n):
    t = "".join(str(k) for k in range(n % 13))
    return len(t), t == t[::-1]


def text_or_word(n):
    t = str(n) if n > 0 else "zero"
    return len(t)


def least_integer(n):
    return len(str(-9223372036854775807 - 1 + n * 0)), int(str(-9223372036854775807 - 1 + n * 0))


def mapped_digits(n):
    return sum(map(int, str(n)))


def sorted_digits(n):
    ds = list(map(int, str(n)))
    ds.sort()
    return ds


def palindromes(n):
    return [k for k in range(n % 130) if is_palindrome(str(k))]


def text_without(n):
    return 1 if "2" not in str(n) else 2


def first_and_last(n):
    return int(str(n)[0]) + int(str(n)[len(str(n)) - 1])


def digits_from_the_end(n):
    return [int(d) for d in str(abs(n))][::-1]


def counts_of_digits(n):
    counts = [0] * 10
    for c in str(abs(n)):
        counts[int(c)] += 1
    return counts


def counts_by_code(n):
    counts = {}
    for c in str(abs(n)):
        k = ord(c) - ord("0")
        counts[k] = counts.get(k, 0) + 1
    return counts


def number_or_error(n):
    try:
        return int(str(n)[1:])
    except ValueError:
        return -1


def two_numbers(n):
    return int(str(n) + "0" + str(n)) if n > 0 else 0, str(n) + "1" == "1" + str(n), len(f"{n}{n}0")


def in_collections(n):
    return str(n) in ("121", "5"), str(n) in {"7": 1}, str(n) in ["10"]


def chain_of_characters(n):
    s = str(n)
    return s[0] == s[-1] == "1", s > "3" and s < "7"


def next_palindrome(n):
    k = n
    while str(k) != str(k)[::-1]:
        k += 1
    return k


def carried_by_a_loop(n):
    text = ""
    while n > 0:
        text = str(n % 2) + text
        n //= 2
    return int(text or "0")


def printed_backwards(n):
    print(str(n)[::-1])


def joined_by_commas(n):
    return len(", ".join(str(k) for k in range(n % 13)))


READING: tuple[Callable[..., Any], ...] = (
    is_palindrome,
    constant_text,
    sum_of_digits,
    list_of_digits,
    turned_number,
    length_of_text,
    happy,
    classes_and_ends,
    counted_characters,
    indexes,
    numbered_characters,
    neighbours,
    luhn_sum,
    without_first_digit,
    two_ends,
    truth_of_text,
    text_in_an_arm,
    text_as_argument,
    armstrong,
    any_all,
    joined_texts,
    text_and_number,
    binary_digits,
    longest_run_of_ones,
    joined_from_the_end,
    joined_numbers,
    text_or_word,
    least_integer,
    mapped_digits,
    sorted_digits,
    palindromes,
    text_without,
    first_and_last,
    digits_from_the_end,
    counts_of_digits,
    counts_by_code,
    number_or_error,
    chain_of_characters,
    next_palindrome,
    two_numbers,
    in_collections,
    carried_by_a_loop,
    printed_backwards,
    joined_by_commas,
)


@pytest.mark.inner(first=4)
@pytest.mark.parametrize("function", READING, ids=lambda function: function.__name__)
def test_characters(function: Any) -> None:
    """Comparisons, loops, indexes, lengths and numbers of `str(n)` are those of Python, of negative numbers, too."""
    numbers = [(12,), (99,)] if function is next_palindrome else [(121,), (5,), (-37,), (1000,)]
    assert list(disagreements(function, numbers, RUNS[:1])) == []


@pytest.mark.full(first=1)
@pytest.mark.parametrize("function", (luhn_sum, is_palindrome, binary_digits), ids=lambda function: function.__name__)
def test_characters_on_engines(function: Any) -> None:
    """All schedules and engines agree on them."""
    assert list(disagreements(function, [(121,), (-37,)], [*RUNS, ("compiled", "waves")])) == []


def of_a_float(n):
    return len(str(n / 2))


def key_of_a_float(n):
    return {str(n / 2): n}


@pytest.mark.parametrize("function", (of_a_float, key_of_a_float), ids=lambda function: function.__name__)
def test_other_uses_are_refused(function: Any) -> None:
    """What a program cannot do with a string is refused, with a hint."""
    with pytest.raises((tl.Invalid, tl.Usage), match="hint"):
        tl.function(function)(12)


def text_and_prefix(n):
    return str(n) == "1"


TWINS: dict[str, tuple[Callable[[MonkeyPatch], None], Callable[..., Any]]] = {
    "a string equals its prefix": (
        lambda patch: patch.setattr(library, "same_codes", lambda codes, others: codes[0] == others[0]),
        text_and_prefix,
    ),
    "a digit is its code point": (
        lambda patch: patch.setattr(library, "number_of_codes", lambda codes: codes[0]),
        sum_of_digits,
    ),
    "a minus sign is missing": (
        lambda patch: patch.setattr(characters.library, "codes_of_integer", digits_only),
        length_of_text,
    ),
}


def digits_only(n):
    codes, rest = [], n if n < 0 else -n
    while True:
        digit = -(rest % -10)
        codes.append(48 + digit)
        rest = (rest + digit) // 10
        if rest == 0:
            break
    return codes[::-1]


@pytest.mark.full
@pytest.mark.parametrize("name", TWINS)
def test_twins_are_caught(name: str) -> None:
    """A wrong comparison, number or sign shows."""
    twin, function = TWINS[name]
    with broken(twin):
        assert list(disagreements(function, [(121,), (-37,)], RUNS[:1], [[True]]))


def characters_in_order(n):
    ordered = sorted(str(n))
    ordered.append("!")
    return ordered, ordered[0], "".join(sorted(f"{n}.{n}", reverse=True)), len(ordered)


def are_anagrams(a, b):
    return sorted(str(a)) == sorted(str(b))


def strings_in_order(n):
    return sorted([f"{n}", "12", f"{3 * n}"]), max(f"{n}", "12"), min((1, str(n)), (1, "9"))


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (strings_in_order, [(3,), (120,), (-4,)]),
        (characters_in_order, [(52143,), (7,), (1010,)]),
        (are_anagrams, [(12, 21), (12, 22), (12, 221), (5, 5)]),
    ],
)
def test_characters_are_sorted(function: Any, inputs: Any) -> None:
    """`sorted` of a symbolic string is the list of its characters, by their code points; strings are sorted, too."""
    assert not list(disagreements(function, inputs, RUNS[:1]))


def test_characters_sorted_the_wrong_way_are_caught() -> None:
    """The law fails if `reverse` is ignored."""
    sound = methods.sort_characters
    with broken(lambda patch: patch.setattr(methods, "sort_characters", lambda text, is_reversed: sound(text, False))):
        assert list(disagreements(characters_in_order, [(52143,)], RUNS[:1]))


def test_strings_that_are_not_sorted_are_caught() -> None:
    """The law fails if strings keep their order."""
    with broken(lambda patch: patch.setattr(methods, "sort_items", lambda is_less, items, *_: list(items))):
        assert list(disagreements(strings_in_order, [(3,)], RUNS[:1]))


def other_bases(n):
    return hex(n), oct(n), bin(n), hex(n)[2:].upper(), int(oct(n)[-1]), len(hex(n)), format(n, "x"), format(n)


def numbers_in_bases(n):
    text = hex(n)
    return int(text, 16), int(text.upper(), base=16), int(f"{n:b}", 2), int(oct(n), 8), int(str(n), 36)


def wrong_digits(n):
    return int(str(n), 8)


def extreme_characters(n):
    return max(str(n)), min(str(n)), max(f"{n:08d}"), ord(max(hex(n))), max(str(n), key=lambda c: -ord(c))


FORMATS = (
    "5d",
    "05d",
    "+d",
    " d",
    "<6",
    "^7",
    "*^8",
    "=+8",
    "x",
    "#X",
    "#010b",
    "o",
    "08x",
    "0=9d",
    ">#6o",
    "-d",
    "03",
)


def formatted_integers(n):
    texts = [f"{n:5d}", f"{n:05d}", f"{n:+d}", f"{n: d}", f"{n:<6}", f"{n:^7}", f"{n:*^8}", f"{n:=+8}", f"{n:x}",
             f"{n:#X}", f"{n:#010b}", f"{n:o}", f"{n:08x}", f"{n:0=9d}", f"{n:>#6o}", f"{n:-d}", f"{n:03}"]  # fmt: skip
    return [text[::-1] for text in texts]


@pytest.mark.parametrize("function", (other_bases, extreme_characters, numbers_in_bases, wrong_digits))
def test_bases_and_extreme_characters(function: Any) -> None:
    """`hex`, `oct`, `format`, and the greatest and least character, of positive and negative numbers."""
    assert not list(disagreements(function, [(0,), (255,), (-37,), (1000,)], RUNS[:1], [[True]]))


@pytest.mark.full(first=2)
@pytest.mark.parametrize("specification", FORMATS)
def test_characters_of_formats(specification: str) -> None:
    """The characters of an integer in a format are those of Python."""

    def backwards(n: Any) -> Any:
        return format(n, specification)[::-1]

    program = tl.function(backwards)
    for number in (0, -7, 1234):
        assert program(number) == backwards(number)


@pytest.mark.full
def test_characters_of_f_strings() -> None:
    """Formats in f-strings have the same characters."""
    assert not list(disagreements(formatted_integers, [(5,), (-1234,)], RUNS[:1], [[True]]))


def test_broken_alignment_is_caught() -> None:
    """If zeros come before the sign, a format differs."""

    def fill_first(n, base, letter, prefix, sign, fill, alignment, width):
        digits = library.codes_of_digits(n, base, letter)
        start = [45] if n < 0 else []
        return [fill] * max(width - len(start) - len(digits), 0) + start + digits

    def backwards(n: Any) -> Any:
        return f"{n:05d}"[::-1]

    with broken(lambda patch: patch.setattr(library, "format_integer", fill_first)):
        assert tl.function(backwards)(-37) != backwards(-37)
