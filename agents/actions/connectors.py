"""Connectors of a team, and who may read what came through them."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import IntegrityError, models, transaction

from agents.actions.agents import EDIT
from agents.models import Connector, ConnectorReader
from teams import audit
from teams.access import Access
from teams.given import name as given_name
from teams.keeping import rename, seen, set_archived
from teams.models import Role
from teams.permissions import Right
from teams.refusals import Refusal

MANAGE = (Right.TEAM_MANAGE, Right.AGENT_READ)
"""Who may read a connector's content is a matter of the team's roles."""
MOST_CONNECTORS = 200


@transaction.atomic
def create_connector(*, access: Access, name: str) -> Connector:
    """A new connector. At first owners alone read what comes through it."""
    access.require(*EDIT)
    name = given_name(name, "the connector")
    if Connector.objects.filter(team=access.team).count() >= MOST_CONNECTORS:
        raise Refusal("invalid_field", f"A team has at most {MOST_CONNECTORS} connectors.", place="name")
    try:
        with transaction.atomic():
            made = Connector.objects.create(team=access.team, name=name)
    except IntegrityError:
        raise Refusal("name_taken", _taken(name), place="name") from None
    ConnectorReader.objects.bulk_create(
        [ConnectorReader(connector=made, role=role) for role in Role.objects.filter(team=None, name="Owner")]
    )
    audit.by("connector.created", access, made, name=name)
    return made


@transaction.atomic
def edit_connector(
    *,
    access: Access,
    connector: Connector,
    revision: int,
    name: str | None = None,
    readers: Iterable[Role] | None = None,
) -> Connector:
    """Another name, other readers, or both. Naming readers needs `team.manage`."""
    kept = _own(access, connector)
    if name is not None:
        access.require(*EDIT)
    if readers is not None:
        access.require(*MANAGE)
    seen(kept.revision, revision, "The connector")
    if name is not None:
        name = given_name(name, "the connector")
        rename(access, kept, "connector", name, _taken(name))
    if readers is not None:
        _read_by(access, kept, readers)
    return kept


def _read_by(access: Access, connector: Connector, readers: Iterable[Role]) -> None:
    wanted = {role.pk: role for role in readers}
    own = Role.objects.filter(models.Q(team=access.team) | models.Q(team=None), pk__in=wanted)
    if own.count() != len(wanted):
        raise Refusal("not_found")
    ConnectorReader.objects.filter(connector=connector).exclude(role__in=wanted).delete()
    ConnectorReader.objects.bulk_create(
        [ConnectorReader(connector=connector, role=role) for role in wanted.values()], ignore_conflicts=True
    )
    connector.revision += 1
    connector.save(update_fields=["revision"])
    audit.by("connector.readers_set", access, connector, roles=sorted(role.name for role in wanted.values()))


@transaction.atomic
def archive_connector(*, access: Access, connector: Connector) -> Connector:
    """Out of the choice for drafts. Snapshots that name it keep it."""
    return _archived(access, connector, archived=True)


@transaction.atomic
def restore_connector(*, access: Access, connector: Connector) -> Connector:
    return _archived(access, connector, archived=False)


def _archived(access: Access, connector: Connector, *, archived: bool) -> Connector:
    access.require(*EDIT)
    kept = _own(access, connector)
    return set_archived(access, kept, "connector", archived=archived)


def _own(access: Access, connector: Connector) -> Connector:
    return access.find(Connector.objects.select_for_update(no_key=True), pk=connector.pk)


def _taken(name: str) -> str:
    return f"The team has a connector {name} already."
