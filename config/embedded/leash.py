"""Run one command so that nothing it starts can outlive us, or whoever started us.

The supervisor runs web and worker through this file, by path and without site-packages:
it is up in milliseconds. Linux hands every orphan below us to us (a "subreaper"), so even
a grandchild that left its session is found; elsewhere the process table has to do.

    leash.py PARENT_PID DIRECTORY FDS COMMAND...      FDS: "5,7" or "-"
"""

import ctypes
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

IS_LINUX = platform.system() == "Linux"
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

# Loaded before any fork: a child between fork and exec must not load libraries.
_libc = ctypes.CDLL(None, use_errno=True) if IS_LINUX else None

LAST_WORDS = 2.0  # seconds a command gets to end by itself once the supervisor is dead


def die_with(parent: int, signum: signal.Signals) -> Callable[[], None]:
    """A step for the child between fork and exec: get `signum` when the parent dies.

    The kernel ties this to the thread that forked, so fork from the main thread only.
    """

    def arm() -> None:
        if _libc is not None:
            _libc.prctl(PR_SET_PDEATHSIG, int(signum), 0, 0, 0)
        # The parent may have died before the call above; then no signal will ever come.
        if os.getppid() != parent:
            os._exit(1)

    return arm


def adopt_orphans() -> None:
    """Have Linux make us the parent of every orphan below us."""
    if _libc is not None:
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _parents() -> Iterator[tuple[int, int]]:
    """Every process with its parent; dead ones that wait to be collected do not count."""
    if not IS_LINUX:
        table = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid="],
            capture_output=True,
            text=True,
            check=False,
        )
        for line in table.stdout.splitlines():
            pid, parent = line.split()
            yield int(pid), int(parent)
        return
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                # The command may hold spaces and brackets; the fields follow its last bracket.
                state, parent = stat.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state not in "ZX":
            yield int(name), int(parent)


def is_alive(pid: int) -> bool:
    """Whether a process is there and not just waiting to be collected."""
    return any(pid == living for living, _ in _parents())


def descendants(root: int) -> list[int]:
    """All living processes below `root`."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def kill_descendants() -> None:
    """Kill everything below us; repeated because the dying may still be forking."""
    for _ in range(50):
        below = descendants(os.getpid())
        if not below:
            break
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        collect_orphans(frozenset())
        time.sleep(0.02)
    collect_orphans(frozenset())


def collect_orphans(ours: frozenset[int]) -> None:
    """Take the exit status of dead adopted processes; leave `ours` to their owners."""
    if not IS_LINUX:
        return
    while True:
        try:
            dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if dead is None or dead.si_pid in ours:
                return
            os.waitpid(dead.si_pid, os.WNOHANG)
        except ChildProcessError:
            return


def main(argv: list[str]) -> int:
    """Run the command; forward stop signals to it; leave nothing behind."""
    parent, directory, fds, command = int(argv[0]), argv[1], argv[2], argv[3:]
    wanted = tuple(int(fd) for fd in fds.split(",")) if fds != "-" else ()
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with(parent, signal.SIGUSR1)()
    adopt_orphans()
    child = subprocess.Popen(
        command,
        cwd=directory,
        pass_fds=wanted,
        preexec_fn=die_with(os.getpid(), signal.SIGTERM),  # noqa: PLW1509 - one thread only
    )
    for signum in (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(signum, lambda number, _: child.send_signal(number))
    deadline = None
    while child.poll() is None:
        collect_orphans(frozenset({child.pid}))
        if deadline is None and os.getppid() != parent:
            child.terminate()
            deadline = time.monotonic() + LAST_WORDS
        if deadline is not None and time.monotonic() > deadline:
            break
        time.sleep(0.05)
    code = child.returncode
    kill_descendants()
    if code is None:
        return 1
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
