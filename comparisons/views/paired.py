"""Pages of comparisons: the chooser, the paired comparison, one case, the export."""

from __future__ import annotations

from typing import Any, cast

from django.core.paginator import Page, Paginator
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from analysis import planning
from comparisons import casefile, cases, evidence, exports, pictures, planned, queries, selection, showing
from comparisons.cases import Listing
from comparisons.lenses import paired as lens
from comparisons.lenses import verdict
from comparisons.lenses.paired import Paired
from comparisons.selection import Asked, Offer
from datasets.models import Dataset
from runs.models import Experiment
from teams import lists
from teams.gates import TeamRequest, team_page
from teams.permissions import Right
from teams.refusals import Refusal

TABS = ("cases", "unmatched", "coverage", "changed", "ranges", "plan", "details")
CHOOSING = ("comparison_ambiguous", "comparison_unavailable", "comparison_no_shared_metric", "comparison_same_side")
"""Refusals that the page answers with its own form, the choices in it."""


@team_page(Right.EVALUATION_READ)
def choose(request: TeamRequest) -> HttpResponse:
    """Which two experiments: pick a dataset, then a candidate and a baseline."""
    team = request.access.team
    datasets = queries.datasets_to_compare(team)
    candidate = _known(request, request.GET.get("candidate", ""))
    baseline = _known(request, request.GET.get("baseline", ""))
    chosen = _dataset(request, datasets, candidate or baseline)
    offered = queries.offered(team, chosen) if chosen else []
    picked = {one.pk for one in (candidate, baseline) if one is not None}
    offered += [one for one in (candidate, baseline) if one is not None and one.pk not in {row.pk for row in offered}]
    names = queries.metric_names(offered)
    context = {
        "section": "comparisons",
        "datasets": datasets,
        "dataset": chosen,
        "rows": [{"experiment": one, "metrics": names.get(one.pk, [])} for one in offered],
        "alone": len(offered) == 1 and queries.passes(offered[0]) < 2,
        "more": chosen is not None and chosen.finished > queries.OFFERED,  # type: ignore[attr-defined]  # annotated
        "limit": queries.OFFERED,
        "candidate": (candidate or (offered[0] if len(offered) > 1 else None)),
        "baseline": (baseline or (offered[-1] if len(offered) > 1 and offered[-1].pk not in picked else None)),
    }
    return render(request, "comparisons/list.html", context)


def _known(request: TeamRequest, text: str) -> Experiment | None:
    if not text:
        return None
    rows = Experiment.objects.select_related("subject", "version__dataset")
    return request.access.find(rows, pk=text)


def _dataset(request: TeamRequest, datasets: list[Dataset], given: Experiment | None) -> Dataset | None:
    if asked := request.GET.get("dataset", ""):
        found = next((one for one in datasets if str(one.pk) == asked), None)
        if found is None:
            raise Refusal("not_found")
        return found
    if given is not None:
        return next((one for one in datasets if one.pk == given.version.dataset_id), None)
    return datasets[0] if datasets else None


@team_page(Right.EVALUATION_READ)
def paired(request: TeamRequest) -> HttpResponse:
    """One paired comparison. Its whole selection is in the address; an incomplete one gets a complete address."""
    asked = Asked.of(request.GET)
    if not asked.candidate or not asked.baseline:
        return HttpResponseRedirect(f"{_address(request, 'list')}?{asked.query()}")
    offer = selection.offer(request.access, asked)
    if asked.only_experiments:
        preselected = offer.preselected()
        if preselected is None:
            return _form(request, offer, None)
        return HttpResponseRedirect(f"{_address(request, 'paired')}?{preselected.query()}")
    try:
        resolved = offer.resolve()
    except Refusal as refusal:
        if refusal.code not in CHOOSING:
            raise
        return _form(request, offer, refusal)
    tab = lists.chosen(request, "tab", TABS, "cases")
    listing = Listing.of(request.access, request.GET)
    if asked.query() != resolved.selection.query():
        rest = {"tab": tab if tab != "cases" else None, **listing.parameters()}
        if tab == "plan":
            rest["difference"] = request.GET.get("difference", "")
        return HttpResponseRedirect(f"{_address(request, 'paired')}?{resolved.selection.query(**rest)}")
    shown = lens.view(request.access.team, resolved)
    context = _evidence(request, shown, tab, listing)
    if request.htmx and request.htmx.target == "evidence":
        return render(request, "comparisons/paired.html#evidence", context)
    return render(request, "comparisons/paired.html", context | _summary(request, shown, offer))


def _address(request: TeamRequest, name: str) -> str:
    return reverse(f"comparisons:{name}", kwargs={"team": request.access.team.slug})


def _form(request: TeamRequest, offer: Offer, refusal: Refusal | None) -> HttpResponse:
    """The selection form by itself, when there is no complete selection to show."""
    context = {"section": "comparisons", "refusal": refusal, **_form_context(offer)}
    return render(request, "comparisons/choose.html", context, status=refusal.status if refusal else 200)


