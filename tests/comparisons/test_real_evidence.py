"""Real result files through import, store, lens, API and export: the figures of an independent computation."""

from __future__ import annotations

import json

import pytest

from intake.actions import import_now
from tests.comparisons.conftest import Compared

GSM8K = {
    "name": "gsm8k",
    "case": ["$line"],
    "arm": "{arm}",
    "arms": ["175b_finetuning", "175b_verification"],
    "content": {"input": "question", "expected": "ground_truth"},
    "answer": "{arm}.solution",
    "scorers": [
        {
            "key": "is_correct",
            "name": "Correct",
            "kind": "boolean",
            "direction": "higher_is_better",
            "value": "{arm}.is_correct",
        }
    ],
}
GPQA = {
    "name": "gpqa",
    "case": ["item_id"],
    "arm": "model_id",
    "repetition": "epoch",
    "scorers": [
        {"key": "score", "name": "Score", "kind": "boolean", "direction": "higher_is_better", "value": "score"}
    ],
}
FILES = {
    "gsm8k_openai": (GSM8K, "*.jsonl", "175b_verification"),
    "taubench_retail": (None, "*.json", "assertions"),
    "gpqa_epochs_csv": (GPQA, "*.csv", "nano"),
}


def imported(cast, shared, folder) -> Compared:
    mapping, pattern, candidate = FILES[folder]
    files = sorted((shared / "data" / folder).glob(pattern))
    row = import_now(
        access=cast.access(cast.ana),
        files=[(path.name, path) for path in files],
        dataset_name=folder,
        mapping=mapping,
        accept_rejected=True,
    )
    made = [one.experiment for one in row.importedrun_set.select_related("experiment").order_by("position")]
    named = [path.name for path in files] if len(files) > 1 else [one.subject.label for one in made]
    at = next(index for index, name in enumerate(named) if candidate in name)
    return Compared(cast.team, made[at], made[1 - at])


@pytest.mark.parametrize(
    ("folder", "cases", "pairs", "delta", "spread", "moved", "scored"),
    [
        pytest.param(
            *("gsm8k_openai", 1319, 1319, 0.215315, 0.533098),
            *((360, 76, 883), ((742, 1319), (458, 1319))),
            id="gsm8k",
        ),
        pytest.param(
            *("taubench_retail", 65, 65, -0.2, 0.560220),
            *((5, 18, 42), ((35, 66), (73, 99))),
            id="tau-bench",
        ),
        pytest.param(
            *("gpqa_epochs_csv", 198, 990, 0.058586, 0.390030),
            *((62, 46, 90), ((None, 990), (None, 990))),
            id="gpqa",
        ),
    ],
)
def test_figures(cast, shared, api_client, page_client, folder, cases, pairs, delta, spread, moved, scored):
    found = imported(cast, shared, folder)
    result = found.view(cast.ana).result
    quality = result.quality
    assert (quality.cases, quality.pairs) == (cases, pairs)
    assert quality.delta == pytest.approx(delta, abs=5e-7)
    assert quality.delta_spread == pytest.approx(spread, abs=5e-7)
    assert (quality.better, quality.worse, quality.same) == moved
    for side, (passed, of) in zip((result.candidate, result.baseline), scored, strict=True):
        assert side.coverage.scored == of
        assert passed is None or side.coverage.passed == passed
    answer = api_client(cast.ana, cast.team).get(found.api()).json()["result"]
    exported = page_client(cast.ana).get(found.url(cast.ana, "export"))
    file = json.loads(b"".join(exported.streaming_content))
    assert answer == file["result"]
    assert answer["quality"]["delta"] == quality.delta
    assert len(file["cases"]) == result.filters.all


def test_crashes_are_left_out_and_the_page_says_what_counting_them_would_do(cast, shared, page_client):
    found = imported(cast, shared, "taubench_retail")
    page = page_client(cast.ana).get(found.url(cast.ana)).content.decode()
    assert "34 generation errors" in page
    assert "−38 points instead of −20 points" in page
    assert found.view(cast.ana).result.bracket.delta == pytest.approx(-0.38, abs=1e-12)
