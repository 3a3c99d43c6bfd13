"""How a subject is asked: one outside call at a time, through the protocol of its provider."""

from __future__ import annotations

import importlib
from typing import Final, cast

from runs.executors.contract import Executor

MODULES: Final = {
    "fixture": "runs.executors.fixture",
    "openai": "runs.executors.providers",
    "anthropic": "runs.executors.providers",
    "google": "runs.executors.providers",
    "post": "runs.executors.posting",
    "tool": "runs.executors.tools",
}
"""By the kind of a provider. Loaded when first needed: libraries of providers are large, and the web needs none."""


def executor_for(kind: str) -> Executor:
    return cast(Executor, importlib.import_module(MODULES[kind]).EXECUTOR)
