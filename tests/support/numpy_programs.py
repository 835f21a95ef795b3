"""Programs with arrays of NumPy in attributes, lists and variables, made as scenarios are (`object_scenarios`)."""

# ruff: noqa: B905

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import tagloom as tl

from .object_scenarios import ObjectScenario

NUMPY_PROGRAMS: dict[str, ObjectScenario] = {}
"""All programs by name."""


def numpy_program(make: ObjectScenario) -> ObjectScenario:
    """Add a program to the table, under the name of its function."""
    NUMPY_PROGRAMS[make.__name__] = make
    return make


class Box:
    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)


@numpy_program
def new_array_by_two_names(speculate):
    @speculate
    def store(box, k):
        box.first = np.ones(3) * k
        box.second = box.first
        box.second[0] += 1.0
        other = box.first
        other[1] = -1.0
        return box.second

    box = Box(first=np.zeros(3), second=np.zeros(3))
    return store, [(box, float(k)) for k in range(10)]


@numpy_program
def one_name_after_the_other_changed(speculate):
    @speculate
    def run(box, k):
        y = box.a + k
        box.b = y
        y[0] = 7.0
        z = box.b[0] + y[1]
        box.b[1] += z
        return y, z

    box = Box(a=np.arange(3.0), b=np.zeros(3))
    return run, [(box, k) for k in range(10)]


@numpy_program
def change_of_a_parameter(speculate):
    def clear(array, k):
        array[k % 2] = 0.0
        return array

    @speculate
    def run(box, k):
        fresh = box.a * 2.0
        same = clear(fresh, k)
        clear(box.a, k)
        return same is fresh, fresh, clear(box.a + 1.0, k)

    box = Box(a=np.array([1.0, 2.0, 3.0]))
    return run, [(box, k) for k in range(10)]


@numpy_program
def buffers_that_swap(speculate):
    @speculate
    def step(box):
        box.now, box.after = box.after, box.now
        box.now[:] = box.after * 0.5 + 1.0
        return box.now is box.first

    box = Box(now=np.zeros(2), after=np.ones(2))
    box.first = box.now
    return step, [(box,) for _ in range(10)]


@numpy_program
def table_of_two_axes(speculate):
    class Table:
        def __init__(self):
            self.q = np.zeros((4, 2))

        def learn(self, state, action, reward, after):
            best = np.max(self.q[after])
            self.q[state, action] += 0.5 * (reward + 0.9 * best - self.q[state, action])
            return int(np.argmax(self.q[state]))

    @speculate
    def learn(table, k):
        return table.learn(k % 4, k % 2, float(k % 3), (k + 1) % 4)

    table = Table()
    return learn, [(table, k) for k in range(14)]


@numpy_program
def row_with_a_name(speculate):
    @speculate
    def learn(box, k):
        row = box.q[k % 3]
        row[0] += 1.0
        return row

    box = Box(q=np.zeros((3, 2)))
    return learn, [(box, k) for k in range(9)]


@numpy_program
def best_weights(speculate):
    class Model:
        def __init__(self):
            self.weights, self.best, self.best_loss = np.zeros(3), None, 1e9

        def step(self, loss):
            self.weights -= 0.1 * (self.weights - loss)
            if loss < self.best_loss:
                self.best_loss = loss
                self.best = self.weights.copy()
            elif self.best is not None and loss > 2.0:
                self.weights[:] = self.best

    @speculate
    def step(model, loss):
        model.step(loss)
        return model.best is model.weights

    model = Model()
    return step, [(model, abs(3.0 - 0.7 * k) + 0.1) for k in range(12)]


@numpy_program
def changed_before_it_raises(speculate):
    @speculate
    def step(box, k):
        box.a += 1.0
        box.b[0] = box.a.sum()
        assert k != 8
        box.b[1] = k
        return box.b[0]

    box = Box(a=np.zeros(2), b=np.zeros(2))
    return step, [(box, k) for k in range(20)]


