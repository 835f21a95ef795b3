"""Programs on edge values are valid and repeatable, and meet the edges."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.twins.wrong_backends import RightBackend
from tagloom.core.program.validate import program_problems
from tagloom.core.value import Literal
from tagloom.interp.oracle.edge_programs import exact_samples, write_edge_program
from tagloom.interp.oracle.fuzz import judge_case
from tagloom.interp.oracle.generate import EDGE_INTERVAL, FuzzCase, generate_case


def edge_case(number: int) -> FuzzCase:
    return FuzzCase(*write_edge_program(Random(number)))


def test_edge_programs_are_valid_and_repeatable() -> None:
    """Programs on edge values keep the rules, are the same for the same decisions, and a right backend agrees on all
    that return."""
    backend: Any = RightBackend()
    for number in range(60):
        program, arguments = edge_case(number)
        assert program_problems(program) == [], tl.print_program(program)
        assert tl.print_program(program) == tl.print_program(edge_case(number).program)
        judgement = judge_case(backend, FuzzCase(program, arguments))
        assert judgement is None or judgement.verdict == "alike"


@pytest.mark.full
def test_edge_programs_have_edges() -> None:
    """Among 400 programs there are NaN, infinities, zeros of either sign and the ends of ranges, as literals and as
    arguments; every op that they may have; conds and loops. At most one in ten traps."""
    ops: Counter[str] = Counter()
    seen: dict[bool, set[str]] = {True: set(), False: set()}
    trapped = 0
    for number in range(400):
        program, arguments = edge_case(number)
        trapped += judge_case(RightBackend(), FuzzCase(program, arguments)) is None  # type: ignore[arg-type]
        nodes = list(program.main.body.walk())
        ops.update(node.op for node in nodes)
        literals = [operand.value for node in nodes for operand in node.inputs if isinstance(operand, Literal)]
        for is_literal, values in ((True, literals), (False, arguments)):
            for value in values:
                array = np.asarray(value).reshape(-1)
                if array.dtype.kind == "f":
                    seen[is_literal].update(repr(float(element)) for element in array)
                if array.dtype == np.int64:
                    seen[is_literal].update(str(element) for element in array)
    for words in seen.values():
        assert words >= {"nan", "inf", "-inf", "0.0", "-0.0", str(2**63 - 1), str(-(2**63))}
    assert set(ops) >= {name for samples in exact_samples().values() for name in samples} | {"cond", "while_loop"}
    assert trapped < 40


def test_one_in_five_programs_is_of_edge_values() -> None:
    """In the sequence of a seed, every fifth program is one on edge values."""
    for number in range(2 * EDGE_INTERVAL):
        program = generate_case(3, number).program
        edge_program, _ = write_edge_program(Random(f"3:{number}"))
        is_edge_program = tl.print_program(program) == tl.print_program(edge_program)
        assert is_edge_program == (number % EDGE_INTERVAL == EDGE_INTERVAL // 2)
