"""`tagloom play`: writes an HTML page that plays a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import Usage
from ...core.escape import escape_line
from ...core.world import World
from ...interp.engines.limits import Limits
from ...interp.machine.schedule import BY_HAND
from ...viz.collapse import MAX_BOXES
from ...viz.player.live import build_live_page
from ...viz.player.page import PlayerSelection, page_of_beginning
from ...viz.player.recording import MAX_EVENTS
from ..run_start import RunRequest, StartOptions
from .options import (
    DEFAULT_LIMITS,
    Arguments,
    Bound,
    Boxes,
    Bytes,
    Depth,
    Firings,
    Fold,
    Full,
    Schedule,
    Seconds,
    Seed,
    Tokens,
    Unchecked,
)
from .show import LayoutProgress
from .terminal import print_diagnostic, print_text, print_to_stderr

PAGE_SUFFIXES = (".html", ".htm")


def play(
    target: Annotated[str, typer.Argument(metavar="FILE[:NAME]", help="What `run` takes, or a log of events.")],
    args: Arguments = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write the page to.")] = Path("run.html"),
    first: Annotated[int, typer.Option("--from", help="The first event that is shown, from 0.")] = 0,
    most: Annotated[int, typer.Option(help="The most events that are shown.")] = MAX_EVENTS,
    under: Annotated[str, typer.Option(help="Show only this activation and those below it: main/fib/loop[2].")] = "",
    fold: Fold = None,
    boxes: Boxes = MAX_BOXES,
    full: Full = False,
    schedule: Schedule = "waves",
    seed: Seed = 0,
    k: Bound = None,
    live: Annotated[bool, typer.Option("--live", help="Write a page that runs the program itself.")] = False,
    embed: Annotated[bool, typer.Option("--embed", help="The graph and the controls alone, for an iframe.")] = False,
    unchecked: Unchecked = False,
    max_firings: Firings = 1_000_000,
    max_tokens: Tokens = None,
    max_depth: Depth = DEFAULT_LIMITS.depth,
    max_bytes: Bytes = DEFAULT_LIMITS.bytes,
    timeout: Seconds = None,
) -> None:
    """Write an HTML page that plays a run.

    Tokens move over the graph, forwards and backwards. The page needs no server and no network. By default it shows the
    first 5,000 events; --from, --most and --under choose others. The run goes no further than the last event that is
    shown.

    With --live the page has a token machine, which runs the program in the browser: the reader changes arguments and
    schedule, and delivers, changes or injects tokens by hand. It computes on scalars only.
    """
    if output.suffix.lower() not in PAGE_SUFFIXES:
        raise Usage(
            "a page needs an HTML file", required=" or ".join(PAGE_SUFFIXES), got=str(output), hint="-o run.html"
        )
    limits = Limits(max_firings, max_tokens, max_depth, max_bytes, timeout)
    options = StartOptions(schedule, limits, seed, k, unchecked)
    history = RunRequest(target, tuple(args or ()), options).history(World(print_to_stderr))
    choice = PlayerSelection(first, most, under, boxes, tuple(fold or ()), full, embed)
    with LayoutProgress() as progress:
        if live:
            if first or under or schedule.startswith(BY_HAND):
                raise Usage("--live takes neither --from, --under nor --schedule hand:FILE")
            page = build_live_page(
                history.graph, history.arguments, schedule, choice, progress.report, seed=seed, bound=k
            )
        else:
            page = page_of_beginning(history, choice, progress.report)
    page.save(output)
    if page.note:
        print_diagnostic(page.note)
    print_text(escape_line(str(output)))