@numpy_program
def counts_that_truncate(speculate):
    @speculate
    def put(box, k):
        box.count[k % 3] = 0.5 + k
        box.count[0] += 2
        return box.count[0] * 2, box.count.sum() / 2

    box = Box(count=np.zeros(3, np.int64))
    return put, [(box, k) for k in range(10)]


@numpy_program
def floats_added_to_counts(speculate):
    @speculate
    def add(box, k):
        box.count += 0.5 * k
        return box.count

    box = Box(count=np.zeros(3, np.int64))
    return add, [(box, k) for k in range(8)]


@numpy_program
def shifted_by_slices(speculate):
    @speculate
    def shift(box, x):
        box.a[1:] = box.a[:-1]
        box.a[0] = x
        return box.a.mean()

    box = Box(a=np.arange(4.0))
    return shift, [(box, float(k)) for k in range(10)]


@numpy_program
def masked(speculate):
    @speculate
    def clip(box, k):
        box.a[box.a > k] = 0.0
        box.a += 1.5
        return np.where(box.a > 2.0, 1.0, box.a)

    box = Box(a=np.arange(4.0))
    return clip, [(box, k % 4) for k in range(10)]


@numpy_program
def arrays_in_a_list(speculate):
    class Net:
        def __init__(self):
            self.weights = [np.full((2, 2), 0.1 * k) for k in range(3)]

        def forward(self, x):
            for weight in self.weights:
                x = np.tanh(x @ weight)
            return x

        def decay(self):
            for weight in self.weights:
                weight *= 0.9

    @speculate
    def run(net, x):
        y = net.forward(x)
        net.decay()
        return y

    net = Net()
    return run, [(net, np.array([1.0, 0.1 * k])) for k in range(10)]


@numpy_program
def list_of_new_arrays(speculate):
    @speculate
    def push(box, x):
        box.items.append(box.a * x)
        box.items[0][0] += 1.0
        if len(box.items) > 3:
            box.items.pop(0)
        return box.items[-1]

    box = Box(items=[np.zeros(2)], a=np.ones(2))
    return push, [(box, float(k)) for k in range(10)]


@numpy_program
def arrays_in_a_dict(speculate):
    @speculate
    def update(params, slopes, rate):
        params["w"] -= rate * slopes["w"]
        params["b"] = params["b"] - rate * slopes["b"]
        return params["w"] @ params["w"] + params["b"].sum()

    params = {"w": np.ones(3), "b": np.zeros(3)}
    return update, [(params, {"w": np.ones(3) * k, "b": np.ones(3)}, 0.1) for k in range(9)]


@numpy_program
def loop_with_new_arrays(speculate):
    @speculate
    def power(box, count):
        v = box.start
        for _ in range(count):
            v = box.matrix @ v
            v = v / np.sqrt((v * v).sum())
        box.start = v
        return v

    box = Box(matrix=np.array([[2.0, 1.0], [1.0, 3.0]]), start=np.array([1.0, 0.5]))
    return power, [(box, 1 + k % 20) for k in range(9)]


@numpy_program
def chosen_array(speculate):
    @speculate
    def bump(box, k):
        chosen = box.a if k % 2 else box.b
        chosen[0] += k
        other = box.a + 1.0 if k % 3 else box.b
        other[1] = 9.0
        return chosen, other

    box = Box(a=np.zeros(2), b=np.ones(2))
    return bump, [(box, k) for k in range(12)]


@numpy_program
def scalars_of_numpy(speculate):
    class Meter:
        def __init__(self):
            self.total, self.count, self.best = np.float64(0.0), np.int64(0), 0.0

        def add(self, x):
            self.total += x.sum()
            self.count += 1
            if x.max() > self.best:
                self.best = x.max()
            return self.total / self.count

    @speculate
    def add(meter, x):
        return meter.add(x), float(meter.best)

    meter = Meter()
    return add, [(meter, np.array([0.5, 1.0 * (k % 5)])) for k in range(12)]


