"""Folding of cost facts. Unknown is never zero: what is not priced stays visible in the coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from analysis.observations import CostCoverage, Spend


class CostGroup(NamedTuple):
    """`facts` cost facts of one currency, basis and coverage, with the sum of their known parts."""

    currency: str
    basis: str
    coverage: CostCoverage
    facts: int
    micros: int


def fold(groups: Iterable[CostGroup]) -> Spend:
    """All facts as one spend: complete only where every fact is.

    Amounts of different currencies cannot be added: the currency with the most facts known in part or
    whole is summed, and the spend is partial. Known parts of partly priced facts count; such facts are
    not `priced`. Nothing known is coverage NONE with no currency, not an amount of zero.
    """
    known: Counter[str] = Counter()
    holding: Counter[str] = Counter()
    bases: set[str] = set()
    facts = priced = 0
    for currency, basis, coverage, count, micros in groups:
        if count < 0 or micros < 0:
            raise ValueError("Counts and costs are not negative.")
        facts += count
        if coverage is CostCoverage.NONE or not count:
            continue
        known[currency] += micros
        holding[currency] += count
        bases.add(basis)
        if coverage is CostCoverage.COMPLETE:
            priced += count
    if not holding:
        return Spend(0, CostCoverage.NONE, "not reported", "", facts, 0)
    currency = min(holding, key=lambda name: (-holding[name], name))
    complete = priced == facts and len(holding) == 1
    return Spend(
        known_micros=known[currency],
        coverage=CostCoverage.COMPLETE if complete else CostCoverage.PARTIAL,
        basis="; ".join(sorted(bases)) + ("; several currencies" if len(holding) > 1 else ""),
        currency=currency,
        facts=facts,
        priced=priced,
    )


def fold_by_currency(groups: Iterable[CostGroup]) -> tuple[Spend, ...]:
    """One spend per currency in which anything is known, by name; each over all facts, so that gaps show."""
    given = tuple(groups)
    currencies = sorted({group.currency for group in given if group.coverage is not CostCoverage.NONE and group.facts})
    if not currencies:
        return (fold(given),)
    return tuple(
        fold(group if group.currency == currency else group._replace(coverage=CostCoverage.NONE) for group in given)
        for currency in currencies
    )