def _form_context(offer: Offer) -> dict[str, Any]:
    return {
        "offer": offer,
        "experiments": offer.experiments,
        "metrics": offer.metric_choices(),
        "sides": [
            {
                "side": side,
                "experiment": offer.experiments[side],
                "passes": offer.pass_choices(side),
                "graders": offer.grader_choices(side),
                "interpretations": offer.interpretation_choices(side),
            }
            for side in selection.SIDES
        ],
        "target": offer.target,
        "margin": offer.margin or "",
    }


def _summary(request: TeamRequest, shown: Paired, offer: Offer) -> dict[str, Any]:
    """The upper part of the page: filters and tabs below never change it."""
    result, chosen = shown.result, shown.selection
    address = _address(request, "paired")
    tabs = {name: f"{address}?{chosen.query(tab=name if name != 'cases' else None)}#evidence" for name in TABS}
    filters = {name: f"{address}?{chosen.query(filter=name)}#evidence" for name in cases.FILTERS}
    other_metrics = []
    for key, name in offer.shared_metrics().items():
        pre = offer.preselected(key) if key != chosen.metric else None
        if pre is not None:
            other_metrics.append((name, f"{address}?{pre.query()}"))
    said = verdict.verdicts(shown)
    return {
        "section": "comparisons",
        "headline": said.headline,
        "verdict": showing.shown_verdict(said, tabs),
        "swap": f"{address}?{chosen.swapped.query()}",
        "chart": pictures.interval_chart(result),
        "strip": pictures.strip(shown),
        "chips": showing.chips(result, said, tabs),
        "cards": showing.cards(result, tabs, filters),
        "loud": showing.loud_notices(result),
        "quiet": showing.quiet_notices(result),
        "other_metrics": other_metrics,
        "filter_urls": filters,
        **_form_context(offer),
    }


def _evidence(request: TeamRequest, shown: Paired, tab: str, listing: Listing) -> dict[str, Any]:
    """The lower part of the page: one tab."""
    result, chosen = shown.result, shown.selection
    address = _address(request, "paired")
    unmatched = len(shown.unmatched.row) + sum(one.rows for one in result.unmatched if one.reason == "duplicate")
    context: dict[str, Any] = {
        "paired": shown,
        "result": result,
        "resolved": shown.resolved,
        "selection": chosen,
        "query": chosen.query(),
        "tab": tab,
        "listing": listing,
        "tabs": [
            (name, f"{address}?{chosen.query(tab=name if name != 'cases' else None)}", label, count)
            for name, label, count in (
                ("cases", "Cases", result.filters.all),
                ("unmatched", "Unmatched", unmatched),
                ("coverage", "Coverage", None),
                ("changed", "What changed", sum(1 for one in result.differences if one.state == "different")),
                ("ranges", "Per-case means and ranges", None),
                ("plan", "Plan", None),
                ("details", "Details", None),
            )
        ],
        "points": pictures.in_points(result),
        "better": pictures.better(result),
        "export": {
            name: f"{_address(request, 'export')}?{chosen.query(format=name, **listing.parameters(page=False))}"
            for name in exports.FORMATS
        },
    }
    match tab:
        case "cases":
            context |= _case_rows(request, shown, tab, listing)
        case "ranges":
            lists_ = {name: f"{address}?{chosen.query(filter=name)}#evidence" for name in cases.FILTERS}
            lists_["unmatched"] = f"{address}?{chosen.query(tab='unmatched')}#evidence"
            context |= _case_rows(request, shown, tab, listing)
            context |= {"flow": pictures.flow(shown, lists_), "distribution": pictures.distribution(shown)}
        case "unmatched":
            context |= _unmatched(request, shown)
        case "plan":
            context |= _plan(request, shown)
        case "coverage":
            attempts = evidence.failed_attempts(shown.resolved)
            context |= {
                "coverage": evidence.coverage(shown.loaded),
                "both": [("candidate", result.candidate, attempts[0]), ("baseline", result.baseline, attempts[1])],
            }
    return context


def _plan(request: TeamRequest, shown: Paired) -> dict[str, Any]:
    """What would settle it; a difference that is none is told beside its field."""
    given, error, difference = request.GET.get("difference", ""), "", None
    try:
        difference = planned.difference(given)
    except Refusal as refusal:
        error = refusal.message
    adequacy = shown.result.adequacy
    usual = adequacy.target if adequacy is not None else None
    return {
        "answer": None if error else planning.answer(shown.result, difference),
        "difference": given or ("" if usual is None else f"{usual:g}"),
        "error": error,
        "hidden": [*_fields(shown), ("tab", "plan")],
    }


def _fields(shown: Paired) -> list[tuple[str, Any]]:
    """The selection as hidden fields of a form; the usual target is left out."""
    return [
        (name, value)
        for name, value in shown.selection.plain().items()
        if value not in (None, "") and not (name == "target" and value == selection.DEFAULT_TARGET)
    ]


