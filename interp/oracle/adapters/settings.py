"""What the words after a backend's name ask for: a level, and optimisations to disable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..protocol import Level


class Settings(NamedTuple):
    """A level, and optimisations to disable."""

    level: str
    disabled_flags: tuple[str, ...]

    @classmethod
    def parse(cls, words: Sequence[str], levels: Sequence[Level]) -> Settings:
        """The settings of these words. Without a word that names a level, the level is the last one; it is the empty
        word if there are none.

        >>> levels = [Level("eager", "kernels"), Level("optimised", "optimiser")]
        >>> Settings.parse(["dce"], levels)
        Settings(level='optimised', disabled_flags=('dce',))
        >>> Settings.parse(["eager"], levels)
        Settings(level='eager', disabled_flags=())
        """
        names = [level.name for level in levels]
        level = next((word for word in words if word in names), names[-1] if names else "")
        return cls(level, tuple(word for word in words if word not in names))
