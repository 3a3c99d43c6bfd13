"""How the web server treats connections: every answer in our form, and none lost for a body that nobody read."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from io import BytesIO
from typing import Any, Final

from django.conf import settings
from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, ParseException
from gunicorn.workers.gthread import ThreadWorker

from config.errors import API_PREFIX
from config.middleware import REFUSED

LONGEST_ADDRESS: Final = 8190  # bytes of a request line, the most that gunicorn's parser takes
PATIENCE: Final = 5.0  # seconds without a byte
LONGEST_REST: Final = 30.0  # seconds for the rest of one body
PIECE: Final = 1 << 16


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's threads, with two habits of ours.

    A request that is refused early leaves its body unread. Closing the connection then makes the
    kernel throw away the answer as well, so the rest is read and dropped after the answer was sent.
    And what never reaches Django (an address too long, broken headers) is answered through Django all
    the same, so that it has the one form, a request id and the usual headers.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heard = threading.local()

    def handle(self, conn: Any) -> Any:
        self.heard.start = b""
        if conn.initialized or conn.wait_for_data(PATIENCE):
            with contextlib.suppress(OSError):
                self.heard.start = conn.sock.recv(64, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        return super().handle(conn)

    def handle_request(self, req: Any, conn: Any) -> bool:
        kept = super().handle_request(req, conn)
        return _read_rest(req.body, conn.sock) and bool(kept)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: BaseException) -> None:
        code = _code(exc)
        if code == "server_error":
            self.log.exception("Error handling request")
        else:
            self.log.warning("Refused a request from %s: %s", addr[0] if addr else "", type(exc).__name__)
        _, _, target = self.heard.start.partition(b" ")
        try:
            answer = self._answer(code, API_PREFIX if target.startswith(API_PREFIX.encode()) else "/")
        except Exception:
            self.log.exception("The refusal could not be answered in our form")
            super().handle_error(req, client, addr, exc)
            return
        with contextlib.suppress(OSError):
            client.settimeout(PATIENCE)
            client.sendall(answer)

    def _answer(self, code: str, path: str) -> bytes:
        """What Django says to a request of which nothing is known but that it is refused."""
        environ = {
            "REQUEST_METHOD": "GET",
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "SERVER_NAME": settings.ALLOWED_HOSTS[-1],
            "SERVER_PORT": "443",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": settings.ALLOWED_HOSTS[-1],
            "HTTP_X_FORWARDED_PROTO": "https",
            "wsgi.url_scheme": "https",
            "wsgi.input": BytesIO(),
            REFUSED: code,
        }
        head: list[str] = []

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
            # The person's own cookies were not read; new ones would put those of open forms out of use.
            kept = [f"{name}: {value}" for name, value in headers if name.lower() != "set-cookie"]
            head[:] = [f"HTTP/1.1 {status}", *kept, "Connection: close"]

        response = self.wsgi(environ, start)
        try:
            body = b"".join(response)
        finally:
            response.close()
        return "\r\n".join((*head, "", "")).encode("latin-1") + body


def _code(exc: BaseException) -> str:
    match exc:
        case LimitRequestLine():
            return "address_too_long"
        case LimitRequestHeaders():
            return "headers_too_large"
        case ParseException():
            return "malformed_request"
    return "server_error"


def _read_rest(body: Any, sock: socket.socket) -> bool:
    """Read and drop what the application left unread, within bounds; whether that was all of it."""
    left = 2 * settings.MAX_REQUEST_BYTES
    end = time.monotonic() + LONGEST_REST
    before = sock.gettimeout()
    try:
        while left > 0 and (remaining := end - time.monotonic()) > 0:
            sock.settimeout(min(PATIENCE, remaining))
            piece = body.read(PIECE)
            if not piece:
                return True
            left -= len(piece)
    except (OSError, ParseException):
        return False
    finally:
        with contextlib.suppress(OSError):
            sock.settimeout(before)
    return False
