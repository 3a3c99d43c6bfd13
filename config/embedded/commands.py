"""What `up` and `run` do."""

import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from config.embedded import leash, places
from config.embedded.instance import Instance, open_instance, open_throwaway
from config.embedded.programs import Program, open_port
from config.embedded.supervisor import StopRequested, Supervisor, say, say_aside
from config.embedded.trouble import Trouble, sentence


class Step(NamedTuple):
    """Something to be done before the programs start."""

    saying: str
    command: Sequence[str]
    as_owner: bool


@dataclass(frozen=True)
class Plan:
    """What to run over the servers."""

    steps: Sequence[Step]
    web: Sequence[str]
    """May hold {fd}, the listening socket."""
    worker: Sequence[str]
    """May hold {var}."""
    greeting: Sequence[str] | None
    """A command whose output the person is to see."""


def evenhand() -> Plan:
    """Evenhand itself."""
    manage = (sys.executable, "manage.py")
    heartbeat = "/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()  # noqa: S108 - gunicorn unlinks it at once
    return Plan(
        steps=(
            Step(
                "Bringing the database up to date",
                (*manage, "migrate", "--no-input"),
                as_owner=True,
            ),
            Step(
                "Granting the application its rights",
                (*manage, "grant_app_role"),
                as_owner=True,
            ),
            Step("Collecting static files", (*manage, "collectstatic", "--no-input"), as_owner=False),
            Step("Loading the demo", (*manage, "load_demo"), as_owner=False),
        ),
        web=(
            *(
                sys.executable,
                "-m",
                "gunicorn",
                "config.wsgi:application",
                "--bind",
                "fd://{fd}",
                *("--worker-class", "config.serving.Worker", "--limit-request-line", "8190"),
            ),
            *(
                "--workers",
                "2",
                "--threads",
                "4",
                "--timeout",
                "60",
                "--graceful-timeout",
                "10",
            ),
            # The heartbeat must not wait for a disk; the control socket would lie in the person's home.
            *(
                "--worker-tmp-dir",
                heartbeat,
                "--no-control-socket",
                "--access-logfile",
                "-",
            ),
        ),
        worker=(
            *(sys.executable, "-m", "celery", "-A", "config", "worker", "--beat"),
            *(
                # Every interval is short, so the times need no file, which some file systems cannot lock.
                "--scheduler",
                "celery.beat:Scheduler",
                "--concurrency",
                "2",
                "--loglevel",
                "INFO",
            ),
            *("--without-gossip", "--without-mingle"),
        ),
        greeting=(*manage, "demo_logins"),
    )


def up(project: Path, var: Path, plan: Plan, *, port: str | None, with_parent: bool = False) -> int:
    """Start everything, keep it up until told to stop, stop everything."""
    supervisor = Supervisor(say)
    instance = None
    try:
        instance = open_instance(project, var)
        if instance is None:
            say(_already(places.read_state(var)))
            return 0
        supervisor.listen()
        if with_parent:
            leash.die_with(os.getppid(), signal.SIGTERM)()
        _up(instance, supervisor, plan, port)
    except StopRequested:
        pass
    except Trouble as trouble:
        say(str(trouble))
        return _close(instance, supervisor, 1)
    except OSError as error:
        say(f"Evenhand cannot run: {sentence(error)}")
        return _close(instance, supervisor, 1)
    return _close(instance, supervisor, 0)


def _up(instance: Instance, supervisor: Supervisor, plan: Plan, port: str | None) -> None:
    listener, remark = open_port(port)
    if remark:
        say(remark)
    host, number = listener.getsockname()
    given = os.environ
    instance.start_servers(supervisor, given)
    instance.address = f"http://{host}:{number}"
    known = instance.environment(given)
    env = child_environment(given, known)
    for step in plan.steps:
        say(step.saying)
        supervisor.run(
            step.command,
            env=env | {"DATABASE_URL": known["DATABASE_OWNER_URL"]} if step.as_owner else env,
            directory=instance.project,
            log=instance.log("setup.log"),
            what=step.saying,
        )
    say("Starting worker and web")
    term, quit_now = (signal.SIGTERM, 25.0), (signal.SIGQUIT, 3.0)
    for name, command in (("worker", plan.worker), ("web", plan.web)):
        web = name == "web"
        supervisor.start(
            Program(
                name=name,
                command=[part.format(fd=listener.fileno(), var=instance.var) for part in command],
                stop_steps=(term, quit_now),
                directory=instance.project,
                env=env,
                log=instance.log(f"{name}.log"),
                hold_fd=instance.lock.fd,
                listener=listener if web else None,
            )
        )
    instance.write_state(known)
    say(f"\nEvenhand is running at {instance.address}")
    if plan.greeting:
        heard = instance.log("greeting")
        heard.unlink(missing_ok=True)
        supervisor.run(
            plan.greeting,
            env=env,
            directory=instance.project,
            log=heard,
            what="Listing the demo logins",
        )
        say(heard.read_text().rstrip())
    say(f"Logs and mail: {instance.var / 'log'}\nStop with Ctrl-C.\n")
    supervisor.watch()


def _already(state: Mapping[str, object]) -> str:
    if state.get("address"):
        return f"Evenhand is already running at {state['address']}"
    return f"Evenhand is already running or starting in this folder (process {state.get('pid', 'unknown')})."


def run(project: Path, var: Path, command: Sequence[str], *, test: bool) -> int:
    """Run a command with the servers at hand; stop afterwards what was started for it."""
    # Read before anything changes it: the command gets the person's own file mode mask.
    umask = os.umask(0o022)
    os.umask(umask)
    supervisor = Supervisor(say_aside)
    instance: Instance | None = None
    try:
        supervisor.listen()
        if test:
            instance = open_throwaway(project, var)
        else:
            instance = open_instance(project, var)
        if instance is None:
            known = places.read_state(var).get("environment")
            if not known:
                raise Trouble(_already(places.read_state(var)))
        else:
            instance.start_servers(supervisor, os.environ)
            known = instance.environment(os.environ)
            if test:
                # Tests make databases of their own, which only the owner may.
                known["DATABASE_URL"] = known["DATABASE_OWNER_URL"]
            instance.write_state(known)
        code = supervisor.follow(command, env=child_environment(os.environ, known), umask=umask)
    except StopRequested:
        code = 130
    except Trouble as trouble:
        say_aside(str(trouble))
        code = 1
    except OSError as error:
        say_aside(f"Evenhand's servers cannot run: {sentence(error)}")
        code = 1
    return _close(instance, supervisor, code)


def _close(instance: Instance | None, supervisor: Supervisor, code: int) -> int:
    names = [entry.service.name for entry in reversed(supervisor.running) if entry.process is not None]
    talking = bool(names) and supervisor.say is say
    if talking:
        say(f"Stopping {', '.join(names)}")
    supervisor.stop()
    if instance is not None:
        instance.close()
    if talking:
        say("Stopped.")
    return code


def child_environment(given: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The person's environment with ours over it; libpq's variables would otherwise steer connections elsewhere."""
    kept = {name: value for name, value in given.items() if not (name.startswith("PG") and name.isupper())}
    return kept | dict(known)
