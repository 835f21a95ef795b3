"""What the app remembers from one time to the next: that the tour was seen, and the theme. Else it forgets."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def preferences_folder() -> Path:
    """Where it is kept (XDG Base Directory Specification)."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(state) / "tagloom"


def load_preference(name: str) -> str:
    """What was kept by this name; empty where nothing was."""
    with suppress(OSError, UnicodeDecodeError):
        return (preferences_folder() / name).read_text(encoding="utf-8").strip()
    return ""


def save_preference(name: str, said: str) -> None:
    """Keep it for the next time."""
    with suppress(OSError):
        preferences_folder().mkdir(parents=True, exist_ok=True)
        (preferences_folder() / name).write_text(f"{said}\n", encoding="utf-8")
