"""Modules of PyTorch with branches, loops, open sizes, parameters and buffers."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import tagloom as tl

if find_spec("torch") is None:
    pytest.skip("PyTorch is not installed", allow_module_level=True)

import torch
from support.generators.torch_modules import torch_module
from support.programs.torch_archives import ADDING
from support.programs.torch_exports import arguments_of, as_tagloom, compare, exported, floats, outcome_matches
from support.programs.torch_models import Adder, archive
from tagloom.core.program.evaluate import evaluate
from tagloom.interp.exchange.torch.operations import ROWS
from torch import nn
from torch._higher_order_ops import map as map_rows
from torch._higher_order_ops import scan, while_loop
from torch.export import Dim
from torch.nn import functional as F  # noqa: N812

pytestmark = pytest.mark.full
X = floats(4, 3)


def ops_of(function: tl.Function) -> list[str]:
    return [node.op for each in function.program.functions for node in each.body.walk()]


def collatz(n):
    step = lambda n, s: (torch.where(n % 2 == 0, n // 2, 3 * n + 1), s + 1)  # noqa: E731
    return while_loop(lambda n, s: n > 1, step, (n, torch.tensor(0)))


def test_while_loop() -> None:
    """A loop is one loop, whose body fires once a trip, under each schedule."""
    imported = outcome_matches(collatz, [torch.tensor(6)])
    assert ops_of(imported).count("while_loop") == 1
    outcome = imported.run(27, engine="reference", schedule="random:7", keep="events")
    assert outcome.value == (1, 111)
    assert len(outcome.values("greater")) == 112 and len(outcome.values("where")) == 111


def cond(x):
    return torch.cond(x.sum() > 0, lambda x: (x.sin(), x + 1), lambda x: (x.cos(), x * 2), (x,))


def scan_rows(x, s):
    return scan(lambda c, e: (c + e, c * 2), s, x)


def scan_back(x, s):
    return scan(lambda c, e: (c + e, c * 2), s, x, reverse=True)


def map_sines(x, y):
    return map_rows(lambda e, y: e.sin() + y, x, y)


CONTROL_FLOW: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "cond": (cond, (X,), "cond"),
    "scan": (scan_rows, (X, torch.zeros(3)), "while_loop"),
    "scan, reversed": (scan_back, (X, torch.zeros(3)), "while_loop"),
    "map": (map_sines, (X, X[0].clone()), "while_loop"),
}


@pytest.mark.parametrize("name", CONTROL_FLOW)
def test_control_flow(name: str) -> None:
    """A branch is one branch, a loop one loop."""
    function, arguments, op = CONTROL_FLOW[name]
    imported = outcome_matches(function, arguments)
    assert ops_of(imported).count(op) == 1
    compare(imported(*arguments_of([-each for each in arguments])), function(*(-each for each in arguments)))


class Recurrent(nn.Module):
    def __init__(self, kind: str, **options: Any) -> None:
        super().__init__()
        self.layers = getattr(nn, kind)(3, 4, **options)

    def forward(self, x, *starts):
        return self.layers(x, *starts)


SEQUENCE = floats(5, 2, 3)
MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[Any, ...]]] = {
    "lstm": (lambda: Recurrent("LSTM", bidirectional=True, num_layers=2), (SEQUENCE,)),
    "lstm, batch first": (lambda: Recurrent("LSTM", batch_first=True), (SEQUENCE, (floats(1, 5, 4), floats(1, 5, 4)))),
    "gru": (lambda: Recurrent("GRU", num_layers=2), (SEQUENCE, floats(2, 2, 4))),
    "rnn": (lambda: Recurrent("RNN", nonlinearity="relu", bias=False), (SEQUENCE[:, 0],)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (floats(2, 5, 8),)),
    "transformer": (lambda: nn.Transformer(8, 2, 1, 1, 16), (floats(5, 2, 8), floats(4, 2, 8))),
    "convolutions": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                              nn.Flatten(), nn.Dropout(), nn.Linear(36, 5)),
        (floats(2, 3, 8, 8),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    """A network computes what it does in PyTorch; each recurrent layer and direction is one loop."""
    torch.manual_seed(0)
    make, arguments = MODULES[name]
    imported = outcome_matches(make().eval(), arguments)
    loops = {"lstm": 4, "lstm, batch first": 1, "gru": 2, "rnn": 1}
    assert ops_of(imported).count("while_loop") == loops.get(name, 0)


def test_gradients() -> None:
    """The gradients of parameters are PyTorch's."""
    torch.manual_seed(0)
    module = Recurrent("LSTM")
    module.register_module("head", nn.Linear(4, 2))

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = module

        def forward(self, x):
            return F.cross_entropy(self.network.head(self.network(x)[0][-1]), torch.tensor([0, 1]))

    loss = Loss()
    imported = tl.from_torch(exported(loss, (SEQUENCE,)))
    loss(SEQUENCE).backward()
    with tl.Tape() as tape:
        value = imported(SEQUENCE.numpy())
    parameters = dict(loss.named_parameters())
    assert set(imported.variables) == set(parameters)
    gradients = tape.gradient(value, list(imported.variables.values()))
    for name, gradient in zip(imported.variables, gradients, strict=True):
        np.testing.assert_allclose(np.asarray(gradient), parameters[name].grad.numpy(), rtol=1e-4, atol=1e-6)


