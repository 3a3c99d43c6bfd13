"""Readiness and state of a group as plain text. What nobody knows is the word Unknown, never a zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from cli.render import UNKNOWN, money, section, table, visible

SHOWN_HASH: Final = 12


def name(group: dict[str, Any]) -> str:
    return f"“{visible(str(group.get('name', '')))}”"


def readiness(found: dict[str, Any]) -> str:
    """What each arm will run, what differs beyond the model, how much work it is, and what stands in the way."""
    lines = ["Ready" if found["ready"] else "Not ready"]
    arms: list[dict[str, Any]] = found["arms"]
    if arms:
        names = list(dict.fromkeys(fact for arm in arms for fact in arm["facts"]))
        rows = [(fact, *(_fact(fact, arm["facts"].get(fact)) for arm in arms)) for fact in names]
        lines += ["", table(("Arm", *(arm["letter"] for arm in arms)), rows), ""]
        lines += [f"{arm['letter']}  {visible(arm['label'])}" for arm in arms]
    beyond = [_difference(one, arms) for one in found["differences"] if one["beyond_the_model"]]
    lines += section("Differs beyond the model", beyond) or ["", "Nothing differs beyond the model."]
    counted = [
        ("cases", found["cases"]),
        ("generations", found["generations"]),
        ("judgments", found["judgments"]),
    ]
    rows = [(label, f"{count:,}") for label, count in counted]
    rows.append(("invocations", f"{found['invocations']:,} of at most {found['limit']:,}"))
    lines += ["", table(("Planned", ""), rows), "", f"Expected cost  {_expected(found['expected_cost'])}"]
    plan = found.get("statistical_plan")
    if plan:
        lines += ["", f"Could show  {visible(plan['metric'])}: {visible(plan['text'])}"]
    lines += section("In the way", [_blocked(one) for one in found["blocked"]])
    return "\n".join(lines)


def group(state: dict[str, Any]) -> str:
    """The arms side by side, and beside each its recorded cost with its coverage."""
    head = ("Arm", "state", "answers", "failed", "cancelled", "judgments", "grading", "cost")
    lines = [f"Group  {name(state)}  {state['id']}", "", table(head, [_arm(one) for one in state["states"]]), ""]
    for one in state["states"]:
        lines.append(f"{one['letter']}  {visible(str(one.get('name', '')))}  experiment {one['experiment']}")
    return "\n".join(lines)


def cost(facts: Sequence[dict[str, Any]]) -> str:
    """Recorded cost by currency. A part that nobody priced makes it a lower bound, or Unknown."""
    return " + ".join(map(_one_cost, facts)) or UNKNOWN


def standing(arm: dict[str, Any]) -> str:
    """The arm's state in a word, with the reason where it is held."""
    if not arm.get("paused"):
        return str(arm["state"])
    return f"paused ({arm['pause_code']})" if arm.get("pause_code") else "paused"


def _arm(arm: dict[str, Any]) -> tuple[str, ...]:
    return (
        arm["letter"],
        standing(arm),
        f"{arm['done']:,}/{arm['planned']:,}",
        f"{arm['failed']:,}",
        f"{arm['cancelled']:,}",
        f"{arm['judged']:,}/{arm['expected']:,}"
        + (f" ({arm['judgments_cancelled']:,} cancelled)" if arm["judgments_cancelled"] else ""),
        str(arm.get("grading_state", UNKNOWN)),
        cost(arm["generation_cost"]),
    )


def _one_cost(fact: dict[str, Any]) -> str:
    if fact["coverage"] == "none" or fact["known_micros"] is None:
        return UNKNOWN
    amount = money(fact["known_micros"], fact["currency"])
    if fact["coverage"] == "complete":
        return f"{amount} (complete)"
    priced, facts = fact.get("priced"), fact.get("facts")
    known = "" if priced is None or facts is None else f", {priced:,} of {facts:,} priced"
    return f"≥ {amount} (partial{known})"


def _expected(found: dict[str, Any]) -> str:
    low, high = found["low_micros"], found["high_micros"]
    if low is None or high is None:
        return str(found["says"] or UNKNOWN)
    currency = found["currency"]
    return f"{money(low, currency)} to {money(high, currency)}. {found['says']}"


def _fact(fact: str, value: Any) -> str:
    text = UNKNOWN if value in (None, "") else visible(str(value))
    return text[:SHOWN_HASH] if fact.endswith("hash") and text != UNKNOWN else text


def _difference(one: dict[str, Any], arms: Sequence[dict[str, Any]]) -> str:
    values = zip(arms, one["values"], strict=False)
    return f"{one['name']}: " + ", ".join(f"{arm['letter']} {_fact(one['name'], value)}" for arm, value in values)


def _blocked(one: dict[str, Any]) -> str:
    place = f"{one['place']}: " if one["place"] else ""
    return f"{place}{' '.join(dict.fromkeys((one['message'], one['allowed'])))} [{one['code']}]"
