"""The response time of the debugger: `python tests/benchmarks/screen.py [N]`, on fib(N); fib(23) has a million events.
`python tests/benchmarks/screen.py goals` measures what has a goal: keys at 10^6 and at 10^7 events, and starts;
`python tests/benchmarks/screen.py network` measures keys in the training of a network, whose tokens are arrays.

A key is pressed, and a clock runs until its effect has been painted. Meanwhile a second clock measures the longest time
for which the screen was blocked. A command that passes over much of the run may take long, but must not block the
screen, and must stop when it is told to."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path = [each for each in sys.path if each != str(Path(__file__).parent)]

from onscreen import Screen, shown  # noqa: E402
from terminals import terminal  # noqa: E402

FIB = "papers_examples/recursion/fib.py"
NETWORK = "papers_examples/tensorflow/digits.py"

KEYS = "sSeEwWnNiuUzplxA"
ASKED = ("why add", "who add", "why-not add", "values add", "inspect add", "where")
FAR = (
    "over", "out", "over-back", "out-back", "tag", "tag-back", "result", "trap-back", "continue", "reverse",
)  # fmt: skip
"""Motions over what happens elsewhere; a breakpoint holds once in 10,000 events."""
FORKS = ("fork", "choose 1", "change 0 1", "inject add 0 main 7")
COUNT = 500
FAR_EVENT = 10_000_000
"""The position in fib(28), of 11,827,253 events, at which keys are measured."""
STARTS = 5
"""The number of starts of the debugger, after one that does not count."""


class Pulse:
    """The longest time for which the screen was blocked."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def beat(self) -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.002)
            self.worst = max(self.worst, time.perf_counter() - begun - 0.002)


class Clock:
    """Times commands, and the screen while they run."""

    def __init__(self, screen: Screen, pulse: Pulse) -> None:
        self.screen, self.pulse = screen, pulse
        self.taken: list[tuple[float, str]] = []
        self.worked: list[tuple[float, str]] = []
        """The same in milliseconds of the processor, for machines that others use too."""

    async def do(self, line: str) -> None:
        await self._until_shown(line, lambda: self.screen.app.do(line))

    async def press(self, key: str) -> None:
        await self._until_shown(key, lambda: self.screen.app._handle_screen_key(key))

    async def _until_shown(self, name: str, give: Callable[[], object]) -> None:
        begun, worked = time.perf_counter(), time.process_time()
        give()
        await self.screen.app.wait_until_idle()
        await painted(self.screen)
        self.took(begun, worked, name)

    def took(self, begun: float, worked: float, name: str) -> None:
        self.taken.append(((time.perf_counter() - begun) * 1000, name))
        self.worked.append(((time.process_time() - worked) * 1000, name))

    def say(self, title: str) -> None:
        """Prints the figures since the last call."""
        print(f"{title}: {len(self.taken)} commands; the screen was held up for {self.pulse.worst * 1000:.0f} ms")
        for what, taken in (("clock", sorted(self.taken)), ("processor", sorted(self.worked))):
            times = [each for each, _ in taken]
            slowest = ", ".join(f"{name} {each:.0f}" for each, name in taken[-6:])
            print(
                f"  {what}: median {median(times):.1f} ms, 99% {times[int(len(times) * 0.99)]:.1f}, slowest {slowest}"
            )
        self.taken, self.worked, self.pulse.worst = [], [], 0.0


async def painted(screen: Screen) -> None:
    """Waits until the cells are painted: up to a sixtieth of a second of this is Textual's clock."""
    done = asyncio.Event()
    screen.app.screen.call_after_refresh(done.set)
    await done.wait()


async def do_and_paint(screen: Screen, line: str) -> None:
    """Does a command before the clock runs, until it is painted, so that it is not counted with the next."""
    screen.app.do(line)
    await screen.app.wait_until_idle()
    await painted(screen)


async def press_keys(screen: Screen, clock: Clock, begin: int, end: int) -> None:
    """Keys, questions, and `goto` to positions between two."""
    draw = random.Random(7)
    for number in range(COUNT):
        if number % 10 == 0:
            await clock.do(f"goto {draw.randrange(begin, end)}")
        elif number % 10 == 5:
            await clock.do(draw.choice(ASKED))
        else:
            await clock.press(draw.choice(KEYS))
    clock.say("keys and questions")


async def script_at_far_event(screen: Screen) -> None:
    """Keys at FAR_EVENT, among the events that are known there."""
    pulse = Pulse()
    beating = asyncio.create_task(pulse.beat())
    clock = Clock(screen, pulse)
    await clock.do(f"goto {FAR_EVENT}")
    clock.say(f"goto {FAR_EVENT:,}")
    await clock.do("why add")
    clock.say("the first question")
    history = screen.app.session.history
    await press_keys(screen, clock, history.base, len(history))
    beating.cancel()


