"""Old keys of outcomes and event logs, which readers accept for the new ones until the next minor version."""

from __future__ import annotations

from dataclasses import replace

from ...core.json.cursor import JsonCursor

NEW_KEYS = {"parked": "deferred", "held": "throttled"}
"""Old key -> new key."""


def with_new_keys(cursor: JsonCursor) -> JsonCursor:
    """The same object with new keys for the old ones. If it has both, the old key stays, and is refused as unknown.

    >>> with_new_keys(JsonCursor({"position": 0, "held": True})).data
    {'position': 0, 'throttled': True}
    """
    data = cursor.mapping()
    old = {key for key in NEW_KEYS.keys() & data if NEW_KEYS[key] not in data}
    return replace(cursor, data={NEW_KEYS[key] if key in old else key: data[key] for key in data}) if old else cursor