def _case_rows(request: TeamRequest, shown: Paired, tab: str, listing: Listing) -> dict[str, Any]:
    order = cases.ordered(shown, listing)
    page = _page(order, listing.page, cases.PAGE)
    rows = cases.rows(shown, page.object_list, request.access, previews=True)
    address = _address(request, "paired")
    chosen = shown.selection
    where = f"{_address(request, 'case')}?{chosen.query(**listing.parameters(page=False))}"
    tab_ = tab if tab != "cases" else None
    search = {"q": listing.q or None, "sort": listing.sort or None, "tab": tab_}

    def href(**more: Any) -> str:
        return f"{address}?{chosen.query(**search, **more)}"

    return {
        "page": page,
        "sort": listing.sort,
        "rows": showing.shown_cases(shown, rows, [f"{where}&item={row.item}" for row in rows]),
        "filters": [
            (name, href(filter=name), cases.FILTERS[name], count, listing.effective == name)
            for name, count in cases.counts(shown.result.filters).items()
        ],
        "all_href": href(),
        "hidden": [
            *_fields(shown),
            *(
                (name, value)
                for name, value in (
                    ("tab", tab_),
                    ("filter", listing.filter),
                    ("only_regressions", "1" if listing.only_regressions else ""),
                    ("sort", listing.sort),
                )
                if value not in (None, "")
            ),
        ],
        "noun": listing.noun if listing.effective else ("case" if len(order) == 1 else "cases"),
        "categorical": cases.is_categorical(shown),
    }


def _page(order: Any, number: int, size: int) -> Page[Any]:
    return Paginator(order, size).get_page(number)


def _unmatched(request: TeamRequest, shown: Paired) -> dict[str, Any]:
    side = lists.chosen(request, "side", selection.SIDES)
    reason = lists.chosen(request, "reason", [*shown.unmatched.reasons, "duplicate"])
    positions = cases.unmatched_positions(shown, side, reason)
    page = lists.page_of(request, positions, cases.PAGE)
    rows = cases.unmatched_rows(shown, page.object_list, request.access)
    address, chosen = _address(request, "paired"), shown.selection
    case = f"{_address(request, 'case')}?{chosen.query()}"
    texts = {one.reason: one.text for one in shown.result.unmatched}
    return {
        "page": page,
        "rows": [
            {"row": row, "href": f"{case}&item={row.item}&repetition={row.repetition}", "text": texts[row.reason]}
            for row in rows
        ],
        "reasons": [
            {
                "count": one,
                "href": f"{address}?{chosen.query(tab='unmatched', side=one.side, reason=one.reason)}",
                "current": (side, reason) == (one.side, one.reason),
            }
            for one in shown.result.unmatched
        ],
        "all_href": f"{address}?{chosen.query(tab='unmatched')}",
        "narrowed": bool(side or reason),
    }


@team_page(Right.EVALUATION_READ, Right.EVALUATION_CONTENT_READ)
def case(request: TeamRequest) -> HttpResponse:
    """One case side by side: a page of its own, or one part of it for the panel. Content is read anew each time."""
    resolved = selection.resolve(request.access, Asked.of(request.GET))
    listing = Listing.of(request.access, request.GET)
    view = lists.chosen(request, "view", ("words", "formatted"), "words")
    part = lists.chosen(request, "part", ("head", "candidate", "baseline"))
    shown = lens.view(request.access.team, resolved)
    file = casefile.open_case(shown, request.access, request.GET.get("item", ""), request.GET.get("repetition", ""))
    before, after, place, count = casefile.neighbours(shown, file, listing)
    address = _address(request, "case")
    listed = listing.parameters(page=False)

    def here(**more: Any) -> str:
        own = {"item": str(file.item), "view": view if view != "words" else None}
        return f"{address}?{shown.selection.query(**listed, **{**own, **more})}"

    context = {
        "section": "comparisons",
        "paired": shown,
        "result": shown.result,
        "resolved": resolved,
        "file": file,
        "view": view,
        "here": here(repetition=file.repetition),
        "views": [
            ("Word differences", here(repetition=file.repetition, view=None), view == "words"),
            ("Formatted", here(repetition=file.repetition, view="formatted"), view == "formatted"),
        ],
        "repetitions": [(number, here(repetition=number), number == file.repetition) for number in file.repetitions],
        "before": here(item=str(before)) if before else "",
        "after": here(item=str(after)) if after else "",
        "place": place,
        "count": count,
        "noun": listing.noun,
        "back": f"{_address(request, 'paired')}?{shown.selection.query(**listed)}",
    }
    if part in ("", "head"):
        context["watermark"] = verdict.verdicts(shown).watermark
    if part:
        context |= {"side": getattr(file, part, None), "part": part}
        return render(request, f"comparisons/case.html#{'head' if part == 'head' else 'side'}", context)
    return render(request, "comparisons/case.html", context)


@team_page(Right.EVALUATION_READ)
def export(request: TeamRequest) -> HttpResponse:
    """The comparison as a file: JSON with result and rows, or CSV of the rows; filter and order as on screen."""
    format_ = lists.chosen(request, "format", exports.FORMATS, "json")
    resolved = selection.resolve(request.access, Asked.of(request.GET))
    listing = Listing.of(request.access, request.GET)
    shown = lens.view(request.access.team, resolved)
    make = exports.as_csv if format_ == "csv" else exports.as_json
    return cast("HttpResponse", make(shown, listing, request.access))  # streamed, which the door only sets a header on
