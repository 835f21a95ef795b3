"""Hash functions on 64-bit words, the same in every process: for keys of tags, random schedules and random numbers."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

MASK64 = 2**64 - 1


def splitmix64(seed: int, number: int) -> int:
    """The `number`-th output, from 0, of Steele, Lea and Flood's SplitMix64 generator (OOPSLA 2014).

    >>> hex(splitmix64(0, 0))
    '0xe220a8397b1dcdaf'
    """
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


@cache
def name_key(name: str) -> int:
    """The key of a name: its 8-byte BLAKE2b digest, in UTF-8, as a little-endian integer.

    >>> hex(name_key("main"))
    '0xefd1609ecb636e02'
    """
    return int.from_bytes(blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
