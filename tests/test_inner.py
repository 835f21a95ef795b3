"""The inner part of the tests, which plain `pytest` runs, covers every folder, law, engine, command, op and corpus
text."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.inner import COMPILING, INNER_EXAMPLES, KINDS, inner_of, left_out_of_full, try_fewer_examples
from tagloom.core import dtypes
from tagloom.core.ops.op import OPS
from tagloom.interp.engines.registry import engine_names
from tagloom.tui.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
EVERY_COMMAND = "tests/tui/app/test_app_keys.py::test_every_command"
"""The test that runs every command of the debugger."""
MAX_INNER = 10_000
"""The most tests that the inner part may have. They take 20 ms on average: 100 s on two cores, beside 50 s for what is
compiled, imported and collected."""
SEVERAL_CORES = (
    "tests/laws/test_parallel_laws.py",
    "tests/interp/engines/distributed/test_fast_placement.py",
    "tests/interp/engines/distributed/test_fast_worker.py",
)
"""The file whose laws need the machine of several cores, which no other test of the inner part does."""

COLLECT = """
import json, sys
import pytest

class Recorder:
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        rows = []
        for item in items:
            marks = {mark.name for mark in item.iter_markers()}
            rows.append([item.nodeid, "heavy" in marks, "full" in marks, hasattr(item.obj, "hypothesis")])
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            json.dump(rows, file)

sys.exit(pytest.main(["--collect-only", "-qq", "-n", "0", "-m", ""], [Recorder()]))
"""


class ProductTest(NamedTuple):
    """A test that pytest collects."""

    id: str
    is_heavy: bool
    is_full: bool
    is_law: bool

    @property
    def file(self) -> str:
        return self.id.partition("::")[0]

    @property
    def folder(self) -> str:
        return self.file.rpartition("/")[0]

    @property
    def function(self) -> str:
        return self.id.partition("[")[0]

    @property
    def parameters(self) -> str:
        return self.id.partition("[")[2].removesuffix("]")


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> list[ProductTest]:
    """The full product."""
    path = tmp_path_factory.mktemp("collected") / "tests.json"
    command = [sys.executable, "-c", COLLECT, str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr
    return [test for row in json.loads(path.read_text(encoding="utf-8")) if not (test := ProductTest(*row)).is_heavy]


@pytest.fixture(scope="module")
def inner(product: list[ProductTest]) -> list[ProductTest]:
    return [test for test in product if not test.is_full]


@pytest.mark.full
def test_every_folder_and_law(product: list[ProductTest], inner: list[ProductTest]) -> None:
    """The inner part has a test of each folder, and every law that is not heavy but those of several cores; the full
    product has the tests that compile machines."""
    assert {test.folder for test in product} == {test.folder for test in inner}
    assert {test.id for test in product} >= set(COMPILING)
    laws = {test.function for test in product if test.is_law and test.file not in SEVERAL_CORES}
    assert len(laws) > 100
    assert laws == {test.function for test in inner if test.is_law}


@pytest.mark.full
def test_the_inner_part_is_small(inner: list[ProductTest]) -> None:
    """The inner part has at most MAX_INNER tests, so that people need not wait for it."""
    assert len(inner) <= MAX_INNER


@pytest.mark.full
def test_every_op_engine_and_text(inner: list[ProductTest]) -> None:
    """Every op, engine and corpus text is a parameter of an inner test, or the engine has a folder of them."""
    words = {word for test in inner for word in re.findall(r"\w+", test.parameters)}
    assert words >= set(OPS)
    folders = {Path(test.file).parent.name for test in inner if "/engines/" in test.file}
    assert words | folders >= set(engine_names())
    texts = {test.parameters.partition("-")[0] for test in inner if test.function == "tests/test_corpus.py::test_cases"}
    assert texts == {path.stem for path in (ROOT / "tests" / "corpus").glob("*.tl")}


@pytest.mark.full
def test_every_command(inner: list[ProductTest]) -> None:
    """Each command of the command line has a file of inner tests, or is named in one; one inner test runs all commands
    of the debugger."""
    files = {ROOT / test.file for test in inner if test.file.startswith("tests/tui/")}
    texts = "".join(file.read_text(encoding="utf-8") for file in files)
    for name in COMMANDS:
        assert f"test_{name}.py" in {file.name for file in files} or f'"{name}"' in texts, name
    assert any(test.function == EVERY_COMMAND for test in inner)


def parametrised(ids: list[str], mark: str = "inner", **arguments: Any) -> list[Any]:
    """Tests with these parameters, with a mark if its arguments are given."""
    markers = {mark: SimpleNamespace(kwargs=arguments)} if arguments else {}
    return [SimpleNamespace(callspec=SimpleNamespace(id=id), get_closest_marker=markers.get) for id in ids]


def ids_of(items: list[Any]) -> list[str]:
    return [item.callspec.id for item in items]


def test_the_inner_part_of_a_test() -> None:
    """The inner part of a test has one dtype of a kind, the first parametrisations of the rest, and at least one."""
    ids = ["add-int8-int8", "add-int64-uint8", "add-float32-bool", "cos-float64", "float32 is not alone", "sin-bool"]
    assert ids_of(inner_of(parametrised(ids))) == [ids[1], *ids[3:]]
    assert ids_of(inner_of(parametrised(ids, first=2))) == [ids[1], ids[3]]
    assert ids_of(inner_of(parametrised([*ids, "cos-int64"], first=1, of_each=r"\w+"))) == [ids[1], *ids[3:]]
    assert ids_of(inner_of(parametrised(["int8", "float32"]))) == ["int8"]


def test_the_full_product_of_a_test() -> None:
    """The full product has the first parametrisations of a test that says so, and all of others."""
    ids = ["add-int8", "add-bool", "cos-float64", "cos-float32"]
    assert ids_of(left_out_of_full(parametrised(ids, "full", first=1))) == ids[1:]
    assert ids_of(left_out_of_full(parametrised(ids, "full", first=1, of_each=r"\w+"))) == [ids[1], ids[3]]
    assert left_out_of_full(parametrised(ids)) == left_out_of_full(parametrised(ids, first=1)) == []


def test_every_dtype_has_a_kind() -> None:
    """Each dtype belongs to the kind of one representative, which is itself of that kind."""
    every = [dtype for kind in KINDS.values() for dtype in kind]
    assert sorted(every) == sorted(dtypes.BY_NAME)
    assert all(representative in kind for representative, kind in KINDS.items())


def examples_tried(examples: int, *, parametrisations: int = 1, is_heavy: bool = False) -> int:
    """The number of examples that the inner part tries, for a law with this many."""
    tried: list[float] = []
    law = settings(max_examples=examples, database=None)(given(st.floats())(lambda number: tried.append(number)))
    mark = {"heavy": True} if is_heavy else {}
    items: list[Any] = [SimpleNamespace(obj=law, get_closest_marker=mark.get)] * parametrisations
    try_fewer_examples(items, INNER_EXAMPLES)
    law()
    return len(tried)


def test_laws_try_fewer_examples() -> None:
    """The inner part tries one in INNER_EXAMPLES examples of each parametrisation of a law, at least one, and all of a
    heavy law."""
    assert [examples_tried(examples) for examples in (3, 10 * INNER_EXAMPLES)] == [1, 10]
    assert examples_tried(10 * INNER_EXAMPLES, parametrisations=3) == 10
    assert examples_tried(30, is_heavy=True) == 30
