"""`evenhand template` against a server that runs: saved, saved again, restored and started."""

from __future__ import annotations

import json
import uuid

import pytest
from django.db import connections
from typer.testing import CliRunner

from cli import client
from cli.main import app
from comparisons.models import Group, TemplateBody, TemplateVersion
from teams import actions as team_actions
from tests.comparisons.groups.conftest import access, given, quiet  # noqa: F401

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def connections_end(monkeypatch):
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    monkeypatch.setattr(client, "POLL_SECONDS", 0.05)


@pytest.fixture
def evenhand(live_server, cast):
    """evenhand(*arguments) as ana or somebody else, on a server that runs."""
    tokens = {}

    def run(*arguments, stdin=None, by=None):
        user = by or cast.ana
        if user.pk not in tokens:
            tokens[user.pk] = team_actions.create_token(access=cast.access(user), name="cli", days=None)[1]
        words = [*map(str, arguments), "--server", live_server.url, "--token", tokens[user.pk]]
        return CliRunner().invoke(app, words, input=stdin)

    return run


def test_what_is_saved_is_restored_and_started_as_it_was(evenhand, given):  # noqa: F811
    assert "No template yet" in evenhand("template", "list").stdout
    made = evenhand("template", "save", "Weekly", "-", "--json", stdin=json.dumps(given))
    assert made.exit_code == 0 and "Request key" in made.stderr
    template = json.loads(made.stdout)["template"]
    assert template in evenhand("template", "list").stdout
    restored = evenhand("template", "restore", template)
    assert json.loads(restored.stdout) == given | {"template": json.loads(made.stdout)["id"]}
    checked = evenhand("group", "check", "-", stdin=restored.stdout)
    assert checked.exit_code == 0 and "Could show" in checked.stdout
    assert evenhand("group", "start", "-", stdin=restored.stdout).exit_code == 0
    group = Group.objects.get()
    assert str(group.template_version_id) == json.loads(made.stdout)["id"] and group.as_saved


def test_the_next_version_is_made_from_the_one_that_was_seen(evenhand, given):  # noqa: F811
    made = evenhand("template", "save", "Weekly", "-", "--json", stdin=json.dumps(given))
    template = json.loads(made.stdout)["template"]
    changed = json.dumps(given | {"repetitions": 1})
    key = str(uuid.uuid4())
    for _ in range(2):  # a lost answer, asked for again
        second = evenhand("template", "save-version", template, "-", "--expected", 1, "--key", key, stdin=changed)
        assert second.exit_code == 0 and "version 2" in second.stdout
    stale = evenhand("template", "save-version", template, "-", "--expected", 1, stdin=json.dumps(given))
    assert stale.exit_code == 2 and "template_revision_conflict" in stale.stderr
    assert evenhand("template", "save-version", template, "-", stdin=json.dumps(given)).exit_code == 0
    assert (
        json.loads(evenhand("template", "show", template, "--number", 2, "--json").stdout)["intent"]["repetitions"] == 1
    )
    assert TemplateVersion.objects.count() == 3


def test_what_cannot_be_read_is_said(evenhand, cast, given):  # noqa: F811
    made = evenhand("template", "save", "Weekly", "-", "--json", stdin=json.dumps(given))
    template = json.loads(made.stdout)["template"]
    shown = evenhand("template", "show", template, by=cast.ben)
    assert shown.exit_code == 0 and "evaluation.content.read" in shown.stdout and given["name"] not in shown.stdout
    refused = evenhand("template", "restore", template, by=cast.ben)
    assert refused.exit_code == 2 and "cli_template_unreadable" in refused.stderr
    TemplateBody.objects.update(availability="deleted", body=None)
    assert "taken away" in evenhand("template", "show", template).stdout
    assert evenhand("template", "show", uuid.uuid4()).exit_code == 2
    odd = evenhand("template", "show", "x")
    assert odd.exit_code == 2 and "cli_option_invalid" in odd.stderr
