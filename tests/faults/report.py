"""What the faults did, as a table."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

SEED = re.compile(r"(?<=\[)(?:seed|schedule)\d+-?")


def _name(report: Any) -> str:
    """The fault without its seed: what several seeds did to it stands in one line."""
    name = report.nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")
    return SEED.sub("", name).removesuffix("[]")


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
the lease, a tick and ten seconds. Written by `make faults ARGS="{args}"`. More seeds choose other
moments: `--seeds 1,2,3`. Two more are only done when they are asked for: `--schedules 20`, that many random schedules
of several faults on top of each other, and `--soak 30`, so many minutes of work with a fault every 20 seconds.
[faults.md](faults.md) is what every change goes through; [faults-long.md](faults-long.md) is what was asked for once.

| figure | measured | target |
|---|---|---|
"""


def written(reports: Sequence[Any], args: str) -> str:
    lines = [f"| {name} | {value} | {target or '-'} |" for name, value, target in _totals(reports)]
    lines += [
        "",
        "Of several seeds, calls are added up, and the longest time is given.",
        "",
        "| fault | survived | calls | indeterminate | next item after | ended after |",
        "|---|---|---|---|---|---|",
    ]
    notes = []
    for name, group in groupby(sorted(reports, key=_name), key=_name):
        same = list(group)
        said = [_figures(report) for report in same]
        survived = sum(report.outcome == "passed" for report in same)
        cells = [
            f"{survived} / {len(same)}" if survived == len(same) else f"**{survived} / {len(same)}**",
            *(str(sum(one.get(figure, 0) for one in said)) for figure in ("calls", "indeterminate")),
            *(_longest([one[figure] for one in said if figure in one]) for figure in ("recovery", "ended")),
        ]
        lines.append(f"| {' | '.join((name, *cells))} |")
        notes += [f"{name}: {one['note']}." for one in said if "note" in one]
    if notes:
        lines += ["", *notes]
    return HEAD.format(args=args) + "\n".join(lines) + "\n"


def _longest(values: Sequence[float]) -> str:
    return f"{max(values):.1f} s" if values else "-"
