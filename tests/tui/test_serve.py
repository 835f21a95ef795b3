"""The app in a browser: only for who knows the address, and only for its own pages."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

pytest.importorskip("textual_serve")

from aiohttp import ClientSession, WSServerHandshakeError, web
from tagloom.tui.app.serve import HOST, site

FIB = str(Path(__file__).resolve().parents[2] / "papers_examples/recursion/fib.py")


def free_port() -> int:
    with socket.socket() as made:
        made.bind((HOST, 0))
        return int(made.getsockname()[1])


@pytest.mark.timeout(60)
def test_who_gets_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the secret there is nothing; foreign origins and hosts are refused; the page asks nobody else; the socket
    gives the app."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    async def run() -> None:
        port, secret = free_port(), "s3cret"
        runner = web.AppRunner(await site([FIB, "4"], port, secret))
        await runner.setup()
        await web.TCPSite(runner, HOST, port).start()
        home = f"http://{HOST}:{port}"
        try:
            async with ClientSession() as session:
                for path in ("/", "/ws", "/static/js/textual.js", "/other/"):
                    assert (await session.get(home + path)).status == 404
                page = await session.get(f"{home}/{secret}/")
                text = await page.text()
                assert (
                    page.status == 200
                    and "googleapis" not in text
                    and "default-src 'none'" in page.headers["Content-Security-Policy"]
                )
                assert (
                    await session.get(f"{home}/{secret}/static/fonts/RobotoMono-VariableFont_wght.ttf")
                ).status == 200
                for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Origin": "null"}):
                    assert (await session.get(f"{home}/{secret}/", headers=headers)).status == 403
                for origin in ("http://evil.example", None):
                    with pytest.raises(WSServerHandshakeError):
                        await session.ws_connect(f"{home}/{secret}/ws", origin=origin)
                async with session.ws_connect(f"{home}/{secret}/ws?width=100&height=30", origin=home) as opened:
                    seen = b""
                    while b"graph" not in seen:
                        message = await opened.receive(timeout=30)
                        seen += message.data if isinstance(message.data, bytes) else b""
        finally:
            await runner.cleanup()
            await asyncio.sleep(0.5)  # the process of the app ends

    asyncio.run(run())
