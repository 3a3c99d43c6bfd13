"""Every pair of colours that meets on a page has enough contrast in both themes (WCAG 2.2 AA)."""

from __future__ import annotations

import re
from itertools import product

import pytest
from django.conf import settings

SHEET = (settings.BASE_DIR / "static" / "console.css").read_text(encoding="utf-8")
TOKENS = {
    name: {"light": light, "dark": dark}
    for name, light, dark in re.findall(r"--([\w-]+):\s*light-dark\((#\w{6}), (#\w{6})\)", SHEET)
}
THEMES = ("light", "dark")

TEXT = [  # 4.5:1
    *product(["ink", "ink-2", "ink-3"], ["bg", "panel", "sunk", "hover"]),
    *product(["good", "bad", "warn", "cand", "base"], ["bg", "panel", "sunk", "hover", "cand-bg"]),
    *product(["ink", "ink-2"], ["warn-bg", "bad-bg", "good-bg", "cand-bg", "base-bg"]),
    ("ink-3", "cand-bg"),
    ("good", "good-bg"),
    ("bad", "bad-bg"),
    ("warn", "warn-bg"),
    ("cand", "cand-bg"),
    ("base", "base-bg"),
    ("on-ink", "ink"),
    ("on-ink", "bad"),
]
SHAPES = [  # 3:1: borders of fields, marks, lines of charts, the focus ring
    *product(["edge", "focus", "cand", "base", "good", "bad", "warn", "ink-2"], ["bg", "panel", "hover"]),
]


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """WCAG's ratio; black on white is 21."""
    dark, light = sorted([luminance(first), luminance(second)])
    return (light + 0.05) / (dark + 0.05)


def too_weak(pairs: list[tuple[str, str]], theme: str, least: float) -> list[str]:
    found = []
    for above, below in pairs:
        ratio = contrast(TOKENS[above][theme], TOKENS[below][theme])
        if ratio < least:
            found.append(f"{above} on {below}: {ratio:.2f}")
    return found


def test_contrast_of_known_colours():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
def test_text_contrast(theme):
    assert too_weak(TEXT, theme, 4.5) == []


@pytest.mark.parametrize("theme", THEMES)
def test_shape_contrast(theme):
    assert too_weak(SHAPES, theme, 3.0) == []


def test_every_used_token_is_defined():
    used = set(re.findall(r"var\(--([\w-]+)", SHEET))
    defined = set(re.findall(r"^\s*--([\w-]+):", SHEET, flags=re.MULTILINE))
    assert used - defined == set()


def test_no_physical_sides():
    """Left and right are written as start and end, so that a page mirrors; code and charts stay as they are."""
    physical = re.findall(r"(?:margin|padding|border)-(?:left|right)\b|(?<![-\w])(?:left|right):", SHEET)
    assert physical == []
