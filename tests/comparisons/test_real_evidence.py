"""Real result files through every door: the figures of an independent computation on each."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from comparisons.views.paired import TABS
from intake.actions import import_now
from tests.comparisons.conftest import Compared

MAPPINGS = Path(__file__).parents[1] / "data" / "mappings"


@dataclass(frozen=True)
class Real:
    """Files of other people, which of their arms are compared, and what must come out (candidate - baseline)."""

    files: str
    baseline: str
    candidate: str
    cases: int
    pairs: int
    delta: float
    spread: float | None
    moved: tuple[int, int, int] | None
    mapping: str = ""
    shown: tuple[str, ...] = ()
    """What the page says in words."""


REAL = {
    "gsm8k_openai": Real(
        *(
            "*.jsonl",
            "example_model_solutions.jsonl#175b_finetuning",
            "example_model_solutions.jsonl#175b_verification",
        ),
        *(1319, 1319, 0.215315, 0.533098, (360, 76, 883), "gsm8k_openai.json"),
        ("458/1,319", "742/1,319", "+21.5", "360 better", "76 worse", "883 the same"),
    ),
    "taubench_retail": Real(
        *("*.json", "tool-calling*", "assertions-agent*"),
        *(65, 65, -0.2, 0.560220, (5, 18, 42)),
        shown=("73/99", "35/66", "−20", "34 generation errors", "−38 points instead of −20 points"),
    ),
    "gpqa_epochs_csv": Real(
        *("*.csv", "gpqa_diamond_scores.csv#openai/gpt-5.4-mini-2026-03-17"),
        "gpqa_diamond_scores.csv#openai/gpt-5-nano-2025-08-07",
        *(198, 990, 0.058586, 0.390030, (62, 46, 90), "item-model-score-epoch"),
        ("198 cases", "+5.86", "62 better", "46 worse", "90 the same"),
    ),
    "misguided_attention": Real(
        *(
            "detailed_evaluations_*.json",
            "detailed_evaluations_gpt41.json#gpt-4.1",
            "detailed_evaluations_o4mh.json#o4-mini-high",
        ),
        *(52, 143, -0.008013, 0.394358, None, "case-model-attempts"),
        ("143 pairs over 52 cases", "−0.00801"),
    ),
    "arabic_mmlu": Real(
        *("*_few_shot/*.jsonl*", "jais-13b_few_shot", "AceGPT_13B_base_few_shot"),
        *(485, 485, 0.035052, None, None, "arabic_mmlu.json"),
        ("485 of 548 cases", "+3.51"),
    ),
}


def given(name: str):
    return json.loads((MAPPINGS / name).read_text()) if name.endswith(".json") else name or None


def imported(cast, folder: Path, real: Real) -> Compared:
    """Both arms in the store, through the whole import."""
    files = sorted(folder.glob(real.files))
    names = [str(path.relative_to(folder)) for path in files]
    row = import_now(
        access=cast.access(cast.ana),
        files=list(zip(names, files, strict=True)),
        dataset_name=folder.name,
        mapping=given(real.mapping),
        accept_rejected=True,
    )
    made = [one.experiment for one in row.importedrun_set.select_related("experiment").order_by("position")]
    origins = sorted({name.partition("/")[0] for name in names})

    def arm(side: str):
        name, _, label = side.partition("#")
        found = [one for one in made if one.subject.label == label]
        if found:
            return found[0]
        [at] = [at for at, origin in enumerate(origins) if fnmatch(origin, name)]
        return made[at]

    return Compared(cast.team, arm(real.candidate), arm(real.baseline))


def words_of(response) -> str:
    """What a page says, without its marks."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode().partition("<main")[2]).split())


def on_files(folder: Path, real: Real):
    """`evenhand compare` without any server."""
    sides = []
    for side in (real.baseline, real.candidate):
        name, mark, arm = side.partition("#")
        [path] = folder.glob(name)
        sides.append(f"{path}{mark}{arm}")
    options = []
    if real.mapping:
        options = ["--mapping", str(MAPPINGS / real.mapping) if real.mapping.endswith(".json") else real.mapping]
    done = CliRunner().invoke(app, ["compare", *sides, *options, "--dataset", folder.name, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", REAL)
def test_every_door_gives_the_figures(cast, shared, api_client, page_client, name):
    folder, real = shared / "data" / name, REAL[name]
    found = imported(cast, folder, real)
    answer = api_client(cast.ana, cast.team).get(found.api()).json()["result"]
    quality = answer["quality"]
    assert (quality["cases"], quality["pairs"]) == (real.cases, real.pairs)
    assert quality["delta"] == pytest.approx(real.delta, abs=5e-7)
    assert real.spread is None or quality["delta_spread"] == pytest.approx(real.spread, abs=5e-7)
    assert real.moved is None or (quality["better"], quality["worse"], quality["same"]) == real.moved

    page = " ".join(words_of(page_client(cast.ana).get(found.url(cast.ana, tab=tab))) for tab in TABS)
    for words in real.shown:
        assert words in page, words

    exported = page_client(cast.ana).get(found.url(cast.ana, "export"))
    file = json.loads(b"".join(exported.streaming_content))
    assert file["result"] == answer
    table = page_client(cast.ana).get(found.url(cast.ana, "export", format="csv"))
    rows = list(csv.reader(io.StringIO(b"".join(table.streaming_content).decode("utf-8-sig"))))
    assert sum(len(row) == len(rows[-1]) for row in rows) >= answer["filters"]["all"]
    assert len(file["cases"]) == answer["filters"]["all"]

    local = on_files(folder, real)
    judged = api_client(cast.ana, cast.team).get(found.api()).json()["verdict"]
    verdicts = [
        [(one["claim"], one["final"], one["extension"]["may_say"]) for one in given["claims"]]
        for given in (local["verdict"], judged)
    ]
    assert verdicts[0] == verdicts[1]
    for part in ("may", "may_not", "cannot_tell"):
        assert local["verdict"]["said"][part] == judged["said"][part]
    for part in ("quality", "interval95", "interval", "bracket", "unmatched"):
        assert local.get(part) == answer.get(part), part
    assert local["finding"]["kind"] == answer["finding"]["kind"]  # its words hold the arms' names, which imports keep
    for side in ("baseline", "candidate"):
        assert local[side]["coverage"] == answer[side]["coverage"]
        assert local[side]["generation"] == answer[side]["generation"]


def test_crashes_are_left_out_and_the_page_says_what_counting_them_would_do(cast, shared, page_client):
    found = imported(cast, shared / "data" / "taubench_retail", REAL["taubench_retail"])
    page = page_client(cast.ana).get(found.url(cast.ana)).content.decode()
    assert "34 generation errors" in page
    assert "−38 points instead of −20 points" in page
    assert found.view(cast.ana).result.bracket.delta == pytest.approx(-0.38, abs=1e-12)
