"""The demo: its files come out of the generator, its comparison shows what was planted, it loads once."""

from __future__ import annotations

import re

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from agents.models import Agent, AgentDeployment, Configuration, ModelRoute, Release, Snapshot, Subject
from agents.queries import unlaunchable
from analysis import paired
from analysis.observations import CostCoverage
from analysis.results import plain
from comparisons.lenses import paired as paired_lens
from comparisons.queries import newest_comparison
from comparisons.selection import Asked, offer
from config import demo
from config.demo_agents import load_agents
from config.demo_data import make
from config.management.commands import load_demo
from datasets.models import Dataset
from intake.models import Import
from intake.readers import Collected, Limits, NamedFile, collect, recognise
from intake.readers import mapping as mappings
from runs.models import Experiment
from teams.access import current_access
from teams.bulk import lock_number
from teams.models import AuditEvent, Membership, Team, User

REGRESSED = ["QD-106", "QD-108", "QD-115", "QD-116", "QD-121", "QD-130", "QD-144", "QD-154"]


@pytest.fixture(scope="module")
def cases():
    return make.read("cases.json")


@pytest.fixture(scope="module")
def arms() -> dict[str, Collected]:
    """Every file read as the command line reads it, by its name."""
    mapping = mappings.loads((demo.DATA / "mapping.json").read_bytes())
    read = {}
    for name in demo.FILES:
        (run,) = recognise([NamedFile(name, demo.DATA / name)], mapping=mapping, limits=Limits()).runs()
        read[name] = collect(run, accept_rejected=True)
    return read


def compared(arms, candidate: str, key: str = "resolved"):
    return paired.compare(arms[candidate].side(key), arms["helpdesk-1.3.jsonl"].side(key))


# --- the files


def test_the_generator_writes_the_files_that_are_kept():
    built = make.build()
    assert sorted(built) == sorted(demo.FILES) == sorted(path.name for path in demo.DATA.glob("*.jsonl"))
    for name, text in built.items():
        assert (demo.DATA / name).read_text(encoding="utf-8") == text
    assert sum(len(text.encode()) for text in built.values()) < 600_000


def test_the_cases_are_distinct_and_bilingual(cases):
    assert len(cases) == 64
    for name in ("id", "title", "message", "expected"):
        assert len({case[name] for case in cases}) == 64
    assert [case["language"] for case in cases].count("ar") == 32
    for case in cases:
        arabic = bool(re.search("[\u0600-\u06ff]", case["message"]))
        assert arabic == (case["language"] == "ar"), case["id"]


def test_every_answer_is_used_and_every_failure_says_what_it_misses(cases):
    for case in cases:
        given = {word.lstrip("?!~") for runs in case["runs"].values() for word in runs.split()}
        assert given - {"-", *make.ENDINGS} <= set(case["answers"]), case["id"]
        for name, answer in case["answers"].items():
            assert name.startswith("miss") <= isinstance(answer, dict), (case["id"], name)
            if isinstance(answer, dict):
                assert answer["text"] and answer["why"]
        texts = [answer["text"] if isinstance(answer, dict) else answer for answer in case["answers"].values()]
        assert len(set(texts)) == len(texts), case["id"]


def test_no_text_holds_control_characters(cases):
    assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069]", str(cases))


def test_a_judged_answer_carries_its_reasoning():
    rows = [make.strict_json.loads(line) for text in make.build().values() for line in text.splitlines()]
    judged = [row for row in rows if row.get("resolved") is not None]
    assert judged
    assert all(row["resolved_why"] and row["answer"] for row in judged)
    assert all("answer" not in row for row in rows if row["status"] != "completed")


# --- what the comparisons show


def test_the_candidate_is_better_and_resolved_by_both_methods(arms):
    result = compared(arms, "helpdesk-2.0.jsonl").result
    assert result.finding.kind == "better"
    assert result.quality.cases == 58
    assert result.quality.delta == pytest.approx(0.1178, abs=5e-5)
    lead = result.intervals[0]
    assert lead.method == "effective_score"
    assert (lead.low, lead.high) == pytest.approx((0.0199, 0.2178), abs=5e-5)
    assert result.interval95 is not None
    assert 0 < result.interval95[0] < result.interval95[1]
    assert (result.quality.better, result.quality.worse, result.quality.same) == (22, 8, 28)


