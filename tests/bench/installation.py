"""A throwaway Evenhand beside the servers of the environment: a database of its own, a team, evidence, a web server."""

from __future__ import annotations

import gzip
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

ROOT = Path(__file__).parents[2]
SECRET = "for-the-length-of-a-bench-and-not-a-minute-longer"


@contextmanager
def open_installation() -> Iterator[Installation]:
    """Everything is made anew and gone afterwards; settings are those of `make run`."""
    given = os.environ["DATABASE_URL"]
    name = f"evenhand_bench_{os.getpid()}"
    with psycopg.connect(given, autocommit=True) as owner:
        owner.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as folder:
            parts = urlsplit(given)
            os.environ |= {
                "DATABASE_URL": urlunsplit(parts._replace(path=f"/{name}")),
                "DJANGO_SETTINGS_MODULE": "config.settings",
                "EVENHAND_EMBEDDED": "1",
                "EVENHAND_VAR": folder,
                "SECRET_KEY": SECRET,
                "BENCH_FLOOR": folder,
            }
            os.environ.pop("CACHE_URL", None)
            yield Installation(Path(folder))
    finally:
        if "django" in sys.modules:
            from django.db import connections

            connections.close_all()
        with psycopg.connect(given, autocommit=True) as owner:
            owner.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


class Installation:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        call_command("collectstatic", verbosity=0, interactive=False)
        from teams import actions
        from teams.models import User
        from teams.permissions import PRESETS

        for preset in PRESETS:
            actions.preset(preset)
        self.user = User.objects.create_user("bench@example.org", "a-long-password", name="Bench")
        self.team = actions.create_team(slug="bench", name="Bench", owner=self.user, by=None)
        self.empty = actions.create_team(slug="empty", name="Empty", owner=self.user, by=None)
        self._pairs: dict[tuple[int, int], Pair] = {}
        self._token = ""

    @property
    def access(self) -> Any:
        from teams.access import current_access

        return current_access(self.user, self.team.slug)

    @property
    def token(self) -> str:
        from teams import actions

        if not self._token:
            _, self._token = actions.create_token(access=self.access, name="bench", days=None)
        return self._token

    def pair(self, cases: int, repetitions: int = 3) -> Pair:
        """Two finished experiments of this size, imported by the ordinary intake once."""
        key = (cases, repetitions)
        if key not in self._pairs:
            self._pairs[key] = self._import(cases, repetitions)
        return self._pairs[key]

    def _import(self, cases: int, repetitions: int) -> Pair:
        from django.db import connection

        from intake import actions
        from runs.models import Experiment
        from tests.bench import workload

        made = workload.write(self.folder, cases, repetitions)
        for _, path in made:
            actions.import_now(
                access=self.access,
                files=[(path.name, path)],
                dataset_name=f"{cases} x {repetitions}",
                mapping=workload.MAPPING,
            )
            path.unlink()
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        candidate, baseline = Experiment.objects.filter(team=self.team).order_by("-number")[:2]
        return Pair(self, candidate.pk, baseline.pk, made[1][0], made[0][0])

    def cookie(self) -> str:
        """A signed-in session, as a browser would send it."""
        from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
        from django.contrib.sessions.backends.db import SessionStore

        session = SessionStore()
        session[SESSION_KEY] = str(self.user.pk)
        session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = self.user.get_session_auth_hash()
        session["seen_at"] = int(time.time())
        session.create()
        return str(session.session_key)

    @property
    def empty_page(self) -> str:
        return f"/t/{self.empty.slug}/experiments/"

    @contextmanager
    def server(self) -> Iterator[Server]:
        """Gunicorn with the options of `make run`."""
        from config.embedded.commands import evenhand

        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        command = [
            part.format(fd=listener.fileno()).replace("config.wsgi:", "tests.bench.served:") for part in evenhand().web
        ]
        log = (self.folder / "web.log").open("wb")
        process = subprocess.Popen(
            command, cwd=ROOT, pass_fds=(listener.fileno(),), stdout=log, stderr=log, env=dict(os.environ)
        )
        port = listener.getsockname()[1]
        listener.close()  # the server holds it now; if it dies, nobody waits for it
        try:
            server = Server(port, process.pid, self.cookie())
            try:
                server.wait()
            except OSError:
                raise RuntimeError((self.folder / "web.log").read_text()[-2_000:]) from None
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
            log.close()


