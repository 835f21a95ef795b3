"""k-bounds: limits on how many iterations of a loop run at once.

S16 If a loop has a bound k, the tokens that a `next_iteration` of its first phase sends into iteration j are throttled
    while iteration j-k is busy: they are not in flight. An iteration is busy while a token is in flight or waits under
    its tag or below it. Deferred reads count; tokens throttled at the entry of the iteration itself, and tokens bound
    for nodes of the reverse pass, do not. The event after which iteration j-k is no longer busy releases the throttled
    tokens to the end of the flight; under `waves`, the event that ends the wave does.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...core.tag import Tag
from .activation import ActivationRecord
from .event import Token
from .fire import FiringRule
from .state import State


def is_throttled(state: State, rule: FiringRule, record: ActivationRecord) -> bool:
    """Whether the tokens of a `next_iteration` that fires under this record are throttled."""
    tag, bound = record.tag, rule.bound
    if bound is None or tag.parent is None or tag.iteration + 1 < bound:
        return False
    earlier_iteration = open_iteration(state, tag, tag.iteration + 1 - bound)
    if earlier_iteration is None:
        return False
    busy = state.records[earlier_iteration].busy_count
    return busy > rule.required_tokens if earlier_iteration == tag else busy > 0


def released_tokens(
    state: State, record: ActivationRecord, rule: FiringRule | None, sent: tuple[Token, ...]
) -> tuple[tuple[int, Token], ...]:
    """The throttled tokens that an event releases, with the numbers of the steps that sent them, in that order. `rule`
    is the rule of the node that fires, or None; `sent` are the tokens that it sends."""
    consumed = rule.required_tokens * rule.counts_as_busy if rule else 0
    target = sent[0].tag if sent and sent[0].node >= 0 and state.count_busy_tokens(sent) else None
    idle = set(idle_activations(state, record, consumed, target))
    if not state.is_clocked:
        released = [
            entry for tag in idle for entry in state.throttled_tokens.get(throttled_iteration(state, tag) or tag, ())
        ]
    elif state.wave_remaining == 1:
        released = [
            entry
            for tag, entries in state.throttled_tokens.items()
            if can_release(state, tag, idle, target)
            for entry in entries
        ]
    else:
        return ()
    return tuple(sorted(released, key=lambda entry: entry[0]))


def open_iteration(state: State, tag: Tag, iteration: int) -> Tag | None:
    """The tag of another iteration of the same loop; None if it is not open."""
    assert tag.parent is not None
    return state.records[tag.parent].child_tags.get((tag.site, iteration))


def throttled_iteration(state: State, tag: Tag) -> Tag | None:
    """The tag of the iteration that is throttled while this one is busy; None if there is none."""
    bound = state.loop_bounds.get(tag.site)
    return None if bound is None else open_iteration(state, tag, tag.iteration + bound)


def can_release(state: State, tag: Tag, idle: set[Tag], target: Tag | None) -> bool:
    """Whether this event releases the tokens throttled for an iteration."""
    earlier_iteration = open_iteration(state, tag, tag.iteration - state.loop_bounds[tag.site])
    return (
        earlier_iteration is None
        or earlier_iteration in idle
        or (state.records[earlier_iteration].busy_count == 0 and earlier_iteration != target)
    )


def idle_activations(state: State, record: ActivationRecord, consumed: int, target: Tag | None) -> Iterator[Tag]:
    """The activations that stop being busy, innermost first."""
    at: ActivationRecord | None = record
    targets = () if target is None else (target, target.parent)
    while at is not None and consumed and at.busy_count == consumed and at.tag not in targets:
        yield at.tag
        at, consumed = state.records.get(at.tag.parent) if at.tag.parent else None, 1
