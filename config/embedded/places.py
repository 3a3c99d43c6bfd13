"""Where data, sockets and secrets lie."""

import fcntl
import json
import os
import re
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from config.embedded.processes import Account, can_reach, server_account
from config.embedded.trouble import Trouble

# A socket's address holds 104 bytes on macOS and 108 on Linux, and PostgreSQL's own name is
# part of it; sockets also go into URLs, so only plain characters will do.
LONGEST_SOCKET_DIRECTORY = 80
PLAIN_PATH = re.compile(r"[A-Za-z0-9/._-]+")


def make_var(var: Path) -> Path:
    """Make the folder for everything that changes; as root, passable but not listable.

    A folder that is already there keeps its modes.
    """
    passable(var)
    (var / "log").mkdir(exist_ok=True, mode=0o700)
    return var.resolve()


def passable(path: Path) -> Path:
    """Make a folder that, when root made it, the servers' account can pass through."""
    if not path.exists():
        path.mkdir(parents=True)
        path.chmod(0o711 if os.geteuid() == 0 else 0o700)
    return path


class Lock:
    """One running instance per folder; the kernel lets go when the last holder dies."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self) -> bool:
        """Whether the lock is ours now."""
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Let go."""
        os.close(self.fd)


class Place(NamedTuple):
    """The folder that holds the servers' data, and the account they belong to."""

    path: Path
    account: Account
    remark: str | None
    """What the person should know about where it is."""


def choose_place(var: Path) -> Place:
    """`var` where the servers' account can enter it, else a folder that it can enter."""
    record = var / "elsewhere"
    if record.exists():
        recorded = Path(record.read_text().strip())
        if (recorded / "owner").exists() and _belongs_to(recorded, var):
            return Place(recorded, server_account(_owner(recorded / "postgres")), None)
    account = server_account(_owner(var / "postgres"))
    if can_reach(account, var):
        return Place(var, account, None)
    name = f"evenhand-{secrets.token_hex(4)}"
    for parent in (Path("/var/lib"), Path("/var/tmp"), Path(tempfile.gettempdir())):  # noqa: S108 - mkdir refuses what exists
        place = parent / name
        try:
            place.mkdir(mode=0o711)
            place.chmod(0o711)
            (place / "owner").write_text(f"{var}\n")
            write_private(record, f"{place}\n")
        except OSError:
            continue
        if can_reach(account, place):
            remark = f"The database account cannot enter {var}; the data lies in {place}."
            return Place(place, account, remark)
    raise Trouble(
        f"The account {account.name}, which runs the database, can enter neither {var} nor a folder of its own: "
        "set DATABASE_URL to a server."
    )


def _belongs_to(place: Path, var: Path) -> bool:
    """Whether the data is this folder's: a copied project gets data of its own, a moved one keeps it."""
    named = Path((place / "owner").read_text().strip())
    if named != var and not (named / "elsewhere").exists():
        (place / "owner").write_text(f"{var}\n")
        return True
    return named == var


def _owner(path: Path) -> int | None:
    try:
        return path.stat().st_uid
    except FileNotFoundError:
        return None


def own_directory(path: Path, account: Account) -> Path:
    """A directory only the servers' account can enter."""
    path.mkdir(mode=0o700, exist_ok=True)
    if account.switch and path.stat().st_uid != account.uid:
        os.chown(path, account.uid, account.gid)
    path.chmod(0o700)
    return path


def socket_directory(place: Path, account: Account) -> tuple[Path, bool]:
    """A directory for sockets with a short enough path, and whether it is to be removed at the end."""
    near = place / "sockets"
    if len(os.fsencode(near)) <= LONGEST_SOCKET_DIRECTORY and PLAIN_PATH.fullmatch(str(near)):
        return own_directory(near, account), False
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), "/tmp", tempfile.gettempdir()):  # noqa: S108 - mkdtemp
        if parent and os.path.isdir(parent) and len(parent) <= LONGEST_SOCKET_DIRECTORY - 20:
            try:
                fresh = Path(tempfile.mkdtemp(prefix="evenhand-", dir=parent))
            except OSError:
                continue
            if can_reach(account, Path(parent)):
                return own_directory(fresh, account), True
            fresh.rmdir()
    raise Trouble("No folder with a short path for sockets was found: set DATABASE_URL and CELERY_BROKER_URL.")


def secret(path: Path) -> str:
    """A random text made once and kept in a private file."""
    try:
        kept = path.read_text().strip()
    except FileNotFoundError:
        kept = ""
    if not kept:
        kept = secrets.token_urlsafe(48)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_private(path, kept + "\n")
    return kept


def write_private(path: Path, text: str) -> None:
    """Replace a file as a whole with one that only we can read."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


def read_state(var: Path) -> dict[str, Any]:
    """What the running instance says about itself."""
    try:
        state = json.loads((var / "state.json").read_text())  # noqa: TID251 - our own file
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def write_state(var: Path, state: dict[str, Any]) -> None:
    """Say what others may ask: pid, address, and how to reach the servers."""
    write_private(var / "state.json", json.dumps(state, indent=1) + "\n")


def remove_tree(path: Path) -> None:
    """Remove a directory of ours, whatever is in it."""
    shutil.rmtree(path, ignore_errors=True)
