"""The provider: a threaded HTTP/1.1 server on 127.0.0.1 that writes every call down and then does what it was told."""

from __future__ import annotations

import json
import math
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.provider import behaviours
from tests.provider.behaviours import Behaviour, Scripts, UnknownBehaviour
from tests.provider.calls import Call, Journal

HUGE = 1 << 30  # bytes
PIECE = 1 << 16  # bytes
LOOK = 0.05  # seconds between two looks at whether the client is still there
PATH = "/v1/chat/completions"


class Provider:
    """Serves from `with` until its end. After the end no thread of it lives and no connection is open.

    A fault of the provider itself, as opposed to one it was told to have, is raised at the end.
    """

    def __init__(self, *, default: str = "ok", port: int = 0, log: Path | None = None) -> None:
        self.change = threading.Condition()
        self.closing = threading.Event()
        self.cookie = ""  # set by every answer, where there is one
        self.faults: list[BaseException] = []
        self._scripts = Scripts(default)
        self._journal = Journal(log)
        self._open: set[int] = set()
        self._waiting: list[threading.Event] = []
        self._server = _Server(self, port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        with self.change:
            self._journal.close()
        if self.faults and error is None:
            raise self.faults[0]

    @property
    def root(self) -> str:
        """Without /v1, for the control addresses."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        """The base address a client of the protocol is given."""
        return f"{self.root}/v1"

    # What it has received.

    @property
    def calls(self) -> list[Call]:
        """All so far, the unanswered ones too."""
        with self.change:
            return list(self._journal.calls)

    @property
    def held(self) -> int:
        """Requests that wait at the barrier."""
        return len(self._waiting)

    @property
    def connections(self) -> int:
        """Those that are open now."""
        return len(self._server._lines)

    def wait_calls(self, n: int, timeout: float = 5) -> None:
        """Returns when at least n calls have arrived."""
        self._wait(lambda: len(self._journal.calls) >= n, timeout, f"{n} calls")

    def wait_held(self, n: int, timeout: float = 5) -> None:
        """Returns when at least n requests wait at the barrier."""
        self._wait(lambda: len(self._waiting) >= n, timeout, f"{n} held requests")

    def wait_quiet(self, timeout: float = 5) -> None:
        """Returns when every call has ended, so that `client_gone` is final."""
        self._wait(lambda: not self._open, timeout, "no open call")

    def _wait(self, reached: Callable[[], bool], timeout: float, what: str) -> None:
        with self.change:
            if not self.change.wait_for(reached, timeout):
                state = f"{len(self._journal.calls)} calls, {len(self._open)} open, {len(self._waiting)} held"
                raise TimeoutError(f"waited {timeout} s for {what}; there are {state}")

    # What it shall do.

    def rule(self, contains: str, behaviour: str, key: str | None = None) -> None:
        """Requests whose last user message contains this text meet this behaviour; the newest matching rule holds."""
        with self.change:
            self._scripts.rule(contains, behaviour, key)

    def forget_rules(self) -> None:
        """Rules and turns of sequences are gone; the default and what models ask for stay."""
        with self.change:
            self._scripts.forget_rules()

    def release(self, n: int | None = None) -> int:
        """Lets the first n (or all) that wait now go on, and says how many those were. Later ones wait again."""
        with self.change:
            freed = self._waiting[:n]
            del self._waiting[:n]
            for gate in freed:
                gate.set()
            self.change.notify_all()
            return len(freed)

    # For its own threads.

    def arrived(self, body: dict[str, Any] | None, **facts: Any) -> tuple[Call, Behaviour | UnknownBehaviour]:
        """The call, safely written down, and what it shall meet. Calls take turns of a sequence in their order."""
        model = (body or {}).get("model")
        model = model if isinstance(model, str) else None
        with self.change:
            call = self._journal.arrived(at=time.monotonic(), model=model, body=body, **facts)
            self._open.add(call.number)
            self.change.notify_all()
            try:
                return call, self._scripts.pick(model, behaviours.last_user_text(body))
            except UnknownBehaviour as unknown:
                return call, unknown

    def ended(self, call: Call) -> None:
        with self.change:
            self._journal.ended(call)
            self._open.discard(call.number)
            self.change.notify_all()

    def gate(self) -> threading.Event:
        """A place at the barrier, in the order of coming."""
        gate = threading.Event()
        with self.change:
            self._waiting.append(gate)
            self.change.notify_all()
        return gate

    def leave(self, gate: threading.Event) -> None:
        with self.change:
            if gate in self._waiting:
                self._waiting.remove(gate)
            self.change.notify_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, provider: Provider, port: int) -> None:
        self.provider = provider
        self._lines: dict[socket.socket, threading.Thread] = {}
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        self._lines[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self._lines.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        fault = sys.exception()
        if fault and not isinstance(fault, ConnectionError):
            self.provider.faults.append(fault)

    def hang_up(self) -> None:
        """Every connection is closed and its thread has ended; the port is free."""
        for line, thread in list(self._lines.items()):
            try:
                line.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it was closed meanwhile
            thread.join(5)
        self.server_close()


class _Gone(ConnectionError):
    """The client, or the provider's own end, has ended the call."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self._receive()

    def do_POST(self) -> None:
        self._receive()

    def do_PUT(self) -> None:
        self._receive()

    def do_DELETE(self) -> None:
        self._receive()

    def _receive(self) -> None:
        provider = self.server.provider
        path = urlsplit(self.path).path
        body = self._json(self._read())
        if path.startswith("/control/"):
            self._control(f"{self.command} {path}", body or {})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.call, behaviour = provider.arrived(body, path=path, headers=headers)
        try:
            if (self.command, path) != ("POST", PATH):
                self._document(404, behaviours.error(404, f"Only POST {PATH} is served here."))
            elif body is None:
                self._document(400, behaviours.error(400, "The body is no JSON object."))
            elif fault := behaviours.fault_of(body):
                self._document(400, behaviours.error(400, fault))
            elif isinstance(behaviour, UnknownBehaviour):
                self._document(404, behaviours.error(404, str(behaviour)))
            else:
                self._behave(behaviour, body)
        except ConnectionError:
            self.call.client_gone = not provider.closing.is_set()
            self.close_connection = True
        finally:
            provider.ended(self.call)

    def _read(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0].strip() or b"0", 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    @staticmethod
    def _json(sent: bytes) -> dict[str, Any] | None:
        try:
            document = json.loads(sent)
        except ValueError:
            return None
        return document if isinstance(document, dict) else None

    # The behaviours.

    def _behave(self, behaviour: Behaviour, body: dict[str, Any]) -> None:
        match behaviour.name:
            case "reset":
                self._reset()
                return
            case "silent":
                self._stay(behaviour.seconds)
                self.close_connection = True
                return
            case "slow":
                self._stay(behaviour.seconds)
            case "hold":
                gate = self.server.provider.gate()
                try:
                    self._stay(math.inf, gate)
                finally:
                    self.server.provider.leave(gate)
            case "redirect":
                self._whole(302, b"", {"Location": behaviour.argument})
                return
        if status := behaviour.status:
            wait = {"Retry-After": behaviour.argument} if behaviour.argument else {}
            self._document(status, behaviours.error(status), wait)
        elif body.get("stream") is True:
            self._stream(behaviour, body)
        elif behaviour.name == "garbage":
            self._whole(200, b"<html>This is not JSON {", {"Content-Type": "application/json"})
        elif behaviour.name == "huge":
            self._head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
            self._chunk(b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "')
            self._flood(b"x" * PIECE)
        else:
            document = behaviours.completion(behaviour, body, self.call.number)
            self._document(200, document, half=behaviour.name == "cut")

    def _stream(self, behaviour: Behaviour, body: dict[str, Any]) -> None:
        options = body.get("stream_options")
        include_usage = isinstance(options, dict) and options.get("include_usage") is True
        document = behaviours.completion(behaviour, body, self.call.number)
        pieces: Iterator[dict[str, Any]] = behaviours.chunks(document, include_usage)
        self._head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        match behaviour.name:
            case "cut":
                self._chunk(behaviours.event(next(pieces)))  # the role
                self._chunk(behaviours.event(next(pieces)))
                self.close_connection = True
                return
            case "huge":
                next(pieces)
                piece = next(pieces)
                piece["choices"][0]["delta"] = {"content": "x" * PIECE}
                self._flood(behaviours.event(piece))
                return
            case "garbage":
                self._chunk(b"data: <html>This is not JSON {\n\n")
            case _:
                for piece in pieces:
                    self._chunk(behaviours.event(piece))
        self._chunk(b"data: [DONE]\n\n")
        self._last(b"0\r\n\r\n")

    def _flood(self, piece: bytes) -> None:
        """Sends until the client goes, at most HUGE bytes; then the body ends well."""
        for _ in range(HUGE // len(piece)):
            self._chunk(piece)
        self._last(b"0\r\n\r\n")

    def _stay(self, seconds: float, until: threading.Event | None = None) -> None:
        """Says nothing until the time is over or the event comes. The client's going is noticed meanwhile."""
        until = until or threading.Event()
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not until.wait(min(LOOK, left)):
            self._look()

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()  # the socket is open for as long as this is
        self.connection.close()
        self.close_connection = True

    # Bytes.

    def _look(self) -> None:
        """Raises when the client has closed its side, or the provider ends."""
        try:
            gone = not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            gone = False  # nothing more to read, and that is usual
        if gone or self.server.provider.closing.is_set():
            raise _Gone

    def _last(self, data: bytes) -> None:
        """Hands over what completes the answer. Marked before, so that who has the answer also finds the mark."""
        self._look()
        self.call.answered = True
        try:
            self.wfile.write(data)
        except ConnectionError:
            self.call.answered = False
            raise

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("x-request-id", f"req_{self.call.number}")
        if self.server.provider.cookie:
            self.send_header("Set-Cookie", self.server.provider.cookie)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _whole(self, status: int, data: bytes, headers: dict[str, str], half: bool = False) -> None:
        self._head(status, {**headers, "Content-Length": str(len(data))})
        if half:
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
        else:
            self._last(data)

    def _document(
        self, status: int, document: object, headers: dict[str, str] | None = None, half: bool = False
    ) -> None:
        data = json.dumps(document).encode()
        self._whole(status, data, {"Content-Type": "application/json", **(headers or {})}, half)

    # Control.

    def _control(self, request: str, body: dict[str, Any]) -> None:
        provider = self.server.provider
        status = 200
        said: dict[str, Any] = {}
        match request:
            case "GET /control/state":
                said = {"calls": len(provider.calls), "held": provider.held}
            case "GET /control/calls":
                said = {"calls": [asdict(call) for call in provider.calls]}
            case "POST /control/release":
                said = {"released": provider.release(body.get("n"))}
            case "POST /control/rules":
                try:
                    provider.rule(str(body["contains"]), str(body["behaviour"]), body.get("key"))
                except (KeyError, UnknownBehaviour) as wrong:
                    status, said = 400, {"error": str(wrong)}
            case "DELETE /control/rules":
                provider.forget_rules()
            case _:
                status, said = 404, {"error": f"no {request}"}
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
