"""One house per fault, and at the end a table of what was survived."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.house import House, open_house
from tests.faults.report import table, written
from tests.faults.servers import template

HERE = Path(__file__).parent

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults-report", metavar="FILE", help="write what the faults did to a file")
    parser.addoption("--seeds", default="1", metavar="N,N", help="the seeds of faults that take one")
    parser.addoption("--schedules", type=int, default=0, metavar="N", help="so many random schedules of several faults")
    parser.addoption("--soak", type=int, default=0, metavar="MINUTES", help="work with a fault every 20 seconds")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What takes long is there only when it is asked for."""
    option = {HERE / "test_schedules.py": "--schedules", HERE / "test_soak.py": "--soak"}.get(collection_path)
    return True if option and not config.getoption(option, default=0) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.slow)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        seeds = [int(one) for one in str(metafunc.config.getoption("--seeds", default="1")).split(",")]
        metafunc.parametrize("seed", seeds, ids=[f"seed{one}" for one in seeds])
    if "schedule" in metafunc.fixturenames:
        schedules = range(1, metafunc.config.getoption("--schedules", default=0) + 1)
        metafunc.parametrize("schedule", schedules, ids=[f"schedule{one}" for one in schedules])
    if "soak" in metafunc.fixturenames:
        metafunc.parametrize("soak", [metafunc.config.getoption("--soak", default=0)])


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return  # a part of the whole, which is told where the parts come together
    ours = [
        report
        for outcome in ("passed", "failed", "error")
        for report in terminalreporter.stats.get(outcome, [])
        if report.nodeid.startswith("tests/faults/") and (report.when == "call" or outcome != "passed")
    ]
    if ours:
        terminalreporter.section("faults")
        for line in table(ours):
            terminalreporter.write_line(line)
        if config.getoption("--faults-report", default=""):
            Path(config.getoption("--faults-report")).write_text(written(ours, _asked(config)))


def _asked(config: pytest.Config) -> str:
    """How this run was asked for."""
    given = {"--seeds": "1", "--schedules": 0, "--soak": 0, "--faults-report": "", "-k": ""}
    said = {name: config.getoption(name, default=usual) for name, usual in given.items()}
    return " ".join(f"{name} {_quoted(value)}" for name, value in said.items() if value and value != given[name])


def _quoted(value: object) -> str:
    return f"'{value}'" if " " in str(value) else str(value)


@pytest.fixture(scope="session")
def cluster(django_db_blocker) -> Iterator[Path]:
    with django_db_blocker.unblock(), template() as made:
        yield made


@pytest.fixture
def opened(cluster, django_db_blocker, settings, record_property) -> Iterator[Callable[..., House]]:
    """Open the house, with or without a broker. What was measured goes into the table."""
    from contextlib import ExitStack

    with django_db_blocker.unblock(), ExitStack() as stack:
        houses: list[House] = []

        def open_one(*, broker: bool = True, disk: str = "") -> House:
            houses.append(stack.enter_context(open_house(cluster, broker=broker, disk=disk)))
            record_property("figures", houses[-1].figures)  # filled in while the test runs
            settings.CELERY_BROKER_URL = houses[-1].environment["CELERY_BROKER_URL"]
            return houses[-1]

        yield open_one


@pytest.fixture
def house(opened) -> House:
    return opened()


@pytest.fixture
def polled(opened) -> House:
    """A house without a broker."""
    return opened(broker=False)


@pytest.fixture(scope="session")
def faketime() -> str:
    found = shutil.which("faketime")
    assert found is not None, "faketime is missing: install the system's package of that name"
    return found
