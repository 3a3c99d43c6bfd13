"""Frozen columns: a finished experiment's executions in one row."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models

from runs.models.experiments import Experiment


class ArmColumns(models.Model):
    """A finished experiment's executions frozen into compact columns (see `analysis.observations.Arm`).

    Derived from the rows and equal to them; every comparison reads this one row instead of tens of thousands.
    `groups` holds 32 bytes per case, or nothing where no case has a group.
    `revisions` holds the 16 id bytes of each case's revision, `executions` each row's execution id.
    """

    experiment = models.OneToOneField(Experiment, on_delete=models.PROTECT, primary_key=True)
    layout = models.PositiveSmallIntegerField(default=1)
    cases = models.PositiveIntegerField()
    rows = models.PositiveIntegerField()
    source = models.BinaryField()
    content = models.BinaryField()
    revisions = models.BinaryField()
    case = models.BinaryField()
    repetition = models.BinaryField()
    generation = models.BinaryField()
    failure = models.BinaryField()
    latency_ms = models.BinaryField()
    cost_micros = models.BinaryField()
    cost_coverage = models.BinaryField()
    groups = models.BinaryField(default=b"")
    executions = models.BinaryField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="unchanged", operation=pgtrigger.Update),
            pgtrigger.Trigger(
                name="derived",
                when=pgtrigger.Before,
                operation=pgtrigger.Delete,
                func="""
                    IF EXISTS (SELECT 1 FROM runs_experiment e WHERE e.id = OLD.experiment_id AND e.state <> 'running')
                    THEN
                        RAISE EXCEPTION 'columns of a finished experiment are kept';
                    END IF;
                    RETURN OLD;
                """,
            ),
        ]
