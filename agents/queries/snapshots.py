"""Reads of snapshots: lists, search, and what two of them do not share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Q

from agents.definitions import DIMENSIONS, MODES
from agents.models import Agent, Connector, ModelRouteRevision, Snapshot, SnapshotDefinition
from analysis.word_diff import Piece, diff
from teams.access import Access
from teams.records import Availability

ROUTE_LABELS = {
    "key": "Route",
    "revision": "Revision",
    "provider": "Provider",
    "model_id": "Model",
    "profile": "Profile",
    "auth_mode": "Paid by",
}
LABELS = {
    "route": "Model",
    "prompt": "Instructions",
    "tools": "Tools",
    "connectors": "Connectors",
    "context": "Context",
    "settings": "Settings",
}


def label_of(dimension: str) -> str:
    return LABELS[dimension]


def mode_label(mode: str) -> str:
    return MODES[mode]


def snapshots_of(agent: Agent) -> models.QuerySet[Snapshot]:
    """An agent's snapshots, newest first."""
    return _rows().filter(agent=agent).order_by("-number")


def _rows() -> models.QuerySet[Snapshot]:
    rows: models.QuerySet[Snapshot] = Snapshot.objects.select_related(
        "agent", "route_revision__provider", "route_revision__route", "base", "made_by"
    )
    return rows


def found_snapshots(access: Access, words: str = "") -> models.QuerySet[Snapshot]:
    """A team's snapshots whose agent, number or id the words name; newest first.

    `refund desk`, `3`, `#3`, `refund desk #3` and a pasted id or its beginning all find.
    """
    rows = _rows().filter(agent__team=access.team).order_by("-made_at", "-pk")
    words = words.strip()
    if not words:
        return rows
    chosen = Q(agent__name__icontains=words)
    name, mark, number = words.rpartition("#")
    digits = number.strip() if mark else words
    if digits.isascii() and digits.isdecimal() and len(digits) < 9:
        by_number = Q(number=int(digits))
        chosen |= by_number & Q(agent__name__icontains=name.strip()) if name.strip() else by_number
    bounds = _ids(words)
    if bounds is not None:
        chosen |= Q(pk__gte=bounds[0], pk__lte=bounds[1])
    return rows.filter(chosen)


def _ids(words: str) -> tuple[UUID, UUID] | None:
    """The first and the last id that begin like this, from eight digits on."""
    plain = words.replace("-", "").lower()
    if not 8 <= len(plain) <= 32 or any(digit not in "0123456789abcdef" for digit in plain):
        return None
    return UUID(plain.ljust(32, "0")), UUID(plain.ljust(32, "f"))


@dataclass(frozen=True, slots=True)
class Kept:
    """A snapshot's definition, or why it cannot be read."""

    body: Mapping[str, Any] | None
    removed: str


def kept_definition(snapshot: Snapshot) -> Kept:
    """The protected side; the caller has judged the right to it."""
    content = SnapshotDefinition.objects.filter(snapshot=snapshot).first()
    if content is None:
        return Kept(None, "never captured")
    if content.availability != Availability.AVAILABLE:
        return Kept(None, content.availability)
    return Kept(content.body, "")


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """One field of a definition on both sides, its differing words marked."""

    name: str
    before: tuple[Piece, ...]
    after: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """One dimension of two snapshots. `fields` is empty where they agree, and for readers of metadata."""

    key: str
    label: str
    same: bool
    before: str
    after: str
    """Hashes, or for the model its name."""
    fields: tuple[FieldDiff, ...] = ()


def snapshot_differences(before: Snapshot, after: Snapshot, *, content: bool) -> list[Difference]:
    """What two snapshots share and what not, dimension by dimension; their words only with the right to content."""
    left, right = (kept_definition(one).body for one in (before, after)) if content else (None, None)
    fields: dict[str, list[FieldDiff]] = {}
    if left is not None and right is not None:
        ids = {one["connector"] for side in (left, right) for one in side["connectors"]}
        rows = Connector.objects.filter(team=after.agent.team_id, pk__in=ids).values_list("pk", "name")
        fields = definition_differences(left, right, {str(pk): name for pk, name in rows})
    routes = before.route_revision, after.route_revision
    found = [
        Difference(
            "route",
            LABELS["route"],
            routes[0].sha256 == routes[1].sha256 and routes[0].route_id == routes[1].route_id,
            _model(routes[0]),
            _model(routes[1]),
            tuple(fields.get("route", ())),
        ),
        Difference(
            "capability",
            "Declared capabilities",
            before.capability_sha256 == after.capability_sha256,
            before.capability_sha256,
            after.capability_sha256,
        ),
    ]
    for name in DIMENSIONS:
        one, other = (getattr(side, f"{name}_sha256") for side in (before, after))
        found.append(Difference(name, LABELS[name], one == other, one, other, tuple(fields.get(name, ()))))
    return found


def _model(route: ModelRouteRevision) -> str:
    profile = f", {route.profile}" if route.profile else ""
    return f"{route.provider.name}, {route.model_id}{profile} ({route.route.name}, revision {route.number})"


def definition_differences(
    before: Mapping[str, Any], after: Mapping[str, Any], names: Mapping[str, str]
) -> dict[str, list[FieldDiff]]:
    """By dimension, the fields in which two definitions differ, in the order in which they are read.

    `names` are those of connectors, by their ids.
    """
    found: dict[str, list[FieldDiff]] = {}
    for name, part in {"route": "route", **DIMENSIONS}.items():
        left, right = (_fields(part, side.get(part), names) for side in (before, after))
        if isinstance(before.get(part), list) and list(left) != list(right) and set(left) == set(right):
            sides = (diff(" > ".join(left), " > ".join(right)),)
            found[name] = [FieldDiff("Order", told.before, told.after) for told in sides]
        for field in dict.fromkeys([*left, *right]):
            one, other = left.get(field, ""), right.get(field, "")
            if one != other:
                told = diff(one, other)
                found.setdefault(name, []).append(FieldDiff(field, told.before, told.after))
    return found


def _fields(part: str, value: Any, names: Mapping[str, str]) -> dict[str, str]:
    """A part of a definition as named texts."""
    if part == "instructions":
        return {"Instructions": value or ""}
    if part == "tools":
        return {one["name"]: _tool(one, names) for one in value or []}
    if part == "context":
        return {one["name"]: one["text"] for one in value or []}
    if part == "connectors":
        return {names.get(one["connector"], one["connector"]): MODES[one["mode"]] for one in value or []}
    if part == "route":
        given = value if isinstance(value, Mapping) else {"key": value or ""}
        return {label: str(given[name]) for name, label in ROUTE_LABELS.items() if given.get(name)}
    return {name: entry if isinstance(entry, str) else _json(entry) for name, entry in (value or {}).items()}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def _tool(one: Mapping[str, Any], names: Mapping[str, str]) -> str:
    over = one.get("connector", "")
    lines = [one["description"], _json(one["parameters"]), *([f"Over {names.get(over, over)}"] if over else [])]
    return "\n".join(lines)
