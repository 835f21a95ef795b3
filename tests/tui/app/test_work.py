"""The worker thread beside the screen: a job that is cancelled ends, whether it has begun or not."""

from __future__ import annotations

import asyncio
import threading

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
