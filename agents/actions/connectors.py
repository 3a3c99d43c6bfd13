"""Connectors of a team, and who may read what came through them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.db import IntegrityError, models, transaction

from agents.actions.agents import EDIT
from agents.actions.routes import checked_currency, checked_price, checked_secret
from agents.models import Connector, ConnectorReader
from agents.outbound import checked_url
from teams import audit
from teams.access import Access
from teams.given import name as given_name
from teams.keeping import rename, seen, set_archived
from teams.models import Role, User
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


@dataclass(frozen=True, slots=True)
class Reach:
    """How tools of a connector are called, as operators say it. No fee is unknown, zero is free."""

    address: str = ""
    secret_ref: str = ""
    fee_micros: int | None = None
    fee_currency: str = ""


def checked_reach(given: Reach) -> Reach:
    """The fields tidied, or a refusal with the place of the fault."""
    address = given.address.strip()
    if address:
        address = checked_url(address, place="address", loopback=settings.EMBEDDED, as_written=True)
    secret = checked_secret(given.secret_ref)
    if secret and not address:
        raise Refusal("invalid_field", "A secret goes to an address; there is none.", place="secret_ref")
    checked_price(given.fee_micros, "fee_micros")
    if given.fee_micros is None:
        return Reach(address, secret)
    checked_currency(given.fee_currency, "fee_currency")
    return Reach(address, secret, given.fee_micros, given.fee_currency)


@transaction.atomic
def reach_connector(*, connector: Connector, reach: Reach, by: User | None) -> Connector:
    """Tools are called there from now on, also those of experiments that run.

    A secret was given for one host: with another host it is dropped, until it is named again.
    """
    said = checked_reach(reach)
    kept = Connector.objects.select_for_update(no_key=True).get(pk=connector.pk)
    moved = _host(said.address) != _host(kept.address)
    secret = "" if moved and kept.address and said.secret_ref == kept.secret_ref else said.secret_ref
    kept.address, kept.secret_ref = said.address, secret
    kept.fee_micros, kept.fee_currency = said.fee_micros, said.fee_currency
    kept.save(update_fields=["address", "secret_ref", "fee_micros", "fee_currency"])
    audit.record(
        "connector.reach_set",
        team=kept.team,
        by=by,
        object_type="connector",
        object_id=kept.pk,
        reachable=bool(kept.address),
        moved=moved,
    )
    return kept


def _host(address: str) -> tuple[str, int | None]:
    parts = urlsplit(address)
    return (parts.hostname or "").rstrip("."), parts.port


def _archived(access: Access, connector: Connector, *, archived: bool) -> Connector:
    access.require(*EDIT)
    kept = _own(access, connector)
    return set_archived(access, kept, "connector", archived=archived)


def _own(access: Access, connector: Connector) -> Connector:
    return access.find(Connector.objects.select_for_update(no_key=True), pk=connector.pk)


def _taken(name: str) -> str:
    return f"The team has a connector {name} already."
