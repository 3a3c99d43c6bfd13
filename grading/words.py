"""What a grader's configuration says, as named texts for reading and for telling versions apart. No I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from grading import assertions

SAYS: Final = {"route": "Model route", "prompt": "Prompt", "rubric": "Rubric"}
ASKS: Final = {
    "url": "Address",
    "sends": "Sends",
    "value": "Value at",
    "abstain": "Abstains at",
    "reason": "Reason at",
    "enrichment": "Findings at",
}


@dataclass(frozen=True, slots=True)
class Said:
    """One part of a configuration. `long` ones are texts of their own."""

    name: str
    text: str
    long: bool = False


def parts_of(kind: str, config: Any) -> list[Said]:
    """The parts of a configuration in order; one that nothing is said in is left out."""
    if not isinstance(config, Mapping):
        return []
    if kind == "assertion":
        found = [Said("Match", assertions.MATCHES[config["match"]].capitalize())]
        return found + [Said(f"Check {at}", _check(one)) for at, one in enumerate(config["checks"], start=1)]
    if kind == "judge":
        return [Said(label, config[name], name != "route") for name, label in SAYS.items() if config[name]]
    if kind == "validator":
        return [Said(label, _asked(config[name])) for name, label in ASKS.items() if config[name] is not None]
    return [Said("Configuration", pretty(config), True)]


def _asked(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else value or WHOLE


def _check(check: Mapping[str, Any]) -> str:
    """A check in one sentence, then what it compares with and how."""
    said = assertions.sentence(check)
    lines = [said[0].upper() + said[1:] + "."]
    if "value" in check:
        lines.append(check["value"] if isinstance(check["value"], str) else pretty(check["value"]))
    if check.get("ignore_case"):
        lines.append("Upper and lower case are the same.")
    if check.get("space", "keep") != "keep":
        lines.append(f"White space {assertions.SPACES[check['space']]}.")
    if "tolerance" in check:
        scale = assertions.SCALES[check["scale"]]
        lines.append(f"Tolerance {check['tolerance']}, {scale}." if check["tolerance"] else "No tolerance.")
    return "\n".join(lines)


def pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


WHOLE: Final = "#"
"""How a person writes the pointer to a whole value, which is empty in JSON."""
