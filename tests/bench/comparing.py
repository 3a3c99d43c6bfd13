"""A comparison computed with nothing kept, against the cheapest way from the same tables to the same interval."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from django.db import connection
from django.urls import reverse

from comparisons import selection
from comparisons.lenses import paired
from tests.bench import resampling, truth
from tests.bench.installation import Installation, Pair, Server
from tests.bench.measuring import Row, Section, in_turn, ms, seconds

SIDES = """
    {name} AS (
        SELECT e.revision_id, e.repetition, j.value
        FROM runs_execution e JOIN grading_judgment j ON j.execution_id = e.id
        WHERE e.experiment_id = %s AND j.version_id = %s AND e.state = 2 AND j.outcome = 3
    )
"""
IN_SQL = f"""
    WITH {SIDES.format(name="c")}, {SIDES.format(name="b")},
    d AS (
        SELECT (sum(c.value) - sum(b.value)) / count(*) AS delta
        FROM c JOIN b USING (revision_id, repetition) GROUP BY revision_id
    )
    SELECT delta, count(*) FROM d GROUP BY delta
"""
BY_COPY = """
    COPY (
        SELECT i.number, e.repetition, j.value
        FROM runs_execution e JOIN grading_judgment j ON j.execution_id = e.id
        JOIN (SELECT revision_id, row_number() OVER () AS number FROM datasets_versionentry
              WHERE version_id = {version}) i ON i.revision_id = e.revision_id
        WHERE e.experiment_id = {experiment} AND j.version_id = {grader} AND e.state = 2 AND j.outcome = 3
    ) TO STDOUT (FORMAT binary)
"""
COPIED = np.dtype(
    [("fields", ">i2"), ("a", ">i4"), ("case", ">i8"), ("b", ">i4"), ("rep", ">i4"), ("c", ">i4"), ("value", ">f8")]
)
COPY_HEAD, COPY_TAIL = 19, 2


def run(installation: Installation, server: Server, sizes: tuple[int, ...]) -> Section:
    section = Section(
        "Comparison, nothing kept",
        "Two experiments of 3 repetitions, two metrics, answers stored. Floor: pair in SQL (distinct differences with "
        "their counts) or COPY in binary and pair in NumPy, whichever is faster, plus the fastest resampling that is "
        "right for the values. Ours: memory emptied and a selection that nobody asked for before, so that columns "
        "are read, everything is computed, and the result is written down; once through the lens, once as a whole "
        "page from a web server. Every figure of both metrics is first held to an independent computation, to 1e-12.",
    )
    for cases in sizes:
        pair = installation.pair(cases)
        _right(installation, server, pair)
        for metric in ("correct", "score"):
            draw = resampling.distinct if metric == "correct" else resampling.raw_words
            floors = {"sql": lambda p=pair, m=metric, d=draw: d(in_sql(p, m))}
            floors["copy"] = lambda p=pair, m=metric, d=draw: d(by_copy(p, m))
            found = in_turn(
                {
                    **_timed(floors),
                    "lens": lambda p=pair, m=metric: _lens(installation, p, m),
                    "page": lambda p=pair, m=metric: server.seconds(p.page(m, fresh=True), **{"X-Bench-Forget": "1"}),
                },
                gauge=True,
                warm=2,
            )
            floor = found.faster("sql", "copy")
            kind = "pass or fail" if metric == "correct" else "numbers"
            for name in ("lens", "page"):
                section.rows.append(
                    Row(
                        f"{kind}, {cases:,} x 3, {name}",
                        ms(found.median(name)),
                        f"{ms(found.median(floor))} ({'SQL' if floor == 'sql' else 'COPY'})",
                        found.ratio(name, floor),
                        4.0,
                    )
                )
    return section


def _timed(things: dict[str, Any]) -> dict[str, Any]:
    return {name: (lambda call=call: seconds(call)) for name, call in things.items()}


def _lens(installation: Installation, pair: Pair, metric: str) -> float:
    asked = selection.Asked.of(pair.asked(metric, fresh=True).plain() | _no_interpretations())
    access = installation.access
    paired.forget()
    return seconds(lambda: paired.view(access.team, selection.resolve(access, asked)))


def _no_interpretations() -> dict[str, str]:
    return {"candidate_interpretation": "", "baseline_interpretation": ""}


def _ids(pair: Pair, metric: str) -> tuple[Any, Any, Any, Any]:
    chosen = pair.kept_selection(metric)
    return chosen.candidate, chosen.candidate_grader, chosen.baseline, chosen.baseline_grader


def in_sql(pair: Pair, metric: str) -> Any:
    """Case differences, by their counts; for numbers nearly every one is of its own."""
    with connection.cursor() as cursor:
        cursor.execute(IN_SQL, _ids(pair, metric))
        rows = cursor.fetchall()
    deltas, counts = zip(*rows, strict=True)
    return np.repeat(np.array(deltas), counts)


def by_copy(pair: Pair, metric: str) -> Any:
    candidate, mine, baseline, theirs = _ids(pair, metric)
    first, second = _copied(pair, candidate, mine), _copied(pair, baseline, theirs)
    reps = int(max(first["rep"].max(), second["rep"].max())) + 1
    size = (int(max(first["case"].max(), second["case"].max())) + 1) * reps
    columns = []
    for side in (first, second):
        column = np.full(size, np.nan)
        column[side["case"] * reps + side["rep"]] = side["value"]
        columns.append(column.reshape(-1, reps))
    both = np.isfinite(columns[0]) & np.isfinite(columns[1])
    count = both.sum(axis=1)
    total = np.where(both, columns[0] - columns[1], 0).sum(axis=1)
    return np.round(total[count > 0] / count[count > 0], 12)


def _copied(pair: Pair, experiment: Any, grader: Any) -> Any:
    from psycopg import sql

    query = sql.SQL(BY_COPY).format(
        version=sql.Literal(pair.version), experiment=sql.Literal(experiment), grader=sql.Literal(grader)
    )
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        data = b"".join(copy)
    return np.frombuffer(data[COPY_HEAD:-COPY_TAIL], dtype=COPIED)


def _right(installation: Installation, server: Server, pair: Pair) -> None:
    """What the API says of both metrics is what the generated arrays say; anything else ends the bench."""
    for metric in ("correct", "score"):
        address = f"{reverse('api:paired_comparison')}?{pair.kept_selection(metric).query()}"
        result = json.loads(server.text(address, Authorization=f"Bearer {installation.token}"))["result"]
        wrong = truth.faults(result, pair.candidate_arm, pair.baseline_arm, metric)
        if wrong:
            raise SystemExit("The figures are wrong, so their speed is of no interest:\n" + "\n".join(wrong))
