"""May this claim be made? Records of agent runs in, one decision record out. Standard library only.

    from analysis.comparability import adjudicate

    decision = adjudicate({"id": "demo", "records": [...]}, "score_comparison")
    decision.admissibility      # ADMISSIBLE, PARTIAL, INADMISSIBLE or INCONCLUSIVE

The words, the table and the formats are specified in docs/comparability.md.
"""

from __future__ import annotations

from analysis.comparability.core import DecisionRecord, adjudicate, is_current
from analysis.comparability.policy import POLICY_VERSION, Admissibility
from analysis.comparability.records import InvalidCase, Problem

__all__ = ["POLICY_VERSION", "Admissibility", "DecisionRecord", "InvalidCase", "Problem", "adjudicate", "is_current"]
