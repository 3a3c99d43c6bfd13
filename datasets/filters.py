"""The filter of a slice: conditions on cases, as plain data, in words, and as a question to the database."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import models
from django.db.models import Case, Exists, F, Func, OuterRef, Q, Value, When
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact, IContains, IsNull

from analysis.strict_json import canonical
from datasets.models import ItemContent, Version, VersionEntry
from teams.records import Availability
from teams.refusals import Refusal

MOST_CONDITIONS: Final = 20
LONGEST_VALUE: Final = 500
LONGEST_KEY: Final = 100

FIELDS: Final = {
    "tag": "Tag",
    "language": "Language",
    "source_id": "Id in the source",
    "title": "Title",
    "text": "Text",
    "group": "Group",
    "metadata": "Metadata",
}
OPERATORS: Final = {
    "is": "is",
    "is_not": "is not",
    "contains": "contains",
    "contains_not": "does not contain",
    "is_set": "is there",
    "is_not_set": "is not there",
}
WITHOUT_VALUE: Final = ("is_set", "is_not_set")
ALLOWED: Final[dict[str, tuple[str, ...]]] = {
    "tag": ("is", "is_not", "is_set", "is_not_set"),
    "language": ("is", "is_not", "is_set", "is_not_set"),
    "source_id": ("is", "is_not", "contains", "contains_not"),
    "title": ("is", "is_not", "contains", "contains_not", "is_set", "is_not_set"),
    "text": ("contains", "contains_not"),
    "group": ("is", "is_not", "is_set", "is_not_set"),
    "metadata": ("is", "is_not", "contains", "contains_not", "is_set", "is_not_set"),
}
_NEGATIVE: Final = ("is_not", "contains_not", "is_not_set")
_COLUMNS: Final = {"language": "language", "source_id": "source_id", "title": "title", "group": "group_name"}


@dataclass(frozen=True, slots=True)
class Condition:
    """`key` is the metadata key, as a path with dots, and empty for other fields."""

    field: str
    operator: str
    value: str = ""
    key: str = ""

    def words(self) -> str:
        name = f"{FIELDS[self.field].lower()} {self.key}".strip()
        said = OPERATORS[self.operator]
        return f"{name} {said}" if self.operator in WITHOUT_VALUE else f"{name} {said} “{self.value}”"


@dataclass(frozen=True, slots=True)
class Filter:
    """All of the conditions, or any of them."""

    match: str
    conditions: tuple[Condition, ...]

    def plain(self) -> dict[str, Any]:
        conditions = []
        for one in self.conditions:
            given = {"field": one.field, "operator": one.operator}
            if one.field == "metadata":
                given["key"] = one.key
            if one.operator not in WITHOUT_VALUE:
                given["value"] = one.value
            conditions.append(given)
        return {"match": self.match, "conditions": conditions}

    @property
    def sha256(self) -> str:
        return hashlib.sha256(b"evenhand/slice/1\0" + canonical(self.plain())).hexdigest()

    def words(self) -> str:
        joint = " and " if self.match == "all" else " or "
        text = joint.join(one.words() for one in self.conditions)
        return text[:1].upper() + text[1:]


def read(given: Any) -> Filter:
    """A filter from outside, checked whole; a fault is told with its place."""
    if not isinstance(given, Mapping):
        raise Refusal("invalid_field", "A filter is an object with match and conditions.", place="filter")
    unknown = sorted(set(given) - {"match", "conditions"})
    if unknown:
        raise Refusal("unknown_field", f"A filter has no {unknown[0]}.", place=f"filter.{unknown[0]}"[:200])
    match = given.get("match", "all")
    if match not in ("all", "any"):
        raise Refusal("invalid_field", "match is all or any.", place="filter.match")
    conditions = given.get("conditions")
    if not isinstance(conditions, Sequence) or isinstance(conditions, str) or not conditions:
        raise Refusal("invalid_field", "A filter has at least one condition.", place="filter.conditions")
    if len(conditions) > MOST_CONDITIONS:
        raise Refusal("invalid_field", f"A filter has at most {MOST_CONDITIONS} conditions.", place="filter.conditions")
    return Filter(match, tuple(_condition(one, f"filter.conditions[{at}]") for at, one in enumerate(conditions)))


def _condition(given: Any, place: str) -> Condition:
    if not isinstance(given, Mapping):
        raise Refusal("invalid_field", "A condition is an object with field, operator and value.", place=place)
    unknown = sorted(set(given) - {"field", "operator", "value", "key"})
    if unknown:
        raise Refusal("unknown_field", f"A condition has no {unknown[0]}.", place=f"{place}.{unknown[0]}"[:200])
    field, operator = given.get("field"), given.get("operator")
    if field not in FIELDS:
        raise Refusal("invalid_field", f"field is one of {', '.join(FIELDS)}.", place=f"{place}.field")
    if operator not in ALLOWED[field]:
        allowed = ", ".join(ALLOWED[field])
        raise Refusal("invalid_field", f"operator is one of {allowed} for {field}.", place=f"{place}.operator")
    key, value = _text(given.get("key"), f"{place}.key", LONGEST_KEY), ""
    if (field == "metadata") != bool(key):
        raise Refusal("invalid_field", "key names a metadata field, and belongs to metadata.", place=f"{place}.key")
    if operator in WITHOUT_VALUE:
        if given.get("value"):
            raise Refusal("invalid_field", f"{operator} takes no value.", place=f"{place}.value")
    else:
        value = _text(given.get("value"), f"{place}.value", LONGEST_VALUE)
        if not value:
            raise Refusal("invalid_field", "A condition needs a value.", place=f"{place}.value")
    return Condition(field, operator, value, key)


def _text(given: Any, place: str, longest: int) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or len(given) > longest or "\0" in given:
        raise Refusal("invalid_field", f"A text of at most {longest} characters.", place=place)
    return given.strip()


def entries(version: Version, chosen: Filter) -> models.QuerySet[VersionEntry]:
    """The entries of a version that meet the filter, in the version's order.

    A case whose content is gone meets no filter: nobody can tell what it said. A value that a case does
    not have meets no positive condition, and so every negative one.
    """
    joined = Q()
    for one in chosen.conditions:
        met = Case(When(_question(one), then=Value(True)), default=Value(False), output_field=models.BooleanField())
        asked = Q(Exact(met, one.operator not in _NEGATIVE))
        joined = joined & asked if chosen.match == "all" else joined | asked
    content = ItemContent.objects.filter(revision=OuterRef("revision"), availability=Availability.AVAILABLE)
    return VersionEntry.objects.filter(version=version).filter(Exists(content.filter(joined))).order_by("position")


def _question(one: Condition) -> Q:
    """The positive form of a condition."""
    kind = one.operator.replace("_not", "")
    if one.field == "tag":
        return ~Q(tags=[]) & Q(tags__isnull=False) if kind == "is_set" else Q(tags__contains=[one.value])
    if one.field == "text":
        return Q(HoldsText(F("body"), Value(_pattern(one.value))))
    if one.field == "metadata":
        # Keys come from a person: they are values in these expressions and never names of fields or lookups.
        found: Any = F("metadata")
        *outer, last = one.key.split(".")
        for step in outer:
            found = KeyTransform(step, found)
        text: Any = KeyTextTransform(last, found)
    else:
        text = F(_COLUMNS[one.field])
    if kind == "is_set":
        return Q(IsNull(text, False)) & ~Q(Exact(Coalesce(text, Value(""), output_field=models.TextField()), Value("")))
    return Q(Exact(text, Value(one.value))) if kind == "is" else Q(IContains(text, one.value))


class HoldsText(Func):
    """Whether some text inside a JSON value, a key excepted, is like a pattern, whatever its case."""

    output_field = models.BooleanField()
    template = (
        "EXISTS (SELECT 1 FROM jsonb_path_query(%(body)s, 'strict $.**') AS part(value)"
        " WHERE jsonb_typeof(part.value) = 'string' AND part.value #>> '{}' ILIKE %(pattern)s)"
    )

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **extra: Any) -> tuple[str, tuple[Any, ...]]:
        body, pattern = self.get_source_expressions()
        body_sql, body_given = compiler.compile(body)
        pattern_sql, pattern_given = compiler.compile(pattern)
        sql = self.template % {"body": body_sql, "pattern": pattern_sql}
        return sql, (*body_given, *pattern_given)


def _pattern(text: str) -> str:
    """For ILIKE: the text itself, anywhere."""
    for special in ("\\", "%", "_"):
        text = text.replace(special, f"\\{special}")
    return f"%{text}%"
