"""The setup of a group in four steps: nothing is lost on the way, and nothing starts twice."""

from __future__ import annotations

import re
import uuid

import pytest

from agents import actions as agent_actions
from comparisons.groups import offering
from comparisons.models import Group, Setup
from datasets.models import Dataset
from grading import actions as grading
from grading.models import Grader
from teams.records import new_id
from tests.factories import agents as factory

pytestmark = pytest.mark.django_db(transaction=True)
NEW = "/t/support/comparisons/groups/new"


def subject(given, **more):
    return {name: given[name] for name in ("name", "base", "version")} | {"slice": "", **more}


def arms(given, **more):
    return {"arm_0": f"snapshot:{given['base']}", "arm_1": "route:small", **more}


def plan(given, **more):
    return {
        "repetitions": "2",
        "tool_policy": "none",
        "graders": [f"{given['primary']}:generation"],
        "enrichment": "",
        "primary": given["primary"],
        **more,
    }


def begun(client, given, **more) -> str:
    """The address of a setup whose first step was sent, without its step."""
    answer = client.post(NEW, {"setup": str(new_id()), **subject(given), **more})
    assert answer.status_code == 302 and answer["Location"].endswith("/arms")
    return answer["Location"].removesuffix("arms")


def filled(client, given) -> str:
    here = begun(client, given)
    assert client.post(f"{here}arms", arms(given))["Location"] == f"{here}grading"
    assert client.post(f"{here}grading", plan(given))["Location"] == f"{here}readiness"
    return here


def start(client, here: str, **more):
    page = client.get(f"{here}readiness").content.decode()
    kept = {name: re.search(rf'name="{name}" value="([^"]+)"', page).group(1) for name in ("key", "readiness_sha256")}
    return client.post(f"{here}start", {**kept, **more})


def test_four_steps_lead_to_a_group_and_a_second_start_to_the_same(cast, given, page_client):
    ana = page_client(cast.ana)
    assert "Subject and data" in ana.get(NEW).content.decode()
    here = filled(ana, given)
    page = ana.get(f"{here}readiness")
    assert "Everything is ready" in page.content.decode() and "What it could show" in page.content.decode()
    made = start(ana, here)
    assert made.status_code == 302
    group = Group.objects.get()
    assert str(group.pk) in made["Location"]
    row = Setup.objects.get()
    sent = {"key": row.key, "readiness_sha256": group.readiness_sha256}
    assert ana.post(f"{here}start", sent)["Location"] == made["Location"]  # R1: a lost answer, sent again
    assert ana.get(f"{here}arms")["Location"] == made["Location"]
    assert Group.objects.count() == 1


def test_the_first_step_sent_twice_is_one_setup(cast, given, page_client):
    ana, body = page_client(cast.ana), {"setup": str(new_id()), **subject(given)}
    assert ana.post(NEW, body)["Location"] == ana.post(NEW, body)["Location"]
    assert Setup.objects.count() == 1
    other = page_client(cast.cleo)
    assert other.post("/t/returns/comparisons/groups/new", body).status_code in (302, 404)
    assert Setup.objects.filter(pk=body["setup"], team=cast.team).exists()


def test_going_back_and_faults_keep_every_field(cast, given, page_client):
    ana = page_client(cast.ana)
    here = begun(ana, given)
    half = ana.post(f"{here}arms", {"arm_0": "route:small", "go": "subject"})
    assert half["Location"] == f"{here}subject"
    page = ana.get(f"{here}subject")
    assert page.context["form"]["name"].value() == given["name"] and not page.context["form"].errors
    assert ana.get(f"{here}arms").context["form"]["arm_0"].value() == "route:small"
    wrong = ana.post(f"{here}subject", subject(given, name=""))
    assert wrong.status_code == 422 and list(wrong.context["form"].errors) == ["name"]
    assert wrong.context["form"]["version"].value() == given["version"]
    assert ana.get(f"{here}arms").context["form"]["arm_0"].value() == "route:small"


def test_readiness_leads_to_the_first_step_that_is_not_filled_in(cast, given, page_client):
    ana = page_client(cast.ana)
    here = begun(ana, given)
    answer = ana.get(f"{here}readiness")
    assert answer["Location"] == f"{here}arms?check=1"
    shown = ana.get(answer["Location"])
    assert list(shown.context["form"].errors) == ["arm_0", "arm_1"]


