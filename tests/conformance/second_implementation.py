"""The verdict written a second time, from docs/comparability.md sections 1 to 4 and nothing else.

It imports nothing of Evenhand. Plain dictionaries, one function per section of the page, and no
concern for speed or for the wording of problems: only for what the page says. Where it and
`analysis.comparability` differ, the page is unclear or one of the two has misread it.
"""

from __future__ import annotations

import json
import math

VERSION = "cmp/0.4.0"
TAMPER = (
    "Equal digests show only that copies were not changed apart from each other; they are no protection "
    "against tampering, because one writer owns both sides."
)
IMPLICIT = {"range": "0..1", "unit": "fraction", "verifier": "source"}
NAMES = {
    1: "same_task_id",
    2: "same_model",
    3: "single_variable_isolation",
    4: "trace_available",
    5: "zero_semantics_uniform(verified_zero != unresolved_zero)",
    6: "score_scale_consistent",
}
ALWAYS = {1, 2, 3, 4, 5, 6, 0}
CAUSAL = "causal_attribution(a single run without repetition)"
ROWS = [
    ("causal", {3, 4}, "INADMISSIBLE", [], [CAUSAL]),
    ("causal", ALWAYS, "INADMISSIBLE", ["descriptive_side_by_side(downgraded wording)"], [CAUSAL]),
    (
        "score_comparison",
        {4},
        "INCONCLUSIVE",
        ["score_transcription(source_verifier_attested)"],
        ["success_rate(includes records without evidence)"],
    ),
    ("score_comparison", {1, 2, 3, 6}, "INADMISSIBLE", [], ["score_comparison(task, model or scale conflict)"]),
    (
        "score_comparison",
        {5},
        "PARTIAL",
        ["per_status_stratified_rate(verified and unresolved zeros apart)"],
        ["pooled_fail_rate(zeros with different meanings)"],
    ),
    ("score_comparison", ALWAYS, "ADMISSIBLE", ["continuous_score_side_by_side(one scale)"], []),
    (
        "descriptive_registration",
        ALWAYS,
        "ADMISSIBLE",
        ["descriptive_registration(all conditions and raw scores)"],
        [],
    ),
]
MEANT = {"score_compare": "score_comparison", "record": "descriptive_registration"}


class NotACase(Exception):
    """Section 1: the paths of everything that is wrong."""

    def __init__(self, paths):
        super().__init__(", ".join(paths))
        self.paths = paths


def decide(case, claim):
    """Sections 1 to 4: the decision record as a dictionary, or NotACase."""
    wrong = list(dict.fromkeys(faults(case)))
    if wrong:
        raise NotACase(wrong)
    records = case["records"]
    broken = {number for number, is_broken in conditions(records).items() if is_broken}
    known = MEANT.get(claim, claim)
    verdict, supported, unsupported = "INCONCLUSIVE", [], []
    unknown_claim = True
    for name, when, word, yes, no in ROWS:
        if name == known and when & (broken | {0}):
            verdict, supported, unsupported, unknown_claim = word, yes, no, False
            break
    held = [NAMES[number] for number in (1, 2, 3) if number not in broken]
    if 6 not in broken:
        held.append("continuous_score_preserved(" + min(repr(in_order(scale(r))) for r in records) + ")")
    notes = []
    more = sorted({str(key) for r in records for key in r} - set(FIELDS))
    if more:
        notes.append("ignored_fields:" + repr(more))
    if 4 in broken:
        notes.append("source_reward_retained_but_unverifiable_by_us")
    if unknown_claim:
        notes.append("unrecognized_claim_type")
    models, harnesses = distinct(records, "model"), distinct(records, "harness")
    return {
        "case_id": case["id"],
        "requested_claim": claim,
        "comparison_scope": "%d records; models=%r; harnesses=%r" % (len(records), models, harnesses),  # noqa: UP031
        "admissibility": verdict,
        "satisfied_conditions": held,
        "violated_conditions": [NAMES[number] for number in sorted(broken)],
        "unknown_conditions": notes,
        "supported_claims": list(supported),
        "unsupported_claims": list(unsupported),
        "evidence_refs": ["rec:" + r["task_id"] + "/" + r["model"] + "/" + r["harness"] for r in records],
        "policy_version": VERSION,
        "limitations": [TAMPER],
    }


def conditions(records):
    """Section 2."""
    statuses = distinct(records, "reward_status")
    scales = [scale(r) for r in records]
    two_models = len(distinct(records, "model")) >= 2
    return {
        1: len(distinct(records, "task_id")) >= 2,
        2: two_models,
        3: two_models and len(distinct(records, "harness")) >= 2,
        4: any("trajectory_available" in r and not r["trajectory_available"] for r in records),
        5: "verified" in statuses and "unresolved_zero" in statuses,
        6: None in scales or any(a != b for a in scales[:1] for b in scales),
    }


def scale(record):
    if "score_scale" in record:
        return record["score_scale"]
    return IMPLICIT if 0 <= record["reward"] <= 1 else None


def distinct(records, name):
    return sorted({r[name] for r in records})


def in_order(value):
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(inner) for inner in value] if isinstance(value, list) else value


# Section 1, as predicates.


def is_text(value):
    return (
        isinstance(value, str)
        and value != ""
        and value.encode("utf-16", "surrogatepass").decode("utf-16", "ignore") == value
    )


def is_number(value):
    return type(value) is int or (type(value) is float and math.isfinite(value))


def is_scale(value):
    if not isinstance(value, dict) or not all(isinstance(value.get(k, ""), str) for k in ("range", "unit", "verifier")):
        return False
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return all(isinstance(key, str) for key in value) and depth(value) <= 64


def depth(value):
    level, deep = [value], 0
    while level and deep <= 65:
        level = [
            inner for v in level if isinstance(v, dict | list) for inner in (v.values() if isinstance(v, dict) else v)
        ]
        deep += 1
    return deep


FIELDS = {
    "task_id": (True, is_text),
    "harness": (True, is_text),
    "model": (True, is_text),
    "reward_status": (True, is_text),
    "reward": (True, is_number),
    "trajectory_available": (False, lambda value: isinstance(value, bool)),
    "score_scale": (False, is_scale),
    "repetition_count": (False, lambda value: type(value) is int and value >= 1),
}


def faults(case):
    """The paths of section 1, without the places inside a scale."""
    if not isinstance(case, dict):
        yield "case"
        return
    if not is_text(case.get("id")):
        yield "id"
    records = case.get("records")
    if not isinstance(records, list) or not records:
        yield "records"
        return
    for position, record in enumerate(records):
        here = f"records[{position}]"
        if not isinstance(record, dict):
            yield here
            continue
        for name, (required, good) in FIELDS.items():
            if (name in record and not good(record[name])) or (required and name not in record):
                yield f"{here}.{name}"
