"""A whole import in a worker process, against plain COPY of as many rows into a table of the same shape.

python -m tests.bench.importing IMPORT_ID    does one waiting import as a worker would, and tells how it went
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.bench.installation import ROOT, Installation
from tests.bench.measuring import Row, Section, megabytes

EXECUTIONS = (6_000, 30_000, 60_000)
MEMORY = 300 * 2**20


def run(installation: Installation, sizes: tuple[int, ...] = EXECUTIONS) -> Section:
    section = Section(
        "Import",
        "A file per arm, three repetitions, two judgments each, answers of 600 characters: looked at, confirmed and "
        "written by a worker process of its own, everything checked and frozen, in one transaction. Floor: COPY of "
        "the same executions, answers and judgments, made ready beforehand, into copies of their tables with indexes "
        "and checks; beside it, without a bar, COPY of the execution rows alone. The ratio is "
        "of executions per second.",
    )
    speeds, peaks = [], []
    for size in sizes:
        measured, peak = _measure(installation, size)
        for floor, ours, what in measured:
            section.rows.append(
                Row(
                    f"{size:,} executions, against {what}",
                    f"{size / ours:,.0f}/s",
                    f"{size / floor:,.0f}/s",
                    floor / ours,
                    0.1 if what == ALL else None,
                    at_least=True,
                    shown=f"1/{ours / floor:.1f}",
                )
            )
        speeds.append(size / ours)
        peaks.append(peak)
    section.rows += [
        Row(
            f"speed at {sizes[-1]:,} against {sizes[0]:,}",
            f"{speeds[-1]:,.0f}/s",
            f"{speeds[0]:,.0f}/s",
            speeds[-1] / speeds[0],
            0.7,
            at_least=True,
        ),
        Row(
            f"peak memory of the worker at {', '.join(f'{size:,}' for size in sizes)}",
            ", ".join(megabytes(peak) for peak in peaks),
            "300 MiB",
            max(peaks) / MEMORY,
            1.0,
        ),
    ]
    return section


ALL, NARROW = "the same rows", "execution rows alone"


def _measure(
    installation: Installation, executions: int, rounds: int = 3
) -> tuple[list[tuple[float, float, str]], int]:
    """Per floor its seconds and ours in the middle round, and which floor it is; and the worker's highest peak."""
    found: dict[str, list[tuple[float, float]]] = {ALL: [], NARROW: []}
    most = 0
    for number in range(rounds):
        ours, peak, experiments = _import(installation, executions, number)
        most = max(most, peak)
        found[ALL].append((_copy(experiments, TABLES), ours))
        found[NARROW].append((_copy(experiments, ["runs_execution"]), ours))
    middle = {what: sorted(rows, key=lambda row: row[0] / row[1])[rounds // 2] for what, rows in found.items()}
    return [(floor, ours, what) for what, (floor, ours) in middle.items()], most


def _import(installation: Installation, executions: int, number: int) -> tuple[float, int, list[str]]:
    from intake import actions, storage
    from intake.models import Import, ImportState
    from tests.bench import workload

    made = workload.write(installation.folder, executions // 6, 3)
    row, _ = actions.create(
        access=installation.access,
        files=[(path.name, storage.chunks_of(path)) for _, path in made],
        key=f"bench-import-{executions}-{number}",
        dataset_name=f"Imported {executions} {number}",
        mapping=workload.MAPPING,
        one_shot=True,
    )
    for _, path in made:
        path.unlink()
    told = subprocess.run(
        [sys.executable, "-m", "tests.bench.importing", str(row.pk)], cwd=ROOT, check=True, capture_output=True
    )
    facts = json.loads(told.stdout)
    done = Import.objects.get(pk=row.pk)
    if done.state != ImportState.COMPLETED:
        raise RuntimeError(f"the import ended as {done.state} ({done.refusal_code}): {told.stderr.decode()[-2_000:]}")
    return facts["seconds"], facts["peak"], [one["experiment"] for one in done.summary["results"]]


TABLES = {
    "runs_execution": "SELECT * FROM runs_execution WHERE experiment_id = ANY(%s)",
    "runs_answer": """
        SELECT a.* FROM runs_answer a JOIN runs_execution e ON e.id = a.execution_id WHERE e.experiment_id = ANY(%s)
    """,
    "grading_judgment": """
        SELECT j.* FROM grading_judgment j JOIN runs_execution e ON e.id = j.execution_id
        WHERE e.experiment_id = ANY(%s)
    """,
}


def _copy(experiments: list[str], tables: Collection[str]) -> float:
    """Seconds of copying what these experiments hold of some tables into empty, indexed copies of them."""
    from django.db import connection, transaction

    spent = 0.0
    with connection.cursor() as cursor:
        for table in tables:
            with cursor.copy(f"COPY ({TABLES[table]}) TO STDOUT", [experiments]) as copy:
                rows = [bytes(piece) for piece in copy]
            cursor.execute(f"CREATE TABLE bench_copy (LIKE {table} INCLUDING ALL)")
            try:
                started = time.perf_counter()
                with transaction.atomic(), cursor.copy("COPY bench_copy FROM STDIN") as copy:
                    for row in rows:
                        copy.write(row)
                spent += time.perf_counter() - started
            finally:
                cursor.execute("DROP TABLE bench_copy")
    return spent


def peak_bytes(pid: int | str = "self") -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this system does not tell a process's peak memory")


def work(import_id: str) -> dict[str, Any]:
    """Do an import's steps until none is left; its time counts from when the program is ready."""
    import django

    django.setup()
    from django.db import connection

    from intake import working

    connection.ensure_connection()
    started = time.perf_counter()
    with working.bounded_memory():
        while working.advance(import_id):  # type: ignore[arg-type]
            pass
    return {"seconds": time.perf_counter() - started, "peak": peak_bytes()}


if __name__ == "__main__":
    print(json.dumps(work(sys.argv[1])))
