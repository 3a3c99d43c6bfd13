"""Trust states along any sequence of operations: what was stated, or less."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.comparability.manifest import LADDER, Artifact, Binding, RecordEvidence, Trust, describe
from tests.analysis.comparability.test_adjudicate import run

STATES = st.sampled_from(list(Trust))
EVIDENCE = st.builds(lambda trust: RecordEvidence(0, "rec:t/m/h", trust, "somebody"), STATES)
CONTENT = st.none() | st.binary(max_size=4)
OPERATIONS = st.one_of(
    st.tuples(st.just("trace"), st.sampled_from([None, True, False])),
    st.tuples(st.just("artifact"), st.tuples(CONTENT, st.booleans())),
    st.tuples(st.just("merge"), EVIDENCE),
    st.tuples(st.just("cut off"), st.none()),
)


def apply(evidence: RecordEvidence, operation: tuple) -> RecordEvidence:
    kind, value = operation
    if kind == "trace":
        return evidence.with_trace(value)
    if kind == "merge":
        return evidence.merged(value)
    if kind == "cut off":
        return evidence.cut_off()
    content, right = value
    stated = Artifact.of("trace", "x", content).sha256 if right else "0" * 64
    return evidence.with_artifact(Artifact.of("trace", "x", content, stated))


@settings(max_examples=1_000, deadline=None)
@given(EVIDENCE, st.lists(OPERATIONS, max_size=8))
def test_a_state_never_rises(evidence, operations):
    for operation in operations:
        after = apply(evidence, operation)
        assert LADDER.index(after.trust_state) <= LADDER.index(evidence.trust_state)
        assert not (evidence.trace == "missing" and after.trace != "missing")
        evidence = after


@given(EVIDENCE, EVIDENCE)
def test_merging_keeps_the_lower_state_whichever_comes_first(one, other):
    merged = one.merged(other)
    assert merged.trust_state == other.merged(one).trust_state
    assert merged.trust_state in (one.trust_state, other.trust_state)


def test_a_digest_says_what_was_found():
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert Artifact.of("trace", "x", b"x", digest.upper()).binding is Binding.VERIFIED
    assert Artifact.of("trace", "x", b"x", "0" * 64).binding is Binding.MISMATCH
    assert Artifact.of("trace", "x", b"x").binding is Binding.RECORDED
    assert Artifact.of("trace", "x", None, digest).binding is Binding.UNREADABLE


def test_a_record_says_nothing_for_itself():
    case = {"id": "c", "records": [run(trust_state="independently_verified"), run(trajectory_available=True)]}
    assert [(entry.trust_state, entry.trace) for entry in describe(case, {})] == [
        (Trust.UNDECLARED, "not_stated"),
        (Trust.UNDECLARED, "available"),
    ]
