"""The rows of the registry, column by column: a faulty row fails here by its name, and breaks no other program."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import op_stubs
import pytest
import tagloom as tl
from support.generators.generator import ARRAYS, signatures
from tagloom.core.frontend.eager.op_functions import op_signature
from tagloom.core.ops import op as registry
from tagloom.core.ops.op import OPS, Op, ScalarByDtype, op
from tagloom.core.ops.type_rules import elementwise_type_rule
from tagloom.interp.engines.fast import load as fast_load
from tagloom.interp.engines.fast import opcode_source
from tagloom.interp.engines.jit.column_faults import explain_compile_error, uncompilable_columns
from tagloom.interp.image import opcodes

each_row = pytest.mark.parametrize("row", OPS.values(), ids=lambda row: row.name)
FLOATING = elementwise_type_rule("f")


def faults(row: Op) -> list[str]:
    """The faults of a row, each with the op and the column."""
    results = [f"{row.name}: {fault}" for fault in row.faults]
    required = {
        "arity": row.arity is None or row.arity > 0,
        "type_rule": callable(row.type_rule),
        "numpy": callable(row.numpy),
        "doc": ".\n\n>>> tl." in row.doc or (".\n\n" in row.doc and ">>> " in row.doc),
        "scalar": row.scalar is None or callable(row.scalar) or isinstance(row.scalar, ScalarByDtype),
        "namespace": row.namespace in ("tagloom", "linalg", None),
        "attribute_defaults": set(row.attribute_defaults) <= set(row.attributes),
        "float_loop": row.float_loop is None or "d" * row.float_loop.nin + "->d" in row.float_loop.types,
        "trap_condition": row.trap_condition is None or bool(row.trap_condition.message),
    }
    results += [
        f"{row.name}: the column {name} is missing or wrong" for name, is_right in required.items() if not is_right
    ]
    if makes_floats(row.name) and row.gradient is None:
        results.append(f"{row.name}: the column gradient is missing, and it makes floats of floats")
    return results


def makes_floats(name: str) -> bool:
    """Whether an op has float results of float operands."""
    return any(
        OPS[name].type_rule(*types, **dict(given)).dtype.kind == "f" and any(each.dtype.kind == "f" for each in types)
        for types, given in signatures(ARRAYS, arrays=True).get(name, ())
    )


@pytest.mark.full
@each_row
def test_rows_have_all_columns(row: Op) -> None:
    """Every row has every required column."""
    assert faults(row) == []


@pytest.mark.parametrize("column", ["doc", "arity", "type_rule", "numpy", "gradient", "scalar"])
def test_a_missing_or_wrong_column_is_named(column: str) -> None:
    """A row without a column, or with a wrong one, is reported with its name and that of the column."""
    broken: dict[str, Any] = {"arity": 0, "doc": "", "scalar": 3.0}
    row = replace(OPS["tanh"], **{column: broken.get(column)})
    if column != "arity" or row.arity is not None:
        assert any("tanh" in fault and column in fault for fault in faults(row))


@pytest.mark.inner(first=89)
@each_row
def test_functions_have_the_signature_of_the_row(row: Op) -> None:
    """The function of a row that declares one is in its namespace, and in the stub for type checkers."""
    if row.namespace is not None:
        home = tl if row.namespace == "tagloom" else tl.linalg
        assert getattr(home, row.name).__signature__ == op_signature(row)
        assert f"def {row.name}(" in op_stubs.STUBS[row.namespace].read_text(encoding="utf-8")


@pytest.mark.parametrize("namespace", op_stubs.STUBS)
def test_stubs_are_current(namespace: str) -> None:
    """The stubs agree with the registry; python tests/op_stubs.py writes them."""
    assert op_stubs.STUBS[namespace].read_text(encoding="utf-8") == op_stubs.stub(namespace)


BROKEN_ROWS = """
def failing(*_, **__):
    raise ZeroDivisionError("a bug")

