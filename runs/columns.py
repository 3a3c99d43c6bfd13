"""A finished experiment's executions as compact columns, and back as an `Arm`.

The columns are derived from the rows once, when the experiment is finished, and never change. Layout 1:
little-endian arrays in the canonical order of `analysis.observations.Arm`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from analysis.columns import digest_order
from analysis.observations import Arm
from runs.models import ArmColumns, Experiment
from teams.bulk import hashed_joins

LAYOUT = 1
ID_BYTES = 16
ROW_FIELDS = {
    "case": "<i4",
    "repetition": "<i4",
    "generation": "u1",
    "failure": "u1",
    "latency_ms": "<f8",
    "cost_micros": "<i8",
    "cost_coverage": "u1",
}


@dataclass(frozen=True, slots=True)
class FrozenArm:
    """An arm with the identities behind it: revision ids per case (n), execution ids per row (m)."""

    arm: Arm
    revisions: NDArray[np.void]
    executions: NDArray[np.int64]
    sha256: str

    def revision(self, case: int) -> UUID:
        return UUID(bytes=self.revisions[case].tobytes())


def freeze(experiment: Experiment) -> ArmColumns:
    """Read an experiment's executions and keep them as columns. Called once, before it is completed."""
    with hashed_joins(), connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT i.source_digest, r.content_digest, r.id, e.repetition, e.state, e.failure_kind,
                   e.duration_ms, e.cost_micros, e.cost_coverage, e.id, r.group_digest
            FROM runs_execution e
            JOIN datasets_itemrevision r ON r.id = e.revision_id
            JOIN datasets_item i ON i.id = r.item_id
            WHERE e.experiment_id = %s AND NOT e.superseded
            """,
            [experiment.pk],
        )
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    digests = np.array([bytes(row[0]) for row in rows], dtype="S32")
    by_source = digest_order(digests)
    repetition = np.array([row[3] for row in rows], dtype="<i4")
    starts = np.ones(len(rows), dtype=bool)
    starts[1:] = digests[by_source[1:]] != digests[by_source[:-1]]
    case_of_row = np.empty(len(rows), dtype="<i4")
    case_of_row[by_source] = np.cumsum(starts) - 1
    order = np.lexsort((repetition, case_of_row))
    first = by_source[starts]
    columns = {
        "case": case_of_row[order],
        "repetition": repetition[order],
        "generation": np.array([row[4] for row in rows], dtype="u1")[order],
        "failure": np.array([row[5] for row in rows], dtype="u1")[order],
        "latency_ms": np.array([row[6] for row in rows], dtype="<f8")[order],  # None becomes NaN
        "cost_micros": np.array([row[7] for row in rows], dtype="<i8")[order],
        "cost_coverage": np.array([row[8] for row in rows], dtype="u1")[order],
    }
    packed: dict[str, bytes] = {
        "source": b"".join(bytes(rows[index][0]) for index in first),
        "content": b"".join(bytes(rows[index][1]).ljust(32, b"\0") for index in first),
        "revisions": b"".join(rows[index][2].bytes for index in first),
        "executions": np.array([row[9] for row in rows], dtype="<i8")[order].tobytes(),
        **{name: array.tobytes() for name, array in columns.items()},
    }
    if any(rows[index][10] for index in first):
        packed["groups"] = b"".join(bytes(rows[index][10]).ljust(32, b"\0") for index in first)
    digest = hashlib.sha256()
    for name in sorted(packed):
        digest.update(name.encode() + b"\0" + packed[name])
    return ArmColumns.objects.create(
        experiment=experiment, layout=LAYOUT, cases=len(first), rows=len(rows), sha256=digest.hexdigest(), **packed
    )


def thaw(kept: ArmColumns) -> FrozenArm:
    """The kept columns as arrays; views on the bytes, nothing is copied."""
    if kept.layout != LAYOUT:
        raise ValueError(f"arm columns of layout {kept.layout} cannot be read by this build")
    arm = Arm(
        source=np.frombuffer(kept.source, dtype="S32"),
        content=np.frombuffer(kept.content, dtype="S32"),
        group=np.frombuffer(kept.groups, dtype="S32"),
        **{name: np.frombuffer(getattr(kept, name), dtype=kind) for name, kind in ROW_FIELDS.items()},
    )
    return FrozenArm(
        arm=arm,
        revisions=np.frombuffer(kept.revisions, dtype=f"V{ID_BYTES}"),
        executions=np.frombuffer(kept.executions, dtype="<i8"),
        sha256=kept.sha256,
    )