async def script_of_keys(screen: Screen) -> None:
    """Keys in a run of which every event is known."""
    pulse = Pulse()
    beating = asyncio.create_task(pulse.beat())
    await run_and_press_keys(screen, Clock(screen, pulse))
    beating.cancel()


async def run_and_press_keys(screen: Screen, clock: Clock) -> None:
    """The whole run, the first question, and keys."""
    await clock.do("run")
    clock.say("run")
    known = len(screen.app.session.history)
    print(f"  {known:,} events")
    await clock.do("why add")
    clock.say("the first question")
    await press_keys(screen, clock, 0, known)


async def script_of_network(screen: Screen) -> None:
    """The first steps of a training, one by one, and then keys anywhere in it."""
    clock = Clock(screen, Pulse())
    await screen.app.wait_until_idle()
    for _ in range(COUNT // 5):
        await clock.press("s")
    clock.say("steps")
    await do_and_paint(screen, "run")
    await press_keys(screen, clock, 0, len(screen.app.session.history))


async def script(screen: Screen) -> None:
    pulse, draw = Pulse(), random.Random(7)
    beating = asyncio.create_task(pulse.beat())
    clock = Clock(screen, pulse)
    await run_and_press_keys(screen, clock)
    known = len(screen.app.session.history)
    await clock.do("break op == 'add' and fired and step % 10000 < 9")
    for _ in range(5):
        for line in FAR:
            await do_and_paint(screen, f"goto {draw.randrange(known)}")
            await clock.do(line)
    clock.say("far motions")
    for _ in range(5):
        for line in FORKS:
            await do_and_paint(screen, f"goto {draw.randrange(known // 2)}")
            await clock.do(line)
            await do_and_paint(screen, "switch fib")
    clock.say("forks")
    await time_to_stop(screen, clock)
    beating.cancel()


async def time_to_stop(screen: Screen, clock: Clock) -> None:
    """The time from Escape until a long command has stopped, and the screen says so."""
    for line, start in (("run", "load {target} 30"), ("continue", "break value == -1"), ("reverse", "where")):
        screen.app.do(start.format(target=screen.app.session.run.start.target))  # type: ignore[union-attr]
        await screen.app.wait_until_idle()
        screen.app.do(line)
        await asyncio.sleep(1)
        begun, worked = time.perf_counter(), time.process_time()
        screen.app.action_stop()
        await screen.app.wait_until_idle()
        clock.took(begun, worked, f"Escape in {line}")
    clock.say("Escape")


def measure_starts() -> None:
    """Print the seconds from the start of `tagloom debug` in a terminal to the first screen, and to the graph in it.
    The first start writes Python's bytecode, as for users. Where PYTHONDONTWRITEBYTECODE is set, each start compiles
    the package, which takes longer than all the rest."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp()
    seconds = list[tuple[float, float]]()
    for _ in range(STARTS + 1):
        begun = time.perf_counter()
        with terminal(Path(os.environ["XDG_STATE_HOME"]), [sys.executable, "-m", "tagloom", "debug", FIB, "5"]) as at:
            at.wait_for("at the beginning")
            first = time.perf_counter() - begun
            at.wait_for("n <= 1")
            seconds.append((first, time.perf_counter() - begun))
            at.type("q")
            at.ends()
    for name, times in zip(("first screen", "graph"), zip(*seconds[1:], strict=True), strict=True):
        print(f"{name}: median {median(times):.2f} s, slowest {max(times):.2f}")


def measure_goals() -> None:
    """Print the figures that have a goal; each run has a process of its own."""
    for goal, word in (("50 ms at 10^6 events", "keys"), ("80 ms at 10^7 events", "far"), ("1.0 s, warm", "starts")):
        print(f"goal: {goal}", flush=True)
        subprocess.run([sys.executable, __file__, word], check=True, cwd=ROOT)


def main(word: str) -> None:
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    match word:
        case "goals":
            measure_goals()
        case "starts":
            measure_starts()
        case "far":
            shown(script_at_far_event, str(ROOT / FIB), "28", schedule="lifo")
        case "keys":
            shown(script_of_keys, str(ROOT / FIB), "23", whole=True)
        case "network":
            shown(script_of_network, str(ROOT / NETWORK), "20", whole=True)
        case number:
            shown(script, str(ROOT / FIB), number, whole=True)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["23"]))
