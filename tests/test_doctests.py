"""Every example in a docstring runs, and every op has one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest
import tagloom as tl
from tagloom.core.ops.op import OPS, Op

PACKAGES = ("tagloom.core", "tagloom.interp", "tagloom.viz", "tagloom.tui")
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(tl.__path__, "tagloom.") if module.name.startswith(PACKAGES)
)
OF_EXTRAS = ("anywidget", "jax", "jaxlib", "onnx", "onnxruntime", "tensorflow", "torch")
"""Packages of the extras, without which a module may be impossible to import."""
FEWEST = 50


def examples(module: str) -> list[doctest.DocTest]:
    """The examples in a module's docstrings; none if it needs an extra that is not installed."""
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in OF_EXTRAS:
            raise
        return []
    result = doctest.DocTestFinder().find(imported, extraglobs={"tl": tl})
    return [test for test in result if test.examples]


def run(tests: list[doctest.DocTest]) -> None:
    """Run doctests; fails with doctest's report."""
    texts: list[str] = []
    for test in tests:
        doctest.DocTestRunner(verbose=False).run(test, out=texts.append)
    if texts:
        pytest.fail("".join(texts), pytrace=False)


@pytest.mark.parametrize("module", MODULES)
def test_module(module: str) -> None:
    """The examples in a module's docstrings give the documented output."""
    run(examples(module))


@pytest.mark.full
def test_examples_are_found() -> None:
    """The walk over modules finds the examples; without any, the tests above would always pass."""
    assert sum(len(test.examples) for module in MODULES for test in examples(module)) >= FEWEST


@pytest.mark.parametrize("row", OPS.values(), ids=list(OPS))
def test_op(row: Op) -> None:
    """The docstring of an op's row has an example, which runs with only `tl` defined."""
    test = doctest.DocTestParser().get_doctest(row.doc, {"tl": tl}, row.name, None, None)
    assert test.examples, f"{row.name} has no example"
    run([test])
