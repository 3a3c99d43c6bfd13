"""A PostgreSQL and a broker for one fault, and the cluster at rest that each begins with."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import kombu.pools
import psycopg
from django.core.management import call_command
from django.db import connections

from config.celery import app
from config.embedded.binaries import find_postgres, find_valkey, reachable_postgres, reachable_valkey
from config.embedded.places import socket_directory
from config.embedded.postgres import OWNER, Postgres
from config.embedded.processes import server_account
from config.embedded.valkey import Valkey
from config.settings import database
from teams import actions as team_actions
from teams.models import User
from teams.permissions import PRESETS
from tests.faults import ledger


def until[Found](happened: Callable[[], Found], what: str, patience: float = 30) -> Found:
    deadline = time.monotonic() + patience
    while not (answer := happened()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {patience} seconds")
        time.sleep(0.03)
    return answer


class Servers:
    """A cluster and a broker in one folder."""

    def __init__(self, folder: Path, name: str, cluster: Path | None = None) -> None:
        self.folder = folder
        (folder / "log").mkdir()
        account = server_account(None)
        sockets, _ = socket_directory(folder, account)
        self.postgres = Postgres(
            binaries=reachable_postgres(find_postgres(), account, folder.parent),
            place=cluster or folder,
            sockets=sockets,
            secrets=folder.parent / "secrets",
            log=folder / "log" / "postgres.log",
            account=account,
            throwaway=False,  # what it acknowledged must outlive a kill
        )
        self.hold = os.open(folder / "lock", os.O_CREAT | os.O_RDWR)
        self.valkey = Valkey(
            binary=reachable_valkey(find_valkey(), account, folder.parent),
            place=folder,
            sockets=sockets,
            log=folder / "log" / "valkey.log",
            account=account,
            throwaway=False,
            hold_fd=self.hold,
        )
        self.sockets = sockets
        self.disk = cluster or folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, which: Postgres | Valkey) -> None:
        self.running[which.name] = which.start()
        until(which.is_ready, f"{which.name} answers", 60)

    def stop(self, which: Postgres | Valkey, signum: signal.Signals | None = None) -> None:
        process = self.running.pop(which.name, None)
        if process is not None:
            process.send_signal(signum or which.stop_steps[0][0])
            process.wait(30)

    def close(self) -> None:
        for which in (self.valkey, self.postgres):
            process = self.running.get(which.name)
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGCONT)
            self.stop(which, signal.SIGQUIT if which is self.postgres else signal.SIGKILL)
        os.close(self.hold)


@contextlib.contextmanager
def template() -> Iterator[Path]:
    """A cluster at rest that is migrated and knows two people; every house begins with a copy of it."""
    shelf = Path(tempfile.mkdtemp(prefix="eh-", dir="/tmp"))
    shelf.chmod(0o755)
    made = shelf / "template"
    made.mkdir()
    made.chmod(0o755)
    servers = Servers(made, "template")
    try:
        servers.start(servers.postgres)
        servers.postgres.ensure_roles()
        point_django_at(servers.postgres.url(OWNER))
        call_command("migrate", "--no-input", verbosity=0)
        with psycopg.connect(servers.postgres.url(OWNER), autocommit=True) as owner:
            ledger.install(owner)
        call_command("grant_app_role", verbosity=0)
        for name in PRESETS:
            team_actions.preset(name)
        ana = User.objects.create_user("ana@example.org", "a-long-password", name="Ana")
        omar = User.objects.create_user("omar@example.org", "a-long-password", name="Omar")
        team = team_actions.create_team(slug="support", name="Support", owner=ana, by=None)
        analyst = team_actions.preset("Analyst")
        team_actions.set_role(access=None, team=team, user=omar, role=analyst, by=None)
        connections["default"].close()
        servers.stop(servers.postgres)
        yield made
    finally:
        connections["default"].close()
        servers.close()
        shutil.rmtree(shelf, ignore_errors=True)


def point_django_at(url: str) -> None:
    """This process, too, speaks to the house's database."""
    connection = connections["default"]
    connection.close()
    said = database(url)
    connection.settings_dict.update({name: said[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")})


def point_celery_at(url: str) -> None:
    app.conf.broker_url = url
    kombu.pools.reset()
    app._pool = None
    app.amqp._producer_pool = None
