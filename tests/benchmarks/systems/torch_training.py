"""Training steps in PyTorch, eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import training_data as data
from leapfrog import Library
from leapfrog import loss as leapfrog
from torch.nn.functional import cross_entropy

UNITS = data.UNITS


def softmax(w: Any, b: Any, x: Any, y: Any) -> Any:
    return cross_entropy(x @ w + b, y)


def mlp(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    return cross_entropy(torch.relu(x @ w1 + b1) @ w2 + b2, y)


def _gated(i: Any, o: Any, z: Any, forgotten: Any) -> tuple[Any, Any]:
    c = torch.sigmoid(i) * torch.tanh(z) + forgotten
    return c, torch.sigmoid(o) * torch.tanh(c)


def lstm(w: Any, u: Any, b: Any, v: Any, a: Any, xs: Any, y: Any) -> Any:
    h = c = torch.zeros(y.shape[0], UNITS)
    for x in xs:
        i, f, o, z = (x @ w + h @ u + b).split(UNITS, dim=1)
        c, h = _gated(i, o, z, torch.sigmoid(f) * c)
    return cross_entropy(h @ v + a, y)


def _of_trees(state: Callable[..., Any]) -> Callable[..., Any]:
    def loss(e: Any, wl: Any, bl: Any, w: Any, b: Any, v: Any, a: Any, *forest: Any) -> Any:
        left, right, word, roots, labels = forest

        def node(at: int) -> Any:
            if left[at] < 0:
                return state(e[word[at]] @ wl + bl, None, None)
            one, other = node(left[at]), node(right[at])
            return state(torch.cat([one[-1], other[-1]]) @ w + b, one, other)

        losses = [cross_entropy(node(root)[-1] @ v + a, label) for root, label in zip(roots, labels, strict=True)]
        return torch.stack(losses).mean()

    return loss


def _rnn(g: Any, one: Any, other: Any) -> Any:
    return (torch.tanh(g),)


def _lstm(g: Any, one: Any, other: Any) -> Any:
    if one is None:
        return _gated(*g.split(UNITS), 0.0)
    i, o, z, f1, f2 = g.split(UNITS)
    return _gated(i, o, z, torch.sigmoid(f1) * one[0] + torch.sigmoid(f2) * other[0])


def _leaps(body: Callable[..., Any], state: Any) -> Any:
    for k in range(data.LEAPS):
        state = body(k, *state)
    return state


LIBRARY = Library(
    exp=torch.exp,
    tanh=torch.tanh,
    sin=torch.sin,
    cos=torch.cos,
    relu=torch.relu,
    where=torch.where,
    number=lambda x: x.double(),
    totals=lambda x: x.sum(1),
    mean=torch.mean,
    joined=lambda parts: torch.cat(parts, 1),
    loop=_leaps,
)
_PRECISION = torch.tensor(data.PRECISION)


def l2hmc(*operands: Any) -> Any:
    return leapfrog(LIBRARY, _PRECISION, operands[:13], *operands[13:])


LOSSES = {"softmax": softmax, "mlp": mlp, "lstm": lstm, "treernn": _of_trees(_rnn), "treelstm": _of_trees(_lstm)}
LOSSES |= {"l2hmc": l2hmc}


def step(row: str, batch: int) -> Callable[[], Any]:
    """A run from parameters and examples to the loss and the new parameters."""
    given, examples = getattr(data, row)(batch)
    parameters = [torch.tensor(each, requires_grad=True) for each in given]
    if row.startswith("tree"):
        operands: list[Any] = [each.tolist() for each in examples[:4]] + [torch.tensor(examples[4])]
    else:
        operands = list(map(torch.tensor, examples))

    def run() -> Any:
        for each in parameters:
            each.grad = None
        loss = LOSSES[row](*parameters, *operands)
        loss.backward()
        with torch.no_grad():
            return (loss.detach(), *(each - data.RATE * each.grad for each in parameters))

    return run
