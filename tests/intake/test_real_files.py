"""Real result files of other people through the whole import: the stored evidence says what the files say."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db.models import Count

from analysis import strict_json
from analysis.observations import FailureKind, Generation, Outcome, series_digest
from grading import columns as series_columns
from grading.models import GradingPass, Judgment, SeriesColumn
from intake import actions
from intake.readers import Limits, NamedFile, collect, mapping, recognise
from runs import columns as arm_columns
from runs.models import Answer, Execution, Experiment, State
from tests.intake.conftest import experiments

pytestmark = pytest.mark.django_db
MAPPINGS = Path(__file__).parents[1] / "data" / "mappings"


def imported(cast, files, dataset, **how):
    row = actions.import_now(
        access=cast.access(cast.ana), files=[(name, path) for name, path in files], dataset_name=dataset, **how
    )
    return row, {one.subject.label: one for one in experiments(row)}


def given(path: Path) -> dict:
    return strict_json.loads(path.read_bytes())


def outcomes(experiment, key=None) -> dict[str, int]:
    judged = Judgment.objects.filter(grading_pass__experiment=experiment)
    if key:
        judged = judged.filter(version__grader__definition__key=key)
    return {Outcome(o).name.lower(): n for o, n in judged.values_list("outcome").annotate(Count("id"))}


def states(experiment) -> dict[str, int]:
    rows = Execution.objects.filter(experiment=experiment).values_list("state", "failure_kind").annotate(Count("id"))
    return {FailureKind(k).name.lower() if k else Generation(s).name.lower(): n for s, k, n in rows}


def right(experiment, key) -> tuple[int, int]:
    scored = Judgment.objects.filter(
        grading_pass__experiment=experiment, version__grader__definition__key=key, outcome=Outcome.SCORED
    )
    return scored.filter(value=1).count(), scored.count()


def test_gsm8k(cast, shared):
    file = shared / "data" / "gsm8k_openai" / "example_model_solutions.jsonl"
    row, runs = imported(
        cast, [(file.name, file)], "GSM8K", mapping=given(MAPPINGS / "gsm8k_openai.json"), accept_rejected=True
    )
    assert {label: (one.planned, one.version.count) for label, one in runs.items()} == dict.fromkeys(
        ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"), (1319, 1319)
    )
    key = runs["175b_finetuning"].gradingpass_set.get().passgrader_set.get().version.grader.definition.key
    assert right(runs["175b_finetuning"], key) == (458, 1319)
    assert right(runs["175b_verification"], key) == (742, 1319)
    assert len({one.version_id for one in runs.values()}) == 1  # one version, used by all four
    assert row.total == 4 * 1319


def test_tau_bench_a_crash_is_not_a_zero(cast, shared):
    files = sorted((shared / "data" / "taubench_retail").glob("*.json*"))
    _, runs = imported(
        cast,
        [(path.name, path) for path in files],
        "Retail",
        labels={path.name.removesuffix(".json"): path.name.split("-none")[0] for path in files},
    )
    assert set(runs) == {"assertions-agent", "tool-calling"}
    assert states(runs["assertions-agent"]) == {"completed": 66, "harness_error": 34}
    assert states(runs["tool-calling"]) == {"completed": 99, "limit_exceeded": 1}
    assert right(runs["assertions-agent"], "reward") == (35, 66)
    assert right(runs["tool-calling"], "reward") == (73, 99)


def test_gpqa_repetitions(cast, shared):
    file = shared / "data" / "gpqa_epochs_csv" / "gpqa_diamond_scores.csv"
    _, runs = imported(cast, [(file.name, file)], "GPQA", mapping="item-model-score-epoch")
    for one in runs.values():
        assert (one.planned, one.repetitions, one.version.count) == (990, 5, 198)
        assert outcomes(one) == {"scored": 990}


def test_misguided_attention_unequal_repetitions(cast, shared):
    folder = shared / "data" / "misguided_attention"
    files = [(path.name, path) for path in sorted(folder.glob("detailed_evaluations_*.json"))]
    _, runs = imported(cast, files, "Misguided", mapping="case-model-attempts", accept_rejected=True)
    assert (runs["gpt-4.1"].planned, runs["gpt-4.1"].repetitions) == (156, 3)
    assert runs["o4-mini-high"].planned == 143


def test_arabic_mmlu_blank_is_an_abstention(cast, shared):
    folder = shared / "data" / "arabic_mmlu"
    files = [(f"{path.parent.name}/{path.name}", path) for path in sorted(folder.glob("*_few_shot/*.jsonl*"))]
    _, runs = imported(cast, files, "Arabic MMLU", mapping=given(MAPPINGS / "arabic_mmlu.json"), accept_rejected=True)
    assert sum(outcomes(one).get("abstained", 0) for one in runs.values()) > 0
    assert {one.planned for one in runs.values()} == {548}
    assert all("few_shot" not in label for label in runs)  # a folder's name is content; nobody confirmed it


def test_inspect_logs_of_both_kinds(cast, shared):
    logs = shared / "data" / "inspect_mock" / "logs"
    files = [logs / "arm-a_multilingual_qa.eval", logs / "arm-b_multilingual_qa.json"]
    row, _ = imported(cast, [(path.name, path) for path in files], "Multilingual")
    one, other = experiments(row)
    assert (one.planned, other.planned) == (78, 72)
    assert one.gradingpass_set.count() == len({p.name for p in one.gradingpass_set.all()}) > 1
    assert Answer.objects.filter(execution__experiment=one, structured__isnull=False).exists()
    assert one.provenance["reader"] == "inspect"


def test_real_inspect_logs(cast, shared):
    folder = shared / "data" / "inspect_real_logs"
    files = sorted(folder.glob("*popularity*"))
    row, _ = imported(cast, [(path.name, path) for path in files], "Popularity", accept_rejected=True)
    assert row.state == "completed"
    assert sum(one.planned for one in experiments(row)) == row.total > 100


def test_the_same_numbers_from_the_database_and_from_files(cast, shared):
    """R-determinism: frozen columns equal the rows, and both equal what the command line reads."""
    logs = shared / "data" / "inspect_mock" / "logs"
    file = logs / "arm-a_multilingual_qa.eval"
    imported(cast, [(file.name, file)], "Multilingual")
    csv = shared / "data" / "gpqa_epochs_csv" / "gpqa_diamond_scores.csv"
    imported(cast, [(csv.name, csv)], "GPQA", mapping="item-model-score-epoch")
    found = [
        recognise([NamedFile(file.name, file)], None, Limits()),
        recognise([NamedFile(csv.name, csv)], mapping.builtin("item-model-score-epoch"), Limits()),
    ]
    checked = 0
    for run in (run for one in found for run in one.runs()):
        kept = collect(run, accept_rejected=True)
        experiment = Experiment.objects.get(
            importedrun__source_run_id=run.facts.source_run_id, version__count=len({row.source for row in kept.rows})
        )
        frozen = arm_columns.thaw(experiment.armcolumns)
        for scorer in run.facts.scorers:
            side = kept.side(scorer.key)
            column = SeriesColumn.objects.get(
                grading_pass__experiment=experiment, version__grader__definition__key=scorer.key
            )
            assert column.digest == series_digest(side.arm, side.series)
            assert series_digest(frozen.arm, series_columns.thaw(column)) == column.digest
            checked += 1
        assert frozen.arm.generation.tolist() == side.arm.generation.tolist()
        assert frozen.arm.latency_ms.tobytes() == side.arm.latency_ms.tobytes()
        assert frozen.arm.cost_coverage.tolist() == side.arm.cost_coverage.tolist()
    assert checked > 3


def test_everything_is_finished_and_closed(cast, shared):
    file = shared / "data" / "gpqa_epochs_csv" / "gpqa_diamond_scores.csv"
    _, runs = imported(cast, [(file.name, file)], "GPQA", mapping="item-model-score-epoch")
    for one in runs.values():
        assert (one.state, one.origin, one.trust) == (State.COMPLETED, "import", "source_verifier")
        assert len(one.manifest_sha256) == 64
        assert one.completed_at is not None
        assert {p.state for p in GradingPass.objects.filter(experiment=one)} == {State.COMPLETED}
