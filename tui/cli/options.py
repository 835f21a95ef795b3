"""Arguments and options shared by several commands, with their help."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

LITERAL_SETTINGS = {"ignore_unknown_options": True}
"""Makes `-3` an argument; `load` reports stray options."""


class UntilCondition(StrEnum):
    """When a run stops."""

    quiet = "quiet"
    result = "result"
    trap = "trap"


Target = Annotated[str, typer.Argument(metavar="FILE[:NAME]", help="A .py, .tl or .json file, and a name in it.")]
Arguments = Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="Literals: 3, -2.5, true, [1, 2], @x.npy")]
Firings = Annotated[int, typer.Option("--max-firings", help="End the run before more nodes fire.")]
ShownFirings = Annotated[
    int | None,
    typer.Option("--max-firings", help="End the run before more nodes fire: 1,000,000, but for --at of the graph."),
]
CheckedFirings = Annotated[
    int | None,
    typer.Option("--max-firings", help="End a run before more nodes fire: 1,000,000; with --against 100,000."),
]
Tokens = Annotated[int, typer.Option("--max-tokens", help="End the run before more tokens are alive at once.")]
Depth = Annotated[int, typer.Option("--max-depth", help="End the run before calls and loops nest deeper.")]
Bytes = Annotated[int, typer.Option("--max-bytes", help="End the run when the process has more memory.")]
Seconds = Annotated[float | None, typer.Option("--timeout", help="End the run after so many seconds.")]
Schedule = Annotated[str, typer.Option(help="fifo, lifo, waves, random:SEED or hand:FILE.")]
Until = Annotated[
    UntilCondition | None, typer.Option(help="Stop when quiet, at the result, or at a trap.", show_default="quiet")
]
Fold = Annotated[list[str] | None, typer.Option(help="Draw this function or loop as one box.")]
Boxes = Annotated[int, typer.Option(help="Fold functions and loops until at most so many boxes are left.")]
Seed = Annotated[int, typer.Option(help="The seed of random numbers.")]
Bound = Annotated[int | None, typer.Option("--k", help="How many iterations of a loop may run at once.")]
Unchecked = Annotated[bool, typer.Option("--unchecked", help="Run a graph though it breaks rules (any but V7, V15).")]
Fetch = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Run what is needed for this value: h, main/loop[4]/h, main/**/h."),
]
Feed = Annotated[
    list[str] | None, typer.Option(metavar="NAME=LITERAL", help="Use this in place of what the program would make.")
]
