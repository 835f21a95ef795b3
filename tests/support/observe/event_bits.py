"""Events in a form that can be compared, with values by their bits: arrays have no equality of their own."""

from __future__ import annotations

from typing import Any

from tagloom.core.value import fingerprint
from tagloom.interp.machine.event import Event, Token


def bits(event: Event) -> Any:
    token, position, inputs, outputs, sent, trap, closed, ends_wave, deferred_at, woken, is_throttled, released = event
    operands = None if inputs is None else [fingerprint(value) for value in inputs]
    results = [(output, fingerprint(value)) for output, value in outputs]
    cell = deferred_at and (fingerprint(deferred_at.handle), deferred_at.number)
    freed = [(step, _token(each)) for step, each in released]
    moved = list(map(_token, sent)), list(map(_token, woken)), is_throttled, freed
    return _token(token), position, operands, results, *moved, trap, closed, ends_wave, cell


def _token(token: Token) -> Any:
    return token.node, token.port, token.tag, fingerprint(token.value)
