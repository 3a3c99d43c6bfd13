"""Starting processes that die with us, under the right account."""

import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from config.embedded import leash
from config.embedded.trouble import Trouble

LEASH = Path(leash.__file__).resolve()
LOG_LIMIT = 10 * 1024 * 1024  # bytes; a longer log becomes NAME.1 at the next start


class Account(NamedTuple):
    """The account the servers run as."""

    uid: int
    gid: int
    name: str
    switch: bool
    """We are root and step down to this account."""


def server_account(owner_of_data: int | None) -> Account:
    """The account for the servers: ourselves, or as root an unprivileged one that exists.

    PostgreSQL refuses to run as root. Data that is already there decides, so that a folder
    first used by a person and then by root keeps one owner.
    """
    me = os.geteuid()
    if me != 0:
        if owner_of_data is not None and owner_of_data != me:
            raise Trouble(
                f"The database was made by the account {_name_of(owner_of_data)}: start as that account or as root."
            )
        try:
            entry = pwd.getpwuid(me)
        except KeyError:
            raise Trouble(
                f"User id {me} has no account name, which PostgreSQL needs: set DATABASE_URL to a server instead."
            ) from None
        return Account(me, os.getegid(), entry.pw_name, switch=False)
    if owner_of_data:
        names = [_name_of(owner_of_data)]
    else:
        names = ["postgres", "nobody"]
    for name in names:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, name, switch=True)
    raise Trouble(
        "PostgreSQL does not run as root and there is no unprivileged account (postgres, nobody) to run it as: "
        "start as a normal user or set DATABASE_URL."
    )


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def run_as(
    account: Account, command: Sequence[str | Path], *, send: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a short command as the servers' account, and return what it said."""
    return subprocess.run(
        [str(part) for part in command],
        input=send,
        stdin=subprocess.DEVNULL if send is None else None,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd="/",  # the account may not be allowed where we stand
        env=plain_environment(),
        preexec_fn=leash.die_with(os.getpid(), signal.SIGTERM),
        user=account.uid if account.switch else None,
        group=account.gid if account.switch else None,
        extra_groups=[] if account.switch else None,
    )


def can_reach(account: Account, path: Path) -> bool:
    """Whether the account can enter the directory, or run the file, at this path."""
    if not account.switch:
        return os.access(path, os.X_OK)
    return run_as(account, ["/bin/sh", "-c", 'test -x "$0"', path]).returncode == 0


def plain_environment() -> dict[str, str]:
    """An environment in which nothing of the person's own set-up can steer a server."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def spawn_server(
    command: Sequence[str | Path],
    *,
    account: Account,
    log: Path,
    death_signal: signal.Signals,
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start a server in a session of its own; it gets `death_signal` when we die."""
    words = [str(part) for part in command]
    if not leash.IS_LINUX:
        # Without death signals the leash has to notice by itself that we are gone.
        words = _leashed(words, "/", ())
    with open_log(log) as output:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=plain_environment(),
            start_new_session=True,
            umask=0o077,
            pass_fds=pass_fds,
            preexec_fn=leash.die_with(os.getpid(), death_signal),  # noqa: PLW1509 - one thread only
            user=account.uid if account.switch else None,
            group=account.gid if account.switch else None,
            extra_groups=[] if account.switch else None,
        )


def spawn_leashed(
    command: Sequence[str],
    *,
    directory: Path,
    env: Mapping[str, str],
    log: Path,
    hold_fds: tuple[int, ...] = (),
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start a command that starts others; all of them go when it goes, or when we go.

    `hold_fds` stay open in the leash alone, `pass_fds` reach the command.
    """
    with open_log(log) as output:
        return subprocess.Popen(
            _leashed(command, str(directory), pass_fds),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=LEASH.parent,
            env=env,
            start_new_session=True,
            umask=0o077,
            pass_fds=(*hold_fds, *pass_fds),
        )


def _leashed(command: Sequence[str], directory: str, fds: tuple[int, ...]) -> list[str]:
    # The bare file name keeps the leash out of reach of a careless pkill -f config.embedded.
    path = LEASH.name if leash.IS_LINUX else str(LEASH)
    fd_list = ",".join(str(fd) for fd in fds) or "-"
    return [
        sys.executable,
        "-I",
        "-S",
        path,
        str(os.getpid()),
        directory,
        fd_list,
        *command,
    ]


def open_log(path: Path) -> BinaryIO:
    """Open a log for appending, after putting a long one aside."""
    try:
        if path.stat().st_size > LOG_LIMIT:
            path.replace(path.with_name(path.name + ".1"))
    except FileNotFoundError:
        pass
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")


def size(path: Path) -> int:
    """How long a log is, zero before it exists."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def tail(path: Path, *, since: int = 0, lines: int = 12) -> str:
    """The last lines of a log, of those written after it had the size `since`."""
    try:
        with path.open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(since if since <= log.tell() else 0, log.tell() - 8192))
            text = log.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def signal_group(process: subprocess.Popen[bytes], signum: signal.Signals) -> None:
    """Signal a session we started, the first process and all that stayed with it."""
    try:
        os.killpg(process.pid, signum)
    except (ProcessLookupError, PermissionError):
        pass
