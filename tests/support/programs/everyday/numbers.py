"""Number theory, digits and recursion, as a programmer writes them."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import math

from .table import everyday


@everyday((48, 36), (17, 5), (0, 9))
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@everyday((4, 6), (7, 3))
def lcm(a, b):
    return a * b // gcd(a, b)


@everyday((240, 46), (17, 5))
def extended_gcd(a, b):
    x0, x1, y0, y1 = 1, 0, 0, 1
    while b != 0:
        q = a // b
        a, b = b, a - q * b
        x0, x1 = x1, x0 - q * x1
        y0, y1 = y1, y0 - q * y1
    return a, x0, y0


@everyday((3, 11), (10, 17), (2, 4))
def modular_inverse(a, m):
    g, x, _ = extended_gcd(a, m)
    if g != 1:
        raise ValueError("no inverse")
    return x % m


@everyday((2,), (1,), (97,), (91,))
def is_prime(n):
    if n < 2:
        return False
    if n in (2, 3):
        return True
    if n % 2 == 0 or n % 3 == 0:
        return False
    i = 5
    while i * i <= n:
        if n % i == 0 or n % (i + 2) == 0:
            return False
        i += 6
    return True


@everyday((10,), (30,))
def count_primes(limit):
    return sum(1 for n in range(2, limit) if is_prime(n))


@everyday((12,), (28,), (1,))
def sum_of_divisors(n):
    return sum(d for d in range(1, n + 1) if n % d == 0)


@everyday((6,), (28,), (12,))
def is_perfect(n):
    total = 0
    for d in range(1, n):
        if n % d == 0:
            total += d
    return total == n and n > 1


@everyday((27,), (1,), (6,))
def collatz_length(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@everyday((10,), (20,))
def longest_collatz(limit):
    best, best_start = 0, 0
    for start in range(1, limit):
        length = collatz_length(start)
        if length > best:
            best, best_start = length, start
    return best_start, best


@everyday((1234,), (0,), (9,))
def digit_sum(n):
    total = 0
    while n:
        n, digit = divmod(n, 10)
        total += digit
    return total


@everyday((9875,), (5,))
def digital_root(n):
    while n >= 10:
        n = digit_sum(n)
    return n


@everyday((12321,), (123,), (-5,))
def is_palindrome(n):
    if n < 0:
        return False
    original, reverse = n, 0
    while n > 0:
        reverse = reverse * 10 + n % 10
        n //= 10
    return original == reverse


@everyday((153,), (154,), (9474,))
def is_armstrong(n):
    count, rest = 0, n
    while rest:
        rest //= 10
        count += 1
    total, rest = 0, n
    while rest:
        total += (rest % 10) ** count
        rest //= 10
    return total == n


@everyday((2, 10, 1000), (3, 5, 7), (5, 0, 7))
def power_mod(base, exponent, modulus):
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return result


@everyday((7, 13, 11), (2, 0, 5))
def builtin_power_mod(base, exponent, modulus):
    return pow(base, exponent, modulus)


@everyday((255,), (0,), (1023,))
def count_bits(n):
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count


@everyday((13,), (1,), (0,))
def bits_needed(n):
    return n.bit_length()


@everyday((10,), (15,))
def tribonacci(n):
    a, b, c = 0, 0, 1
    for _ in range(n):
        a, b, c = b, c, a + b + c
    return a


@everyday((10, 3), (5, 5), (4, 0), (3, 5))
def binomial(n, k):
    if k < 0 or k > n:
        return 0
    k = min(k, n - k)
    result = 1
    for i in range(k):
        result = result * (n - i) // (i + 1)
    return result


@everyday((5, 2), (6, 3), (3, 0))
def pascal(n, k):
    if k == 0 or k == n:
        return 1
    return pascal(n - 1, k - 1) + pascal(n - 1, k)


@everyday((17.0,), (2.0,), (0.25,))
def newton_sqrt(x):
    guess = x / 2 if x > 1 else x
    while abs(guess * guess - x) > 1e-9:
        guess = (guess + x / guess) / 2
    return guess


@everyday((16,), (17,), (0,), (-4,))
def integer_sqrt(n):
    if n < 0:
        raise ValueError("negative")
    low, high = 0, n
    while low <= high:
        middle = (low + high) // 2
        if middle * middle <= n:
            low = middle + 1
        else:
            high = middle - 1
    return high


@everyday((3, 1), (4, 2))
def hanoi_moves(n, count):
    if n == 0:
        return count
    count = hanoi_moves(n - 1, count)
    count += 1
    return hanoi_moves(n - 1, count)


@everyday((2, 2), (1, 3), (0, 5))
def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@everyday((10,), (7,))
def hofstadter(n):
    def q(k):
        if k < 3:
            return 1
        return q(k - q(k - 1)) + q(k - q(k - 2))

    return q(n)


@everyday((2024,), (1900,), (2000,), (2023,))
def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@everyday((2024, 2), (2023, 2), (2023, 12), (2023, 13))
def days_in_month(year, month):
    match month:
        case 2:
            return 29 if is_leap(year) else 28
        case 4 | 6 | 9 | 11:
            return 30
        case m if 1 <= m <= 12:
            return 31
    raise ValueError("month must be in 1..12")


@everyday((2024, 3, 1), (2023, 12, 31), (2000, 1, 1))
def day_of_year(year, month, day):
    total = day
    for m in range(1, month):
        total += days_in_month(year, m)
    return total


@everyday((2024, 7, 4), (1999, 12, 31))
def weekday(year, month, day):
    offsets = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4]
    if month < 3:
        year -= 1
    return (year + year // 4 - year // 100 + year // 400 + offsets[month - 1] + day) % 7


@everyday((3.0, 4.0), (-1.5, 2.0))
def hypotenuse(a, b):
    return math.sqrt(a * a + b * b)


@everyday((1.0, -3.0, 2.0), (1.0, 2.0, 1.0), (1.0, 0.0, 1.0), (0.0, 2.0, -4.0))
def quadratic_roots(a, b, c):
    if a == 0:
        return 1, -c / b, 0.0
    discriminant = b * b - 4 * a * c
    if discriminant < 0:
        return 0, 0.0, 0.0
    if discriminant == 0:
        return 1, -b / (2 * a), 0.0
    root = discriminant**0.5
    return 2, (-b - root) / (2 * a), (-b + root) / (2 * a)


@everyday((0.5,), (-1.0,))
def exponential_series(x):
    term, total, n = 1.0, 1.0, 1
    while abs(term) > 1e-12:
        term *= x / n
        total += term
        n += 1
    return total


@everyday((100,), (7,))
def happy(n):
    seen = set()
    while n != 1 and n not in seen:
        seen.add(n)
        n = sum(int(d) ** 2 for d in str(n))
    return n == 1


@everyday((10,), (100,), (2,))
def largest_prime_factor(n):
    factor, largest = 2, 1
    while factor * factor <= n:
        if n % factor:
            factor += 1
        else:
            n //= factor
            largest = factor
    return max(largest, n) if n > 1 else largest


@everyday((20,), (13,))
def twin_primes_below(limit):
    count = 0
    for p in range(3, limit - 2):
        if not is_prime(p):
            continue
        if is_prime(p + 2):
            count += 1
    return count


@everyday((5,), (12,), (1,))
def totient(n):
    return sum(gcd(k, n) == 1 for k in range(1, n + 1))


@everyday((0.1, 3), (2.5, 1))
def round_half(x, places):
    scale = 10**places
    return int(x * scale + 0.5) / scale


@everyday((7, 2), (-7, 2), (7, -2))
def division_facts(a, b):
    q, r = divmod(a, b)
    assert q * b + r == a
    return q, r, a / b, a // b, a % b, -a // b


@everyday((5,), (0,), (-2,))
def factorial_checked(n):
    assert n >= 0, f"factorial of a negative number: {n}"
    result = 1
    for k in range(2, n + 1):
        result *= k
    return result


@everyday((7,), (-1,))
def raise_with_value(n):
    if n < 0:
        raise ValueError(f"bad value: {n}")
    return n * 2


@everyday((3, 8), (8, 3), (4, 4))
def compare(a, b):
    return (a > b) - (a < b)


@everyday((6, 4), (3, 3))
def lattice_paths(rows, columns):
    if rows == 0 or columns == 0:
        return 1
    return lattice_paths(rows - 1, columns) + lattice_paths(rows, columns - 1)
