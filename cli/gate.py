"""The exit code that a pipeline may trust: what was not shown is never a pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from analysis.sentence import figure, points

PASSED: Final = 0
FAILED: Final = 1
BAD_INPUT: Final = 2
INCONCLUSIVE: Final = 3

NOTHING_SHOWN: Final = ("no_pairs", "too_few", "withheld", "distribution")


@dataclass(frozen=True, slots=True)
class Verdict:
    code: int
    text: str


def judge(result: dict[str, Any], *, fail_on_regression: bool, margin: float | None) -> Verdict:
    """The gate's verdict on a plain result. No scored pair is inconclusive even where no gate was asked for."""
    kind = result["finding"]["kind"]
    if result["quality"]["pairs"] == 0:
        return Verdict(INCONCLUSIVE, "Gate: inconclusive. No case is scored on both sides.")
    if not fail_on_regression and margin is None:
        return Verdict(PASSED, "")
    if kind in NOTHING_SHOWN or not _leading(result):
        return Verdict(INCONCLUSIVE, "Gate: inconclusive. The evidence does not carry a result.")
    if fail_on_regression and kind == "worse":
        return Verdict(FAILED, "Gate: failed. The candidate is worse.")
    if margin is not None:
        return _within_margin(result)
    return Verdict(PASSED, "Gate: passed. No regression is shown, which is not the same as none.")


def _leading(result: dict[str, Any]) -> dict[str, Any] | None:
    leading: list[dict[str, Any]] = [interval for interval in result["intervals"] if interval["leads"]]
    return leading[0] if leading else None


def _within_margin(result: dict[str, Any]) -> Verdict:
    """Whether the worse end of the leading interval is less than the margin worse, as the result says."""
    found = result["non_inferiority"]
    if found is None:
        return Verdict(INCONCLUSIVE, "Gate: inconclusive. The margin has no effect on this metric; see the note.")
    if found["passes"] is None:
        return Verdict(INCONCLUSIVE, "Gate: inconclusive. No interval may lead here.")
    allowed = found["margin"]
    shown = f"{points(allowed)} points" if result["metric"]["kind"] == "boolean" else figure(allowed)
    if found["passes"]:
        return Verdict(PASSED, f"Gate: passed. The candidate is less than {shown} worse.")
    return Verdict(FAILED, f"Gate: failed. The candidate may be {shown} worse or more.")
