"""One installation as `make run` starts it, for tests that speak to the web server itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.house import House, open_house

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.xdist_group("serving"))


@pytest.fixture(scope="session")
def house(tmp_path_factory) -> Iterator[House]:
    with open_house(tmp_path_factory.mktemp("served")) as opened:
        yield opened
