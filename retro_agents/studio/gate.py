"""Who may talk to the studio: whoever opened the address with its token, in a page of its own."""

import asyncio
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?")
"""Names of this machine, on any port: one may be forwarded from another machine."""
POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; "
    "img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
CLOSED = 1008
"""WebSocket's code for a refusal."""


@final
class Gate:
    """Refuses requests without the token, for another Host, or from another Origin.

    The token comes once in the address; then a cookie holds it, which no script can read.
    """

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asks = HTTPConnection(scope)
        token = asks.query_params.get("token", "") if scope["path"] == "/" else ""
        cookie = cookie_of(asks.headers)
        answer: Any = None
        if reason := refusal(asks.headers, writes=scope.get("method") not in ("GET", "HEAD")):
            answer = PlainTextResponse(reason, 403)
        elif scope["type"] == "http" and self.fits(token):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(cookie, self.token, httponly=True, samesite="lax")
        elif not self.fits(asks.cookies.get(cookie, "")):
            answer = PlainTextResponse(
                "Open the address that `retro-agents studio` printed.\n", 403
            )
        if answer is not None and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": CLOSED})
        else:
            with suppress(asyncio.CancelledError):  # the studio ends before there is an answer
                await (answer or self.app)(scope, receive, with_headers(send))

    def fits(self, given: str) -> bool:
        """Whether this is the token; the time that it takes tells nothing."""
        return secrets.compare_digest(given.encode(), self.token.encode())


def refusal(headers: Headers, *, writes: bool) -> str:
    """Why a request comes from elsewhere; "" if it does not. writes: whether it may change
    something, or is a WebSocket."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if not HOST.fullmatch(host):
        return "The studio answers only to this machine's own names.\n"
    if origin != f"http://{host}" and (writes or origin is not None):
        return "The studio answers only to its own pages.\n"
    return ""


def cookie_of(headers: Headers) -> str:
    """The cookie's name, by the port that the browser knows: browsers give a cookie to all ports,
    and the studio of another machine may have the same port there."""
    return f"studio-{headers.get('host', '').rpartition(':')[2].strip(']')}"


def with_headers(send: Send) -> Send:
    """Adds HEADERS to an answer, unless it has its own."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
