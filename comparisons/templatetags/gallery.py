"""Made-up values for the gallery page, which shows every component in every state."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
from django import forms, template
from django.core.paginator import Paginator
from django.utils import timezone

from comparisons import charts
from teams.templatetags.console import ICONS

register = template.Library()


class SampleForm(forms.Form):
    name = forms.CharField(help_text="Shown in lists and exports. 1 to 120 characters.")
    metric = forms.ChoiceField(choices=[("exact", "Exact answer"), ("rubric", "Rubric score")])
    margin = forms.FloatField(help_text="How many points worse is still acceptable.")
    note = forms.CharField(widget=forms.Textarea, required=False)
    keep = forms.BooleanField(label="Keep the mapping for the next import", required=False)
    direction = forms.ChoiceField(
        widget=forms.RadioSelect,
        choices=[("higher", "Higher is better"), ("lower", "Lower is better")],
        help_text="Decides what counts as a regression.",
    )


_ROWS: tuple[tuple[str, str, str, list[float | None], list[float | None], float, float], ...] = (
    ("Stereochemistry of a Diels–Alder adduct", "chem-114", "organic", [1, 1, 1, 1, 1], [0, 0, 1, 0, 0], -0.8, 920),
    ("ما زمن نصف العمر للنظير المذكور؟", "phys-031", "nuclear", [1, 1, 1, 0, 1], [0, 0, None, 1, 0], -0.5, -210),
    ("Energy levels in a finite square well", "phys-088", "quantum", [1, 1, 1, 1, 0], [0, 1, 1, 0, 1], -0.2, 1420),
    ("Gene order from a three-point cross", "bio-057", "genetics", [1, 1, 1, 1, 1], [1, 0, 1, 1, 1], -0.2, 310),
    ("Entropy change on mixing two gases", "chem-009", "physical", [1, 1, 1, 1, 1], [1, 0, 1, 1, 1], -0.2, -96),
    ("Duality of an optimisation problem", "math-204", "convex", [1, 1, 0, 1, 1], [1, 0, 0, 1, 1], -0.2, 12),
)


@register.simple_tag
def samples() -> SimpleNamespace:
    """Everything the gallery shows; the same on every visit, but for the clock."""
    draw = np.random.default_rng(7)
    steps = draw.choice([-0.8, -0.6, -0.4, -0.2, 0.2, 0.4, 0.6, 0.8, 1.0], size=108)
    deltas = np.concatenate([steps, np.zeros(90)])
    ranges = [
        charts.Range("Score interval, 95 %", 0.00352, 0.11365, leads=True),
        charts.Range("Case bootstrap, 2,000", 0.00404, 0.11212),
    ]
    now = timezone.now()
    page: Any = Paginator(range(46), 25).page(1)
    return SimpleNamespace(
        interval=charts.interval(ranges, estimate=0.0586, scale=100, unit="points", better=1),
        interval_margin=charts.interval(
            [charts.Range("Score interval, 95 %", -0.062, 0.018, leads=True)],
            estimate=-0.022,
            scale=100,
            unit="points",
            better=1,
            margin=0.05,
        ),
        interval_plain=charts.interval([charts.Range("t interval, 95 %", -12.4, 3.1, leads=True)], estimate=-4.7),
        strip=charts.delta_strip(deltas, scale=100, unit="points"),
        strip_few=charts.delta_strip([-0.5, -0.25, 0, 0, 0.25, 0.5, 0.75, 1, 1], scale=100, unit="points"),
        strip_many=charts.delta_strip(draw.normal(0.05, 0.3, 10_000)),
        strip_plain=charts.delta_strip(draw.normal(0, 3, 400), better=0),
        flow=charts.flow(
            (
                charts.Stop("better", "better", 108, "#"),
                charts.Stop("same", "the same", 60),
                charts.Stop("worse", "worse", 24, "#"),
                charts.Stop("lost", "paired, but not scored on both sides", 4, "#"),
                charts.Stop("only", "in the candidate only", 0),
                charts.Stop("only", "in the baseline only", 2, "#"),
            )
        ),
        flow_plain=charts.flow((charts.Stop("changed", "different", 40), charts.Stop("same", "the same", 60))),
        distribution=charts.distribution(draw.lognormal(7, 0.6, 400), draw.lognormal(7.2, 0.7, 400), unit="ms"),
        distribution_shares=charts.distribution(
            draw.binomial(5, 0.8, 198) / 5, draw.binomial(5, 0.6, 198) / 5, low=0, high=1, scale=100, unit="%"
        ),
        rows=[
            {
                "title": title,
                "source": source,
                "tag": tag,
                "baseline": charts.marks(baseline),
                "candidate": charts.marks(candidate),
                "delta": delta,
                "latency": latency,
                "flaky": 0 < candidate.count(1) < len(candidate) and delta > -0.5,
                "micros": None if index == 0 else -2100 - 400 * index,
            }
            for index, (title, source, tag, baseline, candidate, delta, latency) in enumerate(_ROWS)
        ],
        marks_one=charts.marks([1.0]),
        marks_many=charts.marks([float(index % 3 > 0) if index % 11 else None for index in range(24)]),
        marks_lots=charts.marks([float(index % 4 > 0) if index % 9 else None for index in range(100)]),
        marks_none=charts.marks([None, None, None]),
        marks_lower=charts.marks([0.0, 0.0, 1.0], better=-1),
        bars=charts.bars([0.2, 0.9, None, 0.55, 1.0], low=0, high=1),
        page=page,
        middle=Paginator(range(1000), 25).page(7),
        now=now,
        minutes=now - timedelta(minutes=3),
        days=now - timedelta(days=4),
        months=now - timedelta(days=120),
        soon=now + timedelta(hours=2),
        form=SampleForm(initial={"name": "GPQA diamond", "margin": 5}),
        broken=SampleForm({"name": "", "margin": "five", "direction": "sideways", "metric": "exact"}),
        crumbs=[("Comparisons", "#"), ("GPQA diamond, version 3", "#"), ("198 cases", "")],
        bidi="safe\u202egnp.exe\u2066 and \u200fmore",
        icons=[name for name in sorted(ICONS) if name != "blank"],
        json='{\n  "case": "chem-114",\n  "answer": "endo",\n  "score": 0.8,\n  "trace": null\n}',
        markdown=(
            "**Answer:** the *endo* product, see [the source](https://example.org) or [this](javascript:alert(1)).\n\n"
            "![tracking](https://example.org/pixel.png)\n\n- first\n- second `code`\n\n"
            "<script>alert(1)</script>\n\nوهذه فقرة بالعربية.\n\n```\nf(x) = 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
        ),
    )
