"""Figures, times, icons and other people's text on pages. Rounding lives in `teams.figures`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import nh3
from django import template
from django.utils import timezone
from django.utils.html import conditional_escape, escape, format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from teams import figures

register = template.Library()

# figures


def _figure(text: str, exact: str) -> SafeString:
    """The rounded text; hovering shows every digit."""
    if text == figures.UNKNOWN:
        return mark_safe('<span class="unknown">Unknown</span>')
    if exact.lstrip("+") == text.lstrip("+"):
        return SafeString(escape(text))
    return format_html('<span title="{}">{}</span>', exact, text)


@register.filter
def number(value: object) -> SafeString:
    return _figure(figures.number(value), figures.full(value))


@register.filter
def signed(value: object) -> SafeString:
    return _figure(figures.signed(value), figures.full(value))


@register.filter
def points(value: object, unit: str = "unit") -> SafeString:
    """A difference of shares in points; `points:"bare"` leaves the unit to the column head."""
    figure = figures.known(value)
    exact = figures.full(None if figure is None else float(figure) * 100)
    return _figure(figures.points(value, unit=unit != "bare"), exact)


@register.filter
def share(value: object) -> SafeString:
    figure = figures.known(value)
    exact = figures.full(None if figure is None else float(figure) * 100)
    return _figure(figures.share(value), f"{exact}{figures.SPACE}%")


@register.filter
def count(value: object) -> SafeString:
    return _figure(figures.count(value), figures.count(value))


@register.filter
def duration_ms(value: object, sign: str = "") -> SafeString:
    """Milliseconds as ms, s, min or h; `duration_ms:"signed"` for a difference."""
    return _figure(figures.duration(value, sign=sign == "signed"), f"{figures.full(value)}{figures.SPACE}ms")


def _money(micros: object, coverage: object, currency: str, *, sign: bool = False) -> SafeString:
    word = getattr(coverage, "name", str(coverage)).lower()
    text = figures.money(micros, word, currency, sign=sign)
    if text == figures.UNKNOWN:
        return _figure(text, text)
    exact = Decimal(int(figures.known(micros) or 0)) / 1_000_000
    meaning = "; some attempts have no price" if word == "partial" else ""
    return format_html('<span title="{} {}{}">{}</span>', currency, figures.full(exact), meaning, text)


@register.filter("money")
def money_filter(spend: object) -> SafeString:
    """Anything with `known_micros`, `coverage` and `currency`, such as a folded spend."""
    return _money(
        getattr(spend, "known_micros", None),
        getattr(spend, "coverage", "none"),
        getattr(spend, "currency", "USD"),
    )


@register.simple_tag
def money(known_micros: object, coverage: object = "complete", currency: str = "USD", sign: bool = False) -> SafeString:
    """{% money micros coverage currency %}; `sign=True` for a difference."""
    return _money(known_micros, coverage, currency, sign=sign)


# time and names


@register.filter
def when(value: datetime | None, style: str = "both") -> SafeString:
    """Absolute and relative; `when:"short"` shows the relative part and keeps the other in the title."""
    if value is None:
        return mark_safe('<span class="unknown">Unknown</span>')
    moment = value.astimezone(UTC)
    exact = f"{moment.day} {moment:%b %Y, %H:%M:%S} UTC"
    day = f"{moment.day} {moment:%b %Y}"
    relative = figures.ago((timezone.now() - moment).total_seconds())
    if style == "short":
        shown = conditional_escape(relative or day)
    elif relative:
        shown = format_html('{}, {} <span class="muted">\N{MIDDLE DOT} {}</span>', day, f"{moment:%H:%M}", relative)
    else:
        shown = format_html("{}, {}", day, f"{moment:%H:%M}")
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(timespec="seconds"), exact, shown)


@register.filter
def short_id(value: object) -> SafeString:
    """Eight characters that tell ids apart: the end of a UUID (ours begin with the time), the start of a hash."""
    text = str(value or "")
    if not text:
        return SafeString("")
    try:
        shown = f"\u2026{UUID(text).hex[-8:]}"
    except ValueError:
        shown = text if len(text) <= 10 else f"{text[:8]}\u2026"
    return format_html('<code class="id" title="{}">{}</code>', text, shown)


# pictures

ICONS = {
    "agents": '<rect x="3" y="5" width="10" height="8" rx="2"/><path d="M8 2v3M6 9h.01M10 9h.01"/>',
    "arrow-down": '<path d="M8 3v10M4 9l4 4 4-4"/>',
    "arrow-up": '<path d="M8 13V3M4 7l4-4 4 4"/>',
    "blank": "",
    "check": '<path d="M3 8.5 6.5 12 13 4.5"/>',
    "chevron": '<path d="m6 4 4 4-4 4"/>',
    "chevron-down": '<path d="m4 6 4 4 4-4"/>',
    "close": '<path d="m4 4 8 8M12 4l-8 8"/>',
    "copy": '<rect x="5.5" y="5.5" width="8" height="8" rx="1.5"/><path d="M10.5 5.5v-3h-8v8h3"/>',
    "download": '<path d="M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11"/>',
    "error": '<path d="M5.2 1.5h5.6l3.7 3.7v5.6l-3.7 3.7H5.2l-3.7-3.7V5.2zM8 4.8v3.8M8 11.2h.01"/>',
    "external": '<path d="M9 2.5h4.5V7M13.5 2.5 7.5 8.5M11.5 9.5v4h-9v-9h4"/>',
    "file": '<path d="M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3"/>',
    "info": '<circle cx="8" cy="8" r="6.5"/><path d="M8 7.3v4M8 4.7h.01"/>',
    "keyboard": (
        '<rect x="1.5" y="4" width="13" height="8.5" rx="1.5"/><path d="M4 7h.01M7 7h.01M10 7h.01M12 7h.01M5 10h6"/>'
    ),
    "minus": '<path d="M3 8h10"/>',
    "moon": '<path d="M13.5 9.8A6 6 0 1 1 6.2 2.5a4.8 4.8 0 0 0 7.3 7.3z"/>',
    "more": '<path d="M3 8h.01M8 8h.01M13 8h.01"/>',
    "person": '<circle cx="8" cy="5" r="2.8"/><path d="M2.5 14c.6-3 2.7-4.6 5.5-4.6s4.9 1.6 5.5 4.6"/>',
    "plus": '<path d="M8 3v10M3 8h10"/>',
    "refresh": '<path d="M13.5 8a5.5 5.5 0 1 1-1.8-4.1M13.5 1.8v3h-3"/>',
    "search": '<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 3.5 3.5"/>',
    "sign-out": '<path d="M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3"/>',
    "sun": (
        '<circle cx="8" cy="8" r="3"/><path d="M8 1.2v1.3M8 13.5v1.3M1.2 8h1.3M13.5 8h1.3'
        'M3.2 3.2l.9.9M11.9 11.9l.9.9M3.2 12.8l.9-.9M11.9 4.1l.9-.9"/>'
    ),
    "swap": '<path d="M4.5 2 2 4.5 4.5 7M2 4.5h9M11.5 9l2.5 2.5L11.5 14M14 11.5H5"/>',
    "system": '<rect x="1.5" y="2.5" width="13" height="8.5" rx="1.2"/><path d="M5.5 14h5M8 11v3"/>',
    "upload": '<path d="M8 10.5v-8M4.5 6 8 2.5 11.5 6M2.5 13.5h11"/>',
    "warning": '<path d="M8 2 1.5 13.5h13zM8 6.5v3.2M8 11.6h.01"/>',
}


@register.simple_tag
def icon(name: str) -> SafeString:
    """An icon beside words; it carries no meaning of its own, so readers aloud skip it."""
    return format_html(
        '<svg class="icon icon-{}" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">{}</svg>',
        name,
        mark_safe(ICONS[name]),  # noqa: S308  # our own drawings, listed above
    )


# text from people and models

_BIDI = {
    "\u061c": "ALM",
    "\u200e": "LRM",
    "\u200f": "RLM",
    "\u202a": "LRE",
    "\u202b": "RLE",
    "\u202c": "PDF",
    "\u202d": "LRO",
    "\u202e": "RLO",
    "\u2066": "LRI",
    "\u2067": "RLI",
    "\u2068": "FSI",
    "\u2069": "PDI",
}
_BIDI_PATTERN = re.compile(f"[{''.join(_BIDI)}]")


def _token(match: re.Match[str]) -> str:
    character = match.group()
    return f'<span class="bidi" title="Direction control U+{ord(character):04X}">{_BIDI[character]}</span>'


@register.filter
def visible_bidi(value: object) -> SafeString:
    """Text with every direction control shown as a token instead of taking effect."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return mark_safe(_BIDI_PATTERN.sub(_token, conditional_escape(text)))  # noqa: S308  # escaped first


_TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
    *("s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_CLEANER = nh3.Cleaner(
    tags=_TAGS,
    attributes={"a": {"href"}, "span": {"title"}, "ol": {"start"}},
    allowed_classes={"span": {"bidi"}},
    url_schemes={"http", "https"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
)


class _Renderer(RendererHTML):
    """Standard output, with direction controls made visible wherever text appears."""

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return str(visible_bidi(tokens[idx].content))

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<code>{visible_bidi(tokens[idx].content)}</code>"

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<pre><code>{visible_bidi(tokens[idx].content)}</code></pre>\n"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return self.code_block(tokens, idx, options, env)


_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    .enable(["table", "strikethrough"])
    .disable("image")
)


@register.filter
def markdown(value: object) -> SafeString:
    """Markdown of a person or a model: no HTML, no images, outside links only, its own direction."""
    body = _CLEANER.clean(_MARKDOWN.render(str(value or "")))
    return mark_safe(f'<bdi class="prose" dir="auto" hx-disable>{body}</bdi>')  # noqa: S308  # nh3 cleaned it
