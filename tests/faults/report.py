"""What the faults did, as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def _name(report: Any) -> str:
    return report.nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")


def _figures(report: Any) -> dict[str, Any]:
    return next((value for name, value in report.user_properties if name == "figures"), {})


def _totals(reports: Sequence[Any]) -> list[tuple[str, str, str]]:
    """Name, value, target."""
    found = [_figures(report) for report in reports]
    survived = sum(report.outcome == "passed" for report in reports)
    recoveries = sorted(one["recovery"] for one in found if "recovery" in one)
    p95 = f"{recoveries[math.ceil(0.95 * len(recoveries)) - 1]:.1f} s of {len(recoveries)}" if recoveries else "-"
    dead = sum(one.get("dead", 0) for one in found)
    shown = sum(min(one.get("dead", 0), one.get("indeterminate", 0)) for one in found)
    return [
        ("faults survived / tried", f"{survived} / {len(reports)}", "all"),
        ("calls made", str(sum(one.get("calls", 0) for one in found)), ""),
        ("calls repeated without an explicit retry", str(sum(one.get("repeated", 0) for one in found)), "0"),
        ("acknowledged writes lost", str(sum(one.get("lost", 0) for one in found)), "0"),
        ("killed in flight, shown indeterminate", f"{shown} / {dead}", "all"),
        ("fault to next item claimed, p95", p95, "12 s"),
    ]


def table(reports: Sequence[Any]) -> list[str]:
    rows = [(name, value, f"(target {target})" if target else "") for name, value, target in _totals(reports)]
    return [f"{name:<44}{value:>14}  {target}" for name, value, target in rows]


HEAD = """# Faults

What was done to a running installation and what became of it. Each fault has a PostgreSQL, a broker, a model
provider and workers of its own; after each the books are checked (`tests/faults/ledger.py`), and work must end within
the lease, a tick and ten seconds. Written by `make faults ARGS="--faults-report docs/faults.md"`.

| figure | measured | target |
|---|---|---|
"""


def written(reports: Sequence[Any]) -> str:
    lines = [f"| {name} | {value} | {target or '-'} |" for name, value, target in _totals(reports)]
    lines += [
        "",
        "| fault | survived | calls | indeterminate | next item after | ended after |",
        "|---|---|---|---|---|---|",
    ]
    for report in sorted(reports, key=lambda one: one.nodeid):
        said = _figures(report)
        cells = [_seconds(said.get("recovery")), _seconds(said.get("ended"))]
        counted = [str(said.get(name, "-")) for name in ("calls", "indeterminate")]
        lines.append(
            " | ".join(("| " + _name(report), "yes" if report.outcome == "passed" else "**no**", *counted, *cells))
            + " |"
        )
    return HEAD + "\n".join(lines) + "\n"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
