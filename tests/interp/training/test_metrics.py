"""Metrics of a training read back as they were written, also after an interrupted write."""

from __future__ import annotations

import math
import os
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st
from tagloom.interp.training.metrics import append_metrics, read_metrics

STEPS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.floats() | st.integers(-(2**53), 2**53)
LINES = st.lists(st.tuples(STEPS, st.dictionaries(st.text(min_size=1).filter("step".__ne__), NUMBERS)))


def bits(series: Any) -> Any:
    return {
        name: {step: struct.pack("d", math.nan if value != value else value) for step, value in numbers.items()}
        for name, numbers in series.items()
    }


@given(lines=LINES)
def test_metrics_survive_a_round_trip(lines: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """All floats read back, by name and step, sorted; for a repeated step the last value counts."""
    path, expected = tmp_path_factory.mktemp("metrics") / "run.jsonl", {}
    path.touch()
    for step, metrics in lines:
        append_metrics(path, step, metrics)
        for name, value in metrics.items():
            expected.setdefault(name, {})[step] = float(value)
    actual = read_metrics(path)
    assert bits(actual) == bits(expected)
    assert all(list(numbers) == sorted(numbers) for numbers in actual.values())


def test_a_truncated_file_is_read(tmp_path: Path) -> None:
    """If the last line is cut anywhere, the others are read, and the next line is whole."""
    path = tmp_path / "run.jsonl"
    append_metrics(path, 0, {"loss": 0.5})
    first = path.stat().st_size
    append_metrics(path, 1, {"loss": 0.25})
    whole = path.read_bytes()
    for size in range(first, len(whole)):
        path.write_bytes(whole[:size])
        assert read_metrics(path) == {"loss": {0: 0.5}}
        append_metrics(path, 2, {"loss": 0.125})
        assert read_metrics(path) == {"loss": {0: 0.5, 2: 0.125}}


@pytest.mark.parametrize("is_slow", [False, True])
def test_several_writers(is_slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of several writers do not mix or truncate one another, even if half a line is visible for a while."""
    path, write = tmp_path / "run.jsonl", os.write

    def in_halves(descriptor: int, line: bytes) -> int:
        written = write(descriptor, line[:30])
        time.sleep(1e-4)
        return written + write(descriptor, line[30:])

    if is_slow:
        monkeypatch.setattr(os, "write", in_halves)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda step: append_metrics(path, step, {"x" * 50: step}), range(200)))
    assert read_metrics(path) == {"x" * 50: {step: float(step) for step in range(200)}}


@pytest.mark.parametrize("value", ["much", None, [1.0, 2.0], np.ones(3)], ids=repr)
def test_values_that_are_no_numbers_are_refused(value: Any, tmp_path: Path) -> None:
    """A value that is no number is refused, and nothing is written; no metric may be called step, and no step lies
    beyond int64."""
    path = tmp_path / "run.jsonl"
    with pytest.raises(tl.TagloomError, match=r"must be a number|of arrays of no axes"):
        append_metrics(path, 0, {"loss": value})
    with pytest.raises(tl.Usage, match="a metric cannot be named step"):
        append_metrics(path, 0, {"step": 1})
    for step in (2**63, -(2**63) - 1, True, 1.5):
        with pytest.raises(tl.Usage, match="the step must be an int64"):
            append_metrics(path, step, {"loss": 1.0})  # type: ignore[arg-type]
    assert not path.exists()


@pytest.mark.parametrize(
    "line", ["loss 1", "[1]", "{}", '{"step": 1.5}', '{"step": 1, "loss": "low"}', '{"step": 1, "a": true}', ""]
)
def test_malformed_files_are_refused(line: str, tmp_path: Path) -> None:
    """A wrong line before the last one is reported with its number; a missing file is reported too."""
    path = tmp_path / "run.jsonl"
    path.write_text(f'{{"step": 1}}\n{line}\n{{"step": 2}}\n')
    with pytest.raises(tl.Malformed, match=r"not a line of a metrics file.*run\.jsonl:2"):
        read_metrics(path)
    for wrong in (tmp_path / "no.jsonl", tmp_path):
        with pytest.raises(tl.Usage, match="cannot be read"):
            read_metrics(wrong)
    with pytest.raises(tl.Usage, match="cannot be written"):
        append_metrics(tmp_path, 0, {})
