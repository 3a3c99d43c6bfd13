"""What both adapters share: pairs of a case and a claim in, one report out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.comparability.command import Unusable, failed, file_name, print_bytes, read_bytes, read_json
from analysis.comparability.core import adjudicate


@dataclass(frozen=True, slots=True)
class Pair:
    name: str
    case: Mapping[str, Any]
    claim: str
    expected: str


@dataclass(slots=True)
class Report:
    """What came back through a framework. `faults` says why the run as a whole cannot be relied on."""

    framework: str
    version: str
    asked: int
    decisions: dict[str, Any] = field(default_factory=dict)
    """Per pair the decision record that the framework carried."""
    agreed: list[str] = field(default_factory=list)
    """Pairs that the framework itself counted as meeting the expectation."""
    faults: list[str] = field(default_factory=list)

    @property
    def consistent(self) -> bool:
        return not self.faults and len(self.decisions) == len(self.agreed) == self.asked > 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "framework": self.framework,
            "version": self.version,
            "pairs": self.asked,
            "agreed": sorted(self.agreed),
            "faults": self.faults,
            "consistent": self.consistent,
            "decisions": self.decisions,
        }


def decided(pair: Pair) -> str:
    """The decision record of a pair as text: what a framework is given as the output of its task."""
    return json.dumps(adjudicate(pair.case, pair.claim).to_dict(), ensure_ascii=False)


def read_pairs(path: str) -> list[Pair]:
    name = file_name(path)
    value = read_json(read_bytes(path), name)
    if not isinstance(value, list):
        raise Unusable(f"{name}: expected a list of pairs")
    try:
        return [Pair(entry["name"], entry["case"], entry["claim"], entry["expected"]) for entry in value]
    except (KeyError, TypeError):
        raise Unusable(f"{name}: each pair needs name, case, claim and expected") from None


def main(argv: Sequence[str] | None, run: Callable[[Sequence[Pair]], Report], prog: str) -> int:
    """Run all pairs through a framework; 0 only if every one of them came back as expected."""
    parser = argparse.ArgumentParser(prog=f"python -m {prog}", allow_abbrev=False)
    parser.add_argument("pairs", metavar="PAIRS.json", help='a list of {"name", "case", "claim", "expected"}')
    try:
        given = parser.parse_args(argv)
    except SystemExit as ended:
        return 0 if ended.code in (0, None) else 2
    try:
        report = run(read_pairs(given.pairs))
        print_bytes((json.dumps(report.to_dict(), ensure_ascii=False, indent=2) + "\n").encode())
    except Unusable as unusable:
        return failed(unusable.lines)
    for fault in report.faults:
        sys.stderr.write(f"fault: {fault}\n")
    return 0 if report.consistent else 1
