"""Static keys of arrays as text: the brackets of `x[1:, ..., None, 0]`."""

from __future__ import annotations

import functools
import re
from types import EllipsisType
from typing import TypeAlias

from .. import dtypes
from ..errors import Invalid
from ..types import Type
from .axes import Sizes, check_rank, describe_shapes, require_sizes

KeyEntry: TypeAlias = int | slice | EllipsisType | None
IndexKey: TypeAlias = tuple[KeyEntry, ...]
_INTEGER_PATTERN = re.compile(r"[+-]?[0-9]{1,19}")
_REQUIRED_KEY = 'integers, slices, None and ..., as in key="1:, ..., None, -1"'


def format_key(key: IndexKey) -> str:
    """A key as text.

    >>> format_key((slice(1, None), Ellipsis, None, slice(None, None, -1), -1))
    '1:, ..., None, ::-1, -1'
    """
    return ", ".join(map(_format_entry, key))


def _format_entry(entry: KeyEntry) -> str:
    if isinstance(entry, slice):
        parts = [entry.start, entry.stop, *[entry.step] * (entry.step is not None)]
        return ":".join("" if part is None else str(part) for part in parts)
    return "..." if entry is Ellipsis else str(entry)


@functools.lru_cache(maxsize=1024)
def parse_key(text: object) -> IndexKey:
    """Parse a key; raises Invalid for other text.

    >>> parse_key("1:, ..., None, -1")
    (slice(1, None, None), Ellipsis, None, -1)
    """
    if not isinstance(text, str):
        raise Invalid("this is no key", required=_REQUIRED_KEY, got=repr(text))
    key = tuple(_parse_entry(part.strip(), text) for part in text.split(",")) if text.strip() else ()
    if key.count(Ellipsis) > 1:
        raise Invalid("more than one ...", required="... once", got=text)
    return key


def _parse_integer(digits: str, text: str) -> int:
    number, (low, high) = int(digits), dtypes.int64.range
    if not low <= number <= high:
        raise Invalid("an index beyond int64", required=f"{low} to {high}", got=text)
    return number


def _parse_entry(part: str, text: str) -> KeyEntry:
    if part in ("...", "None"):
        return Ellipsis if part == "..." else None
    if _INTEGER_PATTERN.fullmatch(part):
        return _parse_integer(part, text)
    bounds = [piece.strip() for piece in part.split(":")]
    if not 2 <= len(bounds) <= 3 or not all(not piece or _INTEGER_PATTERN.fullmatch(piece) for piece in bounds):
        raise Invalid("this is no key", required=_REQUIRED_KEY, got=text)
    start, stop, step = [_parse_integer(piece, text) if piece else None for piece in (*bounds, "")[:3]]
    if step == 0:
        raise Invalid("a slice with a step of 0", required="another step", got=text)
    return slice(start, stop, step)


def indexed_shape(x: Type, key: IndexKey) -> Sizes:
    """The shape of the elements that a key takes; raises Invalid if it does not fit."""
    have = require_sizes(x)
    taken = sum(entry is not None and entry is not Ellipsis for entry in key)
    if taken > len(have):
        message = f"{taken} indices into shape {describe_shapes(have)}"
        raise Invalid(message, required=f"{len(have)} at most", got=format_key(key))
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
            made.append(_slice_size(have[axis], entry))
        elif isinstance(entry, int):
            _check_index_range(entry, axis, have)
        axis += 1
    return check_rank(tuple(made))


def _slice_size(size: int | None, entry: slice) -> int | None:
    if size is None:
        return None
    return len(range(*entry.indices(size)))


def _check_index_range(index: int, axis: int, have: Sizes) -> None:
    size = have[axis]
    if size is not None and not -size <= index < size:
        message = f"there is no index {index} along axis {axis} of shape {describe_shapes(have)}"
        raise Invalid(message, required=f"{-size} to {size - 1}" if size else "elements", got=index)
