"""The evidence manifest: which bytes a decision rests on, and how far each record is to be trusted.

A trust state is what somebody stated, or less. Nothing here raises one: a digest that matches shows
only that two copies agree, and what is missing, damaged or contradicted lowers the state.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from analysis.comparability import policy
from analysis.comparability.records import InvalidCase, Problem, shown

MANIFEST_VERSION: Final = "evidence/1"
ARTIFACT_ROLES: Final = ("trace", "answer", "grading_pass")
STATED_BY_NOBODY: Final = ""

type Content = bytes
"""What a file holds; a field of an artifact bears the shorter name."""


class Trust(StrEnum):
    """How far a record's reward is to be trusted; `LADDER` orders them."""

    NONE = "no_sufficient_evidence"
    UNDECLARED = "undeclared"
    CLAIMED = "agent_claimed"
    SOURCE = "source_verifier_attested"
    OURS = "independently_verified"

    def lowered(self, other: Trust) -> Trust:
        """The lower of two states."""
        return min(self, other, key=LADDER.index)


LADDER: Final = tuple(Trust)


class Binding(StrEnum):
    """What a digest taken now says about an artifact."""

    RECORDED = "recorded"
    """Nothing was stated to compare it with."""
    VERIFIED = "binding_verified"
    MISMATCH = "mismatch"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file of evidence. `bytes` and `sha256` are None where it could not be read."""

    role: str
    name: str
    bytes: int | None
    sha256: str | None
    binding: Binding

    @classmethod
    def of(cls, role: str, name: str, content: Content | None, stated_sha256: str | None = None) -> Artifact:
        if content is None:
            return cls(role, name, None, None, Binding.UNREADABLE)
        digest = hashlib.sha256(content).hexdigest()
        binding = Binding.RECORDED
        if stated_sha256 is not None:
            binding = Binding.VERIFIED if stated_sha256.lower() == digest else Binding.MISMATCH
        return cls(role, name, len(content), digest, binding)


@dataclass(frozen=True, slots=True)
class RecordEvidence:
    """What is known of the evidence behind one record."""

    index: int
    ref: str
    trust_state: Trust = Trust.UNDECLARED
    stated_by: str = STATED_BY_NOBODY
    trace: str = "not_stated"

    def with_trace(self, available: bool | None) -> RecordEvidence:
        """The same with the record's own word on its trace; a missing one leaves no sufficient evidence."""
        if available is None:
            return self
        if available:
            return self if self.trace == "missing" else dataclasses.replace(self, trace="available")
        return dataclasses.replace(self, trace="missing", trust_state=Trust.NONE)

    def with_artifact(self, artifact: Artifact) -> RecordEvidence:
        """The same after an artifact was looked at. Agreement changes nothing."""
        if artifact.binding in (Binding.MISMATCH, Binding.UNREADABLE):
            return dataclasses.replace(self, trust_state=Trust.NONE)
        return self

    def cut_off(self) -> RecordEvidence:
        """The same for a run that a limit stopped: its trace is there and does not reach the end."""
        return dataclasses.replace(self, trust_state=Trust.NONE)

    def merged(self, other: RecordEvidence) -> RecordEvidence:
        """Two descriptions of one record: the lower state, and the worse word on the trace."""
        if (self.index, self.ref) != (other.index, other.ref):
            raise ValueError("Two manifests can be merged only where they speak of the same record.")
        traces = {self.trace, other.trace}
        trace = next(word for word in ("missing", "not_stated", "available") if word in traces)
        lower = self if self.trust_state.lowered(other.trust_state) is self.trust_state else other
        return dataclasses.replace(lower, trace=trace)


def describe(case: Mapping[str, Any], statements: Mapping[int, tuple[Trust, str]]) -> tuple[RecordEvidence, ...]:
    """Every record of a case that was adjudicated, with what was stated about it and nothing else."""
    found = []
    for index, record in enumerate(case["records"]):
        trust, stated_by = statements.get(index, (Trust.UNDECLARED, STATED_BY_NOBODY))
        ref = f"rec:{record['task_id']}/{record['model']}/{record['harness']}"
        found.append(RecordEvidence(index, ref, trust, stated_by).with_trace(record.get("trajectory_available")))
    return tuple(found)


