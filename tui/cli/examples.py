"""`tagloom examples`: the example programs of the package, copied to where they can be edited."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import Usage
from .terminal import print_diagnostic, print_text

FOLDER = "exercises"
_SUFFIX = ".txt"
"""The examples are not modules of this package: each imports it, as a user's program does."""


def examples(
    copy: Annotated[
        Path | None, typer.Option(help="Copy the programs into this folder, which is created if necessary.")
    ] = None,
) -> None:
    """List the example programs, or copy them.

    A file of the same name with other contents is not overwritten; then the exit code is 1.
    """
    programs = dict(sorted(example_programs().items()))
    if copy is None:
        for name, text in programs.items():
            print_text(f"{name:20} {text.partition(chr(10))[0].strip(chr(34))}")
        return
    conflicts = [copy / name for name, text in programs.items() if not copy_program(copy / name, text)]
    if conflicts:
        names = ", ".join(map(str, conflicts))
        print_diagnostic(f"not overwritten, because the contents differ: {names}")
        raise typer.Exit(1)


def example_programs() -> dict[str, str]:
    """The text of each program, by the name of its file."""
    folder = files(__package__).joinpath(FOLDER)
    resources = (resource for resource in folder.iterdir() if resource.name.endswith(_SUFFIX))
    return {resource.name.replace(_SUFFIX, ".py"): resource.read_text(encoding="utf-8") for resource in resources}


def copy_program(target: Path, text: str) -> bool:
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
    print_text(target)
    return True
