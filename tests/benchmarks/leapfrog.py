"""L2HMC for peers, written once, with the libraries' functions as data. Ours is in papers_examples/eager."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from training_data import LEAPS, SCALE


@dataclass(frozen=True, slots=True)
class Library:
    """Its functions of elements; the sum of each row; those joined column by column; and `loop(body, state)`: the state
    after `state = body(k, *state)` for k from 0 to 9."""

    exp: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    sin: Callable[[Any], Any]
    cos: Callable[[Any], Any]
    relu: Callable[[Any], Any]
    where: Callable[[Any, Any, Any], Any]
    number: Callable[[Any], Any]
    """Booleans, or integers, as float64."""
    totals: Callable[[Any], Any]
    mean: Callable[[Any], Any]
    joined: Callable[[list[Any]], Any]
    loop: Callable[[Callable[..., Any], tuple[Any, ...]], Any]


def loss(on: Library, precision: Any, parameters: tuple[Any, ...], x: Any, v: Any, coin: Any) -> Any:
    """The loss of a step of all samples."""
    of_v, of_x, log_step = parameters[:6], parameters[6:12], parameters[12]
    step, ahead = on.exp(log_step), coin < 0.5

    def net(weights: tuple[Any, ...], one: Any, other: Any, t: Any) -> tuple[Any, Any, Any]:
        a, b, time, inner, out, gain = weights
        angle = 2.0 * np.pi / LEAPS * on.number(t)
        clock = on.joined([on.cos(angle), on.sin(angle)])
        result = on.relu(on.relu(one @ a + other @ b + clock @ time) @ inner) @ out
        scales = on.tanh(result[:, :4]) * on.exp(gain)
        return scales[:, :2], scales[:, 2:], result[:, 4:]

    def pushed(x: Any, v: Any, t: Any) -> tuple[Any, Any]:
        slope, half = x @ precision, 0.5 * step
        s, q, f = net(of_v, x, slope, t)
        grown, force = half * s, half * (slope * on.exp(2.0 * half * q) + f)
        return on.where(ahead, v * on.exp(grown) - force, (v + force) * on.exp(-grown)), on.totals(grown)

    def moved(x: Any, v: Any, t: Any, mask: Any) -> tuple[Any, Any]:
        s, q, f = net(of_x, x * (1.0 - mask), v, t)
        grown, way = step * s, step * (v * on.exp(step * q) + f)
        there = on.where(ahead, x * on.exp(grown) + way, (x - way) * on.exp(-grown))
        return x * (1.0 - mask) + mask * there, on.totals(mask * grown)

    def leapfrog(k: Any, x: Any, v: Any, grown: Any) -> tuple[Any, Any, Any]:
        t = on.where(ahead, k, LEAPS - 1 - k)
        first = on.number(ahead == (t % 2 == 0))
        mask = on.joined([first, 1.0 - first])
        v, one = pushed(x, v, t)
        x, two = moved(x, v, t, mask)
        x, three = moved(x, v, t, 1.0 - mask)
        v, four = pushed(x, v, t)
        return x, v, grown + one + two + three + four

    def energy(x: Any, v: Any) -> Any:
        return 0.5 * on.totals((x @ precision) * x) + 0.5 * on.totals(v * v)

    there, w, grown = on.loop(leapfrog, (x, v, on.totals(0.0 * x)))
    change = energy(x, v) - energy(there, w) + on.where(ahead[:, 0], grown, -grown)
    jump = on.totals((x - there) ** 2) * on.exp(-on.relu(-change)) + 1e-4
    return on.mean(SCALE / jump - jump / SCALE)