@numpy_program
def noise_of_a_dataclass(speculate):
    @dataclass
    class State:
        mean: np.ndarray = field(default_factory=lambda: np.zeros(2))
        count: int = 0

        @property
        def norm(self):
            return np.sqrt((self.mean**2).sum()) if self.count < 0 else np.abs(self.mean).max()

    @speculate
    def observe(state, x):
        state.count += 1
        state.mean += (x - state.mean) / state.count
        return state.norm

    state = State()
    return observe, [(state, np.array([1.0, float(k)])) for k in range(9)]


@numpy_program
def new_objects_with_arrays(speculate):
    class Particle:
        def __init__(self, position):
            self.position, self.velocity = position, np.zeros(2)

        def move(self, force):
            self.velocity += 0.1 * force
            self.position += self.velocity

    class World:
        def __init__(self):
            self.particles = [Particle(np.array([1.0, 2.0]))]

    @speculate
    def step(world, force):
        for particle in world.particles:
            particle.move(force)
        if len(world.particles) < 4:
            world.particles.append(Particle(world.particles[0].position + 1.0))
        return world.particles[-1].position

    world = World()
    return step, [(world, np.array([0.1 * k, -1.0])) for k in range(10)]


@numpy_program
def shared_after_some_calls(speculate):
    @speculate
    def add(first, second):
        first.a[0] += 1.0
        second.a[1] += first.a[0]
        return first.a.sum()

    boxes = [Box(a=np.zeros(2)), Box(a=np.zeros(2)), Box(a=np.zeros(2))]
    boxes[2].a = boxes[0].a
    return add, [(boxes[0], boxes[1 if k < 6 else 2]) for k in range(10)]


@numpy_program
def overlap_after_some_calls(speculate):
    @speculate
    def add(first, second):
        first[0] += 1.0
        second[1] = first[0] + second[0]
        return second[1]

    whole = np.zeros(4)
    parts = [np.zeros(3), whole[:3], whole[1:]]
    return add, [(whole, parts[0 if k < 6 else 1 + k % 2]) for k in range(10)]


@numpy_program
def read_only_after_some_calls(speculate):
    frozen = np.zeros(2)
    frozen.flags.writeable = False

    @speculate
    def add(a, k):
        a[0] += k
        return a[0]

    free = np.zeros(2)
    return add, [(free if k != 7 else frozen, k) for k in range(20)]


