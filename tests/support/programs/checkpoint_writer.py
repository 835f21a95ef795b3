"""A process whose children save checkpoints until they are killed: `python checkpoint_writer.py PATH whole|torn`.

For each number on standard input it forks a child, which saves variables that all hold that number, then the next, and
so on. It prints the child's process id, and a line once the child is dead.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import tagloom as tl
from tagloom.interp.checkpoint import file

SIZE = 20_000
COUNT = 8


def model(number: float) -> dict[str, tl.Variable]:
    """Variables that all hold one number; their checkpoint is larger than a megabyte."""
    return {f"w{place}": tl.Variable(np.full(SIZE, float(number))) for place in range(COUNT)}


def write_torn(path: Path, data: bytes) -> None:
    """A broken twin of `write_atomically`, which writes to the file itself, and slowly."""
    half = len(data) // 2
    with path.open("wb", buffering=0) as opened:
        opened.write(data[:half])
        time.sleep(0.02)
        opened.write(data[half:])


def save_for_ever(path: str, number: int) -> None:
    while True:
        tl.Checkpoint(**model(number)).save(path)
        number += 1


def main(path: str, way: str) -> None:
    if way == "torn":
        file.write_atomically = write_torn
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            save_for_ever(path, int(line))
        print(child, flush=True)
        os.waitpid(child, 0)
        print("dead", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
