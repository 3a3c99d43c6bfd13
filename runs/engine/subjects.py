"""What a subject is asked with: its definition, the tools it may have, and where its calls go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.definitions import USUAL_TOOL_ROUNDS
from agents.models import ModelRouteRevision
from runs.engine.conversation import instructions_of
from runs.executors.contract import Ask, Message, Target
from runs.tools import MODES, offered


@dataclass(frozen=True, slots=True)
class Asker:
    """A definition with its route, ready to be asked."""

    definition: Mapping[str, Any]
    route: ModelRouteRevision
    tool_policy: str

    @property
    def runs_tools(self) -> bool:
        return self.tool_policy in MODES

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        return offered(self.definition, self.tool_policy)

    @property
    def most_rounds(self) -> int:
        """How often tools may be run for one turn."""
        return int(self.definition["settings"].get("max_tool_rounds", USUAL_TOOL_ROUNDS))

    def ask(self, messages: Sequence[Message], repetition: int = 1) -> Ask:
        said = self.definition
        return Ask(
            target=target_of(self.route),
            instructions=instructions_of(said),
            messages=messages,
            tools=self.tools,
            settings=said["settings"],
            schema=said["settings"].get("output_schema"),
            repetition=repetition,
        )


def target_of(route: ModelRouteRevision) -> Target:
    return Target(route.provider.kind, route.provider.key, route.model_id, route.base_url, route.secret_ref)
