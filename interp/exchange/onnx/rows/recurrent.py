"""Recurrent networks: loops along the time axis, one for each direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..operators import operator, tl, unsupported
from .common import known_sizes, scalar_like, to_dtype
from .elementwise import elu, hard_sigmoid, leaky_relu, softsign, thresholded_relu

Activation = Callable[[Any], Any]
ACTIVATIONS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "relu": (lambda x: tl.maximum(x, scalar_like(0, x)), ()),
    "tanh": (tl.tanh, ()),
    "sigmoid": (tl.sigmoid, ()),
    "softsign": (softsign, ()),
    "softplus": (tl.softplus, ()),
    "affine": (lambda x, alpha, beta: tl.add(tl.multiply(x, alpha), beta), (1.0, 0.0)),
    "leakyrelu": (lambda x, alpha: leaky_relu(x, alpha=alpha), (0.01,)),
    "thresholdedrelu": (lambda x, alpha: thresholded_relu(x, alpha=alpha), (1.0,)),
    "scaledtanh": (lambda x, alpha, beta: tl.multiply(tl.tanh(tl.multiply(x, beta)), alpha), (1.0, 1.0)),
    "hardsigmoid": (lambda x, alpha, beta: hard_sigmoid(x, alpha=alpha, beta=beta), (0.2, 0.5)),
    "elu": (lambda x, alpha: elu(x, alpha=alpha), (1.0,)),
}
"""The activations, and the defaults of their parameters."""
Cell = Callable[[Any, tuple[Any, ...], int], tuple[Any, ...]]
"""The next state, from the products of the input, the state, and the number of the direction; its first part is the
output."""


def partial_activation(function: Callable[..., Any], values: Sequence[float]) -> Activation:
    return lambda x: function(x, *values)


def read_activations(
    names: Sequence[str], alphas: Sequence[float] | None, betas: Sequence[float] | None
) -> list[Activation]:
    """The activations by name; parameters are taken from the two lists in order."""
    first, second = iter(alphas or ()), iter(betas or ())
    functions: list[Activation] = []
    for name in names:
        if name.lower() not in ACTIVATIONS:
            raise unsupported("attribute", f"the activation {name!r}")
        function, defaults = ACTIVATIONS[name.lower()]
        values = [next(source, default) for source, default in zip((first, second), defaults, strict=False)]
        functions.append(partial_activation(function, values))
    return functions


def run_directions(
    x: Any, weights: Any, lengths: Any, starts: Sequence[Any], hidden: int, cell: Cell, direction: str, layout: int
) -> list[Any]:
    """The outputs of all times, and the last states. `starts` are the first states, None for zeros."""
    sequence = tl.moveaxis(x, 0, 1) if layout else x
    times, batch, _ = tl.shape(sequence)
    reverse_flags = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    outputs, lasts = [], []
    for number, is_reverse in enumerate(reverse_flags):
        initial = tuple(
            tl.broadcast_to(scalar_like(0, x), (batch, hidden)) if start is None
            else tl.index(tl.moveaxis(start, 0, 1) if layout else start, number)
            for start in starts
        )  # fmt: skip
        inputs = tl.matmul(sequence, tl.matrix_transpose(tl.index(weights, number)))
        numbers = tl.arange(times)
        if is_reverse:
            inputs, numbers = tl.flip(inputs, axis=0), tl.flip(numbers, axis=0)

        def step(state: Any, element: Any, number: int = number) -> Any:
            products, time = element
            next_values = cell(products, state, number)
            if lengths is None:
                return next_values, next_values[0]
            is_live = tl.expand_dims(tl.less(time, to_dtype(lengths, tl.int64)), axis=1)
            next_state = tuple(
                tl.where(is_live, new_value, old_value) for new_value, old_value in zip(next_values, state, strict=True)
            )
            return next_state, tl.where(is_live, next_values[0], scalar_like(0, x))

        last, collected = tl.scan(step, initial, (inputs, numbers))
        outputs.append(tl.flip(collected, axis=0) if is_reverse else collected)
        lasts.append(last)
    result = tl.stack(outputs, axis=1)
    states = [tl.stack(list(column)) for column in zip(*lasts, strict=True)]
    if layout:
        return [tl.permute_dims(result, (2, 0, 1, 3)), *(tl.moveaxis(state, 0, 1) for state in states)]
    return [result, *states]


def clip_to(x: Any, limit: float | None) -> Any:
    """An array clipped to [-limit, limit]."""
    return x if limit is None else tl.minimum(tl.maximum(x, -limit), limit)


def split_bias(bias: Any, number: int, size: int) -> tuple[Any, Any]:
    """The biases of the inputs and of the state, for a direction."""
    row = tl.index(bias, number)
    return tl.index(row, slice(0, size)), tl.index(row, slice(size, None))


def split_columns(x: Any, count: int, hidden: int) -> list[Any]:
    """The parts for `count` gates along the last axis."""
    return [tl.index(x, (..., slice(k * hidden, (k + 1) * hidden))) for k in range(count)]


@operator("RNN", version=7)
def rnn(
    x: Any, weights: Any, recurrence: Any, bias: Any = None, lengths: Any = None, start: Any = None, *,
    activation_alpha: Any = None, activation_beta: Any = None, activations: Any = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int | None = None, layout: int = 0, output_sequence: int = 0,
) -> Any:  # fmt: skip
    size = known_sizes(recurrence, [2])[0]
    functions = read_activations(activations or ("Tanh", "Tanh"), activation_alpha, activation_beta)

    def cell(products: Any, state: tuple[Any, ...], number: int) -> tuple[Any, ...]:
        total = tl.add(products, tl.matmul(state[0], tl.matrix_transpose(tl.index(recurrence, number))))
        if bias is not None:
            total = tl.add(total, tl.add(*split_bias(bias, number, size)))
        return (functions[number](clip_to(total, clip)),)

    return tuple(run_directions(x, weights, lengths, [start], size, cell, direction, layout))


@operator("GRU", version=7)
def gru(
    x: Any, weights: Any, recurrence: Any, bias: Any = None, lengths: Any = None, start: Any = None, *,
    activation_alpha: Any = None, activation_beta: Any = None, activations: Any = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int | None = None, layout: int = 0, linear_before_reset: int = 0,
) -> Any:  # fmt: skip
    size = known_sizes(recurrence, [2])[0]
    functions = read_activations(activations or ("Sigmoid", "Tanh") * 2, activation_alpha, activation_beta)

    def cell(products: Any, state: tuple[Any, ...], number: int) -> tuple[Any, ...]:
        (h,) = state
        input_bias, state_bias = (None, None) if bias is None else split_bias(bias, number, 3 * size)
        inputs = split_columns(products if input_bias is None else tl.add(products, input_bias), 3, size)
        matrices = [tl.matrix_transpose(weights) for weights in split_rows(tl.index(recurrence, number), 3, size)]
        biases = [None] * 3 if state_bias is None else split_columns(state_bias, 3, size)

        def recurrent(k: int, operand: Any) -> Any:
            product = tl.matmul(operand, matrices[k])
            return product if biases[k] is None else tl.add(product, biases[k])

        inner, outer = functions[2 * number : 2 * number + 2]
        update = inner(clip_to(tl.add(inputs[0], recurrent(0, h)), clip))
        reset = inner(clip_to(tl.add(inputs[1], recurrent(1, h)), clip))
        candidate = tl.multiply(reset, recurrent(2, h)) if linear_before_reset else recurrent(2, tl.multiply(reset, h))
        candidate_state = outer(clip_to(tl.add(inputs[2], candidate), clip))
        return (tl.add(tl.multiply(tl.subtract(1.0, update), candidate_state), tl.multiply(update, h)),)

    return tuple(run_directions(x, weights, lengths, [start], size, cell, direction, layout))


def split_rows(matrix: Any, count: int, hidden: int) -> list[Any]:
    """The parts for `count` gates along the first axis."""
    return [tl.index(matrix, slice(k * hidden, (k + 1) * hidden)) for k in range(count)]


@operator("LSTM", version=7)
def lstm(
    x: Any, weights: Any, recurrence: Any, bias: Any = None, lengths: Any = None, start: Any = None,
    start_cell: Any = None, peepholes: Any = None, *, activation_alpha: Any = None, activation_beta: Any = None,
    activations: Any = None, clip: float | None = None, direction: str = "forward", hidden_size: int | None = None,
    input_forget: int = 0, layout: int = 0,
) -> Any:  # fmt: skip
    size = known_sizes(recurrence, [2])[0]
    functions = read_activations(activations or ("Sigmoid", "Tanh", "Tanh") * 2, activation_alpha, activation_beta)

    def cell(products: Any, state: tuple[Any, ...], number: int) -> tuple[Any, ...]:
        h, c = state
        total = tl.add(products, tl.matmul(h, tl.matrix_transpose(tl.index(recurrence, number))))
        if bias is not None:
            total = tl.add(total, tl.add(*split_bias(bias, number, 4 * size)))
        inputs, outputs, forgets, candidates = split_columns(total, 4, size)
        peeps = None if peepholes is None else split_columns(tl.index(peepholes, number), 3, size)
        inner, middle, outer = functions[3 * number : 3 * number + 3]

        def gate(value: Any, k: int, memory: Any) -> Any:
            return inner(clip_to(value if peeps is None else tl.add(value, tl.multiply(peeps[k], memory)), clip))

        input_gate = gate(inputs, 0, c)
        forget_gate = tl.subtract(1.0, input_gate) if input_forget else gate(forgets, 2, c)
        memory = tl.add(tl.multiply(forget_gate, c), tl.multiply(input_gate, middle(clip_to(candidates, clip))))
        return tl.multiply(gate(outputs, 1, memory), outer(memory)), memory

    return tuple(run_directions(x, weights, lengths, [start, start_cell], size, cell, direction, layout))
