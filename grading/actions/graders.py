"""Graders that people make: each measures one metric, in versions that never change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction

from agents.actions.snapshots import active, route_facts
from agents.definitions import digest
from agents.models import ModelRoute, ModelRouteRevision
from analysis.observations import Kind
from grading import assertions, judges, queries, validators
from grading.models import (
    EvidenceKind,
    Grader,
    GraderConfig,
    GraderKind,
    GraderVersion,
    MetricDefinition,
)
from teams import audit
from teams.access import Access
from teams.given import name as given_name
from teams.keeping import rename, seen, set_archived
from teams.models import User
from teams.permissions import Right
from teams.refusals import Code, Refusal, register

EDIT: Final = (Right.EVALUATION_MANAGE, Right.EVALUATION_READ)
EDIT_CONTENT: Final = (*EDIT, Right.EVALUATION_CONTENT_READ)
"""What writing a version needs: a configuration is content."""
AUTHORED: Final = (GraderKind.ASSERTION, GraderKind.JUDGE, GraderKind.VALIDATOR)
MOST_GRADERS: Final = 2_000
MOST_MICROS: Final = 10**12

register(
    {
        "grader_archived": Code(409, "Restore the grader first."),
        "grader_imported": Code(409, "Make a grader of the team's own; an imported one is what its files say."),
    }
)


@dataclass(frozen=True, slots=True)
class Said:
    """A version as it is kept: its configuration, and what stands beside it for readers of metadata."""

    config: dict[str, Any]
    evidence: list[str]
    route: ModelRouteRevision | None
    fee_micros: int | None
    fee_currency: str


@transaction.atomic
def create_grader(
    *,
    access: Access,
    metric: MetricDefinition,
    kind: str,
    name: str,
    config: Any,
    evidence: Sequence[str] = (EvidenceKind.GENERATION.value,),
    fee_micros: int | None = None,
    fee_currency: str = "",
) -> GraderVersion:
    """A new grader of the team with its first version."""
    access.require(*EDIT_CONTENT)
    if kind not in AUTHORED:
        raise Refusal("invalid_field", f"kind is one of {', '.join(AUTHORED)}.", place="kind")
    metric = access.find(MetricDefinition.objects.all(), pk=metric.pk)
    _measures(kind, metric)
    said = checked(kind, config, evidence, fee_micros, fee_currency)
    name = given_name(name, "the grader")
    if Grader.objects.filter(definition__team=access.team).exclude(kind="imported").count() >= MOST_GRADERS:
        raise Refusal("invalid_field", f"A team makes at most {MOST_GRADERS:,} graders.", place="name")
    try:
        with transaction.atomic():
            grader = Grader.objects.create(definition=metric, kind=kind, name=name)
    except IntegrityError:
        raise Refusal("name_taken", _taken(metric, name), place="name") from None
    version = _version(grader, said, access.user)
    audit.by("grader.created", access, grader, kind=kind, name=name, metric=metric.key, sha256=version.sha256)
    return version


@transaction.atomic
def add_grader_version(
    *,
    access: Access,
    grader: Grader,
    config: Any,
    evidence: Sequence[str] = (EvidenceKind.GENERATION.value,),
    fee_micros: int | None = None,
    fee_currency: str = "",
    revision: int,
) -> GraderVersion:
    """How the grader measures from now on. What a version says already, the newest or not, is that version."""
    access.require(*EDIT_CONTENT)
    kept = own(access, grader)
    _authored(kept)
    seen(kept.revision, revision, "The grader")
    if kept.archived_at is not None:
        raise Refusal("grader_archived", f"The grader {kept.name} is archived.")
    before = GraderVersion.objects.filter(grader=kept).count()
    version = _version(kept, checked(kept.kind, config, evidence, fee_micros, fee_currency), access.user)
    if version.number > before:
        kept.revision += 1
        kept.save(update_fields=["revision"])
        audit.by("grader.version_made", access, kept, number=version.number, sha256=version.sha256)
    return version


@transaction.atomic
def rename_grader(*, access: Access, grader: Grader, name: str, revision: int) -> Grader:
    """Another name. Passes that hold its versions keep them."""
    access.require(*EDIT)
    name = given_name(name, "the grader")
    kept = own(access, grader)
    _authored(kept)
    seen(kept.revision, revision, "The grader")
    return rename(access, kept, "grader", name, _taken(kept.definition, name))


@transaction.atomic
def archive_grader(*, access: Access, grader: Grader) -> Grader:
    """Out of the choice for new passes. What it said stays."""
    access.require(*EDIT)
    return set_archived(access, own(access, grader), "grader", archived=True)


@transaction.atomic
def restore_grader(*, access: Access, grader: Grader) -> Grader:
    access.require(*EDIT)
    return set_archived(access, own(access, grader), "grader", archived=False)


def own(access: Access, grader: Grader) -> Grader:
    """The team's grader, ours to change until the transaction ends."""
    rows = Grader.objects.select_for_update(no_key=True, of=("self",)).select_related("definition")
    return access.find(rows, team="definition__team", pk=grader.pk)


