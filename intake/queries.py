"""Reads of imports: the list, one import as its page shows it, its rejected rows, its results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Prefetch, QuerySet

from analysis.observations import FailureKind
from datasets.models import Dataset
from intake.examining import Target, known_runs, meets
from intake.models import (
    DISCARDABLE,
    WORKING,
    Import,
    ImportFile,
    ImportState,
    ImportText,
    Mapping,
    RejectedRow,
)
from intake.readers import mapping as mappings
from runs.models import Experiment, State
from teams.bulk import database_now
from teams.models import Team

MISSING_WORDS = {
    "repetition": "No repetition in the file: every row counts as repetition 1.",
    "cost": "No cost in the file: it stays unknown, which is not zero.",
    "latency": "No latency in the file: it stays unknown.",
    "error": "No error field: a failed generation cannot be told from a completed one.",
    "trace": "No trace (messages, events): claims about how the work was done stay open.",
    "content": "What the cases ask was not captured: they pair by their id, flagged as revision unknown.",
    "expected": "No expected answer in the file.",
}
SAID_ALREADY = ("The content of the cases was not captured",)
"""Notes of readers that a sentence above says too."""


def imports_of(team: Team) -> QuerySet[Import]:
    """A team's imports, newest first, with the names of their files and the number of runs written."""
    names = ImportFile.objects.select_related("importfilename")
    return (
        Import.objects.filter(team=team)
        .select_related("by", "dataset")
        .defer("mapping", "summary")
        .annotate(written=Count("importedrun"))
        .prefetch_related(Prefetch("importfile_set", queryset=names, to_attr="files"))
        .order_by("-id")
    )


