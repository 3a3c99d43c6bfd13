"""Agents, routes and datasets to launch experiments with, made through the actions that people use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents import actions
from agents.definitions import EMPTY
from agents.models import ModelRoute, Provider, Snapshot
from analysis.observations import source_digest
from datasets import actions as dataset_actions
from datasets.actions.cases import CaseDraft, exact_version, store_cases
from datasets.bodies import Case
from datasets.models import Version
from teams.access import Access


def route(key: str = "echo", model_id: str = "fixture:echo", *, kind: str = "fixture", **fields: Any) -> ModelRoute:
    """An active model route; a fixture unless said otherwise."""
    provider, _ = Provider.objects.get_or_create(key=kind, defaults={"name": kind.capitalize(), "kind": kind})
    found, _ = ModelRoute.objects.get_or_create(key=key, defaults={"name": key.capitalize()})
    said = actions.RouteFields(provider=provider, model_id=model_id, auth_mode="none", **fields)
    actions.activate_route(revision=actions.add_route_revision(route=found, fields=said, by=None), by=None)
    found.refresh_from_db()
    return found


def snapshot(access: Access, over: ModelRoute, name: str = "Desk", **definition: Any) -> Snapshot:
    """A published snapshot of an agent over a route."""
    agent = actions.create_agent(access=access, name=name)
    body = {**EMPTY, "instructions": "Answer.", "route": over.key, **definition}
    actions.save_draft(access=access, agent=agent, definition=body, revision=1)
    return actions.publish_draft(access=access, agent=agent, revision=2).snapshot


def version(access: Access, cases: int | Sequence[Mapping[str, Any]] = 3, name: str = "Questions") -> Version:
    """A dataset version of so many questions, or of these bodies."""
    bodies = [{"input": f"question {at}"} for at in range(cases)] if isinstance(cases, int) else cases
    dataset = dataset_actions.create_dataset(access=access, name=name)
    cases = [Case(f"case-{at:05}", dict(body)) for at, body in enumerate(bodies)]
    now = timezone.now()
    drafts = [
        CaseDraft(source_digest(one.source_id), one.content_digest, one.source_id, False, one.body) for one in cases
    ]
    with transaction.atomic():
        stored = store_cases(dataset=dataset, drafts=drafts, by=access.user.pk, at=now)
        listed = [(source, where) for (source, _), where in stored.items()]
        return exact_version(
            access=access, dataset=dataset, cases=sorted(listed, key=_order(drafts)), at=now, in_order=True
        )


def _order(drafts: Sequence[CaseDraft]) -> Any:
    at = {draft.source_digest: position for position, draft in enumerate(drafts)}
    return lambda listed: at[listed[0]]
