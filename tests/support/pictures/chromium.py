"""A page in headless Chromium, driven by the DevTools protocol, for tests of the player.

Tests that need one skip if it is not installed, or fail if TAGLOOM_REQUIRE_CHROMIUM is set.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.request
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-features=IsolateSandboxedIframes",
    "--disable-site-isolation-trials", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--remote-debugging-port=0", "--remote-allow-origins=*", "--window-size=1280,860",
)  # fmt: skip
PATIENCE = 120.0
"""The seconds after which a test fails; on a busy machine a page may take many."""


def binary() -> str:
    """The path of Chromium; skips or fails the test if there is none."""
    result = next(filter(None, map(shutil.which, NAMES)), None)
    if result is None:
        if os.environ.get("TAGLOOM_REQUIRE_CHROMIUM"):
            pytest.fail("Chromium is required here, and is not there: apt-get install chromium")
        pytest.skip("Chromium is not there")
    return result


class Tab:
    """One tab: its console messages, its network requests, and methods that drive it."""

    def __init__(self, address: str) -> None:
        required = os.environ.get("TAGLOOM_REQUIRE_CHROMIUM")
        websocket = import_module("websocket") if required else pytest.importorskip("websocket")
        self._socket = websocket.create_connection(address, timeout=PATIENCE, suppress_origin=True)
        self._number = 0
        self.complaints: list[str] = []
        """Errors and warnings of the console, and exceptions."""
        self.requests: list[str] = []
        """Requested addresses, except the page itself and `data:` addresses."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")

    def do(self, method: str, **parameters: Any) -> Any:
        """Send a command of the protocol, and return its answer."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while (message := json.loads(self._socket.recv())).get("id") != self._number:
            self._hear(message)
        assert "error" not in message, message
        return message["result"]

    def _hear(self, message: dict[str, Any]) -> None:
        reply = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(reply["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if reply["type"] in ("error", "warning", "assert"):
                self.complaints.append(json.dumps(reply["args"]))
            case "Log.entryAdded" if reply["entry"]["level"] in ("error", "warning"):
                self.complaints.append(reply["entry"]["text"])
            case "Network.requestWillBeSent" if not reply["request"]["url"].startswith(("file:", "data:")):
                self.requests.append(reply["request"]["url"])

    def open(self, page: Path, address: str = "") -> None:
        """Show a page, and wait until its script has started."""
        self.do("Page.navigate", url="about:blank")
        self.do("Page.navigate", url=f"{page.as_uri()}{address}")
        self.wait("document.readyState === 'complete' && document.getElementById('position').textContent !== ''")

    def run(self, script: str) -> Any:
        """The value of a script expression in the page, as JSON."""
        answer = self.do("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str, seconds: float = PATIENCE) -> None:
        """Wait until an expression is true; fail after `seconds`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            answer = self.do("Runtime.evaluate", expression=condition, returnByValue=True)
            if answer["result"].get("value"):
                return
            time.sleep(0.02)
        raise AssertionError(f"it never was true that {condition}")

    def text(self, name: str) -> str:
        """The text of an element."""
        return str(self.run(f"document.getElementById({json.dumps(name)}).textContent"))

    def key(self, key: str) -> None:
        """Press a key, such as `Space` or `Shift+ArrowRight`."""
        last = key.removeprefix("Shift+")
        named, held = {"Space": " "}.get(last, last), 8 * key.startswith("Shift+")
        text = {"text": named} if len(named) == 1 else {}
        self.do("Input.dispatchKeyEvent", type="keyDown", key=named, modifiers=held, **text)
        self.do("Input.dispatchKeyEvent", type="keyUp", key=named, modifiers=held)

    def click(self, selector: str) -> None:
        """Click an element, by a script."""
        self.run(
            f"document.querySelector({json.dumps(selector)}).dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
        )

    def prefer(self, **features: str) -> None:
        """Set media preferences of the page's reader: `color_scheme="dark"`."""
        listed = [{"name": f"prefers-{name.replace('_', '-')}", "value": text} for name, text in features.items()]
        self.do("Emulation.setEmulatedMedia", features=listed)

    @contextmanager
    def screen_size(self, width: int, height: int) -> Iterator[None]:
        """A screen of this size in pixels."""
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        try:
            yield
        finally:
            self.do("Emulation.clearDeviceMetricsOverride")

    def screenshot(self, path: Path) -> None:
        path.write_bytes(b64decode(self.do("Page.captureScreenshot", format="png")["data"]))

    def printed(self) -> bytes:
        """The page printed as a PDF."""
        return b64decode(self.do("Page.printToPDF", printBackground=True)["data"])

    def close(self) -> None:
        self._socket.close()


@contextmanager
def chromium() -> Iterator[Tab]:
    """A browser with one tab and a new profile; it is ended afterwards."""
    result = binary()
    with TemporaryDirectory(prefix="tagloom-chromium-", ignore_cleanup_errors=True) as folder:
        command = [result, *OPTIONS, f"--user-data-dir={folder}", "about:blank"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                tab = Tab(_address(Path(folder) / "DevToolsActivePort", process))
                yield tab
                tab.close()
            finally:
                process.terminate()
                process.wait(PATIENCE)


def _address(file: Path, process: subprocess.Popen[bytes]) -> str:
    """The address of the tab's DevTools socket."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if file.exists() and file.read_text().count("\n"):
            port = int(file.read_text().split("\n")[0])
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=PATIENCE) as answer:
                pages = [each for each in json.load(answer) if each["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.05)
    raise AssertionError("Chromium does not start")
