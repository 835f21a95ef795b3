"""What plain `pytest` leaves out (`tests/support/inner.py`), the order of tests, and Hypothesis profiles.

HYPOTHESIS_PROFILE chooses a profile. Examples are the same in every run of `fixed`, the default: no test fails at
random; a law that does not state how many has 50. They are drawn in `drawn`, which `.ci/run --heavy laws` and the
heavy subjects of tests use, 100 of them; `--hypothesis-seed` repeats them. In `mutants`, the examples are those of
`fixed`, and none is shrunk.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from support.inner import (
    FULL,
    FULL_EXAMPLES,
    INNER,
    INNER_EXAMPLES,
    mark_full,
    mark_laws,
    spread_compiling,
    try_fewer_examples,
)

# Tests start processes that import the package: they must get the one that is tested, whichever is installed.
_FOLDERS = str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, _FOLDERS))

# A compiler in the background would take time from other tests. Tests of it switch it on.
os.environ["TAGLOOM_BACKGROUND"] = "off"

# What tests load and compile stays: to look at all of it for cycles as often as Python does takes a tenth of the time.
gc.set_threshold(50_000, 20, 50)


def pytest_configure(config: pytest.Config) -> None:
    """Plain `pytest` runs the inner part; `pytest FILE` runs all tests of the file but the heavy ones, and laws with
    all of their examples."""
    if hasattr(config, "workerinput"):
        config.option.markexpr, config.option.one_in_examples = config.workerinput["part"]
        return
    names_files = config.args_source is pytest.Config.ArgsSource.ARGS
    if names_files and config.option.markexpr == INNER:
        config.option.markexpr = FULL
    one_in = {INNER: INNER_EXAMPLES, FULL: FULL_EXAMPLES}
    config.option.one_in_examples = 1 if names_files else one_in.get(config.option.markexpr, 1)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Processes that run tests run the part that their parent chose."""
    node.workerinput["part"] = node.config.option.markexpr, node.config.option.one_in_examples


_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
"""The name of this process among those that run tests: gw0, gw1, ..., or empty."""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Every second process imports the files from the last to the first: each then loads the half of the bytecode that
    the other has written, which takes 6 of 26 s if there is none yet."""
    report = yield
    if _WORKER[-1:] in tuple("13579") and isinstance(collector, pytest.Directory):
        report.result.reverse()
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Marks laws and the tests outside the inner part, before pytest reads `-m`."""
    if _WORKER:
        items.sort(key=lambda item: item.path)
    mark_full(items)
    mark_laws(items)
    if config.option.one_in_examples > 1:
        try_fewer_examples(items, config.option.one_in_examples)
    yield
    spread_compiling(items)


_PATIENT = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

settings.register_profile("drawn", deadline=None, suppress_health_check=_PATIENT, print_blob=True)
settings.register_profile("fixed", parent=settings.get_profile("drawn"), derandomize=True, max_examples=50)
settings.register_profile("mutants", parent=settings.get_profile("fixed"), phases=[Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
