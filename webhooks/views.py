"""Pages of webhooks, beside the other settings of a team."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.refusals import Refusal
from webhooks import actions, queries, sending, signing, words
from webhooks.actions import MANAGE
from webhooks.forms import WebhookForm
from webhooks.models import DeliveryState, Webhook

DELIVERIES: Final = 20
SAYS: Final = {
    "enable": "Enabled: it is told what ends from now on.",
    "disable": "Disabled: it is told nothing any more.",
    "archive": "Archived, and disabled.",
    "restore": "Restored. It stays disabled until you enable it.",
}


def _webhook(request: TeamRequest, webhook: UUID) -> Webhook:
    return request.access.find(queries.webhooks_of(request.access, archived=None), pk=webhook)


@team_page(*MANAGE)
def webhook_list(request: TeamRequest) -> HttpResponse:
    archived = lists.chosen(request, "archived", ["1"]) == "1"
    context = {
        "section": "team",
        "rows": [(one, actions.host_of(one.url)) for one in queries.webhooks_of(request.access, archived=archived)],
        "archived": archived,
        "any_hosts": bool(queries.hosts()),
    }
    return render(request, "webhooks/list.html", context)


def _form(request: TeamRequest, template: str, form: WebhookForm, **context: Any) -> HttpResponse:
    context |= {"section": "team", "form": form, "any_hosts": bool(queries.hosts())}
    return render(request, template, context, status=422 if form.is_bound else 200)


def _say(form: WebhookForm, refusal: Refusal) -> None:
    form.add_error(refusal.place if refusal.place in form.fields else None, refusal.message or refusal.allowed)


@team_page(*MANAGE, methods=READ_OR_POST)
def new_webhook(request: TeamRequest) -> HttpResponse:
    """A new webhook. Its secret is shown in the answer and never again."""
    form = WebhookForm(queries.hosts(), request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = actions.create_webhook(access=request.access, **form.said())
        except Refusal as refusal:
            _say(form, refusal)
        else:
            return _detail(request, made.pk, fresh=True)
    return _form(request, "webhooks/new.html", form)


@team_page(*MANAGE, methods=READ_OR_POST)
def edit_webhook(request: TeamRequest, webhook: UUID) -> HttpResponse:
    found = _webhook(request, webhook)
    said = {name: getattr(found, name) for name in ("name", "url", "events", "revision")}
    form = WebhookForm(queries.hosts(), request.POST if request.method == "POST" else None, initial=said)
    if form.is_valid():
        seen = form.cleaned_data["revision"]
        try:
            actions.edit_webhook(access=request.access, webhook=found, revision=seen, **form.said())
        except Refusal as refusal:
            _say(form, refusal)
        else:
            return redirect("webhooks:detail", team=request.access.team.slug, webhook=found.pk)
    return _form(request, "webhooks/edit.html", form, webhook=found)


@team_page(*MANAGE)
def detail(request: TeamRequest, webhook: UUID) -> HttpResponse:
    """What it is told, whether it listens, and its newest deliveries."""
    return _detail(request, webhook)


@team_page(*MANAGE)
def deliveries(request: TeamRequest, webhook: UUID) -> HttpResponse:
    """The part of it that follows the work."""
    return render(request, "webhooks/_deliveries.html", _shown(request, webhook))


def _shown(request: TeamRequest, webhook: UUID) -> dict[str, Any]:
    found = _webhook(request, webhook)
    state = lists.chosen(request, "state", DeliveryState.values)
    page = lists.page_of(request, queries.deliveries_of(found, state), DELIVERIES)
    query = request.GET.urlencode()
    poll = reverse("webhooks:deliveries", kwargs={"team": request.access.team.slug, "webhook": found.pk})
    return {
        "section": "team",
        "webhook": found,
        "page": page,
        "deliveries": [(one, words.says(one.last_code)) for one in page],
        "state": state,
        "states": DeliveryState.choices,
        "working": found.waiting > 0 and found.disabled_at is None,  # type: ignore[attr-defined]  # annotated
        "query": f"?{query}" if query else "",
        "poll": f"{poll}?{query}" if query else poll,
    }


def _detail(request: TeamRequest, webhook: UUID, *, fresh: bool = False) -> HttpResponse:
    context = _shown(request, webhook)
    found: Webhook = context["webhook"]
    context["steps"] = {step: [("step", step)] for step in SAYS}
    context["disabled_after"] = sending.DISABLED_AFTER
    context["secret"] = signing.secret_of(found.pk, found.secret_revision) if fresh else ""
    return render(request, "webhooks/detail.html", context)


@team_page(*MANAGE, methods=("POST",))
def ping(request: TeamRequest, webhook: UUID) -> HttpResponse:
    found = _webhook(request, webhook)
    actions.ping(access=request.access, webhook=found)
    messages.success(request, "A ping is on its way; its delivery below says what comes of it.")
    return redirect("webhooks:detail", team=request.access.team.slug, webhook=found.pk)


@team_page(*MANAGE, methods=("POST",))
def send_again(request: TeamRequest, webhook: UUID, delivery: UUID) -> HttpResponse:
    """One more attempt at a delivery that has ended; back to the list as it was."""
    found = _webhook(request, webhook)
    told = request.access.find(queries.deliveries_of(found), team="webhook__team", pk=delivery)
    actions.send_again(access=request.access, webhook=found, delivery=told)
    messages.success(request, "It is sent once more, with the same id and body.")
    here = reverse("webhooks:detail", kwargs={"team": request.access.team.slug, "webhook": found.pk})
    query = request.GET.urlencode()
    return redirect(f"{here}?{query}" if query else here)


@team_page(*MANAGE, methods=("POST",))
def rotate(request: TeamRequest, webhook: UUID) -> HttpResponse:
    """Another secret, shown in this answer and never again."""
    found = _webhook(request, webhook)
    actions.rotate_secret(access=request.access, webhook=found)
    return _detail(request, found.pk, fresh=True)


@team_page(*MANAGE, methods=("POST",))
def steer(request: TeamRequest, webhook: UUID) -> HttpResponse:
    """Enable, disable, archive or restore it."""
    found = _webhook(request, webhook)
    step = request.POST.get("step", "")
    if step not in SAYS:
        raise Refusal("invalid_field", f"step is one of {', '.join(SAYS)}.", place="step")
    actions.STEPS[step](access=request.access, webhook=found)
    messages.success(request, SAYS[step])
    return redirect("webhooks:detail", team=request.access.team.slug, webhook=found.pk)
