"""Counterparts of builtins and library functions, in plain Python: they are converted where an argument is symbolic."""

# The functions are code that the converter reads: their types are those of Python's functions.
# mypy: ignore-errors
# ruff: noqa: SIM110, SIM108

from __future__ import annotations

import math


def power_modulo(base, exponent, modulus):
    """`pow(base, exponent, modulus)`."""
    if modulus == 0:
        raise ValueError("pow() 3rd argument cannot be 0")
    size = abs(modulus)
    base %= size
    if exponent < 0:
        divisor, inverse, rest, next_inverse = base, 1, size, 0
        while rest != 0:
            quotient = divisor // rest
            divisor, rest = rest, divisor - quotient * rest
            inverse, next_inverse = next_inverse, inverse - quotient * next_inverse
        if divisor != 1:
            raise ValueError("base is not invertible for the given modulus")
        base, exponent = inverse % size, -exponent
    result = 1
    while exponent > 0:
        if exponent & 1:
            result = result * base % size
        base = base * base % size
        exponent >>= 1
    return result % modulus


def degrees(x):
    """`math.degrees(x)`, rounded as CPython does."""
    return x * (180.0 / math.pi)


def radians(x):
    """`math.radians(x)`, rounded as CPython does."""
    return x * (math.pi / 180.0)


def is_close(a, b):
    """`math.isclose(a, b)`, of floats."""
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    difference = abs(b - a)
    return difference <= abs(1e-09 * b) or difference <= abs(1e-09 * a)


def split_float(x):
    """`math.modf(x)`."""
    whole = x - math.fmod(x, 1.0) if math.isfinite(x) else x
    return math.copysign(0.0 if math.isinf(x) else x - whole, x), math.copysign(whole, x)


