"""Assets and their versions: written by editors, approved by owners, never changed."""

from __future__ import annotations

from typing import Any, Final

from django.db import IntegrityError, models, transaction
from django.db.models import Max

from agents import definitions
from agents.actions.agents import EDIT, EDIT_CONTENT
from agents.actions.drafts import resolvable
from agents.models import Asset, AssetApproval, AssetContent, AssetKind, AssetVersion, ModelRoute
from teams import audit
from teams.access import Access
from teams.bulk import lock
from teams.given import name as given_name
from teams.keeping import rename, seen, set_archived
from teams.models import User
from teams.permissions import Right
from teams.refusals import Code, Refusal, register

register(
    {
        "asset_archived": Code(409, "Restore the asset first."),
        "asset_built_in": Code(409, "Make an asset of the team's own; those of the product are the operators'."),
    }
)

APPROVE: Final = (Right.TEAM_MANAGE, Right.AGENT_READ)
MOST_ASSETS: Final = 1_000
PARTS: Final = {
    AssetKind.PROMPT_TEMPLATE: "instructions",
    AssetKind.MODEL: "route",
    AssetKind.TOOLSET: "tools",
    AssetKind.CONNECTORS: "connectors",
    AssetKind.CONTEXT: "context",
    AssetKind.SETTINGS: "settings",
}
"""The part of a definition that an asset of each kind is."""


def checked_part(kind: str, given: Any, *, access: Access | None) -> Any:
    """The part as it is kept, or a refusal that names the place inside it."""
    part = PARTS[AssetKind(kind)]
    body = definitions.checked({part: given}, whole=False)
    if body[part] == definitions.EMPTY[part] or (part == "instructions" and not body[part].strip()):
        raise Refusal("invalid_field", "An asset says something.", place=part)
    if access is not None:
        resolvable(access, body)
    elif part == "connectors":
        raise Refusal("invalid_field", "Connectors belong to a team.", place=part)
    elif part == "route" and not ModelRoute.objects.filter(key=body["route"]).exists():
        raise Refusal("invalid_field", "Choose one of the model routes.", place="route")
    return body[part]


@transaction.atomic
def create_asset(*, access: Access, kind: str, name: str, body: Any) -> AssetVersion:
    """A new asset of the team with its first version."""
    access.require(*EDIT_CONTENT)
    part = checked_part(kind, body, access=access)
    if Asset.objects.filter(team=access.team).count() >= MOST_ASSETS:
        raise Refusal("invalid_field", f"A team has at most {MOST_ASSETS:,} assets.", place="name")
    asset = _made(access.team, kind, name)
    version = _version(asset, part, access.user)
    audit.by("asset.created", access, asset, kind=asset.kind, name=asset.name, sha256=version.sha256)
    return version


@transaction.atomic
def create_built_in_asset(*, kind: str, name: str, body: Any, by: User | None) -> AssetVersion:
    """A new asset of the product, or another version of one, approved at once: operators answer for it."""
    part = checked_part(kind, body, access=None)
    lock("built-in asset", kind, name.casefold())
    asset = Asset.objects.filter(team=None, kind=kind, name__iexact=" ".join(name.split())).first()
    version = _version(asset or _made(None, kind, name), part, by)
    AssetApproval.objects.get_or_create(version=version, defaults={"approved_by": by})
    audit.record(
        "asset.built_in", team=None, by=by, object_type="asset", object_id=version.asset_id, sha256=version.sha256
    )
    return version


@transaction.atomic
def add_asset_version(*, access: Access, asset: Asset, body: Any, revision: int) -> AssetVersion:
    """What the asset says from now on. The same words as the newest version are that version."""
    access.require(*EDIT_CONTENT)
    kept = own(access, asset)
    seen(kept.revision, revision, "The asset")
    if kept.archived_at is not None:
        raise Refusal("asset_archived", f"The asset {kept.name} is archived.")
    part = checked_part(kept.kind, body, access=access)
    before = AssetVersion.objects.filter(asset=kept).aggregate(last=Max("number"))["last"]
    version = _version(kept, part, access.user)
    if version.number != before:
        kept.revision += 1
        kept.save(update_fields=["revision"])
        audit.by("asset.version_made", access, kept, number=version.number, sha256=version.sha256)
    return version


@transaction.atomic
def approve_asset_version(*, access: Access, version: AssetVersion) -> AssetApproval:
    """From now on releases may bind the version. Approving it again changes nothing."""
    access.require(*APPROVE)
    kept = own(access, version.asset)
    if kept.archived_at is not None:
        raise Refusal("asset_archived", f"The asset {kept.name} is archived.")
    approval, made = AssetApproval.objects.get_or_create(version=version, defaults={"approved_by": access.user})
    if made:
        audit.by("asset.approved", access, kept, number=version.number, sha256=version.sha256)
    return approval


@transaction.atomic
def rename_asset(*, access: Access, asset: Asset, name: str, revision: int) -> Asset:
    access.require(*EDIT)
    name = given_name(name, "the asset")
    kept = own(access, asset)
    seen(kept.revision, revision, "The asset")
    return rename(access, kept, "asset", name, _taken(kept.kind, name))


@transaction.atomic
def archive_asset(*, access: Access, asset: Asset) -> Asset:
    """Out of the choice for new releases. Those that bind a version keep it."""
    access.require(*EDIT)
    return set_archived(access, own(access, asset), "asset", archived=True)


@transaction.atomic
def restore_asset(*, access: Access, asset: Asset) -> Asset:
    access.require(*EDIT)
    return set_archived(access, own(access, asset), "asset", archived=False)


def own(access: Access, asset: Asset) -> Asset:
    """The team's asset, ours to change until the transaction ends."""
    not_built_in(asset)
    return access.find(Asset.objects.select_for_update(no_key=True), pk=asset.pk)


def not_built_in(asset: Asset) -> None:
    if asset.team_id is None:
        raise Refusal("asset_built_in", f"{asset.name} is built in.")


def visible(access: Access) -> models.QuerySet[Asset]:
    """The assets that a team may bind: its own, and those of the product."""
    return Asset.objects.filter(models.Q(team=access.team) | models.Q(team=None))


def _made(team: Any, kind: str, name: str) -> Asset:
    name = given_name(name, "the asset")
    try:
        with transaction.atomic():
            return Asset.objects.create(team=team, kind=AssetKind(kind), name=name)
    except IntegrityError:
        raise Refusal("name_taken", _taken(kind, name), place="name") from None


def _taken(kind: str, name: str) -> str:
    return f"There is a {AssetKind(kind).label.lower()} {name} already."


def _version(asset: Asset, part: Any, by: User | None) -> AssetVersion:
    sha256 = definitions.digest(f"asset {asset.kind}", part)
    newest: AssetVersion | None = AssetVersion.objects.filter(asset=asset).order_by("-number").first()
    if newest is not None and newest.sha256 == sha256:
        return newest
    made: AssetVersion = AssetVersion.objects.create(
        asset=asset, number=(newest.number if newest else 0) + 1, sha256=sha256, made_by=by
    )
    AssetContent.objects.create(version=made, body=part)
    return made
