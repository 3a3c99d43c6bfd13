"""How the things of a setup are called: names for the ids that an intent or a form holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from agents.models import ModelRoute, Snapshot
from datasets.models import SliceVersion, Version
from grading.models import EvidenceKind, GraderVersion
from runs.models import ToolPolicy
from teams.access import Access

GONE: Final = "(unavailable)"


def names(access: Access, ids: Iterable[str]) -> dict[str, str]:
    """Names of the team's grader versions, dataset versions, slice versions and snapshots, put away or not."""
    wanted = set(ids)
    if not wanted:
        return {}
    graders = GraderVersion.objects.filter(pk__in=wanted, grader__definition__team=access.team)
    versions = Version.objects.filter(pk__in=wanted, dataset__team=access.team)
    slices = SliceVersion.objects.filter(pk__in=wanted, slice__dataset__team=access.team)
    snapshots = Snapshot.objects.filter(pk__in=wanted, agent__team=access.team)
    return {
        **{str(one.pk): str(one) for one in graders.select_related("grader")},
        **{str(one.pk): f"{one.dataset.name}, version {one.number}" for one in versions.select_related("dataset")},
        **{str(one.pk): f"{one.slice.name}, version {one.number}" for one in slices.select_related("slice")},
        **{str(one.pk): str(one) for one in snapshots.select_related("agent")},
    }


def said_by(access: Access, body: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """What the body of a template says, for reading: titles, each with one or more names."""
    single = [body["base"], body["version"], body["slice"], body["enrichment"], body["primary"]]
    many = [*(one.get("snapshot") for one in body["arms"]), *(one["version"] for one in body["graders"])]
    known = names(access, [one for one in (*single, *many) if one])
    routes = dict(
        ModelRoute.objects.filter(key__in=[one["route"] for one in body["arms"] if "route" in one]).values_list(
            "key", "name"
        )
    )

    def called(pk: str | None, nothing: str) -> list[str]:
        return [known.get(pk, GONE)] if pk else [nothing]

    arms = [
        f"{'ABCDE'[at]}: {known.get(one['snapshot'], GONE)}"
        if "snapshot" in one
        else f"{'ABCDE'[at]}: new variant over {routes.get(one['route'], GONE)}"
        for at, one in enumerate(body["arms"])
    ]
    graders = [
        f"{known.get(one['version'], GONE)}{', by enrichment' * (one['evidence'] == EvidenceKind.ENRICHMENT)}"
        for one in body["graders"]
    ]
    return [
        ("Name", [body["name"]]),
        ("Base snapshot", called(body["base"], "")),
        ("Dataset version", called(body["version"], "")),
        ("Slice", called(body["slice"], "Every case")),
        ("Arms", arms),
        ("Repetitions", [str(body["repetitions"])]),
        ("Tools", [ToolPolicy(body["tool_policy"]).label if body["tool_policy"] in ToolPolicy.values else GONE]),
        ("Pinned graders", graders),
        ("Enrichment validator", called(body["enrichment"], "None")),
        ("Primary metric", called(body["primary"], "")),
    ]
