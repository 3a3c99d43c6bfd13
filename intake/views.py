"""Pages of imports: the list, the upload, one import from dry run to result, its rejected rows."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.forms import BaseFormSet, formset_factory
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.urls import reverse

from analysis.refusals import Refused
from intake import actions, forms, previewing, queries, working
from intake.models import Import, ImportState
from intake.readers import mapping as mappings
from intake.uploading import names_of
from teams import csv_export, lists
from teams.gates import TeamRequest, team_page
from teams.permissions import IMPORT_RIGHTS
from teams.refusals import Refusal

READ_OR_POST = ("GET", "HEAD", "POST")
PAGE = 30
AT_ONCE_BYTES = 256 * 1024
"""Plain files up to this size together are looked at in the request, without waiting for a worker."""
ENDINGS = ".eval,.json,.jsonl,.ndjson,.csv,.tsv,.gz"
FILE_HELP = "Inspect .eval and .json, τ-bench, CSV, TSV, JSON, JSONL; text also as .gz. Up to {} files of {} each."
STATES = [state.value for state in ImportState]
Scorers: type[BaseFormSet[forms.ScorerForm]] = formset_factory(
    forms.ScorerForm, extra=1, max_num=forms.MOST_SCORERS, validate_max=True
)


@team_page(*IMPORT_RIGHTS)
def import_list(request: TeamRequest) -> HttpResponse:
    state = lists.chosen(request, "state", STATES)
    rows = queries.imports_of(request.access.team)
    if state:
        rows = rows.filter(state=state)
    context = {
        "section": "experiments",
        "page": lists.page_of(request, rows, PAGE),
        "state": state,
        "states": ImportState.choices,
    }
    return render(request, "intake/list.html", context)


def _new_page(request: TeamRequest, form: forms.UploadForm, refusal: Refusal | None = None) -> HttpResponse:
    context = {
        "section": "experiments",
        "form": form,
        "names": queries.dataset_names(request.access.team),
        "file_errors": [refusal.message] if refusal and refusal.place in ("files", "paths", "") else [],
        "file_help": FILE_HELP.format(settings.MAX_UPLOAD_FILES, filesizeformat(settings.MAX_UPLOAD_BYTES)),
        "endings": ENDINGS,
    }
    status = refusal.status if refusal else 422 if form.is_bound else 200
    return render(request, "intake/new.html", context, status=status)


@team_page(*IMPORT_RIGHTS, methods=READ_OR_POST)
def new(request: TeamRequest) -> HttpResponse:
    access = request.access
    if request.method != "POST":
        return _new_page(request, forms.UploadForm(access.team))
    form = forms.UploadForm(access.team, request.POST)
    if not form.is_valid():
        return _new_page(request, form)
    given: list[UploadedFile[Any]] = request.FILES.getlist("files")
    try:
        names = names_of(given, request.POST.get("paths", ""))
        row, made = actions.create(
            access=access,
            files=[(name, file.chunks()) for name, file in zip(names, given, strict=True)],
            key=form.cleaned_data["key"],
            dataset_name=form.cleaned_data["dataset"],
            mapping=form.cleaned_data["mapping"],
        )
    except Refusal as refusal:
        if refusal.place in form.fields:
            form.add_error(refusal.place, refusal.message)
        elif refusal.place not in ("files", "paths", ""):
            form.add_error(None, refusal.message)
        return _new_page(request, form, refusal)
    if made and _quick(given):
        working.advance(row.pk, worker="web", own_connection=False)
    return redirect("imports:detail", team=access.team.slug, row=row.pk)


def _quick(files: list[UploadedFile[Any]]) -> bool:
    """Small plain text; whatever unpacks is left to a worker with its bounded memory."""
    plain = all((file.name or "").lower().endswith((".json", ".jsonl", ".ndjson", ".csv", ".tsv")) for file in files)
    return plain and sum(file.size or 0 for file in files) <= AT_ONCE_BYTES


def _find(request: TeamRequest, row: UUID) -> Import:
    return request.access.find(queries.full(request.access.team), pk=row)


def _page(request: TeamRequest, row: Import, status: int = 200, **extra: Any) -> HttpResponse:
    """An import as it stands; the body alone where a live part asks for it."""
    context: dict[str, Any] = {
        "section": "experiments",
        "row": row,
        "text": row.importtext,
        "poll": reverse("imports:detail", kwargs={"team": row.team.slug, "row": row.pk}),
        "working": queries.is_working(row),
        "discardable": queries.is_discardable(row),
    }
    if queries.is_working(row):
        context["pace"] = queries.pace(row)
    if row.state == ImportState.READY and "remap" not in request.GET and "mapping_form" not in extra:
        context |= _ready(row, extra.get("confirm_form"))
    if row.state in (ImportState.NEEDS_MAPPING, ImportState.READY) and "dry" not in context:
        context |= _mapping(row)
    if row.state == ImportState.COMPLETED:
        context["results"] = queries.results(row)
    template = "intake/_body.html" if request.htmx else "intake/detail.html"
    return render(request, template, context | extra, status=status)


def _ready(row: Import, form: forms.ConfirmForm | None) -> dict[str, Any]:
    dry = queries.dry_run(row)
    form = form or forms.ConfirmForm(row, dry.runs)
    return {
        "dry": dry,
        "confirm_form": form,
        "labelled": [(run, form.label_of(run.position)) for run in dry.runs],
        "names": queries.dataset_names(row.team),
        "mapping_json": forms.pretty(row.mapping) if row.mapping else "",
    }


def _mapping(row: Import) -> dict[str, Any]:
    body = row.mapping or row.importtext.suggestion
    current = None if body is None else mappings.from_json(body)
    return {
        "preview": previewing.preview(row),
        "mapping_form": forms.MappingForm(initial=forms.mapping_initial(current)),
        "scorers": Scorers(
            prefix="scorers",
            initial=[forms.scorer_initial(scorer) for scorer in current.scorers] if current else [],
        ),
        "json_form": forms.JsonMappingForm(initial={"body": forms.pretty(body) if body else ""}),
        "choices": queries.mapping_choices(row.team),
        "suggested": row.mapping is None and body is not None,
    }


@team_page(*IMPORT_RIGHTS)
def detail(request: TeamRequest, row: UUID) -> HttpResponse:
    return _page(request, _find(request, row))


@team_page(*IMPORT_RIGHTS)
def target(request: TeamRequest, row: UUID) -> HttpResponse:
    """How the import would meet the dataset that is being typed."""
    found = _find(request, row)
    if found.state != ImportState.READY:
        raise Refusal("import_state_changed")
    name = " ".join(request.GET.get("dataset", "").split())[:120]
    return render(request, "intake/_target.html", {"row": found, "dry": queries.dry_run(found, dataset_name=name)})


@team_page(*IMPORT_RIGHTS, methods=("POST",))
def map_columns(request: TeamRequest, row: UUID) -> HttpResponse:
    found = _find(request, row)
    if found.state not in (ImportState.NEEDS_MAPPING, ImportState.READY):
        raise Refusal("import_state_changed", f"The import is now: {found.get_state_display().lower()}.")
    kind = request.POST.get("kind", "guided")
    if kind == "saved":
        return _take(request, found, request.POST.get("name", "")[:200], save_as="")
    if kind == "json":
        return _map_json(request, found)
    form = forms.MappingForm(request.POST)
    scorers = Scorers(request.POST, prefix="scorers")
    valid = form.is_valid()
    if not (scorers.is_valid() and valid):
        return _page(request, found, 422, mapping_form=form, scorers=scorers, **_other(found))
    base = form.base_mapping()
    known = {scorer.key: scorer for scorer in base.scorers} if base else {}
    filled = [one for one in scorers.forms if one.cleaned_data.get("key")]
    try:
        drafts = [one.mapping(known.get(one.cleaned_data["key"])) for one in filled]
        body = form.mapping([draft for draft in drafts if draft is not None])
    except Refused as refused:
        form.show_refusal(refused, filled)
        return _page(request, found, 422, mapping_form=form, scorers=scorers, **_other(found))
    return _take(request, found, body, save_as=form.cleaned_data["save_as"], form=form, scorers=scorers)


def _other(row: Import) -> dict[str, Any]:
    """What the mapping page shows beside the form that came back with its errors."""
    return {name: value for name, value in _mapping(row).items() if name not in ("mapping_form", "scorers")}


def _map_json(request: TeamRequest, found: Import) -> HttpResponse:
    form = forms.JsonMappingForm(request.POST)
    if not form.is_valid():
        return _page(
            request, found, 422, json_form=form, **{k: v for k, v in _mapping(found).items() if k != "json_form"}
        )
    return _take(request, found, form.cleaned_data["body"], save_as=form.cleaned_data["json_save_as"], json_form=form)


def _take(
    request: TeamRequest,
    found: Import,
    mapping: Any,
    *,
    save_as: str,
    form: forms.MappingForm | None = None,
    scorers: BaseFormSet[forms.ScorerForm] | None = None,
    json_form: forms.JsonMappingForm | None = None,
) -> HttpResponse:
    """Look again under this mapping; a name that is taken comes back beside its field."""
    if save_as:
        try:
            actions.save_mapping(access=request.access, name=save_as, body=mapping)
        except Refusal as refusal:
            if form is not None and scorers is not None:
                form.add_error("save_as", refusal.message)
                return _page(request, found, refusal.status, mapping_form=form, scorers=scorers, **_other(found))
            if json_form is not None:
                json_form.add_error("json_save_as", refusal.message)
                rest = {name: value for name, value in _mapping(found).items() if name != "json_form"}
                return _page(request, found, refusal.status, json_form=json_form, **rest)
            raise
    actions.remap(access=request.access, row=found, mapping=mapping)
    total = sum(file.size for file in found.files)  # type: ignore[attr-defined]  # prefetched by `full`
    if total <= AT_ONCE_BYTES:
        working.advance(found.pk, worker="web", own_connection=False)
    return redirect("imports:detail", team=request.access.team.slug, row=found.pk)


@team_page(*IMPORT_RIGHTS, methods=("POST",))
def confirm(request: TeamRequest, row: UUID) -> HttpResponse:
    found = _find(request, row)
    if found.state != ImportState.READY:  # a doubled click, or a second tab: the page says where it is now
        return redirect("imports:detail", team=request.access.team.slug, row=found.pk)
    form = forms.ConfirmForm(found, queries.dry_run(found).runs, request.POST)
    if not form.is_valid():
        return _page(request, found, 422, confirm_form=form)
    try:
        actions.confirm(
            access=request.access,
            row=found,
            dataset_name=form.cleaned_data["dataset"],
            labels=form.labels(),
            trust=form.cleaned_data["trust"],
            accept_rejected=form.cleaned_data.get("accept_rejected", False),
        )
    except Refusal as refusal:
        if refusal.status == 409:
            raise
        form.add_error(refusal.place if refusal.place in form.fields else None, refusal.message)
        return _page(request, found, refusal.status, confirm_form=form)
    return redirect("imports:detail", team=request.access.team.slug, row=found.pk)


@team_page(*IMPORT_RIGHTS, methods=READ_OR_POST)
def discard(request: TeamRequest, row: UUID) -> HttpResponse:
    """Asks first, by a page of its own: it works without a script, and while the import's page updates itself."""
    found = _find(request, row)
    if request.method != "POST":
        if not queries.is_discardable(found):
            return redirect("imports:detail", team=request.access.team.slug, row=found.pk)
        return render(request, "intake/discard.html", {"section": "experiments", "row": found})
    actions.discard(access=request.access, row=found)
    messages.success(request, "The import was discarded; its files and everything read from them are gone.")
    return redirect("imports:list", team=request.access.team.slug)


