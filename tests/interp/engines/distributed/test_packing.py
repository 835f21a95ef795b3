"""Arrays travel as their bytes: every document comes back from its bytes, other bytes are refused, and broken forms are
noticed."""

from __future__ import annotations

import json
import socket
import tracemalloc
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.generators.effect_programs import unbounded
from support.generators.generator import Case, cases
from support.laws.distributed_laws import violations
from support.twins.broken_twin import Break, broken, caught
from tagloom.core import dtypes
from tagloom.core.errors import TagloomError
from tagloom.core.graph.lower import lower
from tagloom.core.tag import ROOT
from tagloom.interp.engines.distributed import packing
from tagloom.interp.engines.distributed.frames import FrameReader, frame
from tagloom.interp.engines.distributed.messages import (
    Batch,
    FiringRequest,
    Probe,
    WorkerFailure,
    decode_batch,
    encode_batch,
)
from tagloom.interp.engines.distributed.packing import MAX_SHARES, MIN_BUFFER_BYTES, Packed, pack, unpack
from tagloom.interp.machine.event import Token

SHAPES = ((), (0,), (3,), (2, 3), (3, 0, 2), (1, 2, 1, 2))


def arrays_of(dtype: np.dtype[Any]) -> list[np.ndarray[Any, Any]]:
    """Arrays with random bits: of several shapes, and some whose elements are not in C order."""
    dice = np.random.default_rng(7)
    arrays: list[np.ndarray[Any, Any]] = []
    for shape in SHAPES:
        count = int(np.prod(shape))
        top = 2 if dtype == np.bool_ else 256
        arrays.append(dice.integers(0, top, count * dtype.itemsize, np.uint8).view(dtype).reshape(shape))
    square = arrays[3]
    return [*arrays, square.T, square[::-1, ::2], np.broadcast_to(arrays[2], (4, 3))]


def bits(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """All that must come back."""
    return array.dtype, array.shape, array.tobytes()


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=repr)
def test_arrays_come_back_from_their_bytes(dtype: dtypes.DType) -> None:
    """Every dtype and shape comes back with its bits, NaNs included, as read-only, aligned and C-contiguous arrays."""
    arrays = arrays_of(dtype.numpy)
    read = unpack(pack({"all": arrays, "none": []}))["all"]
    assert [bits(each) for each in read] == [bits(each) for each in arrays]
    assert all(each.flags.c_contiguous and each.flags.aligned and not each.flags.writeable for each in read)


def test_signs_and_payloads_come_back() -> None:
    """-0.0 keeps its sign, and a NaN its bits; the bytes are little-endian on any machine."""
    array = np.array([-0.0, np.inf, 0.0])
    array.view(np.uint64)[2] = 0xFFF8_0000_0000_1234
    (data,) = pack(array)
    assert bytes.fromhex("0000000000000080 000000000000f07f 341200000000f8ff") in bytes(data)
    assert unpack([data]).view(np.uint64).tolist() == array.view(np.uint64).tolist()


def size(packed: Packed) -> int:
    """The bytes of a packed document."""
    return sum(map(len, packed))


def test_an_array_that_occurs_twice_is_written_once() -> None:
    """Two references to one array are one array again; the data grow by its reference alone."""
    array = np.zeros(1000)
    assert size(pack([array, array])) < size(pack([array])) + 100
    first, second = unpack(pack([array, array]))
    assert first is second


def test_small_arrays_do_not_keep_large_ones() -> None:
    """An array that is a small part of the data has memory of its own; a large one shares theirs, and is not copied."""
    packed = pack([np.zeros(100 * MAX_SHARES), np.zeros(3)])
    large, small = unpack([b"".join(packed)])
    assert large.base is not None and small.base is None
    large, small = unpack(packed)
    assert large.base is not None and not np.shares_memory(large, small)


LARGE = np.arange(MIN_BUFFER_BYTES / 8 + 1)


def test_large_arrays_are_not_copied() -> None:
    """A large array is a buffer of its own, which has its memory, and the array that is read has the same memory. Where
    elements are not in order, they are copied."""
    packed = pack([LARGE[:-1], 7, LARGE, np.arange(3), LARGE[::-1], LARGE[::-1]])
    assert len(packed) == 8
    first, number, second, small, *others = unpack(packed)
    assert number == 7 and small.tolist() == [0, 1, 2]
    assert all(np.shares_memory(each, LARGE) and not each.flags.writeable for each in (first, second))
    assert [bits(each) for each in (first, second)] == [bits(LARGE[:-1]), bits(LARGE)]
    assert not any(np.shares_memory(each, LARGE) for each in others)
    assert LARGE.flags.writeable


@pytest.mark.parametrize("count", [1, 2, 3])
def test_buffers_may_be_joined(count: int) -> None:
    """The bytes are the same document in fewer buffers. An array that is cut into two is refused."""
    packed = pack([LARGE, np.arange(3), LARGE])
    joined = [b"".join(packed[:count]), *packed[count:]]
    assert [bits(each) for each in unpack(joined)] == [bits(each) for each in (LARGE, np.arange(3), LARGE)]
    with pytest.raises((TypeError, ValueError)):
        unpack([packed[0], packed[1][:80], packed[1][80:], *packed[2:]])


@pytest.mark.parametrize("size", [MIN_BUFFER_BYTES, MIN_BUFFER_BYTES + 1])
def test_an_empty_array_may_end_the_document(size: int) -> None:
    """An empty array comes back from behind a large one, whether zeros follow the large one or not."""
    arrays = [np.ones(size, np.uint8), np.zeros((0, 2))]
    for packed in (pack(arrays), [b"".join(pack(arrays))]):
        assert [bits(each) for each in unpack(packed)] == [bits(each) for each in arrays]


