"""Evenhand's own two programs as services: web and worker."""

import contextlib
import http.client
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from config.embedded.processes import size, spawn_leashed, tail
from config.embedded.supervisor import StopSteps
from config.embedded.trouble import Trouble

FIRST_PORT = 8000
PORTS_TRIED = 50


class Program:
    """A command under a leash, with everything that it starts."""

    start_patience = 90.0

    def __init__(
        self,
        *,
        name: str,
        command: Sequence[str],
        stop_steps: StopSteps,
        directory: Path,
        env: Mapping[str, str],
        log: Path,
        hold_fd: int,
        listener: socket.socket | None = None,
    ) -> None:
        self.name = name
        self.command = command
        self.stop_steps = stop_steps
        self.directory = directory
        self.env = env
        self.log = log
        self.hold_fd = hold_fd
        self.listener = listener
        self.log_began = 0

    def start(self) -> subprocess.Popen[bytes]:
        """Start it; its output goes to its log."""
        self.log_began = size(self.log)
        return spawn_leashed(
            self.command,
            directory=self.directory,
            env=self.env,
            log=self.log,
            hold_fds=(self.hold_fd,),
            pass_fds=(self.listener.fileno(),) if self.listener else (),
        )

    def is_ready(self) -> bool:
        """Whether it answers; a program without an address is taken at its word."""
        if self.listener is None:
            return True
        host, port = self.listener.getsockname()
        client = http.client.HTTPConnection(host, port, timeout=2)
        try:
            client.request("GET", "/")
            client.getresponse()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            client.close()
        return True

    def why(self) -> str:
        """Why it does not start, from its log."""
        return f"{self.name} does not start. The end of {self.log}:\n{tail(self.log, since=self.log_began)}"


def open_port(wanted: str | None) -> tuple[socket.socket, str | None]:
    """A socket on the loopback address, and a remark when it is not on the usual port.

    We keep it and hand it to the web server: nobody can take the port in between, and
    nobody is turned away while the web server starts again.
    """
    if wanted is not None:
        if not wanted.isdecimal() or not 0 < int(wanted) < 65536:
            raise Trouble(f"{wanted!r} is not a port: choose a number from 1 to 65535.")
        try:
            return _bind(int(wanted)), None
        except PermissionError:
            raise Trouble(f"This account may not use port {wanted}: choose one above 1023.") from None
        except OSError:
            raise Trouble(f"Port {wanted} is taken: choose another one, as in make run PORT=8080.") from None
    for port in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        with contextlib.suppress(OSError):
            remark = None if port == FIRST_PORT else f"Port {FIRST_PORT} is taken; using {port}."
            return _bind(port), remark
    raise Trouble(
        f"Ports {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1} are all taken: name one, as in make run PORT=9000."
    )


def _bind(port: int) -> socket.socket:
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
    except BaseException:
        listener.close()
        raise
    return listener
