"""What was evaluated, on pages and over the API."""

from __future__ import annotations

import pytest

from agents.models import SubjectDefinition
from teams import actions
from teams.models import Role
from teams.permissions import Right
from tests.factories import evidence


@pytest.fixture
def subject(cast):
    made = evidence.experiment(cast.team, cast.omar, {"a": [1]}, label="gpt-5-nano")
    SubjectDefinition.objects.create(subject=made.subject, body={"prompt": "Du bist hilfsbereit"})
    return made.subject


def test_a_subject_is_found_by_name_or_by_the_start_of_its_fingerprint(cast, page_client, subject):
    omar, page = page_client(cast.omar), f"/t/{cast.team.slug}/agents/subjects/"
    for words in ("NANO", subject.fingerprint[:8], ""):
        assert "gpt-5-nano" in omar.get(page, {"q": words}).content.decode()
    assert "No agent has this name" in omar.get(page, {"q": "claude"}).content.decode()


def test_a_search_with_a_nul_character_is_refused(cast, page_client, api_client, subject):
    version = subject.experiment_set.get().version
    for address in ("agents/", "agents/subjects/", "agents/snapshots/", f"datasets/{version.dataset_id}/"):
        assert page_client(cast.omar).get(f"/t/{cast.team.slug}/{address}", {"q": "a\0b"}).status_code == 400
    for address in ("subjects", f"datasets/{version.dataset_id}/versions/{version.number}/items"):
        response = api_client(cast.omar, cast.team).get(f"/api/v1/{address}", {"q": "a\0b"})
        assert (response.status_code, response.json()["error"]["place"]) == (400, "q")


def test_its_definition_is_content(cast, page_client, api_client, subject):
    page = f"/t/{cast.team.slug}/agents/subjects/{subject.pk}/"
    assert "Du bist hilfsbereit" in page_client(cast.omar).get(page).content.decode()
    assert "Du bist hilfsbereit" not in page_client(cast.ben).get(page).content.decode()
    address = f"/api/v1/subjects/{subject.pk}"
    assert api_client(cast.omar, cast.team).get(address).json()["definition"] == {"prompt": "Du bist hilfsbereit"}
    assert api_client(cast.ben, cast.team).get(address).json()["definition"] is None


def test_experiments_are_not_named_to_who_may_not_see_them(cast, page_client, subject):
    role = Role.objects.create(team=cast.team, name="Agents only", rights=[Right.AGENT_READ])
    actions.set_role(access=None, team=cast.team, user=cast.cleo, role=role, by=None)
    body = page_client(cast.cleo).get(f"/t/{cast.team.slug}/agents/subjects/{subject.pk}/").content.decode()
    assert "gpt-5-nano" in body and "Experiment 1" not in body
