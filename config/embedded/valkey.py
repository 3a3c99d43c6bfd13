"""One Valkey: broker and cache over a unix socket."""

import contextlib
import signal
import socket
import subprocess
from pathlib import Path

from config.embedded.places import own_directory, remove_tree
from config.embedded.processes import Account, size, spawn_server, tail
from config.embedded.supervisor import StopSteps
from config.embedded.trouble import disk_is_full


class Valkey:
    """A server with its data in `place`; what it holds are hints and caches, never the truth."""

    name = "Valkey"
    log_name = "valkey.log"
    stop_steps: StopSteps = ((signal.SIGTERM, 10.0),)
    start_patience = 30.0

    def __init__(
        self,
        *,
        binary: Path,
        place: Path,
        sockets: Path,
        log: Path,
        account: Account,
        throwaway: bool,
        hold_fd: int,
    ) -> None:
        self.binary = binary
        self.data = place / "valkey"
        self.socket = sockets / "valkey.sock"
        self.log = log
        self.account = account
        self.throwaway = throwaway
        self.log_began = 0
        self.hold_fd = hold_fd
        self.refused = False

    @property
    def broker_url(self) -> str:
        """How Celery reaches it."""
        return f"redis+socket://{self.socket}?virtual_host=0"

    @property
    def cache_url(self) -> str:
        """How the cache reaches it."""
        return f"unix://{self.socket}?db=1"

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server; a log of writes that it refuses to read is put aside."""
        own_directory(self.data, self.account)
        if self.refused:
            self._put_aside()
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.data),
            "save": "",
            "appendonly": "no" if self.throwaway else "yes",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        options = [word for name, value in settings.items() for word in (f"--{name}", value)]
        self.log_began = size(self.log)
        return spawn_server(
            [self.binary, *options],
            account=self.account,
            log=self.log,
            death_signal=signal.SIGTERM,
            # Held so that a new supervisor waits until this one's last write is done.
            pass_fds=(self.hold_fd,),
        )

    def is_ready(self) -> bool:
        """Whether it has read its data and answers."""
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(1)
                client.connect(str(self.socket))
                client.sendall(b"PING\r\n")
                return client.recv(64).startswith(b"+PONG")
        except OSError:
            return False

    def why(self) -> str:
        """Why it does not start, from its log."""
        end = tail(self.log, since=self.log_began)
        if disk_is_full(self.data):
            return f"The disk that holds {self.data} is full: Valkey needs room."
        self.refused = "Bad file format" in end or "append only file" in end.lower()
        return f"Valkey does not start; see {self.log}."

    def _put_aside(self) -> None:
        self.refused = False
        damaged = self.data / "appendonlydir.damaged"
        remove_tree(damaged)
        with contextlib.suppress(FileNotFoundError):
            (self.data / "appendonlydir").rename(damaged)
