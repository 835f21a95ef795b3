"""The programs of papers_examples/janus: speculated, they do what they do in Python."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
import tagloom as tl
from support.programs.papers import EXAMPLES


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"janus_{name}", EXAMPLES / "janus" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.full
@pytest.mark.parametrize(("name", "function"), [("rnn", "run"), ("batch_norm", "apply")])
def test_as_python(name: str, function: str) -> None:
    """Results and counters are those of Python, and the last calls run in the graph."""
    module = program(name)
    python = getattr(module, function)
    speculated = tl.speculate(engine="reference")(python)
    results, *counters = module.calls(speculated)
    expected, *expected_counters = module.calls(python)
    assert results == pytest.approx(expected, rel=1e-12)
    assert counters == expected_counters
    assert speculated.counts.graph >= 3


@pytest.mark.full
def test_tracing_alone_goes_wrong() -> None:
    """Under `tl.function` the first result is right, and the second is not."""
    module = program("rnn")
    (first, second, *_), *_ = module.calls(module.run)
    (traced_first, traced_second, *_), *_ = module.calls(module.staged)
    assert traced_first == pytest.approx(first)
    assert traced_second != pytest.approx(second, rel=1e-3)


@pytest.mark.full
def test_one_graph_for_all_trees() -> None:
    module = program("tree_rnn")
    speculated, network = tl.speculate(engine="reference")(module.encode), module.model()
    for tree in module.random_trees()[:6]:
        assert float(tl.max(tl.abs(speculated(network, tree) - module.encode(network, tree)))) < 1e-12
    assert speculated.counts.graph == 3
    assert speculated.builds == 1
