"""Conversion is hygienic: the names that generated code introduces capture none of the user's names."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from tagloom.core.frontend.source import convert
from tagloom.core.frontend.source.passes.generators import hand_over_items

FUNCTION = """
class Manager:
    def __enter__(self):
        return 3

    def __exit__(self, *error):
        return False


class Box:
    pass


def program(n):
    def chosen(k):
        return k + 1

    def numbers(m):
        for k in range(m):
            if k % 2 == 0:
                yield chosen(k)
        yield from [chosen(m), m]

    items = [chosen(i) for i in range(n)]
    pairs = [(chosen(i), j) for i in range(n) for j in range(2) if chosen(j) != i]
    table = {chosen(i): i for i in range(n)}
    total = sum(chosen(i) for i in range(n) if chosen(i) > 1)
    found = any(chosen(i) == 3 for i in range(n))
    for i in range(n):
        if chosen(i) == 3:
            break
        for j in range(i):
            if chosen(j) == 2:
                continue
            total += chosen(j)
    else:
        total = chosen(total)
    while total < 50:
        total = chosen(total) * 2
        if chosen(total) > 45:
            break
    try:
        total += 10 // (n - 4)
    except ZeroDivisionError:
        total = chosen(-total)
    finally:
        total = chosen(total)
    match n % 3:
        case 0:
            total = chosen(total)
        case rest:
            total += chosen(rest)
    with Manager() as three:
        total += chosen(three)
    box = Box()
    box.count = chosen(n)
    box.count += chosen(1)
    items[n - 1] += chosen(2)
    numbered = sum(numbers(n))
    return items, pairs, len(table), total, found, box.count, numbered
"""
VARIABLE = """
def program(n):
    chosen = n + 7
    items = [chosen + i for i in range(n)]
    total = sum(chosen * i for i in range(n) if chosen > i)
    found = next((i for i in range(n) if chosen == i + 9), -1)
    for i in range(n):
        chosen += i
        if chosen > 12:
            break
        if i == 1:
            continue
        total += chosen
    while chosen < 40:
        chosen = chosen * 2
        if chosen == 36:
            chosen += 5
            break
    else:
        total = -total
    try:
        chosen += 10 // (n - 4)
    except ZeroDivisionError:
        chosen = -chosen

    def change(k):
        nonlocal chosen
        chosen += k
        return chosen

    if chosen > 0:
        total += change(3)
    else:
        chosen, total = total, chosen
    items[0] = chosen
    items[n - 1] -= chosen
    return items, total, found, chosen, [change(i) for i in range(n)]
"""
PROGRAMS = {"function": FUNCTION, "variable": VARIABLE}
ARGUMENTS = (4, 5, 2)


def generated_names(text: str, folder: Path) -> set[str]:
    """The names in the converted code of a program, with that of its generators, that its source does not have."""
    function = load(text, folder, "plain")
    parts = [tl.autograph.to_code(function)]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == "numbers":
            inner = ast.unparse(node) + "\n"
            for may_stop in (False, True):
                parts.append(generator_code(inner, may_stop))
    return set().union(*map(names_of, parts)) - names_of(text) - {"ag__"}


def generator_code(text: str, may_stop: bool) -> str:
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    return ast.unparse(ast.fix_missing_locations(hand_over_items(node, may_stop=may_stop)))


def names_of(text: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(text)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return names | {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def load(text: str, folder: Path, name: str) -> Any:
    """The function `program` of a module with this text."""
    path = folder / f"{name}.py"
    path.write_text(text)
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.program


def captured(text: str, folder: Path) -> list[str]:
    """The generated names, one of each kind, that change what a program returns if the user has them, too."""
    kinds = {re.sub("[0-9]+", "", name): name for name in sorted(generated_names(text, folder))}
    return [name for name in kinds.values() if is_captured(load(text.replace("chosen", name), folder, f"with_{name}"))]


def is_captured(program: Any) -> bool:
    try:
        tl.autograph.to_code(program)
    except tl.Usage as refusal:
        assert "converted code has a variable" in str(refusal)
        return False
    return any(outcome(tl.function(program), argument) != program(argument) for argument in ARGUMENTS)


def outcome(program: Any, argument: int) -> object:
    try:
        return program(argument)
    except (tl.TagloomError, TypeError) as error:
        return error


@pytest.mark.full
@pytest.mark.parametrize("kind", ["variable", pytest.param("function", marks=pytest.mark.heavy)])
def test_generated_names_capture_no_name_of_the_user(kind: str, tmp_path: Path) -> None:
    """A program returns the same if one of its names is one that conversion would use, or is not converted."""
    assert len(generated_names(PROGRAMS[kind], tmp_path)) > 15
    assert captured(PROGRAMS[kind], tmp_path) == []


def test_a_helper_may_have_the_name_of_what_takes_items(tmp_path: Path) -> None:
    """A comprehension calls the user's `add`, and not what takes its items."""
    text = "def program(n):\n    def add(k):\n        return k + 1\n    return [add(i) for i in range(n)]\n"
    assert tl.function(load(text, tmp_path, "adding"))(3) == [1, 2, 3]


@pytest.mark.parametrize("name", ["add_", "items_1_", "result_1_", "value", "item", "exit", "go_on"])
def test_only_names_of_one_form_are_reserved(name: str, tmp_path: Path) -> None:
    """The user's code may have all names but those that begin with `ag__`."""
    text = f"""
def program(n):
    if n > 1 and ({name} := n + 1) > 3:
        return {name} * 2
    {name} = n
    for k in range(n):
        {name} += k
        if {name} > 1:
            return sum({name} + k for k in range(n))
    return n
"""
    program = load(text, tmp_path, f"of_{name}")
    assert [tl.function(program)(n) for n in range(5)] == [program(n) for n in range(5)]


@pytest.mark.full
def test_the_law_catches_a_captured_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the refusal of generated names, the law names those that capture."""
    monkeypatch.setattr(convert, "_refuse_generated_names", lambda code, node: None)
    text = "def program(n):\n    chosen = n\n    return [chosen + i for i in range(n)]\n"
    assert captured(text, tmp_path)
