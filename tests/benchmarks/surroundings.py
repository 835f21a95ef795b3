"""The surroundings of a benchmark: the machine, and the installed systems."""

from __future__ import annotations

import importlib.util
import os
import platform
from datetime import date
from pathlib import Path
from typing import Any

from systems import PACKAGES


def machine() -> dict[str, Any]:
    """The machine of the measurement."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "date": str(date.today()),
        "processor": names[0] if names else platform.machine(),
        "processors": cores,
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def installed(wanted: list[str] | None) -> tuple[list[str], list[str]]:
    """The modules that can be measured, and the missing packages."""
    present, missing = [], []
    for module, packages in PACKAGES.items():
        if wanted is not None and module not in wanted:
            continue
        absent = [package for package in packages if importlib.util.find_spec(package) is None]
        missing += absent
        if not absent:
            present.append(module)
    return present, missing
