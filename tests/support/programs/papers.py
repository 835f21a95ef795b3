"""The programs of papers_examples, as modules."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import tagloom as tl

EXAMPLES = Path(tl.__file__).resolve().parent / "papers_examples"


def of_paper_anew(folder: str, name: str) -> ModuleType:
    """A program's file as a new module; it can import the files beside it, as in an ordinary run."""
    beside = EXAMPLES / folder
    if str(beside) not in sys.path:
        sys.path.append(str(beside))
    spec = importlib.util.spec_from_file_location(f"{folder}_{name}", beside / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


of_paper = functools.cache(of_paper_anew)
"""The same, loaded once for all tests: its variables keep their values from the last run."""
