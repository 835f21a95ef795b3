"""How fast the debugger answers: `python tests/benchmarks/screen.py [N]`, on fib(N), of which 23 has a million events.

A key is pressed, and the clock runs until what came of it is shown. Meanwhile a second clock sees how long the screen
was held up at most. Motions that pass over much of the run are left out: what they cost goes with that.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path = [each for each in sys.path if each != str(Path(__file__).parent)]

from onscreen import Screen, shown  # noqa: E402

KEYS = "sSeEwWnNiuUzplx"
COUNT = 500


class Pulse:
    """How long the screen did nothing else, at most."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def beat(self) -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.001)
            self.worst = max(self.worst, time.perf_counter() - begun - 0.001)


async def pressed(screen: Screen, key: str) -> float:
    begun = time.perf_counter()
    screen.app._takes(key)
    await screen.app.settled()
    return (time.perf_counter() - begun) * 1000


async def script(screen: Screen) -> None:
    pulse = Pulse()
    beating = asyncio.create_task(pulse.beat())
    begun = time.perf_counter()
    screen.app.do("run")
    await screen.still()
    known = len(screen.app.session.history)
    seconds, held = time.perf_counter() - begun, pulse.worst * 1000
    print(f"run: {known:,} events in {seconds:.1f} s, the screen held up for {held:.0f} ms")
    draw = random.Random(7)
    taken: list[tuple[float, str]] = []
    pulse.worst = 0.0
    for number in range(COUNT):
        if number % 10 == 0:
            line = f"goto {draw.randrange(known)}"
            begun = time.perf_counter()
            screen.app.do(line)
            await screen.app.settled()
            taken.append(((time.perf_counter() - begun) * 1000, "goto"))
        else:
            key = draw.choice(KEYS)
            taken.append((await pressed(screen, key), key))
    times = sorted(each for each, _ in taken)
    print(f"a command: median {median(times):.1f} ms, 99% {times[int(COUNT * 0.99)]:.1f} ms, worst {times[-1]:.1f} ms")
    print(f"the slowest: {', '.join(f'{key} {each:.0f}' for each, key in sorted(taken)[-8:])}")
    print(f"the screen was held up for {pulse.worst * 1000:.0f} ms at most")
    beating.cancel()


def main(number: str) -> None:
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    shown(script, str(ROOT / "papers_examples/recursion/fib.py"), number)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["23"]))
