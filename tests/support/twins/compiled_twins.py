"""Compiled engines that are wrong in one known way: in the text of programs something stands for something else."""

from __future__ import annotations

import re

import pytest
from tagloom.core.program.program import Program
from tagloom.interp.engines.compiled import run as engine
from tagloom.interp.engines.compiled import source
from tagloom.interp.engines.compiled.emitter import GeneratedModule


def afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no program be compiled already."""
    monkeypatch.setattr(engine, "_compiled_programs", type(engine._compiled_programs)())


def broken(monkeypatch: pytest.MonkeyPatch, pattern: str, instead: str) -> None:
    """Let texts be wrong. Fails where a text has nothing of this pattern."""
    right = source.emit_module

    def emit_module(program: Program, *, native: bool = False) -> GeneratedModule:
        made = right(program, native=native)
        lines = [re.sub(pattern, instead, line) for line in made.lines]
        assert lines != made.lines, "this twin is not wrong at all"
        made.lines = lines
        return made

    afresh(monkeypatch)
    monkeypatch.setattr(source, "emit_module", emit_module)
