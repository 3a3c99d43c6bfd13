"""The paired comparison over the API: the same result object as the page, and its case rows."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis import planning
from analysis.results import plain
from comparisons import cases, exports, planned, selection
from comparisons.cases import LISTING, Listing
from comparisons.lenses import paired as lens
from comparisons.lenses import verdict
from comparisons.lenses.paired import Paired
from comparisons.selection import PARAMETERS, Asked
from teams import endpoints
from teams.access import Access
from teams.api import DEFAULT_PAGE, MAX_PAGE, known_parameters, positive
from teams.permissions import Right

_REQUIRED = ("candidate", "baseline")
_DOCUMENTED = [
    OpenApiParameter(name, OpenApiTypes.STR, required=name in _REQUIRED, description=text)
    for name, text in {
        "candidate": "Id of the candidate experiment.",
        "baseline": "Id of the baseline experiment; the same one for comparing two passes.",
        "candidate_pass": "Number or id of the candidate's grading pass.",
        "baseline_pass": "Number or id of the baseline's grading pass.",
        "metric": "Key of the metric definition.",
        "candidate_grader": "Id of the candidate's exact grader version.",
        "baseline_grader": "Id of the baseline's exact grader version.",
        "candidate_interpretation": "Id of an interpretation pinned to the candidate's pass and version.",
        "baseline_interpretation": "Id of an interpretation pinned to the baseline's pass and version.",
        "target": "The effect that matters, as a share of the scale; 0.05 unless given.",
        "margin": "How much worse is still acceptable, as a share of the scale; none unless given.",
    }.items()
]
_DIFFERENCE = OpenApiParameter(
    "difference",
    OpenApiTypes.STR,
    description="The difference to be seen, in the metric's unit (a share for pass or fail); the target unless given.",
)
_LISTED = [
    OpenApiParameter("filter", OpenApiTypes.STR, enum=list(cases.FILTERS)),
    OpenApiParameter("only_regressions", OpenApiTypes.STR, enum=["0", "1"], description="Takes precedence."),
    OpenApiParameter("sort", OpenApiTypes.STR, description=f"One of {', '.join(cases.SORTS)}; a minus for descending."),
    OpenApiParameter("q", OpenApiTypes.STR, description="Text in title, source id or tags; needs the content right."),
    OpenApiParameter("page", OpenApiTypes.INT),
    OpenApiParameter("page_size", OpenApiTypes.INT),
]


def _shown(request: Request) -> tuple[Access, Paired]:
    access: Access = request.access  # type: ignore[attr-defined]  # set by the door
    resolved = selection.resolve(access, Asked.of(request.query_params))
    return access, lens.view(access.team, resolved)


def _links(access: Access, paired: Paired) -> dict[str, str]:
    query = paired.selection.query()
    swapped = paired.selection.swapped.query()
    page = {name: reverse(f"comparisons:{name}", kwargs={"team": access.team.slug}) for name in ("paired", "export")}
    own = reverse("api:paired_comparison")
    return {
        "self": f"{own}?{query}",
        "cases": f"{reverse('api:paired_comparison_cases')}?{query}",
        "plan": f"{reverse('api:paired_comparison_plan')}?{query}",
        "swapped": f"{own}?{swapped}",
        "page": f"{page['paired']}?{query}",
        "export_json": f"{page['export']}?{query}&format=json",
        "export_csv": f"{page['export']}?{query}&format=csv",
    }


class PairedComparisonView(APIView):
    """A complete selection and its result. What is ambiguous is refused with the choices in `extra`."""

    needed = {"GET": (Right.EVALUATION_READ,)}

    @extend_schema(parameters=_DOCUMENTED, responses={200: OpenApiTypes.OBJECT, **endpoints.ERRORS})
    def get(self, request: Request) -> Response:
        known_parameters(request, *PARAMETERS)
        access, paired = _shown(request)
        return Response({**exports.head(paired), "links": _links(access, paired)})


class PairedCasesView(APIView):
    """The paired case rows, filtered, sorted and paged as on the page."""

    needed = {"GET": (Right.EVALUATION_READ,)}

    @extend_schema(parameters=[*_DOCUMENTED, *_LISTED], responses={200: OpenApiTypes.OBJECT, **endpoints.ERRORS})
    def get(self, request: Request) -> Response:
        known_parameters(request, *PARAMETERS, *LISTING, "page_size")
        access, paired = _shown(request)
        listing = Listing.of(access, request.query_params)
        size = positive(request, "page_size", DEFAULT_PAGE, MAX_PAGE)
        order = cases.ordered(paired, listing)
        pages = max(1, -(-len(order) // size))
        page = min(listing.page, pages)
        shown = cases.rows(paired, order[(page - 1) * size : page * size], access)
        body: dict[str, Any] = {
            "selection": {**paired.selection.plain(), "fingerprint": paired.selection.fingerprint},
            "watermark": verdict.verdicts(paired).watermark,
            "items": [cases.plain_row(row) for row in shown],
            "count": len(order),
            "page": page,
            "pages": pages,
            "next": None,
        }
        if page < pages:
            query = {**dict(request.query_params.items()), "page": page + 1}
            body["next"] = f"{request.path}?{urlencode(query)}"
        return Response(body)


class PairedPlanView(APIView):
    """How many more cases or repetitions would settle the comparison and what is assumed, or why none can be said."""

    needed = {"GET": (Right.EVALUATION_READ,)}

    @extend_schema(parameters=[*_DOCUMENTED, _DIFFERENCE], responses={200: OpenApiTypes.OBJECT, **endpoints.ERRORS})
    def get(self, request: Request) -> Response:
        known_parameters(request, *PARAMETERS, "difference")
        difference = planned.difference(request.query_params.get("difference", ""))
        _, paired = _shown(request)
        return Response(
            {
                "selection": {**paired.selection.plain(), "fingerprint": paired.selection.fingerprint},
                "watermark": verdict.verdicts(paired).watermark,
                "answer": plain(planning.answer(paired.result, difference)),
            }
        )
