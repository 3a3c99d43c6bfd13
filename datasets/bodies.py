"""What a person writes of a case, checked whole: its content, and what describes it. No I/O."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
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
MOST_VARIANTS: Final = 20
VARIANT: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
LARGEST_BODY: Final = 2 * 1024 * 1024
LARGEST_METADATA: Final = 100_000
ROLES: Final = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Case:
    """A case as somebody edits it. `body` is what is asked and expected; the rest describes it.

    The body is one JSON object. `input` or `turns` hold what is asked, `expected` what a good answer
    does, `checklist` what it earns points for, `variants` what variants ask and look for beyond that,
    `validators` which programs decide points, `engines` where it can run; other keys are kept as they are.
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
    points = _checklist(body["checklist"], "body.checklist") if "checklist" in body else set()
    if "variants" in body:
        points |= _variants(body["variants"], points)
    if "validators" in body:
        _validators(body["validators"], points)
    if "engines" in body:
        _names(body["engines"], "body.engines")
    if not isinstance(body.get("validator_rated", False), bool):
        raise Refusal("invalid_field", "true or false.", place="body.validator_rated")


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


def _checklist(points: Any, place: str, taken: Collection[str] = ()) -> set[str]:
    """The ids of a list of points; `taken` are those of points that stand beside them."""
    if not isinstance(points, list) or not 1 <= len(points) <= MOST_POINTS:
        raise Refusal("invalid_field", f"checklist is a list of 1 to {MOST_POINTS} points.", place=place)
    seen: set[str] = set()
    for at, point in enumerate(points):
        where = f"{place}[{at}]"
        seen.add(_point(point, where, seen | set(taken), subs=True))
    return seen


def _point(point: Any, place: str, taken: Collection[str], *, subs: bool) -> str:
    """One point, or with `subs` off one of the smaller things that make one."""
    if not isinstance(point, Mapping) or not {"id", "text", "points"} <= set(point):
        raise Refusal("invalid_field", "A point has an id, a text and its points.", place=place)
    name, text, worth = point["id"], point["text"], point["points"]
    if not isinstance(name, str) or not 1 <= len(name) <= 80 or name in taken:
        raise Refusal("invalid_field", "An id of 1 to 80 characters, once in a checklist.", place=f"{place}.id")
    if not isinstance(text, str) or not text.strip():
        raise Refusal("invalid_field", "A point says what is looked for.", place=f"{place}.text")
    if isinstance(worth, bool) or not isinstance(worth, int | float) or not 0 < worth <= 1000:
        raise Refusal("invalid_field", "points is a number above 0, up to 1,000.", place=f"{place}.points")
    if subs and point.get("sub_items"):
        inner = point["sub_items"]
        if not isinstance(inner, list) or len(inner) > MOST_POINTS:
            raise Refusal("invalid_field", f"A list of at most {MOST_POINTS}.", place=f"{place}.sub_items")
        seen: set[str] = set()
        for at, one in enumerate(inner):
            seen.add(_point(one, f"{place}.sub_items[{at}]", seen, subs=False))
        if abs(sum(one["points"] for one in inner) - worth) > 1e-9:
            raise Refusal("invalid_field", "The sub-items are worth what the point is.", place=f"{place}.sub_items")
    return name


def _variants(variants: Any, common: Collection[str]) -> set[str]:
    """Variants of a case: each may ask something more, and looks for points of its own."""
    if not isinstance(variants, list) or not 1 <= len(variants) <= MOST_VARIANTS:
        raise Refusal("invalid_field", f"A list of 1 to {MOST_VARIANTS} variants.", place="body.variants")
    found: set[str] = set()
    names: set[str] = set()
    for at, one in enumerate(variants):
        place = f"body.variants[{at}]"
        if not isinstance(one, Mapping) or not {"name"} <= set(one) <= {"name", "input", "checklist"}:
            raise Refusal("invalid_field", "A variant has a name, and input or a checklist.", place=place)
        name = one["name"]
        if not isinstance(name, str) or not VARIANT.fullmatch(name) or name in names:
            raise Refusal("invalid_field", "A name of small letters, digits and -, once.", place=f"{place}.name")
        names.add(name)
        if not isinstance(one.get("input", ""), str):
            raise Refusal("invalid_field", "A text is needed.", place=f"{place}.input")
        if "checklist" in one:
            found |= _checklist(one["checklist"], f"{place}.checklist", common)
    return found


def _validators(validators: Any, points: Collection[str]) -> None:
    """Programs that decide points by themselves."""
    if not isinstance(validators, list) or not 1 <= len(validators) <= MOST_POINTS:
        raise Refusal("invalid_field", f"A list of 1 to {MOST_POINTS} validators.", place="body.validators")
    names: set[str] = set()
    for at, one in enumerate(validators):
        place = f"body.validators[{at}]"
        if not isinstance(one, Mapping) or set(one) != {"name", "points"}:
            raise Refusal("invalid_field", "A validator has a name, and the ids of points it decides.", place=place)
        name, decides = one["name"], one["points"]
        if not isinstance(name, str) or not 1 <= len(name) <= 120 or name in names:
            raise Refusal("invalid_field", "A name of 1 to 120 characters, once.", place=f"{place}.name")
        names.add(name)
        if (
            not isinstance(decides, list)
            or not decides
            or not all(isinstance(point, str) and point in points for point in decides)
        ):
            raise Refusal("invalid_field", "Name points of the case by their ids.", place=f"{place}.points")


def _names(names: Any, place: str) -> None:
    if not isinstance(names, list) or not 1 <= len(names) <= 50:
        raise Refusal("invalid_field", "A list of 1 to 50 names.", place=place)
    if not all(isinstance(one, str) and 1 <= len(one) <= 120 for one in names) or len(set(names)) != len(names):
        raise Refusal("invalid_field", "Names of 1 to 120 characters, each once.", place=place)
