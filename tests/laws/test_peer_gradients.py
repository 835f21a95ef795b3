"""Gradients of generated programs equal those of JAX and PyTorch; `tests/peer_gradients.py` checks many more."""

from __future__ import annotations

import pytest
from peer_gradients import RECURSIVE, verdicts
from peers import MODULES, Peer, installed
from peers.compare import verdict
from support.generators.generator import Case
from test_broken_gradients import BROKEN, CASES, Broken, ignore_result_adjoints, reverse_in_forward_order


def import_peer(module: str) -> Peer:
    """The peer module; skips the test if it is not installed."""
    return installed(module) or pytest.skip(f"{module} is not installed")


@pytest.mark.parametrize("module", MODULES)
def test_gradients_agree_with_peers(module: str) -> None:
    """First and second derivatives equal JAX's for programs without recursion, and PyTorch's for recursive ones."""
    actual = verdicts(import_peer(module), 5, recursive=RECURSIVE[module])
    assert [each for _, each in actual if each.kind != "alike"] == []
    assert any(each.slopes for _, each in actual)


CAUGHT = [each for each in BROKEN if each not in (reverse_in_forward_order, ignore_result_adjoints)]
"""Broken derivations that PyTorch can catch: neither those of the evaluator, nor those with right values."""


@pytest.mark.parametrize("broken", CAUGHT)
def test_a_broken_derivation_is_caught(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every broken derivation differs from PyTorch on a recursion and a loop."""
    peer, cases = import_peer("torch"), [Case(make().trace(x).program, [x]) for make, x in CASES[:2]]
    assert [verdict(case, peer).kind for case in cases] == ["alike"] * len(cases)
    broken(monkeypatch)
    assert "different" in [verdict(case, peer).kind for case in cases]
