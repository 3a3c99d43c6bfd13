"""The one place that answers: may this user do this in this team, now?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import models
from guardian.core import ObjectPermissionChecker

from teams.models import ApiToken, Membership, Team, User
from teams.permissions import Right
from teams.refusals import Refusal

Row = TypeVar("Row", bound=models.Model)


@dataclass(frozen=True)
class Access:
    """A user's rights in one team, as they stood when asked. Never kept across two steps of work."""

    user: User
    team: Team
    held: frozenset[str]
    role: str = ""
    request_id: str = field(default="", compare=False)
    token: ApiToken | None = field(default=None, compare=False)
    """The API token that asks; `held` is never more than it allows."""
    role_id: UUID | None = field(default=None, compare=False)

    def allows(self, *needed: Right) -> bool:
        return self.held.issuperset(right.value for right in needed)

    def require(self, *needed: Right) -> None:
        """Refuse unless every right is held; the refusal names the missing ones."""
        missing = [right for right in needed if right.value not in self.held]
        if missing:
            names = ", ".join(right.value for right in missing)
            raise Refusal("missing_right", f"This needs the right {names}.", rights=[right.value for right in missing])

    @property
    def reads_content(self) -> bool:
        return self.allows(Right.EVALUATION_CONTENT_READ)

    def reads_source(self, readers: Iterable[UUID]) -> bool:
        """Whether the reader may see what came from a source whose readers are these roles."""
        return self.reads_content and self.role_id in set(readers)

    @property
    def may(self) -> dict[str, bool]:
        """For templates: `access.may.evaluation_execute`."""
        return {right.value.replace(".", "_"): right.value in self.held for right in Right}

    def find(self, rows: models.QuerySet[Row], *, team: str = "team", **lookup: Any) -> Row:
        """Fetch one row of this team, or answer exactly as if it did not exist."""
        try:
            return rows.get(**{team: self.team}, **lookup)
        except (ObjectDoesNotExist, ValidationError, ValueError):
            raise Refusal("not_found") from None


def current_access(user: User, team: str | UUID, *, request_id: str = "", token: ApiToken | None = None) -> Access:
    """Rights as they stand now, from the team's slug or id.

    A team one is not a member of looks exactly like a team that does not exist, also to a superuser.
    """
    by = {"team_id": team} if isinstance(team, UUID) else {"team__slug": team}
    membership = (
        Membership.objects.select_related("team", "group", "role")
        .filter(user_id=user.pk, user__is_active=True, **by)
        .first()
    )
    if membership is None:
        raise Refusal("not_found")
    held = frozenset(ObjectPermissionChecker(membership.group).get_perms(membership.team))
    if token is not None and token.rights is not None:
        held &= set(token.rights)
    return Access(user, membership.team, held, membership.role.name, request_id, token, membership.role_id)


def teams_of(user: User) -> models.QuerySet[Team]:
    return Team.objects.filter(membership__user=user).order_by("name")
