"""What plain `pytest` leaves out (`tests/support/inner.py`), the order of tests, and Hypothesis profiles: `dev` for
people, `ci` where runs must repeat, `mutants` where only failing counts. HYPOTHESIS_PROFILE chooses one.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from support.inner import mark_full, try_fewer_examples

# What tests load and compile stays: to look at all of it for cycles as often as Python does takes a tenth of the time.
gc.set_threshold(50_000, 20, 50)

COMPILING = (
    "tests/interp/engines/fast/test_machine.py::test_corpus",
    "tests/interp/engines/fast/test_events.py::test_what_is_kept[pages-fib-9-waves]",
)
"""A test that needs the token machine, and one that needs the other, which keeps events. Each is compiled once."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Marks what the inner part leaves out, before pytest reads `-m`. Orders what is left: each of two processes
    compiles one machine first, since both would otherwise wait for one and then for the other."""
    mark_full(items)
    if "not full" in config.option.markexpr:
        try_fewer_examples(items)
    yield
    first = [item for item in items if item.nodeid in COMPILING]
    rest = [item for item in items if item.nodeid not in COMPILING]
    for number, item in reversed([*enumerate(first)]):
        rest.insert(number * len(rest) // len(first), item)
    items[:] = rest


_PATIENT = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

settings.register_profile("dev", deadline=None, suppress_health_check=_PATIENT)
settings.register_profile("ci", parent=settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.register_profile(
    "mutants", parent=settings.get_profile("dev"), derandomize=True, phases=[Phase.generate], database=None
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))
