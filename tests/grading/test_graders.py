"""Metrics and graders: made once, versioned, never changed, and found by what they say."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from agents import actions as agents
from agents.models import ModelRoute
from analysis.observations import Direction, Kind, Metric
from grading import actions
from grading.models import Grader, GraderVersion, MetricDefinition, ValidatorHost
from teams.models import AuditEvent
from teams.refusals import Refusal
from tests.shape.world import model_route

pytestmark = pytest.mark.django_db
CONTAINS = {"checks": [{"operator": "contains"}]}
EQUALS = {"checks": [{"operator": "equals"}]}
JUDGE = {"route": "fixture-large", "prompt": "{{answer}}"}
VALIDATOR = {"url": "https://checks.example.org/x", "sends": ["answer"], "value": "/value"}


def refused(attempt) -> tuple[str, str]:
    with pytest.raises(Refusal) as found, transaction.atomic():
        attempt()
    return found.value.code, found.value.place


@pytest.fixture
def version(access, correct) -> GraderVersion:
    return actions.create_grader(access=access, metric=correct, kind="assertion", name="Says it", config=CONTAINS)


# metrics


def metric(access, **more: Any):
    said = {"key": "tone", "name": "Tone", "kind": "numeric", "direction": "higher_is_better", **more}
    return actions.create_metric(access=access, **said)


def test_a_metric_is_one_per_key_and_meaning(access):
    made = metric(access, low=1, high=5, unit="points")
    assert (made.low, made.high, made.scale.kind) == (1.0, 5.0, Kind.NUMERIC)
    assert refused(lambda: metric(access, low=1, high=5, unit="points", name="Other")) == ("metric_exists", "key")
    assert metric(access, low=0, high=5).pk != made.pk
    words = metric(access, kind="categorical", direction="unordered", categories=["a", "b"])
    assert words.scale.categories == ("a", "b")
    ordered = metric(access, kind="categorical", categories=["a", "b"], ordered=True)
    assert ordered.pk != words.pk
    assert AuditEvent.objects.filter(action="metric.created").count() == 4


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"key": "Tone"}, "key"),
        ({"name": "\u202e"}, "name"),
        ({"kind": "choir"}, "kind"),
        ({"direction": "up"}, "direction"),
        ({"low": 5, "high": 1}, "high"),
        ({"low": 1e300}, "low"),
        ({"kind": "boolean", "high": 5}, "low"),
        ({"kind": "boolean", "unit": "ms"}, "unit"),
        ({"categories": ["a", "b"]}, "categories"),
        ({"kind": "categorical", "direction": "unordered"}, "categories"),
        ({"kind": "categorical", "direction": "unordered", "categories": ["a", "A"]}, "categories[1]"),
        ({"kind": "categorical", "categories": ["a", "b"]}, "direction"),
        ({"kind": "categorical", "direction": "unordered", "categories": ["a", "b"], "low": 1}, "low"),
    ],
)
def test_a_metric_without_meaning_is_refused_with_its_place(access, more, place):
    assert refused(lambda: metric(access, **more)) == ("invalid_field", place)


def test_an_import_finds_the_metric_that_a_person_made(access, correct):
    same = Metric("correct", "correct", Kind.BOOLEAN, Direction.HIGHER_IS_BETTER, 0.0, 1.0)
    assert actions.definition_of(access=access, metric=same) == correct
    metric(access, key="topic", kind="categorical", direction="unordered", categories=["a", "b"])
    open_ended = Metric("topic", "topic", Kind.CATEGORICAL, Direction.UNORDERED)
    found = actions.definition_of(access=access, metric=open_ended)
    assert found.categories == [] and actions.definition_of(access=access, metric=open_ended) == found


# graders


def test_another_version_is_made_of_other_words_alone(access, version):
    grader = version.grader
    again = {"checks": [{"operator": "contains", "source": "case", "pointer": "/expected", "negate": False}]}
    same = actions.add_grader_version(access=access, grader=grader, config=again, revision=1)
    assert same == version
    second = actions.add_grader_version(access=access, grader=grader, config=EQUALS, revision=1)
    assert (second.number, second.made_by, second.evidence) == (2, access.user, ["generation"])
    back = actions.add_grader_version(access=access, grader=grader, config=CONTAINS, revision=2)
    assert back == version and GraderVersion.objects.count() == 2
    grader.refresh_from_db()
    assert grader.revision == 2
    late = refused(lambda: actions.add_grader_version(access=access, grader=grader, config=EQUALS, revision=1))
    assert late[0] == "revision_stale"
    assert AuditEvent.objects.filter(action="grader.version_made").count() == 1


def test_what_a_version_says_is_its_identity(access, correct, cast):
    first = actions.create_grader(access=access, metric=correct, kind="assertion", name="One", config=CONTAINS)
    second = actions.create_grader(access=access, metric=correct, kind="assertion", name="Two", config=CONTAINS)
    other = actions.create_metric(
        access=access, key="other", name="Other", kind="boolean", direction="higher_is_better"
    )
    third = actions.create_grader(access=access, metric=other, kind="assertion", name="One", config=CONTAINS)
    assert first.sha256 == second.sha256 != third.sha256
    theirs = cast.access(cast.cleo, cast.other_team)
    assert refused(
        lambda: actions.create_grader(access=theirs, metric=correct, kind="assertion", name="X", config=CONTAINS)
    ) == ("not_found", "")


def test_a_name_stands_once_and_an_import_has_names_of_its_own(access, correct, version):
    again = refused(
        lambda: actions.create_grader(access=access, metric=correct, kind="assertion", name="SAYS IT", config=EQUALS)
    )
    assert again == ("name_taken", "name")
    imported = actions.grader_version(definition=correct, name="Says it", identity="0" * 64, config={})
    assert imported.grader != version.grader and imported.grader.kind == "imported"
    assert (imported.evidence, imported.made_by) == ([], None)
    for attempt in (
        lambda: actions.rename_grader(access=access, grader=imported.grader, name="X", revision=1),
        lambda: actions.add_grader_version(access=access, grader=imported.grader, config=EQUALS, revision=1),
    ):
        assert refused(attempt)[0] == "grader_imported"
    renamed = actions.rename_grader(access=access, grader=version.grader, name="Says so", revision=1)
    assert (renamed.name, renamed.revision) == ("Says so", 2)


def test_an_archived_grader_takes_no_version_until_it_is_restored(access, version):
    actions.archive_grader(access=access, grader=version.grader)
    adding = refused(
        lambda: actions.add_grader_version(access=access, grader=version.grader, config=EQUALS, revision=2)
    )
    assert adding[0] == "grader_archived"
    kept = actions.restore_grader(access=access, grader=version.grader)
    assert kept.archived_at is None
    actions.add_grader_version(access=access, grader=kept, config=EQUALS, revision=3)


def test_the_database_holds_what_a_grader_is_whatever_is_tried(access, version, correct):
    grader = Grader.objects.filter(pk=version.grader_id)
    other = metric(access)
    for change in (
        lambda: grader.update(kind="judge"),
        lambda: grader.update(definition=other),
        lambda: grader.delete(),
        lambda: GraderVersion._base_manager.update(number=5),
        lambda: GraderVersion.objects.create(grader=version.grader, number=3, sha256="1" * 64, evidence=["hearsay"]),
        lambda: GraderVersion.objects.create(grader=version.grader, number=3, sha256="1" * 64, made_by=access.user),
        lambda: GraderVersion.objects.create(
            grader=version.grader, number=3, sha256="1" * 64, evidence=["generation"], fee_micros=5
        ),
        lambda: GraderVersion.objects.create(
            grader=version.grader,
            number=3,
            sha256="1" * 64,
            evidence=["generation"],
            fee_micros=-1,
            fee_currency="USD",
        ),
        lambda: MetricDefinition.objects.create(
            team=access.team, key="x", name="x", kind="numeric", direction="unordered", categories=["a"]
        ),
        lambda: MetricDefinition.objects.create(
            team=access.team, key="x", name="x", kind="categorical", direction="unordered", ordered=True
        ),
    ):
        with pytest.raises((DatabaseError, IntegrityError)), transaction.atomic():
            change()
    assert grader.update(name="Other") == 1


def test_a_judge_pins_what_its_route_means_now(access, correct):
    first = model_route().active
    judge = actions.create_grader(access=access, metric=correct, kind="judge", name="Judge", config=JUDGE)
    assert judge.route_revision == first
    route = ModelRoute.objects.get()

    def changed(**fields: Any) -> None:
        said = agents.RouteFields(provider=first.provider, auth_mode="none", **fields)
        agents.activate_route(revision=agents.add_route_revision(route=route, fields=said, by=None), by=None)

    def again() -> GraderVersion:
        grader = Grader.objects.get()
        return actions.add_grader_version(access=access, grader=grader, config=JUDGE, revision=grader.revision)

    changed(model_id="fixture:support", input_micros=5)
    assert again() == judge, "other prices change no judgment"
    changed(model_id="fixture:other")
    second = again()
    assert (second.number, second.route_revision.model_id) == (2, "fixture:other")
    judge.refresh_from_db()
    assert judge.route_revision == first
    agents.deactivate_route(route=route, by=None)
    assert refused(again) == ("route_inactive", "config.route")
    missing = {**JUDGE, "route": "no-such-route"}
    assert refused(
        lambda: actions.create_grader(access=access, metric=correct, kind="judge", name="J", config=missing)
    ) == ("invalid_field", "config.route")


def test_only_judges_accept_what_a_validator_found_and_say_so(access, correct):
    model_route()

    def making(kind: str, config: Any, **more: Any):
        return lambda: actions.create_grader(access=access, metric=correct, kind=kind, name="X", config=config, **more)

    shows = {**JUDGE, "prompt": "{{enrichment}}"}
    assert refused(making("judge", shows)) == ("invalid_field", "evidence")
    assert refused(making("assertion", CONTAINS, evidence=["enrichment"])) == ("invalid_field", "evidence")
    assert refused(making("judge", JUDGE, evidence=[])) == ("invalid_field", "evidence")
    assert refused(making("judge", JUDGE, evidence=["enrichment", {}])) == ("invalid_field", "evidence")
    both = making("judge", shows, evidence=["enrichment", "generation", "enrichment"])()
    assert both.evidence == ["generation", "enrichment"]
    assert refused(making("imported", {}))[1] == "kind"


def test_a_validators_fee_is_known_zero_or_unknown(access, correct):
    actions.list_host(host="checks.example.org", note="", by=None)

    def making(name: str, **fee: Any) -> GraderVersion:
        return actions.create_grader(
            access=access, metric=correct, kind="validator", name=name, config=VALIDATOR, **fee
        )

    unknown, free = making("Unknown"), making("Free", fee_micros=0, fee_currency="USD")
    assert (unknown.fee_micros, unknown.fee_currency, free.fee_micros) == (None, "", 0)
    assert unknown.sha256 != free.sha256
    for fee, place in (
        ({"fee_micros": -1, "fee_currency": "USD"}, "fee_micros"),
        ({"fee_micros": 1}, "fee_currency"),
        ({"fee_currency": "USD"}, "fee_currency"),
        ({"fee_micros": True, "fee_currency": "USD"}, "fee_micros"),
    ):
        assert refused(lambda fee=fee: making("X", **fee)) == ("invalid_field", place)
    model_route()
    priced = {"fee_micros": 1, "fee_currency": "USD"}
    assert refused(
        lambda: actions.create_grader(access=access, metric=correct, kind="judge", name="J", config=JUDGE, **priced)
    ) == ("invalid_field", "fee_micros")


def test_a_grader_measures_what_its_kind_can(access):
    number = metric(access)
    words = actions.definition_of(access=access, metric=Metric("topic", "topic", Kind.CATEGORICAL, Direction.UNORDERED))
    model_route()
    for measured, kind, config in ((number, "assertion", CONTAINS), (words, "judge", JUDGE)):
        assert refused(
            lambda one=measured, kind=kind, config=config: actions.create_grader(
                access=access, metric=one, kind=kind, name="X", config=config
            )
        ) == ("invalid_field", "metric")


def test_writing_needs_both_rights(cast, correct, version):
    for who in (cast.ben, cast.omar):
        for attempt in (
            lambda access: actions.create_grader(
                access=access, metric=correct, kind="assertion", name="X", config=CONTAINS
            ),
            lambda access: actions.archive_grader(access=access, grader=version.grader),
            lambda access: metric(access),
        ):
            assert refused(lambda attempt=attempt, who=who: attempt(cast.access(who)))[0] == "missing_right"


# operators


def test_operators_list_hosts_and_look_at_graders_without_what_they_say(cast, client, access, correct, version):
    client.force_login(cast.operator)
    add = "/operators/grading/validatorhost/add/"
    for odd in ("10.0.0.1", "checks.internal", "https://a.example.org", "a.example.org:99", "münchen.de"):
        assert client.post(add, {"host": odd, "note": ""}).status_code == 200
    assert not ValidatorHost.objects.exists()
    assert client.post(add, {"host": "Checks.example.org", "note": "ours"}).status_code == 302
    row = ValidatorHost.objects.get(host="checks.example.org")
    making = lambda name: actions.create_grader(  # noqa: E731
        access=access, metric=correct, kind="validator", name=name, config=VALIDATOR
    )
    making("First")
    client.post("/operators/grading/validatorhost/", {"action": "archive", "_selected_action": str(row.pk)})
    assert refused(lambda: making("Second")) == ("invalid_field", "config.url")
    client.post(f"/operators/grading/validatorhost/{row.pk}/change/", {"note": "later"})
    row.refresh_from_db()
    assert (row.note, row.archived_at is None) == ("later", False)
    client.post("/operators/grading/validatorhost/", {"action": "restore", "_selected_action": str(row.pk)})
    making("Second")
    actions_of = AuditEvent.objects.filter(object_type="validatorhost").values_list("action", flat=True)
    assert set(actions_of) == {"validator_host.listed", "validator_host.archived", "validator_host.noted"}
    for page in ("grader/", f"grader/{version.grader_id}/change/", f"graderversion/{version.pk}/change/"):
        shown = client.get(f"/operators/grading/{page}")
        assert shown.status_code == 200 and "/expected" not in shown.content.decode()
