"""A module of StableHLO that all tests can use: as text, and as the document that the parser makes of it, since the
parser comes with jaxlib. `python tests/support/programs/stablehlo_modules.py` writes the document.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
TEXT = FOLDER / "collatz.mlir"
DOCUMENT = FOLDER / "collatz_mlir.json"


def parsed(text: bytes) -> Any:
    """The document of a text, which needs jaxlib."""
    script = FOLDER.parents[2] / "interp" / "exchange" / "stablehlo" / "parse.py"
    ran = subprocess.run([sys.executable, "-P", script], input=text, capture_output=True, check=True)
    return json.loads(ran.stdout)


def document() -> Any:
    """The stored document."""
    return json.loads(DOCUMENT.read_text())


if __name__ == "__main__":
    DOCUMENT.write_text(json.dumps(parsed(TEXT.read_bytes()), separators=(",", ":")) + "\n")
