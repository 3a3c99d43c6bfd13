"""Reads of assets and releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Count, Exists, Max, OuterRef, Q, Subquery

from agents.models import (
    Agent,
    Asset,
    AssetApproval,
    AssetContent,
    AssetVersion,
    Release,
    ReleaseBinding,
    ReleaseTransition,
)
from teams.access import Access
from teams.records import Availability


def assets_of(access: Access, *, archived: bool | None = False, kind: str = "", search: str = "") -> Any:
    """The assets that a team may bind, with the numbers of their newest and their newest approved version."""
    rows = Asset.objects.filter(Q(team=access.team) | Q(team=None))
    if archived is not None:
        rows = rows.filter(archived_at__isnull=not archived)
    if kind:
        rows = rows.filter(kind=kind)
    if search:
        rows = rows.filter(name__icontains=search)
    newest = AssetVersion.objects.filter(asset=OuterRef("pk")).order_by("-number")
    return rows.annotate(
        versions=Count("assetversion"),
        approved=Max("assetversion__number", filter=Q(assetversion__assetapproval__isnull=False)),
        sha256=Subquery(newest.values("sha256")[:1]),
        changed_at=Subquery(newest.values("made_at")[:1]),
    )


def asset_versions(asset: Asset) -> models.QuerySet[AssetVersion]:
    """An asset's versions, newest first, with their approvals."""
    rows: models.QuerySet[AssetVersion] = AssetVersion.objects.filter(asset=asset)
    return rows.select_related("asset", "made_by", "assetapproval__approved_by")


def bindable_versions(access: Access) -> models.QuerySet[AssetVersion]:
    """Every version that a release may bind, its asset not archived, newest first within it."""
    rows: models.QuerySet[AssetVersion] = AssetVersion.objects.filter(
        asset__in=Asset.objects.filter(Q(team=access.team) | Q(team=None), archived_at=None)
    )
    approved = AssetApproval.objects.filter(version=OuterRef("pk"))
    return rows.select_related("asset").annotate(is_approved=Exists(approved)).order_by("asset__name", "-number")


@dataclass(frozen=True, slots=True)
class Part:
    """What a version says, or why it cannot be read."""

    body: Any
    removed: str


def part_of(version: AssetVersion) -> Part:
    """The protected side; the caller has judged the right to it."""
    content = AssetContent.objects.filter(version=version).first()
    if content is None or content.availability != Availability.AVAILABLE:
        return Part(None, content.availability if content else "never captured")
    return Part(content.body, "")


def releases_of(access: Access, *, agent: Agent | None = None) -> models.QuerySet[Release]:
    """A team's releases, newest first, or those of one agent."""
    rows = Release.objects.filter(agent__team=access.team).select_related(
        "agent", "made_by", "subject", "route_revision__provider", "route_revision__route"
    )
    return rows if agent is None else rows.filter(agent=agent)


def bindings_of(release: Release) -> list[ReleaseBinding]:
    return list(
        ReleaseBinding.objects.filter(release=release)
        .select_related("version__asset", "version__assetapproval")
        .order_by("role")
    )


def transitions_of(release: Release) -> models.QuerySet[ReleaseTransition]:
    rows: models.QuerySet[ReleaseTransition] = ReleaseTransition.objects.filter(release=release)
    return rows.select_related("made_by")
