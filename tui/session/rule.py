"""The firing rules of nodes, by their numbers in docs/semantics.md, section 4."""

from __future__ import annotations

from ...core.graph.graph import GraphNode
from ...core.ops.effects import EFFECT_OPS

_EFFECTS_BY_OP = {
    "merge": "passes it on (S6)",
    "switch": "sends port 0 by its predicate (S6)",
    "call": "sends it into the call (S7)",
    "enter": "sends it into the loop (S7)",
    "return": "sends it back to the caller (S8)",
    "exit": "sends it out of the loop (S8)",
    "next_iteration": "sends it to the next iteration (S9)",
    "reenter": "sends it into the iteration of port 1 (S17)",
    "back": "sends it to the iteration before, or out (S17)",
    "cells": "makes empty cells (S13)",
    "store": "fills a cell (S13)",
    "get": "reads a cell, once it is full (S13)",
    "collect": "gathers cells, once all are full (S13)",
}


def describe_firing_rule(node: GraphNode) -> str:
    """What a node waits for."""
    ports = [f"port {port}" for port, literal in enumerate(node.ports) if literal is None]
    if node.has_trigger:
        ports.append("trigger")
    if len(ports) < 2:
        return f"once {''.join(ports) or 'nothing'} has a token (S2)"
    said = ", ".join(ports)
    return f"once any has a token: {said} (S2)" if node.op == "merge" else f"once all have tokens: {said} (S2)"


def describe_effect(node: GraphNode) -> str:
    """What its firing does."""
    if node.op in _EFFECTS_BY_OP:
        return _EFFECTS_BY_OP[node.op]
    if node.op in EFFECT_OPS and EFFECT_OPS[node.op].resource is not None:
        return "has its effect, and that once (S14)"
    if node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw is not None:
        return "draws by its tag and the seed (S15)"
    return "computes, under the same tag (S5)"
