"""Start, stop, and every way to be killed."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.embedded.harness import PROJECT, StandIn, clean_environment, processes, until

Start = Callable[..., StandIn]
Kill = Callable[[int, int], None]


def ports(*, count: int = 1) -> list[int]:
    """Ports that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    numbers = [int(listener.getsockname()[1]) for listener in sockets]
    for listener in sockets:
        listener.close()
    return numbers


@pytest.fixture
def port() -> str:
    return str(ports()[0])


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as answer:
        return str(answer.read().decode())


def test_embedded_cold_start_serves_and_stop_leaves_no_process(start: Start, folder: Path, port: str) -> None:
    stand_in = start(port).wait_up()
    assert stand_in.address == f"http://127.0.0.1:{port}"
    assert "greetings" in stand_in.said()
    assert get(stand_in.address) == "stand-in"
    assert len([command for command in processes(str(folder)).values() if "sleep" in command]) >= 4
    with psycopg.connect(stand_in.state["environment"]["DATABASE_URL"]) as session:
        assert session.execute("SELECT current_user").fetchone() == ("app",)
    stand_in.process.send_signal(signal.SIGINT)
    assert stand_in.finish() == 0
    assert not processes(str(folder))
    assert not (folder / "var" / "state.json").exists()
    assert "was killed" not in stand_in.said()


def test_embedded_secrets_and_sockets_are_private(start: Start, folder: Path, port: str) -> None:
    stand_in = start(port).wait_up()
    var = folder / "var"
    for private in ("secret_key", "secrets/owner", "secrets/app", "state.json", "log/web.log"):
        assert stat.S_IMODE((var / private).stat().st_mode) == 0o600, private
    for closed in ("sockets", "postgres", "valkey", "secrets", "log"):
        assert stat.S_IMODE((var / closed).stat().st_mode) == 0o700, closed
    assert stat.S_IMODE((var / "sockets" / "valkey.sock").stat().st_mode) == 0o700
    with stand_in.connect() as session:
        assert session.execute("SHOW listen_addresses").fetchone() == ("",)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(f"postgresql://app:wrong@/evenhand?host={var / 'sockets'}")


