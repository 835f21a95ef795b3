"""Static keys of arrays, as text: what stands in the brackets of `x[1:, ..., None, 0]`."""

from __future__ import annotations

import functools
import re
from types import EllipsisType
from typing import TypeAlias

from .. import dtypes
from ..errors import Invalid
from ..types import Type
from .axes import Sizes, check_rank, sizes, words

Entry: TypeAlias = int | slice | EllipsisType | None
Key: TypeAlias = tuple[Entry, ...]
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_REQUIRED = 'integers, slices, None and ..., as in key="1:, ..., None, -1"'


def write_key(key: Key) -> str:
    """A key as text.

    >>> write_key((slice(1, None), Ellipsis, None, slice(None, None, -1), -1))
    '1:, ..., None, ::-1, -1'
    """
    return ", ".join(map(_entry, key))


def _entry(entry: Entry) -> str:
    if isinstance(entry, slice):
        parts = [entry.start, entry.stop, *[entry.step] * (entry.step is not None)]
        return ":".join("" if part is None else str(part) for part in parts)
    return "..." if entry is Ellipsis else str(entry)


@functools.lru_cache(maxsize=1024)
def read_key(text: object) -> Key:
    """The key that a text says; raises Invalid where it says none.

    >>> read_key("1:, ..., None, -1")
    (slice(1, None, None), Ellipsis, None, -1)
    """
    if not isinstance(text, str):
        raise Invalid("this is no key", required=_REQUIRED, got=repr(text))
    key = tuple(_read(part.strip(), text) for part in text.split(",")) if text.strip() else ()
    if key.count(Ellipsis) > 1:
        raise Invalid("more than one ...", required="... once", got=text)
    return key


def _number(digits: str, text: str) -> int:
    number, (low, high) = int(digits), dtypes.int64.range
    if not low <= number <= high:
        raise Invalid("an index beyond int64", required=f"{low} to {high}", got=text)
    return number


def _read(part: str, text: str) -> Entry:
    if part in ("...", "None"):
        return Ellipsis if part == "..." else None
    if _INTEGER.fullmatch(part):
        return _number(part, text)
    bounds = [piece.strip() for piece in part.split(":")]
    if not 2 <= len(bounds) <= 3 or not all(not piece or _INTEGER.fullmatch(piece) for piece in bounds):
        raise Invalid("this is no key", required=_REQUIRED, got=text)
    start, stop, step = [_number(piece, text) if piece else None for piece in (*bounds, "")[:3]]
    if step == 0:
        raise Invalid("a slice with a step of 0", required="another step", got=text)
    return slice(start, stop, step)


def indexed(x: Type, key: Key) -> Sizes:
    """The shape of what a key takes; raises Invalid where it does not fit."""
    have = sizes(x)
    taken = sum(entry is not None and entry is not Ellipsis for entry in key)
    if taken > len(have):
        message = f"{taken} indices into shape {words(have)}"
        raise Invalid(message, required=f"{len(have)} at most", got=write_key(key))
    full = key if Ellipsis in key else (*key, Ellipsis)
    at = full.index(Ellipsis)
    spread = (*full[:at], *[slice(None)] * (len(have) - taken), *full[at + 1 :])
    made: list[int | None] = []
    axis = 0
    for entry in spread:
        if entry is None:
            made.append(1)
            continue
        if isinstance(entry, slice):
            made.append(_sliced(have[axis], entry))
        elif isinstance(entry, int):
            _check_inside(entry, axis, have)
        axis += 1
    return check_rank(tuple(made))


def _sliced(size: int | None, entry: slice) -> int | None:
    if size is None:
        return None
    return len(range(*entry.indices(size)))


def _check_inside(index: int, axis: int, have: Sizes) -> None:
    size = have[axis]
    if size is not None and not -size <= index < size:
        message = f"there is no index {index} along axis {axis} of shape {words(have)}"
        raise Invalid(message, required=f"{-size} to {size - 1}" if size else "elements", got=index)