def float_power(x, y):
    """`math.pow(x, y)`, of floats."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return x**y
    if (x == 0 and y < 0) or (x < 0 and y % 1.0 != 0):
        raise ValueError("math domain error")
    result = x**y
    if math.isinf(result):
        raise OverflowError("math range error")
    return result


def power_of_two(x):
    """`math.exp2(x)`."""
    return float_power(2.0, x)


def integer_root(n):
    """`math.isqrt(n)`."""
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    low, high = 0, 3037000500  # whose square is above 2**63 - 1
    while high - low > 1:
        middle = (low + high) // 2
        if middle * middle <= n:
            low = middle
        else:
            high = middle
    return low


def greatest_common_divisor(a, b):
    """`math.gcd(a, b)`."""
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


def least_common_multiple(a, b):
    """`math.lcm(a, b)`."""
    if a == 0 or b == 0:
        return 0
    return abs(a // greatest_common_divisor(a, b) * b)


def check_counts(n, k):
    """Raise ValueError, as `math.comb(n, k)` does, if a number is negative."""
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")


def combination_count(n, k):
    """`math.comb(n, k)`. No intermediate result is above the last one, so none wraps unless that does."""
    check_counts(n, k)
    result = 1 if k <= n else 0
    k = min(k, n - k)
    for i in range(1, k + 1):
        divisor = greatest_common_divisor(result, i)
        result = result // divisor * ((n - k + i) // (i // divisor))
    return result


def permutation_count(n, k):
    """`math.perm(n, k)`."""
    check_counts(n, k)
    result = 1 if k <= n else 0
    for i in range(min(k, n)):
        result *= n - i
    return result


def round_integer(n, unit):
    """`round(n, digits)`, with `unit` equal to 10 to the power of `-digits`."""
    quotient, rest = n // unit, n % unit
    if 2 * rest > unit or (2 * rest == unit and quotient % 2 == 1):
        quotient += 1
    return quotient * unit


def reduce_items(function, items, *start):
    """`functools.reduce(function, items, *start)`."""
    values = items if start else list(items)
    if not start and not values:
        raise TypeError("reduce() of empty iterable with no initial value")
    total = start[0] if start else values[0]
    for item in values if start else values[1:]:
        total = function(total, item)
    return total


def factorial(n):
    """`math.factorial(n)`."""
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    result = 1
    for k in range(2, n + 1):
        result *= k
    return result


def find_item(items, value):
    """`items.index(value)`."""
    for position, item in enumerate(items):
        if item == value:
            return position
    raise ValueError("value is not in list")


def count_item(items, value):
    """`items.count(value)`."""
    count = 0
    for item in items:
        if item == value:
            count += 1
    return count


def compare_items(left, right):
    """A number below, equal to or above 0, as the list `left` is less than, equal to or greater than `right`."""
    for x, y in zip(left, right, strict=False):
        if x != y:
            return -1 if x < y else 1
    return len(left) - len(right)


def map_items(function, *iterables):
    """`map(function, *iterables)`."""
    if len(iterables) == 1:
        return (function(item) for item in iterables[0])
    return (function(*items) for items in zip(*iterables, strict=False))


def filter_items(function, iterable):
    """`filter(function, iterable)`."""
    if function is None:
        return (item for item in iterable if item)
    return (item for item in iterable if function(item))


def count_from(start=0, step=1):
    """`itertools.count(start, step)`."""
    while True:
        yield start
        start += step


def push_items(items, add):
    """Calls `add` on each item."""
    for item in items:
        add(item)


def push_until(items, add):
    """Calls `add` on each item until it returns a true value; returns whether it has."""
    for item in items:
        if add(item):
            return True
    return False


def has_item(items, value):
    """`value in items`."""
    for item in items:
        if item == value:
            return True
    return False


def same_items(items, others, take):
    """`items == others`, of one length; `take` takes the item at a position."""
    for position in range(len(items)):
        if take(items, position) != take(others, position):
            return False
    return True


def pop_entry(table, key):
    """`table.pop(key)`."""
    value = table[key]
    del table[key]
    return value


def pop_entry_or(table, key, default):
    """`table.pop(key, default)`."""
    if key in table:
        value = table[key]
        del table[key]
        return value
    return default


def assign_pair(table, pair):
    """Assign the second item of a pair to an entry of a dict, whose key is the first one."""
    key, value = pair
    table[key] = value


def update_table(table, pairs):
    """`table.update(pairs)`."""
    for key, value in pairs:
        table[key] = value


def same_tables(pairs, others, count):
    """Whether a dict with these items equals one with this number of others."""
    same = len(pairs) == count
    for key, value in pairs:
        if same and (key not in others or others[key] != value):
            same = False
    return same


def count_items(table, items):
    """`table.update(items)`, of a Counter."""
    for item in items:
        table[item] += 1


def set_of(items):
    """`set(items)`."""
    result = set()
    for item in items:
        result.add(item)
    return result


def set_union(items, _, others):
    """`items | others`."""
    result = set()
    for item in items:
        result.add(item)
    for item in others:
        result.add(item)
    return result


def set_intersection(items, table, _):
    """`items & table`."""
    result = set()
    for item in items:
        if item in table:
            result.add(item)
    return result


def set_difference(items, table, _):
    """`items - table`."""
    result = set()
    for item in items:
        if item not in table:
            result.add(item)
    return result


def set_symmetric_difference(items, _, others):
    """`items ^ others`."""
    result = set()
    for item in items:
        result.add(item)
    for item in others:
        if item in items:
            result.discard(item)
        else:
            result.add(item)
    return result


def is_subset(items, table):
    """`items <= table`."""
    for item in items:
        if item not in table:
            return False
    return True


def is_same_set(items, others, table):
    """`items == table`, of sets, where `others` are the items of the latter."""
    if len(items) != len(others):
        return False
    for item in items:
        if item not in table:
            return False
    return True


def to_lists(array, rank):
    """`array.tolist()`."""
    return list(array) if rank == 1 else [to_lists(row, rank - 1) for row in array]


def extend_items(items, iterable):
    """`items.extend(iterable)`."""
    for item in iterable:
        items.append(item)


def apply_key(items, key):
    """The keys of items, in a list."""
    return [key(item) for item in items]


def pad_text(text, width, fill, is_left, is_number):
    """A string, filled up to a width, as by a format: the sign of a width is one of a number."""
    if width < 0:
        if not is_number:
            raise ValueError("Sign not allowed in string format specifier")
        width = -width
    return text.ljust(width, fill) if is_left else text.rjust(width, fill)


def pad_with_zeros(text, width):
    """The digits of a number, filled up to a width by zeros behind the sign."""
    if width < 0:
        raise ValueError("Invalid format specifier")
    return text.zfill(width)


def join_items(items, codes_of):
    """The code points of the texts of items, with commas between them."""
    codes = []
    for item in items:
        codes.extend(codes_of(item))
        codes.extend([44, 32])
    return codes[:-2]


def join_texts(separator, items):
    """`separator.join(map(str, items))`."""
    return separator.join([str(item) for item in items])


def end_line(line):
    """Print what `print(..., end=...)` has left of a line."""
    if line.text:
        print()


def join_entries(pairs, codes_of):
    """The code points of the texts of a dict's entries, with commas between them."""
    codes = []
    for key, value in pairs:
        codes.extend(codes_of(key, value))
        codes.extend([44, 32])
    return codes[:-2]


