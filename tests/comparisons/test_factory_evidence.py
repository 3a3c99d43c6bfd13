"""The factory writes evidence that thaws into the same columns as plain arms."""

import numpy as np

from analysis.observations import FailureKind, Outcome
from grading import columns as series_columns
from grading.models import SeriesColumn
from runs import columns as arm_columns
from tests.factories import arms, evidence


def test_stored_evidence_has_the_digest_of_the_same_plain_evidence(cast):
    cases = {"a": [1, 0], "b": [Outcome.ABSTAINED, FailureKind.TIMED_OUT], "c": [0, None]}
    made = evidence.experiment(cast.team, cast.ana, cases)
    frozen = arm_columns.thaw(made.armcolumns)
    column = SeriesColumn.objects.get(grading_pass__experiment=made)
    plain = arms.side(cases)
    assert np.array_equal(frozen.arm.source, plain.arm.source)
    assert np.array_equal(frozen.arm.generation, plain.arm.generation)
    series = series_columns.thaw(column)
    assert np.array_equal(series.outcome, plain.series.outcome)
    assert np.array_equal(series.value, plain.series.value, equal_nan=True)


def test_a_second_pass_measures_the_same_executions(cast):
    made = evidence.experiment(cast.team, cast.ana, {"a": [1], "b": [0]})
    added = evidence.add_pass(made, cast.ana, evidence.Graded({"a": [0], "b": [0]}, grader="strict", version=1))
    assert added.number == 2
    assert SeriesColumn.objects.filter(grading_pass__experiment=made).count() == 2
