"""API of imports: upload, list, one import, confirmation, rejected rows, saved mappings."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from analysis import strict_json
from analysis.refusals import Refused
from intake import actions, queries, serializers
from intake.models import Import, ImportState
from intake.readers import mapping as mappings
from intake.uploading import names_of
from runs.models import TrustTier
from teams import endpoints
from teams.api import StrictJSONParser, known_parameters, page_of
from teams.permissions import IMPORT_RIGHTS
from teams.refusals import Refusal, from_file

KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="8 to 100 printable characters. The same key and files give the same import again.",
)
FIELDS = ("paths", "dataset", "mapping", "labels", "trust", "dry_run", "accept_rejected")
TRUTH = {"true": True, "1": True, "false": False, "0": False, "": False}
EXAMPLE = {
    "id": "01922f5e-8c1a-7d3e-9b64-2f6f1c0a7e11",
    "state": "completed",
    "files": [{"name": "results.csv", "sha256": "9f2c…", "size": 48211, "kept": True}],
    "dataset": "01922f5e-8c1a-7d3e-9b64-2f6f1c0a7e12",
    "dataset_name": "Support questions",
    "reader": "mapped",
    "trust": "source_verifier",
    "done": 600,
    "total": 600,
    "rejected": 0,
    "created_at": "2026-11-30T12:00:00Z",
    "finished_at": "2026-11-30T12:00:02Z",
    "refusal": None,
    "mapping": {"case": ["item_id"], "arm": "model_id", "repetition": "epoch"},
    "suggested_mapping": None,
    "target": None,
    "runs": [],
    "missing": ["No cost in the file: it stays unknown, which is not zero."],
    "results": [{"run": 0, "experiment": "01922f5e-8c1a-7d3e-9b64-2f6f1c0a7e13", "new": True}],
}
ERRORS: dict[int, Any] = {
    **endpoints.ERRORS,
    409: OpenApiResponse(endpoints.Error, "The key or the import's state does not allow it."),
    413: OpenApiResponse(endpoints.Error, "Too many bytes or files."),
    422: OpenApiResponse(endpoints.Error, "Well-formed, but refused; the code says why."),
}


def _json(text: str, place: str) -> Any:
    try:
        return strict_json.loads(text, place=place)
    except Refused as refused:
        raise Refusal("malformed_request", refused.message, place=refused.place or place, reason=refused.code) from None


def _object(text: str, place: str) -> Any:
    """A value that was sent; `null` is no way of leaving it out."""
    value = _json(text, place)
    return [] if value is None else value


def _truth(text: str, place: str) -> bool:
    if text not in TRUTH:
        raise Refusal("invalid_field", "Send true or false.", place=place)
    return TRUTH[text]


class Imports(endpoints.TeamView):
    """Imports of the team, newest first; and the upload of result files."""

    needed = {"GET": IMPORT_RIGHTS, "POST": IMPORT_RIGHTS}
    parser_classes = (MultiPartParser,)

    @extend_schema(
        operation_id="imports",
        parameters=[*endpoints.PAGING, OpenApiParameter("state", str, enum=ImportState.values)],
        responses=endpoints.listed(serializers.ImportRow),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "state")
        rows = queries.imports_of(self.access.team).select_related("importtext")
        state = request.query_params.get("state", "")
        if state:
            if state not in ImportState.values:
                raise Refusal("invalid_field", f"state is one of {', '.join(ImportState.values)}.", place="state")
            rows = rows.filter(state=state)
        return page_of(request, rows, serializers.import_row)

    @extend_schema(
        operation_id="import_files",
        parameters=[KEY],
        request={"multipart/form-data": serializers.UploadShape},
        responses={202: serializers.ImportShape, **ERRORS},
        examples=[
            OpenApiExample(
                "Taken in",
                EXAMPLE | {"state": "examining", "results": []},
                response_only=True,
                status_codes=["202"],
            )
        ],
        description=(
            "Takes one or more result files in; a worker looks at them and, unless `dry_run` is true, writes them at "
            "once, or refuses the whole import at the first fault. Ask the returned import for its state."
        ),
    )
    def post(self, request: Request) -> Response:
        known_parameters(request)
        given: dict[str, str] = {}
        for name, values in request.data.lists() if isinstance(request.data, QueryDict) else ():
            if name == "files":
                continue
            if name not in FIELDS:
                raise Refusal(
                    "unknown_field", f"The documented fields are files, {', '.join(FIELDS)}.", place=name[:60]
                )
            if len(values) != 1 or not isinstance(values[0], str):
                raise Refusal("invalid_field", "Give this field once, as text.", place=name)
            given[name] = values[0]
        strange = sorted(set(request.FILES) - {"files"})
        if strange:
            raise Refusal("unknown_field", "Files are sent as `files`.", place=strange[0][:60])
        files: list[UploadedFile[Any]] = request.FILES.getlist("files")
        names = names_of(files, given.get("paths", ""))
        mapping: Any = given.get("mapping", "").strip()
        if mapping.startswith("{"):
            mapping = _json(mapping, "mapping")
        dry_run = _truth(given.get("dry_run", ""), "dry_run")
        row, _ = actions.create(
            access=self.access,
            files=[(name, file.chunks()) for name, file in zip(names, files, strict=True)],
            key=request.headers.get("Idempotency-Key", ""),
            dataset_name=given.get("dataset", ""),
            mapping=mapping,
            labels=_object(given["labels"], "labels") if given.get("labels") else None,
            trust=given.get("trust") or TrustTier.SOURCE_VERIFIER,
            one_shot=not dry_run,
            accept_rejected=_truth(given.get("accept_rejected", ""), "accept_rejected"),
        )
        answer = Response(serializers.import_whole(_one(self, row.pk)), status=202)
        answer["Location"] = f"{request.path}/{row.pk}"
        return answer


def _one(view: endpoints.TeamView, pk: UUID) -> Import:
    return view.access.find(queries.full(view.access.team), pk=pk)


class OneImport(endpoints.TeamView):
    """One import: its state, its dry run, what it led to."""

    needed = {"GET": IMPORT_RIGHTS}

    @extend_schema(
        operation_id="import_one",
        responses=endpoints.one(serializers.ImportShape),
        examples=[OpenApiExample("Imported", EXAMPLE, response_only=True)],
    )
    def get(self, request: Request, row: UUID) -> Response:
        known_parameters(request)
        return Response(serializers.import_whole(_one(self, row)))


class Confirm(endpoints.TeamView):
    """Have what a dry run showed written."""

    needed = {"POST": IMPORT_RIGHTS}
    parser_classes = (StrictJSONParser,)

    @extend_schema(
        operation_id="import_confirm",
        request=serializers.Confirmation,
        responses={202: serializers.ImportShape, **ERRORS},
        examples=[
            OpenApiExample("Named", {"dataset": "Support questions", "labels": {"run-a": "gpt-5"}}, request_only=True)
        ],
    )
    def post(self, request: Request, row: UUID) -> Response:
        known_parameters(request)
        shape = serializers.Confirmation(data=request.data)
        shape.is_valid(raise_exception=True)
        asked = shape.validated_data
        actions.confirm(
            access=self.access,
            row=_one(self, row),
            dataset_name=asked.get("dataset", ""),
            labels=asked.get("labels"),
            trust=asked.get("trust", ""),
            accept_rejected=asked["accept_rejected"],
        )
        return Response(serializers.import_whole(_one(self, row)), status=202)


class Rejected(endpoints.TeamView):
    """Rows that were, or would be, left out."""

    needed = {"GET": IMPORT_RIGHTS}

    @extend_schema(
        operation_id="import_rejected",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.RejectedShape),
    )
    def get(self, request: Request, row: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        return page_of(request, queries.rejected_rows(_one(self, row)), serializers.rejected_row)


class Mappings(endpoints.TeamView):
    """Saved mappings of the team, and those that are built in."""

    needed = {"GET": IMPORT_RIGHTS, "POST": IMPORT_RIGHTS}
    parser_classes = (StrictJSONParser,)

    @extend_schema(operation_id="mappings", responses=endpoints.one(serializers.MappingShape(many=True)))  # type: ignore[arg-type]
    def get(self, request: Request) -> Response:
        known_parameters(request)
        saved = [serializers.saved_mapping(row) for row in queries.saved_mappings(self.access.team)]
        return Response(saved + [serializers.builtin_mapping(name) for name in mappings.builtin_names()])

    @extend_schema(
        operation_id="mapping_save",
        request=serializers.NewMapping,
        responses={201: serializers.MappingShape, **ERRORS},
        examples=[
            OpenApiExample(
                "Long table",
                {
                    "name": "Nightly runs",
                    "mapping": {
                        "case": ["item_id"],
                        "arm": "model",
                        "repetition": "epoch",
                        "scorers": [
                            {
                                "key": "correct",
                                "kind": "boolean",
                                "direction": "higher_is_better",
                                "value": "score",
                            }
                        ],
                    },
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        known_parameters(request)
        shape = serializers.NewMapping(data=request.data)
        shape.is_valid(raise_exception=True)
        try:
            saved = actions.save_mapping(
                access=self.access, name=shape.validated_data["name"], body=shape.validated_data["mapping"]
            )
        except Refused as refused:
            raise from_file(refused) from None
        return Response(serializers.saved_mapping(saved), status=201)
