"""Words of import pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.forms import BoundField
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from analysis.observations import FailureKind, Generation, Outcome
from teams import figures
from teams.refusals import CATALOGUE
from teams.templatetags.console import visible_bidi

register = template.Library()
READERS = {
    "inspect": "an Inspect log",
    "tau_bench": "τ-bench results",
    "records": "records of the comparability contract",
    "mapped": "a table with a mapping",
}
DIRECTIONS = {
    "higher_is_better": "higher is better",
    "lower_is_better": "lower is better",
    "unordered": "no order",
}


@register.simple_tag
def file_names(row: Any, most: int = 2) -> SafeString:
    """The names of an import's files, shortened to the first ones; what was removed says so."""
    names = [file.importfilename.name for file in row.files]
    shown = [name for name in names if name][:most]
    if not shown:
        return mark_safe('<span class="unknown">(files removed)</span>')  # our own words
    listed = format_html_join(", ", "<bdi>{}</bdi>", ((visible_bidi(name),) for name in shown))
    rest = len(names) - len(shown)
    return format_html('{} <span class="muted">and {} more</span>', listed, rest) if rest else listed


@register.filter
def reader_words(reader: str) -> str:
    return READERS.get(reader, reader)


@register.filter
def direction_words(direction: str) -> str:
    return DIRECTIONS.get(direction, direction)


@register.filter
def allowed(code: str) -> str:
    """What is allowed instead, from the catalogue of refusals."""
    return CATALOGUE[code].allowed if code in CATALOGUE else ""


@register.filter
def not_scored(outcomes: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(name.replace("_", " "), count) for name, count in outcomes.items() if name != "scored"]


@register.filter
def new_ones(results: Sequence[Any]) -> list[Any]:
    return [result for result in results if result.new]


@register.filter
def at(values: Sequence[Any], index: int) -> Any:
    return values[index] if 0 <= index < len(values) else ""


@register.filter
def labelled(field: BoundField, number: int) -> SafeString:
    """A control in a table cell, named for readers aloud by its column and line."""
    return field.as_widget(attrs={"aria-label": f"{field.label}, measurement {number}"})


@register.simple_tag
def generation_words(example: Mapping[str, Any]) -> str:
    if example["failure"]:
        return FailureKind(example["failure"]).name.lower().replace("_", " ")
    return Generation(example["generation"]).name.lower()


@register.simple_tag
def score_words(example: Mapping[str, Any], key: str) -> SafeString:
    score = example["scores"].get(key)
    if score is None:
        return mark_safe('<span class="muted">none</span>')  # our own word
    if score["outcome"] != Outcome.SCORED:
        return format_html('<span class="muted">{}</span>', Outcome(score["outcome"]).name.lower().replace("_", " "))
    if score["category"] is not None:
        return format_html("<bdi>{}</bdi>", visible_bidi(score["category"]))
    return SafeString(figures.number(score["value"]))
