"""Hosts that tool validators may reach, as operators list them."""

from __future__ import annotations

from agents.actions import hosts
from grading.models import ValidatorHost
from teams.models import User


def list_host(*, host: str, note: str, by: User | None) -> ValidatorHost:
    """Validators may reach the host from now on."""
    return hosts.list_host(ValidatorHost, host=host, note=note, by=by)
