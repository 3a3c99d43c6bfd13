"""python -m tests.bench [SECTION ...] [--cases N] [--write]: speed and memory as ratios, beside their bars.

Always ends with 0 unless something is broken: a busy machine is no fault of ours.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from tests.bench import report
from tests.bench.measuring import Section

SECTIONS = ("resampling", "statistics", "import", "scheduling", "compare", "repeat", "browser", "memory")
GROWTH = 1_000


def measured(asked: list[str], cases: int) -> Iterator[Section]:
    if "resampling" in asked:
        from tests.bench import resampling

        yield resampling.run(cases)
    if "statistics" in asked:
        from tests.bench import statistics

        yield statistics.run(cases)
    if set(asked) <= {"resampling", "statistics"}:
        return
    from tests.bench.installation import open_installation

    with ExitStack() as stack:
        installation = stack.enter_context(open_installation())
        if "import" in asked:
            from tests.bench import importing

            yield importing.run(installation, tuple(cases * 6 // part for part in (10, 2, 1)))
        if "scheduling" in asked:
            from tests.bench import scheduling

            yield scheduling.run(installation)
        if set(asked) <= {"resampling", "statistics", "import", "scheduling"}:
            return
        server = stack.enter_context(installation.server())
        if "compare" in asked:
            from tests.bench import comparing

            yield comparing.run(installation, server, tuple(sorted({min(GROWTH, cases), cases})))
        if "repeat" in asked:
            from tests.bench import repeating

            yield repeating.run(installation, server, cases)
        if "browser" in asked:
            from tests.bench import browsing

            yield browsing.run(installation, server, cases)
        if "memory" in asked:
            from tests.bench import memory

            yield memory.run(installation, server, cases)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; all unless named")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md; all sections are needed")
    arguments = parser.parse_args()
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    asked = arguments.sections or list(SECTIONS)
    found = []
    for section in measured(asked, arguments.cases):
        report.show(section)
        found.append(section)
    if arguments.write and not arguments.sections:
        report.write(found, arguments.cases)
    elif arguments.write:
        print("docs/benchmarks.md stays as it is: it holds all sections or none.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
