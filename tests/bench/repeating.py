"""The same page again, and its regressions alone, against the emptiest page of the same server."""

from __future__ import annotations

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.bench.installation import Installation, Server
from tests.bench.measuring import Row, Section, in_turn, ms

COUNTED = (50, 1_000)
PART = {"HX-Request": "true", "HX-Target": "evidence"}


def run(installation: Installation, server: Server, cases: int) -> Section:
    section = Section(
        "Repeated view",
        "One signed-in person, one open connection, the web server as `make run` starts it. Floor: the list of "
        "experiments of a team that has none. *Regressions* is the same page with that filter; *part* is what the "
        "browser asks for when the filter is clicked.",
    )
    pair = installation.pair(cases)
    for metric, kind in (("correct", "pass or fail"), ("score", "numbers")):
        page, only = pair.page(metric), pair.page(metric, only_regressions=1)
        things = {
            "empty": lambda: server.seconds(installation.empty_page),
            "again": lambda page=page: server.seconds(page),
            "regressions": lambda only=only: server.seconds(only),
            "part": lambda only=only: server.seconds(only, **PART),
        }
        found = in_turn(things, rounds=25, warm=12, gauge=True)
        for name, what, bar in (
            ("again", "the page again", 3.0),
            ("regressions", "only regressions, whole page", 5.0),
            ("part", "only regressions, part", 5.0),
        ):
            ours, floor = ms(found.median(name)), ms(found.median("empty"))
            section.rows.append(Row(f"{kind}, {cases:,} x 3, {what}", ours, floor, found.ratio(name, "empty"), bar))
    counts = {size: _queries(installation, size) for size in sorted({*COUNTED, cases})}
    section.rows.append(
        Row(
            f"database queries at {', '.join(f'{size:,}' for size in counts)} cases",
            ", ".join(str(count) for count in counts.values()),
            "equal",
            max(counts.values()) / min(counts.values()),
            1.0,
        )
    )
    return section


def _queries(installation: Installation, cases: int) -> int:
    client = Client(SERVER_NAME="127.0.0.1")
    client.cookies["sessionid"] = installation.cookie()
    page = installation.pair(cases).page("correct", only_regressions=1)
    client.get(page)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(page).status_code == 200
    return len(captured)