def manifest(
    *,
    case_id: str,
    requested_claim: str,
    artifacts: Sequence[Artifact],
    records: Sequence[RecordEvidence],
    mapping: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The manifest as values of JSON. No clock stands in it: the same evidence gives the same bytes."""
    found: dict[str, Any] = {
        "manifest_version": MANIFEST_VERSION,
        "case_id": case_id,
        "requested_claim": requested_claim,
        "policy_version": policy.POLICY_VERSION,
        "artifacts": [dataclasses.asdict(artifact) for artifact in artifacts],
        "records": [dataclasses.asdict(record) for record in records],
        "limitations": [
            policy.LIMITATION,
            "Trust states are as stated; nothing in this manifest raises one.",
        ],
    }
    if mapping is not None:
        found["mapping"] = dict(mapping)
    return found


@dataclass(frozen=True, slots=True)
class StatedArtifact:
    """A file that the evidence description names, with the digest that it is said to have."""

    role: str
    path: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Statements:
    """What an evidence description states, by the index of the record."""

    trust: Mapping[int, tuple[Trust, str]]
    artifacts: Mapping[int, tuple[StatedArtifact, ...]]


def read_statements(value: Any, records: int) -> Statements:
    """An evidence description, or `InvalidCase` with all its problems. Its form is in docs/comparability.md.

    A state needs somebody who stated it; `undeclared` is what is left when nobody did, and cannot be stated.
    """
    problems: list[Problem] = []
    trust: dict[int, tuple[Trust, str]] = {}
    artifacts: dict[int, tuple[StatedArtifact, ...]] = {}
    entries = value.get("records") if isinstance(value, Mapping) else None
    if not isinstance(entries, list):
        raise InvalidCase([Problem(("records",), "expected a list of statements")])
    seen: set[int] = set()
    for position, entry in enumerate(entries):
        path: tuple[str | int, ...] = ("records", position)
        if not isinstance(entry, Mapping):
            problems.append(Problem(path, "expected an object"))
            continue
        problems += [
            Problem((*path, name), "is not a known field")
            for name in entry
            if name not in ("index", "trust_state", "stated_by", "artifacts")
        ]
        index = entry.get("index")
        if type(index) is not int or not 0 <= index < records:
            problems.append(Problem((*path, "index"), f"expected the index of a record, got {shown(index)}"))
            continue
        if index in seen:
            problems.append(Problem((*path, "index"), f"record {index} was described before"))
        seen.add(index)
        if "trust_state" in entry or "stated_by" in entry:
            stated = _statement(entry, path, problems)
            if stated is not None:
                trust[index] = stated
        artifacts[index] = _stated_artifacts(entry.get("artifacts", []), (*path, "artifacts"), problems)
    if problems:
        raise InvalidCase(problems)
    return Statements(trust, artifacts)


def _statement(
    entry: Mapping[str, Any], path: tuple[str | int, ...], problems: list[Problem]
) -> tuple[Trust, str] | None:
    state, by = entry.get("trust_state"), entry.get("stated_by")
    states = [str(trust) for trust in LADDER if trust is not Trust.UNDECLARED]
    if not isinstance(state, str) or state not in states:
        problems.append(Problem((*path, "trust_state"), f"expected one of {', '.join(states)}, got {shown(state)}"))
        return None
    if not isinstance(by, str) or not by.strip():
        problems.append(Problem((*path, "stated_by"), f"expected who stated it, got {shown(by)}"))
        return None
    return Trust(state), by


def _stated_artifacts(value: Any, path: tuple[str | int, ...], problems: list[Problem]) -> tuple[StatedArtifact, ...]:
    if not isinstance(value, list):
        problems.append(Problem(path, "expected a list"))
        return ()
    found = []
    for position, entry in enumerate(value):
        here = (*path, position)
        if not isinstance(entry, Mapping):
            problems.append(Problem(here, "expected an object"))
            continue
        role, name, digest = entry.get("role"), entry.get("path"), entry.get("sha256")
        if role not in ARTIFACT_ROLES:
            problems.append(Problem((*here, "role"), f"expected one of {', '.join(ARTIFACT_ROLES)}, got {shown(role)}"))
        elif not isinstance(name, str) or not name:
            problems.append(Problem((*here, "path"), f"expected the path of a file, got {shown(name)}"))
        elif digest is not None and not _is_digest(digest):
            problems.append(Problem((*here, "sha256"), f"expected 64 hexadecimal digits, got {shown(digest)}"))
        else:
            found.append(StatedArtifact(role, name, digest))
    return tuple(found)


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and all(c in "0123456789abcdefABCDEF" for c in value)
