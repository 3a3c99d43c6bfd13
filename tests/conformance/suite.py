"""The conformance suite: three metrics, reported apart and never merged.

    policy       our verdicts against the frozen expectations, and against the published tool itself
    spec         the second implementation, written from docs/comparability.md alone, against both
    integration  the same core through Inspect AI and through Pydantic Evals, record for record

A failure of each means another thing: a fault of ours, an unclear page, a fault of an adapter. What
cannot be run has failed: there is no skip. Exit code 0 only if every metric is whole.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.resources
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.comparability import POLICY_VERSION, adjudicate, policy
from analysis.comparability.command import json_bytes
from tests.conformance import frozen, second_implementation
from tests.conformance.frozen import Pair
from tests.conformance.groups import CLAIMS, every_combination, groups

ROOT = Path(__file__).resolve().parents[2]
RANDOM_GROUPS = 3_000
SEED = 4
IDENTIFIER_LISTS = (
    "satisfied_conditions",
    "violated_conditions",
    "unknown_conditions",
    "supported_claims",
    "unsupported_claims",
)
SAME_FIELDS = ("case_id", "requested_claim", "comparison_scope", "admissibility", "evidence_refs")
ADAPTERS = ("inspect_scorer", "pydantic_evaluator")


@dataclass
class Check:
    """One question, asked `of` many pairs. `failures` holds a line for each that did not hold."""

    name: str
    of: int = 0
    held: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return self.held == self.of > 0 and not self.failures

    def ask(self, holds: bool, otherwise: str) -> None:
        self.of += 1
        self.held += holds
        if not holds:
            self.failures.append(otherwise)

    def to_dict(self) -> dict[str, Any]:
        shown = self.failures[:20]
        return {"name": self.name, "of": self.of, "held": self.held, "passed": self.passed, "failures": shown}


def checked(name: str, ask: Callable[[Check], None]) -> Check:
    """A check that could not be run to its end has failed, and says why."""
    check = Check(name)
    try:
        ask(check)
    except Exception as error:
        check.failures.append(f"could not be run: {type(error).__name__}: {error}")
    return check


# --- policy


def policy_checks(pairs: Callable[[], list[Pair]]) -> Iterator[Check]:
    def frozen_expectations(check: Check) -> None:
        for pair in pairs():
            found = adjudicate(pair.case, pair.claim).admissibility
            check.ask(found == pair.expected, f"{pair.name}: {found}, frozen as {pair.expected}")

    def published_pairs(check: Check) -> None:
        for pair in pairs():
            _ask_published(check, pair.case, pair.claim)

    def published_combinations(check: Check) -> None:
        for _, case in every_combination():
            for claim in CLAIMS:
                _ask_published(check, case, claim)

    def published_groups(check: Check) -> None:
        for case in groups(SEED, RANDOM_GROUPS):
            for claim in CLAIMS:
                _ask_published(check, case, claim)

    def published_schema(check: Check) -> None:
        jsonschema = importlib.import_module("jsonschema")
        text = (importlib.resources.files(frozen.PUBLISHED) / "data" / "cdr.schema.json").read_text("utf-8")
        theirs = jsonschema.Draft202012Validator(json.loads(text))
        ours = jsonschema.Draft202012Validator(
            json.loads((ROOT / "analysis/comparability/cdr.schema.json").read_text("utf-8"))
        )
        for pair in pairs():
            plain = adjudicate(pair.case, pair.claim).to_dict()
            check.ask(ours.is_valid(plain), f"{pair.name}: not valid by our schema")
            plain["policy_version"] = "cmp/0.3.1"
            check.ask(theirs.is_valid(plain), f"{pair.name}: not valid by the published schema")

    yield checked("frozen expectations", frozen_expectations)
    yield checked("published tool on the frozen pairs", published_pairs)
    yield checked("published tool on all settings of the six facts", published_combinations)
    yield checked("published tool on random groups", published_groups)
    yield checked("schemas", published_schema)


def _ask_published(check: Check, case: dict[str, Any], claim: str) -> None:
    """Our record beside that of the installed package: the same but for wording, version and limitation."""
    published = importlib.import_module(frozen.PUBLISHED)
    ours = adjudicate(case, claim).to_dict()
    theirs = published.adjudicate(case, claim).to_dict()
    same = list(ours) == list(theirs) and all(ours[name] == theirs[name] for name in SAME_FIELDS)
    for name in IDENTIFIER_LISTS:
        same = same and list(map(policy.identifier, ours[name])) == list(map(policy.identifier, theirs[name]))
    check.ask(same, f"{case['id']} {claim}: {ours} against {theirs}")


# --- spec


def spec_checks(pairs: Callable[[], list[Pair]]) -> Iterator[Check]:
    def frozen_expectations(check: Check) -> None:
        for pair in pairs():
            found = second_implementation.decide(pair.case, pair.claim)["admissibility"]
            check.ask(found == pair.expected, f"{pair.name}: {found}, frozen as {pair.expected}")

    def same_records(check: Check) -> None:
        cases = [pair.case for pair in pairs()]
        cases += [case for _, case in every_combination()]
        cases += groups(SEED, RANDOM_GROUPS, nested=True)
        for case in cases:
            for claim in CLAIMS:
                ours = json_bytes(adjudicate(case, claim).to_dict())
                check.ask(
                    ours == json_bytes(second_implementation.decide(case, claim)), f"{case['id']} {claim} differs"
                )

    yield checked("frozen expectations", frozen_expectations)
    yield checked("same records as ours, byte for byte", same_records)


# --- integration


def integration_checks(pairs: Callable[[], list[Pair]]) -> Iterator[Check]:
    for adapter in ADAPTERS:

        def through(check: Check, adapter: str = adapter) -> None:
            given = pairs()
            report = through_adapter(adapter, given)
            check.failures += report["faults"]
            agreed = set(report["agreed"])
            for pair in given:
                found = report["decisions"].get(pair.name)
                same = found == adjudicate(pair.case, pair.claim).to_dict()
                check.ask(same and pair.name in agreed, f"{pair.name}: came back as {found}")

        def notices(check: Check, adapter: str = adapter) -> None:
            given = pairs()
            wrong = given[0]._replace(expected="PARTIAL" if given[0].expected != "PARTIAL" else "ADMISSIBLE")
            report = through_adapter(adapter, [wrong, *given[1:]])
            seen = not report["consistent"] and report["agreed"] == sorted(pair.name for pair in given[1:])
            check.ask(seen, f"{wrong.name} was expected as {wrong.expected}, and nothing was said")

        yield checked(f"frozen pairs through {adapter}", through)
        yield checked(f"a wrong answer is seen by {adapter}", notices)


def through_adapter(adapter: str, pairs: Sequence[Pair]) -> dict[str, Any]:
    """An adapter's report, from a process that sees `analysis` and nothing else of this project.

    Our top-level package `datasets` hides Hugging Face's, which Inspect imports when it needs it.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "path").mkdir()
        (Path(folder) / "path" / "analysis").symlink_to(ROOT / "analysis", target_is_directory=True)
        given = Path(folder) / "pairs.json"
        given.write_bytes(
            json_bytes([{"name": p.name, "case": p.case, "claim": p.claim, "expected": p.expected} for p in pairs])
        )
        ended = subprocess.run(
            [sys.executable, "-P", "-m", f"analysis.comparability.adapters.{adapter}", str(given)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(Path(folder) / "path")},
            capture_output=True,
            check=False,
            timeout=600,
        )
    if ended.returncode not in (0, 1) or not ended.stdout:
        last = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"the adapter ended with {ended.returncode}: {''.join(last)}")
    report: dict[str, Any] = json.loads(ended.stdout)
    return report


