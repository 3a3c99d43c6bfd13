"""An installation for one fault: its own PostgreSQL, broker, provider and workers, all of them real processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

import kombu.pools
import psycopg
import redis
from django.db import connections

from agents.models import ModelRoute
from analysis.observations import Generation, Outcome
from config.embedded import leash
from config.embedded.postgres import APP, OWNER
from grading.models import GradingPass, Judgment
from runs import actions, queries
from runs.models import Attempt, Execution, Experiment, State
from teams.access import Access, current_access
from teams.models import Team, User
from tests.factories import agents as factory
from tests.faults import ledger
from tests.faults.servers import Servers, point_celery_at, point_django_at, until
from tests.provider.calls import read_log
from tests.provider.client import Remote

ROOT = Path(__file__).resolve().parents[2]
LEASE = 2.0
"""Seconds. One would do on a machine of our own; on a shared one a worker is at times not served for so long."""
TICK = 1.0
BOUND = LEASE + TICK + 10
"""By then work must have ended, counted from the moment when everything that is needed runs again."""


@dataclass
class Worker:
    kind: str
    process: subprocess.Popen[bytes]
    log: Path
    died: Path
    ready_at: float = 0.0

    def pids(self) -> list[int]:
        return [self.process.pid, *leash.descendants(self.process.pid)]

    def hands(self) -> int:
        """The process that works: a child of Celery's, or the polling worker itself."""
        if self.kind == "polling":
            return self.process.pid
        claimed = [int(name.rpartition(":")[2]) for name in _claimants() if name]
        return next(pid for pid in claimed if pid in self.pids())

    def end(self, patience: float = 30) -> int:
        if self.process.poll() is None:
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            for pid in reversed(self.pids()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return self.process.wait(10)


def _claimants() -> list[str]:
    return list(Execution.objects.filter(state=Generation.RUNNING).values_list("claimed_by", flat=True))


@dataclass
class House:
    servers: Servers
    provider: Remote
    provider_process: subprocess.Popen[bytes]
    call_log: Path
    environment: dict[str, str]
    stack: ExitStack
    figures: dict[str, Any] = field(default_factory=dict)
    acknowledged: list[UUID] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    over: float = 0.0
    """When the fault was over: from then on `BOUND` counts."""

    # --- people and what they launch

    @cached_property
    def ana(self) -> User:
        return User.objects.get(email="ana@example.org")

    @cached_property
    def omar(self) -> User:
        return User.objects.get(email="omar@example.org")

    @cached_property
    def team(self) -> Team:
        return Team.objects.get(slug="support")

    def access(self, user: User | None = None) -> Access:
        return current_access(user or self.ana, self.team.slug)

    @cached_property
    def route(self) -> ModelRoute:
        prices = {"input_micros": 1_000_000, "output_micros": 2_000_000, "cached_input_micros": 0}
        return factory.route("wire", "plain", kind="openai", base_url=self.provider.url, **prices)

    def prepared(self, cases: int | Sequence[dict[str, Any]], name: str = "Desk", **settings: Any) -> dict[str, Any]:
        """A snapshot and a version, as a program names them when it launches."""
        said = [{"input": f"question {at} {ledger.CANARY}"} for at in range(cases)] if isinstance(cases, int) else cases
        more = {"settings": settings} if settings else {}
        snapshot = factory.snapshot(self.access(), self.route, name, **more)
        version = factory.version(self.access(), said, f"Questions of {name}")
        return {"snapshot": snapshot, "version": version}

    def launch(self, cases: int | Sequence[dict[str, Any]], by: User | None = None, **more: Any) -> Experiment:
        made = self.prepared(cases, **more)
        return self.launch_prepared(made, by)

    def launch_prepared(self, made: dict[str, Any], by: User | None = None) -> Experiment:
        experiment = actions.launch(
            access=self.access(by), snapshot=made["snapshot"], plan=actions.Plan(version=made["version"])
        )
        self.acknowledged.append(experiment.pk)
        self.freeze()
        return experiment

    def freeze(self) -> None:
        with self.owner() as owner:
            owner.execute("TRUNCATE faults.frozen")
            ledger.freeze(owner)

    # --- processes

    def worker(
        self, kind: str = "celery", *, dies: str = "", holds: str = "", on: int = 1, **environment: str
    ) -> Worker:
        number = len(self.workers) + 1
        died = self.servers.folder / "died"
        ready = self.servers.folder / f"ready-{number}"
        told: dict[str, str] = {"DIES_AT": dies, "DIES_ON": str(on), "DIED": str(died)} if dies else {}
        told |= {"HOLDS_AT": holds, "HOLDS_ON": str(on), "HELD": str(self.held)} if holds else {}
        log = self.servers.folder / "log" / f"worker-{number}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*environment.pop("PREFIX", "").split(), sys.executable, "-m", "tests.faults.worker", kind],
                cwd=ROOT,
                env=self.environment | told | environment | {"READY": str(ready)},
                stdout=output,
                stderr=output,
                preexec_fn=leash.die_with(os.getpid(), signal.SIGTERM),
            )
        found = Worker(kind, process, log, died)
        self.workers.append(found)
        self.stack.callback(found.end)
        until(ready.exists, "the worker is there", 60)
        found.ready_at = ready.stat().st_mtime
        return found

    @property
    def held(self) -> Path:
        """Is there while a worker holds; taking it away lets go."""
        return self.servers.folder / "held"

    def web(self, *, dies: str) -> tuple[str, Worker]:
        """A web server that dies, and where it listens."""
        died, log = self.servers.folder / "died", self.servers.folder / "log" / "web.log"
        told = {"DIES_AT": dies, "DIES_ON": "1", "DIED": str(died)}
        with socket.create_server(("127.0.0.1", 0)) as listening, log.open("wb") as output:
            port, fd = listening.getsockname()[1], listening.fileno()
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.worker", "web"],
                cwd=ROOT,
                env=self.environment | told | {"LISTENS": str(fd)},
                stdout=output,
                stderr=output,
                pass_fds=[fd],
                preexec_fn=leash.die_with(os.getpid(), signal.SIGTERM),
            )
        found = Worker("web", process, log, died)
        self.workers.append(found)
        self.stack.callback(found.end)
        return f"http://127.0.0.1:{port}", found

    @contextlib.contextmanager
    def broker(self) -> Iterator[redis.Redis]:
        """A connection of an operator's to the broker."""
        client = redis.Redis(unix_socket_path=str(self.servers.valkey.socket))
        try:
            yield client
        finally:
            client.close()

    def owner(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.servers.postgres.url(OWNER), autocommit=True)

    def end_connections(self) -> None:
        """End every connection of the application's role, this process's among them."""
        connections["default"].close()
        with psycopg.connect(self.servers.postgres.url(APP), autocommit=True) as own:
            own.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE usename = current_user AND pid <> pg_backend_pid()"
            )

    # --- how it goes on

    def fault_is_over(self, at: float | None = None) -> None:
        self.over = at or time.time()

    def ends(self, *experiments: Experiment, within: float | None = None) -> None:
        """Everything has ended within the bound, which counts from the end of the fault."""
        left = within or max(1.0, self.over + BOUND - time.time())
        keys = [one.pk for one in experiments]

        def ended() -> bool:
            return not Experiment.objects.filter(pk__in=keys, state=State.RUNNING).exists()

        try:
            until(ended, "the work ends", left)
        except AssertionError:
            raise AssertionError(f"{self.states(*experiments)}; {self.said()}") from None
        self.figures.setdefault("ended", round(time.time() - self.over, 2))

    def judged(self, grading_pass: GradingPass) -> None:
        """A pass has ended within the bound."""
        left = max(1.0, self.over + BOUND - time.time())

        def ended() -> bool:
            return not GradingPass.objects.filter(pk=grading_pass.pk, state=State.RUNNING).exists()

        try:
            until(ended, "the pass ends", left)
        except AssertionError:
            raise AssertionError(self.said()) from None
        self.figures.setdefault("ended", round(time.time() - self.over, 2))

    def outcomes(self, grading_pass: GradingPass) -> list[str]:
        rows = Judgment.objects.filter(grading_pass=grading_pass).order_by("execution__position")
        return [Outcome(outcome).name.lower() for outcome in rows.values_list("outcome", flat=True)]

    def recovered(self, since: float) -> None:
        """How long after a fault the next item was claimed."""
        with self.owner() as owner:
            row = owner.execute(
                "SELECT extract(epoch FROM min(started_at)) FROM runs_execution WHERE started_at > to_timestamp(%s)",
                [since],
            ).fetchone()
        if row and row[0] is not None:
            self.figures["recovery"] = round(float(row[0]) - since, 2)

    def states(self, *experiments: Experiment) -> list[str]:
        rows = Execution.objects.filter(experiment__in=experiments, superseded=False).order_by("experiment", "position")
        return [Generation(state).name.lower() for state in rows.values_list("state", flat=True)]

    def attempts(self, *experiments: Experiment) -> list[str]:
        rows = Attempt.objects.filter(execution__experiment__in=experiments).order_by("admitted_at")
        return list(rows.values_list("state", flat=True))

    def said(self) -> str:
        return "\n".join(f"--- {one.log.name}\n{one.log.read_text()[-1500:]}" for one in self.workers)

    def _tallies(self) -> list[tuple[Experiment, queries.Tally]]:
        return queries.with_tallies(Experiment.objects.all())

    @property
    def references(self) -> list[UUID]:
        return [UUID(call.headers["x-request-id"]) for call in read_log(self.call_log)]

    def settled(self, *, dead: int = 0) -> None:
        """The books are right. `dead` says how many calls were under way when their worker died."""
        references = self.references
        with self.owner() as owner:
            wrong = ledger.violations(owner, calls=references, acknowledged=self.acknowledged, grace=LEASE + TICK)
            lost = owner.execute(
                "SELECT count(*) FROM acknowledged k WHERE k.id NOT IN (SELECT id FROM runs_experiment)"
            ).fetchone()
            asked = owner.execute(ledger.REPEATED).fetchone()
            told = owner.execute(ledger.INDETERMINATE).fetchone()
            paid = dict(owner.execute(ledger.PAID).fetchall())
        assert lost and asked and told
        self.figures |= {
            "calls": len(references),
            "repeated": int(asked[0]),
            "lost": int(lost[0]),
            "dead": dead,
            "indeterminate": int(told[0]),
        }
        assert wrong == {}
        shown = {one.pk: sum(spend.known_micros for spend in tally.spends) for one, tally in self._tallies()}
        assert shown == {pk: paid.get(pk, 0) for pk in shown}, "I10, as it is shown"
        assert (self.figures["repeated"], self.figures["lost"]) == (0, 0)
        assert self.figures["indeterminate"] >= dead


