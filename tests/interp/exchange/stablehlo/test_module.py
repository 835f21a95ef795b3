"""Modules that are parsed already become programs; these tests need no jaxlib."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs.stablehlo_modules import TEXT, document, parsed
from tagloom.interp.exchange.stablehlo.model import module_function
from tagloom.interp.exchange.stablehlo.module import read_module
from tagloom.interp.exchange.stablehlo.operations import ROWS
from tagloom.viz.source_lines import local_line


def imported(contents: Any = None) -> tl.Function:
    """The function of a document."""
    return module_function(read_module(contents or document()))


def collatz(n: int) -> tuple[int, int]:
    steps = 0
    while n > 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    return steps, 9 + 4 * steps


@pytest.mark.parametrize("n", [0, 1, 6, 27])
def test_outcomes(n: int) -> None:
    """The module computes what it says, under each schedule."""
    for schedule in ("fifo", "lifo", "random:3"):
        assert imported().run(n, engine="reference", schedule=schedule).value == collatz(n)


def test_the_program_says_what_the_module_says() -> None:
    """A while is one loop, whose variables have the names of the module; an if is a cond, a function a function, each
    once; a node points to its line."""
    program = imported().program
    assert [function.name for function in program.functions] == ["main", "step"]
    nodes = [node for function in program.functions for node in function.body.walk()]
    ops = [node.op for node in nodes]
    assert ops.count("while_loop") == ops.count("cond") == ops.count("call") == 1
    (loop,) = (node for node in nodes if node.op == "while_loop")
    assert [variable.name for variable in loop.regions[1].parameters] == ["m", "steps", "sums"]
    assert "broadcast_to" not in ops  # a scalar stands for the array of equal elements
    location: Any = next(node for node in nodes if node.op == "call").location
    assert local_line(location).strip().startswith("%next = func.call @step(%m)")
    assert location.file == "collatz.mlir"


def test_firings() -> None:
    """The body fires once a trip, the condition once more."""
    outcome = imported().run(6, engine="reference", keep="events")
    assert len(outcome.values("greater")) == 9 and len(outcome.values("main.add")) == 8
    assert len(outcome.values("step.add")) == 2


def test_the_stored_document_is_that_of_the_text() -> None:
    """The document that these tests use is what the parser makes of the text."""
    pytest.importorskip("jaxlib")
    assert parsed(TEXT.read_bytes()) == document()


@pytest.mark.skipif(find_spec("jaxlib") is not None, reason="jaxlib is installed")
def test_without_jaxlib() -> None:
    """Where jaxlib is missing, an error says how to install it."""
    for read in (lambda: tl.from_stablehlo("module {}"), lambda: tl.from_jax(abs, 1)):
        with pytest.raises(tl.Usage, match="cannot be") as raised:
            read()
        assert raised.value.hint == 'pip install "tagloom[jax]"' and isinstance(raised.value, ImportError)


def operations(block: Any) -> list[Any]:
    """The operations of a block of a document, those in its regions included."""
    found = []
    for operation in block["operations"]:
        found += [operation, *(inner for region in operation["regions"] for inner in operations(region))]
    return found


CHANGES: dict[str, tuple[Callable[[Any], None], str]] = {
    "an unknown operation": (lambda each: each.update(name="stablehlo.fft"), "no operation stablehlo.fft"),
    "another result": (lambda each: each.update(types=[["f32", []]]), "not have the type that the module declares"),
    "an unknown dtype": (lambda each: each.update(types=[["f8E5M2", []]]), "no values of MLIR's type f8E5M2"),
    "an open size": (lambda each: each.update(types=[["i32", [None]]]), "sizes that are known only at run time"),
    "an unknown function": (lambda each: each["attributes"].update(callee="none"), "no body of a function 'none'"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_refusals(change: str) -> None:
    """What tagloom lacks, or what breaks the rules, is said in words, with the line."""
    apply, words = CHANGES[change]
    contents = copy.deepcopy(document())
    (call,) = (each for each in operations(contents["functions"][0]["body"]) if each["name"] == "func.call")
    apply(call)
    with pytest.raises(tl.TagloomError, match=words) as raised:
        imported(contents).program  # noqa: B018
    assert "collatz" in str(raised.value)


def shuffled_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: the loop's results are in the opposite order."""
    true = ROWS["stablehlo.while"]
    monkeypatch.setitem(
        ROWS, "stablehlo.while", replace(true, compute=lambda *each, **keywords: true.compute(*each, **keywords)[::-1])
    )


def opposite_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: greater is greater or equal."""
    from tagloom.interp.exchange.stablehlo.rows import elementwise

    monkeypatch.setitem(elementwise.COMPARISONS, "GT", "greater_equal")


def rounded_division(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: the remainder has the sign of the divisor, and of nothing else."""
    true = ROWS["stablehlo.remainder"]
    monkeypatch.setitem(ROWS, "stablehlo.remainder", replace(true, compute=lambda x, y: tl.add(tl.remainder(x, y), 1)))


@pytest.mark.full
@pytest.mark.parametrize("break_code", [shuffled_results, opposite_comparison, rounded_division])
def test_broken_twins(break_code: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong importer is caught: by the types, or by the outcomes."""
    break_code(monkeypatch)
    try:
        outcome = imported().run(6, engine="reference", limits=tl.Limits(firings=5_000))
        assert outcome.status != "Returned" or outcome.value != collatz(6)
    except tl.TagloomError:
        pass


@pytest.mark.full
def test_documents_that_are_changed() -> None:
    """A module with other operands, types or names runs, or is refused by an error of ours."""
    dice = random.Random(5)
    ends = set()
    for _ in range(60):
        contents = copy.deepcopy(document())
        found = [each for function in contents["functions"] for each in operations(function["body"])]
        each = dice.choice(found)
        match dice.randrange(4):
            case 0:
                each["name"] = dice.choice(sorted(ROWS))
            case 1 if each["operands"]:
                each["operands"][dice.randrange(len(each["operands"]))] = dice.choice(each["operands"])
            case 2:
                each["attributes"] = {}
            case _:
                each["types"] = [[dice.choice(["i1", "i32", "f32", "ui8"]), dice.choice([[], [4], [2, 2]])]]
        try:
            outcome = imported(contents).run(6, engine="reference", limits=tl.Limits(firings=2_000))
        except tl.TagloomError as error:
            assert not isinstance(error, tl.Crash), error
            ends.add(type(error).__name__)
        else:
            ends.add(str(outcome.status))
    assert len(ends) > 2


def test_integers_as_xla_divides() -> None:
    """Division is toward zero; by zero it gives all ones, and the dividend as remainder."""
    compute = {name: ROWS[f"stablehlo.{name}"].compute for name in ("divide", "remainder")}
    x, y = np.array([7, -7, 7, -7, 5, -(2**31)], np.int32), np.array([2, 2, -2, -2, 0, -1], np.int32)
    assert np.asarray(compute["divide"](x, y)).tolist() == [3, -3, -3, 3, -1, -(2**31)]
    assert np.asarray(compute["remainder"](x, y)).tolist() == [1, -1, 1, -1, 5, 0]
