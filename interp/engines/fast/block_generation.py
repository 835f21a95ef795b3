"""The blocks of an image for an order of delivery, generated in slices of time, and cached."""

from __future__ import annotations

from collections.abc import Generator
from math import inf
from time import perf_counter
from typing import TypeAlias
from weakref import WeakKeyDictionary

from ...image.image import Image
from .block_program import BlockProgram
from .blocks import BlockWriter
from .layout import DeliveryOrder
from .wave_blocks import WaveBlockWriter

MAX_NODES = 300
"""A graph with more nodes has no blocks: what is known of the order of its nodes grows with their square. With as many,
no step of the generation takes longer than 0.15 s, in which neither limits nor Ctrl-C are checked."""
MAX_UNFINISHED = 4
"""For how many images and orders a generation that a run has begun is kept for the next run."""

BlockGeneration: TypeAlias = Generator[None, None, BlockProgram | None]
"""The generation of blocks, which can be interrupted and continued, and returns them."""
_programs: WeakKeyDictionary[Image, dict[DeliveryOrder, BlockProgram | None]] = WeakKeyDictionary()
_generations: dict[tuple[Image, DeliveryOrder], BlockGeneration] = {}
"""The generations that runs have begun, the latest last. Each refers to its image, so only a few are kept."""


def block_program(image: Image, order: DeliveryOrder) -> BlockProgram | None:
    """The blocks of an image, cached; None if it can have none, is too large, or fires no node without Python."""
    while not generate_blocks(image, order, inf):
        pass
    return _programs[image][order]


def generate_blocks(image: Image, order: DeliveryOrder, seconds: float) -> bool:
    """Generate blocks for some time; returns whether `block_program` has them all."""
    if order in _programs.get(image, ()):
        return True
    generation = _generations.pop((image, order), None) or write_blocks(image, order)
    deadline = perf_counter() + seconds
    try:
        while perf_counter() < deadline:
            next(generation)
    except StopIteration as end:
        _programs.setdefault(image, {})[order] = end.value
        return True
    _generations[image, order] = generation
    for oldest in list(_generations)[:-MAX_UNFINISHED]:
        _generations.pop(oldest, None)
    return False


def write_blocks(image: Image, order: DeliveryOrder) -> BlockGeneration:
    """Generate the blocks of an image; under `lifo` twice, since only the first text shows which tokens lie together in
    the ring. Yields after each block."""
    if order is DeliveryOrder.RANDOM or image.has_loop_bounds or image.has_tag_keys or len(image.nodes) > MAX_NODES:
        return None
    if order is DeliveryOrder.OLDEST:
        return (yield from WaveBlockWriter(image, {}).write())
    first = BlockWriter(image, {})
    if (yield from first.write()) is None:
        return None
    return (yield from BlockWriter(image, first.ports_below).write())
