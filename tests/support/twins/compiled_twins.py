"""Broken twins of the compiled engine: a pattern in the text of compiled programs is replaced."""

from __future__ import annotations

import re

import pytest
from tagloom.core.program.program import Program
from tagloom.interp.engines.compiled import codegen
from tagloom.interp.engines.compiled import run as engine
from tagloom.interp.engines.compiled.emitter import GeneratedModule


def afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear the caches of compiled programs."""
    monkeypatch.setattr(engine, "_compiled_programs", type(engine._compiled_programs)())


def broken(monkeypatch: pytest.MonkeyPatch, pattern: str, instead: str) -> None:
    """Replace a pattern in the text of compiled programs. Fails if a text does not contain it."""
    right = codegen.emit_module

    def emit_module(program: Program) -> GeneratedModule:
        result = right(program)
        lines = [re.sub(pattern, instead, line) for line in result.lines]
        assert lines != result.lines, "this twin is not wrong at all"
        result.lines = lines
        return result

    afresh(monkeypatch)
    monkeypatch.setattr(codegen, "emit_module", emit_module)
