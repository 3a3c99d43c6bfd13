"""A receiver of webhooks on 127.0.0.1: it verifies as docs/webhooks.md shows, and then does what it is told."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "webhooks.md"


def documented() -> Any:
    """The function of the document, as a reader would copy it."""
    [block] = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    found: dict[str, Any] = {}
    exec(block, found)
    return found["verified"]


@dataclass
class Heard:
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    def verified(self, secret: str) -> bool:
        return documented()(secret, self.headers["evenhand-signature"], self.raw)


@dataclass
class Receiver:
    """`answers` are statuses by turn, the last of them for ever; `location` is where redirects lead."""

    answers: list[int] = field(default_factory=lambda: [204])
    location: str = ""
    heard: list[Heard] = field(default_factory=list)
    hold: threading.Event | None = None
    """Answers wait for it, where there is one."""

    def __enter__(self) -> Self:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.heard.append(Heard(self.path, headers, raw))
                if receiver.hold is not None:
                    receiver.hold.wait(20)
                status = receiver.answers.pop(0) if len(receiver.answers) > 1 else receiver.answers[0]
                try:
                    self.send_response(status)
                    if 300 <= status < 400:
                        self.send_header("Location", receiver.location)
                    said = b"" if status == 204 else b"\xff\xfe not text"
                    if status != 204:
                        self.send_header("Content-Length", str(len(said)))
                    self.end_headers()
                    self.wfile.write(said)
                except OSError:
                    pass  # nobody waits for the answer any more

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.hold is not None:
            self.hold.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/told"
