"""The thread that works beside the screen: what it is told to stop, it stops, whether it has begun or not."""

from __future__ import annotations

import asyncio
import threading

from tagloom.tui.app.worker import BackgroundWorker


def test_a_piece_that_has_begun_is_stopped() -> None:
    """A piece that goes on for ever ends when it is told to, and the next one is done."""

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


def test_a_piece_that_has_not_begun_never_does() -> None:
    """Told to stop between being given and being begun, a piece is not done; the next one is."""

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