def test_the_regressions_are_the_planted_ones(arms):
    comparison = compared(arms, "helpdesk-2.0.jsonl")
    side = arms["helpdesk-2.0.jsonl"]
    sources = side.side("resolved").arm.source
    worse = comparison.cases.candidate_case[comparison.cases.change == 2]
    assert sorted(side.source_ids[bytes(sources[case])] for case in worse) == REGRESSED


def test_the_small_model_is_not_told_apart(arms):
    result = compared(arms, "helpdesk-2.0-small.jsonl").result
    assert result.finding.kind == "not_resolved"
    assert result.intervals[0].low < 0 < result.intervals[0].high
    assert result.candidate.spend.known_micros * 5 < result.baseline.spend.known_micros
    assert result.latency.candidate_ms * 2 < result.latency.baseline_ms


def test_rows_are_unmatched_for_every_reason(arms):
    unmatched = {
        (count.side, count.reason): count.rows for count in compared(arms, "helpdesk-2.0.jsonl").result.unmatched
    }
    assert unmatched == {
        ("candidate", "missing"): 6,
        ("candidate", "revised"): 3,
        ("candidate", "repetition_count"): 2,
        ("candidate", "generation"): 5,
        ("candidate", "abstained"): 1,
        ("candidate", "grader_error"): 1,
        ("baseline", "missing"): 6,
        ("baseline", "revised"): 3,
        ("baseline", "repetition_count"): 1,
        ("baseline", "generation"): 3,
        ("baseline", "not_judged"): 1,
        ("baseline", "abstained"): 1,
        ("baseline", "duplicate"): 1,
    }


def test_generations_fail_in_several_ways(arms):
    result = compared(arms, "helpdesk-2.0.jsonl").result
    assert dict(result.candidate.generation.failures) == {"provider_error": 1, "timed_out": 3, "catastrophic": 1}
    assert dict(result.baseline.generation.failures) == {"provider_error": 1, "timed_out": 2}


def test_the_baselines_cost_is_partly_unknown(arms):
    result = compared(arms, "helpdesk-2.0.jsonl").result
    assert result.baseline.spend.coverage is CostCoverage.PARTIAL
    assert (result.baseline.spend.priced, result.baseline.spend.facts) == (152, 726)
    assert (result.candidate.spend.priced, result.candidate.spend.facts) == (185, 725)


def test_the_other_metrics_differ_too(arms):
    assert compared(arms, "helpdesk-2.0.jsonl", "tone").result.finding.kind == "better"
    topic = compared(arms, "helpdesk-2.0.jsonl", "topic").result
    assert topic.finding.kind == "distribution"
    assert topic.filters.changed_labels == 9


def test_what_else_changed_is_the_model_and_the_prompt(arms):
    result = compared(arms, "helpdesk-2.0.jsonl").result
    changed = [difference.name for difference in result.differences if difference.state == "different"]
    assert changed == ["Subject", "model", "prompt"]


# --- loading it


@pytest.fixture
def loaded(db) -> Team:
    call_command(load_demo.Command())
    return Team.objects.get(slug="support")


def resolved(team: Team, **asked: str):
    """The comparison as a page would show it to Omar."""
    access = current_access(User.objects.get(email="omar@demo.example"), team.slug)
    offered = offer(access, Asked(**asked))
    selection = offered.preselected()
    assert selection is not None
    full = offer(access, Asked.of(selection.plain() | {"target": selection.target}))
    return paired_lens.view(team, full.resolve())


def test_the_newest_comparison_is_the_candidate_against_the_baseline(loaded, arms):
    pair = newest_comparison(loaded)
    assert pair is not None
    shown = resolved(loaded, candidate=str(pair.candidate), baseline=str(pair.baseline)).result
    assert shown.metric.key == "resolved"
    assert shown.candidate.label == "helpdesk-assistant 2.0"
    assert shown.baseline.label == "helpdesk-assistant 1.3"
    of_files = compared(arms, "helpdesk-2.0.jsonl").result
    stored, read = plain(shown), plain(of_files)
    for result in (stored, read):  # the store asks for more facts, which then read Unknown
        del result["differences"], result["candidate"]["facts"], result["baseline"]["facts"]
    assert stored == read
    assert shown.baseline.spend.coverage is CostCoverage.PARTIAL