# --- the report


def run(pairs: Callable[[], list[Pair]] = frozen.from_package) -> dict[str, Any]:
    """The three metrics. Nothing here adds them up."""
    metrics = {
        "policy": list(policy_checks(pairs)),
        "spec": list(spec_checks(pairs)),
        "integration": list(integration_checks(pairs)),
    }
    return {
        "policy_version": POLICY_VERSION,
        "table_sha256": policy.table_digest(),
        **{
            name: {
                "passed": bool(checks) and all(check.passed for check in checks),
                "checks": [check.to_dict() for check in checks],
            }
            for name, checks in metrics.items()
        },
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", allow_abbrev=False)
    parser.add_argument("-o", "--output", metavar="FILE", help="also write the report as JSON")
    given = parser.parse_args(argv)
    report = run()
    for name in ("policy", "spec", "integration"):
        print(f"{name:12} {'passed' if report[name]['passed'] else 'FAILED'}")
        for check in report[name]["checks"]:
            print(f"    {check['held']:>6} of {check['of']:>6}  {check['name']}")
            for line in check["failures"]:
                print(f"            {line[:300]}")
    if given.output:
        Path(given.output).write_bytes(json_bytes(report))
    return 0 if all(report[name]["passed"] for name in ("policy", "spec", "integration")) else 1