def test_embedded_second_start_and_run_find_the_first(start: Start, folder: Path, port: str) -> None:
    first = start(port).wait_up()
    before = first.state
    second = start(port)
    assert second.finish() == 0
    assert second.said() == f"Evenhand is already running at {first.address}\n"
    assert first.state == before
    attached = subprocess.run(
        [sys.executable, "-m", "config.embedded", "run", "--", "sh", "-c", "echo $DATABASE_URL"],
        cwd=PROJECT,
        env=clean_environment(str(folder)) | {"EVENHAND_VAR": str(folder / "var")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert attached.stdout.strip() == before["environment"]["DATABASE_URL"]
    assert get(first.address) == "stand-in"


@pytest.mark.parametrize("kill", [os.kill, os.killpg])
def test_embedded_kill_9_of_supervisor_leaves_no_process(start: Start, port: str, kill: Kill) -> None:
    stand_in = start(port).wait_up()
    kill(stand_in.process.pid, signal.SIGKILL)
    stand_in.finish()
    stand_in.expect_nothing_left()
    again = start(port).wait_up()
    assert get(again.address) == "stand-in"


def test_embedded_kill_9_of_supervisor_then_start_at_once(start: Start, port: str) -> None:
    stand_in = start(port).wait_up()
    with stand_in.connect() as session:
        session.execute("CREATE TABLE kept AS SELECT 1 AS one")
    stand_in.process.kill()
    stand_in.finish()
    again = start(port).wait_up()
    with again.connect() as session:
        assert session.execute("SELECT one FROM kept").fetchone() == (1,)


def test_embedded_kill_9_of_postgres_keeps_every_acknowledged_row(start: Start, port: str) -> None:
    stand_in = start(port).wait_up()
    with stand_in.connect() as session:
        session.execute("CREATE TABLE written (number integer)")
    acknowledged: list[int] = []

    def write() -> None:
        with stand_in.connect() as session:
            for number in range(1_000_000):
                try:
                    session.execute("INSERT INTO written VALUES (%s)", [number])
                except psycopg.OperationalError:
                    return
                acknowledged.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    until(lambda: len(acknowledged) > 50, "some writes")
    os.kill(stand_in.postmaster(), signal.SIGKILL)
    writer.join(20)
    until(lambda: "PostgreSQL is up again" in stand_in.said(), "restart")
    with stand_in.connect() as session:
        kept = {row[0] for row in session.execute("SELECT number FROM written")}
    assert set(acknowledged) <= kept
    # The one write that was under way may be there or not.
    assert len(kept) <= len(acknowledged) + 1


def test_embedded_killed_services_come_back(start: Start, folder: Path, port: str) -> None:
    stand_in = start(port).wait_up()
    # The leash itself is the worse victim: what it held has to be found without it.
    for name, marks in {
        "Valkey": ["valkey-server"],
        "web": ["leash.py", "web"],
        "worker": ["leash.py", "worker"],
    }.items():
        living = processes(str(folder)).items()
        os.kill(next(pid for pid, command in living if all(mark in command for mark in marks)), signal.SIGKILL)
        until(lambda back=f"{name} is up again": back in stand_in.said(), name)  # type: ignore[misc]
    assert get(stand_in.address) == "stand-in"
    stand_in.stop()
    assert not processes(str(folder))


def test_embedded_stale_pid_file_naming_a_foreign_process(start: Start, folder: Path, port: str) -> None:
    first = start(port).wait_up()
    first.stop()
    stranger = subprocess.Popen(["sleep", "60"])
    pid_file = folder / "var" / "postgres" / "postmaster.pid"
    pid_file.write_text(f"{stranger.pid}\n{folder}/var/postgres\n1\n5432\n{folder}/var/sockets\n\n\n")
    pid_file.chmod(0o600)
    start(port).wait_up()
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_embedded_orphaned_postgres_is_ended(start: Start, folder: Path, port: str) -> None:
    """A server that survived its supervisor, as it can where there are no death signals."""
    first = start(port).wait_up()
    with first.connect() as session:
        words = Path(f"/proc/{first.postmaster()}/cmdline").read_bytes().split(b"\0")[:-1]
        session.execute("CREATE TABLE kept AS SELECT 1 AS one")
    owner = (folder / "var" / "postgres").stat()
    first.stop()
    orphan = subprocess.Popen(
        words,
        cwd="/",
        user=owner.st_uid if os.geteuid() == 0 else None,
        group=owner.st_gid if os.geteuid() == 0 else None,
        extra_groups=[] if os.geteuid() == 0 else None,
        stderr=subprocess.DEVNULL,
    )
    pid_file = folder / "var" / "postgres" / "postmaster.pid"
    until(lambda: pid_file.exists() and "ready" in pid_file.read_text(), "orphan")
    again = start(port).wait_up()
    assert orphan.wait(10) == 0
    with again.connect() as session:
        assert session.execute("SELECT one FROM kept").fetchone() == (1,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has folders that the database account cannot enter")
def test_embedded_root_in_a_private_folder(start: Start, folder: Path, port: str) -> None:
    private = folder / "private"
    private.mkdir(mode=0o700)
    stand_in = start(port, var=private / "clone" / "var").wait_up()
    elsewhere = Path((stand_in.var / "elsewhere").read_text().strip())
    stand_in.marks.append(str(elsewhere))
    try:
        assert f"the data lies in {elsewhere}" in stand_in.said()
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        assert get(stand_in.address) == "stand-in"
        with stand_in.connect() as session:
            session.execute("CREATE TABLE kept AS SELECT 1 AS one")
        stand_in.process.kill()
        stand_in.finish()
        stand_in.expect_nothing_left()
        (private / "clone").rename(private / "moved")
        again = start(port, var=private / "moved" / "var")
        again.marks.append(str(elsewhere))
        again.wait_up()
        with again.connect() as session:
            assert session.execute("SELECT one FROM kept").fetchone() == (1,)
        again.stop()
    finally:
        stand_in.stop()
        shutil.rmtree(elsewhere, ignore_errors=True)


def test_embedded_long_path_with_blanks(start: Start, folder: Path, port: str) -> None:
    deep = folder / ("a long name " * 8) / "über" / ("b" * 60)
    deep.mkdir(parents=True)
    stand_in = start(port, var=deep / "var").wait_up()
    assert get(stand_in.address) == "stand-in"
    sockets = Path(stand_in.state["environment"]["DATABASE_URL"].partition("?host=")[2])
    assert len(str(sockets)) < 90
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    stand_in.stop()
    assert not sockets.exists()


def test_embedded_named_port_taken_is_an_error(start: Start, port: str) -> None:
    with socket.create_server(("127.0.0.1", int(port))):
        stand_in = start(port)
        assert stand_in.finish() == 1
    assert f"Port {port} is taken" in stand_in.said()
    assert "Traceback" not in stand_in.said()


def test_embedded_usual_port_taken_uses_another(start: Start) -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", 8000))
            listener.listen()
        except OSError:
            pass  # somebody else has taken it for us
        stand_in = start().wait_up()
        assert "Port 8000 is taken; using 80" in stand_in.said()
        assert get(stand_in.address) == "stand-in"


@pytest.mark.parametrize("port", ["0", "65536", "http"])
def test_embedded_no_port_at_all(start: Start, port: str) -> None:
    stand_in = start(port)
    assert stand_in.finish() == 1
    assert "is not a port" in stand_in.said()


def test_embedded_folder_that_cannot_be_written(start: Start, folder: Path) -> None:
    (folder / "var").write_text("in the way")
    stand_in = start()
    assert stand_in.finish() == 1
    assert stand_in.said().count("\n") == 1, stand_in.said()


def test_embedded_run_test_passes_exit_code_and_leaves_nothing(folder: Path) -> None:
    script = (
        "import os, psycopg, subprocess, sys\n"
        "session = psycopg.connect(os.environ['DATABASE_URL'], autocommit=True)\n"
        "session.execute('CREATE DATABASE more')\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print(os.environ['EVENHAND_VAR'], os.environ['CELERY_BROKER_URL'])\n"
        "sys.exit(7)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "config.embedded", "run", "--test", "--", sys.executable, "-c", script],
        cwd=PROJECT,
        env=clean_environment(str(folder)) | {"EVENHAND_VAR": str(folder / "var")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    instance = Path(done.stdout.split()[0])
    assert instance.parent == folder / "var" / "test-services"
    assert not instance.exists()
    assert not processes(str(folder))
