"""A paired result as plain text: the sentence first, then the counts behind it.

Works on the plain form of `PairedResult`, so that a result of the server and one of files look alike.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from analysis.sentence import figure, points

WIDTH: Final = 100
UNKNOWN: Final = "Unknown"
MINUS: Final = "\N{MINUS SIGN}"


def comparison(result: dict[str, Any], verdict: dict[str, Any]) -> str:
    """The whole result, its sentence in the words that the verdict allows, and what may be said."""
    baseline, candidate = result["baseline"], result["candidate"]
    parts = [
        f"Baseline   {visible(baseline['label'])}",
        f"Candidate  {visible(candidate['label'])}",
        f"Metric     {visible(result['metric']['name'])} ({_metric(result['metric'])})",
        *([f"Reading    {verdict['watermark']}"] if verdict["watermark"] else []),
        "",
        _wrapped(verdict["headline"]),
        *([_wrapped(result["finding"]["why"])] if result["finding"]["why"] else []),
        "",
        table(("", "baseline", "candidate", "difference"), list(_rows(result))),
    ]
    parts += section("Not paired", [_unmatched(entry) for entry in result["unmatched"]])
    parts += section("Withheld", [entry["text"] for entry in result["withheld"]])
    parts += section("Note", [entry["text"] for entry in result["notices"]])
    parts += _said(verdict["said"])
    return "\n".join(parts)


def _said(said: dict[str, Any]) -> list[str]:
    """Which claims may be made, which not, what nobody can tell, and why."""
    may = [f"{one['text']}, only {one['only']}" if one["only"] else one["text"] for one in said["may"]]
    parts = section("May be said", may)
    parts += section("May not be said", [one["text"] for one in said["may_not"]])
    parts += section("Cannot be told", [one["text"] for one in said["cannot_tell"]])
    why = [
        f"{one['text']} {f'({one["figures"]}) ' if one['figures'] else ''}[{one['claims']}] {one['repair']}".rstrip()
        for one in said["against"]
    ]
    return parts + section("Because", why)


def plan(answer: dict[str, Any]) -> str:
    """What would settle it: the sentence, what each number of repetitions takes, and what is assumed."""
    parts = ["", "Plan", _wrapped(answer["text"])]
    found = answer["plan"]
    if found is not None:
        rows = [
            (figure(one["repetitions"]), f"{one['cases']:,}", f"{one['more_cases']:,}", f"{one['runs']:,}")
            for one in found["options"]
        ]
        parts += ["", table(("repetitions", "cases", "more than now", "executions, both sides"), rows)]
        parts += section("Assumed", found["assumptions"])
    return "\n".join(parts)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns that line up, the first to the left and the others to the right."""
    widths = [max(_columns(line[index]) for line in (head, *rows)) for index in range(len(head))]
    lines = []
    for line in (head, *rows):
        first = line[0] + " " * (widths[0] - _columns(line[0]))
        others = (" " * (width - _columns(value)) + value for value, width in zip(line[1:], widths[1:], strict=True))
        lines.append("  ".join((first, *others)).rstrip())
    return "\n".join(lines)


def visible(text: str) -> str:
    """Text of others on a terminal: no control and no direction characters."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character
        for character in text
    )


def money(micros: int, currency: str) -> str:
    return f"{micros / 1_000_000:,.6g} {currency}"


def _columns(text: str) -> int:
    """Cells on a terminal: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def _metric(metric: dict[str, Any]) -> str:
    bounds = ""
    if metric["kind"] == "numeric" and (metric["low"] is not None or metric["high"] is not None):
        low, high = (UNKNOWN if metric[end] is None else figure(metric[end]) for end in ("low", "high"))
        bounds = f" {low} to {high}"
    return f"{metric['kind']}{bounds}, {metric['direction'].replace('_', ' ')}"


