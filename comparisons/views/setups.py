"""Pages of the setup of a group: four steps, each kept on the server as soon as it is sent."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from comparisons.groups import offering, queries, setups, templates
from comparisons.groups.forms import STEPS, SetupForm, as_query, fields_of
from comparisons.groups.intent import Intent
from comparisons.groups.readiness import Readiness, check
from comparisons.groups.setups import Fields
from comparisons.models import Setup, Template, TemplateVersion
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import LAUNCH_RIGHTS
from teams.records import new_id
from teams.refusals import Refusal

ORDER = tuple(STEPS)
SHOWN = (400, 409, 422)
"""Refusals that are said on the page of the step; the others are pages of their own."""


@team_page(*LAUNCH_RIGHTS, methods=READ_OR_POST)
def new_group(request: TeamRequest) -> HttpResponse:
    """The first step of a new setup. It is kept from the first time that it is sent.

    The page brings the setup's id along, so that sending it twice makes one.
    """
    access = request.access
    if request.method != "POST":
        base = lists.one_id(request, "base")
        return _page(request, None, "subject", {"base": [base]} if base else {})
    try:
        pk = UUID(request.POST.get("setup", ""))
    except ValueError:
        raise Refusal("invalid_field", "The setup's id is missing; open the page again.", place="setup") from None
    return _sent(request, setups.begin(access=access, pk=pk, fields=_posted(request, "subject")), "subject")


@team_page(*LAUNCH_RIGHTS, methods=READ_OR_POST)
def setup(request: TeamRequest, setup: UUID, step: str) -> HttpResponse:
    """One step of a setup. The last one looks at what would run, and starts it."""
    row = setups.own(request.access, setup)
    if step not in STEPS:
        raise Refusal("not_found")
    if row.group_id is not None:
        return redirect("comparisons:group", team=request.access.team.slug, group=row.group_id)
    if request.method != "POST":
        return _page(request, row, step, row.fields, judged=request.GET.get("check") == "1")
    posted = _posted(request, step)
    if _overtaken(request, row, posted):
        message = (
            "This step was changed elsewhere since you opened it. It shows what you wrote; send it again to keep it."
        )
        return _page(request, row, step, {**row.fields, **posted}, refused=Refusal("revision_stale", message))
    try:
        row = setups.keep(access=request.access, setup=row, fields=posted)
    except Refusal as refusal:
        return _page(request, row, step, row.fields, refused=refusal)
    return _sent(request, row, step)


def _overtaken(request: TeamRequest, row: Setup, posted: Fields) -> bool:
    """Whether the page that was sent shows something else than was kept meanwhile, from another tab."""
    seen = request.POST.get("seen", "")
    return (
        bool(seen)
        and seen != row.key
        and any(row.fields.get(name, values) != values for name, values in posted.items())
    )


@team_page(*LAUNCH_RIGHTS, methods=("POST",))
def start(request: TeamRequest, setup: UUID) -> HttpResponse:
    """Start all arms, or none. Sent twice, or again after a lost answer, it starts one group."""
    access = request.access
    row = setups.own(access, setup)
    seen = request.POST.get("readiness_sha256", "")
    try:
        intent = _intent(_form(request, row, row.fields), row)
        if intent is None:
            return redirect(_address(request, row, "readiness"))
        group = setups.start(
            access=access, setup=row, intent=intent, readiness_sha256=seen, key=request.POST.get("key", "")
        )
    except Refusal as refusal:
        if refusal.status not in SHOWN:
            raise
        return _page(request, row, "readiness", row.fields, refused=refusal)
    messages.success(request, "All arms are running.")
    return redirect("comparisons:group", team=access.team.slug, group=group.pk)


@team_page(*LAUNCH_RIGHTS, methods=("POST",))
def use_template(request: TeamRequest, template: UUID) -> HttpResponse:
    """A new setup as a version of the template says it."""
    access = request.access
    found = access.find(Template.objects.all(), pk=template)
    chosen = templates.versions_of(found).filter(number=lists.whole(request.POST.get("version", ""))).first()
    if chosen is None:
        raise Refusal("not_found")
    if found.archived_at is not None:
        raise Refusal("template_archived", f"The template {found.name} is archived.")
    if templates.body_of(chosen) is None:
        raise Refusal("template_unavailable", f"What {chosen} says was taken away.")
    return _restore(request, setups.begin(access=access, pk=new_id(), fields={}), chosen)


@team_page(*LAUNCH_RIGHTS, methods=("POST",))
def again(request: TeamRequest, group: UUID) -> HttpResponse:
    """A new setup that means what a group ran: its very snapshots, versions and graders."""
    access = request.access
    found = access.find(queries.groups_of(access), pk=group)
    row = setups.begin(access=access, pk=new_id(), fields=fields_of(queries.meant_by(found)))
    messages.success(request, f"Set up as {found} ran. Nothing has started.")
    return redirect(_address(request, row, "subject"))


@team_page(*LAUNCH_RIGHTS, methods=("POST",))
def drop_setup(request: TeamRequest, setup: UUID) -> HttpResponse:
    gone = setups.drop(access=request.access, setup=setups.own(request.access, setup))
    messages.success(request, "The setup is dropped." if gone else "The setup has started; it stays with its group.")
    return redirect("comparisons:groups", team=request.access.team.slug)


# --- what was sent


def _posted(request: TeamRequest, step: str) -> Fields:
    """The fields of the step as they were sent; those that were not sent hold nothing."""
    return {name: request.POST.getlist(name) for name in STEPS[step][1]}


def _sent(request: TeamRequest, row: Setup, step: str) -> HttpResponse:
    """What the pressed button asks for. The fields are kept already, whatever comes of it."""
    go = request.POST.get("go", "next")
    if go in STEPS:
        return redirect(_address(request, row, go))
    if go in ("find", "more"):
        return _page(request, row, step, row.fields)
    try:
        if go == "restore":
            return _restore(request, row, _asked_version(request, row))
        if go == "undo":
            setups.undo(access=request.access, setup=row)
            return redirect(_address(request, row, step))
        if go == "refresh":
            setups.refresh(access=request.access, setup=row)
            messages.success(request, "The template's versions were read again. Your fields are as they were.")
            return redirect(_address(request, row, step))
        if go in ("save_template", "save_version"):
            return _save(request, row, step, new=go == "save_template")
    except Refusal as refusal:
        if refusal.status not in SHOWN:
            raise
        return _page(request, row, step, row.fields, refused=refusal)
    form = _form(request, row, row.fields)
    form.is_valid()
    form.only(step)
    if step == ORDER[-1]:
        return redirect(_address(request, row, step))
    if form.errors:
        return _page(request, row, step, row.fields, form=form)
    return redirect(_address(request, row, ORDER[ORDER.index(step) + 1]))


def _asked_version(request: TeamRequest, row: Setup) -> TemplateVersion:
    """The version that was chosen; the current one of a template that was chosen anew."""
    access = request.access
    try:
        pk = UUID(request.POST.get("template", ""))
    except ValueError:
        raise Refusal("invalid_field", "Choose a template.", place="template") from None
    template = access.find(Template.objects.all(), pk=pk)
    if template.pk == row.template_id:
        try:
            return templates.version_of(access, UUID(request.POST.get("template_version", "")))
        except ValueError:
            raise Refusal("invalid_field", "Choose a version.", place="template_version") from None
    return templates.versions_of(template)[0]


def _restore(request: TeamRequest, row: Setup, version: TemplateVersion) -> HttpResponse:
    row = setups.restore(access=request.access, setup=row, version=version, fields_of=fields_of)
    messages.success(request, f"Restored {version}.")
    return redirect(_address(request, row, "subject"))


def _save(request: TeamRequest, row: Setup, step: str, *, new: bool) -> HttpResponse:
    form = _form(request, row, row.fields)
    intent = _intent(form, row)
    if intent is None:
        faulty = form.faulty()
        text = "Fill in every step first; a template is a whole setup."
        refused = Refusal("invalid_field", text, place=faulty[0] if faulty else "")
        return _page(request, row, step if step in faulty else faulty[0], row.fields, form=form, refused=refused)
    name = request.POST.get("template_name", "") if new else None
    version = setups.save(access=request.access, setup=row, intent=intent, name=name)
    messages.success(request, f"Saved as {version}.")
    return redirect(_address(request, row, step))


# --- what is shown


def _form(request: TeamRequest, row: Setup | None, fields: Fields, found: offering.Found | None = None) -> SetupForm:
    found = found or offering.search(request.access, "", 0, fields)
    data = as_query(fields) if row is not None else None
    initial = {name: values[0] for name, values in fields.items() if values}
    return SetupForm(data, offered=offering.offered(request.access, found, fields), initial=initial)


def _intent(form: SetupForm, row: Setup) -> Intent | None:
    """What is meant; None where a field is wrong, which the form then says."""
    if not form.is_valid():
        return None
    try:
        return form.intent(row.template_version_id)
    except Refusal as refusal:
        form.add(refusal)
        return None


def _page(
    request: TeamRequest,
    row: Setup | None,
    step: str,
    fields: Fields,
    *,
    form: SetupForm | None = None,
    refused: Refusal | None = None,
    judged: bool = False,
) -> HttpResponse:
    access = request.access
    words = request.POST.get("q", "")[:200].replace("\0", "")
    more = offering.PAGE if request.POST.get("go") == "more" else 0
    found = offering.search(access, words, lists.whole(request.POST.get("shown", "")) + more, fields)
    fresh = form is None
    form = form or _form(request, row, fields, found)
    readiness: Readiness | None = None
    if step == "readiness":
        assert row is not None
        intent = _intent(form, row)
        try:
            readiness = check(access, intent) if intent is not None else None
        except Refusal as refusal:
            form.add(refusal)
        if readiness is None:
            faulty = [one for one in form.faulty() if one != "readiness"] or ["subject"]
            return redirect(f"{_address(request, row, faulty[0])}?check=1")
    elif fresh and judged:
        _judge(access, form, row)
        form.only(step)
    elif fresh:
        form.errors.clear()  # nothing was sent to be judged
    faults = bool(form.errors)
    context: dict[str, Any] = {
        "section": "comparisons",
        "setup": row,
        "setup_id": row.pk if row else new_id(),
        "form": form,
        "step": step,
        "step_title": STEPS[step][0],
        "steps": _steps(row, step),
        "fields": form.of_step(step),
        "found": found,
        "readiness": readiness,
        "refused": refused,
        "here": _address(request, row, step),
        **_beside(request, row),
    }
    status = refused.status if refused else 422 if faults and not fresh else 200
    return render(request, "comparisons/setups/step.html", context, status=status)


def _judge(access: Any, form: SetupForm, row: Setup | None) -> None:
    """Say every fault of what was kept, those that readiness alone sees among them."""
    intent = _intent(form, row) if row is not None else None
    if intent is None:
        return
    try:
        check(access, intent)
    except Refusal as refusal:
        form.add(refusal)


def _steps(row: Setup | None, step: str) -> list[dict[str, Any]]:
    at = ORDER.index(step)
    return [
        {"name": name, "title": title, "current": name == step, "done": ORDER.index(name) < at}
        for name, (title, _) in STEPS.items()
    ]


def _beside(request: TeamRequest, row: Setup | None) -> dict[str, Any]:
    """Templates to restore, and whether the chosen one went on since."""
    access = request.access
    chosen = list(templates.templates_of(access))
    versions: list[TemplateVersion] = []
    if row is not None and row.template is not None:
        if row.template not in chosen:
            chosen.append(row.template)
        versions = list(templates.versions_of(row.template)[:200])
    return {
        "templates": chosen,
        "template_versions": versions,
        "head": row.template.head if row is not None and row.template is not None else None,
        "may_save": access.allows(*templates.SAVE),
        "unstarted": sum(one.pk != row.pk if row else True for one in setups.unstarted(access)),
    }


def _address(request: TeamRequest, row: Setup | None, step: str) -> str:
    slug = request.access.team.slug
    if row is None:
        return reverse("comparisons:new_group", kwargs={"team": slug})
    return reverse("comparisons:setup", kwargs={"team": slug, "setup": row.pk, "step": step})
