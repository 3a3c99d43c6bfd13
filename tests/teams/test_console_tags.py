"""Figures, times, icons and other people's text, as pages write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest
from django.template import Context, Template
from django.utils import timezone
from django.utils.html import strip_tags

from teams import figures
from teams.templatetags import console

M = "\u2212"
S = "\u202f"


def plain(html: object) -> str:
    return strip_tags(str(html)).replace(S, " ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.05858585, "0.0586"),
        (-0.2, f"{M}0.2"),
        (12345.678, "12,346"),
        (999.96, "1,000"),
        (9.996, "10"),
        (1319, "1,319"),
        (0, "0"),
        (-0.0, "0"),
        (0.0000123, "1.23×10⁻⁵"),
        (1e15, "1×10¹⁵"),
        (True, "1"),
        (Decimal("0.125"), "0.125"),
        (np.float64(0.5), "0.5"),
        (np.int32(7), "7"),
        (None, "Unknown"),
        (float("nan"), "Unknown"),
        (float("inf"), "Unknown"),
        (Decimal("NaN"), "Unknown"),
        ("", "Unknown"),
    ],
)
def test_number(value, text):
    assert plain(console.number(value)) == text


def test_number_title_holds_every_digit():
    assert console.number(0.05858585858585859) == '<span title="0.05858585858585859">0.0586</span>'
    assert console.number(5) == "5"
    assert console.number(None) == '<span class="unknown">Unknown</span>'


@pytest.mark.parametrize(
    ("value", "text"), [(0.8, "+0.8"), (-0.8, f"{M}0.8"), (0, "0"), (-0.0, "0"), (None, "Unknown")]
)
def test_signed(value, text):
    assert plain(console.signed(value)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0585858, "+5.86 points"),
        (-0.2, f"{M}20 points"),
        (0.01, "+1 point"),
        (-0.01, f"{M}1 point"),
        (0, "0 points"),
        (None, "Unknown"),
    ],
)
def test_points(value, text):
    assert plain(console.points(value)) == text


def test_points_without_unit():
    assert plain(console.points(0.0585858, "bare")) == "+5.86"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.676, "67.6 %"),
        (1, "100 %"),
        (0.9999, ">99.9 %"),
        (0, "0 %"),
        (0.00004, "0.004 %"),
        (None, "Unknown"),
    ],
)
def test_share(value, text):
    assert figures.share(value).replace(S, " ") == text
    assert plain(console.share(value)) == text.replace(">", "&gt;")


@pytest.mark.parametrize(("value", "text"), [(1234567, "1,234,567"), (0, "0"), (None, "Unknown")])
def test_count(value, text):
    assert plain(console.count(value)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (84, "84 ms"),
        (999.4, "999 ms"),
        (999.6, "1 s"),
        (3121, "3.12 s"),
        (59_949, "59.9 s"),
        (59_960, "1 min"),
        (94_000, "1 min 34 s"),
        (3_599_600, "1 h"),
        (7_300_000, "2 h 2 min"),
        (-210, f"{M}210 ms"),
        (0, "0 ms"),
        (None, "Unknown"),
    ],
)
def test_duration(value, text):
    assert plain(console.duration_ms(value)) == text


def test_duration_of_a_difference():
    assert plain(console.duration_ms(920, "signed")) == "+920 ms"
    assert plain(console.duration_ms(0, "signed")) == "0 ms"


@pytest.mark.parametrize(
    ("micros", "coverage", "currency", "text"),
    [
        (4_120_000, "complete", "USD", "$4.12"),
        (9_800_000, "partial", "USD", "≥ $9.80"),
        (1_234_500_000, "complete", "EUR", "€1,234.50"),
        (3_120, "complete", "USD", "$0.00312"),
        (500_000, "complete", "USD", "$0.50"),
        (3_500_000, "complete", "AED", "AED 3.50"),
        (0, "complete", "USD", "$0"),
        (0, "none", "USD", "Unknown"),
        (4_120_000, "none", "USD", "Unknown"),
        (0, "partial", "USD", "Unknown"),
        (None, "complete", "USD", "Unknown"),
    ],
)
def test_money(micros, coverage, currency, text):
    assert plain(console.money(micros, coverage, currency)) == text
    spend = SimpleNamespace(
        known_micros=micros, coverage=SimpleNamespace(name=coverage.upper()), currency=currency
    )  # an enumeration member, as a folded spend has it
    assert plain(console.money_filter(spend)) == text


def test_money_of_a_difference():
    assert plain(console.money(-2100, "complete", "USD", sign=True)) == f"{M}$0.0021"
    assert plain(console.money(2100, "complete", "USD", sign=True)) == "+$0.0021"


def test_money_of_nothing_is_unknown():
    assert plain(console.money_filter(None)) == "Unknown"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (10, "just now"),
        (180, "3 min ago"),
        (7200, "2 h ago"),
        (86_400, "1 day ago"),
        (4 * 86_400, "4 days ago"),
        (-7200, "in 2 h"),
        (120 * 86_400, ""),
    ],
)
def test_ago(seconds, text):
    assert figures.ago(seconds).replace(S, " ") == text


def test_when_shows_absolute_and_relative():
    at = timezone.now() - timedelta(minutes=3)
    html = console.when(at)
    assert f'datetime="{at.isoformat(timespec="seconds")}"' in html
    assert plain(html) == f"{at.day} {at:%b %Y, %H:%M} \N{MIDDLE DOT} 3 min ago"
    assert plain(console.when(at, "short")) == "3 min ago"
    assert plain(console.when(None)) == "Unknown"


def test_when_long_ago_is_a_date():
    assert plain(console.when(datetime(2020, 3, 1, 12, 5, tzinfo=UTC), "short")) == "1 Mar 2020"
    assert 'title="1 Mar 2020, 12:05:00 UTC"' in console.when(datetime(2020, 3, 1, 12, 5, tzinfo=UTC))


def test_short_id():
    assert plain(console.short_id("0197f2a0-7c11-7d0a-8f3e-5b1c2d3e4f50")) == "…2d3e4f50"
    assert plain(console.short_id("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")) == "9f86d081…"
    assert plain(console.short_id("chem-114")) == "chem-114"
    assert console.short_id("") == ""


@pytest.mark.parametrize("name", sorted(console.ICONS))
def test_icon(name):
    assert console.icon(name).startswith(f'<svg class="icon icon-{name}"')
    assert 'aria-hidden="true"' in console.icon(name)


def test_bidi_controls_become_visible_and_text_is_escaped():
    html = console.visible_bidi("a\u202eb <script>")
    assert html == ('a<span class="bidi" title="Direction control U+202E">RLO</span>b &lt;script&gt;')
    assert console.visible_bidi(None) == ""


def test_markdown_keeps_form_and_drops_what_could_act():
    html = console.markdown(
        "**bold** <img src=x onerror=alert(1)> ![pixel](https://x.example/p.png)\n\n"
        "[good](https://x.example) [bad](javascript:alert(1)) [here](/sign-out) [data](data:text/html,x)\n\n"
        "| a | b |\n|---|--:|\n| 1 | 2 |"
    )
    assert html.startswith('<bdi class="prose" dir="auto" hx-disable>')
    assert "<strong>bold</strong>" in html
    assert "<img" not in html
    assert "onerror=alert(1)&gt;" in html
    assert '<a href="https://x.example" rel="noopener noreferrer nofollow">good</a>' in html
    assert 'href="javascript' not in html
    assert 'href="/sign-out"' not in html
    assert 'href="data' not in html
    assert "style=" not in html
    assert "<td>1</td>" in html


@pytest.mark.parametrize(
    "text", ["a\u202eb", "`a\u202eb`", "```\na\u202eb\n```", "    a\u202eb", "[a\u202eb](https://x.example)"]
)
def test_markdown_shows_bidi_controls(text):
    html = console.markdown(text)
    assert "\u202e" not in html
    assert '<span class="bidi" title="Direction control U+202E">RLO</span>' in html


def test_markdown_in_a_template_is_not_escaped_twice():
    assert "<p>x &amp; y</p>" in Template("{% load console %}{{ text|markdown }}").render(Context({"text": "x & y"}))
    assert console.markdown(None) == '<bdi class="prose" dir="auto" hx-disable></bdi>'
