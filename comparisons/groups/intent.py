"""What somebody means to compare, in one canonical form. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from grading.models import EvidenceKind
from runs.models import ToolPolicy
from teams.given import name as given_name
from teams.refusals import Refusal

MOST_ARMS: Final = 5
MOST_REPETITIONS: Final = 5
FIELDS: Final = (
    *("name", "base", "version", "slice", "arms", "repetitions", "tool_policy", "graders", "enrichment", "primary"),
    "template",
)


@dataclass(frozen=True, slots=True)
class ArmIntent:
    """An existing snapshot, or a variant of the base over another model route."""

    snapshot: UUID | None = None
    route: str = ""

    def plain(self) -> dict[str, str]:
        return {"snapshot": str(self.snapshot)} if self.snapshot else {"route": self.route}


@dataclass(frozen=True, slots=True)
class Intent:
    name: str
    base: UUID
    version: UUID
    slice: UUID | None
    arms: tuple[ArmIntent, ...]
    repetitions: int
    tool_policy: str
    graders: tuple[tuple[UUID, str], ...]
    """Grader versions, each with the evidence that it judges by."""
    enrichment: UUID | None
    primary: UUID
    """The exact version that measures the primary metric."""
    template: UUID | None = None
    """The version of a template that this was restored from, edited since or not."""

    def plain(self) -> dict[str, Any]:
        """As it goes to receipts and hashes."""
        return {**self.reusable(), "template": str(self.template) if self.template else None}

    def reusable(self) -> dict[str, Any]:
        """What a template keeps: everything but where it came from."""
        return {
            "name": self.name,
            "base": str(self.base),
            "version": str(self.version),
            "slice": str(self.slice) if self.slice else None,
            "arms": [arm.plain() for arm in self.arms],
            "repetitions": self.repetitions,
            "tool_policy": self.tool_policy,
            "graders": [{"version": str(version), "evidence": evidence} for version, evidence in self.graders],
            "enrichment": str(self.enrichment) if self.enrichment else None,
            "primary": str(self.primary),
        }


def read(given: Any) -> Intent:
    """An intent from outside, checked whole; a fault is told with its place."""
    if not isinstance(given, Mapping):
        raise Refusal("invalid_field", "An object is needed.", place="intent")
    unknown = sorted(set(given) - set(FIELDS))
    if unknown:
        raise Refusal("unknown_field", f"The fields are {', '.join(FIELDS)}.", place=unknown[0][:60])
    repetitions = given.get("repetitions", 1)
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or not 1 <= repetitions <= MOST_REPETITIONS:
        raise Refusal("invalid_field", f"A whole number from 1 to {MOST_REPETITIONS}.", place="repetitions")
    policy = given.get("tool_policy", ToolPolicy.NONE.value)
    if policy not in ToolPolicy.values:
        raise Refusal("invalid_field", f"One of {', '.join(ToolPolicy.values)}.", place="tool_policy")
    return Intent(
        name=given_name(given.get("name"), "the comparison"),
        base=_id(given.get("base"), "base"),
        version=_id(given.get("version"), "version"),
        slice=_maybe(given.get("slice"), "slice"),
        arms=_arms(given.get("arms")),
        repetitions=repetitions,
        tool_policy=str(policy),
        graders=_graders(given.get("graders")),
        enrichment=_maybe(given.get("enrichment"), "enrichment"),
        primary=_id(given.get("primary"), "primary"),
        template=_maybe(given.get("template"), "template"),
    )


def _id(value: Any, place: str) -> UUID:
    try:
        return UUID(value) if isinstance(value, str) else UUID("")
    except ValueError:
        raise Refusal("invalid_field", "An id is needed.", place=place) from None


def _maybe(value: Any, place: str) -> UUID | None:
    return None if value is None or value == "" else _id(value, place)


def _arms(given: Any) -> tuple[ArmIntent, ...]:
    if not isinstance(given, list) or not 2 <= len(given) <= MOST_ARMS:
        raise Refusal("invalid_field", f"A list of 2 to {MOST_ARMS} arms.", place="arms")
    found: list[ArmIntent] = []
    for at, one in enumerate(given):
        place = f"arms[{at}]"
        if not isinstance(one, Mapping) or set(one) not in ({"snapshot"}, {"route"}):
            raise Refusal("invalid_field", "An arm has a snapshot, or the route of a new variant.", place=place)
        if "snapshot" in one:
            arm = ArmIntent(snapshot=_id(one["snapshot"], f"{place}.snapshot"))
        elif isinstance(one["route"], str) and 1 <= len(one["route"]) <= 80:
            arm = ArmIntent(route=one["route"])
        else:
            raise Refusal("invalid_field", "The key of a model route.", place=f"{place}.route")
        if arm in found:
            raise Refusal("invalid_field", "Each arm stands once.", place=place)
        found.append(arm)
    return tuple(found)


def _graders(given: Any) -> tuple[tuple[UUID, str], ...]:
    if not isinstance(given, list) or len(given) > 20:
        raise Refusal("invalid_field", "A list of at most 20 grader versions.", place="graders")
    found = []
    for at, one in enumerate(given):
        place = f"graders[{at}]"
        if not isinstance(one, Mapping) or not {"version"} <= set(one) <= {"version", "evidence"}:
            raise Refusal("invalid_field", "A version, and what it judges by.", place=place)
        evidence = one.get("evidence", EvidenceKind.GENERATION.value)
        if evidence not in EvidenceKind.values:
            raise Refusal("invalid_field", f"One of {', '.join(EvidenceKind.values)}.", place=f"{place}.evidence")
        found.append((_id(one["version"], f"{place}.version"), str(evidence)))
    return tuple(found)
