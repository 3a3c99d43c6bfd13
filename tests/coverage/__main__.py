"""python -m tests.coverage: measure everything, write docs/coverage.md, fail where a bound is broken."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.coverage import report

DOCUMENT = Path(__file__).parents[2] / "docs" / "coverage.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=2_000, help="data sets for each setting")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=DOCUMENT)
    chosen = parser.parse_args()
    start = time.monotonic()
    cells = list(report.cells(chosen.datasets))
    with ProcessPoolExecutor(chosen.workers) as pool:
        found = dict(pool.map(report.Cell.run, cells))
    results = report.Results(found)
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(report.document(results, chosen.datasets))
    outside = results.outside()
    shares = [share for _, share in results.leading()]
    print(
        f"{len(cells)} settings of {chosen.datasets:,} data sets in {time.monotonic() - start:.0f} s: {chosen.output}"
    )
    print(f"Leading interval: {min(shares):.1%} to {max(shares):.1%} over {len(shares)} settings.")
    for key, share in outside:
        print(f"Outside {report.LOWEST:.0%} to {report.HIGHEST:.1%}: {' '.join(map(str, key))}: {share:.2%}")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
