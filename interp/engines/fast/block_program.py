"""Blocks as data: their text, the actions of their paths, and the place of their machine code. `blocks` generates
them."""

from __future__ import annotations

from dataclasses import dataclass

from ...image.image import WordArray


@dataclass(frozen=True, slots=True, eq=False)
class BlockProgram:
    """The text of the blocks of an image, and the actions of their paths.

    The function `deliver_blocks` of the text takes the same words as `deliver_scalar` and does the same. `firings` and
    `openings` have a row for each path, with the number of firings of each node and of activations opened at each site.
    """

    text: str
    firings: WordArray
    openings: WordArray


@dataclass(frozen=True, slots=True, eq=False)
class LoadedBlocks:
    """The blocks of an image as machine code, at an address of this process."""

    program: BlockProgram
    address: int
