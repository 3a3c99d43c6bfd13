"""Why passes are paused by themselves, in words."""

from __future__ import annotations

from typing import Final

PAUSES: Final = {
    "grading_creator_unauthorized": "Whoever made the pass may not have it go on. Give them their rights back and "
    "resume, or grade anew.",
    "experiment_archived": "The experiment was archived. Restore it, then resume.",
    "route_inactive": "Operators turned the model route of a judge off. Resume when it is active again.",
}
"""What each code says to a person."""
