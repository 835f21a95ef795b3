"""Gradients of generated programs: a program that calls another one and pulls adjoints of its results back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from generator import Case
from tagloom.core.derive.resolve import resolve
from tagloom.core.program import PULLED, Function, Node, Operand, Program, Region, Var
from tagloom.core.types import Type
from tagloom.core.value import literal


def differentiated(case: Case, order: int = 1) -> Case | None:
    """The program that gives what a program does, and the adjoints of its arguments, those of its results being small
    numbers; again of that, for a higher order. None where it takes, or makes, no float."""
    program: Program | None = case.program
    for nth in range(order):
        program = asked(program, f"derivative_{nth + 1}") if program else None
    return Case(resolve(program), case.arguments) if program else None


def asked(program: Program, name: str) -> Program | None:
    """A new entry that calls the old one, with the pullback of that call."""
    entry = program.main
    taken = [var for var in entry.body.parameters if _is_float(var.type)]
    given = [(f"r{at}", type_) for at, type_ in enumerate(entry.results) if _is_float(type_)]
    if not taken or not given:
        return None
    results = tuple(Var(f"r{at}", type_) for at, type_ in enumerate(entry.results))
    operands = tuple(var.name for var in entry.body.parameters)
    nodes = [Node("call", operands, results, (), (("function", entry.name),))]
    inputs: list[Operand] = []
    for nth, (of, type_) in enumerate(given):
        weight = literal(0.5 + nth, Type(type_.dtype))
        if not type_.is_scalar:
            nodes.append(Node("broadcast_like", (weight, of), (Var(f"w{nth}", type_),)))
        inputs.append(weight if type_.is_scalar else f"w{nth}")
    made = tuple(Var(f"d_{var.name}", var.type) for var in taken)
    nodes.append(Node("pullback", tuple(inputs), made, (), ((PULLED, "r0"),)))
    leaving = (*(var.name for var in results), *(var.name for var in made))
    body = Region(entry.body.parameters, tuple(nodes), leaving)
    types = (*entry.results, *(var.type for var in made))
    return replace(program, functions=(Function(name, body, types), *program.functions), entry=name)


def _is_float(type_: Type) -> bool:
    return type_.dtype.kind == "f"


def weights(program: Program) -> list[float]:
    """The adjoints that are pulled back, by result."""
    return [0.5 + nth for nth, type_ in enumerate(t for t in program.main.results if _is_float(t))]


def total(case: Case, results: Any) -> float:
    """What the adjoints are the derivative of: the weighted sum of all floats that a program returns."""
    floats = [each for each, type_ in zip(results, case.program.main.results, strict=True) if _is_float(type_)]
    return float(sum(weight * np.sum(each) for weight, each in zip(weights(case.program), floats, strict=True)))
