"""Templates: versions that never change, saved by who has seen the last one, restored as they are."""

from __future__ import annotations

import dataclasses
import json
import threading

import pytest
from django.db import connections

from comparisons.groups import intent as intents
from comparisons.groups import setups, starting, templates
from comparisons.groups.forms import fields_of
from comparisons.groups.readiness import check
from comparisons.models import Group, Setup, Template, TemplateBody, TemplateVersion
from grading import actions as grading
from grading.models import Grader
from teams.models import Receipt
from teams.records import new_id
from teams.refusals import Refusal
from tests.comparisons.groups.test_groups import post, refused, rows, started
from tests.comparisons.groups.test_setups import begun, plan, start, subject

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/t/support/comparisons/templates/"


def take_away(version: TemplateVersion) -> None:
    TemplateBody.objects.filter(version=version).update(availability="deleted", body=None)


@pytest.fixture
def saved(access, given) -> TemplateVersion:
    return templates.create(access=access, name="Weekly", intent=intents.read(given))


def test_R12_fifty_rounds_of_two_savers_make_one_version_each(cast, given, saved, api_client):
    """Both saw the same revision: one is saved, the other refused, and the numbers have no gap."""
    programs, codes = [api_client(cast.ana, cast.team), api_client(cast.ana, cast.team)], []

    def go(number: int, expected: int, barrier: threading.Barrier) -> None:
        try:
            body = {"intent": given | {"name": f"By {number}"}, "expected_revision": expected}
            barrier.wait()
            answer = post(
                programs[number], f"templates/{saved.template_id}/versions", body, f"saved-by-{number}-from-{expected}"
            )
            codes.append(answer.status_code if answer.status_code == 201 else answer.json()["error"]["code"])
        finally:
            connections.close_all()

    for expected in range(1, 51):
        barrier = threading.Barrier(2)
        threads = [threading.Thread(target=go, args=(number, expected, barrier)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (codes.count(201), codes.count("template_revision_conflict")) == (50, 50)
    numbers = sorted(TemplateVersion.objects.values_list("number", flat=True))
    assert numbers == list(range(1, 52)) and Template.objects.get().head == 51


def test_R13_a_save_whose_answer_was_lost_is_found_again(cast, given, saved, page_client):
    """The save commits and nobody reads the answer: sent again, refreshed, and sent once more it is one version."""
    ana = page_client(cast.ana)
    here = begun(ana, given)
    ana.post(f"{here}subject", subject(given, go="restore", template=str(saved.template_id)))
    mine = plan(given, repetitions="4") | {"go": "save_version"}
    for body in (mine, mine, mine | {"go": "refresh"}, mine):
        assert ana.post(f"{here}grading", body).status_code == 302
    row = Setup.objects.get()
    assert (TemplateVersion.objects.count(), row.template_version.number, row.head, row.saving) == (2, 2, 2, None)


def test_R13_a_save_that_broke_off_goes_out_again_as_it_was(cast, access, given, saved, page_client, monkeypatch):
    """Nobody knows whether it was saved: key and expected revision stay with the fields, refreshed or not."""
    ana = page_client(cast.ana)
    ana.raise_request_exception = False
    here = begun(ana, given)
    ana.post(f"{here}subject", subject(given, go="restore", template=str(saved.template_id)))
    mine = plan(given, repetitions="4") | {"go": "save_version"}
    real = templates.add_version

    def breaks(**given_):
        real(**given_)
        raise ConnectionError("the database went away before the commit")

    monkeypatch.setattr(templates, "add_version", breaks)
    assert ana.post(f"{here}grading", mine).status_code == 500
    first = Setup.objects.get()
    assert (TemplateVersion.objects.count(), first.saving["expected"], first.fields["repetitions"]) == (1, 1, ["4"])
    ana.post(f"{here}grading", mine | {"go": "refresh"})
    monkeypatch.setattr(templates, "add_version", real)
    assert ana.post(f"{here}grading", mine).status_code == 302
    kept = Receipt.objects.get(operation="template.save")
    assert (kept.key, TemplateVersion.objects.count()) == (first.saving["key"], 2)
    assert Setup.objects.get().saving is None


def test_R13_over_the_api_a_key_finds_its_version(cast, given, saved, api_client):
    program = api_client(cast.ana, cast.team)
    body = {"intent": given | {"repetitions": 1}, "expected_revision": 1}
    made = post(program, f"templates/{saved.template_id}/versions", body, "save-once")
    again = post(program, f"templates/{saved.template_id}/versions", body, "save-once")
    assert (made.status_code, again.status_code) == (201, 200)
    assert made.json()["number"] == again.json()["number"] == 2
    other = post(program, f"templates/{saved.template_id}/versions", body | {"expected_revision": 2}, "save-once")
    assert other.json()["error"]["code"] == "request_key_conflict"


def test_R14_an_older_version_is_no_older_revision(cast, access, given, saved, page_client):
    """Version 1 is restored while 2 is the current revision: the next save makes 3."""
    templates.add_version(
        access=access, template=saved.template, intent=intents.read(given | {"repetitions": 1}), expected_revision=1
    )
    ana = page_client(cast.ana)
    here = begun(ana, given, name="Mine")
    template = str(saved.template_id)
    ana.post(f"{here}subject", subject(given, go="restore", template=template))
    assert Setup.objects.get().fields["repetitions"] == ["1"]
    ana.post(f"{here}subject", subject(given, go="restore", template=template, template_version=str(saved.pk)))
    row = Setup.objects.get()
    assert (row.template_version, row.head, row.fields["repetitions"]) == (saved, 2, ["2"])
    ana.post(f"{here}grading", plan(given, repetitions="3") | {"go": "save_version"})
    assert Setup.objects.get().template_version.number == 3


def test_R14_refresh_keeps_what_was_not_saved_and_lets_the_next_save_through(cast, access, given, saved, page_client):
    ana = page_client(cast.ana)
    here = begun(ana, given)
    ana.post(f"{here}subject", subject(given, go="restore", template=str(saved.template_id)))
    templates.add_version(
        access=access, template=saved.template, intent=intents.read(given | {"repetitions": 5}), expected_revision=1
    )
    mine = plan(given, repetitions="4")
    stale = ana.post(f"{here}grading", mine | {"go": "save_version"})
    assert stale.status_code == 409 and "template_revision_conflict" in stale.content.decode()
    assert "went on to revision 2" in stale.content.decode()
    ana.post(f"{here}grading", mine | {"go": "refresh"})
    row = Setup.objects.get()
    assert (row.fields["repetitions"], row.head) == (["4"], 2)
    ana.post(f"{here}grading", mine | {"go": "save_version"})
    assert Setup.objects.get().template_version.number == 3
    assert templates.body_of(Setup.objects.get().template_version)["repetitions"] == 4


def test_a_restore_can_be_undone(cast, given, saved, page_client):
    ana = page_client(cast.ana)
    here = begun(ana, given, name="Mine")
    before = Setup.objects.get().fields
    ana.post(f"{here}subject", subject(given, name="Mine", go="restore", template=str(saved.template_id)))
    assert Setup.objects.get().fields["name"] == [given["name"]]
    ana.post(f"{here}arms", {"go": "undo"})
    row = Setup.objects.get()
    assert {name: row.fields[name] for name in before} == before
    assert (row.template, row.template_version, row.head) == (None, None, None)  # the next save goes nowhere unasked


def test_R15_a_key_finds_its_group_after_the_template_vanished_and_a_fresh_start_needs_it(
    cast, access, given, saved, api_client
):
    program = api_client(cast.ana, cast.team)
    later = templates.add_version(
        access=access, template=saved.template, intent=intents.read(given | {"repetitions": 1}), expected_revision=1
    )
    intent = given | {"template": str(saved.pk)}
    body = {"intent": intent, "readiness_sha256": check(access, intents.read(intent)).sha256}
    made = post(program, "groups", body, "old-key-of-ours")
    assert made.status_code == 201
    take_away(later)  # unrelated: the selected version still starts
    assert check(access, intents.read(intent)).ready
    take_away(saved)
    again = post(program, "groups", body, "old-key-of-ours")
    assert (again.status_code, again.json()["id"]) == (200, made.json()["id"])
    before = rows()
    found = check(access, intents.read(intent))
    assert [one.code for one in found.blocked] == ["template_unavailable"]
    fresh = post(program, "groups", body | {"readiness_sha256": found.sha256}, "new-key-of-ours")
    assert fresh.json()["error"]["code"] == "template_unavailable"
    assert rows() == before and Group.objects.count() == 1


def test_a_restore_of_what_was_taken_away_is_refused_and_loses_nothing(cast, given, saved, page_client):
    take_away(saved)
    ana = page_client(cast.ana)
    here = begun(ana, given, name="Mine")
    answer = ana.post(f"{here}subject", subject(given, name="Mine", go="restore", template=str(saved.template_id)))
    assert answer.status_code == 422 and "template_unavailable" in answer.content.decode()
    assert Setup.objects.get().fields["name"] == ["Mine"]
    assert "taken away" in ana.get(f"{LIST}{saved.template_id}/").content.decode()
    assert ana.post(f"{LIST}{saved.template_id}/use", {"version": "1"}).status_code == 422


def test_R16_a_restored_template_never_takes_a_newer_version(cast, access, given, saved, page_client):
    """A newer grader version, and the old one put away: the restored one stays what it is and reads unavailable."""
    grader = Grader.objects.get()
    check_ = {"operator": "contains", "source": "case", "pointer": "/expected"}
    newer = grading.add_grader_version(access=access, grader=grader, config={"checks": [check_]}, revision=1)
    ana = page_client(cast.ana)
    answer = ana.post(f"{LIST}{saved.template_id}/use", {"version": "1"})
    here = answer["Location"].removesuffix("subject")
    row = Setup.objects.get()
    assert row.fields["primary"] == [given["primary"]] != [str(newer.pk)]
    grading.archive_grader(access=access, grader=grader)
    assert "Equals version 1 (unavailable)" in ana.get(f"{here}grading").content.decode()
    page = ana.get(f"{here}readiness").content.decode()
    assert "plan_grader_unusable" in page and "Unknown" in page


def test_a_group_says_whether_it_ran_its_template_as_saved(cast, access, given, saved, page_client):
    ana = page_client(cast.ana)
    for more, as_saved in (({}, True), ({"repetitions": "1"}, False)):
        here = ana.post(f"{LIST}{saved.template_id}/use", {"version": "1"})["Location"].removesuffix("subject")
        ana.post(f"{here}grading", plan(given, **more))
        made = start(ana, here)
        group = Group.objects.get(pk=made["Location"].rstrip("/").rpartition("/")[2])
        assert (group.template_version, group.as_saved) == (saved, as_saved)
        assert ("as saved" if as_saved else "edited since") in ana.get(made["Location"]).content.decode()


def test_P1_saving_needs_the_right_to_manage_and_restoring_does_not(cast, access, given, saved, page_client):
    omar = page_client(cast.omar)
    here = begun(omar, given)
    row = Setup.objects.get()
    assert omar.post(f"{here}subject", subject(given, go="restore", template=str(saved.template_id))).status_code == 302
    refused("missing_right", templates.create, access=cast.access(cast.omar), name="x", intent=intents.read(given))
    refused(
        "missing_right",
        setups.save,
        access=cast.access(cast.omar),
        setup=row,
        intent=intents.read(given),
        name="x",
    )
    assert omar.post(f"{here}grading", plan(given) | {"go": "save_version"}).status_code == 403
    assert TemplateVersion.objects.count() == 1


def test_a_template_holds_nothing_of_another_team(cast, access, given, saved):
    stranger = cast.access(cast.cleo, cast.other_team)
    refused("invalid_field", templates.create, access=stranger, name="Theirs", intent=intents.read(given))
    refused("not_found", templates.version_of, stranger, saved.pk)
    foreign = given | {"base": str(new_id())}
    with pytest.raises(Refusal) as found:
        templates.create(access=access, name="Ours", intent=intents.read(foreign))
    assert found.value.place == "base" and Template.objects.count() == 1


def test_the_variant_right_is_asked_anew_when_a_key_comes_back(cast, access, given):
    """R2, R15: the same key and body give the first group under the present rights, agent.edit among them."""
    intent = intents.read(given)
    sha = check(access, intent).sha256
    group, made = starting.once(access=access, intent=intent, readiness_sha256=sha, key="the-same-key")
    assert made
    poorer = dataclasses.replace(access, held=access.held - {"agent.edit"})
    refused("missing_right", starting.once, access=poorer, intent=intent, readiness_sha256=sha, key="the-same-key")
    assert starting.once(access=access, intent=intent, readiness_sha256=sha, key="the-same-key") == (group, False)


def test_an_archived_template_takes_no_version_and_can_come_back(cast, access, given, saved, api_client, page_client):
    program, ana = api_client(cast.ana, cast.team), page_client(cast.ana)
    address = f"/api/v1/templates/{saved.template_id}"
    seen = program.get(address)
    renamed = program.patch(
        address, json.dumps({"name": "Monthly"}), content_type="application/json", headers={"If-Match": seen["ETag"]}
    )
    assert renamed.json()["name"] == "Monthly"
    stale = program.patch(
        address, json.dumps({"archived": True}), content_type="application/json", headers={"If-Match": seen["ETag"]}
    )
    assert stale.json()["error"]["code"] == "revision_stale"
    assert ana.post(f"{LIST}{saved.template_id}/archive").status_code == 302
    body = {"intent": given, "expected_revision": 1}
    answer = post(program, f"templates/{saved.template_id}/versions", body, "while-archived")
    assert answer.json()["error"]["code"] == "template_archived"
    assert program.get("/api/v1/templates").json()["count"] == 0
    assert "Monthly" in ana.get(f"{LIST}?archived=1").content.decode()
    assert ana.post(f"{LIST}{saved.template_id}/restore").status_code == 302
    taken = post(program, "templates", {"name": "monthly", "intent": given}, "the-same-name")
    assert taken.json()["error"]["code"] == "name_taken"


def test_what_a_template_says_is_content(cast, given, saved, api_client, page_client):
    ben = page_client(cast.ben)
    page = ben.get(f"{LIST}{saved.template_id}/").content.decode()
    assert "evaluation.content.read" in page and given["name"] not in page
    row = api_client(cast.ben, cast.team).get(f"/api/v1/templates/{saved.template_id}/versions/1").json()
    assert row["intent"] is None and row["sha256"] == saved.sha256
    whole = api_client(cast.ana, cast.team).get(f"/api/v1/templates/{saved.template_id}/versions/1").json()
    assert whole["intent"] == given


def test_fields_and_body_say_the_same(given, access):
    intent = intents.read(given)
    fields = fields_of(intent.reusable())
    assert fields["arm_1"] == ["route:small"] and fields["arm_2"] == [""]
    assert started(access, given).template_version is None
