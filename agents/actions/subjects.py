"""What creates subjects: one row per fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from agents.models import Agent, ModelRouteRevision, Release, Subject, SubjectDefinition, SubjectKind
from analysis import strict_json
from teams.access import Access


def fingerprint(kind: SubjectKind, definition: Mapping[str, Any]) -> str:
    """Identity of what was evaluated: SHA-256 over kind and definition."""
    return hashlib.sha256(
        b"evenhand/subject/1\0" + strict_json.canonical({"kind": kind.value, "definition": dict(definition)})
    ).hexdigest()


def imported_subject(
    *, access: Access, label: str, definition: Mapping[str, Any], facts: Sequence[tuple[str, str]]
) -> Subject:
    """The subject that other people's evidence tells of, found by its fingerprint or made.

    The label belongs to the definition: where a file says nothing about its subject but a name,
    two names are two subjects.
    """
    body = {"label": label, "recorded": dict(definition)}
    identity = fingerprint(SubjectKind.IMPORTED, body)
    subject, made = Subject.objects.get_or_create(
        team=access.team,
        fingerprint=identity,
        defaults={"kind": SubjectKind.IMPORTED, "label": label, "facts": [list(fact) for fact in facts]},
    )
    if made:
        SubjectDefinition.objects.create(subject=subject, body=body)
    return subject


def snapshot_subject(
    *, access: Access, agent: Agent, number: int, route: ModelRouteRevision, hashes: Mapping[str, str]
) -> Subject:
    """The subject that a snapshot is, with what readers of metadata may compare. One snapshot, one subject."""
    return _made(
        access,
        SubjectKind.SNAPSHOT,
        f"{agent.name} #{number}",
        {"agent": str(agent.pk), "number": number, **hashes},
        [("Agent", agent.name), ("Snapshot", str(number)), *_facts(route, hashes)],
    )


def release_subject(
    *, access: Access, release: Release, route: ModelRouteRevision, hashes: Mapping[str, str]
) -> Subject:
    """The subject that an approved release is."""
    return _made(
        access,
        SubjectKind.RELEASE,
        f"{release.agent.name}, release {release.name}",
        {"agent": str(release.agent_id), "release": str(release.pk), **hashes},
        [("Agent", release.agent.name), ("Release", release.name), *_facts(route, hashes)],
    )


def _facts(route: ModelRouteRevision, hashes: Mapping[str, str]) -> list[tuple[str, str]]:
    return [
        ("Model", route.model_id),
        ("Provider", route.provider.name),
        ("Profile", route.profile),
        *((f"{name.removesuffix('_sha256').capitalize()} hash", value) for name, value in hashes.items()),
        ("Capability hash", route.capability_sha256),
    ]


def _made(
    access: Access, kind: SubjectKind, label: str, definition: Mapping[str, Any], facts: Sequence[tuple[str, str]]
) -> Subject:
    subject: Subject = Subject.objects.create(
        team=access.team,
        kind=kind,
        label=label[:200],
        fingerprint=fingerprint(kind, definition),
        facts=[list(fact) for fact in facts if fact[1]],
    )
    return subject
