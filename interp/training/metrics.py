"""Files of training metrics: a line of JSON for each step, with named numbers.

A line is written atomically, as far as the system allows. After a crash, the next writer removes a partial last line,
and readers skip it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping

from ...core.errors import Malformed, Usage
from ...core.files import lock_file, path_errors, read_file
from ...core.frontend.trace.source_location import user_location
from ...core.json.cursor import INT64_BOUND

STEP_KEY = "step"
_NONFINITE = {str(number): number for number in (math.inf, -math.inf, math.nan)}

MetricSeries = Mapping[str, Mapping[int, float]]
"""The metrics of a file: by name, then by step."""


def append_metrics(path: str | os.PathLike[str], step: int, metrics: Mapping[str, object]) -> None:
    """Append a line to a file, which is created if it does not exist. Raises Usage if the step is not an int64, if a
    metric is neither a Python number nor an array without axes, or if the file cannot be written."""
    if not is_step(step):
        raise Usage("the step must be an int64", where=user_location(), got=repr(step)[:80], python=ValueError)
    line = {STEP_KEY: step, **{name: encode_number(name, value) for name, value in metrics.items()}}
    text = json.dumps(line, allow_nan=False) + "\n"
    with path_errors(path, "the metrics file cannot be written", user_location()):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            with lock_file(descriptor, required=False):  # another writer's unfinished line looks like a partial one
                truncate_partial_line(descriptor)
                os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def read_metrics(path: str | os.PathLike[str]) -> MetricSeries:
    """Read the metrics of a file, in the order of steps. If a step occurs again, as when training is resumed, its last
    line counts; a partial last line is skipped.

    Raises Usage if the file cannot be read, and Malformed if another line is not one of metrics.
    """
    lines = read_file(path).split(b"\n")
    metrics_by_name: dict[str, dict[int, float]] = {}
    for number, line in enumerate(lines[:-1], start=1):
        step, metrics = parse_metrics_line(line, f"{os.fspath(path)}:{number}")
        for name, value in metrics.items():
            metrics_by_name.setdefault(name, {})[step] = value
    return {name: dict(sorted(series.items())) for name, series in metrics_by_name.items()}


def is_step(value: object) -> bool:
    """Whether a value is a Python integer in the range of int64."""
    return type(value) is int and -INT64_BOUND <= value < INT64_BOUND


def encode_number(name: str, value: object) -> float | int | str:
    """A metric as a number for JSON, or as text if it is NaN or infinite. Raises Usage if it is not a number, or is
    named `step`."""
    if name == STEP_KEY:
        raise Usage("a metric cannot be named step", where=user_location(), hint="give this metric another name")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        python = TypeError if isinstance(error, TypeError) else ValueError
        message = f"the metric {name} must be a number"
        raise Usage(message, where=user_location(), got=repr(value)[:80], python=python) from None
    return number if math.isfinite(number) else str(number)


def truncate_partial_line(descriptor: int) -> None:
    """Cut off a partial last line."""
    size = end = os.lseek(descriptor, 0, os.SEEK_END)
    while end and _read_byte(descriptor, end - 1) != b"\n":
        end -= 1
    if end < size:
        os.ftruncate(descriptor, end)


def _read_byte(descriptor: int, offset: int) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, 1)


def parse_metrics_line(line: bytes, location: str) -> tuple[int, dict[str, float]]:
    """The step and the numbers of a line; raises Malformed, at `location`, if it is not a line of metrics."""
    try:
        fields = json.loads(line)
        step = fields.pop(STEP_KEY)
        numbers = {name: _NONFINITE.get(value, value) for name, value in fields.items()}
        is_valid = is_step(step) and all(type(value) in (int, float) for value in numbers.values())
        metrics = {name: float(value) for name, value in numbers.items()} if is_valid else {}
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        is_valid = False
    if not is_valid:
        got = line[:80].decode(errors="replace")
        raise Malformed(
            "this is not a line of a metrics file", where=location, required='{"step": 1, "loss": 0.5}', got=got
        )
    return step, metrics
