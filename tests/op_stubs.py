"""Type stubs of the functions that are derived from the op registry, for type checkers and editors.

python tests/op_stubs.py        writes them
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tagloom.core.frontend.eager.op_functions import op_signature
from tagloom.core.ops.op import OPS, Op

FOLDER = Path(__file__).resolve().parents[1] / "core" / "frontend"
STUBS = {"tagloom": FOLDER / "functions.pyi", "linalg": FOLDER / "linalg_functions.pyi"}


def stub(namespace: str) -> str:
    """The stub of all functions of a namespace."""
    rows = sorted((row for row in OPS.values() if row.namespace == namespace), key=natural_order)
    names = "\n".join(f'    "{row.name}",' for row in rows)
    head = '"""Written by `python tests/op_stubs.py` from the registry of ops."""\n\nfrom typing import Any\n\n'
    return f"{head}__all__ = [\n{names}\n]\n\n" + "\n".join("\n".join(lines(row)) for row in rows)


def natural_order(row: Op) -> list[str]:
    """The parts of a name, with numbers compared by size."""
    return [each.zfill(3) if each.isdigit() else each for each in re.split(r"(\d+)", row.name)]


def lines(row: Op) -> Iterator[str]:
    """The stub of a function, with the first paragraph of its documentation."""
    parameters = [each.replace(annotation="Any") for each in op_signature(row).parameters.values()]
    written = str(inspect.Signature(parameters)).replace("'", "")
    line = f"def {row.name}{written} -> Any:"
    yield line if len(line) <= 120 else f"def {row.name}(\n    {written[1:-1]}\n) -> Any:"
    text = " ".join(row.doc.split("\n\n")[0].split())
    yield textwrap.fill(f'"""{text}"""', 120, initial_indent="    ", subsequent_indent="    ")
    yield ""


if __name__ == "__main__":
    for namespace, path in STUBS.items():
        path.write_text(stub(namespace), encoding="utf-8")
    sys.exit()
