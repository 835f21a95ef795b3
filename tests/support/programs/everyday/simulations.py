"""Small simulations and numeric methods, as a programmer writes them."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import math

import numpy as np

from .table import everyday


@everyday((42, 5), (7, 0))
def linear_congruential(seed, n):
    values = 0
    for _ in range(n):
        seed = (1103515245 * seed + 12345) % 2147483648
        values ^= seed
    return seed, values


@everyday((10, 0.1), (3, 0.5))
def euler_decay(steps, dt):
    y, t = 1.0, 0.0
    for _ in range(steps):
        y += dt * (-2.0 * y)
        t += dt
    return y, t


@everyday((0.0, 2.0), (1.0, 3.0))
def bisect_cosine(low, high):
    def f(x):
        return x * x - 2.0

    while high - low > 1e-6:
        middle = (low + high) / 2
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


@everyday((10,), (4,))
def trapezoid(n):
    h = 1.0 / n
    total = 0.5 * (0.0 + 1.0)
    for i in range(1, n):
        x = i * h
        total += x * x
    return total * h


@everyday((100.0, 5, 3), (50.0, 0, 10))
def compound_interest(principal, rate, years):
    for year in range(years):
        principal *= 1 + rate / 100
        if principal > 200:
            break
    else:
        year = -1
    return principal


@everyday((100, 30), (1, 5))
def rabbits_and_foxes(rabbits, foxes):
    season = 0
    while rabbits > 0 and foxes > 0 and season < 10:
        rabbits, foxes = rabbits + rabbits // 3 - foxes, foxes + rabbits // 20 - foxes // 4
        season += 1
    return season, rabbits, foxes


@everyday((3, 2, 10), (1, 1, 4), (5, 0, 7))
def robot_walk(dx, dy, steps):
    x = y = 0
    facing = 0
    for i in range(steps):
        if facing == 0:
            x += dx
        elif facing == 1:
            y += dy
        elif facing == 2:
            x -= dx
        else:
            y -= dy
        if i % 3 == 2:
            facing = (facing + 1) % 4
    return x, y, facing


@everyday((0b10110, 6), (1, 4))
def cellular_automaton(cells, generations):
    width = 8
    for _ in range(generations):
        new = 0
        for i in range(width):
            left = (cells >> ((i + 1) % width)) & 1
            right = (cells >> ((i - 1) % width)) & 1
            if left ^ right:
                new |= 1 << i
        cells = new
    return cells


@everyday((0.3, 0.5, 9), (2.0, 2.0, 9), (-0.5, 0.1, 5))
def mandelbrot(cr, ci, limit):
    zr = zi = 0.0
    for n in range(limit):
        if zr * zr + zi * zi > 4:
            return n
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
    return limit


@everyday((12, 100), (5, 3))
def elevator(target, limit):
    floor = moves = 0
    while floor != target:
        if moves >= limit:
            raise RuntimeError("stuck")
        floor += 3 if target - floor >= 3 else 1 if target > floor else -1
        moves += 1
    return moves


@everyday((50, 3), (7, 2))
def josephus(n, k):
    survivor = 0
    for size in range(2, n + 1):
        survivor = (survivor + k) % size
    return survivor + 1


@everyday((5.0, 0.5), (1.0, 1.5))
def gradient_descent(x, rate):
    for step in range(15):
        gradient = 2 * (x - 3)
        if abs(gradient) < 1e-3:
            break
        x -= rate * 0.5 * gradient
    return x, step


@everyday((np.array([1.0, 2.0, 3.0]), 0.5), (np.array([4.0, -1.0, 0.0]), 0.1))
def exponential_smoothing(xs, alpha):
    level = xs[0]
    out = []
    for x in xs:
        level = alpha * x + (1 - alpha) * level
        out.append(level)
    return out


@everyday((np.array([3, 5, 1, 4]),), (np.array([1, 1]),))
def trapped_water(heights):
    left, right = 0, len(heights) - 1
    left_max = right_max = total = 0
    while left < right:
        if heights[left] < heights[right]:
            left_max = max(left_max, heights[left])
            total += left_max - heights[left]
            left += 1
        else:
            right_max = max(right_max, heights[right])
            total += right_max - heights[right]
            right -= 1
    return total


@everyday((np.array([7, 1, 5, 3, 6, 4]),), (np.array([5, 4]),))
def best_profit(prices):
    lowest, profit = prices[0], 0
    for price in prices:
        if price < lowest:
            lowest = price
        elif price - lowest > profit:
            profit = price - lowest
    return profit


@everyday((5, 9), (0, 0), (12, 12))
def turnstile(coins, pushes):
    LOCKED, UNLOCKED = 0, 1
    state, passed = LOCKED, 0
    while coins or pushes:
        if state == LOCKED:
            if coins:
                coins -= 1
                state = UNLOCKED
            else:
                break
        else:
            if pushes:
                pushes -= 1
                passed += 1
            else:
                break
            state = LOCKED
    return passed, coins, pushes


@everyday((3, 7), (7, 3))
def game_score(a, b):
    a_points = b_points = 0
    for round_number in range(1, 6):
        a = (a * 5 + 3) % 11
        b = (b * 3 + 7) % 11
        if a == b:
            continue
        if a > b:
            a_points += round_number
        else:
            b_points += round_number
    if a_points == b_points:
        return 0
    return 1 if a_points > b_points else 2


@everyday((0.0, 1.0, 4), (0.0, 2.0, 6))
def simpson(a, b, n):
    if n % 2:
        raise ValueError("n must be even")
    h = (b - a) / n
    total = a**3 + b**3
    for i in range(1, n):
        x = a + i * h
        total += (4 if i % 2 else 2) * x**3
    return total * h / 3


@everyday((0.5,), (1.2,))
def sine_series(x):
    total, term = 0.0, x
    for n in range(1, 20, 2):
        total += term
        term *= -x * x / ((n + 1) * (n + 2))
    return total


@everyday((2.0,), (0.5,))
def log_by_math(x):
    return math.log(x) + math.exp(-x) + math.floor(x) + math.pi


@everyday((10,), (100,))
def ladder(n):
    if n < 10:
        grade = 1
    elif n < 50:
        grade = 2
    elif n < 90:
        grade = 3
    else:
        grade = 4
    return grade * 10 if grade != 3 else 0


@everyday((4, 2), (9, 3))
def nim_winner(a, b):
    turn = 0
    while a > 0 or b > 0:
        if a >= b:
            a -= 1 if a % 2 else min(2, a)
        else:
            b -= 1
        turn = 1 - turn
    return turn


@everyday((20,), (9,))
def pythagorean_triples(limit):
    count = 0
    for a in range(1, limit):
        for b in range(a, limit):
            c2 = a * a + b * b
            if c2 > limit * limit:
                break
            c = int(c2**0.5)
            if c * c == c2:
                count += 1
    return count


@everyday((5, 0.2), (0, 0.9))
def queue_length(arrivals, rate):
    waiting, served = 0.0, 0
    for minute in range(10):
        if minute < arrivals:
            waiting += 1.0
        if waiting >= 1 and rate * (minute + 1) % 1 > 0.3:
            waiting -= 1
            served += 1
    return waiting, served


@everyday((8,), (3,))
def egg_timer(n):
    time_left, beeps = n, 0
    while True:
        time_left -= 1
        if time_left < 0:
            break
        if time_left % 2 == 0:
            beeps += 1
            continue
        if beeps > 3:
            return -1
    return beeps


@everyday((np.array([0.2, 0.9, 0.4]), 2), (np.array([1.0, 1.0]), 5))
def normalised(weights, rounds):
    for _ in range(rounds):
        weights = weights / weights.sum()
        weights = np.where(weights > 0.5, 0.5, weights) if False else weights * weights
    return weights


@everyday((np.array([[2.0, 1.0], [1.0, 3.0]]), 5))
def power_iteration(m, steps):
    v = m[0]
    for _ in range(steps):
        v = m @ v
        v = v / (v * v).sum() ** 0.5
    return v


@everyday((6, 3), (2, 5))
def knapsack(capacity, bonus):
    weights, values = [2, 3, 4], [3, 4, 5]

    def best(i, room):
        if i == len(weights):
            return 0
        skip = best(i + 1, room)
        if weights[i] > room:
            return skip
        return max(skip, values[i] + bonus + best(i + 1, room - weights[i]))

    return best(0, capacity)


@everyday((12, 18), (5, 5))
def edit_cost(a, b):
    def cost(x, y):
        if x == y:
            return 0
        if x < y:
            return 1 + cost(x * 2, y) if x * 2 <= y else 1 + cost(x + 1, y)
        return x - y

    return cost(a, b)


@everyday((5, 3), (2, 2))
def spiral(n, m):
    x, y, dx, dy, steps = 0, 0, 1, 0, 0
    for _ in range(n * m):
        if (abs(x) == abs(y) and (dx, dy) != (1, 0)) or (x > 0 and y == 1 - x):
            dx, dy = -dy, dx
        x, y = x + dx, y + dy
        steps += 1
    return x, y, steps
