"""Cost facts, as columns of what was paid for."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from analysis.observations import CostCoverage

COVERAGES = [(member.value, member.name.lower()) for member in CostCoverage]


class Cost(models.Model):
    """A cost fact. Unknown is coverage none, and then the known part is zero of nothing, never a price."""

    cost_micros = models.BigIntegerField(default=0)
    cost_coverage = models.PositiveSmallIntegerField(choices=COVERAGES, default=CostCoverage.NONE)
    cost_basis = models.CharField(max_length=20, blank=True)
    currency = models.CharField(max_length=3, blank=True)

    class Meta:
        abstract = True


def known_cost(name: str) -> models.CheckConstraint:
    """Known micros, coverage and basis stand together; nothing known carries no amount."""
    nothing = Q(cost_coverage=CostCoverage.NONE, cost_micros=0, cost_basis="", currency="")
    something = Q(cost_coverage__gt=CostCoverage.NONE, cost_micros__gte=0) & ~Q(cost_basis="") & ~Q(currency="")
    return models.CheckConstraint(condition=nothing | something, name=name)
