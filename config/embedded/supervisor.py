"""Start services in order, keep them up, stop them in the opposite order."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Protocol

from config.embedded import leash
from config.embedded.processes import open_log, signal_group, tail
from config.embedded.trouble import Trouble

TICK = 0.1  # seconds between looks at the services
LONGEST_WAIT = 10.0  # seconds between two attempts to start a service that keeps failing
STEADY = 60.0  # seconds after which a service counts as healthy again
SAME_KEYPRESS = 1.0  # seconds; a terminal and make both pass on one Ctrl-C


class StopRequested(Exception):
    """Somebody pressed Ctrl-C, or sent SIGTERM or SIGHUP."""


type StopSteps = tuple[tuple[signal.Signals, float], ...]  # what to send, and seconds to wait after it


class Service(Protocol):
    """A program that is to stay up."""

    name: str
    stop_steps: StopSteps
    start_patience: float

    def start(self) -> subprocess.Popen[bytes]:
        """Start it, without waiting."""

    def is_ready(self) -> bool:
        """Whether it does its work."""

    def why(self) -> str:
        """Why it does not start."""


@dataclass
class Running:
    """A service and how it fares."""

    service: Service
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    ready: bool = False
    failures: int = 0
    retry_at: float = 0.0
    told: str = ""


@dataclass
class Supervisor:
    """Owns the processes; everything happens in the main thread, which the death signals need."""

    say: Callable[[str], None]
    running: list[Running] = field(default_factory=list)
    stop_asked: float | None = None
    hurry: bool = False
    leave_interrupts: bool = False
    """Ctrl-C belongs to the command in the terminal's foreground."""

    def listen(self) -> None:
        """Take over the stop signals, and every orphan below us."""
        leash.adopt_orphans()
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup stays in force
            signal.signal(signal.SIGHUP, self._on_signal)

    def _on_signal(self, signum: int, _: FrameType | None) -> None:
        if signum == signal.SIGINT and self.leave_interrupts:
            return
        now = time.monotonic()
        if self.stop_asked is None:
            self.stop_asked = now
        elif now - self.stop_asked > SAME_KEYPRESS:
            self.hurry = True

    def pause(self, seconds: float = TICK) -> None:
        """Wait a little, unless a stop is asked for."""
        if self.stop_asked is not None:
            raise StopRequested
        time.sleep(seconds)
        if self.stop_asked is not None:
            raise StopRequested

    def start(self, service: Service) -> None:
        """Start a service and wait until it does its work."""
        entry = Running(service)
        self.running.append(entry)
        deadline = time.monotonic() + service.start_patience
        self._launch(entry)
        while not entry.ready:
            self.pause(0.02)
            assert entry.process is not None
            if entry.process.poll() is not None:
                reason = service.why()
                entry.failures += 1
                if entry.failures >= 3 or "is full" in reason:
                    raise Trouble(reason)
                self.pause(0.5)
                self._launch(entry)
            elif service.is_ready():
                entry.ready = True
                entry.failures = 0
            elif time.monotonic() > deadline:
                raise Trouble(
                    f"{service.name} is not ready after {service.start_patience:.0f} seconds. {service.why()}"
                )

    def _launch(self, entry: Running) -> None:
        entry.ready = False
        entry.started = time.monotonic()
        entry.process = entry.service.start()

    def tick(self) -> None:
        """Look at every service once; start again what has died."""
        for entry in self.running:
            self._look_after(entry)
        leash.collect_orphans(self._ours())

    def _ours(self) -> frozenset[int]:
        return frozenset(entry.process.pid for entry in self.running if entry.process is not None)

    def _look_after(self, entry: Running) -> None:
        now = time.monotonic()
        service = entry.service
        if entry.process is None:
            if now >= entry.retry_at:
                try:
                    self._launch(entry)
                except (OSError, Trouble) as error:
                    self._failed(entry, str(error))
        elif (code := entry.process.poll()) is not None:
            # Members of the dead program's session must not work beside its successor.
            signal_group(entry.process, signal.SIGKILL)
            entry.process = None
            self._failed(
                entry,
                f"{service.name} stopped ({_ending(code)})" if entry.ready else service.why(),
            )
        elif not entry.ready and service.is_ready():
            entry.ready = True
            self.say(f"{service.name} is up again.")
            entry.told = ""
        elif entry.ready and now - entry.started > STEADY:
            entry.failures = 0

    def _failed(self, entry: Running, reason: str) -> None:
        # The first attempt comes at once: most crashes are one of a kind.
        wait = 0.0 if entry.failures == 0 else min(LONGEST_WAIT, 0.5 * 2**entry.failures)
        entry.failures += 1
        entry.ready = False
        entry.retry_at = time.monotonic() + wait
        if reason != entry.told:  # a full disk is said once, not every half minute
            entry.told = reason
            self.say(f"{reason.rstrip('.')}; trying again.")

    def run(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        directory: Path,
        log: Path,
        what: str,
    ) -> None:
        """Run a step of the start to its end."""
        with open_log(log) as output:
            process = subprocess.Popen(
                command,
                cwd=directory,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=0o077,
                preexec_fn=leash.die_with(os.getpid(), signal.SIGTERM),  # noqa: PLW1509 - one thread only
            )
        try:
            while process.poll() is None:
                self.pause(0.02)
        finally:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)
            signal_group(process, signal.SIGKILL)
            process.wait()
        if process.returncode != 0:
            raise Trouble(f"{what} failed ({_ending(process.returncode)}). The end of {log}:\n{tail(log)}")

    def watch(self) -> None:
        """Keep everything up until a stop is asked for."""
        terminal = select.poll()
        if sys.stdout.isatty():
            terminal.register(sys.stdout, 0)
        while self.stop_asked is None:
            self.tick()
            time.sleep(TICK)
            # A closed terminal signals its session's leader only; when that is make, nobody tells us.
            if terminal.poll(0):
                self.stop_asked = time.monotonic()

    def follow(self, command: Sequence[str], *, env: Mapping[str, str], umask: int) -> int:
        """Run a command in the terminal's foreground, keep everything up meanwhile, return its exit code."""
        self.leave_interrupts = True
        try:
            process = subprocess.Popen(
                command,
                env=env,
                umask=umask,
                preexec_fn=leash.die_with(os.getpid(), signal.SIGTERM),  # noqa: PLW1509 - one thread only
            )
        except OSError as error:
            raise Trouble(f"{command[0]} cannot be run: {error.strerror}.") from error
        asked: float | None = None
        while process.poll() is None:
            for entry in self.running:
                self._look_after(entry)
            leash.collect_orphans(self._ours() | {process.pid})
            if self.stop_asked is not None and asked is None:
                asked = time.monotonic()
                process.terminate()
            if asked is not None and time.monotonic() - asked > 15:
                process.kill()
            time.sleep(0.05)
        return process.returncode if process.returncode >= 0 else 128 - process.returncode

    def stop(self) -> None:
        """Stop everything, the last started first, and leave no process below us."""
        self.leave_interrupts = False
        if self.stop_asked is None:
            self.stop_asked = time.monotonic()
        for entry in reversed(self.running):
            if entry.process is not None:
                self._stop(entry.service, entry.process)
        leash.kill_descendants()

    def _stop(self, service: Service, process: subprocess.Popen[bytes]) -> None:
        for signum, patience in service.stop_steps:
            if process.poll() is not None:
                break
            process.send_signal(signum)
            asked = time.monotonic()
            told = False
            while process.poll() is None:
                waited = time.monotonic() - asked
                if waited > patience or (self.hurry and waited > 1):
                    break
                if waited > 3 and not told:
                    told = True
                    self.say(f"Waiting for {service.name} to finish (Ctrl-C again to hurry).")
                leash.collect_orphans(self._ours())
                time.sleep(0.02)
        if process.poll() is None:
            self.say(f"{service.name} did not stop in time and was killed.")
        signal_group(process, signal.SIGKILL)
        process.wait()


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    return f"signal {signal.Signals(-code).name}"


def say(text: str) -> None:
    """Tell the person at the terminal, if it is still there."""
    with contextlib.suppress(OSError, ValueError):
        print(text, flush=True)


def say_aside(text: str) -> None:
    """Tell the person without mixing into what a command prints."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)
