"""The app in a browser: it serves only those who know the address, and only its own pages."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import ClientSession, WSServerHandshakeError, web
from support.pictures.chromium import chromium
from tagloom.core.errors import Usage
from tagloom.tui.app.serve import HOST, build_site, serve_debugger

FIB = str(Path(__file__).resolve().parents[3] / "papers_examples/recursion/fib.py")


def free_port() -> int:
    with socket.socket() as result:
        result.bind((HOST, 0))
        return int(result.getsockname()[1])


@pytest.mark.parametrize("missing", ["aiohttp", "textual_serve.server"])
def test_missing_packages_are_reported(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the missing one of the two packages, and no address."""
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(Usage, match="the browser needs textual-serve"):
        serve_debugger([FIB, "4"], 0)
    assert capsys.readouterr().out == ""


@pytest.mark.full
@pytest.mark.timeout(60)
def test_only_the_secret_gives_access(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the secret there is no page. Foreign origins and hosts are refused, the page loads nothing from
    elsewhere, and the socket gives the app."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    async def run() -> None:
        port, secret = free_port(), "s3cret"
        runner = web.AppRunner(await build_site([FIB, "4"], port, secret))
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
                    and '<link rel="icon" href="data:,">' in text
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
            await asyncio.sleep(2)  # the process of the app ends
            gc.collect()

    asyncio.run(run())


@pytest.mark.full
@pytest.mark.timeout(120)
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    """The page has the keyboard at once and sends typed text to the app; it loads nothing from elsewhere, without
    errors."""
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    (tmp_path / "tagloom").mkdir()
    (tmp_path / "tagloom" / "tour").write_text("seen")  # which `q` would leave otherwise, if it was there by then
    command = [sys.executable, "-m", "tagloom", "debug", FIB, "4", "--serve", "--port", str(free_port())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process, chromium() as tab:
        try:
            assert process.stdout is not None
            actual = re.search(r"http://\S+", process.stdout.readline())
            assert actual is not None
            tab.do("Emulation.setFocusEmulationEnabled", enabled=True)
            tab.do("Page.navigate", url=actual[0])
            tab.wait("document.body && document.body.classList.contains('-first-byte')", 60)
            tab.wait("document.activeElement.className === 'xterm-helper-textarea'")
            assert tab.run("[...document.fonts].some(each => each.family.includes('Roboto Mono'))")
            tab.key("q")
            tab.wait("document.body.classList.contains('-closed')", 30)
            assert all(each.startswith(actual[0]) for each in tab.requests), tab.requests
            assert [each for each in tab.complaints if "WebGL" not in each] == []
        finally:
            process.terminate()
            process.wait(20)
