"""Adapters of systems that are Python packages, and their settings, the words after a backend's name: a level, and
optimisations to disable."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from ....core.errors import Usage
from ..protocol import CONSTRUCTS, Capabilities, Level

NON_RECURSIVE = tuple(construct for construct in CONSTRUCTS if construct != "recursion")
"""The constructs of systems without recursion."""


class Settings(NamedTuple):
    """A level, and optimisations to disable."""

    level: str
    disabled_flags: tuple[str, ...]

    @classmethod
    def parse(cls, words: Sequence[str], levels: Sequence[Level], flags: Sequence[str]) -> Settings:
        """The settings of these words. If no word names a level, it is the last level, or empty if there are no levels.
        Raises Usage for a word that names neither a level nor a flag.

        >>> levels = [Level("eager", "kernels"), Level("optimised", "optimiser")]
        >>> Settings.parse(["dce"], levels, ["dce"])
        Settings(level='optimised', disabled_flags=('dce',))
        >>> Settings.parse(["eager"], levels, ["dce"])
        Settings(level='eager', disabled_flags=())
        """
        names = [level.name for level in levels]
        for word in words:
            if word not in names and word not in flags:
                required = ", ".join([*names, *flags]) or "no more words"
                raise Usage("the backend has no such level, and no such optimisation", required=required, got=word)
        level = next((word for word in words if word in names), names[-1] if names else "")
        return cls(level, tuple(word for word in words if word not in names))


class SystemAdapter:
    """The common part of the adapters of Python packages. The package is imported when an adapter is created."""

    name: str
    """The name of the system, as reports show it."""
    module: str
    language = "Python"
    constructs: tuple[str, ...] = NON_RECURSIVE
    flags: tuple[str, ...] = ()
    """The optimisations that can be disabled."""
    levels: tuple[Level, ...] = ()
    """The ways to run a program, from the fewest parts of the system to all."""

    def __init__(self, settings: Sequence[str] = ()) -> None:
        self.level, self.disabled_flags = Settings.parse(settings, self.levels, self.flags)
        self.system = import_module(self.module)

    def describe(self) -> Capabilities:
        """The system, and the features that it supports."""
        return Capabilities(
            self.name,
            self.system.__version__,
            self.language,
            constructs=self.constructs,
            flags=self.flags,
            levels=self.levels,
        )