@tl.function
def keep(x: tl.Array[tl.float64, None], n: tl.int64) -> tl.Array[tl.float64, None]:
    return tl.cond(n <= 0, lambda: x, lambda: keep(x, n - 1))


def copies_of_an_argument() -> float:
    """The peak of the memory of a run on a network that a limit ends, in sizes of its argument."""
    array = np.zeros(2 * 10**6)
    keep.run(array[:2], 2, engine="distributed")
    tracemalloc.start()
    outcome = keep.run(array, 50, engine="distributed", limits=tl.Limits(firings=150))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert outcome.status == "Exhausted" and outcome.cluster.checkpoints == 1  # type: ignore[union-attr]
    return peak / array.nbytes


@pytest.mark.full
def test_a_run_on_a_network_copies_no_large_array() -> None:
    """Workers in one process, and its stores at the end, share the copy that a run makes of its argument."""
    assert copies_of_an_argument() < 1.5


@pytest.mark.full
def test_arrays_that_are_copied_into_batches(monkeypatch: MonkeyPatch) -> None:
    """The law fails where all arrays are copied into one buffer with the text."""
    monkeypatch.setattr(packing, "MIN_BUFFER_BYTES", 10**9)
    assert copies_of_an_argument() > 1.5


BATCH = b"".join(
    encode_batch(Batch(1, 0, 1, 0, (FiringRequest(Token(0, 0, ROOT, 1), (np.arange(6.0), np.arange(4)), 1),)))
)


def test_other_bytes_are_refused(seeds: int = 2_000) -> None:
    """Whatever the bytes of a peer are, they are a batch, or WorkerFailure is raised."""
    dice, refused = Random(5), 0
    for _ in range(seeds):
        data = bytearray(BATCH[: dice.choice((len(BATCH), dice.randrange(len(BATCH))))])
        for _ in range(dice.randrange(3)):
            if data:
                data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            decode_batch([bytes(data)])
        except WorkerFailure:
            refused += 1
    assert refused > seeds / 3


@pytest.mark.parametrize(
    "reference",
    [
        ["float64", [2**40], 0],
        ["float64", [2**62, 2**62, 0], 0],
        ["float64", [-1], 0],
        ["float64", [1] * 99, 0],
        ["float64", [True], 0],
        ["float64", [2], 8],
        ["float64", [2], -16],
        ["object", [2], 0],
        ["float64", 2, 0],
        [["float64"], [2], 0],
        ["float64", [2]],
        {},
        None,
    ],
    ids=str,
)
def test_sizes_are_checked_before_memory_is_taken(reference: Any) -> None:
    """A reference to more bytes than there are, or to others than the next, is refused at once."""
    text = json.dumps([{"array": reference}]).encode().ljust(120)
    tracemalloc.start()
    with pytest.raises((ValueError, LookupError, TypeError)):
        unpack([len(text).to_bytes(8, "little") + text + bytes(16)])
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_bytes_of_no_array_are_refused() -> None:
    """Data that end early, go on after the last array, or state a longer text are refused."""
    data = b"".join(pack([np.arange(3)]))
    for other in (data[:-1], data + bytes(16), data[:4], b"", (2**63).to_bytes(8, "little") + data[8:]):
        with pytest.raises(ValueError):
            unpack([other])


def test_numbers_of_a_batch_are_integers() -> None:
    """A batch whose number is an array or a string is refused."""
    for number in (np.arange(3), "1", None, True):
        with pytest.raises(WorkerFailure):
            decode_batch(pack([1, 0, number, 0, [["Probe", 1]], [], []]))
    assert decode_batch(pack([1, 0, 1, 0, [["Probe", 1]], [], []])).messages == (Probe(1),)


def test_a_large_frame_arrives_in_parts() -> None:
    """A frame that is larger than the socket's buffers arrives whole, however it is cut."""
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        there.setblocking(False)
        rest, reader, arrived = memoryview(b"".join(frame(3, pack(np.arange(10**5))) * 2)), FrameReader(there), []
        while len(arrived) < 2:
            rest = rest[here.send(rest) :] if rest else rest
            frames, is_open = reader.read()
            assert is_open
            arrived += frames
        here.close()
        assert reader.read() == ([], False)
    assert [(rank, unpack([batch]).sum()) for rank, batch in arrived] == [(3, sum(range(10**5)))] * 2


# Twins


def swaps_arrays(patch: MonkeyPatch) -> None:
    """The bytes of two arrays are swapped."""
    true = packing.element_bytes
    patch.setattr(packing, "element_bytes", lambda arrays: true(arrays)[::-1])


def writes_big_endian(patch: MonkeyPatch) -> None:
    """Floats are written in the wrong byte order."""
    true = packing.element_bytes

    def swap(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return array.byteswap() if array.dtype.kind == "f" else array

    patch.setattr(packing, "element_bytes", lambda arrays: true([*map(swap, arrays)]))


def breaks_a_law(case: Case) -> bool:
    """Whether a run on three workers differs from the reference's."""
    try:
        return any(violations(lower(unbounded(case.program)), case.arguments, 3, "network:3"))
    except (AssertionError, LookupError, TypeError, ValueError, TagloomError):
        return True


@pytest.mark.full(first=1)
@pytest.mark.parametrize("twin", [swaps_arrays, writes_big_endian])
def test_the_laws_of_runs_catch_broken_forms(twin: Break) -> None:
    """Workers that mix up the bytes of arrays differ from the reference on a program of arrays; true ones do not."""
    with broken(twin):
        case = caught(cases(arrays=True), breaks_a_law, twin.__doc__, 60)
    assert not breaks_a_law(case)
