"""Load the demo's people, teams and evidence, once."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from agents.actions import hosts
from analysis import strict_json
from config import demo
from config.demo_agents import load_agents
from config.demo_graders import load_graders
from intake import actions as intake
from runs.models import Experiment
from teams import actions as teams
from teams.access import current_access
from teams.bulk import lock
from teams.models import Team, User
from teams.refusals import Refusal
from webhooks.models import WebhookHost


class Command(BaseCommand):
    help = "Load the demo's people, teams and evidence, unless they are there."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--force", action="store_true", help="load it outside embedded mode too")

    def handle(self, *args: Any, **options: Any) -> None:
        if not (settings.EMBEDDED or options["force"]):
            raise CommandError(
                "The demo belongs to embedded mode: its people have a known password. --force loads it all the same."
            )
        try:
            load()
        except Refusal as refusal:
            raise CommandError(f"The demo could not be loaded: {refusal.message} ({refusal.code})") from refusal


@transaction.atomic
def load() -> None:
    """All of it or nothing. Whoever comes second waits, and then finds it done."""
    lock("load_demo")
    first = demo.TEAMS[0].slug
    _people_and_teams()
    founder = current_access(User.objects.get(email=demo.FOUNDER), first)
    load_agents(founder)
    load_graders(founder)
    if settings.EMBEDDED and not WebhookHost.objects.exists():  # to try webhooks with a program on this machine
        hosts.list_host(WebhookHost, host="127.0.0.1", note="The demo's own machine", by=None)
    if Experiment.objects.filter(team__slug=first).exists():
        return
    access = current_access(User.objects.get(email=demo.IMPORTER), first)
    mapping = strict_json.loads((demo.DATA / "mapping.json").read_bytes())
    saved = intake.save_mapping(access=access, name=mapping["name"], body=mapping)
    for name in demo.FILES:
        intake.import_now(
            access=access,
            files=[(name, demo.DATA / name)],
            dataset_name=demo.DATASET,
            mapping=saved.name,
            accept_rejected=True,
        )


def _people_and_teams() -> None:
    people = {}
    for login in demo.LOGINS:
        user = User.objects.filter(email=login.email).first()
        people[login.email] = user or User.objects.create_user(login.email, login.password, name=login.name)
    for planned in demo.TEAMS:
        if Team.objects.filter(slug=planned.slug).exists():
            continue
        (founder, _), *others = planned.members
        team = teams.create_team(slug=planned.slug, name=planned.name, owner=people[founder], by=None)
        for email, role in others:
            teams.set_role(access=None, team=team, user=people[email], role=teams.preset(role), by=None)
