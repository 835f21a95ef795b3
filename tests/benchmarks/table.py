"""The results as Markdown: a table for each group of rows, and one of the thesis's programs in seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from conduct import RowResult, Rung
from rows import ROWS, THESIS, Row, Size

Results: TypeAlias = Mapping[str, Mapping[str, RowResult]]
"""By row, and by system."""
GROUPS = {
    "loops": "Loops over scalars",
    "recursion": "Recursion",
    "text": "Many operators, each run once",
    "cells": "Recurrent cells",
    "arrays": "Arrays",
    "training": "Training",
}


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table; columns of numbers are aligned to the right."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def number(value: float | None) -> str:
    """Three digits, or all of a large number.

    >>> [number(each) for each in (0.01234, 5.678, 1234.5, None)]
    ['0.0123', '5.68', '1,234', '']
    """
    if value is None:
        return ""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def format_size(size: Size) -> str:
    """A size as an argument list."""
    return ", ".join(f"{each:,}" for each in size)


def spread(seconds: Sequence[float], said: Callable[[float], float]) -> str:
    """The lowest and the highest of several."""
    return f" ({number(said(min(seconds)))} to {number(said(max(seconds)))})" if len(seconds) > 1 else ""


def _line(system: str, found: RowResult) -> list[str]:
    top = found.top
    if top is None:
        return [system, found.unable or "no time", "", "", "", ""]
    firing = number(top.firing())
    if top.firings and top.firings[0] != top.firings[1]:
        firing += f"; {number(top.firing(1))} with dead ones"
    growth = ", ".join(number(rung.each()) for rung in found.rungs[-3:])
    size = format_size(top.size) + (f"; then {found.unable}" if found.unable else "")
    return [system, size, number(top.each()) + spread(top.seconds, top.each), firing, growth, _compiling(found)]


def _compiling(found: RowResult) -> str:
    return "" if found.compile is None else f"{max(0.0, found.compile):.2f}"


def scalars(row: Row, systems: Mapping[str, RowResult]) -> str:
    """A row at the largest size that each system reached."""
    header = [
        "system",
        "size",
        f"ns per {row.unit} (spread)",
        "ns per firing",
        "at the last three sizes",
        "first call, s",
    ]
    return markdown(header, [_line(system, result) for system, result in systems.items()])


def arrays(row: Row, systems: Mapping[str, RowResult]) -> str:
    """A row at all its sizes."""
    header = ["system", *(f"{format_size(size)}, ns per {row.unit}" for size in row.ladder), "first call, s"]
    lines = []
    for system, result in systems.items():
        cells = [_cell(result.at(size)) for size in row.ladder]
        if not result.rungs:
            cells[0] = result.unable or "no time"
        lines.append([system, *cells, _compiling(result)])
    return markdown(header, lines)


def training(row: Row, systems: Mapping[str, RowResult]) -> str:
    """A row at all its sizes, in milliseconds a step."""

    def cells(found: RowResult) -> list[str]:
        return [_milliseconds(found.at(size)) or found.unable or "no time" for size in row.ladder]

    header = ["system", *(f"batch {format_size(size)}, ms" for size in row.ladder), "first call, s"]
    lines = [[system, *cells(found), _compiling(found)] for system, found in systems.items() if found.rungs]
    others = [f"{system} ({found.unable or 'no time'})" for system, found in systems.items() if not found.rungs]
    return markdown(header, lines) + (f"\n\nNot here: {', '.join(others)}." if others else "")


def _milliseconds(rung: Rung | None) -> str:
    return "" if rung is None else number(1e3 * rung.median) + spread(rung.seconds, lambda seconds: 1e3 * seconds)


def _cell(rung: Rung | None) -> str:
    return "" if rung is None else number(rung.each()) + spread(rung.seconds, rung.each)


def thesis(results: Results) -> str:
    """The thesis's programs, in seconds; ~ marks times that are extrapolated from the firings of a smaller size."""
    systems = list(
        dict.fromkeys(
            s
            for row in results
            for s, result in results[row].items()
            if result.rungs and ROWS[row].group == "recursion"
        )
    )
    header = ["program", "thesis, static", "thesis, dynamic", *systems]
    lines = []
    for (row, size), (static, dynamic) in THESIS.items():
        if row in results:
            cells = [_seconds(row, size, results[row].get(system)) for system in systems]
            lines.append([f"{row}({format_size(size)})", str(static), str(dynamic), *cells])
    return markdown(header, lines)


def _seconds(row: str, size: Size, found: RowResult | None) -> str:
    if found is None or found.top is None:
        return ""
    rung = found.at(size)
    if rung is not None:
        return number(rung.median)
    return f"~{number(found.top.each() * ROWS[row].units(*size) / 1e9)}"


def tables(results: Results) -> Iterator[str]:
    """All tables, with headings."""
    for group, title in GROUPS.items():
        members = [ROWS[name] for name in results if ROWS[name].group == group]
        if members:
            yield f"## {title}"
        for row in members:
            yield f"### {row.name}: {row.title}"
            yield {"arrays": arrays, "training": training}.get(group, scalars)(row, results[row.name])
        if group == "recursion" and members:
            yield "### The thesis's sizes, in seconds"
            yield thesis(results)
