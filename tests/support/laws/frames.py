"""How smoothly the player page plays: the frames that a browser painted meanwhile."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from support.pictures.chromium import PATIENCE, Tab

_WATCH = """(() => {
    window.painted = null;
    const times = [], play = document.getElementById('play'), begun = performance.now();
    const tick = now => {
        times.push(now);
        if (now - begun < %d && play.textContent === 'Pause') requestAnimationFrame(tick); else window.painted = times;
    };
    requestAnimationFrame(tick);
})()"""
"""A script that records the time of each frame in milliseconds, until the time is up or the page stops playing."""


_CHOOSE = """(() => { const each = document.getElementById('%s');
    each.value = '%s'; each.dispatchEvent(new Event('change')); })()"""


class Frames(NamedTuple):
    """What was played: from which position to which, and the milliseconds of each frame."""

    first: int
    last: int
    took: list[float]

    @property
    def rate(self) -> float:
        """Frames a second.

        >>> Frames(0, 9, [10.0, 10.0, 30.0, 50.0]).rate
        40.0
        """
        return 1000 * len(self.took) / sum(self.took)

    @property
    def worst(self) -> float:
        return max(self.took)


def played(tab: Tab, speed: float, unit: str, seconds: float) -> Frames:
    """Play the open page from its position, or from the beginning if it is at its end, for at most this long."""
    for name, chosen in (("unit", unit), ("speed", f"{speed:g}")):
        tab.run(_CHOOSE % (name, chosen))
    first = _position(tab)
    tab.click("#play")
    tab.run(_WATCH % (1000 * seconds))
    tab.wait("window.painted", seconds + PATIENCE)
    times = tab.run("window.painted")
    if tab.text("play") == "Pause":
        tab.click("#play")
    return Frames(first, _position(tab), [after - before for before, after in pairwise(times)])


def _position(tab: Tab) -> int:
    return int(tab.run("document.getElementById('slider').value"))
