"""The folder of a finding of `tagloom conform --fuzz`, and reading it; `finding_report` writes it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ...core.errors import Usage
from ...core.files import read_file

PROGRAM_FILE, FINDING_FILE, SCRIPT_FILE = "program.tl", "finding.json", "script.py"
"""The files in the folder: the shrunk program; the results, and the command that repeats them; and, for systems in
Python, a script that needs that system only."""


def is_finding(target: str) -> bool:
    """Whether this is the folder of a finding of `tagloom conform --fuzz`."""
    return bool(target) and os.path.isfile(Path(target) / FINDING_FILE)  # False for a name that is too long


def open_finding(folder: Path, args: list[str] | None) -> tuple[str, list[str], int]:
    """The program of a finding, its arguments, and the number of events up to the first wrong token; if there is none,
    up to the first result that differs.

    Raises Usage if the finding cannot be read, or if there are other arguments.
    """
    if args:
        raise Usage("a finding already has its arguments", got=" ".join(args), hint=f"tagloom debug {folder}")
    finding = read_finding(folder)
    try:
        difference = finding.get("first_wrong_token") or finding["first_difference"]
        events = 0 if difference is None else int(difference["events"])
        return f"{folder / PROGRAM_FILE}:{finding['function']}", list(map(str, finding["words"])), events
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise unreadable_finding(folder) from error


def finding_backend(folder: Path) -> str:
    """The backend that a finding is about. Raises Usage if the finding cannot be read."""
    try:
        return str(read_finding(folder)["backend"])
    except KeyError as error:
        raise unreadable_finding(folder) from error


def read_finding(folder: Path) -> dict[str, Any]:
    """The JSON object of a finding. Raises Usage if the file has none."""
    try:
        finding = json.loads(read_file(folder / FINDING_FILE))
    except (ValueError, RecursionError) as error:
        raise unreadable_finding(folder) from error
    if not isinstance(finding, dict):
        raise unreadable_finding(folder)
    return finding


def unreadable_finding(folder: Path) -> Usage:
    return Usage("this finding cannot be read", got=folder / FINDING_FILE)