def test_R3_looking_again_keeps_the_key_and_an_edit_makes_another(cast, given, page_client):
    ana = page_client(cast.ana)
    here = filled(ana, given)
    row = Setup.objects.get()
    ana.get(f"{here}readiness")
    ana.post(f"{here}grading", plan(given))
    assert Setup.objects.get().key == row.key
    ana.post(f"{here}grading", plan(given, repetitions="1"))
    assert Setup.objects.get().key != row.key
    old = ana.post(f"{here}start", {"key": row.key, "readiness_sha256": "0" * 64})
    assert old.status_code == 409 and "stale_preflight" in old.content.decode()
    assert not Group.objects.exists()


def test_R8_a_start_after_something_changed_is_refused_on_the_page(cast, given, page_client):
    ana = page_client(cast.ana)
    here = filled(ana, given)
    page = ana.get(f"{here}readiness").content.decode()
    sha = re.search(r'name="readiness_sha256" value="([^"]+)"', page).group(1)
    factory.route("small", "fixture:echo2")  # another revision, activated
    answer = ana.post(f"{here}start", {"key": Setup.objects.get().key, "readiness_sha256": sha})
    assert answer.status_code == 409 and "stale_preflight" in answer.content.decode()
    assert start(ana, here).status_code == 302


def test_R10_what_is_there_no_more_stays_chosen_and_says_so(cast, access, given, page_client):
    ana = page_client(cast.ana)
    here = filled(ana, given)
    grading.archive_grader(access=access, grader=Grader.objects.get())
    page = ana.get(f"{here}grading").content.decode()
    assert "Equals version 1 (unavailable)" in page
    assert ana.post(f"{here}grading", plan(given))["Location"] == f"{here}readiness"
    blocked = ana.get(f"{here}readiness").content.decode()
    assert "plan_grader_unusable" in blocked and "Everything is ready" not in blocked
    strange = plan(given, graders=[f"{uuid.uuid4()}:generation"])
    assert "(unavailable)" in ana.post(f"{here}grading", strange | {"go": "find"}).content.decode()
    assert Setup.objects.get().fields["graders"] == strange["graders"]


def test_the_search_goes_on_while_what_is_chosen_stays(cast, access, given, page_client):
    ana = page_client(cast.ana)
    route = factory.route("large")
    for number in range(12):
        factory.snapshot(access, route, f"Counter {number}", instructions=f"At {number}.")
    here = begun(ana, given)
    first = ana.post(f"{here}subject", subject(given, go="find", q="counter"))
    found = first.context["found"]
    assert len(found.rows) == offering.PAGE and found.more
    assert [str(one.pk) for one in found.chosen] == [given["base"]]
    assert f'value="{given["base"]}" checked' in first.content.decode()
    more = ana.post(f"{here}subject", subject(given, go="more", q="counter", shown=found.shown)).context["found"]
    assert len(more.rows) == 12 and not more.more
    none = ana.post(f"{here}subject", subject(given, go="find", q="nothing like it"))
    assert "No snapshot is like this" in none.content.decode()
    assert f'value="{given["base"]}" checked' in none.content.decode()
    odd = ana.post(f"{here}subject", subject(given, go="more", q="counter", shown="9" * 30))
    assert odd.status_code == 200


def test_a_setup_belongs_to_the_person_who_made_it(cast, given, page_client):
    ana, omar = page_client(cast.ana), page_client(cast.omar)
    here = begun(ana, given)
    for answer in (omar.get(f"{here}arms"), omar.post(f"{here}arms", arms(given)), omar.post(f"{here}drop")):
        assert answer.status_code == 404
    assert page_client(cast.ben).get(NEW).status_code == 403
    assert given["name"] in ana.get("/t/support/comparisons/groups/").content.decode()
    assert given["name"] not in omar.get("/t/support/comparisons/groups/").content.decode()
    assert ana.post(f"{here}drop").status_code == 302
    assert not Setup.objects.exists()


