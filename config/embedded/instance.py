"""One instance: its folder, its servers, and the environment that leads to them."""

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

from config.embedded import leash, places
from config.embedded.binaries import (
    find_postgres,
    find_valkey,
    reachable_postgres,
    reachable_valkey,
)
from config.embedded.places import Lock, Place
from config.embedded.postgres import APP, OWNER, Postgres
from config.embedded.processes import can_reach, server_account
from config.embedded.supervisor import Supervisor
from config.embedded.valkey import Valkey

PATIENCE = 15.0  # seconds that an earlier, killed instance gets to disappear


class Instance:
    """Everything below one folder, under one lock."""

    def __init__(self, project: Path, var: Path, lock: Lock, *, throwaway: bool) -> None:
        self.project = project
        self.var = var
        self.lock = lock
        self.throwaway = throwaway
        self.postgres: Postgres | None = None
        self.valkey: Valkey | None = None
        self.address: str | None = None
        self._to_remove: list[Path] = []
        self._state_written = False

    def log(self, name: str) -> Path:
        """Where a program's output goes."""
        return self.var / "log" / name

    def start_servers(self, supervisor: Supervisor, given: Mapping[str, str]) -> None:
        """Start those servers that the environment does not name."""
        self.write_state({})
        with_postgres = not given.get("DATABASE_URL")
        with_valkey = not given.get("CELERY_BROKER_URL")
        if not (with_postgres or with_valkey):
            return
        place = self._place()
        if place.remark:
            supervisor.say(place.remark)
        account = place.account
        sockets, temporary = places.socket_directory(place.path, account)
        if temporary:
            self._to_remove.append(sockets)
            places.write_private(self.var / "sockets-at", f"{sockets}\n")
        if with_postgres:
            binaries = find_postgres()
            if not self.throwaway:
                verb = "Starting" if (place.path / "postgres" / "PG_VERSION").exists() else "Setting up"
                supervisor.say(f"{verb} PostgreSQL {binaries.version}")
            self.postgres = Postgres(
                binaries=reachable_postgres(binaries, account, place.path),
                place=place.path,
                sockets=sockets,
                secrets=self.var / "secrets",
                log=self.log(Postgres.log_name),
                account=account,
                throwaway=self.throwaway,
            )
            supervisor.start(self.postgres)
            self.postgres.ensure_roles()
        if with_valkey:
            if not self.throwaway:
                supervisor.say("Starting Valkey")
            self.valkey = Valkey(
                binary=reachable_valkey(find_valkey(), account, place.path),
                place=place.path,
                sockets=sockets,
                log=self.log(Valkey.log_name),
                account=account,
                throwaway=self.throwaway,
                hold_fd=self.lock.fd,
            )
            supervisor.start(self.valkey)

    def _place(self) -> Place:
        if not self.throwaway:
            return places.choose_place(self.var)
        account = server_account(None)
        if can_reach(account, self.var):
            return Place(self.var, account, None)
        place = places.choose_place(self.var)
        self._to_remove.append(place.path)
        return Place(place.path, account, None)

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """What every child needs to know; what the person has set stays."""
        known = {
            "EVENHAND_EMBEDDED": "1",
            "EVENHAND_VAR": str(self.var),
            "SECRET_KEY": given.get("SECRET_KEY") or places.secret(self.var / "secret_key"),
        }
        if self.address and not given.get("PUBLIC_URL"):
            known["PUBLIC_URL"] = self.address
        if self.postgres is not None:
            known["DATABASE_URL"] = known["DATABASE_APP_URL"] = self.postgres.url(APP)
            known["DATABASE_OWNER_URL"] = self.postgres.url(OWNER)
        else:
            url = given["DATABASE_URL"]
            known["DATABASE_APP_URL"] = given.get("DATABASE_APP_URL") or url
            known["DATABASE_OWNER_URL"] = given.get("DATABASE_OWNER_URL") or url
        if self.valkey is not None:
            known["CELERY_BROKER_URL"] = self.valkey.broker_url
            if not given.get("CACHE_URL"):
                known["CACHE_URL"] = self.valkey.cache_url
        return known

    def write_state(self, environment: Mapping[str, str]) -> None:
        """Tell others who runs here; the file is private because the URLs hold passwords."""
        places.write_state(
            self.var,
            {
                "pid": os.getpid(),
                "address": self.address,
                "environment": dict(environment),
            },
        )
        self._state_written = True

    def close(self) -> None:
        """Remove what only a running instance needs."""
        if self._state_written:
            (self.var / "state.json").unlink(missing_ok=True)
        for path in self._to_remove:
            places.remove_tree(path)
        (self.var / "sockets-at").unlink(missing_ok=True)
        if self.throwaway:
            places.remove_tree(self.var)
        self.lock.close()


def open_instance(project: Path, var: Path) -> Instance | None:
    """The lasting instance in `var`, or None if another one runs there."""
    var = places.make_var(var)
    lock = Lock(var / "lock")
    deadline = time.monotonic() + PATIENCE
    while not lock.take():
        # A lock whose owner is dead is held by programs that are just now going down.
        if _alive(places.read_state(var).get("pid")) or time.monotonic() > deadline:
            lock.close()
            return None
        time.sleep(0.1)
    _remove_sockets(var)
    return Instance(project, var, lock, throwaway=False)


def open_throwaway(project: Path, var: Path) -> Instance:
    """A fresh instance below `var` that vanishes at its end; any number may run at once."""
    shelf = places.passable(places.make_var(var) / "test-services")
    guard = Lock(shelf / "lock")
    while not guard.take():
        time.sleep(0.02)
    try:
        for old in shelf.iterdir():
            if old.is_dir():
                _remove_if_dead(old)
        mine = places.make_var(shelf / str(os.getpid()))
        lock = Lock(mine / "lock")
        lock.take()
    finally:
        guard.close()
    return Instance(project, mine, lock, throwaway=True)


def _remove_if_dead(var: Path) -> None:
    with contextlib.suppress(OSError):
        lock = Lock(var / "lock")
        if lock.take():
            _remove_sockets(var)
            with contextlib.suppress(OSError):
                places.remove_tree(Path((var / "elsewhere").read_text().strip()))
            places.remove_tree(var)
        lock.close()


def _remove_sockets(var: Path) -> None:
    """Remove the socket directory of an instance that was killed."""
    with contextlib.suppress(OSError):
        left = Path((var / "sockets-at").read_text().strip())
        if left.name.startswith("evenhand-"):
            places.remove_tree(left)
        (var / "sockets-at").unlink()


def _alive(pid: object) -> bool:
    if not isinstance(pid, int):
        return True  # it has only just begun
    return leash.is_alive(pid)
