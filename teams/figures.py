"""How figures are spelt for a person: rounded here and nowhere else.

Three significant digits, a true minus, thousands separators; what is not known is the word Unknown,
and zero is written only where zero is known. Plain text in, plain text out.
"""

from __future__ import annotations

import math
from decimal import Decimal

UNKNOWN = "Unknown"
MINUS = "\u2212"
SPACE = "\u202f"
"""Narrow no-break space between a figure and its unit."""

Figure = int | float | Decimal

_SUPERSCRIPT = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
_SYMBOLS = {"USD": "$", "EUR": "\u20ac", "GBP": "\u00a3"}
_DIGITS = 3


def known(value: object) -> Figure | None:
    """The value if it is a finite number; None for anything that is not."""
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float):  # numpy's float64 is one
        return value if math.isfinite(value) else None
    try:
        number = float(value)  # type: ignore[arg-type]  # numpy's other scalars convert, the rest raise
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def full(value: object) -> str:
    """Every digit that is held."""
    number = known(value)
    return UNKNOWN if number is None else str(number).replace("-", MINUS)


def number(value: object) -> str:
    """At most three significant digits; the integer part is never rounded away."""
    figure = known(value)
    if figure is None:
        return UNKNOWN
    if isinstance(figure, int):
        return f"{figure:,}".replace("-", MINUS)
    size = abs(float(figure))
    if size == 0:
        return "0"
    if size < 1e-4 or size >= 1e15:
        mantissa, _, exponent = f"{size:.{_DIGITS - 1}e}".partition("e")
        text = f"{_trim(mantissa)}\u00d710{str(int(exponent)).translate(_SUPERSCRIPT)}"
    else:
        decimals = max(0, _DIGITS - 1 - math.floor(math.log10(size)))
        text = _trim(f"{size:,.{decimals}f}")
    return MINUS + text if figure < 0 else text


def signed(value: object) -> str:
    """A difference: plus or true minus, and a bare 0."""
    text = number(value)
    return text if text in (UNKNOWN, "0") or text.startswith(MINUS) else f"+{text}"


def points(value: object, *, unit: bool = True) -> str:
    """A difference of two shares, in points."""
    figure = known(value)
    if figure is None:
        return UNKNOWN
    text = signed(float(figure) * 100)
    if not unit:
        return text
    return f"{text}{SPACE}{'point' if text.strip('+' + MINUS) == '1' else 'points'}"


def share(value: object) -> str:
    """A share in per cent. Almost all never reads as all."""
    figure = known(value)
    if figure is None:
        return UNKNOWN
    percent = float(figure) * 100
    text = number(percent)
    if text == "100" and percent < 100:
        text = ">99.9"
    return f"{text}{SPACE}%"


def count(value: object) -> str:
    figure = known(value)
    return UNKNOWN if figure is None else f"{int(figure):,}".replace("-", MINUS)


def duration(milliseconds: object, *, sign: bool = False) -> str:
    """Milliseconds below a second, then seconds, then minutes, then hours."""
    figure = known(milliseconds)
    if figure is None:
        return UNKNOWN
    size = abs(float(figure))
    if size < 999.5:
        text = f"{number(size)}{SPACE}ms"
    elif size < 59_950:
        text = f"{number(size / 1000)}{SPACE}s"
    elif size < 3_599_500:
        minutes, seconds = divmod(round(size / 1000), 60)
        text = f"{minutes}{SPACE}min" + (f" {seconds}{SPACE}s" if seconds else "")
    else:
        hours, minutes = divmod(round(size / 60_000), 60)
        text = f"{hours:,}{SPACE}h" + (f" {minutes}{SPACE}min" if minutes else "")
    if figure < 0:
        return MINUS + text
    return f"+{text}" if sign and size else text


def money(micros: object, coverage: str = "complete", currency: str = "USD", *, sign: bool = False) -> str:
    """Unknown without coverage, "\u2265" where only a part is known; cents from one unit up, else three digits."""
    figure = known(micros)
    if figure is None or coverage == "none":
        return UNKNOWN
    if coverage == "partial" and not figure:
        return UNKNOWN
    amount = abs(float(figure)) / 1_000_000
    if amount == 0 or amount >= 1:
        text = f"{amount:,.2f}" if amount else "0"
    else:
        text = number(amount)
        whole, _, cents = text.partition(".")
        text = f"{whole}.{cents:0<2}" if cents.isdigit() else text
    symbol = _SYMBOLS.get(currency)
    text = f"{symbol}{text}" if symbol else f"{currency}{SPACE}{text}"
    if figure < 0:
        text = MINUS + text
    elif sign and figure:
        text = f"+{text}"
    return f"\u2265{SPACE}{text}" if coverage == "partial" else text


def ago(seconds: float) -> str:
    """How long since (or, negative, until), in one unit; empty beyond thirty days, where the date says more."""
    size = abs(seconds)
    if size < 45:
        return "just now"
    for limit, length, unit in (
        (45 * 60, 60, "min"),
        (22 * 3600, 3600, "h"),
        (30 * 86_400, 86_400, "day"),
    ):
        if size < limit:
            amount = max(1, round(size / length))
            text = f"{amount}{SPACE}{unit}{'s' if unit == 'day' and amount > 1 else ''}"
            return f"in {text}" if seconds < 0 else f"{text} ago"
    return ""


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
