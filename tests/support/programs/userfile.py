"""User files: modules in a file of their own, with one marked line, that tests trace."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path
from types import ModuleType

from tagloom.core.program.program import Location

HEADER = "import math\nimport numpy as np\nimport tagloom as tl\n"
HERE = "# here"


def load(folder: Path, text: str, header: str = HEADER) -> tuple[ModuleType, Location]:
    """A user's file as a module, and the location of its mark `here`."""
    path = folder / "user.py"
    path.write_text(header + textwrap.dedent(text).strip("\n") + "\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("user", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    marked = [k for k, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1) if HERE in line]
    return module, Location(str(path), marked[0] if marked else 0)