@numpy_program
def shapes_that_change(speculate):
    @speculate
    def scale(box, k):
        box.a *= 0.5
        return box.a.sum() + k

    boxes = [Box(a=np.ones(2 + k // 6)) for k in range(12)]
    return scale, [(boxes[k], k) for k in range(12)]


@numpy_program
def array_of_tagloom_beside_one_of_numpy(speculate):
    @speculate
    def mix(box, k):
        box.a[0] += k
        box.b = box.b * 0.5
        return tl.sum(box.b)

    box = Box(a=np.zeros(2), b=tl.ones(2))
    return mix, [(box, k) for k in range(9)]


@numpy_program
def nan_and_negative_zero(speculate):
    @speculate
    def put(box, x):
        box.a[0] = -0.0
        box.a[1] = x - x
        return box.a[0] == 0.0, box.a

    box = Box(a=np.array([0.0, np.nan, 1.0]))
    return put, [(box, float("nan") if k % 3 == 0 else float(k)) for k in range(9)]


@numpy_program
def names_in_one_statement(speculate):
    @speculate
    def run(box, k):
        box.a = y = box.b + k
        y[0] = -1.0
        if (z := box.b * 2.0)[1] > 2.0:
            z[0] += 1.0
        box.pair = (z, z)
        box.pair[0][1] += 1.0
        first, second = box.pair
        return first is second, z

    box = Box(a=np.zeros(2), b=np.ones(2), pair=(np.zeros(2), np.zeros(2)))
    return run, [(box, k) for k in range(10)]


@numpy_program
def powers_and_masks(speculate):
    @speculate
    def run(box, x):
        mask = (box.a > 1.0) & ~(box.a > 3.0) | (box.a == x)
        box.a = box.a**2 - box.a[::2].sum() * 0.01
        box.a[mask] = 0.5
        return mask, np.any(mask), -box.a

    box = Box(a=np.linspace(0.0, 4.0, 5))
    return run, [(box, float(k)) for k in range(10)]


@numpy_program
def array_of_a_closure(speculate):
    total = np.zeros(2)

    @speculate
    def add(x):
        nonlocal total
        total[0] += x
        if x > 6.0:
            total = total * 0.5
        return total

    return add, [(float(k),) for k in range(12)]


@numpy_program
def generator_of_arrays(speculate):
    @speculate
    def mix(arrays, weights):
        total = np.zeros(2)
        for array, weight in zip(arrays, weights):
            total += weight * array
        parts = [array * 2.0 for array in arrays]
        parts[0][0] += 1.0
        return total, parts[0], arrays[0]

    arrays = [np.ones(2), np.arange(2.0)]
    return mix, [(arrays, [0.5 * k, 1.0]) for k in range(9)]


@numpy_program
def nested_functions_on_arrays(speculate):
    @speculate
    def run(box, k):
        def scale(array, factor):
            array *= factor
            return array

        first = scale(box.a + 1.0, k)
        scale(box.a, 0.5)
        return first, box.a

    box = Box(a=np.ones(2))
    return run, [(box, float(k)) for k in range(9)]


@numpy_program
def array_that_is_dropped(speculate):
    @speculate
    def count(box, k):
        if box.a is None:
            box.a = np.zeros(2)
        box.a[k % 2] += 1
        if k % 5 == 4:
            box.a = None
        return box.a is None

    box = Box(a=None)
    return count, [(box, k) for k in range(14)]


@numpy_program
def number_or_array(speculate):
    @speculate
    def add(box, k):
        y = box.a
        y += k
        return y

    boxes = [Box(a=np.zeros(2)), Box(a=3)]
    return add, [(boxes[k % 2], k) for k in range(14)]


@numpy_program
def arrays_in_nested_results(speculate):
    @speculate
    def run(box, k):
        y = box.a + k
        return {"y": y, "both": [y, box.a]}, (y, box.a[:1].copy())

    box = Box(a=np.ones(2))
    return run, [(box, k) for k in range(9)]


@numpy_program
def views_that_swap(speculate):
    @speculate
    def swap(box, k):
        box.a[:2], box.a[2:] = box.a[2:], box.a[:2]
        box.a[0] += k
        return box.a.sum()

    box = Box(a=np.arange(4.0))
    return swap, [(box, k) for k in range(8)]


@numpy_program
def views_before_a_change(speculate):
    def change(box):
        box.q[:] = box.q * 2.0 + 1.0
        return box.q[0, 1]

    @speculate
    def run(box, k):
        total = (box.q[1:] + change(box)).sum() + k
        box.q[:1] += change(box)
        box.q[1, 0] += change(box)
        return total, box.q.T @ (box.q * change(box)), box.q.T[1:].dot(np.maximum(box.q[0], change(box)))

    box = Box(q=np.arange(4.0).reshape(2, 2).copy())
    return run, [(box, k) for k in range(8)]


@numpy_program
def arrays_without_axes(speculate):
    @speculate
    def run(box, k):
        if k % 3 == 0:
            return box.a[..., 0]
        if k % 3 == 1:
            return np.where(box.a[0] > 3.0, 1.0, box.a[1])
        box.a[0] += 1.0
        return np.zeros(()), np.asarray(box.a[0]), box.a[:1].reshape(())

    box = Box(a=np.arange(4.0))
    return run, [(box, k) for k in range(9)]


@numpy_program
def array_without_axes_that_is_kept(speculate):
    @speculate
    def run(box, k):
        box.last = np.where(box.a[0] > 3.0, 1.0, box.a[1])
        box.a[0] += k

    box = Box(a=np.arange(4.0), last=None)
    return run, [(box, k) for k in range(8)]


@numpy_program
def constant_without_axes(speculate):
    scale, box = np.array(2.0), Box(a=np.arange(3.0))

    @speculate
    def run(k):
        box.a[0] = scale
        return box.a * scale + k

    def calls():
        for k in range(8):
            scale[()] = k
            yield (k,)

    return run, calls()


@numpy_program
def constant_of_another_dtype(speculate):
    weights, box = np.ones(2, np.float32), Box(a=tl.ones(2))

    @speculate
    def run(k):
        return box.a * weights, k

    def calls():
        for k in range(8):
            weights[0] = k
            yield (k,)

    return run, calls()


@numpy_program
def indices_of_another_dtype(speculate):
    rows, box = np.array([0, 1], np.int32), Box(a=np.arange(4.0))

    @speculate
    def run(k):
        box.a[0] += k
        return box.a[rows]

    def calls():
        for k in range(8):
            rows[0] = k % 4
            yield (k,)

    return run, calls()


@numpy_program
def nan_for_an_integer(speculate):
    @speculate
    def put(box, x):
        box.count[1] += 1
        box.count[0] = x
        box.count[2] = -2.7
        return box.count

    box = Box(count=np.zeros(3, np.int64))
    values = [*(0.5 * k for k in range(12)), float("nan"), 3.5, np.inf, 2.5]
    return put, [(box, float(value)) for value in values]


@numpy_program
def columns_first(speculate):
    @speculate
    def run(box, k):
        box.q[k % 2] += 1.0
        box.s += 1.0
        return box.q @ np.ones(3), box.s[::-1].copy()

    box = Box(q=np.asfortranarray(np.arange(6.0).reshape(2, 3)), s=np.arange(8.0)[::2])
    return run, [(box, k) for k in range(8)]


@numpy_program
def list_of_scalars(speculate):
    @speculate
    def run(box, k):
        box.a[0] += k
        box.log.append(box.a[0])
        if len(box.log) > 4:
            box.log.pop(0)
        return box.log[-1] + box.log[0]

    box = Box(a=np.zeros(2), log=[])
    return run, [(box, k) for k in range(12)]


@numpy_program
def scalar_that_replaces_a_number(speculate):
    @speculate
    def run(box, k):
        total = 0
        for i in range(k % 4):
            total += box.a[i % 3]
        return total

    box = Box(a=np.array([1.0, 2.0, 3.0]))
    return run, [(box, k) for k in range(10)]


@numpy_program
def defaults_of_a_named_tuple(speculate):
    class Point(NamedTuple):
        x: float
        y: float = 1.0

    @speculate
    def run(box, k):
        box.point = Point(k)
        return box.point

    def calls():
        for k in range(9):
            if k == 6:
                Point.__new__.__defaults__ = (9.0,)
            yield (box, k)

    box = Box(point=Point(1.0))
    return run, calls()


@numpy_program
def two_dtypes_at_one_place(speculate):
    @speculate
    def run(x, k):
        x[0] += k
        return x.size, len(x), x * 2

    arrays = [np.zeros(2), np.zeros(2, np.int64)]
    return run, [(arrays[k % 2], k) for k in range(8)]


@numpy_program
def operands_that_numpy_refuses(speculate):
    @speculate
    def run(box, k):
        box.a[0] += k
        return np.zeros_like(box.a, 1) if k % 2 else box.a.fill(float)

    box = Box(a=np.zeros(2))
    return run, [(box, k) for k in range(8)]