class Pair:
    """Two experiments and what their files said."""

    def __init__(self, installation: Installation, candidate: Any, baseline: Any, mine: Any, theirs: Any) -> None:
        self.installation = installation
        self.candidate = candidate
        self.baseline = baseline
        self.candidate_arm = mine
        self.baseline_arm = theirs
        self._targets = 0
        self._kept: dict[str, Any] = {}
        from runs.models import Experiment

        self.version = Experiment.objects.values_list("version", flat=True).get(pk=candidate)

    def kept_selection(self, metric: str) -> Any:
        """The complete selection of a metric with everything as usual."""
        if metric not in self._kept:
            self._kept[metric] = self.asked(metric)
        return self._kept[metric]

    def asked(self, metric: str, *, fresh: bool = False) -> Any:
        """The complete selection of a metric; a `fresh` one has a target that nobody asked for before."""
        from comparisons import selection

        target = ""
        if fresh:
            self._targets += 1
            target = f"0.05{self._targets:04d}1"
        found = selection.offer(
            self.installation.access,
            selection.Asked(candidate=str(self.candidate), baseline=str(self.baseline), target=target),
        ).preselected(metric)
        assert found is not None
        return found

    def answers(self, cases: int) -> list[tuple[list[str], list[str]]]:
        """Of the first cases every answer of the baseline and every answer of the candidate."""
        from runs.models import Execution

        found: dict[int, tuple[list[str], list[str]]] = {}
        rows = cases * self.baseline_arm.failed.shape[1]
        for at, experiment in enumerate((self.baseline, self.candidate)):
            answered = Execution.objects.filter(experiment=experiment).order_by("position")
            for revision, text, error in answered.values_list("revision", "answer__text", "answer__error")[:rows]:
                found.setdefault(revision, ([], []))[at].append(text or error or "")
        return list(found.values())

    def page(self, metric: str, *, fresh: bool = False, **more: Any) -> str:
        chosen = self.asked(metric, fresh=True) if fresh else self.kept_selection(metric)
        return f"/t/{self.installation.team.slug}/comparisons/paired?{chosen.query(**more)}"


class Server:
    """A running web server and one connection to it that stays open."""

    def __init__(self, port: int, pid: int, session: str) -> None:
        self.port = port
        self.pid = pid
        self.session = session
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait(self) -> None:
        for _ in range(600):
            try:
                self.get("/ping")
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise TimeoutError("the web server does not answer")

    def get(self, path: str, **headers: str) -> tuple[float, bytes, http.client.HTTPResponse]:
        """Seconds, body and response of one request by a signed-in person."""
        sent = {"Cookie": f"sessionid={self.session}", "Accept-Encoding": "gzip", **headers}
        for attempt in (1, 2):
            if self._connection.sock is None:
                self._connection.connect()
                self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            started = time.perf_counter()
            try:
                self._connection.request("GET", path, headers=sent)
                response = self._connection.getresponse()
                body = response.read()
            except (OSError, http.client.HTTPException) as fault:
                self._connection.close()  # the server ends a connection that lay idle
                if attempt == 2 or isinstance(fault, TimeoutError):
                    raise
                continue
            spent = time.perf_counter() - started
            if response.status != 200:
                raise RuntimeError(f"{path}: {response.status}")
            return spent, body, response
        raise AssertionError

    def text(self, path: str, **headers: str) -> str:
        _, body, response = self.get(path, **headers)
        return (gzip.decompress(body) if response.getheader("Content-Encoding") == "gzip" else body).decode()

    def seconds(self, path: str, **headers: str) -> float:
        return self.get(path, **headers)[0]

    def reconnect(self) -> None:
        """Another connection, which another worker may take."""
        self._connection.close()

    def warm(self, path: str) -> None:
        """Have a page served often enough that every worker did it."""
        for _ in range(4 * len(self.workers())):
            self.reconnect()
            self.get(path)

    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        return [int(pid) for pid in children.split()]
