"""Tool validators: what is sent to a program over HTTPS about an answer, and what its reply says. No I/O.

A configuration is one JSON object:

    {"url": "https://checks.example.org/score", "sends": ["input", "answer"],
     "value": "/score", "abstain": "/abstain", "reason": "/reason", "enrichment": "/details"}

The last four are JSON pointers into the reply; all but `value` may be null.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlsplit

from agents.outbound import checked_url
from analysis import strict_json
from analysis.observations import Kind
from analysis.refusals import Refused
from grading import pointers
from grading.judging import (
    ABSENT,
    Evidence,
    Judged,
    Scale,
    abstained,
    grader_error,
    on_scale,
    reason_of,
    structured_of,
)
from teams.given import json_object
from teams.refusals import Refusal

SENDS: Final = {
    "input": "what the case asks",
    "expected": "what the case expects",
    "checklist": "the case's checklist",
    "answer": "the answer's text",
    "structured": "the answer as JSON",
}
READS: Final = ("abstain", "reason", "enrichment")
LARGEST_ENRICHMENT: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """A POST of one JSON object."""

    url: str
    body: Mapping[str, Any]


def checked(config: Any, *, hosts: Collection[str], loopback: bool) -> dict[str, Any]:
    """The configuration with every field in its place, or a refusal that names the place of the fault.

    `hosts` are those that validators may reach; `loopback` also allows this machine, if it is one of them.
    """
    json_object(config, "config", 64 * 1024)
    unknown = sorted(set(config) - {"url", "sends", "value", *READS})
    if unknown:
        message = f"The fields are url, sends, value, {', '.join(READS)}."
        raise Refusal("unknown_field", message, place=f"config.{unknown[0]}"[:200])
    url = config.get("url")
    if not isinstance(url, str) or not url:
        raise Refusal("invalid_field", "The address that is called.", place="config.url")
    url = checked_url(url, place="config.url", loopback=loopback, as_written=True)
    if host_of(url) not in hosts:
        raise Refusal("invalid_field", "Validators may not reach this host; operators list those.", place="config.url")
    sends = config.get("sends")
    if not isinstance(sends, list) or not sends or not all(isinstance(one, str) and one in SENDS for one in sends):
        raise Refusal("invalid_field", f"At least one of {', '.join(SENDS)}.", place="config.sends")
    found: dict[str, Any] = {"url": url, "sends": [name for name in SENDS if name in sends]}
    found["value"] = pointers.checked(config.get("value"), "config.value")
    for name in READS:
        given = config.get(name)
        found[name] = None if given is None else pointers.checked(given, f"config.{name}")
    return found


def host_of(url: str) -> str:
    """The name of an address's host, as the list of hosts spells it."""
    return (urlsplit(url).hostname or "").rstrip(".").lower()


def lacking(config: Mapping[str, Any], evidence: Evidence) -> Judged | None:
    """Why the validator cannot be asked about this execution, or None where it can."""
    if {"answer", "structured"} & set(config["sends"]) and evidence.answer is None and evidence.structured is None:
        return grader_error("The answer cannot be read.")
    return None


def request_of(config: Mapping[str, Any], evidence: Evidence) -> Request:
    """What is sent: the fields that the configuration names, null where there is nothing."""
    structured = structured_of(evidence)
    body = evidence.body
    values = {
        "input": body["turns"] if "turns" in body else body.get("input"),
        "expected": body.get("expected"),
        "checklist": body.get("checklist"),
        "answer": evidence.answer,
        "structured": None if structured is ABSENT else structured,
    }
    return Request(config["url"], {name: values[name] for name in config["sends"]})


def read(config: Mapping[str, Any], scale: Scale, reply: Any) -> Judged:
    """What a reply says. One that does not have the form is an error of the grader, and no number."""
    if isinstance(reply, str | bytes):
        try:
            reply = strict_json.loads(reply)
        except Refused:
            return grader_error("The reply is no JSON.")
    reason = reason_of(_at(reply, config["reason"]))
    found = _at(reply, config["enrichment"])
    if found is not None and len(strict_json.canonical(found)) > LARGEST_ENRICHMENT:
        return grader_error("What the validator found is too large to be kept.")
    return replace(_judged(config, scale, reply, reason), enrichment=found)


def _judged(config: Mapping[str, Any], scale: Scale, reply: Any, reason: str) -> Judged:
    abstains = _at(reply, config["abstain"])
    if abstains is not None and not isinstance(abstains, bool):
        return grader_error("The reply does not say whether the validator abstains.")
    if abstains:
        return abstained(reason)
    value = _at(reply, config["value"])
    if scale.kind is Kind.BOOLEAN and not isinstance(value, bool) and value in (0, 1):
        value = bool(value)
    return on_scale(scale, value, reason)


def _at(reply: Any, pointer: str | None) -> Any:
    """What stands at a place of the reply; None where nothing does."""
    found = ABSENT if pointer is None else pointers.pointed(reply, pointer)
    return None if found is ABSENT else found
