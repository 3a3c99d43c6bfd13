"""The paired lens: two sides of one dataset, one frozen comparison.

Computed once per evidence and kept; a later reader of the same evidence gets the same bytes back.
Rights are judged by whoever calls, each time.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache, cached_property
from pathlib import Path

import analysis
from analysis.observations import Spend
from analysis.paired import compare
from analysis.resampling import METHOD_VERSION
from analysis.results import PairedCases, PairedComparison, PairedResult, UnmatchedRows, plain
from comparisons import evidence, kept
from comparisons.evidence import Loaded
from comparisons.models import KeptResult
from comparisons.selection import Chosen, Resolved, Selection
from comparisons.shelf import Shelf
from teams.models import Team

_results: Shelf[PairedComparison] = Shelf(48 * evidence.MEGABYTE)


class Paired:
    """A resolved selection with its comparison; the columns behind it are loaded when first needed."""

    def __init__(
        self,
        key: str,
        resolved: Resolved,
        comparison: PairedComparison,
        loaded: tuple[Loaded, Loaded] | None,
        taken_away: tuple[int, int],
    ) -> None:
        self.key = key
        """Identity of the result in the team: equal key, equal result."""
        self.resolved = resolved
        self.comparison = comparison
        self.taken_away = taken_away
        """Answers of candidate and baseline that can no longer be read."""
        self._given = loaded

    @cached_property
    def loaded(self) -> tuple[Loaded, Loaded]:
        return self._given or evidence.load(self.resolved)

    @property
    def selection(self) -> Selection:
        return self.resolved.selection

    @property
    def result(self) -> PairedResult:
        return self.comparison.result

    @property
    def cases(self) -> PairedCases:
        return self.comparison.cases

    @property
    def unmatched(self) -> UnmatchedRows:
        return self.comparison.unmatched


def view(team: Team, resolved: Resolved, *, keep: bool = True) -> Paired:
    """The comparison of a resolved selection: from this process, from the database, or computed and kept.

    Without `keep` nothing is written, for readers that promise so.
    """
    spends = evidence.spends(resolved)
    key = key_of(resolved, spends)
    taken_away = evidence.taken_away(resolved)
    comparison = _results.get((team.pk, key))
    if comparison is not None:
        return Paired(key, resolved, comparison, None, taken_away)
    row = KeptResult.objects.filter(team=team, key=key).only("result").first()
    if row is not None:
        comparison = kept.unpack(row.result)
        _results.put((team.pk, key), comparison, kept.size_of(comparison))
        return Paired(key, resolved, comparison, None, taken_away)
    loaded = evidence.load(resolved)
    candidate, baseline = evidence.sides(resolved, loaded, spends)
    margin = resolved.selection.margin
    comparison = compare(
        candidate,
        baseline,
        target=float(resolved.selection.target),
        margin=None if margin is None else float(margin),
    )
    if keep:
        KeptResult.objects.bulk_create(
            [KeptResult(team=team, key=key, method_version=METHOD_VERSION, result=kept.pack(comparison))],
            ignore_conflicts=True,  # another worker kept the same bytes first
        )
    _results.put((team.pk, key), comparison, kept.size_of(comparison))
    return Paired(key, resolved, comparison, loaded, taken_away)


def forget() -> None:
    """Empty this process's memory; for tests and measurements."""
    _results.clear()
    evidence.forget()


def key_of(resolved: Resolved, spends: tuple[Spend, Spend]) -> str:
    """SHA-256 over everything a result depends on: evidence, selection, method, names, costs and facts."""
    parts = {
        "layout": kept.LAYOUT.decode(),
        "method": METHOD_VERSION,
        "code": _analysis_sha256(),
        "selection": resolved.selection.fingerprint,
        "sides": [
            _side_parts(resolved.candidate, spends[0]),
            _side_parts(resolved.baseline, spends[1]),
        ],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _side_parts(chosen: Chosen, spend: Spend) -> list[object]:
    return [
        chosen.experiment.armcolumns.sha256,
        chosen.series.digest,
        plain(evidence.metric(chosen)),
        plain(evidence.grader(chosen)),
        chosen.label,
        chosen.experiment.number,
        chosen.experiment.duplicates,
        plain(evidence.facts(chosen)),
        plain(spend),
    ]


@cache
def _analysis_sha256() -> str:
    """The arithmetic and its words: a build that words a finding differently keeps a result of its own."""
    digest = hashlib.sha256()
    folder = Path(analysis.__file__).parent
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