def checked(kind: str, config: Any, evidence: Any, fee_micros: Any, fee_currency: Any) -> Said:
    """A version of a kind as it is kept, or a refusal with the place of the fault."""
    accepted = _evidence(kind, evidence)
    fee, currency = _fee(kind, fee_micros, fee_currency)
    route = None
    if kind == GraderKind.ASSERTION:
        body = assertions.checked(config)
    elif kind == GraderKind.VALIDATOR:
        body = validators.checked(config, hosts=queries.validator_hosts(), loopback=settings.EMBEDDED)
    else:
        body = judges.checked(config)
        if judges.needs_enrichment(body) and EvidenceKind.ENRICHMENT not in accepted:
            message = "The prompt shows {{enrichment}}; say that the judge accepts it."
            raise Refusal("invalid_field", message, place="evidence")
        route = _pinned(body["route"])
    return Said(body, accepted, route, fee, currency)


def _pinned(key: str) -> ModelRouteRevision:
    """What a route means at this moment, which is what the version means for ever."""
    route = ModelRoute.objects.filter(key=key).first()
    if route is None:
        raise Refusal("invalid_field", "Choose one of the model routes.", place="config.route")
    try:
        return active(route)
    except Refusal as refusal:
        raise Refusal(refusal.code, refusal.message, place="config.route") from None


def _evidence(kind: str, given: Any) -> list[str]:
    """What the version accepts, in one order. Programs look at the answer alone; a judge also at what they found."""
    if not isinstance(given, list | tuple) or not given or any(one not in EvidenceKind.values for one in given):
        raise Refusal("invalid_field", f"At least one of {', '.join(EvidenceKind.values)}.", place="evidence")
    if kind != GraderKind.JUDGE and EvidenceKind.ENRICHMENT in given:
        raise Refusal("invalid_field", "Only judges accept what a validator found.", place="evidence")
    return [one for one in EvidenceKind.values if one in given]


def _fee(kind: str, micros: Any, currency: Any) -> tuple[int | None, str]:
    """What one call costs. Unknown has no currency; zero is a fee that somebody knows."""
    if micros is None:
        if currency:
            raise Refusal("invalid_field", "An unknown fee has no currency.", place="fee_currency")
        return None, ""
    if kind != GraderKind.VALIDATOR:
        raise Refusal("invalid_field", "Only validators have a fee.", place="fee_micros")
    if isinstance(micros, bool) or not isinstance(micros, int) or not 0 <= micros <= MOST_MICROS:
        raise Refusal("invalid_field", "Millionths of the currency, zero or more.", place="fee_micros")
    if not isinstance(currency, str) or not (len(currency) == 3 and currency.isascii() and currency.isupper()):
        raise Refusal("invalid_field", "A currency has three letters, such as USD.", place="fee_currency")
    return micros, currency


def _measures(kind: str, metric: MetricDefinition) -> None:
    """Whether a grader of the kind can measure the metric at all."""
    if kind == GraderKind.ASSERTION and metric.kind != Kind.BOOLEAN:
        raise Refusal("invalid_field", "An assertion says yes or no; choose a boolean metric.", place="metric")
    if metric.kind == Kind.CATEGORICAL and not metric.categories:
        raise Refusal("invalid_field", "The metric names no categories to choose from.", place="metric")


def _authored(grader: Grader) -> None:
    if grader.kind == GraderKind.IMPORTED:
        raise Refusal("grader_imported", f"{grader.name} came with an import.")


def _taken(metric: MetricDefinition, name: str) -> str:
    return f"There is a grader {name} of the metric {metric.key} already."


def identity(kind: str, metric: MetricDefinition, said: Said) -> str:
    """SHA-256 over everything that may change what a version says, and its fee.

    Of a route the number of its revision is left out: one that changes prices alone changes no judgment.
    """
    facts = route_facts(said.route) if said.route else {}
    meaning: Mapping[str, Any] = {
        name: getattr(metric, name)
        for name in ("key", "kind", "direction", "low", "high", "unit", "categories", "ordered")
    }
    return digest(
        f"grader {kind}",
        {
            "metric": meaning,
            "config": said.config,
            "evidence": said.evidence,
            "route": {name: value for name, value in facts.items() if name != "revision"},
            "fee": [said.fee_micros, said.fee_currency],
        },
    )


def _version(grader: Grader, said: Said, by: User) -> GraderVersion:
    sha256 = identity(grader.kind, grader.definition, said)
    rows = GraderVersion.objects.filter(grader=grader)
    known: GraderVersion | None = rows.filter(sha256=sha256).first()
    if known is not None:
        return known
    made: GraderVersion = GraderVersion.objects.create(
        grader=grader,
        number=rows.count() + 1,
        sha256=sha256,
        evidence=said.evidence,
        route_revision=said.route,
        fee_micros=said.fee_micros,
        fee_currency=said.fee_currency,
        made_by=by,
    )
    GraderConfig.objects.create(version=made, body=said.config)
    return made