def test_a_started_setup_is_not_dropped(cast, given, page_client):
    ana = page_client(cast.ana)
    here = filled(ana, given)
    start(ana, here)
    ana.post(f"{here}drop")
    assert Setup.objects.get().group == Group.objects.get()


@pytest.mark.parametrize(
    ("more", "code"), [({"name": "a\0b"}, 400), ({"version": "x" * 201}, 400), ({"go": "restore"}, 400)]
)
def test_odd_input_is_refused_and_nothing_is_half_kept(cast, given, page_client, more, code):
    ana = page_client(cast.ana)
    here = begun(ana, given)
    answer = ana.post(f"{here}subject", subject(given) | more)
    assert answer.status_code == code and "invalid_field" in answer.content.decode()
    assert Setup.objects.get().fields["name"] == [given["name"]]


def test_another_like_a_group_means_the_snapshots_that_ran(cast, given, page_client):
    ana = page_client(cast.ana)
    start(ana, filled(ana, given))
    group = Group.objects.get()
    agent_actions.deactivate_route(route=factory.ModelRoute.objects.get(key="small"), by=None)
    answer = ana.post(f"/t/support/comparisons/groups/{group.pk}/again")
    row = Setup.objects.get(group=None)
    assert str(row.pk) in answer["Location"]
    ran = [f"snapshot:{arm.snapshot_id}" for arm in group.arm_set.order_by("index")]
    assert [row.fields["arm_0"][0], row.fields["arm_1"][0]] == ran
    assert row.fields["graders"] == [f"{given['primary']}:generation"]


def test_a_step_asks_the_database_as_often_for_many_graders_and_snapshots_as_for_few(
    cast, access, given, page_client, django_assert_max_num_queries
):
    ana = page_client(cast.ana)
    here = filled(ana, given)
    grader, route = Grader.objects.get(), factory.route("large")
    for number in range(30):
        check_ = {"operator": "contains", "source": "literal", "value": f"{number}"}
        revision = Grader.objects.get().revision
        grading.add_grader_version(access=access, grader=grader, config={"checks": [check_]}, revision=revision)
        factory.snapshot(access, route, f"Counter {number}", instructions=f"At {number}.")
    for step, most in {"subject": 24, "arms": 24, "grading": 24, "readiness": 48}.items():
        with django_assert_max_num_queries(most):
            assert ana.get(f"{here}{step}").status_code == 200


def test_the_first_button_of_every_step_goes_on(cast, given, page_client):
    """Enter in a field presses a form's first button: that is Next, never a step back or a restore."""
    ana = page_client(cast.ana)
    here = filled(ana, given)
    for step in ("subject", "arms", "grading", "readiness"):
        page = ana.get(f"{here}{step}").content.decode()
        first = re.search(r'<button[^>]*form="setup"[^>]*>', page).group(0)
        assert 'value="next"' in first and page.index(first) < page.index('<nav aria-label="Steps"')
    assert ana.post(f"{here}readiness", {"go": "next"})["Location"] == f"{here}readiness"
    assert ana.post(f"{here}readiness", {"go": "whatever"})["Location"] == f"{here}readiness"


def test_a_step_that_another_tab_changed_is_shown_before_it_is_overwritten(cast, given, page_client):
    ana = page_client(cast.ana)
    here = begun(ana, given)
    seen = Setup.objects.get().key
    ana.post(f"{here}subject", subject(given, name="From the other tab"))
    late = ana.post(f"{here}subject", subject(given, name="From this tab", seen=seen))
    assert late.status_code == 409 and "revision_stale" in late.content.decode()
    assert late.context["form"]["name"].value() == "From this tab"
    assert Setup.objects.get().fields["name"] == ["From the other tab"]
    again = ana.post(f"{here}subject", subject(given, name="From this tab", seen=Setup.objects.get().key))
    assert again.status_code == 302 and Setup.objects.get().fields["name"] == ["From this tab"]


def test_without_a_case_no_cost_is_invented(cast, access, given, page_client):
    ana = page_client(cast.ana)
    here = filled(ana, given)
    Dataset.objects.update(archived_at="2026-01-01T00:00:00Z")
    page = ana.get(f"{here}readiness").content.decode()
    assert "$0" not in page and "there is no case to ask" in page
