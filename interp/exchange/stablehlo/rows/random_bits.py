"""Random bits: the generators Threefry and Philox (Salmon et al., *Parallel random numbers: as easy as 1, 2, 3*, 2011),
bit for bit as XLA computes them. The state is a key and a counter, whose values are encrypted one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core import dtypes
from .....core.types import Type
from ..interpreter import OperationCall
from ..operations import row, tl, unsupported
from .common import dtype_of, known_shape, scalar_like, sizes_of, to_dtype
from .elementwise import last_word

THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
THREEFRY_PARITY = 0x1BD11BDA
PHILOX_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
PHILOX_KEY_STEPS = 0x9E3779B9, 0xBB67AE85


@row("rng_bit_generator")
def rng_bit_generator(state: Any, *, operation: OperationCall, rng_algorithm: str) -> tuple[Any, Any]:
    """The next state, and bits of the type of the second result. The default algorithm is Philox, as on XLA's CPU and
    GPU backends."""
    result = operation.operation.types[1].type
    algorithm, count = last_word(rng_algorithm), sizes_of(state)[0]
    if dtype_of(state) is not tl.uint64 or not (count == 2 or (count == 3 and algorithm != "THREE_FRY")):
        raise unsupported("shape", f"a state of {algorithm} is two numbers of uint64; of PHILOX two or three",
                          got=Type(dtype_of(state), sizes_of(state)))  # fmt: skip
    words = [tl.index(state, number) for number in range(count)]
    generate = threefry_bits if algorithm == "THREE_FRY" else philox_bits
    wide = tl.uint64 if result.dtype.bits == 64 else tl.uint32
    counter, bits = generate(words[0], words[1:], Type(wide, result.shape))
    unsigned = to_dtype(bits, getattr(dtypes, f"uint{result.dtype.bits}"))
    return tl.stack([words[0], *counter]), tl.bitcast(unsigned, result.dtype)


def threefry_bits(key: Any, counter: Sequence[Any], result: Type) -> tuple[list[Any], Any]:
    """The next counter, and bits as uint32 or uint64. For uint32, the two halves of an encrypted counter are neighbours
    along the first axis of even size, or else along the longest axis."""
    shape = known_shape(result)
    if result.dtype.bits == 64:
        next_counter, halves = threefry_blocks(key, counter[0], shape)
        return [next_counter], join_halves(*halves)
    if not shape:
        next_counter, halves = threefry_blocks(key, counter[0], ())
        return [next_counter], halves[0]
    axis = next((axis for axis, size in enumerate(shape) if size % 2 == 0), int(np.argmax(shape)))
    half_shape = (*shape[:axis], (shape[axis] + 1) // 2, *shape[axis + 1 :])
    next_counter, halves = threefry_blocks(key, counter[0], half_shape)
    even_shape = (*shape[:axis], 2 * half_shape[axis], *shape[axis + 1 :])
    neighbours = tl.reshape(tl.stack(halves, axis=axis + 1), even_shape)
    return [next_counter], tl.index(neighbours, (*(slice(None),) * axis, slice(0, shape[axis]), ...))


def threefry_blocks(key: Any, counter: Any, shape: tuple[int, ...]) -> tuple[Any, list[Any]]:
    """The next counter, and the encrypted halves of as many counters as an array of this shape has elements."""
    count = math.prod(shape)
    counters = tl.add(counter, count_up(shape))
    return tl.add(counter, np.uint64(count)), threefry(split_halves(key), split_halves(counters))


def threefry(key: Sequence[Any], block: Sequence[Any]) -> list[Any]:
    """Threefry-2x32 with 20 rounds."""
    parity = tl.bitwise_xor(tl.bitwise_xor(key[0], key[1]), np.uint32(THREEFRY_PARITY))
    keys = [key[0], key[1], parity]
    x, y = tl.add(block[0], keys[0]), tl.add(block[1], keys[1])
    for group in range(5):
        for distance in THREEFRY_ROTATIONS[group % 2]:
            x = tl.add(x, y)
            y = tl.bitwise_xor(x, rotate_left(y, distance))
        x = tl.add(x, keys[(group + 1) % 3])
        y = tl.add(tl.add(y, keys[(group + 2) % 3]), np.uint32(group + 1))
    return [x, y]


def philox_bits(key: Any, counter: Sequence[Any], result: Type) -> tuple[list[Any], Any]:
    """The next counter, and bits as uint32 or uint64. An encrypted counter gives four words of 32 bits. A state of two
    words has the higher half of the counter only; the lower half begins as the key."""
    shape = known_shape(result)
    words_per_number = result.dtype.bits // 32
    low, high = counter if len(counter) == 2 else (counter[0], key)
    count = -(-math.prod(shape) * words_per_number // 4)
    lows, highs = add_wide(low, high, count_up((count,)))
    next_low, next_high = add_wide(low, high, np.uint64(count))
    block = philox(split_halves(key), [*split_halves(lows), *split_halves(tl.broadcast_to(highs, (count,)))])
    numbers = block if words_per_number == 1 else [join_halves(*block[:2]), join_halves(*block[2:])]
    in_order = tl.reshape(tl.stack(numbers, axis=1), (len(numbers) * count,))
    bits = tl.reshape(tl.index(in_order, slice(0, math.prod(shape))), shape)
    return [next_low, next_high] if len(counter) == 2 else [next_low], bits


def philox(key: Sequence[Any], block: Sequence[Any]) -> list[Any]:
    """Philox-4x32 with 10 rounds."""
    words, keys = list(block), list(key)
    for _ in range(10):
        low_0, high_0 = split_halves(tl.multiply(to_dtype(words[0], tl.uint64), np.uint64(PHILOX_MULTIPLIERS[0])))
        low_1, high_1 = split_halves(tl.multiply(to_dtype(words[2], tl.uint64), np.uint64(PHILOX_MULTIPLIERS[1])))
        words = [
            tl.bitwise_xor(tl.bitwise_xor(high_1, words[1]), keys[0]), low_1,
            tl.bitwise_xor(tl.bitwise_xor(high_0, words[3]), keys[1]), low_0,
        ]  # fmt: skip
        keys = [tl.add(word, np.uint32(step)) for word, step in zip(keys, PHILOX_KEY_STEPS, strict=True)]
    return words


def add_wide(low: Any, high: Any, addend: Any) -> tuple[Any, Any]:
    """The sum of a number of 128 bits, in two halves, and one of 64 bits."""
    total = tl.add(low, addend)
    return total, tl.where(tl.less(total, low), tl.add(high, np.uint64(1)), high)


def count_up(shape: tuple[int, ...]) -> Any:
    """The numbers from 0, uint64, in an array of this shape."""
    return tl.reshape(to_dtype(tl.arange(math.prod(shape)), tl.uint64), shape)


def split_halves(x: Any) -> list[Any]:
    """The lower and the higher 32 bits of numbers of 64 bits."""
    return [to_dtype(x, tl.uint32), to_dtype(tl.bitwise_right_shift(x, np.uint64(32)), tl.uint32)]


def join_halves(low: Any, high: Any) -> Any:
    """Numbers of 64 bits from their lower and higher 32 bits."""
    shifted = tl.bitwise_left_shift(to_dtype(high, tl.uint64), np.uint64(32))
    return tl.bitwise_or(to_dtype(low, tl.uint64), shifted)


def rotate_left(x: Any, distance: int) -> Any:
    """Numbers of 32 bits with their bits moved to the left, and those that leave brought in at the right."""
    left = tl.bitwise_left_shift(x, scalar_like(distance, x))
    return tl.bitwise_or(left, tl.bitwise_right_shift(x, scalar_like(32 - distance, x)))
