"""Codes of refusals about experiments and their work."""

from __future__ import annotations

from typing import Final

from teams.refusals import Code, register

OWN: Final = {
    "experiment_running": Code(409, "Wait until it has ended, or cancel it first."),
    "experiment_not_running": Code(409, "Only a running experiment can be paused, resumed or cancelled."),
    "experiment_too_large": Code(422, "Choose a smaller slice or fewer repetitions; the message names the limit."),
    "experiment_empty": Code(422, "Choose a dataset version or a slice with cases in it."),
    "starter_unauthorized": Code(
        409, "Give whoever started it the rights to run it back, or start a new experiment yourself."
    ),
    "retry_not_possible": Code(409, "Retry executions that failed or are indeterminate, once each."),
    "retry_side_effect_uncertain": Code(
        409, "Its tools may have changed something elsewhere, and would again. Look there, and start a new experiment."
    ),
    "connector_unreachable": Code(
        409, "Ask an operator to give the connector an address, or choose another tool policy."
    ),
    "draft_test_busy": Code(429, "Wait until some of your Agent Tests have ended."),
}
register(OWN)
