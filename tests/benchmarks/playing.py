"""The frame rate of the player in headless Chromium: `python tests/benchmarks/playing.py [SECONDS]`.

Two pages of 5,000 events: of fib(15), and of fib(20) from the 100,000th event on, where a wave has some thousand
tokens. Each is played at several speeds, for this many seconds at most, and the first also from its beginning to its
end. The figures are frames a second, counted by requestAnimationFrame, and the longest frame."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path = [each for each in sys.path if each != str(Path(__file__).parent)]

from support.laws.frames import played  # noqa: E402
from support.pictures.chromium import Tab, chromium  # noqa: E402

WHOLE = "fib(15)"
PAGES = {WHOLE: ("15",), "fib(20) from 100,000": ("20", "--from", "100000")}
WAYS = ((1, "wave"), (4, "wave"), (1, "event"), (16, "event"), (64, "event"))
LONG = 200.0
"""More seconds than 5,000 events take at the highest speed."""
JUMPS = """(() => { const slider = document.getElementById('slider'), times = [];
    for (let i = 0; i < 200; i++) { slider.value = (i * 7919) % 5000; const begun = performance.now();
        slider.dispatchEvent(new Event('input')); document.body.getBoundingClientRect();
        times.push(performance.now() - begun); }
    return times.sort((a, b) => a - b); })()"""
"""The milliseconds of 200 jumps, the shortest first."""


def main(seconds: float) -> None:
    with TemporaryDirectory() as folder, chromium() as tab:
        tab.prefer(reduced_motion="no-preference", color_scheme="light")
        for name, words in PAGES.items():
            page, begun = Path(folder) / "run.html", time.perf_counter()
            command = [sys.executable, "-m", "tagloom", "play", "papers_examples/recursion/fib.py", *words, "-o", page]
            subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
            print(f"{name}: {page.stat().st_size / 1000:,.0f} kB, written in {time.perf_counter() - begun:.1f} s")
            tab.open(page)
            jumps = tab.run(JUMPS)
            print(f"  200 jumps: median {jumps[100]:.1f} ms, longest {jumps[-1]:.0f} ms")
            for speed, unit in WAYS:
                _report(tab, speed, unit, seconds)
            if name == WHOLE:
                _report(tab, 64, "event", LONG)


def _report(tab: Tab, speed: float, unit: str, seconds: float) -> None:
    tab.key("Home")
    result = played(tab, speed, unit, seconds)
    took = f"{result.last - result.first:5,} events in {sum(result.took) / 1000:5.1f} s"
    print(f"  {speed:2}x by {unit}: {took}, {result.rate:4.1f} frames a second, the longest {result.worst:.0f} ms")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)
