"""`tagloom debug --serve`: the same app in a browser on this machine, by textual-serve.

Whoever opens the page can have Python run, so it is for one person: it listens on the loopback address only, its
address has a secret in it, and pages of other origins are refused. The page asks nothing of any other machine.
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
    """Serve `tagloom debug` with these words until Ctrl-C; raises Usage where textual-serve is not there."""
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
        raise Usage("nothing can be served there", got=f"--port {port}", hint=error.strerror) from None
    return 0


async def build_site(words: Sequence[str], port: int, secret: str) -> web.Application:
    """All pages, below the secret."""
    from aiohttp import web
    from textual_serve.server import Server

    command = shlex.join([sys.executable, "-m", "tagloom", "debug", *words])
    inside = await Server(command, HOST, port, title="tagloom debug")._make_app()
    inside.on_startup.clear()  # it would print the command
    outside = web.Application(middlewares=[origin_guard(port)])
    outside.add_subapp(f"/{secret}/", inside)
    return outside


def origin_guard(port: int) -> Any:
    """Lets nobody in but pages of this site, and nothing out that asks others."""
    from aiohttp import web

    hosts = (f"{HOST}:{port}", f"localhost:{port}")

    async def check_origin(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        origin = request.headers.get("Origin")
        wants_socket = request.headers.get("Upgrade", "").lower() == "websocket"
        if request.host not in hosts or (origin or f"http://{hosts[0]}") not in [f"http://{host}" for host in hosts]:
            raise web.HTTPForbidden(text="this page is for its own origin")
        if wants_socket and origin is None:
            raise web.HTTPForbidden(text="who asks does not say from where")
        response = await handler(request)
        if isinstance(response, web.Response) and response.content_type == "text/html" and response.text:
            response.text = _FONT_LINK.sub(lambda _: _head_html(request), response.text)
            response.headers["Content-Security-Policy"] = _POLICY.format(host=request.host)
            response.headers["Referrer-Policy"] = "no-referrer"
        return response

    return web.middleware(check_origin)


def _head_html(request: Any) -> str:
    """What this page has in the place of what it would fetch from others: the font from its own folder, a name, no
    picture beside it, the paper of the debugger, and the keyboard at once, where else one would have to click first."""
    folder = f"{request.path.rstrip('/')}/static/fonts/RobotoMono-VariableFont_wght.ttf"
    face = f'@font-face {{ font-family: "Roboto Mono"; src: url("{folder}"); }}'
    paper = f"html body, body .shade {{ background: {DARK.background}; }}"
    return f"""<title>tagloom debug</title><link rel="icon" href="data:,"><style>{face}</style>
<script>addEventListener("load", () => {{
  document.head.insertAdjacentHTML("beforeend", "<style>{paper}</style>");
  const seen = new MutationObserver(() => {{
    const keyboard = document.querySelector(".xterm-helper-textarea");
    if (keyboard && document.body.classList.contains("-first-byte")) {{ keyboard.focus(); seen.disconnect(); }}
  }});
  seen.observe(document.body, {{ attributes: true, childList: true, subtree: true }});
}});</script>"""