@team_page(*IMPORT_RIGHTS)
def rejected(request: TeamRequest, row: UUID) -> HttpResponse:
    found = _find(request, row)
    codes = queries.rejected_codes(found)
    code = lists.chosen(request, "code", [name for name, _ in codes])
    rows = queries.rejected_rows(found)
    if code:
        rows = rows.filter(code=code)
    context = {
        "section": "experiments",
        "row": found,
        "codes": codes,
        "code": code,
        "labels": [run["label"] for run in found.importtext.runs],
        "page": lists.page_of(request, rows),
    }
    return render(request, "intake/rejected.html", context)


@team_page(*IMPORT_RIGHTS)
def rejected_csv(request: TeamRequest, row: UUID) -> HttpResponse:
    found = _find(request, row)
    labels = [run["label"] for run in found.importtext.runs]
    rows = (
        (
            rejected.number,
            labels[rejected.run] if rejected.run < len(labels) else rejected.run + 1,
            rejected.code,
            rejected.rejectedtext.place,
            rejected.rejectedtext.message,
            rejected.rejectedtext.excerpt,
        )
        for rejected in queries.rejected_rows(found).iterator(chunk_size=500)
    )
    head = ("number", "run", "code", "place", "message", "excerpt")
    return cast(HttpResponse, csv_export.response(f"rejected-rows-{str(found.pk)[-8:]}", head, rows))
