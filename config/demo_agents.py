"""The demo's model routes, connector and agents. They run on this machine; nothing of them leaves it."""

from __future__ import annotations

from typing import Any

from agents import actions
from agents.definitions import EMPTY
from agents.models import Agent, AssetVersion, Configuration, Harness, ModelRoute, Provider, Snapshot
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
    _releases(access, told, _assets(access, told))
    _configurations(access, told)


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


def _assets(access: Access, told: dict[str, Any]) -> dict[tuple[str, str, int], AssetVersion]:
    """Assets by kind, name and number, each version approved but the small model's."""
    found = {}
    for one in told["assets"]:
        for number, body in enumerate(one["bodies"], start=1):
            if number == 1:
                version = actions.create_asset(access=access, kind=one["kind"], name=one["name"], body=body)
            else:
                version = actions.add_asset_version(
                    access=access, asset=version.asset, body=body, revision=version.asset.revision
                )
            found[one["kind"], one["name"], number] = version
            if one["name"] != "Support, small":
                actions.approve_asset_version(access=access, version=version)
    return found


def _releases(access: Access, told: dict[str, Any], versions: dict[tuple[str, str, int], AssetVersion]) -> None:
    """A retired release, an active one, and a draft that waits for an approval."""
    for one in told["releases"]:
        bindings = {role: versions[role, name, number].pk for role, (name, number) in one["bindings"].items()}
        agent = Agent.objects.get(team=access.team, name=one["agent"])
        release = actions.create_release(access=access, agent=agent, name=one["name"], bindings=bindings)
        for revision, state in enumerate(one["steps"], start=1):
            actions.move_release(access=access, release=release, to=state, revision=revision)


def _configurations(access: Access, told: dict[str, Any]) -> None:
    """A harness and a built-in configuration for everybody, and one of the team over its saved agent."""
    said = dict(told["harness"])
    harness, made = Harness.objects.get_or_create(key=said.pop("key"), defaults={"name": said.pop("name")})
    if made:
        fields = actions.HarnessFields(**said)
        actions.activate_harness(
            revision=actions.add_harness_revision(harness=harness, fields=fields, by=None), by=None
        )
    if not Configuration.objects.filter(team=None).exists():
        actions.save_built_in_configuration(**told["built_in"], by=None)
    for one in told["configurations"]:
        agent = Agent.objects.get(team=access.team, name=one["agent"])
        (root, *others), body = one["body"]["roles"], one["body"]
        roles = [{**root, "agent": str(agent.pk)}, *others]
        actions.create_configuration(access=access, name=one["name"], body={**body, "roles": roles})
