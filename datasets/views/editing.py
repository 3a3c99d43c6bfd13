"""Cases as people write them, and the draft of the next version."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from datasets import actions, queries
from datasets.actions.drafts import EDIT, current
from datasets.forms import CaseForms
from datasets.models import Dataset, Item, ItemContent, ItemRevision, Version
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.records import Availability
from teams.refusals import Refusal

PAGE = 50


def _found(request: TeamRequest, dataset: UUID) -> Dataset:
    return request.access.find(Dataset.objects.all(), pk=dataset)


def _base(request: TeamRequest, dataset: Dataset) -> Version | None:
    """The version that the editor was looking at, from the address or the form."""
    number = request.GET.get("version") or request.POST.get("version") or ""
    if not (number.isascii() and number.isdecimal() and len(number) < 9):
        return None
    return request.access.find(queries.versions_of(dataset), team="dataset__team", number=int(number))


def _wants_rows(request: TeamRequest) -> str:
    """Which rows the person asked for more of, instead of saving."""
    which = request.POST.get("more_rows", "")
    return which if which in ("turns", "points") else ""


@team_page(*EDIT, methods=READ_OR_POST)
def add(request: TeamRequest, dataset: UUID) -> HttpResponse:
    """Write a case; it joins the draft of the next version."""
    access, found = request.access, _found(request, dataset)
    base = _base(request, found)
    wanted = _wants_rows(request)
    forms = CaseForms(request.POST if request.method == "POST" and not wanted else None)
    if wanted:
        forms.more_rows(wanted, request.POST)
    elif request.method == "POST" and forms.is_valid():
        try:
            edited = actions.add_case(access=access, dataset=found, case=forms.case(), base=base)
        except Refusal as refusal:
            forms.add(refusal)
        else:
            messages.success(request, "The case is in the draft. Make a version when you are done.")
            if "again" in request.POST:
                return redirect("datasets:add_case", team=access.team.slug, dataset=found.pk)
            return redirect("datasets:revision", team=access.team.slug, dataset=found.pk, revision=edited.revision.pk)
    context = _context(request, found, forms, base)
    return render(request, "datasets/case_form.html", context, status=422 if _failed(request, wanted) else 200)


@team_page(*EDIT, methods=READ_OR_POST)
def edit(request: TeamRequest, dataset: UUID, item: UUID) -> HttpResponse:
    """Revise a case: what is saved is a new revision, listed by the draft of the next version."""
    access, found = request.access, _found(request, dataset)
    chosen = access.find(Item.objects.filter(dataset=found), team="dataset__team", pk=item)
    base = _base(request, found)
    listed = _listed(found, chosen, base)
    if listed is None:
        raise Refusal("case_not_listed")
    content = ItemContent.objects.filter(revision=listed).first() or ItemContent(revision=listed)
    if content.availability != Availability.AVAILABLE:
        raise Refusal("case_content_gone")
    wanted = _wants_rows(request)
    bound = request.POST if request.method == "POST" and not wanted else None
    forms = CaseForms(bound, content, seen=str(listed.pk))
    if wanted:
        forms.more_rows(wanted, request.POST)
    elif bound is not None and forms.is_valid():
        seen = forms.form.cleaned_data["seen"]
        try:
            edited = actions.revise_case(
                access=access,
                dataset=found,
                item=chosen.pk,
                case=forms.case(),
                seen_revision=UUID(seen) if len(seen) == 36 else UUID(int=0),
                base=base,
            )
        except Refusal as refusal:
            forms.add(refusal)
        else:
            same = edited.revision.pk == listed.pk
            said = "Nothing was changed." if same else f"Saved as revision {edited.revision.number}, in the draft."
            messages.success(request, said)
            return redirect("datasets:revision", team=access.team.slug, dataset=found.pk, revision=edited.revision.pk)
    context = _context(request, found, forms, base) | {"item": chosen, "listed": listed, "content": content}
    return render(request, "datasets/case_form.html", context, status=422 if _failed(request, wanted) else 200)


def _listed(dataset: Dataset, item: Item, base: Version | None) -> ItemRevision | None:
    draft = queries.draft_of(dataset)
    if draft is None and base is None:
        base = queries.versions_of(dataset).first()
    return current(draft, item.pk, base=base)


def _failed(request: TeamRequest, wanted: str) -> bool:
    return request.method == "POST" and not wanted


def _context(request: TeamRequest, dataset: Dataset, forms: CaseForms, base: Version | None) -> dict[str, Any]:
    return {
        "section": "datasets",
        "dataset": dataset,
        "forms": forms,
        "form": forms.form,
        "base": base,
        "draft": queries.draft_of(dataset),
    }


@team_page(*EDIT, methods=("POST",))
def remove(request: TeamRequest, dataset: UUID, item: UUID) -> HttpResponse:
    """Take a case out of the next version."""
    found = _found(request, dataset)
    actions.remove_case(access=request.access, dataset=found, item=item, base=_base(request, found))
    messages.success(request, "The next version does not list the case. Undo it in the draft.")
    return redirect("datasets:draft", team=request.access.team.slug, dataset=found.pk)


# --- the draft -------------------------------------------------------------------------------------


@team_page(*EDIT)
def draft(request: TeamRequest, dataset: UUID) -> HttpResponse:
    """What the next version changes, each with its way back."""
    found = _found(request, dataset)
    open_ = queries.draft_of(found)
    context: dict[str, Any] = {"section": "datasets", "dataset": found, "draft": open_, "rows": [], "page": None}
    if open_ is not None:
        page = lists.page_of(request, queries.changes_of(open_), PAGE)
        counts = queries.counts_of(open_)
        context |= {
            "page": page,
            "rows": queries.draft_differences(page.object_list, content=True),
            "counts": counts,
            "hidden": [("revision", open_.revision)],
            "size": (open_.base.count if open_.base else 0) + counts["added"] - counts["removed"],
        }
    return render(request, "datasets/draft.html", context)


def _revision_of(request: TeamRequest) -> int:
    given = request.POST.get("revision", "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 9 else 0


@team_page(*EDIT, methods=("POST",))
def make_version(request: TeamRequest, dataset: UUID) -> HttpResponse:
    found = _found(request, dataset)
    version = actions.make_version(access=request.access, dataset=found, revision=_revision_of(request))
    messages.success(request, f"Version {version.number} lists {version.count:,} cases. It never changes.")
    return redirect("datasets:version", team=request.access.team.slug, dataset=found.pk, number=version.number)


@team_page(*EDIT, methods=("POST",))
def discard(request: TeamRequest, dataset: UUID) -> HttpResponse:
    found = _found(request, dataset)
    actions.discard_draft(access=request.access, dataset=found, revision=_revision_of(request))
    messages.success(request, "The draft is discarded. The revisions that were written stay with their cases.")
    return redirect("datasets:detail", team=request.access.team.slug, dataset=found.pk)


@team_page(*EDIT, methods=("POST",))
def undo(request: TeamRequest, dataset: UUID, item: UUID) -> HttpResponse:
    found = _found(request, dataset)
    actions.undo_change(access=request.access, dataset=found, item=item)
    messages.success(request, "The case stands as in the version that the draft starts from.")
    return redirect("datasets:draft", team=request.access.team.slug, dataset=found.pk)
