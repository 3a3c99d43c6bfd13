"""A finished pass's judgments of one grader version as compact columns, and back as a `Series`."""

from __future__ import annotations

import numpy as np
from django.db import connection

from analysis.observations import Outcome, Series, series_digest
from grading.models import GraderVersion, GradingPass, SeriesColumn
from runs.columns import FrozenArm

LAYOUT = 1


def freeze(grading_pass: GradingPass, version: GraderVersion, frozen: FrozenArm) -> SeriesColumn:
    """Read a pass's judgments by one grader version and keep them aligned with the experiment's rows."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT execution_id, outcome, value, category FROM grading_judgment
            WHERE grading_pass_id = %s AND version_id = %s
            """,
            [grading_pass.pk, version.pk],
        )
        rows = cursor.fetchall()
    m = len(frozen.executions)
    by_id = np.argsort(frozen.executions, kind="stable")
    ids = np.array([row[0] for row in rows], dtype="<i8")
    at = by_id[np.searchsorted(frozen.executions, ids, sorter=by_id)] if len(rows) else np.empty(0, dtype=np.int64)
    outcome = np.full(m, Outcome.NONE, dtype="u1")
    value = np.full(m, np.nan, dtype="<f8")
    category = np.full(m, -1, dtype="<i4")
    outcome[at] = np.array([row[1] for row in rows], dtype="u1")
    value[at] = np.array([row[2] for row in rows], dtype="<f8")
    categories = sorted({row[3] for row in rows if row[3] is not None})
    index = {name: position for position, name in enumerate(categories)}
    category[at] = np.array([index.get(row[3], -1) for row in rows], dtype="<i4")
    series = Series(outcome, value, category, tuple(categories))
    return SeriesColumn.objects.create(
        grading_pass=grading_pass,
        version=version,
        layout=LAYOUT,
        rows=m,
        outcome=outcome.tobytes(),
        value=value.tobytes(),
        category=category.tobytes(),
        categories=categories,
        digest=series_digest(frozen.arm, series),
    )


def thaw(kept: SeriesColumn) -> Series:
    """The kept columns as arrays; views on the bytes, nothing is copied."""
    if kept.layout != LAYOUT:
        raise ValueError(f"series columns of layout {kept.layout} cannot be read by this build")
    return Series(
        outcome=np.frombuffer(kept.outcome, dtype="u1"),
        value=np.frombuffer(kept.value, dtype="<f8"),
        category=np.frombuffer(kept.category, dtype="<i4"),
        categories=tuple(kept.categories),
    )
