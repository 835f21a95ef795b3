"""`tagloom examples`: programs to begin with, which come with the package, copied to where they can be edited."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import Usage

FOLDER = "exercises"
_SUFFIX = ".txt"
"""They are no modules of this package: each imports it, as a program does."""


def examples(
    copy: Annotated[Path | None, typer.Option(help="Copy them into this folder, which need not be there yet.")] = None,
) -> None:
    """List the example programs, or copy them."""
    found = dict(sorted(programs().items()))
    if copy is None:
        print("\n".join(f"{name:16} {_first_line(text)}" for name, text in found.items()))
        return
    for name, text in found.items():
        _check_free(copy / name, text)
    for name, text in found.items():
        print(_copied(copy / name, text))


def programs() -> dict[str, str]:
    """The text of each program, by the name of its file."""
    folder = files(__package__).joinpath(FOLDER)
    found = (each for each in folder.iterdir() if each.name.endswith(_SUFFIX))
    return {each.name.replace(_SUFFIX, ".py"): each.read_text(encoding="utf-8") for each in found}


def _first_line(text: str) -> str:
    return text.partition("\n")[0].strip('"')


def _check_free(target: Path, text: str) -> None:
    """Raises Usage where another file is in the way."""
    if target.exists() and target.read_bytes() != text.encode():
        raise Usage("this file is there, and is another", got=target, hint="copy into another folder")


def _copied(target: Path, text: str) -> Path:
    """Write a file; raises Usage where that is impossible."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Usage("this file cannot be written", got=target, hint=error.strerror) from None
    return target