def codes_of_bool(value):
    """The code points of `str(value)`."""
    return [84, 114, 117, 101] if value else [70, 97, 108, 115, 101]


def codes_of_integer(n):
    """The code points of `str(n)`."""
    codes = codes_of_digits(n, 10, 97)
    return [45, *codes] if n < 0 else codes


def codes_of_digits(n, base, letter):
    """The code points of the digits of an integer, without its sign; `letter` is the code point of the digit ten."""
    codes, rest = [], n if n < 0 else -n  # -2**63 has no positive counterpart
    while True:
        digit = -(rest % -base)
        codes.append(48 + digit if base <= 10 or digit < 10 else letter + digit - 10)
        rest = (rest + digit) // base
        if rest == 0:
            break
    return codes[::-1]


def format_integer(n, base, letter, prefix, sign, fill, alignment, width):
    """The code points of `format(n, specification)`; `prefix` and `sign` are those of a number that is not negative."""
    digits = codes_of_digits(n, base, letter)
    start = [45, *prefix] if n < 0 else sign + prefix
    filling = [fill] * max(width - len(start) - len(digits), 0) if width > 0 else []
    if alignment == "<":
        return start + digits + filling
    if alignment == "^":
        return filling[: len(filling) // 2] + start + digits + filling[len(filling) // 2 :]
    return start + filling + digits if alignment == "=" else filling + start + digits


def number_of_codes(codes):
    """`int(text)`, of the code points of a text without spaces and underscores."""
    number, sign, digits = 0, -1, 0  # the negative numbers reach farther than the positive ones
    for position, code in enumerate(codes):
        if position == 0 and (code == 45 or code == 43):
            sign = 1 if code == 45 else -1
        elif code < 48 or code > 57:
            check_literal(code)
            raise ValueError("invalid literal for int() with base 10")
        else:
            number = number * 10 - (code - 48)
            digits += 1
    if digits == 0:
        raise ValueError("invalid literal for int() with base 10")
    return sign * number


def number_in_base(codes, base, letter):
    """`int(text, base)`, of the code points of a text without spaces and underscores; `letter` is the code point of the
    letter of the prefix of this base, or 0."""
    number, sign, digits, may_be_prefix = 0, -1, 0, letter > 0
    for position, code in enumerate(codes):
        lower = code + 32 if 65 <= code <= 90 else code
        digit = lower - 87 if 97 <= lower <= 122 else (code - 48 if code <= 57 else -1)
        if position == 0 and (code == 45 or code == 43):
            sign = 1 if code == 45 else -1
        elif lower == letter and may_be_prefix and digits == 1 and number == 0:
            digits, may_be_prefix = 0, False
        elif digit < 0 or digit >= base:
            check_literal(code)
            raise ValueError("invalid literal for int()")
        else:
            number = number * base - digit
            digits += 1
    if digits == 0:
        raise ValueError("invalid literal for int()")
    return sign * number


def check_literal(code):
    """Fails for a code point that Python may admit in the text of an integer, and that `number_of_codes` does not."""
    if code > 127 or code == 95 or code == 32 or (code >= 9 and code <= 13):
        raise NotImplementedError("int() of a text with spaces, underscores or digits of other scripts")


def check_ascii(code):
    """Fails for a code point whose kind of character is not known to a program."""
    if code > 127:
        raise NotImplementedError("a method of strings meets a character that is not ASCII")


def check_code(code):
    """The code point, which `chr` admits."""
    if code < 0 or code > 1114111:
        raise ValueError("chr() arg not in range(0x110000)")
    return code


def are_digits(codes):
    """Whether all code points are those of digits, and there is one."""
    for code in codes:
        if code < 48 or code > 57:
            check_ascii(code)
            return False
    return len(codes) > 0


def are_letters(codes):
    """Whether all code points are those of letters, and there is one."""
    for code in codes:
        if not (65 <= code <= 90 or 97 <= code <= 122):
            check_ascii(code)
            return False
    return len(codes) > 0


def are_spaces(codes):
    """Whether all code points are those of spaces, and there is one."""
    for code in codes:
        if not (9 <= code <= 13 or 28 <= code <= 32):
            check_ascii(code)
            return False
    return len(codes) > 0


def upper_codes(codes):
    """The code points of `text.upper()`."""
    result = []
    for code in codes:
        check_ascii(code)
        result.append(code - 32 if 97 <= code <= 122 else code)
    return result


def lower_codes(codes):
    """The code points of `text.lower()`."""
    result = []
    for code in codes:
        check_ascii(code)
        result.append(code + 32 if 65 <= code <= 90 else code)
    return result


def strip_codes(codes, others):
    """The code points of `text.lstrip(characters)`."""
    start = 0
    while start < len(codes) and codes[start] in others:
        start += 1
    return codes[start:]


def strip_end_codes(codes, others):
    """The code points of `text.rstrip(characters)`."""
    end = len(codes)
    while end > 0 and codes[end - 1] in others:
        end -= 1
    return codes[:end]


def filling_codes(count, code):
    """This many copies of a code point."""
    codes = []
    for _ in range(count):
        codes.append(code)
    return codes


def fill_with_zeros(codes, width):
    """The code points of `text.zfill(width)`."""
    has_sign = len(codes) > 0 and (codes[0] == 43 or codes[0] == 45)
    start = 1 if has_sign else 0
    return codes[:start] + filling_codes(width - len(codes), 48) + codes[start:]


def has_codes_at(codes, part, start):
    """Whether a text has another one at a position."""
    for position in range(len(part)):
        if codes[start + position] != part[position]:
            return False
    return True


def find_codes(codes, part):
    """`text.find(part)`."""
    for start in range(len(codes) - len(part) + 1):
        if has_codes_at(codes, part, start):
            return start
    return -1


def index_codes(codes, part):
    """`text.index(part)`."""
    position = find_codes(codes, part)
    if position < 0:
        raise ValueError("substring not found")
    return position


def starts_with(codes, part):
    """`text.startswith(part)`."""
    return len(part) <= len(codes) and has_codes_at(codes, part, 0)


def ends_with(codes, part):
    """`text.endswith(part)`."""
    return len(part) <= len(codes) and has_codes_at(codes, part, len(codes) - len(part))


def count_codes(codes, part):
    """`text.count(part)`."""
    if len(part) == 0:
        return len(codes) + 1
    count = start = 0
    while start + len(part) <= len(codes):
        if has_codes_at(codes, part, start):
            count += 1
            start += len(part)
        else:
            start += 1
    return count


def replace_codes(codes, part, other):
    """The code points of `text.replace(part, other)`. An empty part is before each character, and at the end."""
    result, start = [], 0
    if len(part) == 0:
        result.extend(other)
    while start < len(codes):
        if len(part) == 0:
            result.append(codes[start])
            result.extend(other)
            start += 1
        elif start + len(part) <= len(codes) and has_codes_at(codes, part, start):
            result.extend(other)
            start += len(part)
        else:
            result.append(codes[start])
            start += 1
    return result


def same_codes(codes, others):
    """`codes == others`."""
    if len(codes) != len(others):
        return False
    for position in range(len(codes)):
        if codes[position] != others[position]:
            return False
    return True


def different_codes(codes, others):
    """`codes != others`."""
    return not same_codes(codes, others)


def is_less(left, right):
    """`left < right`, of parameters, which may be tuples."""
    return left < right


def extreme_item(items, key, is_maximum):
    """`max(items, key=key)` or `min(items, key=key)`."""
    if len(items) == 0:
        raise ValueError("max() arg is an empty sequence" if is_maximum else "min() arg is an empty sequence")
    best, best_key = items[0], items[0] if key is None else key(items[0])
    for item in items[1:]:
        item_key = item if key is None else key(item)
        if is_less(best_key, item_key) if is_maximum else is_less(item_key, best_key):
            best, best_key = item, item_key
    return best


def heap_push(heap, item):
    """`heapq.heappush(heap, item)`."""
    heap.append(item)
    move_up(heap, 0, len(heap) - 1)


def move_up(heap, start, position):
    """Move the item at a position of a heap up to its place below `start`."""
    item = heap[position]
    while position > start:
        parent = (position - 1) // 2
        if is_less(item, heap[parent]):
            heap[position] = heap[parent]
            position = parent
        else:
            break
    heap[position] = item


def move_down(heap, position):
    """Move the item at a position of a heap to its place: first to a leaf, along the smaller children, then up."""
    end, start, item = len(heap), position, heap[position]
    child = 2 * position + 1
    while child < end:
        right = child + 1
        if right < end and not is_less(heap[child], heap[right]):
            child = right
        heap[position] = heap[child]
        position = child
        child = 2 * position + 1
    heap[position] = item
    move_up(heap, start, position)


def heap_pop(heap):
    """`heapq.heappop(heap)`."""
    if len(heap) == 0:
        raise IndexError("index out of range")
    last = heap.pop()
    if len(heap) > 0:
        last, heap[0] = heap[0], last
        move_down(heap, 0)
    return last


def heap_replace(heap, item):
    """`heapq.heapreplace(heap, item)`."""
    if len(heap) == 0:
        raise IndexError("index out of range")
    smallest = heap[0]
    heap[0] = item
    move_down(heap, 0)
    return smallest


def heap_push_pop(heap, item):
    """`heapq.heappushpop(heap, item)`."""
    if len(heap) > 0 and is_less(heap[0], item):
        item, heap[0] = heap[0], item
        move_down(heap, 0)
    return item


def heapify(heap):
    """`heapq.heapify(heap)`."""
    for position in range(len(heap) // 2 - 1, -1, -1):
        move_down(heap, position)


def bisect_left(items, x, lo=0, hi=None):
    """`bisect.bisect_left(items, x, lo, hi)`."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    low, high = lo, len(items) if hi is None else hi
    while low < high:
        middle = (low + high) // 2
        if is_less(items[middle], x):
            low = middle + 1
        else:
            high = middle
    return low


def bisect_right(items, x, lo=0, hi=None):
    """`bisect.bisect_right(items, x, lo, hi)`."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    low, high = lo, len(items) if hi is None else hi
    while low < high:
        middle = (low + high) // 2
        if is_less(x, items[middle]):
            high = middle
        else:
            low = middle + 1
    return low


def insert_left(items, x, lo=0, hi=None):
    """`bisect.insort_left(items, x, lo, hi)`."""
    items.insert(bisect_left(items, x, lo, hi), x)


def insert_right(items, x, lo=0, hi=None):
    """`bisect.insort_right(items, x, lo, hi)`."""
    items.insert(bisect_right(items, x, lo, hi), x)


def rotate_items(items, n):
    """`items.rotate(n)`, of a deque."""
    if len(items) > 0:
        for _ in range(n % len(items)):
            items.appendleft(items.pop())


def pairs_of_two(first, second):
    """`itertools.product(first, second)`."""
    for x in first:
        for y in second:
            yield x, y


def triples_of_three(first, second, third):
    """`itertools.product(first, second, third)`."""
    for x in first:
        for y in second:
            for z in third:
                yield x, y, z


def tuples_of_four(first, second, third, fourth):
    """`itertools.product(first, second, third, fourth)`."""
    for x in first:
        for y in second:
            for z in third:
                for w in fourth:
                    yield x, y, z, w


def combinations_of_two(items):
    """`itertools.combinations(items, 2)`."""
    for i in range(len(items)):
        for j in range(i + 1, len(items)):
            yield items[i], items[j]


def combinations_of_three(items):
    """`itertools.combinations(items, 3)`."""
    for i in range(len(items)):
        for j in range(i + 1, len(items)):
            for k in range(j + 1, len(items)):
                yield items[i], items[j], items[k]


def repeated_combinations_of_two(items):
    """`itertools.combinations_with_replacement(items, 2)`."""
    for i in range(len(items)):
        for j in range(i, len(items)):
            yield items[i], items[j]


def permutations_of_two(items):
    """`itertools.permutations(items, 2)`."""
    for i in range(len(items)):
        for j in range(len(items)):
            if i != j:
                yield items[i], items[j]


def add_items(total, item):
    """`total + item`, of parameters."""
    return total + item


def accumulate_items(items, function):
    """`itertools.accumulate(items, function)`, of a list."""
    if len(items) > 0:
        total = items[0]
        yield total
        for item in items[1:]:
            total = function(total, item)
            yield total


def accumulate_each(items, function):
    """`itertools.accumulate(items, function)`, of items that are handed over."""
    total, has_total = False, False
    for item in items:
        total = function(total, item) if has_total else item
        has_total = True
        yield total


def accumulate_onto(items, function, total):
    """`itertools.accumulate(items, function, initial=total)`."""
    yield total
    for item in items:
        total = function(total, item)
        yield total


def chain_items(*iterables):
    """`itertools.chain(*iterables)`."""
    for items in iterables:
        yield from items


def chain_all(iterables):
    """`itertools.chain.from_iterable(iterables)`."""
    for items in iterables:
        yield from items


def pair_items(items):
    """`itertools.pairwise(items)`, of a list."""
    for position in range(len(items) - 1):
        yield items[position], items[position + 1]


def pair_each(items):
    """`itertools.pairwise(items)`, of items that are handed over."""
    previous, has_previous = False, False
    for item in items:
        if has_previous:
            yield previous, item
        previous, has_previous = item, True


def group_items(items, key):
    """`itertools.groupby(items, key)`, with lists in place of the iterators of groups: each is empty after its turn."""
    group, previous = [], False
    for item in items:
        own = item if key is None else key(item)
        if group and own != previous:
            yield previous, group
            group.clear()
            group = []
        group.append(item)
        previous = own
    if group:
        yield previous, group
        group.clear()


def order_by_columns(count, order, sort):
    """An order by this many columns, the first one first; `sort` orders by one column what has an order already."""
    for k in range(count):
        order = sort(count - 1 - k, order)
    return order


def slice_until(items, stop, own):
    """`itertools.islice(items, stop)`, which `own` makes the only user of the items."""
    if stop < 0:
        raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if stop > 0:
        for position, item in enumerate(own(items), 1):
            yield item
            if position >= stop:
                break


def slice_list(items, start, stop, step):
    """`itertools.islice(items, start, stop, step)`, of a list; `stop` may be None."""
    if start < 0 or (stop is not None and stop < 0):
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if step < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")
    yield from items[start:stop:step]


def take_while(predicate, items):
    """`itertools.takewhile(predicate, items)`."""
    for item in items:
        if not predicate(item):
            break
        yield item


def drop_while(predicate, items):
    """`itertools.dropwhile(predicate, items)`."""
    is_dropping = True
    for item in items:
        is_dropping = is_dropping and bool(predicate(item))
        if not is_dropping:
            yield item


def filter_false(predicate, items):
    """`itertools.filterfalse(predicate, items)`."""
    for item in items:
        if not (item if predicate is None else predicate(item)):
            yield item


def spread_arguments(function, items):
    """`itertools.starmap(function, items)`."""
    for arguments in items:
        yield function(*arguments)


def select_items(items, selectors):
    """`itertools.compress(items, selectors)`."""
    for item, is_selected in zip(items, selectors, strict=False):
        if is_selected:
            yield item


def repeat_item(item, times):
    """`itertools.repeat(item, times)`."""
    for _ in range(times):
        yield item


def pair_longest(first, second, filling):
    """`itertools.zip_longest(first, second, fillvalue=filling)`, of lists."""
    for position in range(max(len(first), len(second))):
        yield (
            first[position] if position < len(first) else filling,
            second[position] if position < len(second) else filling,
        )


def multiply_items(items, start):
    """`math.prod(items, start=start)`."""
    product = start
    for item in items:
        product = product * item
    return product


def remainder(x, y):
    """`math.remainder(x, y)`, by the algorithm of CPython, which is exact."""
    if math.isnan(x) or math.isnan(y):
        return x if math.isnan(x) else y
    if math.isinf(x) or y == 0:
        raise ValueError("math domain error")
    if math.isinf(y):
        return x
    size, divisor = abs(x), abs(y)
    rest = math.fmod(size, divisor)
    gap = divisor - rest
    if rest > gap:
        rest = -gap
    elif rest == gap:
        rest = rest - 2.0 * math.fmod(0.5 * (size - rest), divisor)
    return math.copysign(1.0, x) * rest


def scale_by_power(x, exponent):
    """`math.ldexp(x, exponent)`. Only the last product may round: the others stay far from the subnormal numbers."""
    if x == 0.0 or not math.isfinite(x):
        return x
    result, rest = x, max(min(exponent, 3000), -3000)
    while rest > 1000:
        result, rest = result * 2.0**1000, rest - 1000
    while rest < -1022:  # then the last exponent is below -53, which no second rounding survives
        result, rest = result * 2.0**-969, rest + 969
    result = result * 2.0 ** float(rest)
    if math.isinf(result):
        raise OverflowError("math range error")
    return result


LANCZOS_OFFSET = 6.024680040776729583740234375
"""The offset g of the approximation by Lanczos."""
LANCZOS_NUMERATOR = (
    23531376880.410759688572007674451636754734846804940,
    42919803642.649098768957899047001988850926355848959,
    35711959237.355668049440185451547166705960488635843,
    17921034426.037209699919755754458931112671403265390,
    6039542586.3520280050642916443072979210699388420708,
    1439720407.3117216736632230727949123939715485786372,
    248874557.86205415651146038641322942321632125127801,
    31426415.585400194380614231628318205362874684987640,
    2876370.6289353724412254090516208496135991145378768,
    186056.26539522349504029498971604569928220784236328,
    8071.6720023658162106380029022722506138218516325024,
    210.82427775157934587250973392071336271166969580291,
    2.5066282746310002701649081771338373386264310793408,
)
LANCZOS_DENOMINATOR = (
    0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0,
    2637558.0, 357423.0, 32670.0, 1925.0, 66.0, 1.0,
)  # fmt: skip
"""The coefficients of CPython's `mathmodule.c`."""
FACTORIALS = [float(math.factorial(n)) for n in range(23)]


def lanczos_sum(x):
    """The rational function in the approximation of gamma by Lanczos."""
    numerator, denominator = 0.0, 0.0
    if x < 5.0:
        for a, b in zip(LANCZOS_NUMERATOR[::-1], LANCZOS_DENOMINATOR[::-1], strict=True):
            numerator, denominator = numerator * x + a, denominator * x + b
    else:
        for a, b in zip(LANCZOS_NUMERATOR, LANCZOS_DENOMINATOR, strict=True):
            numerator, denominator = numerator / x + a, denominator / x + b
    return numerator / denominator


def sine_of_pi(x):
    """The sine of pi times a positive number."""
    y = math.fmod(x, 2.0)
    quarter = round(2.0 * y)
    if quarter == 0:
        return math.sin(math.pi * y)
    if quarter == 1:
        return math.cos(math.pi * (y - 0.5))
    if quarter == 2:
        return math.sin(math.pi * (1.0 - y))
    if quarter == 3:
        return -math.cos(math.pi * (y - 1.5))
    return math.sin(math.pi * (y - 2.0))


def gamma(x):
    """`math.gamma(x)`, by the algorithm of CPython."""
    if math.isnan(x) or (math.isinf(x) and x > 0):
        return x
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        raise ValueError("math domain error")
    if x <= 23 and x == math.floor(x):
        return FACTORIALS[int(x) - 1]
    size = abs(x)
    if size < 1e-20:
        result = 1.0 / x
    elif size > 200.0:
        result = 0.0 / -sine_of_pi(size) if x < 0 else math.inf
    else:
        y = size + (LANCZOS_OFFSET - 0.5)
        if size > LANCZOS_OFFSET - 0.5:
            rest = (y - size) - (LANCZOS_OFFSET - 0.5)
        else:
            rest = (y - (LANCZOS_OFFSET - 0.5)) - size
        rest = rest * LANCZOS_OFFSET / y
        half = y ** (size - 0.5 if size < 140.0 else size / 2.0 - 0.25)
        if x < 0:
            result = -math.pi / sine_of_pi(size) / size * math.exp(y) / lanczos_sum(size)
            result -= rest * result
            result /= half
            if size >= 140.0:
                result /= half
        else:
            result = lanczos_sum(size) / math.exp(y)
            result += rest * result
            result *= half
            if size >= 140.0:
                result *= half
    if math.isinf(result):
        raise OverflowError("math range error")
    return result


def log_gamma(x):
    """`math.lgamma(x)`, by the algorithm of CPython."""
    if not math.isfinite(x):
        return abs(x)
    if x <= 2.0 and x == math.floor(x):
        if x <= 0.0:
            raise ValueError("math domain error")
        return 0.0
    size = abs(x)
    if size < 1e-20:
        return -math.log(size)
    result = math.log(lanczos_sum(size)) - LANCZOS_OFFSET
    result += (size - 0.5) * (math.log(size + LANCZOS_OFFSET - 0.5) - 1.0)
    if x < 0.0:
        result = 1.1447298858494001741434273513530587 - math.log(abs(sine_of_pi(size))) - math.log(size) - result
    if math.isinf(result):
        raise OverflowError("math range error")
    return result
