"""Agents themselves: made, renamed, put away and brought back."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from agents import definitions
from agents.models import Agent, AgentDraft
from teams import audit
from teams.access import Access
from teams.given import name as given_name
from teams.keeping import rename, seen, set_archived
from teams.permissions import Right
from teams.refusals import Code, Refusal, register

MOST_AGENTS = 2_000

register(
    {
        "agent_archived": Code(409, "Restore the agent first."),
        "too_many_agents": Code(409, f"A team has at most {MOST_AGENTS:,} agents; archive does not free a place."),
    }
)

EDIT = (Right.AGENT_EDIT, Right.AGENT_READ)
EDIT_CONTENT = (*EDIT, Right.EVALUATION_CONTENT_READ)
"""What editing a definition needs: it shows what the agent is told."""


@transaction.atomic
def create_agent(*, access: Access, name: str) -> Agent:
    """A new agent with an empty draft."""
    access.require(*EDIT)
    name = given_name(name, "the agent")
    if Agent.objects.filter(team=access.team).count() >= MOST_AGENTS:
        raise Refusal("too_many_agents")
    try:
        with transaction.atomic():
            agent = Agent.objects.create(team=access.team, name=name)
    except IntegrityError:
        raise Refusal("name_taken", _taken(name), place="name") from None
    AgentDraft.objects.create(
        agent=agent,
        body=definitions.EMPTY,
        sha256=definitions.digest("draft", definitions.EMPTY),
        saved_by=access.user,
    )
    audit.by("agent.created", access, agent, name=name)
    return agent


@transaction.atomic
def rename_agent(*, access: Access, agent: Agent, name: str, revision: int) -> Agent:
    """Another name. Its snapshots and everything that was run with them stay."""
    access.require(*EDIT)
    name = given_name(name, "the agent")
    kept = locked(access, agent)
    seen(kept.revision, revision, "The agent")
    return rename(access, kept, "agent", name, _taken(name))


@transaction.atomic
def archive_agent(*, access: Access, agent: Agent) -> Agent:
    """Out of the lists and out of use for new work; nothing is lost."""
    return _archived(access, agent, archived=True)


@transaction.atomic
def restore_agent(*, access: Access, agent: Agent) -> Agent:
    return _archived(access, agent, archived=False)


def _archived(access: Access, agent: Agent, *, archived: bool) -> Agent:
    access.require(*EDIT)
    kept = locked(access, agent)
    return set_archived(access, kept, "agent", archived=archived)


def _taken(name: str) -> str:
    return f"The team has an agent {name} already."


def locked(access: Access, agent: Agent) -> Agent:
    """The team's agent, nobody else's to change until the transaction ends."""
    return access.find(Agent.objects.select_for_update(no_key=True), pk=agent.pk)


def not_archived(agent: Agent) -> None:
    if agent.archived_at is not None:
        raise Refusal("agent_archived", f"The agent {agent.name} is archived.")
