"""Reads of teams: members, roles, tokens, the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils import timezone

from teams import tokens
from teams.access import Access
from teams.models import ApiToken, AuditEvent, Invitation, InvitationQuerySet, Membership, Role, Team, User
from teams.permissions import PRESETS, Right
from teams.refusals import Refusal


def members_of(team: Team) -> models.QuerySet[Membership]:
    return Membership.objects.filter(team=team).select_related("user", "role").order_by("user__name", "user__email")


def roles_for(team: Team) -> list[Role]:
    """The presets in their own order, then the team's roles by name."""
    order = {name: position for position, name in enumerate(PRESETS)}
    roles = Role.objects.filter(Q(team=team) | Q(team=None, name__in=PRESETS))
    return sorted(roles, key=lambda role: (role.team_id is not None, order.get(role.name, 0), role.name))


def roles_with_counts(team: Team) -> list[Role]:
    """As `roles_for`, each with `member_count` and `invitation_count` of this team."""
    roles = roles_for(team)
    members = _counts(Membership.objects.filter(team=team))
    invitations = _counts(Invitation.objects.filter(team=team).open())
    for role in roles:
        role.member_count = members.get(role.pk, 0)  # type: ignore[attr-defined]  # for the page
        role.invitation_count = invitations.get(role.pk, 0)  # type: ignore[attr-defined]
    return roles


def _counts(rows: models.QuerySet[Any]) -> dict[UUID, int]:
    return dict(rows.order_by().values_list("role_id").annotate(models.Count("pk")))


def invitations_of(team: Team) -> InvitationQuerySet:
    """Newest first."""
    return Invitation.objects.filter(team=team).select_related("role", "invited_by").defer("digest")


def open_invitation(secret: str) -> Invitation | None:
    """The invitation of a link, while it can be accepted."""
    found = Invitation.objects.select_related("team", "role", "invited_by").filter(digest=tokens.digest(secret)).first()
    return found if found is not None and found.state == "open" else None


def account_of(email: str) -> User | None:
    return User.objects.filter(email__iexact=email).first()


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
    rights: list[str] | None
    state: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


def token_facts(token: ApiToken) -> TokenFacts:
    return TokenFacts(
        id=token.pk,
        name=token.name,
        rights=token.rights,
        state=token_state(token),
        created_at=token.created_at,
        expires_at=token.expires_at,
        last_used_at=token.last_used_at,
    )


def audit_events(
    team: Team,
    *,
    action: str = "",
    actor: UUID | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> models.QuerySet[AuditEvent]:
    """Newest first; `since` is inside, `until` is not."""
    rows = AuditEvent.objects.filter(team=team).select_related("actor").order_by("-at", "-pk")
    if since is not None:
        rows = rows.filter(at__gte=since)
    if until is not None:
        rows = rows.filter(at__lt=until)
    if action:
        rows = rows.filter(action=action)
    if actor is not None:
        rows = rows.filter(actor_id=actor)
    return rows


AUDIT_WORDS = ("action", "actor", "since", "until")


def audit_filter(given: Mapping[str, str]) -> dict[str, Any]:
    """Words of an address as arguments of `audit_events`; a word of another form is refused at its place."""
    actor = given.get("actor", "")
    try:
        person = UUID(actor) if actor else None
    except ValueError:
        raise Refusal("invalid_field", "actor is the id of a person.", place="actor") from None
    since, until = _day(given, "since"), _day(given, "until")
    return {
        "action": given.get("action", ""),
        "actor": person,
        "since": since,
        "until": until + timedelta(days=1) if until is not None else None,
    }


def _day(given: Mapping[str, str], name: str) -> datetime | None:
    """The beginning of a day in UTC."""
    text = given.get(name, "")
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC) if text else None
    except ValueError:
        raise Refusal("invalid_field", f"{name} is a day such as 2026-11-30.", place=name) from None


class Listed:
    """Rows at hand, for what pages a query."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = rows

    def count(self) -> int:
        return len(self.rows)

    def __getitem__(self, page: slice) -> Sequence[Any]:
        return self.rows[page]


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
