"""Writes the demo's three result files from the cases: `python -m config.demo_data.make`.

`cases.json` holds everything a person wrote: the questions, what a good answer must contain, the
answers, and per arm which of them was given at each repetition. `arms.json` describes the three
subjects. What is drawn here (greetings, latencies, token counts, tone) comes from random numbers
seeded by case, arm and repetition, so the files are the same on every machine.

A repetition in `runs` is the name of an answer, with a mark before it where the judge did not judge:
`?` abstained, `!` failed, `~` never ran. An answer whose name begins with `miss` fails the checklist,
every other one passes. `-` was never run; timeout, provider, limit and crash gave no answer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis import strict_json

HERE = Path(__file__).parent
BASELINE = "1.3"

ENDINGS = {
    "timeout": ("timed_out", 60_000),
    "provider": ("provider_error", 420),
    "limit": ("limit_exceeded", 5_200),
    "crash": ("crashed", 3_900),
}
"""How a run without an answer ended, and after how many milliseconds."""

BILLED = frozenset({"timeout", "crash", "limit"})
"""Endings for which the newer gateway reports what the prompt cost."""

UNPRICED_FROM = ("QD-131", 3)
"""From this case on, in this repetition, the old gateway reported no usage: the cost is unknown."""

WRITTEN_TWICE = ("QD-139", 2)
"""A row that the old runner wrote a second time after a restart."""

JUDGE_ERROR = "The judge's reply was cut off after 400 tokens and could not be read."


def read(name: str) -> Any:
    return strict_json.loads((HERE / name).read_bytes())


def build() -> dict[str, str]:
    """The text of every result file, by its name."""
    cases = read("cases.json")
    files = {}
    for key, arm in read("arms.json").items():
        rows = [row for case in cases for row in _rows(case, key, arm)]
        if key == BASELINE:
            rows.append(next(row for row in rows if (row["case"], row["repetition"]) == WRITTEN_TWICE))
        files[arm["file"]] = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return files


def _rows(case: dict[str, Any], key: str, arm: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One row per repetition that was run."""
    case = {**case, **case.get("revised", {}).get(key, {})}
    for repetition, given in enumerate(case["runs"].get(key, "").split(), start=1):
        if given == "-":
            continue
        chance = random.Random(f"evenhand demo/{case['id']}/{key}/{repetition}")  # noqa: S311 - reproducible on purpose
        row = {
            "case": case["id"],
            "repetition": repetition,
            "subject": arm["subject"],
            "model": arm["model"],
            "prompt": arm["prompt"],
            "language": case["language"],
            "title": case["title"],
            "tags": case["tags"],
            "message": case["message"],
            "expected": case["expected"],
        }
        if given in ENDINGS:
            yield row | _without_answer(given, case, key, arm)
        else:
            yield row | _answered(given, case, key, arm, repetition, chance)


def _without_answer(ending: str, case: dict[str, Any], key: str, arm: dict[str, Any]) -> dict[str, Any]:
    status, latency = ENDINGS[ending]
    row: dict[str, Any] = {"status": status, "latency_ms": latency}
    if ending == "provider":
        return row | {"cost_usd": 0.0}
    if ending in BILLED and key != BASELINE:
        asked = _tokens_in(case)
        return row | {"input_tokens": asked, "cost_usd": _price(arm, asked, 0)}
    return row


def _answered(
    given: str, case: dict[str, Any], key: str, arm: dict[str, Any], repetition: int, chance: random.Random
) -> dict[str, Any]:
    mark = given[0] if given[0] in "?!~" else ""
    name = given.removeprefix(mark)
    passed = not name.startswith("miss")
    written = case["answers"][name]
    body, why, language = written, case["pass_why"], case["language"]
    if isinstance(written, dict):
        body, why, language = written["text"], written["why"], written.get("language", language)
    parts = (chance.choice(arm["openings"][language]), body, chance.choice(arm["closings"][language]))
    answer = " ".join(part for part in parts if part)
    asked, wrote = _tokens_in(case), 12 + len(answer.encode()) // 4
    low, spread = arm["latency_ms"]
    latency = low + spread * chance.random() * chance.random() + 4 * wrote
    row = {"status": "completed", "answer": answer, "latency_ms": round(latency)}
    if key != BASELINE or repetition != UNPRICED_FROM[1] or case["id"] < UNPRICED_FROM[0]:
        row |= {"input_tokens": asked, "output_tokens": wrote, "cost_usd": _price(arm, asked, wrote)}
    tone = chance.choice(arm["tone"]["pass" if passed else "fail"])
    topic = case.get("topics", {}).get(key, case["topic"])
    return row | _checklist(mark, passed, why) | {"tone": tone, "topic": topic}


def _checklist(mark: str, passed: bool, why: str) -> dict[str, Any]:
    """What the checklist judge returned."""
    if mark == "~":
        return {"resolved": None}
    if mark == "!":
        return {"resolved": None, "resolved_error": JUDGE_ERROR}
    return {"resolved": "abstained" if mark == "?" else passed, "resolved_why": why}


def _tokens_in(case: dict[str, Any]) -> int:
    """The prompt with the retrieved help pages, and the message."""
    return 900 + len(case["message"].encode()) // 4


def _price(arm: dict[str, Any], asked: int, wrote: int) -> float:
    of_input, of_output = arm["usd_per_million"]
    price: float = round((asked * of_input + wrote * of_output) / 1_000_000, 6)
    return price


def main() -> None:
    for name, text in build().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
