"""Hypothesis profiles: `dev` for people, `ci` where runs must repeat, `mutants` where only failing counts.

Choose one with HYPOTHESIS_PROFILE.
"""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, Phase, settings

# What tests load and compile stays: to look at all of it for cycles as often as Python does takes a tenth of the time.
gc.set_threshold(50_000, 20, 50)

COMPILING = (
    "tests/core/autodiff/test_by_rows.py::test_engines_agree[fast]",
    "tests/interp/engines/fast/test_events.py::test_what_is_kept[pages-fib-9-waves]",
)
"""A test that needs the token machine, and one that needs the other, which keeps events. Each is compiled once."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of two processes each compiles a machine first: else both would wait for one, twice."""
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
