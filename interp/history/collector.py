"""Keeping Python's garbage collector away from long histories.

A long run is millions of tuples. None is ever part of a cycle, but the collector scans all of them again and again:
half the time of the run, with pauses of 1.7 s at a million events. So when a history gets long, all present objects are
set aside (`gc.freeze`) until the last such history is gone. Reference counts still free them; garbage in cycles that
existed at that time waits until then.
"""

from __future__ import annotations

import gc
import weakref

LONG_HISTORY = 10_000
"""The number of events from which a history counts as long; fewer add at most 10 ms to a collection."""

_freeze_owners: set[int] = set()
"""The owners that objects are set aside for."""


def freeze_objects(owner: object) -> None:
    """Exempt all present objects from collection, as long as `owner` lives.

    Does nothing if the collector is off, or if other code has frozen objects, which this must not mix with.
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
