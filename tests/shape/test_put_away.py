"""Every door again, for objects that were archived and for content that was taken away (reliability 6.2, 6.3)."""

from __future__ import annotations

import re

import pytest
from celery import current_app
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.urls import reverse
from redis import Redis

from agents import actions as agents
from datasets import actions as datasets
from grading import actions as grading
from intake.models import Import
from runs import actions as run_actions
from teams.access import current_access
from tests.intake.conftest import jsonl, rows
from tests.shape.addresses import ENDPOINTS, PAGES, Address
from tests.shape.test_doors import ANY_MEMBER, CONTENT, OPENS_WITH, PERSONAL, PUBLIC
from tests.shape.test_records import CONTENT as CONTENT_TABLES
from tests.shape.test_records import MODELS
from tests.shape.world import CANARY, World
from webhooks import actions as webhooks

READABLE = [one for one in (*PAGES, *ENDPOINTS) if one.name not in (*PUBLIC, *ANY_MEMBER) and "GET" in one.methods]

UNCOMPARED = {
    *("comparisons:paired", "comparisons:export", "comparisons:case"),
    *("api:paired_comparison", "api:paired_comparison_cases", "api:paired_comparison_plan"),
}
SAYS_ARCHIVED = {name: {409} for name in (*UNCOMPARED, "agents:draft")}
"""What a door answers to those whom it lets in, where putting away changes it."""

STAYS = {
    "agents:draft": "a draft is what people edit; it is emptied by saving",
    "agents:changes": "shows the draft",
    "api:agent_draft": "a draft is what people edit",
    "imports:rejected": "rows that were left out go with the import that told of them",
    "imports:rejected_csv": "rows that were left out go with the import that told of them",
    "api:import_rejected": "rows that were left out go with the import that told of them",
}
"""Doors to content that is no evidence and has no availability, with the reason."""


@pytest.fixture
def archived(world: World) -> World:
    access = current_access(world.owner, world.team.slug)
    datasets.archive_slice(access=access, slice_=world.slice)
    datasets.archive_dataset(access=access, dataset=world.candidate.version.dataset)
    agents.archive_agent(access=access, agent=world.snapshot.agent)
    grading.archive_grader(access=access, grader=world.grader)
    agents.archive_connector(access=access, connector=world.connector)
    webhooks.archive_webhook(access=access, webhook=world.webhook)
    for experiment in (world.candidate, world.baseline):
        run_actions.archive(access=access, experiment=experiment.pk)
    return world


def _ask(one: Address, world: World, user, page_client, api_client):
    who = api_client(user, world.team) if one.api else page_client(user)
    return who.get(one.of(world))


@pytest.mark.parametrize("one", READABLE, ids=str)
def test_what_is_archived_is_read_by_the_same_people_and_nobody_else(
    one: Address, archived: World, built, page_client, api_client
):
    for name, member in archived.members.items():
        found = _ask(one, archived, member, page_client, api_client)
        allowed = archived.held[name] >= one.needed("GET")
        if allowed and one.name in PERSONAL and PERSONAL[one.name] not in archived.held[name]:
            expected = {404}
        elif allowed:
            expected = SAYS_ARCHIVED.get(one.name, OPENS_WITH.get(one.name, {200}))
        else:
            expected = {403}
        assert found.status_code in expected, f"{name}: {found.status_code}"
        if CONTENT not in archived.held[name]:
            assert CANARY not in b"".join(found).decode(), f"{name} reads content"
    if not one.api:
        assert _ask(one, archived, built[1].owner, page_client, api_client).status_code == 404


@pytest.fixture
def bare(world: World) -> World:
    """Everything that can be taken away is: its rows stay and say that it was deleted."""
    with connection.cursor() as cursor:
        for label in CONTENT_TABLES:
            model = MODELS[label]
            body = [f"{one.column} = NULL" for one in model._meta.concrete_fields if one.null]
            table = model._meta.db_table
            cursor.execute(f"UPDATE {table} SET {', '.join(["availability = 'deleted'", *body])}")
    return world


@pytest.mark.parametrize("one", READABLE, ids=str)
def test_what_was_taken_away_is_shown_to_nobody_and_breaks_no_door(one: Address, bare: World, page_client, api_client):
    found = _ask(one, bare, bare.owner, page_client, api_client)
    assert found.status_code in OPENS_WITH.get(one.name, {200}) | TAKEN.get(one.name, set()), found.status_code
    if one.name not in STAYS:
        text = re.sub(rf"{CANARY}(key|group)", "", b"".join(found).decode())
        assert CANARY not in text


TAKEN = {
    "api:slice_items": {404},  # whose cases nobody can tell any more
    "datasets:edit_case": {409},  # of which nothing is left to revise
}
"""What a door answers where nothing is left to show."""


def test_no_exception_is_stale():
    names = {one.name for one in READABLE}
    assert names >= {*SAYS_ARCHIVED, *STAYS, *TAKEN}


# the broker


def test_a_message_to_the_broker_holds_ids_alone(
    world: World, page_client, django_capture_on_commit_callbacks, settings
):
    """P10: what was uploaded, its name and its fields never reach the broker."""
    browser, slug = page_client(world.owner), world.team.slug
    text = jsonl([{**row, "answer": f"{CANARY}answer"} for row in rows()])
    with django_capture_on_commit_callbacks(execute=True):
        sent = browser.post(
            reverse("imports:new", kwargs={"team": slug}),
            {
                "files": [SimpleUploadedFile(f"{CANARY}name.jsonl", text.encode())],
                "dataset": f"{CANARY}dataset",
                "key": f"{CANARY}request-key",
            },
        )
    assert sent.status_code == 302
    row = Import.objects.filter(team=world.team).latest("pk")
    with current_app.connection_for_read() as link:
        valkey: Redis = link.default_channel.client
        kept = b"\n".join(_dump(valkey, key) for key in valkey.keys("*"))
    assert str(row.pk).encode() in kept, "the wake-up was not sent"
    assert CANARY.encode() not in kept


def _dump(valkey: Redis, key: bytes) -> bytes:
    kind = valkey.type(key)
    if kind == b"list":
        return b"\n".join(valkey.lrange(key, 0, -1))
    if kind == b"hash":
        return b"\n".join([part for pair in valkey.hgetall(key).items() for part in pair])
    if kind in (b"set", b"zset"):
        return repr(valkey.smembers(key) if kind == b"set" else valkey.zrange(key, 0, -1)).encode()
    return bytes(valkey.get(key) or b"")
