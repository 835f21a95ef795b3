"""The worker thread beside the screen: a job that is cancelled ends, whether it has begun or not; and Escape, which
cancels it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading

import pytest
from tagloom.tui.app.worker import BackgroundWorker


def test_a_running_job_is_cancelled() -> None:
    """An endless job ends when it is cancelled, and the next one runs."""

    async def script() -> None:
        work, begun = BackgroundWorker("test"), threading.Event()

        def endless() -> None:
            begun.set()
            while True:
                pass

        piece = asyncio.create_task(work.run(endless))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        work.stop()
        assert await piece is None
        assert await work.run(lambda: 7) == 7
        await work.close()

    asyncio.run(script())


def test_a_queued_job_is_cancelled() -> None:
    """A job that is cancelled before it begins does not run; the next one does."""

    async def script() -> None:
        work, free, done = BackgroundWorker("test"), threading.Event(), list[str]()
        work._pool.submit(free.wait)
        piece = asyncio.create_task(work.run(lambda: done.append("stopped")))
        await asyncio.sleep(0)
        work.stop()
        free.set()
        await piece
        assert not done
        await work.run(lambda: done.append("next"))
        assert done == ["next"]
        await work.close()

    asyncio.run(script())


@pytest.mark.full
@pytest.mark.parametrize(
    ("settings", "delay"), [({}, 0.025), ({"SSH_CONNECTION": "::1 1 ::1 22"}, 0.1), ({"ESCDELAY": "300"}, 0.3)]
)
def test_escape_waits_for_the_bytes_of_other_keys(settings: dict[str, str], delay: float) -> None:
    """A local terminal's Escape is one after 25 ms, one that comes over a network after Textual's 100; the user's
    setting is kept."""
    environment = {name: value for name, value in os.environ.items() if name not in ("SSH_CONNECTION", "SSH_TTY")}
    environment.pop("ESCDELAY", None)
    code = "import tagloom.tui.app.app, textual.constants; print(textual.constants.ESCAPE_DELAY)"
    ran = subprocess.run([sys.executable, "-c", code], env=environment | settings, capture_output=True, check=True)
    assert float(ran.stdout) == delay
