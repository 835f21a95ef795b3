"""`tagloom curve`: the learning curves of a training, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...viz.curves import curve as drawn


def curve(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Metrics, a line of JSON a step.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="A file ending in .svg.")] = Path("curve.svg"),
    dark: Annotated[bool, typer.Option("--dark", help="For a dark background.")] = False,
) -> None:
    """Draw learning curves. They show the metrics that tl.progress(..., log=FILE) wrote, step by step."""
    drawn(file, dark=dark).save(output)
