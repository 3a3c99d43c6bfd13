"""The demo's model routes, connector and agents. They run on this machine; nothing of them leaves it."""

from __future__ import annotations

from typing import Any

from agents import actions
from agents.definitions import EMPTY
from agents.models import Agent, ModelRoute, Provider, Snapshot
from analysis import strict_json
from config import demo
from teams.access import Access


def load_agents(access: Access) -> None:
    """Unless the team has agents: everything that `agents.json` describes."""
    if Agent.objects.filter(team=access.team).exists():
        return
    told = strict_json.loads((demo.DATA / "agents.json").read_bytes())
    _routes(told)
    connector = actions.create_connector(access=access, name=told["connector"])
    for one in told["agents"]:
        _agent(access, one, str(connector.pk))


def _routes(told: dict[str, Any]) -> None:
    provider, _ = Provider.objects.get_or_create(key=told["provider"]["key"], defaults=told["provider"])
    for one in told["routes"]:
        route, made = ModelRoute.objects.get_or_create(key=one["key"], defaults={"name": one["name"]})
        for said in one["revisions"] if made else ():
            fields = actions.RouteFields(provider=provider, auth_mode="none", capabilities=told["capabilities"], **said)
            actions.activate_route(revision=actions.add_route_revision(route=route, fields=fields, by=None), by=None)


def _agent(access: Access, told: dict[str, Any], connector: str) -> None:
    """Drafts that were published one after another, a variant of the first, and the draft as it stands."""
    agent = actions.create_agent(access=access, name=told["name"])
    body, revision = dict(EMPTY), 1
    published: list[Snapshot] = []

    def save(said: dict[str, Any]) -> None:
        nonlocal body, revision
        changed = {name: value for name, value in said.items() if name != "connector"}
        if "connector" in said:
            changed["connectors"] = [{"connector": connector, "mode": said["connector"]}]
        body = {**body, **changed}
        revision = actions.save_draft(access=access, agent=agent, definition=body, revision=revision).revision

    for said in told["drafts"]:
        save(said)
        published.append(actions.publish_draft(access=access, agent=agent, revision=revision).snapshot)
    if "variant" in told:
        route = ModelRoute.objects.get(key=told["variant"])
        actions.make_variant(access=access, base=published[-1], route=route)
    save(told["draft"])
