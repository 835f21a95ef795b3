"""`tagloom examples`: the example programs of the package, copied to where they can be edited."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import Usage

FOLDER = "exercises"
_SUFFIX = ".txt"
"""The examples are no modules of this package: each imports it, as a program does."""


def examples(
    copy: Annotated[Path | None, typer.Option(help="Copy them into this folder, which need not be there yet.")] = None,
) -> None:
    """List the example programs, or copy them. Files that were changed there stay as they are, and the exit is 1."""
    found = dict(sorted(example_programs().items()))
    if copy is None:
        print("\n".join(f"{name:16} {_first_line(text)}" for name, text in found.items()))
        return
    others = [copy / name for name, text in found.items() if not _copy_program(copy / name, text)]
    if others:
        named = ", ".join(map(str, others))
        print(f"left alone, since they are there and are others: {named}", file=sys.stderr)
        raise typer.Exit(1)


def example_programs() -> dict[str, str]:
    """The text of each program, by the name of its file."""
    folder = files(__package__).joinpath(FOLDER)
    found = (each for each in folder.iterdir() if each.name.endswith(_SUFFIX))
    return {each.name.replace(_SUFFIX, ".py"): each.read_text(encoding="utf-8") for each in found}


def _first_line(text: str) -> str:
    return text.partition("\n")[0].strip('"')


def _copy_program(target: Path, text: str) -> bool:
    """Write a file, and print its name; False if a different file exists. Raises Usage if it cannot be written."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(target):
            with target.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        elif not target.is_file() or target.read_bytes() != text.encode():
            return False
    except OSError as error:
        raise Usage("this file cannot be written", got=error.filename or target, hint=error.strerror) from None
    print(target)
    return True
