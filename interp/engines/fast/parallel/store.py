"""The token store of one core in a parallel run: its tokens carry the wave of their delivery, and some of its frames
are proxies for activations on other cores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from weakref import ref

import numpy as np
import numpy.typing as npt

from .....core.tag import Tag
from ....image.image import FrameHeader, Image, NodeColumn, ScopeColumn, SiteColumn, WordArray
from ....image.opcodes import FIRST_KERNEL, Opcode
from ....outcome.statistics import Stats
from ...limits import Limits
from ..delivery_table import DeliveryColumn, NodePlace, delivery_table
from ..layout import Address, DeliveryOrder, ProfileColumn, ProxyWord, Register
from ..lazy_sequences import IntegerSeries, trimmed_length
from ..shared_memory import MessageWord, SharedLine
from ..store import SLACK_STEPS, TokenStore, next_power_of_two

IDLE_SLEEP, MAX_IDLE_SLEEP = 50e-6, 1e-3
"""The seconds that an idle core sleeps before it checks its messages again: doubled each time, up to the maximum.
Waking up every 50 us would halve the speed of a busy core that shares its processor."""


IntegerArray: TypeAlias = npt.NDArray[np.signedinteger[Any]]


class CoreStore(TokenStore):
    """The part of a run on one core. `shared` are the words that all cores share. `cores` are weak references to the
    stores of all cores, which a caller of `tag` must keep alive."""

    def __init__(self, image: Image, limits: Limits, shared: WordArray, cores: Sequence[ref[CoreStore]]) -> None:
        super().__init__(image, limits, DeliveryOrder.YOUNGEST, seed=0, clocked=True, result_limit=0)
        self.registers[Register.CORE] = len(cores)
        self.delivery_rows, self._shared_words, self._cores = parallel_delivery_rows(image), shared, cores
        self.profile = np.zeros((2 * SLACK_STEPS, len(ProfileColumn)), np.int64)
        self.peer_proxies = np.zeros((int(shared[SharedLine.CORE_COUNT]), 0), np.int64)
        self.idle_sleep = IDLE_SLEEP
        """The seconds that the core sleeps when it is idle next."""
        self.operand_waves = np.zeros(len(self.memory), np.int64)
        self.token_waves = np.zeros(len(self.ring), np.int64)

    def build_address_table(self) -> WordArray:
        table = super().build_address_table()
        table[[Address.OPERAND_WAVES, Address.TOKEN_WAVES]] = (
            self.operand_waves.ctypes.data,
            self.token_waves.ctypes.data,
        )
        table[Address.SHARED_WORDS] = self._shared_words.ctypes.data
        table[[Address.PEER_PROXIES, Address.PEER_PROXIES_SIZE]] = (
            self.peer_proxies.ctypes.data,
            self.peer_proxies.shape[1],
        )
        return table

    def place_nodes(self, ranks: Sequence[int | None]) -> None:
        """Let nodes fire on the cores with these numbers, and their calls and loops open there; None is for any core.
        The image must support it (`supports_placement`)."""
        self.delivery_rows = parallel_delivery_rows(self.image, ranks, int(self.registers[Register.CORE]))
        self.mark_moved()

    def growth_bytes(self) -> int:
        return 2 * super().growth_bytes()

    def grow(self) -> None:
        super().grow()
        self._reserve_peer_proxies(int(self.registers[Register.REQUIRED_PEER_PROXIES]))

    def _reserve_peer_proxies(self, columns: int) -> None:
        """Make room in `peer_proxies` for this number of columns."""
        cores, size = self.peer_proxies.shape
        if columns > size:
            wider = np.zeros((cores, next_power_of_two(columns)), np.int64)
            wider[:, :size] = self.peer_proxies
            self.peer_proxies = wider
            self.mark_moved()

    def _grow_memory(self, factor: int) -> None:
        operand_waves = np.zeros(factor * len(self.memory), np.int64)
        super()._grow_memory(factor)
        operand_waves[: len(self.operand_waves)] = self.operand_waves
        self.operand_waves = operand_waves

    def reserve_ring(self, tokens: int) -> None:
        r, length = self.registers, int(self.registers[Register.FLIGHT_LENGTH])
        waves = np.zeros(max(len(self.ring), next_power_of_two(length + tokens + 1)), np.int64)
        head, size = int(r[Register.FLIGHT_HEAD]), len(self.ring)
        super().reserve_ring(tokens)
        if len(self.ring) > size:
            first = min(length, size - head)
            waves[:first] = self.token_waves[head : head + first]
            waves[first:length] = self.token_waves[: length - first]
            self.token_waves = waves

    def contents(self) -> dict[str, IntegerArray]:
        """Copies of all words of the store that a run changes, by name. No core may run during the call."""
        registers, size = self.registers.copy(), len(self.ring)
        top, waves = int(registers[Register.MEMORY_TOP]), int(registers[Register.WAVES])
        slots = np.arange(registers[Register.FLIGHT_LENGTH]) + registers[Register.FLIGHT_HEAD] & size - 1
        registers[Register.FLIGHT_HEAD] = 0
        return {
            "registers": registers,
            "memory": self.memory[:top].copy(),
            "operand_waves": self.operand_waves[:top].copy(),
            "ring": self.ring[slots],
            "token_waves": self.token_waves[slots],
            "profile": narrow_words(self.profile[: waves + 1]),
            "free_frames": self.free_frames.copy(),
            "firing_counts": self.firing_counts.copy(),
            "opened_counts": self.opened_counts.copy(),
            "result_words": self.result_words.copy(),
            "peer_proxies": narrow_words(self.peer_proxies),
        }

    def restore(self, contents: Mapping[str, IntegerArray]) -> None:
        """Go on from the contents of a store of the same image."""
        self.reserve_memory(len(contents["memory"]))
        self.reserve_ring(len(contents["ring"]))
        self.reserve_profile(len(contents["profile"]))
        self._reserve_peer_proxies(contents["peer_proxies"].shape[1])
        for name, words in contents.items():
            array = getattr(self, name)
            array[tuple(map(slice, words.shape))] = words

    def is_proxy(self, frame: int) -> bool:
        return bool(self.memory[frame + self.image.header_words] < 0)

    def frames(self) -> Iterator[int]:
        """The frames of the open activations on this core, without proxies."""
        frame = len(self.image.literals)
        while frame < self.registers[Register.MEMORY_TOP]:
            is_proxy, site = self.is_proxy(frame), self.site_of(frame)
            if not is_proxy and self.memory[frame + 1] >= 0:
                yield frame
            scope = self.image.sites[site, SiteColumn.SCOPE]
            frame += self.image.largest_frame if is_proxy else int(self.image.scopes[scope, ScopeColumn.SIZE])

    def tag(self, frame: int) -> Tag:
        """The tag of an activation, whose ancestors may be on other cores."""
        proxies: list[tuple[CoreStore, int]] = []
        store, top = self, self._outermost_untagged(frame)
        while store.is_proxy(top) and top not in store.tags:
            proxies.append((store, top))
            store, remote_frame = store.proxied_frame(top)
            top = store._outermost_untagged(remote_frame)
        for store, proxy in reversed(proxies):
            home_store, remote_frame = store.proxied_frame(proxy)
            store.tags[proxy] = TokenStore.tag(home_store, remote_frame)
        return super().tag(frame)

    def _outermost_untagged(self, frame: int) -> int:
        """The outermost ancestor of a frame in this store that has no tag yet, or the first that has one."""
        while frame not in self.tags and self.parent_of(frame):
            frame = self.parent_of(frame)
        return frame

    def complete_trap(self, frame: int, port: int, waiting_ports: Sequence[int], required_tokens: int) -> None:
        """Complete the firing of a node that traps, by the youngest token, at this port: consume the operands and send
        nothing. `waiting_ports` are the ports at which its other operands wait. The activation stays open until
        `release` is called, so that its tag can be built when no core runs."""
        r, row = self.registers, self.delivery_rows[port]
        slot = (int(r[Register.FLIGHT_HEAD]) + int(r[Register.FLIGHT_LENGTH]) - 1) & (len(self.ring) - 1)
        words = [int(frame + self.delivery_rows[row, DeliveryColumn.OPERAND_WORD]) for row in waiting_ports]
        wave = max(int(self.token_waves[slot]), *self.operand_waves[words].tolist(), 0)
        bits = frame + int(row[DeliveryColumn.MASK_WORD])
        self.memory[bits] = self.memory[bits] & ~row[DeliveryColumn.PARTNER_BITS] | row[DeliveryColumn.FIRED_BIT]
        self.memory[frame + FrameHeader.PENDING] += 1 - required_tokens
        self.profile[wave, ProfileColumn.FIRINGS] += 1
        self.profile[wave, ProfileColumn.TOKENS_CONSUMED] += required_tokens
        self.firing_counts[row[DeliveryColumn.NODE]] += 1
        r[Register.WAVES] = max(r[Register.WAVES], wave + 1)
        r[Register.WAITING] -= required_tokens - 1
        r[[Register.FIRINGS, Register.STEPS]] += 1
        r[Register.FLIGHT_LENGTH] -= 1

    def release(self, frame: int) -> int:
        """Let an activation that a trap kept open close, with the ancestors in which then nothing is pending; returns
        how many close. No core may run."""
        store, closed = self, 0
        while frame:
            store.memory[frame + FrameHeader.PENDING] -= 1
            if store.pending_count(frame):
                break
            if store.is_proxy(frame):
                home, proxy = store.operand_waves[[frame + ProxyWord.CORE, frame + ProxyWord.REMOTE_PROXY]].tolist()
                store = store._core(home)
                frame = store.parent_of(proxy)
            else:
                closed += 1
                frame = store.parent_of(frame)
        return closed

    def proxied_frame(self, proxy: int) -> tuple[CoreStore, int]:
        """The store and the frame that a proxy stands for."""
        core, frame = self.operand_waves[[proxy + ProxyWord.CORE, proxy + ProxyWord.REMOTE_FRAME]].tolist()
        return self._core(core), frame

    def _core(self, number: int) -> CoreStore:
        """The store of the core with this number."""
        store = self._cores[number]()
        assert store is not None
        return store


def narrow_words(words: IntegerArray) -> IntegerArray:
    """A copy of words in the narrowest dtype that has them all. A long loop has millions of waves, with few tokens."""
    least, largest = words.min(initial=0), words.max(initial=0)
    for dtype in (np.int8, np.int16, np.int32):
        if np.iinfo(dtype).min <= least and largest <= np.iinfo(dtype).max:
            return words.astype(dtype)
    return words.copy()


def parallel_delivery_rows(image: Image, ranks: Sequence[int | None] = (), core: int = 0) -> WordArray:
    """The delivery rows of an image for one core of a parallel run: `deliver_scalar` also handles results, and calls
    whose arguments send one token each may be on any core, since their receiver can count the arguments. `ranks` are
    the cores on which nodes are placed; `deliver_scalar` does not fire those of other cores."""
    rows, nodes = delivery_table(image).rows.copy(), image.nodes
    code = nodes[:, NodeColumn.CODE]
    sends = nodes[:, NodeColumn.SECOND_EDGES_BEGIN] - nodes[:, NodeColumn.EDGES_BEGIN]
    unshareable_sites = np.unique(nodes[(code == Opcode.CALL) & (sends != 1), NodeColumn.SITE])
    is_shareable = (code == Opcode.CALL) & ~np.isin(nodes[:, NodeColumn.SITE], unshareable_sites)
    places = np.where(is_shareable, NodePlace.ANY, NodePlace.HERE)
    for number, rank in enumerate(ranks):
        if rank is not None:
            places[number] = NodePlace.HERE if rank == core else NodePlace.FIRST_CORE + rank
    rows[:, DeliveryColumn.PLACE] = places[rows[:, DeliveryColumn.NODE]]
    is_fired_elsewhere = (places >= NodePlace.FIRST_CORE) & (code != Opcode.CALL)
    rows[is_fired_elsewhere[rows[:, DeliveryColumn.NODE]], DeliveryColumn.CODE] = Opcode.FALLBACK
    is_result = code[rows[:, DeliveryColumn.NODE]] == Opcode.RESULT
    rows[is_result, DeliveryColumn.CODE] = Opcode.RESULT
    return rows


def supports_parallel_run(image: Image) -> bool:
    """Whether a parallel run supports an image: scalars only, no k-bounds, no host firings."""
    return (
        not image.has_loop_bounds
        and not image.has_tag_keys
        and bool((parallel_delivery_rows(image)[:, DeliveryColumn.CODE] != Opcode.FALLBACK).all())
    )


def supports_placement(image: Image, ranks: Sequence[int | None]) -> bool:
    """Whether a parallel run of an image can place nodes on these cores: calls that the receiver can count, and ops
    that compute one value."""
    shareable_ports = parallel_delivery_rows(image)[:, [DeliveryColumn.NODE, DeliveryColumn.PLACE]].tolist()
    movable_nodes = {number for number, place in shareable_ports if place == NodePlace.ANY}
    codes = image.nodes[:, NodeColumn.CODE].tolist()
    return all(
        rank is None or number in movable_nodes or codes[number] == Opcode.PASS or codes[number] >= FIRST_KERNEL
        for number, rank in enumerate(ranks)
    )


class WaveProfile(NamedTuple):
    """The work of all cores by wave: firings, tokens delivered, and tokens that wait at its end."""

    firings: WordArray
    deliveries: WordArray
    waiting_tokens: WordArray


def wave_profile(stores: Sequence[CoreStore], initial_tokens: int) -> WaveProfile:
    """The profile of a run that began with `initial_tokens` tokens."""
    rows = [store.profile[: store.registers[Register.WAVES] + 1] for store in stores]
    firings, deliveries, waiting = np.zeros((3, max(map(len, rows)) + 1), np.int64)
    deliveries[0] = initial_tokens
    for profile in rows:
        firings[: len(profile)] += profile[:, ProfileColumn.FIRINGS]
        waiting[: len(profile)] -= profile[:, ProfileColumn.TOKENS_CONSUMED]
        deliveries[1 : len(profile) + 1] += profile[:, ProfileColumn.TOKENS_SENT]
    waiting += deliveries
    np.cumsum(waiting, out=waiting)
    waves = trimmed_length(deliveries)
    return WaveProfile(firings[:waves], deliveries[:waves], waiting[:waves])


def parallel_stats(stores: Sequence[CoreStore], profile: WaveProfile, open_messages: WordArray) -> Stats:
    """The statistics of a parallel run; those of waves are right after its end. `open_messages` are the OPEN messages
    that no core has read."""
    registers = np.array([store.registers for store in stores])
    firings, span = int(registers[:, Register.FIRINGS].sum()), trimmed_length(profile.firings)
    counts = np.sum([store.firing_counts for store in stores], axis=0)
    opened_counts = np.sum([store.opened_counts for store in stores], axis=0)
    np.add.at(opened_counts, open_messages[:, MessageWord.SITE], 1)
    deepest = max(
        registers[:, Register.DEEPEST_TAG].max(), 1 + open_messages[:, MessageWord.PARENT_DEPTH].max(initial=-1)
    )
    return Stats(
        firings=firings,
        steps=int(registers[:, Register.STEPS].sum()),
        span=span,
        parallelism=firings / span if span else 0.0,
        profile=IntegerSeries(profile.firings[:span]),
        waiting=IntegerSeries(profile.waiting_tokens),
        largest_store=int(profile.waiting_tokens.max(initial=0)),
        largest_flight=int(profile.deliveries.max(initial=0)),
        deepest_tag=int(deepest),
        by_node=tuple(counts.tolist()),
        activations_by_site={
            site: count for site, count in zip(stores[0].image.site_list, opened_counts.tolist(), strict=True) if count
        },
    )
