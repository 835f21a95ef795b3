"""Preferences kept between sessions: that the tour was shown, and the theme."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def preferences_folder() -> Path:
    """The folder of the preferences (XDG Base Directory Specification)."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(state) / "tagloom"


def load_preference(name: str) -> str:
    """The saved preference of this name; empty if there is none."""
    with suppress(OSError, UnicodeDecodeError):
        return (preferences_folder() / name).read_text(encoding="utf-8").strip()
    return ""


def save_preference(name: str, said: str) -> None:
    """Save a preference."""
    with suppress(OSError):
        preferences_folder().mkdir(parents=True, exist_ok=True)
        (preferences_folder() / name).write_text(f"{said}\n", encoding="utf-8")
