"""Errata: points of a case's checklist that do not count after all. They are added, never taken back."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Max

from analysis.checklist import effective
from datasets.actions.datasets import locked
from datasets.actions.drafts import EDIT
from datasets.models import Erratum, ErratumContent, ItemContent, ItemRevision
from teams import audit
from teams.access import Access
from teams.given import storable
from teams.refusals import Code, Refusal, register

LONGEST_REASON = 2_000

register({"case_without_points": Code(409, "Errata exclude points; revise the case to give it a checklist.")})


@transaction.atomic
def add_erratum(*, access: Access, revision: ItemRevision, points: Sequence[str], reason: str) -> Erratum:
    """Points that do not count, with the reason. Points that an earlier erratum excludes may be named again."""
    access.require(*EDIT)
    locked(access, revision.item.dataset)
    content = ItemContent.objects.filter(revision=revision).first()
    known = point_ids(content)
    if not known:
        raise Refusal("case_without_points", "The case has no checklist that can be read.")
    chosen = list(dict.fromkeys(points))
    unknown = [point for point in chosen if point not in known]
    if not chosen or unknown:
        raise Refusal("invalid_field", "Name points of the case by their ids.", place="points")
    reason = reason.strip()
    if not 1 <= len(reason) <= LONGEST_REASON or not storable(reason):
        raise Refusal("invalid_field", f"Say why, in at most {LONGEST_REASON:,} characters.", place="reason")
    last = Erratum.objects.filter(revision=revision).aggregate(last=Max("number"))["last"] or 0
    made: Erratum = Erratum.objects.create(revision=revision, number=last + 1, made_by=access.user)
    ErratumContent.objects.create(erratum=made, excluded=chosen, reason=reason)
    audit.by("case.erratum_added", access, revision, number=made.number, points=len(chosen))
    return made


def point_ids(content: ItemContent | None) -> list[str]:
    """The ids of a case's points, common ones first, then those of its variants."""
    body = content.body if content is not None else None
    if not isinstance(body, dict):
        return []
    names = ["", *(one["name"] for one in body.get("variants", ()))]
    return list(dict.fromkeys(point.item for name in names for point in effective(body, name)))
