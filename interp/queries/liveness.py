"""What follows from who waits for what: which of it may still happen, where the ways end that decide, and circles.

What waits is alive if on each port that lacks a token (of a merge, or an activation: on any) some way ends at what
lives. Nothing here looks at events or at a state.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from .causes import (
    MissingToken,
    Reason,
    RootCause,
    RoutedAway,
    RoutedAwayEarlier,
    TrappedFiring,
    UnfedPort,
    UnfilledCell,
    Waiter,
    WaitingToken,
)

Requirements: TypeAlias = tuple[WaitingToken | MissingToken, ...]
LivenessTest: TypeAlias = Callable[[Reason], bool]


class LivenessOracle(Protocol):
    """What has to be known of reasons and places."""

    def is_possibly_live(self, reason: Reason) -> bool: ...

    def needs_any_port(self, place: Waiter) -> bool: ...


def missing_tokens(needs: Requirements) -> Iterator[MissingToken]:
    return (need for need in needs if isinstance(need, MissingToken))


def required_waiters(needs: Requirements) -> Iterator[Waiter]:
    """The places that these wait for in turn."""
    for need in missing_tokens(needs):
        yield from (reason for reason in need.reasons if isinstance(reason, Waiter))


def compute_liveness(
    search: LivenessOracle, places: Sequence[Waiter], needs: Sequence[Requirements], lives: LivenessTest
) -> list[bool]:
    """Which of these may still fire, open or go on, if an end of the search is no loss where it `lives`: the least
    solution, so that a circle does not keep itself alive."""
    known = set(places)
    lacking = [
        1 if search.needs_any_port(place) else sum(1 for _ in missing_tokens(needs[at]))
        for at, place in enumerate(places)
    ]
    users = defaultdict[Waiter, list[tuple[int, int]]](list)
    ahead: list[tuple[int, int]] = []
    for at in range(len(places)):
        for need in missing_tokens(needs[at]):
            for reason in need.reasons:
                if isinstance(reason, Waiter) and reason in known:
                    users[reason].append((at, need.port))
                elif isinstance(reason, Waiter) or lives(reason):
                    ahead.append((at, need.port))
    supplied = set[tuple[int, int]]()
    while ahead:
        at, port = ahead.pop()
        if (at, port) not in supplied:
            supplied.add((at, port))
            lacking[at] -= 1
            if not lacking[at]:
                ahead += users[places[at]]
    return [left <= 0 for left in lacking]


def find_root_causes(
    search: LivenessOracle, places: Sequence[Waiter], needs: Sequence[Requirements], living: Sequence[bool]
) -> tuple[list[RootCause], dict[int, int]]:
    """Where the ways end that decide: of a node that may fire, those that are alive; of one that never will, those of
    ports that nothing can come to. With them, for each place on the way, which one it was reached from.

    Where any would do and none can come, some were not chosen, which is as it should be. Those that lead to a trap, or
    to a port that nothing feeds, are the reason, if there are such.
    """
    where = {place: at for at, place in enumerate(places)}
    faulty = set[int]() if living[0] else _find_faulty(search, places, needs, living)
    roots: dict[object, RootCause] = {}
    by, ahead = dict[int, int](), deque([0])
    while ahead:
        at = ahead.popleft()
        chosen = at in faulty and search.needs_any_port(places[at])
        for port, reason in _deciding_reasons(search, needs[at], living[at], where, living):
            if not isinstance(reason, Waiter):
                if not chosen or isinstance(reason, TrappedFiring | UnfilledCell):
                    roots.setdefault(_cause_key(at, port, reason), RootCause(at, port, reason))
            elif (found := where.get(reason, 0)) not in by and (not chosen or found in faulty) and found:
                by[found] = at
                ahead.append(found)
    return list(roots.values()), by


def _find_faulty(
    search: LivenessOracle, places: Sequence[Waiter], needs: Sequence[Requirements], living: Sequence[bool]
) -> set[int]:
    """Of what never will fire, or open: where some way leads to a trap, or to a port that nothing feeds."""
    where = {place: at for at, place in enumerate(places)}
    users = defaultdict[int, list[int]](list)
    found = list[int]()
    for at, place in enumerate(places):
        for _, reason in _deciding_reasons(search, needs[at], False, where, living) if not living[at] else ():
            if isinstance(reason, Waiter):
                users[where[reason]].append(at)
            elif not isinstance(
                reason,
                RoutedAway | RoutedAwayEarlier | UnfedPort
                if search.needs_any_port(place)
                else RoutedAway | RoutedAwayEarlier,
            ):
                found.append(at)
    faulty = set(found)
    while found:
        for user in users[found.pop()]:
            if user not in faulty:
                faulty.add(user)
                found.append(user)
    return faulty


def _deciding_reasons(
    search: LivenessOracle, needs: Requirements, lives: bool, where: dict[Waiter, int], living: Sequence[bool]
) -> Iterator[tuple[int, Reason]]:
    """The reasons, by port, why a node may still fire, or why it never will."""
    for need in missing_tokens(needs):
        hopes = [reason for reason in need.reasons if _is_reason_live(search, reason, where, living)]
        if lives or not hopes:
            yield from ((need.port, reason) for reason in (hopes if lives else need.reasons))


def find_cycle(
    search: LivenessOracle, places: Sequence[Waiter], needs: Sequence[Requirements], living: Sequence[bool]
) -> tuple[int, ...]:
    """Where nothing is alive and no way ends, some that wait for each other."""
    where = {place: at for at, place in enumerate(places)}
    at, path = 0, dict[int, None]()
    while at not in path:
        path[at] = None
        _, reason = next(_deciding_reasons(search, needs[at], False, where, living))
        assert isinstance(reason, Waiter), "no way ends"
        at = where[reason]
    around = list(path)
    return tuple(around[around.index(at) :])


def _is_reason_live(search: LivenessOracle, reason: Reason, where: dict[Waiter, int], living: Sequence[bool]) -> bool:
    if isinstance(reason, Waiter):
        return reason not in where or living[where[reason]]
    return search.is_possibly_live(reason)


def _cause_key(at: int, port: int, reason: Reason) -> object:
    """One firing is one root, however many wait for it."""
    if isinstance(reason, RoutedAwayEarlier):
        return reason
    return reason.firing.number if isinstance(reason, TrappedFiring | RoutedAway) else (at, port)