def _rows(result: dict[str, Any]) -> Iterable[tuple[str, str, str, str]]:
    baseline, candidate, quality = result["baseline"], result["candidate"], result["quality"]
    yield "Generation completed", *_two(baseline, candidate, _generation), ""
    kinds = [kind for side in (baseline, candidate) for kind, _ in side["generation"]["failures"]]
    for kind in dict.fromkeys(kinds):
        counts = [dict(map(tuple, side["generation"]["failures"])).get(kind, 0) for side in (baseline, candidate)]
        yield f"  failed: {kind.replace('_', ' ')}", f"{counts[0]:,}", f"{counts[1]:,}", ""
    yield "Judgments completed", *_two(baseline, candidate, _completion), ""
    yield "Scored", *_two(baseline, candidate, _coverage), ""
    for name in ("abstained", "grader_error", "pending", "missing", "not_applicable", "cancelled"):
        if baseline["coverage"][name] or candidate["coverage"][name]:
            counts = [side["coverage"][name] for side in (baseline, candidate)]
            yield f"  {name.replace('_', ' ')}", f"{counts[0]:,}", f"{counts[1]:,}", ""
    yield "Mean of all scored", *_two(baseline, candidate, lambda side: _all_scored(result["metric"], side)), ""
    yield (
        f"Mean on {quality['cases']:,} paired cases",
        _value(result["metric"], quality["baseline"]["mean"]),
        _value(result["metric"], quality["candidate"]["mean"]),
        _difference(result["metric"], quality["delta"]),
    )
    yield "Paired repetitions", f"{quality['pairs']:,}", f"{quality['pairs']:,}", ""
    yield (
        "Standard deviation",
        *_two(quality["baseline"], quality["candidate"], lambda side: _optional(side["spread"])),
        _optional(quality["delta_spread"]),
    )
    yield "Cases better / worse / same", "", "", f"{quality['better']:,} / {quality['worse']:,} / {quality['same']:,}"
    for interval in result["intervals"]:
        label = f"{100 * interval['level']:g} % {interval['label']}"
        if interval["descriptive"]:
            label += " (descriptive)"
        ends = (_difference(result["metric"], interval[end]) for end in ("low", "high"))
        yield label, "", "", " … ".join(ends)
    bracket = result["bracket"]
    if bracket is not None:
        yield (
            "Counting unscored as worst",
            _value(result["metric"], bracket["baseline_mean"]),
            _value(result["metric"], bracket["candidate_mean"]),
            _difference(result["metric"], bracket["delta"]),
        )
    yield "Cost of the whole run", *_two(baseline, candidate, lambda side: _spend(side["spend"])), ""
    latency = result["latency"]
    yield (
        f"Latency on {latency['cases']:,} cases",
        *_two(latency["baseline_ms"], latency["candidate_ms"], _ms),
        "",
    )


def _two(baseline: Any, candidate: Any, show: Callable[[Any], str]) -> tuple[str, str]:
    return show(baseline), show(candidate)


def _generation(side: dict[str, Any]) -> str:
    return _share(side["generation"]["completed"], side["generation"]["planned"])


def _completion(side: dict[str, Any]) -> str:
    return _share(side["completion"]["completed"], side["completion"]["expected"])


def _coverage(side: dict[str, Any]) -> str:
    coverage = side["coverage"]
    return _share(coverage["scored"], coverage["eligible"] - coverage["not_applicable"])


def _all_scored(metric: dict[str, Any], side: dict[str, Any]) -> str:
    coverage = side["coverage"]
    mean = _value(metric, coverage["scored_mean"])
    return mean if coverage["passed"] is None else f"{coverage['passed']:,}/{coverage['scored']:,}  {mean}"


def _share(part: int, whole: int) -> str:
    return f"{part:,}/{whole:,}"


def _value(metric: dict[str, Any], value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{100 * value:.1f} %" if metric["kind"] == "boolean" else figure(value)


def _difference(metric: dict[str, Any], value: float | None) -> str:
    if value is None:
        return "not given"
    text = points(value) if metric["kind"] == "boolean" else figure(value)
    sign = "+" if value > 0 else ""
    return f"{sign}{text} points" if metric["kind"] == "boolean" else f"{sign}{text}"


def _optional(value: float | None) -> str:
    return "not given" if value is None else f"{value:.3f}"


def _ms(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f} ms"


def _spend(spend: dict[str, Any]) -> str:
    if spend["coverage"] == "none":
        return UNKNOWN
    amount = money(spend["known_micros"], spend["currency"])
    return f"≥ {amount}" if spend["coverage"] == "partial" else amount


def _unmatched(entry: dict[str, Any]) -> str:
    rows = "1 row" if entry["rows"] == 1 else f"{entry['rows']:,} rows"
    cases = "1 case" if entry["cases"] == 1 else f"{entry['cases']:,} cases"
    return f"{entry['side']}: {rows} of {cases}. {entry['text']}"


def section(title: str, lines: Sequence[str]) -> list[str]:
    """A heading over entries, each with its further lines further in."""
    return ["", f"{title}:", *(_wrapped(line, first="  ", further="    ") for line in lines)] if lines else []


def _wrapped(text: str, *, first: str = "", further: str = "") -> str:
    return textwrap.fill(
        visible(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
