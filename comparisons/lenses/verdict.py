"""The verdict on a paired comparison of stored evidence: what the store knows of each side, judged once."""

from __future__ import annotations

from typing import Any

from analysis.verdicts.paired import Arm, Verdicts, judged
from comparisons.evidence import MEGABYTE
from comparisons.lenses.paired import Paired
from comparisons.selection import Chosen
from comparisons.shelf import Shelf

SIZE = 64 * 1024  # bytes of the findings of all claims, about
_kept: Shelf[Verdicts] = Shelf(2 * MEGABYTE)


def verdicts(paired: Paired) -> Verdicts:
    """The verdict on every claim a person might make about this comparison; the headline's claim first."""
    arms = _arms(paired)
    also = len(paired.resolved.other_metrics)
    key: tuple[Any, ...] = (paired.resolved.candidate.experiment.team_id, paired.key, *arms, also)
    found = _kept.get(key)
    if found is None:
        comparison = paired.selection.fingerprint
        found = judged(paired.result, paired.cases, *arms, comparison=comparison, also_measured=also)
        _kept.put(key, found, SIZE)
    return found


def forget() -> None:
    """Empty this process's memory; for tests and measurements."""
    _kept.clear()


def _arms(paired: Paired) -> tuple[Arm, Arm]:
    mine, other = paired.resolved.candidate, paired.resolved.baseline
    return _arm(mine, paired.taken_away[0]), _arm(other, paired.taken_away[1])


def _arm(chosen: Chosen, taken_away: int) -> Arm:
    experiment = chosen.experiment
    return Arm(
        run=f"experiment:{experiment.pk}",
        graded=f"pass:{chosen.grading_pass.pk}",
        dataset=str(experiment.version.dataset_id),
        manifest=experiment.manifest_sha256,
        repetitions=experiment.repetitions,
        trust=experiment.trust,
        grader=chosen.version.sha256,
        interpretation=chosen.interpretation.sha256 if chosen.interpretation else "",
        duplicates=experiment.duplicates,
        taken_away=taken_away,
    )