def test_loading_twice_changes_nothing_and_says_nothing(loaded, capsys):
    def everything():
        return [
            sorted(map(str, model.objects.values_list("pk", flat=True)))
            for model in (User, Team, Membership, Dataset, Experiment, Import, AuditEvent)
        ]

    before = everything()
    call_command(load_demo.Command())
    assert everything() == before
    assert capsys.readouterr() == ("", "")


def test_a_second_loader_waits_for_the_first(loaded):
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [lock_number("load_demo")])
            assert cursor.fetchone() == (False,)
    finally:
        other.close()


def test_people_have_their_roles_and_a_second_team_to_switch_to(loaded):
    rows = Membership.objects.values_list("team__slug", "user__email", "role__name")
    assert set(rows) == {
        ("support", "ana@demo.example", "Owner"),
        ("support", "omar@demo.example", "Analyst"),
        ("support", "rana@demo.example", "Reviewer"),
        ("support", "ben@demo.example", "Viewer"),
        ("returns", "rana@demo.example", "Owner"),
        ("returns", "ana@demo.example", "Analyst"),
    }
    for login in demo.demo_logins():
        assert User.objects.get(email=login.email).check_password(login.password)


def test_names_give_no_content_away(loaded, cases):
    names = [*Dataset.objects.values_list("name", flat=True), *Subject.objects.values_list("label", flat=True)]
    assert sorted(names) == [
        *(f"Help desk #{number}" for number in (1, 2, 3)),
        *(f"Help desk, release 2026-{month}" for month in (10, 11)),
        "Support, English and Arabic",
        "helpdesk-assistant 1.3",
        "helpdesk-assistant 2.0",
        "helpdesk-assistant 2.0 small model",
    ]
    content = [*demo.FILES, *(case[name] for case in cases for name in ("id", "title"))]
    assert not [name for name in names for text in content if text in name]


def test_an_account_that_is_there_keeps_its_password(db):
    User.objects.create_user("ana@demo.example", "another-password")
    call_command(load_demo.Command())
    assert User.objects.get(email="ana@demo.example").check_password("another-password")


def test_outside_embedded_mode_it_needs_to_be_forced(db, settings):
    settings.EMBEDDED = False
    with pytest.raises(CommandError, match="--force"):
        call_command(load_demo.Command())
    assert not User.objects.exists()
    call_command(load_demo.Command(), "--force")
    assert Experiment.objects.count() == 3


def test_a_demo_that_cannot_be_loaded_leaves_nothing(db, monkeypatch):
    monkeypatch.setattr(demo, "DATASET", "x" * 200)
    with pytest.raises(CommandError, match="dataset_name_invalid"):
        call_command(load_demo.Command())
    assert not User.objects.exists()
    assert not Team.objects.exists()


@pytest.mark.django_db
def test_the_demo_has_agents_in_every_state_and_makes_them_once():
    call_command("load_demo")
    first = demo.TEAMS[0].slug
    load_agents(current_access(User.objects.get(email=demo.FOUNDER), first))
    desk, form = Agent.objects.order_by("name")
    assert list(desk.snapshot_set.order_by("number").values_list("number", "changed")) == [
        (1, ""),
        (2, ""),
        (3, "model"),
    ]
    assert AgentDeployment.objects.filter(agent=desk).count() == 2
    assert not Snapshot.objects.filter(agent=form).exists()
    (pair,) = Configuration.objects.filter(team__slug=first)
    (revision,) = pair.configurationrevision_set.all()
    assert unlaunchable(revision, {"main": "support-large"}) == []
    states = Release.objects.order_by("name").values_list("state", flat=True)
    assert list(states) == ["retired", "active", "draft"]
    assert ModelRoute.objects.get(key="local").active is None
    assert ModelRoute.objects.get(key="support-large").active.number == 2
