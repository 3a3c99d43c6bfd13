"""What a web worker holds after it served the comparison."""

from __future__ import annotations

from pathlib import Path

from tests.bench.importing import peak_bytes
from tests.bench.installation import Installation, Server
from tests.bench.measuring import Row, Section, megabytes

LIMIT = 250 * 2**20


def run(installation: Installation, server: Server, cases: int) -> Section:
    section = Section(
        "Memory of a web worker",
        "Resident memory of the largest web worker after it computed and showed the comparison of both metrics, "
        "opened every tab, filtered and exported.",
    )
    pair = installation.pair(cases)
    for _ in range(6):
        for metric in ("correct", "score"):
            server.get(pair.page(metric, fresh=True), **{"X-Bench-Forget": "1"})
            for more in ({"tab": "unmatched"}, {"tab": "coverage"}, {"tab": "ranges"}, {"only_regressions": 1}):
                server.get(pair.page(metric, **more))
            server.get(pair.page(metric).replace("/paired?", "/export?") + "&format=csv")
            server.reconnect()
    held = max(_resident(pid) for pid in server.workers())
    most = max(peak_bytes(pid) for pid in server.workers())
    section.rows += [
        Row("resident", megabytes(held), "250 MiB", held / LIMIT, 1.0),
        Row("at its peak", megabytes(most), "250 MiB", most / LIMIT),
    ]
    return section


def _resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this system does not tell a process's memory")
