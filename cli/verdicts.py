"""What may be said about a comparison of files: what the files and the person say of each side, judged once."""

from __future__ import annotations

import hashlib

from analysis.results import PairedComparison
from analysis.verdicts.paired import Arm, Tier, Verdicts, judged
from cli.sources import Measure, Source
from intake.readers import Collected, Scorer
from intake.readers.collecting import grader_identity

STATED = (Tier.INSUFFICIENT, Tier.AGENT_CLAIMED, Tier.SOURCE_VERIFIER)
"""What a person may say of files. That somebody verified them independently takes more than an option."""


def of_files(
    comparison: PairedComparison,
    sides: tuple[tuple[Source, Collected], tuple[Source, Collected]],
    measure: Measure,
    *,
    dataset: str,
    trust: Tier,
) -> Verdicts:
    """The verdict on every claim about candidate and baseline, in this order.

    Both sides are of one dataset if somebody says so (`dataset`), if they lie in one file, or if both files
    name the same one; otherwise nobody knows.
    """
    (one, mine), (two, other) = sides
    names = (dataset, dataset) if dataset else (mine.facts.dataset, other.facts.dataset)
    if not all(names) and one.path.resolve() == two.path.resolve():
        names = ("one file", "one file")
    scorers = (measure.candidate, measure.baseline)
    arms = [
        _arm(collected, scorer, name, trust)
        for collected, scorer, name in zip((mine, other), scorers, names, strict=True)
    ]
    shared = {scorer.key for scorer in mine.facts.scorers} & {scorer.key for scorer in other.facts.scorers}
    result = comparison.result
    return judged(
        result,
        comparison.cases,
        *arms,
        comparison=f"files:{result.candidate.series_digest[:16]}:{result.baseline.series_digest[:16]}",
        also_measured=len(shared - {measure.candidate.key, measure.baseline.key}),
    )


def _arm(collected: Collected, scorer: Scorer, dataset: str, trust: Tier) -> Arm:
    facts = collected.facts
    digest = hashlib.sha256(b"evenhand/manifest of a file/1\0")
    for row in sorted((row.source + row.content.ljust(32, b"\0"), row.repetition) for row in collected.rows):
        digest.update(row[0] + row[1].to_bytes(8, "big"))
    run = facts.source_run_id
    return Arm(
        run=f"run:{run}",
        graded=f"run:{run}/{scorer.key}",
        dataset=dataset or None,
        manifest=digest.hexdigest(),
        repetitions=len({row.repetition for row in collected.rows}),
        trust=trust.value,
        grader=grader_identity(scorer),
        duplicates=collected.duplicates,
    )
