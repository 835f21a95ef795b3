"""Parsers of other systems. Each runs in a separate process, with bounds on time and memory, so that a damaged file
cannot harm this process.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core.errors import Malformed
from ..engines.child_process import ChildProcess


def run_parser(
    script: Path, arguments: Sequence[str], content: bytes, message: str, where: str | None, seconds: float
) -> bytes:
    """Run a script that reads `content`, and return its standard output. The script does not import tagloom; it limits
    its memory itself, and is killed after `seconds`. If it does not end with status 0, raises Malformed with this
    message; its last line on standard error is the reason."""
    command = [sys.executable, "-P", str(script), *arguments]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with ChildProcess(command, start_new_session=True, **pipes) as process:
        try:
            output, errors = process.communicate(content, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Malformed(message, where=where, got=f"its parser needs more than {seconds:g} s") from None
    if process.returncode == 0:
        return output
    lines = errors.decode(errors="replace").strip().splitlines()
    reason = lines[-1] if lines else f"its parser ended with status {process.returncode}"
    raise Malformed(message, where=where, got=reason)
