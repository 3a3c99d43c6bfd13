"""Which tools of a definition are run, and over which connectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from agents.models import Connector
from runs.models import ToolPolicy

MODES: Final[Mapping[str, tuple[str, ...]]] = {
    ToolPolicy.READ: ("read",),
    ToolPolicy.ALL: ("read", "read_write"),
}
"""By the policies that run tools, the modes of connectors over which they do."""
WRITES: Final = "read_write"


def mode_of(definition: Mapping[str, Any], tool: Mapping[str, Any]) -> str:
    """How a tool uses its connector; a tool without one is off."""
    modes = {one["connector"]: one["mode"] for one in definition["connectors"]}
    return str(modes.get(tool.get("connector", ""), "off"))


def offered(definition: Mapping[str, Any], policy: str) -> list[Mapping[str, Any]]:
    """The tools that a model is told of. Where tools are run, those that are not run are not offered."""
    tools: list[Mapping[str, Any]] = definition["tools"]
    if policy == ToolPolicy.RECORD:
        return tools
    return [tool for tool in tools if mode_of(definition, tool) in MODES.get(policy, ())]


def unreachable(team: UUID, definition: Mapping[str, Any], policy: str) -> list[str]:
    """Names of the connectors that tools would be run over and that have no address, or are put away."""
    if policy not in MODES:
        return []
    needed = {UUID(tool["connector"]) for tool in offered(definition, policy)}
    rows = Connector.objects.filter(team=team, pk__in=needed).order_by("name")
    return [row.name for row in rows if not row.reachable]


def summary(definition: Mapping[str, Any], policy: str) -> str:
    """How many of a definition's tools are run; nothing under a policy that runs none."""
    return f"{len(offered(definition, policy))} of {len(definition['tools'])}" if policy in MODES else ""
