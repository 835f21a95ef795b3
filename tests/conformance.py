"""`python tests/conformance.py [NAME ...]` makes docs/conformance.html and its data anew, with all systems.

Without NAMEs, a backend stays in the report if its version is the same and the same things were tried; with NAMEs,
these run, and all others stay. The files are written whenever a backend is through, so a run that was ended goes on
where it was. A backend that does not start stays as it was.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from threading import Event, Lock
from typing import Any

from tagloom.interp.oracle.adapters import backend_command
from tagloom.interp.oracle.backend_process import Backend, Timeouts
from tagloom.interp.oracle.report import backend_to_json, op_setting, program_setting, report_to_html, report_to_json
from tagloom.tui.cli.conform_report import ReportParts, run_parts

DOCS = Path(__file__).resolve().parents[1] / "docs"
SEED = 7
PROGRAMS: dict[str, int] = {
    "numpy": 200,
    "jax": 200,
    "torch": 200,
    "torch-compiled": 40,
    "tensorflow": 200,
    "tensorflow-function": 200,
    "tensorflow-frames": 200,
    "tensorflow-xla": 200,
    "onnxruntime": 200,
    "onnx-reference": 200,
    "stablehlo": 200,
}
"""The number of generated programs for each backend; Inductor compiles one for seconds."""
PATIENT = Timeouts(900.0, 300.0, 300.0)


def open_backend(name: str) -> Backend:
    return Backend(backend_command(name), timeouts=PATIENT)


def is_current(name: str, former: Mapping[str, Any] | None, label: str | None) -> bool:
    """Whether a backend of an older report need not run: it has this version, or does not start, and the report has
    what was to be tried."""
    if former is None:
        return label is None
    setting = {"ops": op_setting(), "programs": program_setting(SEED, PROGRAMS[name])}
    return label is None or (former["label"], former["settings"]) == (label, setting)


def label_of(name: str) -> str | None:
    """The name and version of a backend, as it says them; None if it does not start."""
    with open_backend(name) as backend:
        backend.start()
        capabilities = backend.capabilities
    return None if capabilities is None else f"{capabilities.name} {capabilities.version}"


def main(*names: str) -> None:
    """Make the report."""
    data = DOCS / "conformance.json"
    reports: dict[str, Any] = {report["backend"]: report for report in json.loads(data.read_text())["backends"]}
    lock = Lock()

    def refresh(name: str) -> None:
        label = label_of(name)
        if is_current(name, reports.get(name), label) and (label is None or name not in names):
            print(f"{name}: {'does not start' if label is None else 'stays'}", flush=True)
            return
        report = run_parts(name, open_backend, ReportParts(True, None, None, PROGRAMS[name], SEED), Event())
        with lock:
            reports[name] = backend_to_json(report)
            backends = [reports[each] for each in PROGRAMS if each in reports]
            document = {**report_to_json([], version("tagloom")), "backends": backends}
            data.write_text(json.dumps(document, indent=1) + "\n")
            data.with_suffix(".html").write_text(report_to_html(document))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(refresh, names or PROGRAMS))


if __name__ == "__main__":
    main(*sys.argv[1:])
