"""Reads of teams: members, roles, tokens, the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils import timezone

from teams.access import Access
from teams.models import ApiToken, AuditEvent, Membership, Role, Team, User
from teams.permissions import PRESETS, Right


def members_of(team: Team) -> models.QuerySet[Membership]:
    return Membership.objects.filter(team=team).select_related("user", "role").order_by("user__name", "user__email")


def roles_for(team: Team) -> list[Role]:
    """The presets in their own order, then the team's roles by name."""
    order = {name: position for position, name in enumerate(PRESETS)}
    roles = Role.objects.filter(Q(team=team) | Q(team=None, name__in=PRESETS))
    return sorted(roles, key=lambda role: (role.team_id is not None, order.get(role.name, 0), role.name))


@dataclass(frozen=True, slots=True)
class RightRow:
    """One right: who holds it by role, and whether the reader does."""

    name: str
    meaning: str
    roles: tuple[bool, ...]
    mine: bool


def rights_table(access: Access, roles: list[Role]) -> list[RightRow]:
    return [
        RightRow(
            right.value, str(right.label), tuple(right.value in role.rights for role in roles), access.allows(right)
        )
        for right in Right
    ]


def tokens_seen_by(access: Access) -> models.QuerySet[ApiToken]:
    """One's own tokens; an owner sees those of everybody, to be able to end them."""
    rows = ApiToken.objects.filter(team=access.team).select_related("user").defer("digest")
    return rows if access.allows(Right.TEAM_MANAGE) else rows.filter(user=access.user)


def token_state(token: ApiToken) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at is not None and token.expires_at <= timezone.now():
        return "expired"
    return "active"


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """What may be told of a token."""

    id: UUID
    name: str
    state: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


def token_facts(token: ApiToken) -> TokenFacts:
    return TokenFacts(token.pk, token.name, token_state(token), token.created_at, token.expires_at, token.last_used_at)


def audit_events(team: Team, *, action: str = "", actor: UUID | None = None) -> models.QuerySet[AuditEvent]:
    rows = AuditEvent.objects.filter(team=team).select_related("actor").order_by("-at", "-pk")
    if action:
        rows = rows.filter(action=action)
    if actor is not None:
        rows = rows.filter(actor_id=actor)
    return rows


def audit_actions(team: Team) -> list[str]:
    return list(AuditEvent.objects.filter(team=team).order_by("action").values_list("action", flat=True).distinct())


def audit_actors(team: Team) -> list[User]:
    """Everybody who ever acted in the team, former members included."""
    return list(User.objects.filter(auditevent__team=team).distinct().order_by("name", "email"))


@dataclass(frozen=True, slots=True)
class EventFact:
    """One entry of an event's detail as text; ids are shortened on screen."""

    name: str
    text: str
    is_id: bool


def event_facts(event: AuditEvent) -> list[EventFact]:
    facts = []
    for name, value in event.detail.items():
        text = ", ".join(str(entry) for entry in value) if isinstance(value, list) else str(value)
        if text:
            facts.append(EventFact(name.replace("_", " "), text, _is_id(text)))
    return facts


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