T = elementwise_type_rule("f")
op("lacks_gradient", arity=1, type_rule=T, numpy=np.exp, namespace="tagloom", doc="Exponential.")
op("raising_numpy", arity=1, type_rule=T, numpy=failing, namespace="tagloom", doc="Bad.")
op("lacks_numpy", arity=1, type_rule=T, namespace="tagloom", doc="Bad.", gradeint=3)
op("raising_types", arity=1, type_rule=failing, numpy=np.exp, namespace="tagloom", doc="Bad.")
op("raising_gradient", arity=1, type_rule=T, numpy=np.exp, namespace="tagloom", doc="Bad.", gradient=failing)
op("broken_scalar", arity=1, type_rule=T, numpy=np.exp, scalar=3.0, doc="Bad.")
{more}
"""
"""Rows that a family declares."""
PROGRAM = """
import importlib.machinery as machinery, sys
ROWS, ENGINES = sys.argv[1:]
execute = machinery.SourceFileLoader.exec_module
def with_rows(self, module):
    execute(self, module)
    if module.__name__ == "tagloom.core.ops.math":
        exec(ROWS, module.__dict__)
machinery.SourceFileLoader.exec_module = with_rows

import numpy as np
import tagloom as tl

def ending(call):
    try:
        return call()
    except tl.TagloomError as error:
        return f"{type(error).__name__}: {error.message}"

def show(name, argument, engine):
    function = tl.function(lambda x: getattr(tl, name)(x) * 2.0)
    print(f"{name} {engine} {np.ndim(argument)}:", ending(lambda: function.run(argument, engine=engine).value))

names = [name for name in ("exp", "lacks_gradient", "raising_numpy", "lacks_numpy", "raising_types", "broken_scalar",
                           "not_compilable") if hasattr(tl, name)]
for engine in ENGINES.split():
    for name in names:
        show(name, 0.0, engine)
        show(name, np.zeros(2), engine)
for name in names[:2] + ["raising_gradient"]:
    print(f"{name} gradient:", ending(lambda: tl.grad(tl.function(lambda x: getattr(tl, name)(x)))(0.0)))
print("eager:", ending(lambda: tl.raising_numpy(tl.asarray([0.0]))))
"""


def outcomes(folder: Path, engines: str, more: str = "") -> dict[str, str]:
    """How programs end if the registry has broken rows from the start, by op, engine and number of axes."""
    rows = BROKEN_ROWS.format(more=more)
    ran = subprocess.run([sys.executable, "-c", PROGRAM, rows, engines], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return dict(line.split(": ", 1) for line in ran.stdout.splitlines())


@pytest.mark.full
@pytest.mark.parametrize("engines", ["reference compiled", pytest.param("fast", marks=pytest.mark.heavy)])
def test_broken_rows_break_nothing_else(engines: str, tmp_path: Path) -> None:
    """With broken rows `import tagloom` works, and programs without their ops run on every engine; a program with such
    an op gets an error that names the op and the column. For other rows, `fast` compiles another machine."""
    actual = outcomes(tmp_path, engines)
    for engine in engines.split():
        assert actual[f"exp {engine} 0"] == actual[f"lacks_gradient {engine} 0"] == "2.0"
        assert actual[f"exp {engine} 1"] == actual[f"lacks_gradient {engine} 1"] == "[2. 2.]"
        for axes in (0, 1):
            assert_names(actual[f"raising_numpy {engine} {axes}"], "raising_numpy", "column numpy raised")
            assert_names(actual[f"lacks_numpy {engine} {axes}"], "lacks_numpy", "column numpy is missing", "gradeint")
            assert_names(actual[f"raising_types {engine} {axes}"], "raising_types", "column type_rule raised")
            assert_names(actual[f"broken_scalar {engine} {axes}"], "broken_scalar", "column scalar is not a function")
    assert actual["exp gradient"] == "1.0"
    assert_names(actual["lacks_gradient gradient"], "lacks_gradient", "cannot be differentiated")
    assert_names(actual["raising_gradient gradient"], "raising_gradient", "column gradient raised")
    assert_names(actual["eager"], "raising_numpy", "column numpy raised")


def assert_names(said: str, *words: str) -> None:
    assert all(word in said for word in words), said


NOT_COMPILABLE = """
def uncompilable(x):
    return x.no_such_attribute if x else 1.0
