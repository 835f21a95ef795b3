"""Arguments and options shared by several commands, with their help."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ...interp.engines.limits import Limits

DEFAULT_LIMITS = Limits()
LITERAL_SETTINGS = {"ignore_unknown_options": True}
"""Typer settings by which `-3` is an argument; `load.py` reports options that do not exist."""


class UntilCondition(StrEnum):
    """The values of --until: when a run stops. `quiet` is quiescence."""

    quiet = "quiet"
    result = "result"
    trap = "trap"


Target = Annotated[
    str,
    typer.Argument(
        metavar="FILE[:NAME]", help="A .py, .tl, .json, .onnx, .mlir, .pb, .pbtxt or .pt2 file, and a name in it."
    ),
]
Arguments = Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="Literals: 3, -2.5, true, [1, 2], @x.npy.")]
Firings = Annotated[int | None, typer.Option("--max-firings", help="End the run after this many firings.")]
ShownFirings = Annotated[
    int | None,
    typer.Option(
        "--max-firings", help="End the run after this many firings; 1,000,000 by default, more for --form graph --at N."
    ),
]
CheckedFirings = Annotated[
    int | None,
    typer.Option(
        "--max-firings", help="End a run after this many firings; 1,000,000 by default, 100,000 with --against."
    ),
]
Tokens = Annotated[
    int | None, typer.Option("--max-tokens", help="End the run if more tokens than this are alive at once.")
]
Depth = Annotated[int, typer.Option("--max-depth", help="End the run if calls and loops nest deeper than this.")]
Bytes = Annotated[int, typer.Option("--max-bytes", help="End the run if the process uses more memory than this.")]
Seconds = Annotated[
    float | None, typer.Option("--timeout", help="End the run after this many seconds; compiling is not counted.")
]
Schedule = Annotated[
    str, typer.Option(help="The order in which tokens are delivered: fifo, lifo, waves, random:SEED or hand:FILE.")
]
Until = Annotated[
    UntilCondition | None,
    typer.Option(help="Stop when nothing is left to do, at the result, or at a trap.", show_default="quiet"),
]
Fold = Annotated[list[str] | None, typer.Option(help="Draw this function or loop as one box.")]
Boxes = Annotated[int, typer.Option(help="Fold functions and loops until at most this many boxes are left.")]
Full = Annotated[bool, typer.Option("--full", help="Draw every node: no bundles, and nothing folded.")]
Seed = Annotated[int, typer.Option(help="The seed of random numbers.")]
Bound = Annotated[int | None, typer.Option("--k", help="How many iterations of a loop may run at once.")]
Unchecked = Annotated[bool, typer.Option("--unchecked", help="Run a graph even if it breaks rules (any but V7, V15).")]
Fetch = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Run only the part that computes this value: h, main/loop[4]/h, main/**/h."),
]
Feed = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=LITERAL", help="Use this literal in place of a value that the program would compute."),
]
