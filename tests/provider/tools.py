"""A program behind a connector: real HTTP on this machine, that writes every call down and answers as it was told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Answer = Callable[[dict[str, Any]], Any]


class ToolServer:
    """Serves from `with` until its end. `answers` says what a tool returns; bytes go out as they are."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: dict[str, Answer] = {}
        self.status = 200
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/tools"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.headers.append({name.lower(): value for name, value in self.headers.items()})
                owner.calls.append(body)
                said = owner.answers.get(body["tool"], lambda asked: {"echo": asked["arguments"]})(body)
                data = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(owner.status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        return Handler