def test_buffers() -> None:
    """A run that changes buffers assigns variables, and the next run finds the new values."""

    class Statistics(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.normal = nn.BatchNorm1d(3)
            self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
            self.register_buffer("last", torch.zeros(2, 3))

        def forward(self, x):
            self.calls += 1
            self.last[1] = x[0]
            return self.normal(x) + self.calls, self.last * 1

    for functional in (False, True):
        module = Statistics()
        program = exported(copy.deepcopy(module), (X,))
        imported = tl.from_torch(program.run_decompositions({}) if functional else program)
        for k in range(3):
            compare(imported((X + k).numpy()), module(X + k))


def test_open_sizes() -> None:
    """Sizes that `dynamic_shapes` leaves open may differ; a size that data decides, too."""

    class Sizes(nn.Module):
        def forward(self, x, y, n):
            k = n.item()
            torch._check(k >= 0)
            torch._check(k < 4)
            return (x.reshape(-1, 2) @ y.t(), x.view(x.shape[0] * 2), torch.cat([x, x]), x.flatten(), F.softmax(x, 0),
                    x.expand(2, *x.shape), x.mean(0), torch.zeros(x.shape[0]), x.shape[0] + x.shape[0] // 2, x[:k],
                    torch.arange(k), x[x > 0], torch.nonzero(y > 0), x.new_ones(k, 2), x * x.shape[0])  # fmt: skip

    shapes = {"x": {0: Dim("n")}, "y": {0: Dim("m")}, "n": None}
    arguments = floats(4, 2), floats(3, 2), torch.tensor(2)
    imported = outcome_matches(Sizes(), arguments, dynamic_shapes=shapes)
    for others in ((floats(7, 2), floats(1, 2), torch.tensor(0)), (floats(3, 2), floats(5, 2), torch.tensor(3))):
        compare(imported(*arguments_of(others)), Sizes()(*others))


def test_decompositions() -> None:
    """An operator without a row is decomposed by PyTorch, and the others are not."""

    def function(x):
        return torch.sinc(x), torch.special.entr(x.abs()), F.softplus(x), F.logsigmoid(x)

    assert "aten.sinc" not in ROWS and "aten.special_entr" not in ROWS
    imported = outcome_matches(function, [X])
    scopes = {entry.name for node in imported.program.main.body.nodes for entry in node.location.scopes}
    assert "softplus" in scopes


def test_nesting() -> None:
    """Arguments and results nest as in PyTorch; constants are no parameters."""

    class Nested(nn.Module):
        def forward(self, pairs, parts, *, scale, flag=True):
            return OrderedDict(z=pairs["b"] + parts[0], a=(pairs["a"], [parts[1] * scale]), n=None, k=3)

    arguments = {"b": floats(2), "a": floats(3)}, [floats(2), floats(1)]
    program = torch.export.export(Nested(), arguments, {"scale": floats(1), "flag": False})
    imported = tl.from_torch(program)
    result = imported(*arguments_of(arguments), scale=as_tagloom(floats(1)))
    assert list(result) == ["z", "a", "n", "k"] and isinstance(result["a"], tuple) and result["n"] is None
    compare(result, Nested()(*arguments, scale=floats(1)))


REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "complex numbers": (lambda x: torch.fft.fft(x).abs(), (X,), "complex64|no operator aten._?fft"),
    "an argument that changes": (lambda x: x.add_(1), (X,), "changes its argument arguments_0 in place"),
    "an op without a decomposition": (
        lambda x: torch.cartesian_prod(x[0], x[1]),
        (X,),
        "no operator aten.cartesian_prod",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    """What tagloom lacks is refused by name, with the line of the program."""
    function, arguments, words = REFUSED[name]
    with pytest.raises(tl.TagloomError, match=words) as raised:
        tl.from_torch(exported(function, arguments)).program  # noqa: B018
    assert "pt2" in str(raised.value)


def matches(seed: int) -> bool | None:
    """Whether a generated function computes what it does in PyTorch, in the machine as well as by the rules of
    programs; None if PyTorch exports it not."""
    _, function = torch_module(seed)
    torch.manual_seed(seed)
    arguments = torch.randn(2, 3), torch.randn(2, 3)
    try:
        expected = function(*(each.clone() for each in arguments))
        imported = tl.from_torch(exported(function, arguments))
    except Exception:  # of PyTorch's own kinds, or what its archives cannot hold
        return None
    finally:
        torch._dynamo.reset()
    values = [each.numpy() for each in arguments]
    outcome = imported.run(*values, engine="reference", limits=tl.Limits(firings=20_000))
    try:
        compare(outcome.value, expected, 1e-4)
        direct = evaluate(imported.program, values).results
        compare(list(direct), list(expected), 1e-4)
    except AssertionError:
        return False
    return True


@pytest.mark.heavy
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("first", range(0, 60, 12))
def test_generated_modules(first: int) -> None:
    """The imported function computes what PyTorch does, for generated functions with branches, loops and changes in
    place."""
    found = [matches(seed) for seed in range(first, first + 12)]
    assert False not in found and found.count(True) > 3


@pytest.mark.heavy
@pytest.mark.timeout(1200)
def test_generated_modules_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose branches are exchanged is caught."""
    from dataclasses import replace

    true = ROWS["higher_order.cond"]
    twin = replace(true, compute=lambda p, x, y, *rest, **options: true.compute(p, y, x, *rest, **options))
    monkeypatch.setitem(ROWS, "higher_order.cond", twin)
    assert any(matches(seed) is False for seed in range(40))


def test_the_model_of_the_docs() -> None:
    """The stored model is what its script writes for its weights."""
    adding = tl.from_torch(ADDING)
    model = Adder()
    own = tl.from_torch(archive(model.eval(), (torch.tensor(27), torch.tensor(48))))
    assert ops_of(own) == ops_of(adding)
