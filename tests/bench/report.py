"""Measured sections as tables: on screen, and as docs/benchmarks.md."""

from __future__ import annotations

import os
from pathlib import Path

from tests.bench.measuring import Row, Section

TARGET = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def ratio(row: Row) -> str:
    if row.shown:
        return row.shown
    return "–" if row.ratio is None else f"{row.ratio:.2f}"


def bar(row: Row) -> str:
    if row.bar is None:
        return "–"
    return f"{'≥' if row.at_least else '≤'} {row.bar:g}"


def verdict(row: Row) -> str:
    return {None: "", True: "met", False: "missed"}[row.met]


def show(section: Section) -> None:
    print(f"\n{section.title}")
    width = max((len(row.what) for row in section.rows), default=0)
    for row in section.rows:
        print(f"  {row.what:<{width}}  {ratio(row):>8}  {bar(row):>6}  {verdict(row):6}  {row.ours} / {row.floor}")
    for remark in section.remarks:
        print(f"  {remark}")


def write(sections: list[Section], cases: int) -> None:
    missed = [row.what for section in sections for row in section.rows if row.met is False]
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`, which measures Evenhand and the floor or peer of each row in turn, in one run, and",
        "takes the median of the rounds' ratios. Ratios hold from machine to machine; times move with the machine",
        "and with what else it does, and stand here only to give a sense of size. Nothing fails by a missed bar.",
        "",
        f"This run: {cases:,} cases, {os.cpu_count()} processor cores shared with other work. "
        + ("Every bar was met." if not missed else f"{len(missed)} of the bars missed: {'; '.join(missed)}."),
    ]
    for section in sections:
        lines += ["", f"## {section.title}", "", section.about, ""]
        if section.rows:
            lines += ["| what | ratio | bar | | Evenhand | floor |", "|---|--:|--:|---|--:|--:|"]
            lines += [
                f"| {row.what} | **{ratio(row)}** | {bar(row)} | {verdict(row)} | {row.ours} | {row.floor} |"
                for row in section.rows
            ]
        lines += [f"\n{remark}" for remark in section.remarks]
    TARGET.write_text("\n".join(lines) + "\n")
