"""A whole import in a worker process, against plain COPY of as many rows into a table of the same shape.

python -m tests.bench.importing IMPORT_ID    does one waiting import as a worker would, and tells how it went
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench.installation import ROOT, Installation
from tests.bench.measuring import Row, Section, megabytes, ms

EXECUTIONS = (6_000, 30_000, 60_000)
MEMORY = 300 * 2**20


def run(installation: Installation, sizes: tuple[int, ...] = EXECUTIONS) -> Section:
    section = Section(
        "Import",
        "A file per arm, three repetitions, two judgments each, answers of 600 characters: looked at, confirmed and "
        "written by a worker process of its own, everything checked and frozen, in one transaction. Floor: COPY of "
        "as many execution rows, made ready beforehand, into a copy of that table with its indexes and checks. The "
        "ratio is of executions per second.",
    )
    speeds, peaks = [], []
    for size in sizes:
        floor, ours, peak = _measure(installation, size)
        speeds.append(size / ours)
        peaks.append(peak)
        section.rows.append(
            Row(
                f"{size:,} executions",
                f"{size / ours:,.0f}/s",
                f"{size / floor:,.0f}/s ({ms(floor)})",
                floor / ours,
                0.1,
                at_least=True,
                shown=f"1/{ours / floor:.1f}",
            )
        )
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


def _measure(installation: Installation, executions: int, rounds: int = 3) -> tuple[float, float, int]:
    """Seconds of the floor and of ours in their middle round, and the worker's peak."""
    found = []
    for number in range(rounds):
        started, peak, experiments = _import(installation, executions, number)
        found.append((_copy(experiments), started, peak))
    found.sort(key=lambda one: one[0] / one[1])
    floor, ours, _ = found[len(found) // 2]
    return floor, ours, max(peak for *_, peak in found)


def _import(installation: Installation, executions: int, number: int) -> tuple[float, int, list[str]]:
    from intake import actions, storage
    from intake.models import Import, ImportState
    from tests.bench import workload

    made = workload.write(installation.folder, executions // 6, 3)
    row, _ = actions.create(
        access=installation.access,
        uploads=actions.keep_files([(path.name, storage.chunks_of(path)) for _, path in made]),
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
        raise RuntimeError(f"the import ended as {done.state}: {done.refusal_code}")
    return facts["seconds"], facts["peak"], [one["experiment"] for one in done.summary["results"]]


def _copy(experiments: list[str]) -> float:
    """Seconds of copying these experiments' execution rows into an empty, indexed copy of their table."""
    from django.db import connection, transaction

    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bench_execution (LIKE runs_execution INCLUDING ALL)")
        try:
            query = "COPY (SELECT * FROM runs_execution WHERE experiment_id = ANY(%s)) TO STDOUT"
            with cursor.copy(query, [experiments]) as copy:
                rows = [bytes(piece) for piece in copy]
            started = time.perf_counter()
            with transaction.atomic(), cursor.copy("COPY bench_execution FROM STDIN") as copy:
                for row in rows:
                    copy.write(row)
            return time.perf_counter() - started
        finally:
            cursor.execute("DROP TABLE bench_execution")


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