def full(team: Team) -> QuerySet[Import]:
    names = ImportFile.objects.select_related("importfilename")
    return (
        Import.objects.filter(team=team)
        .select_related("by", "team", "dataset", "importtext")
        .prefetch_related(Prefetch("importfile_set", queryset=names, to_attr="files"))
    )


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of the dry run: its counts beside its names."""

    position: int
    label: str
    arm: str
    from_file_name: bool
    counts: dict[str, Any]
    notes: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    examples: tuple[dict[str, Any], ...]
    experiment: UUID | None
    """An experiment that holds this run already, in the chosen dataset."""

    @property
    def failures(self) -> list[tuple[str, int]]:
        return [
            (FailureKind(int(kind)).name.lower().replace("_", " "), count)
            for kind, count in self.counts["failures"].items()
        ]

    @property
    def not_completed(self) -> list[tuple[str, int]]:
        """Executions by how they ended, where they did not complete: failures by their kind."""
        others = [
            (state.replace("_", " "), count)
            for state, count in self.counts["generations"].items()
            if state not in ("completed", "failed")
        ]
        return self.failures + others

    @property
    def completed(self) -> int:
        return int(self.counts["generations"].get("completed", 0))

    @property
    def rejected(self) -> int:
        return sum(self.counts["rejected"].values())


@dataclass(frozen=True, slots=True)
class DryRun:
    """Everything a person must know before anything is written."""

    runs: tuple[RunRow, ...]
    target: Target
    cases: int
    executions: int
    rejected: tuple[tuple[str, int], ...]
    missing: tuple[str, ...]
    """Sentences on what every run lacks; what only some lack says so."""
    notes: tuple[str, ...]

    @property
    def known(self) -> list[RunRow]:
        return [run for run in self.runs if run.experiment is not None]

    @property
    def all_known(self) -> bool:
        return len(self.known) == len(self.runs)

    @property
    def from_file_names(self) -> bool:
        return any(run.from_file_name for run in self.runs)

    @property
    def scored_by(self) -> list[dict[str, Any]]:
        return [scorer for run in self.runs for scorer in run.counts["scorers"]]


def dataset_by_name(team: Team, name: str) -> Dataset | None:
    return Dataset.objects.filter(team=team, name__iexact=" ".join(name.split())).order_by("created_at").first()


def target_of(row: Import, text: ImportText, name: str) -> Target:
    return meets(dataset_by_name(row.team, name), name, bytes(text.cases))


def dry_run(row: Import, *, dataset_name: str | None = None) -> DryRun:
    """The dry run of an import that is ready, against the dataset that is named."""
    text: ImportText = row.importtext
    name = row.dataset_name if dataset_name is None else dataset_name
    target = target_of(row, text, name)
    known = known_runs(row.team_id, target.dataset, row.mapping_sha256)
    sha256s = [file.sha256 for file in row.files]  # type: ignore[attr-defined]  # prefetched by `full`
    runs: list[RunRow] = []
    told = (row.summary or {}).get("runs", [])
    for position, (counts, words) in enumerate(zip(told, text.runs, strict=True)):
        files = sha256s[position] if row.reader == "inspect" and position < len(sha256s) else ""
        runs.append(
            RunRow(
                position=position,
                label=words["label"],
                arm=words["arm"],
                from_file_name=words["arm_from_file_name"],
                counts=counts,
                notes=tuple(words["notes"]),
                facts=tuple((name, value) for name, value in words["facts"]),
                examples=tuple(words["examples"]),
                experiment=known.get((files, words["source_run_id"])),
            )
        )
    rejected: Counter[str] = Counter()
    for run in runs:
        rejected.update(run.counts["rejected"])
    return DryRun(
        runs=tuple(runs),
        target=target,
        cases=(row.summary or {}).get("cases", 0),
        executions=(row.summary or {}).get("executions", 0),
        rejected=tuple(rejected.most_common()),
        missing=tuple(_missing(runs)),
        notes=tuple(
            note
            for note in dict.fromkeys([*text.notes, *(note for run in runs for note in run.notes)])
            if not note.startswith(SAID_ALREADY)
        ),
    )


def _missing(runs: list[RunRow]) -> list[str]:
    lacking = Counter(name for run in runs for name in run.counts["missing"])
    sentences = []
    for name, sentence in MISSING_WORDS.items():
        if not lacking[name]:
            continue
        some = f" ({lacking[name]} of {len(runs)} runs)" if lacking[name] < len(runs) else ""
        sentences.append(sentence + some)
    return sentences


@dataclass(frozen=True, slots=True)
class Pace:
    """How far work is, how fast it goes, how long it will take."""

    done: int
    total: int
    per_second: float | None
    seconds_left: float | None

    @property
    def reading(self) -> str:
        return f"Looking at the files: {self.done:,} rows" if self.done else "Looking at the files"

    @property
    def rate(self) -> str:
        return f"{self.per_second:,.0f} per second" if self.per_second else ""

    @property
    def left(self) -> str:
        if self.seconds_left is None:
            return ""
        if self.seconds_left < 90:
            return f"{max(1, round(self.seconds_left))} s left"
        return f"{round(self.seconds_left / 60)} min left"


def pace(row: Import, now: datetime | None = None) -> Pace:
    total = row.total if row.state == ImportState.RUNNING else 0
    if row.started_at is None or not row.done:
        return Pace(row.done, total, None, None)
    seconds = ((now or database_now()) - row.started_at).total_seconds()
    speed = row.done / seconds if seconds > 0 else None
    left = (total - row.done) / speed if speed and total else None
    return Pace(row.done, total, speed, left)


@dataclass(frozen=True, slots=True)
class Result:
    """An experiment that an import led to; `new` is False where it was there already."""

    experiment: Experiment
    new: bool
    compare_with: Experiment | None = None


def results(row: Import) -> list[Result]:
    """The experiments of a completed import, each with another one that it can be compared with."""
    told = (row.summary or {}).get("results", [])
    wanted = {entry["experiment"]: entry["new"] for entry in told}
    found = {
        str(experiment.pk): experiment
        for experiment in Experiment.objects.filter(pk__in=wanted, team=row.team).select_related(
            "subject", "version__dataset"
        )
    }
    ordered = [found[key] for key in wanted if key in found]
    if not ordered:
        return []
    partner = None
    if len(ordered) == 1:
        partner = (
            Experiment.objects.filter(
                team=row.team, version__dataset=row.dataset, state=State.COMPLETED, archived_at=None
            )
            .exclude(pk__in=found)
            .order_by("-number")
            .first()
        )
    rows = []
    for index, experiment in enumerate(ordered):
        baseline = ordered[0] if index else partner
        rows.append(Result(experiment, wanted[str(experiment.pk)], baseline))
    return rows


def rejected_rows(row: Import) -> QuerySet[RejectedRow]:
    return RejectedRow.objects.filter(owner=row).select_related("rejectedtext").order_by("number")


def rejected_codes(row: Import) -> list[tuple[str, int]]:
    return list(
        RejectedRow.objects.filter(owner=row)
        .values("code")
        .annotate(count=Count("id"))
        .order_by("-count", "code")
        .values_list("code", "count")
    )


def dataset_names(team: Team) -> list[str]:
    return list(
        Dataset.objects.filter(team=team, archived_at=None).order_by("name").values_list("name", flat=True)[:200]
    )


def saved_mappings(team: Team) -> QuerySet[Mapping]:
    return Mapping.objects.filter(team=team).select_related("made_by")


def mapping_choices(team: Team) -> list[tuple[str, str]]:
    """Saved mappings and those that Evenhand ships, by name, as (value, words)."""
    saved = [(name, name) for name in saved_mappings(team).values_list("name", flat=True)]
    shipped = [(name, f"{mappings.builtin(name).name or name} (built in)") for name in mappings.builtin_names()]
    return saved + shipped


def is_working(row: Import) -> bool:
    return row.state in WORKING


def is_discardable(row: Import) -> bool:
    return row.state in DISCARDABLE
