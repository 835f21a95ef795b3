"""`tagloom ops`: every op of the registry is listed, and described by its row."""

from __future__ import annotations

import inspect

import pytest
import tagloom as tl
from tagloom.core.ops.effects import ALL_OPS
from tagloom.core.program.hints import example
from tagloom.tui.cli.ops import describe_op, list_ops

NAMES = [name for name in ALL_OPS if name != "store"]


def test_every_op_is_listed() -> None:
    """Each op that a program may have has a line, which fits a terminal."""
    lines = list_ops().splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(NAMES)
    assert max(map(len, lines)) <= 100 and all(line.endswith(".") for line in lines)


@pytest.mark.inner(first=20)
@pytest.mark.parametrize("name", NAMES)
def test_an_op_is_described(name: str) -> None:
    """A description has operands, attributes, the written form, and the row's text."""
    reply = describe_op(name)
    assert reply.startswith(f"{name}: ") and f"= {name}" in reply and ALL_OPS[name].doc.strip() in reply
    assert all(attribute in reply for attribute in ALL_OPS[name].attributes)
    arity, written = ALL_OPS[name].arity, example(name).partition(f"= {name} ")[2]
    operands = [each for each in written.rstrip("`").split(", ") if each.isalpha()]
    assert arity in (None, len(operands)), written


def test_an_unknown_op_is_refused() -> None:
    """The error about an unknown name has similar ones."""
    for wrong, meant in (("summ", "sum"), ("matrix_nrm", "matrix_norm"), ("total", "all ops are listed")):
        with pytest.raises(tl.Usage, match=f"there is no op '{wrong}'") as refused:
            describe_op(wrong)
        assert refused.value.hint is not None and meant in refused.value.hint


FUNCTIONS = [
    f"{prefix}{name}"
    for prefix, of in (("", tl), ("linalg.", tl.linalg))
    for name, function in vars(of).items()
    if inspect.isfunction(function) and ".standard." in function.__module__ and not name.startswith("_")
    if (of is tl or function.__module__ == of.__name__) and name not in ALL_OPS
]


@pytest.mark.inner(first=38)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_described(name: str) -> None:
    """An array function that is no op is described by its call, its result, and an example."""
    reply = describe_op(name)
    assert reply.startswith(("tl.", "tl.linalg.")) and f".{name.rpartition('.')[2]}(" in reply and ">>>" in reply
    assert "typing" not in reply and "Any" not in reply.splitlines()[0]
    assert describe_op("mean").startswith("tl.mean(x, /, *, axis=None, keepdims=False)")