@contextlib.contextmanager
def open_house(from_template: Path, *, broker: bool = True, disk: str = "") -> Iterator[House]:
    """With `disk` the cluster lies on one of its own, of that size."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="h-", dir=from_template.parent))
        folder.chmod(0o755)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        place = folder
        if disk:
            place = folder / "disk"
            place.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={disk},mode=755", "none", place], check=True)
            stack.callback(subprocess.run, ["umount", "--lazy", place], check=True)
        subprocess.run(["cp", "-a", from_template / "postgres", place / "postgres"], check=True)
        servers = Servers(folder, "house", cluster=place)
        stack.callback(servers.close)
        servers.start(servers.postgres)
        if broker:
            servers.start(servers.valkey)
        log, ready = folder / "calls.jsonl", folder / "provider"
        command = [sys.executable, "-m", "tests.provider", "--log", str(log), "--ready", str(ready)]
        with (folder / "log" / "provider.log").open("wb") as output:
            process = subprocess.Popen(
                command, cwd=ROOT, stdout=output, stderr=output, preexec_fn=leash.die_with(os.getpid(), signal.SIGTERM)
            )
        stack.callback(process.wait, 10)
        stack.callback(process.terminate)
        until(ready.exists, "the provider answers")
        url = servers.postgres.url(APP)
        broker_url = servers.valkey.broker_url if broker else ""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("DATABASE_", "CACHE_", "CELERY_", "EVENHAND_", "PG", "DIES_"))
        }
        environment = kept | {
            "DATABASE_URL": url,
            "CELERY_BROKER_URL": broker_url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "EVENHAND_EMBEDDED": "1",
            "EVENHAND_VAR": str(folder / "var"),
            "SECRET_KEY": "for-the-length-of-a-fault-and-not-a-minute-longer",
            "LEASE_SECONDS": str(LEASE),
            "TICK_SECONDS": str(TICK),
            "LOG_LEVEL": "INFO",
        }
        point_django_at(url)
        stack.callback(connections["default"].close)
        if broker:
            point_celery_at(broker_url)
            stack.callback(kombu.pools.reset)
        yield House(servers, Remote(ready.read_text()), process, log, environment, stack)
