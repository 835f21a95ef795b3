"""Recurrent networks: loops along the time axis, one for each layer and direction."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..operations import row, tl, unsupported
from .common import FULL, known_sizes, rank_of
from .elementwise import relu
from .products import linear

State = tuple[Any, ...]
Cell = Callable[[Any, Any, State], State]
"""The next state, from the products of the input and of the state with the weights, and the state; its first part is
the output."""


def split_gates(x: Any, count: int) -> list[Any]:
    """The parts of an array along its last axis."""
    size = known_sizes(x, [rank_of(x) - 1])[0] // count
    return [tl.index(x, (..., slice(k * size, (k + 1) * size))) for k in range(count)]


def lstm_step(inputs: Any, products: Any, state: State) -> State:
    input_gate, forget_gate, candidate, output_gate = split_gates(tl.add(inputs, products), 4)
    cell = tl.add(
        tl.multiply(tl.sigmoid(forget_gate), state[1]), tl.multiply(tl.sigmoid(input_gate), tl.tanh(candidate))
    )
    return tl.multiply(tl.sigmoid(output_gate), tl.tanh(cell)), cell


def gru_step(inputs: Any, products: Any, state: State) -> State:
    reset_input, update_input, fresh_input = split_gates(inputs, 3)
    reset_state, update_state, fresh_state = split_gates(products, 3)
    reset = tl.sigmoid(tl.add(reset_input, reset_state))
    update = tl.sigmoid(tl.add(update_input, update_state))
    candidate = tl.tanh(tl.add(fresh_input, tl.multiply(reset, fresh_state)))
    return (tl.add(candidate, tl.multiply(update, tl.subtract(state[0], candidate))),)


def tanh_step(inputs: Any, products: Any, state: State) -> State:
    return (tl.tanh(tl.add(inputs, products)),)


def relu_step(inputs: Any, products: Any, state: State) -> State:
    return (relu(tl.add(inputs, products)),)


def run_layers(
    x: Any, starts: list[Any], params: list[Any], has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool, step: Cell,
) -> Any:  # fmt: skip
    """The outputs of the last layer, and the last states of all layers and directions. `starts` are the first states,
    each stacked for layers and directions."""
    if train and dropout:
        raise unsupported("attribute", "a recurrent network with dropout", hint="call model.eval() before the export")
    directions = 2 if bidirectional else 1
    count = len(params) // (num_layers * directions)
    has_projection = count == (5 if has_biases else 3)
    if has_projection:
        raise unsupported("attribute", "an LSTM with a projection (proj_size)")
    sequence = tl.moveaxis(x, 0, 1) if batch_first else x
    lasts: list[State] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            input_weight, state_weight, *biases = params[number * count : (number + 1) * count]
            input_bias, state_bias = biases or (None, None)
            last, collected = run_direction(
                linear(sequence, input_weight, input_bias),
                tuple(tl.index(start, number) for start in starts),
                functools.partial(linear, weight=state_weight, bias=state_bias),
                step,
                direction == 1,
            )
            outputs.append(collected)
            lasts.append(last)
        sequence = outputs[0] if directions == 1 else tl.concat(outputs, axis=-1)
    result = tl.moveaxis(sequence, 0, 1) if batch_first else sequence
    return result, *(tl.stack(list(column)) for column in zip(*lasts, strict=True))


def run_direction(inputs: Any, start: State, recur: Callable[[Any], Any], step: Cell, is_reverse: bool) -> Any:
    """The last state, and the outputs of all times."""
    ordered = tl.flip(inputs, axis=0) if is_reverse else inputs

    def advance(state: State, products: Any) -> tuple[State, Any]:
        next_state = step(products, recur(state[0]), state)
        return next_state, next_state[0]

    last, collected = tl.scan(advance, start, ordered)
    return last, tl.flip(collected, axis=0) if is_reverse else collected


def refuse_packed(data: Any) -> None:
    """Raises Unsupported for the data of a packed sequence."""
    if data is not None:
        raise unsupported("construct", "a recurrent network on a packed sequence")


@row("lstm", is_folded=False)
def lstm(
    hx: list[Any], params: list[Any], has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool = False, input: Any = None, data: Any = None, batch_sizes: Any = None,
) -> Any:  # fmt: skip
    refuse_packed(data)
    return run_batched(input, hx, batch_first, lambda x, starts, first: run_layers(
        x, starts, params, has_biases, num_layers, dropout, train, bidirectional, first, lstm_step))  # fmt: skip


def run_batched(x: Any, starts: list[Any], batch_first: bool, run: Callable[[Any, list[Any], bool], Any]) -> Any:
    """The results of `run` for a batch of sequences; a single sequence becomes a batch of one."""
    if rank_of(x) == 3:
        return run(x, starts, batch_first)
    results = run(tl.expand_dims(x, axis=1), [tl.expand_dims(start, axis=1) for start in starts], False)
    return tuple(tl.index(result, (FULL, 0)) for result in results)


def register_simple(name: str, step: Cell) -> None:
    @row(name, is_folded=False)
    def compute(
        hx: Any, params: list[Any], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
        batch_first: bool = False, input: Any = None, data: Any = None, batch_sizes: Any = None,
    ) -> Any:  # fmt: skip
        refuse_packed(data)
        return run_batched(input, [hx], batch_first, lambda x, starts, first: run_layers(
            x, starts, params, has_biases, num_layers, dropout, train, bidirectional, first, step))  # fmt: skip

    @row(f"{name}_cell", is_folded=False)
    def compute_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        return step(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), (hx,))[0]


for _name, _step in {"gru": gru_step, "rnn_tanh": tanh_step, "rnn_relu": relu_step}.items():
    register_simple(_name, _step)


@row("lstm_cell", is_folded=False)
def lstm_cell(input: Any, hx: list[Any], w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    return lstm_step(linear(input, w_ih, b_ih), linear(hx[0], w_hh, b_hh), tuple(hx))
