"""Teams begin with an owner."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from teams import audit
from teams.actions.roles import group_of, preset
from teams.models import Membership, Team, User
from teams.permissions import PRESETS
from teams.refusals import Refusal


@transaction.atomic
def create_team(*, slug: str, name: str, owner: User, by: User | None) -> Team:
    """A new team with its first owner."""
    try:
        with transaction.atomic():
            team = Team.objects.create(slug=slug, name=name)
    except IntegrityError:
        raise Refusal("name_taken", f"The address {slug} is taken.", place="slug") from None
    role = {name: preset(name) for name in PRESETS}["Owner"]  # every preset is there to be given
    Membership.objects.create(team=team, user=owner, role=role, group=group_of(team, role))
    audit.record("team.created", team=team, by=by, object_type="team", object_id=team.pk, owner=str(owner.pk))
    return team
