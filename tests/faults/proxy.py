"""A relay in front of PostgreSQL's socket that can lose the answer to a COMMIT."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from pathlib import Path

COMMIT = b"COMMIT"


class Relay:
    """Listens as `.s.PGSQL.5432` in a folder of its own and passes everything on.

    `lose(marker)`: the first transaction whose statements contain the marker is committed by the server, and its
    client never hears of it: the connection ends instead.
    """

    def __init__(self, folder: Path, upstream: Path) -> None:
        folder.mkdir()
        self.folder, self.upstream = folder, upstream
        self.lost = threading.Event()
        self._marker = b""
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        self._start(self._accept)

    def lose(self, marker: str) -> None:
        self.lost.clear()
        self._marker = marker.encode()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in list(self._sockets):
            _end(one)
        for thread in self._threads:
            thread.join(5)

    def _start(self, work, *given) -> None:
        thread = threading.Thread(target=work, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self.upstream / ".s.PGSQL.5432"))
            except OSError:
                server.close()
                _end(client)
                continue
            self._sockets |= {client, server}
            said: dict[str, bool] = {"marked": False, "committing": False}
            self._start(self._requests, client, server, said)
            self._start(self._answers, client, server, said)

    def _requests(self, client: socket.socket, server: socket.socket, said: dict[str, bool]) -> None:
        with contextlib.suppress(OSError):
            while piece := client.recv(65536):
                if self._marker and self._marker in piece:
                    said["marked"] = True
                if said["marked"] and COMMIT in piece:
                    said["committing"], self._marker = True, b""
                server.sendall(piece)
        _end(server)

    def _answers(self, client: socket.socket, server: socket.socket, said: dict[str, bool]) -> None:
        with contextlib.suppress(OSError):
            while piece := server.recv(65536):
                # ReadyForQuery "idle" ends the answer to COMMIT: by then the server has committed
                if said["committing"] and piece.endswith(b"Z" + struct.pack("!I", 5) + b"I"):
                    self.lost.set()
                    break
                if not said["committing"]:
                    client.sendall(piece)
        _end(client)
        _end(server)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
