"""A stand-in for Evenhand's web and worker, small enough to start and kill many times.

Both start processes that leave their session, as programs do that nobody has thought of.

    stand_in.py up VAR [PORT] | web FD | worker
"""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from config.embedded.commands import Plan, up

SELF = (sys.executable, str(Path(__file__).resolve()))


def _start_runaway() -> None:
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 600 & wait"])


def _web(fd: int) -> None:
    _start_runaway()
    listener = socket.socket(fileno=fd)
    listener.listen()
    while True:
        client, _ = listener.accept()
        with client:
            client.recv(4096)
            client.sendall(b"HTTP/1.0 200 OK\r\n\r\nstand-in")


def _worker() -> None:
    _start_runaway()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        time.sleep(1)


if __name__ == "__main__":
    role, *rest = sys.argv[1:]
    if role == "web":
        _web(int(rest[0]))
    elif role == "worker":
        _worker()
    else:
        plan = Plan(
            steps=(),
            web=(*SELF, "web", "{fd}"),
            worker=(*SELF, "worker"),
            greeting=(sys.executable, "-c", "print('greetings')"),
        )
        var = Path(rest[0])
        sys.exit(up(var.parent, var, plan, port=rest[1] if len(rest) > 1 else None))
