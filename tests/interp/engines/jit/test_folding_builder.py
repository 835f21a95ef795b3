"""The builder that folds aggregates: the instructions that it leaves out change no result."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llvmlite import ir
from tagloom.interp.engines.jit import native
from tagloom.interp.engines.jit.folding_builder import FoldingBuilder, remove_unused

WORD = ir.IntType(64)
PAIR = ir.ArrayType(WORD, 2)
AGGREGATE = ir.LiteralStructType([WORD, PAIR, WORD])
PATHS = [(0,), (1, 0), (1, 1), (2,), (1,)]
STEPS = st.lists(st.tuples(st.sampled_from(["insert", "extract", "copy"]), st.sampled_from(PATHS)), max_size=12)


def build(builder_class: Callable[[Any], Any], steps: list[tuple[str, tuple[int, ...]]], starts_undefined: bool) -> Any:
    """A module whose function `sum` puts words into an aggregate, takes some out, and returns a weighted sum."""
    module = ir.Module()
    module.triple = llvm.get_process_triple()
    function = ir.Function(module, ir.FunctionType(WORD, [WORD]), "sum")
    builder = builder_class(function.append_basic_block("entry"))
    aggregate, total = ir.Constant(AGGREGATE, None), function.args[0]
    if starts_undefined:
        aggregate = ir.Constant(AGGREGATE, ir.Undefined)
        for index, value in enumerate((total, ir.Constant(PAIR, [WORD(5), WORD(7)]), WORD(11))):
            aggregate = builder.insert_value(aggregate, value, index)
    slot = builder.alloca(AGGREGATE)
    for weight, (step, path) in enumerate(steps, 3):
        if step == "copy":  # through memory, where nothing can be found
            builder.store(aggregate, slot)
            aggregate = builder.load(slot)
        elif step == "insert" and path == (1,):
            pair = builder.insert_value(ir.Constant(PAIR, None), total, 1)
            aggregate = builder.insert_value(aggregate, pair, path)
        elif step == "insert":
            aggregate = builder.insert_value(aggregate, builder.mul(total, WORD(weight)), path)
        else:
            value = builder.extract_value(aggregate, path)
            value = builder.extract_value(value, 0) if path == (1,) else value
            total = builder.add(builder.mul(total, WORD(weight)), value)
    builder.ret(total)
    return module


def count_instructions(module: Any) -> int:
    return sum(len(block.instructions) for function in module.functions for block in function.blocks)


def result_of(module: Any) -> int:
    native._initialize()
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = native.load_object(machine.emit_object(parsed))
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("sum"))
    return int(function(13))


def built_folded(steps: list[tuple[str, tuple[int, ...]]], starts_undefined: bool) -> Any:
    module = build(FoldingBuilder, steps, starts_undefined)
    remove_unused(module.functions[0])
    return module


@given(STEPS, st.booleans())
def test_results_are_those_of_the_plain_builder(
    steps: list[tuple[str, tuple[int, ...]]], starts_undefined: bool
) -> None:
    folded, plain = built_folded(steps, starts_undefined), build(ir.IRBuilder, steps, starts_undefined)
    assert result_of(folded) == result_of(plain)
    assert count_instructions(folded) <= count_instructions(plain)


def test_a_field_that_was_inserted_is_found_without_an_instruction() -> None:
    module = built_folded([("insert", (0,)), ("insert", (1, 1)), ("extract", (0,))], True)
    names = [each.opname for each in module.functions[0].blocks[0].instructions]
    assert "extractvalue" not in names and "insertvalue" not in names


def test_twin_that_ignores_later_insertions_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a pair from where it was inserted, though one of its words was replaced later."""

    def extract_value(self: Any, aggregate: Any, indices: Any, name: str = "") -> Any:
        path = tuple(indices) if isinstance(indices, tuple | list) else (indices,)
        while isinstance(aggregate, ir.instructions.InsertValue):
            if tuple(aggregate.indices) == path:
                return aggregate.value
            aggregate = aggregate.aggregate
        return ir.IRBuilder.extract_value(self, aggregate, path, name)

    steps = [("insert", (1,)), ("insert", (1, 0)), ("extract", (1,))]
    expected = result_of(build(ir.IRBuilder, steps, True))
    assert result_of(built_folded(steps, True)) == expected
    monkeypatch.setattr(FoldingBuilder, "extract_value", extract_value)
    assert result_of(built_folded(steps, True)) != expected


def test_twin_that_removes_stores_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [("insert", (0,)), ("copy", (0,)), ("extract", (0,))]
    expected = result_of(build(ir.IRBuilder, steps, True))
    assert result_of(built_folded(steps, True)) == expected
    monkeypatch.setattr(
        "tagloom.interp.engines.jit.folding_builder._is_pure", lambda each: each.opname not in ("ret", "load")
    )
    module = built_folded(steps, True)
    assert not any(each.opname == "store" for each in module.functions[0].blocks[0].instructions)
