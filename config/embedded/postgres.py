"""One PostgreSQL cluster: made, started, cleaned up after."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from config.embedded.binaries import PostgresBinaries
from config.embedded.leash import IS_LINUX
from config.embedded.places import own_directory, remove_tree, secret
from config.embedded.processes import (
    Account,
    plain_environment,
    run_as,
    size,
    spawn_server,
    tail,
)
from config.embedded.supervisor import StopSteps
from config.embedded.trouble import Trouble, disk_is_full

DATABASE = "evenhand"
OWNER = "owner"
APP = "app"
ROOM_FOR_CLUSTER = 64 * 1024 * 1024  # bytes; a new one takes about 45 MB

# For databases that die with the test run: nothing needs to survive a crash.
THROWAWAY = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "30min",
    "max_connections": "200",
}

_QUIET = "SET log_min_error_statement = panic;\n"  # keeps passwords out of the log
_ROLE = """
SELECT 'CREATE ROLE "{role}"' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') \\gexec
ALTER ROLE "{role}" LOGIN {right} NOSUPERUSER NOCREATEROLE PASSWORD '{password}';
"""
_DATABASE = """
SELECT 'CREATE DATABASE {database} OWNER "{owner}"'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '{database}') \\gexec
REVOKE ALL ON DATABASE {database} FROM PUBLIC;
GRANT CONNECT, TEMPORARY ON DATABASE {database} TO "{app}";
"""


class Postgres:
    """A cluster in `place`, reached over a unix socket only."""

    name = "PostgreSQL"
    log_name = "postgres.log"
    # SIGINT ends sessions and stops cleanly; SIGQUIT leaves recovery to the next start.
    stop_steps: StopSteps = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 5.0))
    start_patience = 120.0  # recovery after a crash takes its time

    def __init__(
        self,
        *,
        binaries: PostgresBinaries,
        place: Path,
        sockets: Path,
        secrets: Path,
        log: Path,
        account: Account,
        throwaway: bool,
    ) -> None:
        self.binaries = binaries
        self.place = place
        self.data = place / "postgres"
        self.sockets = sockets
        self.log = log
        self.account = account
        self.throwaway = throwaway
        self.log_began = 0
        self.passwords = {role: secret(secrets / role) for role in (OWNER, APP)}

    def url(self, role: str) -> str:
        """How a client of this machine reaches the database in a role."""
        host = quote(str(self.sockets), safe="/")
        return f"postgresql://{role}:{self.passwords[role]}@/{DATABASE}?host={host}"

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server, after ending whatever an earlier start left behind."""
        self._make_cluster()
        self._end_leftovers()
        # These two lie outside the data directory: the database account must not be able to change them.
        access = _readable(
            self.place / "pg_hba.conf",
            "local all postgres peer map=evenhand\nlocal all all scram-sha-256\n",
        )
        names = _readable(self.place / "pg_ident.conf", f'evenhand "{self.account.name}" postgres\n')
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.sockets),
            "unix_socket_permissions": "0700",
            "hba_file": str(access),
            "ident_file": str(names),
            "timezone": "UTC",
            "log_timezone": "UTC",
            "logging_collector": "off",
            "log_line_prefix": "%m [%p] %u@%d ",
        }
        if self.throwaway:
            settings |= THROWAWAY
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.log_began = size(self.log)
        return spawn_server(
            [self.binaries.bin / "postgres", "-D", self.data, *options],
            account=self.account,
            log=self.log,
            death_signal=signal.SIGINT,
        )

    def is_ready(self) -> bool:
        """Whether it takes connections."""
        answer = subprocess.run(
            [self.binaries.bin / "pg_isready", "-q", "-h", self.sockets],
            check=False,
            env=plain_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return answer.returncode == 0

    def why(self) -> str:
        """Why it does not start, from its log."""
        end = tail(self.log, since=self.log_began)
        if disk_is_full(self.place):
            return f"The disk that holds {self.place} is full: PostgreSQL needs room."
        reasons = re.findall(r"(?:FATAL|PANIC):\s+(.*)", end)
        reason = reasons[-1] if reasons else "it says no reason"
        return f"PostgreSQL does not start ({reason}); see {self.log}."

    def ensure_roles(self) -> None:
        """Make the two roles and the database, or give existing roles their passwords again."""
        script = [_QUIET]
        for role, right in ((OWNER, "CREATEDB"), (APP, "NOCREATEDB")):
            script.append(_ROLE.format(role=role, right=right, password=self.passwords[role]))
        script.append(_DATABASE.format(database=DATABASE, owner=OWNER, app=APP))
        answer = run_as(
            self.account,
            [
                *(self.binaries.bin / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1"),
                *("-h", self.sockets, "-U", "postgres", "-d", "postgres", "-f", "-"),
            ],
            send="".join(script),
        )
        if answer.returncode != 0:
            raise Trouble(f"PostgreSQL refused to set up its roles: {_last_line(answer.stderr)}")

    def _make_cluster(self) -> None:
        if (self.data / "PG_VERSION").exists():
            self._check_version()
            return
        # Made aside and renamed as a whole: an interrupted start never leaves half a cluster.
        unfinished = self.place / "postgres.new"
        remove_tree(unfinished)
        own_directory(unfinished, self.account)
        command: list[str | Path] = [self.binaries.bin / "initdb", "-D", unfinished, "-U", "postgres"]
        # Whoever starts the cluster by hand gets in nowhere; our own rules are given at each start.
        command += ["--auth=reject", "--encoding=UTF8", "--no-instructions"]
        if self.binaries.major >= 17:
            command += [
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--locale=C",
            ]
        else:
            command += ["--locale=C.UTF-8"]
        command += ["--no-sync"] if self.throwaway else ["--data-checksums"]
        answer = run_as(self.account, command)
        if answer.returncode != 0:
            remove_tree(unfinished)
            if disk_is_full(self.place, ROOM_FOR_CLUSTER):
                raise Trouble(f"The disk that holds {self.place} is full: PostgreSQL could not be set up.")
            raise Trouble(f"PostgreSQL could not be set up in {self.data}: {_last_line(answer.stderr)}")
        if self.data.exists():
            self.data.rmdir()  # without PG_VERSION it can only be empty, or not ours to remove
        unfinished.rename(self.data)

    def _check_version(self) -> None:
        made_by = (self.data / "PG_VERSION").read_text().strip()
        if made_by != str(self.binaries.major):
            raise Trouble(
                f"The database in {self.data} was made by PostgreSQL {made_by} and "
                f"PostgreSQL {self.binaries.major} is here: move it with pg_dump, or remove the folder to begin anew."
            )

    def _end_leftovers(self) -> None:
        """Make the data directory nobody's: we hold the lock, so no other supervisor uses it."""
        pid_file = self.data / "postmaster.pid"
        try:
            named = int(pid_file.read_text().split()[0])
        except (OSError, ValueError, IndexError):
            named = None
        if named is not None and self._is_ours(named):
            with contextlib.suppress(ProcessLookupError):
                os.kill(named, signal.SIGINT)
            _wait_until(lambda: not self._is_ours(named), 20.0)
        # Sessions may outlive a killed server, and a new one refuses to start beside them.
        for pid in self._ours():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _wait_until(lambda: not self._ours(), 5.0)
        # A number reused by a stranger would stop PostgreSQL from starting.
        pid_file.unlink(missing_ok=True)

    def _ours(self) -> list[int]:
        if not IS_LINUX:
            return []
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and self._is_ours(int(name))]

    def _is_ours(self, pid: int) -> bool:
        """Whether a process is a PostgreSQL on our data directory, which is where it then stands."""
        if not IS_LINUX:
            command = subprocess.run(
                ["ps", "-p", str(pid), "-o", "command="],
                capture_output=True,
                text=True,
                check=False,
            ).stdout
            return "postgres" in command and str(self.data) in command
        try:
            where = os.readlink(f"/proc/{pid}/cwd")
            program = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            return False
        return where == os.path.realpath(self.data) and Path(program).name.startswith("postgres")


def _readable(path: Path, text: str) -> Path:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
        file.write(text)
    path.chmod(0o644)
    return path


def _wait_until(happened: Callable[[], bool], patience: float) -> None:
    deadline = time.monotonic() + patience
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.05)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and "removing" not in line]
    return lines[-1].strip() if lines else "it says no reason"
