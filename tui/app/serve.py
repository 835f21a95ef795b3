"""`tagloom debug --serve`: the app in a browser on the same machine, by textual-serve.

A visitor of the page can run Python, so it is for one user: the server listens on the loopback address only, its
address contains a secret, and requests from other origins are refused. The page requests nothing from other machines.
"""

from __future__ import annotations

import re
import secrets
import shlex
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core.errors import Usage
from ...viz.style import DARK

if TYPE_CHECKING:
    from aiohttp import web

HOST = "127.0.0.1"
_FONT_LINK = re.compile(r"<link[^>]*https://fonts\.googleapis\.com[^>]*>")
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
    "img-src 'self' data:; connect-src 'self' ws://{host}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


def serve_debugger(words: Sequence[str], port: int) -> int:
    """Serve `tagloom debug` with these arguments until Ctrl-C; raises Usage if textual-serve is not installed."""
    try:
        import textual_serve.server  # noqa: F401
        from aiohttp import web
    except ImportError:
        raise Usage("the browser needs textual-serve", hint='pip install "tagloom[serve]"') from None
    secret = secrets.token_urlsafe(24)
    print(f"the debugger is at http://{HOST}:{port}/{secret}/ (Ctrl-C ends it)", flush=True)
    try:
        web.run_app(build_site(words, port, secret), host=HOST, port=port, print=None)
    except OSError as error:
        raise Usage("this port cannot be used", got=f"--port {port}", hint=error.strerror) from None
    return 0


async def build_site(words: Sequence[str], port: int, secret: str) -> web.Application:
    """All pages, with the secret as the prefix of their paths."""
    from aiohttp import web
    from textual_serve.server import Server

    command = shlex.join([sys.executable, "-m", "tagloom", "debug", *words])
    inner_app = await Server(command, HOST, port, title="tagloom debug")._make_app()
    inner_app.on_startup.clear()  # it would print the command
    application = web.Application(middlewares=[origin_guard(port)])
    application.add_subapp(f"/{secret}/", inner_app)
    return application


def origin_guard(port: int) -> Any:
    """Middleware that refuses requests from other origins, and forbids pages to make requests to other sites."""
    from aiohttp import web

    hosts = (f"{HOST}:{port}", f"localhost:{port}")

    async def check_origin(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        origin = request.headers.get("Origin")
        wants_socket = request.headers.get("Upgrade", "").lower() == "websocket"
        if request.host not in hosts or (origin or f"http://{hosts[0]}") not in [f"http://{host}" for host in hosts]:
            raise web.HTTPForbidden(text="requests from other origins are refused")
        if wants_socket and origin is None:
            raise web.HTTPForbidden(text="the request does not state its origin")
        response = await handler(request)
        if isinstance(response, web.Response) and response.content_type == "text/html" and response.text:
            response.text = _FONT_LINK.sub(lambda _: head_html(request), response.text)
            response.headers["Content-Security-Policy"] = _POLICY.format(host=request.host)
            response.headers["Referrer-Policy"] = "no-referrer"
        return response

    return web.middleware(check_origin)


def head_html(request: Any) -> str:
    """The HTML head that replaces textual-serve's: a local font, a title, no favicon, the debugger's background, and a
    script that focuses the page, so that keys work without a click."""
    folder = f"{request.path.rstrip('/')}/static/fonts/RobotoMono-VariableFont_wght.ttf"
    face = f'@font-face {{ font-family: "Roboto Mono"; src: url("{folder}"); }}'
    background = f"html body, body .shade {{ background: {DARK.background}; }}"
    return f"""<title>tagloom debug</title><link rel="icon" href="data:,"><style>{face}</style>
<script>addEventListener("load", () => {{
  document.head.insertAdjacentHTML("beforeend", "<style>{background}</style>");
  const observer = new MutationObserver(() => {{
    const keyboard = document.querySelector(".xterm-helper-textarea");
    if (keyboard && document.body.classList.contains("-first-byte")) {{ keyboard.focus(); observer.disconnect(); }}
  }});
  observer.observe(document.body, {{ attributes: true, childList: true, subtree: true }});
}});</script>"""
