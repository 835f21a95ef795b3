"""Histories and Python's garbage collector.

A long run is some millions of tuples. None is ever part of a cycle, but the collector, on its own, looks at all of
them again and again: half the time of the run, and pauses of 1.7 s at a million events, in whatever is done then. So
what is there when a history is long is set aside (`gc.freeze`) until the last such history is gone. Reference counts
free what is set aside, as ever; garbage in cycles that happened to be around waits until then.
"""

from __future__ import annotations

import gc
import weakref

LONG_HISTORY = 10_000
"""From how many events on a history is long: below, they add some 10 ms to a collection."""

_freeze_owners: set[int] = set()
"""Whose sake objects are set aside for."""


def freeze_objects(owner: object) -> None:
    """Keep the collector from what there is now, as long as `owner` lives.

    Nothing is done where the collector is off, or where somebody else has set objects aside, who may not want these.
    """
    if not gc.isenabled() or (not _freeze_owners and gc.get_freeze_count()):
        return
    if id(owner) not in _freeze_owners:
        _freeze_owners.add(id(owner))
        weakref.finalize(owner, _unfreeze, id(owner)).atexit = False
    gc.freeze()


def _unfreeze(owner: int) -> None:
    _freeze_owners.discard(owner)
    if not _freeze_owners:
        gc.unfreeze()
