"""The gradient rules agree with those of JAX and of PyTorch."""

from __future__ import annotations

import importlib.util
import zlib
from typing import Any

import numpy as np
import pytest
from peers import MODULES, Peer, installed
from peers.compare import BOUND, by_peer, is_float, paired_ops
from support.programs.gradient_cases import CASES, GradientCase
from support.twins.tape import RuleValue, Tape, pullback
from tagloom.core.value import admit

MISSING = {"unique_values", "polygamma", "triangular_solve"}
"""What the peers do not differentiate where a run decides how many values there are, with an array of orders, or with a
stack of one operand only."""
BOTH = [case for case in CASES if case.op not in MISSING and all(0 not in np.shape(each) for each in case.operands)]
SELECTED = [case for number, case in enumerate(BOTH) if case.op != BOTH[number - 1].op or number % 7 == 0]
"""Of each op the first case, and some of the others."""
TWICE = [(module, case) for module in MODULES for case in (SELECTED if module == "jax" else BOTH)]
"""JAX takes a while for each."""


def import_peer(module: str) -> Peer:
    """The peer, if it is installed."""
    return installed(module) or pytest.skip(f"{module} is not installed")


@pytest.fixture(params=MODULES)
def peer(request: pytest.FixtureRequest) -> Peer:
    """Each installed peer."""
    return import_peer(request.param)


def weights(nth: int, shape: tuple[int, ...]) -> Any:
    """Numbers that differ from element to element."""
    return np.random.default_rng(zlib.crc32(repr((nth, shape)).encode())).normal(size=shape)


def by_rules(case: GradientCase, values: list[Any], order: int) -> list[Any]:
    """The result of an op, the adjoints of its floats, and the adjoints of all these."""
    tape, given = Tape(), [RuleValue(admit(value)) for value in values]
    floats = [each for each in given if is_float(each.value)]
    results = [tape(case.op, *given, **case.attributes)]
    for _ in range(order):
        adjoints = [RuleValue(admit(weights(nth, np.shape(each.value)))) for nth, each in enumerate(results)]
        results = [*results, *pullback(tape, results, adjoints, floats)]
    return [each.value for each in results]


def compare(peer: Peer, case: GradientCase, values: list[Any], order: int) -> None:
    do = paired_ops(peer)

    def make(given: Any) -> Any:
        return [do(case.op, *given, **case.attributes)]

    theirs = by_peer(make, list(map(admit, values)), order, peer, weights)
    for mine, other in zip(by_rules(case, values, order), theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=BOUND, atol=BOUND)


@pytest.mark.inner(first=10)
@pytest.mark.parametrize("case", SELECTED, ids=str)
def test_rules_agree_with_peers(peer: Peer, case: GradientCase) -> None:
    """Adjoints of random operands agree with the peer."""
    compare(peer, case, case.values(np.random.default_rng(3)), 1)


@pytest.mark.heavy
@pytest.mark.parametrize(("module", "case"), TWICE, ids=str)
def test_second_order_agrees_with_peers(module: str, case: GradientCase) -> None:
    """Adjoints of other operands agree, and so do the adjoints of adjoints."""
    compare(import_peer(module), case, case.values(np.random.default_rng(4)), 2)


def test_all_rules_are_compared(peer: Peer) -> None:
    """Every op with a rule is compared."""
    assert {case.op for case in CASES} - set(peer.ops) == MISSING


EDGES = [
    (GradientCase("maximum", ()), [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]]),
    (GradientCase("minimum", ()), [[1.0, 2.0, 3.0], 2.0]),
    (GradientCase("max", (), {"axis": 1, "keepdims": False}), [[[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]]),
    (GradientCase("prod", (), {"axis": None, "keepdims": False}), [[2.0, 0.0, 3.0]]),
    (GradientCase("prod", (), {"axis": 0, "keepdims": True}), [[[2.0, 0.0], [0.0, 0.0], [3.0, 1.5]]]),
    (GradientCase("cumulative_prod", (), {"axis": 0}), [[2.0, 0.0, 3.0, 0.0]]),
    (GradientCase("pow", ()), [[-2.0, 1.5, 0.0, 0.0], [3.0, 0.0, 2.0, 1.0]]),
    (GradientCase("take", (), {"axis": 0}), [[1.0, 2.0, 3.0], [0, -1, 0]]),
    (GradientCase("remainder", ()), [[6.0, -6.0, 0.0], [3.0, 3.0, 3.0]]),
]


@pytest.mark.parametrize(
    ("case", "values"), EDGES, ids=lambda each: str(each) if isinstance(each, GradientCase) else ""
)
def test_edges_agree_with_peers(peer: Peer, case: GradientCase, values: list[Any]) -> None:
    """Where a gradient is a convention, both have the same one: ties, zeros among factors, bases of 0, places taken
    twice."""
    compare(peer, case, [np.asarray(value)[()] for value in values], 1)


def test_unique_values_beside_peers() -> None:
    """JAX agrees if it is told the number of values, and gives zeros otherwise; PyTorch refuses."""
    values, weights = [3.0, 1.0, 3.0, 2.0], [1.0, 10.0, 100.0]
    tape, x = Tape(), RuleValue(admit(values))
    (mine,) = pullback(tape, [tape("unique_values", x)], [RuleValue(admit(weights))], [x])
    assert mine.value.tolist() == [100.0, 1.0, 0.0, 10.0]
    if importlib.util.find_spec("jax"):
        import jax

        given = jax.numpy.array(values)
        sized = jax.grad(lambda x: jax.numpy.sum(jax.numpy.unique(x, size=3) * jax.numpy.array(weights)))(given)
        assert sized.tolist() == mine.value.tolist()
        assert jax.grad(lambda x: jax.numpy.sum(jax.numpy.unique(x)))(given).tolist() == [0.0] * 4
    if importlib.util.find_spec("torch"):
        import torch

        with pytest.raises(NotImplementedError, match="unique"):
            torch.sum(torch.unique(torch.tensor(values, requires_grad=True))).backward()
