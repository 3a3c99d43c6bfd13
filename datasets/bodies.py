"""What a person writes of a case, checked whole: its content, and what describes it. No I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from analysis.strict_json import canonical, content_digest
from teams.given import json_object, line
from teams.refusals import Refusal

LONGEST_ID: Final = 500
LONGEST_TITLE: Final = 500
LONGEST_TAG: Final = 100
LONGEST_GROUP: Final = 500
MOST_TAGS: Final = 50
MOST_TURNS: Final = 200
MOST_POINTS: Final = 200
LARGEST_BODY: Final = 2 * 1024 * 1024
LARGEST_METADATA: Final = 100_000
ROLES: Final = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Case:
    """A case as somebody edits it. `body` is what is asked and expected; the rest describes it.

    The body is one JSON object. `input` or `turns` hold what is asked, `expected` what a good answer
    does, `checklist` what it earns points for; other keys are kept as they are.
    """

    source_id: str
    body: Mapping[str, Any]
    title: str = ""
    language: str = ""
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""

    @property
    def content_digest(self) -> bytes:
        return content_digest(dict(self.body))

    @property
    def description_digest(self) -> bytes:
        """Identity of what describes the case; the order of tags is no part of it."""
        said = {
            "title": self.title,
            "language": self.language,
            "tags": sorted(self.tags),
            "metadata": dict(self.metadata),
        }
        return hashlib.sha256(b"evenhand/description/1\0" + canonical(said)).digest()


def checked(case: Case) -> Case:
    """The case with its texts tidied, or a refusal with the place of the fault."""
    source_id = line(case.source_id, "source_id", LONGEST_ID)
    if not source_id:
        raise Refusal("invalid_field", f"A case has an id of 1 to {LONGEST_ID} characters.", place="source_id")
    tags = list(dict.fromkeys(tag for given in case.tags if (tag := line(given, "tags", LONGEST_TAG))))
    if len(tags) > MOST_TAGS:
        raise Refusal("invalid_field", f"A case has at most {MOST_TAGS} tags.", place="tags")
    language = line(case.language, "language", 35)
    if language and not all(part.isalnum() and part.isascii() for part in language.split("-")):
        raise Refusal("invalid_field", "A language is a tag such as en, ar or zh-Hant.", place="language")
    json_object(case.metadata, "metadata", LARGEST_METADATA)
    _body(case.body)
    return Case(
        source_id=source_id,
        body=case.body,
        title=line(case.title, "title", LONGEST_TITLE),
        language=language,
        tags=tags,
        metadata=case.metadata,
        group=line(case.group, "group", LONGEST_GROUP),
    )


def _body(body: Mapping[str, Any]) -> None:
    json_object(body, "body", LARGEST_BODY)
    if not any(body.get(name) for name in ("input", "turns")):
        raise Refusal("invalid_field", "Say what is asked: input, or turns of a conversation.", place="body.input")
    if "input" in body and "turns" in body:
        raise Refusal("invalid_field", "A case has an input or turns, not both.", place="body.turns")
    if "turns" in body:
        _turns(body["turns"])
    if "checklist" in body:
        _checklist(body["checklist"])


def _turns(turns: Any) -> None:
    if not isinstance(turns, list) or not 1 <= len(turns) <= MOST_TURNS:
        raise Refusal("invalid_field", f"turns is a list of 1 to {MOST_TURNS}.", place="body.turns")
    for at, turn in enumerate(turns):
        place = f"body.turns[{at}]"
        if not isinstance(turn, Mapping) or not {"role", "content"} <= set(turn):
            raise Refusal("invalid_field", "A turn has a role and a content.", place=place)
        if turn["role"] not in ROLES:
            raise Refusal("invalid_field", f"role is one of {', '.join(ROLES)}.", place=f"{place}.role")
        if not isinstance(turn["content"], str) or not turn["content"].strip():
            raise Refusal("invalid_field", "A turn says something.", place=f"{place}.content")


def _checklist(points: Any) -> None:
    if not isinstance(points, list) or not 1 <= len(points) <= MOST_POINTS:
        raise Refusal("invalid_field", f"checklist is a list of 1 to {MOST_POINTS} points.", place="body.checklist")
    seen: set[str] = set()
    for at, point in enumerate(points):
        place = f"body.checklist[{at}]"
        if not isinstance(point, Mapping) or not {"id", "text", "points"} <= set(point):
            raise Refusal("invalid_field", "A point has an id, a text and its points.", place=place)
        name, text, worth = point["id"], point["text"], point["points"]
        if not isinstance(name, str) or not 1 <= len(name) <= 80 or name in seen:
            raise Refusal("invalid_field", "An id of 1 to 80 characters, once in a checklist.", place=f"{place}.id")
        seen.add(name)
        if not isinstance(text, str) or not text.strip():
            raise Refusal("invalid_field", "A point says what is looked for.", place=f"{place}.text")
        if isinstance(worth, bool) or not isinstance(worth, int | float) or not 0 < worth <= 1000:
            raise Refusal("invalid_field", "points is a number above 0, up to 1,000.", place=f"{place}.points")