op("not_compilable", arity=1, type_rule=T, numpy=np.exp, scalar=uncompilable, doc="Bad.")
"""


@pytest.mark.full
def test_a_scalar_column_that_does_not_compile(tmp_path: Path) -> None:
    """The op works on the reference, which runs Python. On `compiled`, programs without it run, and one with it is
    refused."""
    actual = outcomes(tmp_path, "reference compiled", NOT_COMPILABLE)
    assert actual["not_compilable reference 0"] == actual["exp reference 0"] == actual["exp compiled 0"] == "2.0"
    for axes in (0, 1):
        assert_names(actual[f"not_compilable compiled {axes}"], "not_compilable", "column scalar does not compile")


@pytest.mark.heavy
def test_a_scalar_column_that_does_not_compile_on_fast(tmp_path: Path) -> None:
    """The same holds for `fast`, whose machine has an arm for every op: it is compiled again without that arm."""
    actual = outcomes(tmp_path, "fast", NOT_COMPILABLE)
    assert actual["exp fast 0"] == "2.0" and actual["exp fast 1"] == "[2. 2.]"
    assert_names(actual["not_compilable fast 0"], "not_compilable", "column scalar does not compile")


@pytest.mark.full
def test_the_machine_omits_columns_that_do_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the machine does not compile, the columns are tried one by one, and those that fail get no arm; an image with
    such an op is refused."""
    texts: list[str] = []

    def load(name: str, text: str, function: str, arity: int) -> Any:
        texts.append(text)
        if len(texts) == 1:
            raise TypeError("it does not compile")
        return lambda *words: 0

    monkeypatch.setattr(fast_load, "load_native", load)
    monkeypatch.setattr(opcodes, "UNCOMPILABLE_OPS", excluded := dict[str, str]())
    monkeypatch.setattr(opcode_source, "UNCOMPILABLE_OPS", excluded)
    monkeypatch.setattr(fast_load, "new_column_faults", lambda: {"hypot": "the column scalar does not compile"})
    fast_load.load_machine.__wrapped__(fast_load.MachineVariant.BASE)
    assert "k.hypot_ff(" in texts[0] and "k.hypot_ff(" not in texts[1] and "k.exp_ff(" in texts[1]
    graph = tl.lower(tl.function(lambda x: tl.hypot(x, 1.0)).trace(1.0).program)
    with pytest.raises(tl.Usage, match="'hypot' is broken: the column scalar does not compile"):
        opcodes.check_compilable(graph)
    opcodes.check_compilable(tl.lower(tl.function(tl.exp).trace(1.0).program))


@pytest.mark.full
def test_columns_are_compiled_separately(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among rows that compile, the one that does not is found, with numba's message."""
    monkeypatch.setattr(registry, "_REGISTRY", rows := dict(OPS))
    monkeypatch.setattr("tagloom.interp.engines.jit.column_faults.OPS", rows)
    monkeypatch.setattr("tagloom.interp.engines.jit.kernels.OPS", rows)
    op("of_text", arity=1, type_rule=FLOATING, numpy=np.exp, scalar=_of_text, doc="Bad.")
    actual = uncompilable_columns(["exp", "pow", "astype", "bitcast", "of_text"])
    assert list(actual) == ["of_text"] and "column scalar does not compile for float64" in actual["of_text"]
    assert "of_text" in str(explain_compile_error(["exp", "of_text"])) and explain_compile_error(["exp"]) is None


def _of_text(x: float) -> float:
    return float(str(x).upper()) if x else [x, "a"][0]  # type: ignore[return-value]
