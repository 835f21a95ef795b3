"""`tagloom examples`: the example programs of the package, copied to where they can be edited, and the exercises as
pages."""

from __future__ import annotations

import os
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import Usage
from ...core.escape import escape_line
from ...core.world import World
from ...viz.player.live import build_live_page, unsupported_reason
from ...viz.player.page import PlayerPage, PlayerSelection, page_of_beginning
from ..run_start import RunRequest
from .terminal import print_diagnostic, print_text, print_to_stderr

FOLDER = "exercises"
_SUFFIX = ".txt"
"""The examples are not modules of this package: each imports it, as a user's program does."""


PAGE_ARGUMENTS = {
    "factorial": ("4",), "power": ("2", "5"), "choose": ("4", "2"), "divisor": ("12", "18"), "primes": ("9",),
    "prefix_sums": ("4",), "paths": ("2", "3"), "descent": ("1.0",), "window": ("6",), "tree_sum": ("1",),
}  # fmt: skip
"""The exercises, in their order, with the arguments that a page begins with."""

INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Exercises</title>
</head>
<body>
<main>
<h1>Exercises</h1>
<p>Each page runs a program that is not what its title says. Step, predict, and find the first wrong value. Then correct
the program beside the page, and check it: <code>tagloom check factorial.py <nobr>--against</nobr>
factorial_right.py</code>.</p>
<ol>
@@ITEMS@@
</ol>
</main>
</body>
</html>
"""


def examples(
    copy: Annotated[
        Path | None, typer.Option(help="Copy the programs into this folder, which is created if necessary.")
    ] = None,
    pages: Annotated[
        Path | None, typer.Option(help="Write the exercises as pages that run in a browser into this folder.")
    ] = None,
) -> None:
    """List the example programs, or copy them.

    A file of the same name with other contents is not overwritten; then the exit code is 1. --pages writes a page for
    each of the ten exercises beside its program, and index.html, which links them; if a program differs, it writes no
    page.
    """
    programs = dict(sorted(example_programs().items()))
    if copy is None and pages is None:
        for name, text in programs.items():
            print_text(f"{name:20} {text.partition(chr(10))[0].strip(chr(34))}")
        return
    conflicts = [] if copy is None else write_files(copy, programs)
    conflicts += [] if pages is None else write_pages(pages)
    if conflicts:
        names = escape_line(", ".join(map(str, conflicts)))
        print_diagnostic(f"not overwritten, because the contents differ: {names}")
        raise typer.Exit(1)


def write_files(folder: Path, texts: dict[str, str]) -> list[Path]:
    """Write files, and print their names; returns those that exist with other contents. Raises Usage if one cannot be
    written."""
    return [folder / name for name, text in texts.items() if not write_new_file(folder / name, text)]


def write_pages(folder: Path) -> list[Path]:
    """Write the exercises and their solutions, and then, if none of them exists with other contents, a page for each
    exercise, and an index. Returns the files that exist with other contents; raises Usage if one cannot be written."""
    programs, pages, items = example_programs(), dict[str, str](), list[str]()
    files_beside = [file for name in PAGE_ARGUMENTS for file in (f"{name}.py", f"{name}_right.py")]
    if conflicts := write_files(folder, {file: programs[file] for file in files_beside}):
        return conflicts  # a page runs the program beside it, which is then another one
    for name, words in PAGE_ARGUMENTS.items():
        docstring = programs[f"{name}.py"].partition("\n")[0].strip('"')
        about = f"{docstring} Check your correction: tagloom check {name}.py --against {name}_right.py"
        pages[f"{name}.html"] = exercise_page(RunRequest(str(folder / f"{name}.py"), words), about).html
        title = docstring.partition("; it is")[0].partition(", ")[2]
        items.append(f'<li><a href="{name}.html">{escape(title)}</a></li>')
    return write_files(folder, pages | {"index.html": INDEX.replace("@@ITEMS@@", "\n".join(items))})


def exercise_page(start: RunRequest, about: str) -> PlayerPage:
    """The page of an exercise, with a text about it: a live page, or, if its machine lacks an op, a recorded
    run."""
    history, choice = start.history(World(print_to_stderr)), PlayerSelection(about=about)
    if unsupported_reason(history.graph) is None:
        return build_live_page(history.graph, history.arguments, choice=choice)
    return page_of_beginning(history, choice)


def example_programs() -> dict[str, str]:
    """The text of each program, by the name of its file."""
    folder = files(__package__).joinpath(FOLDER)
    resources = (resource for resource in folder.iterdir() if resource.name.endswith(_SUFFIX))
    return {resource.name.replace(_SUFFIX, ".py"): resource.read_text(encoding="utf-8") for resource in resources}


def write_new_file(target: Path, text: str) -> bool:
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
    print_text(escape_line(str(target)))
    return True
