"""What a call cost, from what is known: reported by the provider, else by the route's prices, else by a price list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analysis.observations import CostCoverage
from runs.executors.contract import Usage

MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Millionths of the currency per million tokens, and per call; None is unknown, zero is free."""

    currency: str
    input: int | None = None
    cached_input: int | None = None
    output: int | None = None
    call_fee: int | None = None

    @property
    def known(self) -> bool:
        return any(one is not None for one in (self.input, self.cached_input, self.output, self.call_fee))


@dataclass(frozen=True, slots=True)
class Fact:
    """A cost fact. With coverage NONE nothing is known, and the amount means nothing."""

    micros: int = 0
    coverage: CostCoverage = CostCoverage.NONE
    basis: str = ""
    currency: str = ""


UNKNOWN: Final = Fact()


def cost_of(usage: Usage, prices: Prices) -> Fact:
    """The cost of one call.

    A price that is not set is unknown, so what it would have priced is left out and the coverage is
    partial. Cached tokens without a price of their own are unknown, since providers differ in what
    they take for them. A public price list counts only where the operators set no price.
    """
    if usage.reported_micros is not None and usage.reported_currency:
        return Fact(usage.reported_micros, CostCoverage.COMPLETE, "reported", usage.reported_currency)
    if prices.known:
        return _priced(usage, prices)
    if usage.listed_micros is not None:
        return Fact(usage.listed_micros, CostCoverage.COMPLETE, "price list", "USD")
    return UNKNOWN


def _priced(usage: Usage, prices: Prices) -> Fact:
    cached = usage.cached_input or 0
    fresh = None if usage.input is None else usage.input - cached
    parts = [(fresh, prices.input), (usage.output, prices.output)]
    if cached:
        parts.append((cached, prices.cached_input))
    known = [(count, price) for count, price in parts if count is not None and price is not None]
    whole = len(known) == len(parts)
    if not known and prices.call_fee is None:
        return UNKNOWN
    total = sum(count * price for count, price in known)
    micros = (total + MILLION // 2) // MILLION + (prices.call_fee or 0)
    basis = "price table" if known else "fee"
    return Fact(micros, CostCoverage.COMPLETE if whole else CostCoverage.PARTIAL, basis, prices.currency)
