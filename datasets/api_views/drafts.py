"""The draft of a dataset's next version over the API: cases added, revised and removed, then made a version."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from datasets import actions, queries, serializers, tables
from datasets.actions.drafts import EDIT
from datasets.bodies import Case
from datasets.models import Dataset, Draft, Item, ItemContent, ItemRevision, Version
from teams import endpoints, lists, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.permissions import Right
from teams.refusals import Refusal

EXAMPLE = OpenApiExample(
    "A case with one question",
    {
        "source_id": "refund-17",
        "body": {"input": "Where is my refund?", "expected": "Asks for the order number."},
        "title": "Refund without order number",
        "tags": ["refund"],
        "language": "en",
    },
    request_only=True,
)

WHOLE = OpenApiExample(
    "The case as a whole",
    {"body": {"input": "Where is my refund?"}, "title": "Refund", "tags": ["refund"], "language": "en"},
    request_only=True,
)


def _dataset(access: Access, dataset: UUID) -> Dataset:
    return access.find(Dataset.objects.all(), pk=dataset)


def _item(access: Access, dataset: Dataset, item: UUID) -> Item:
    found: Item = access.find(Item.objects.filter(dataset=dataset), team="dataset__team", pk=item)
    return found


def _draft(access: Access, dataset: UUID) -> Draft:
    found = queries.draft_of(_dataset(access, dataset))
    if found is None:
        raise Refusal("not_found", "The dataset has no open draft.")
    return found


def _case(given: dict[str, Any], source_id: str) -> Case:
    return Case(
        source_id=source_id,
        body=given["body"],
        title=given["title"],
        language=given["language"],
        tags=given["tags"],
        metadata=given["metadata"],
        group=given["group"],
    )


def _revision(row: ItemRevision, status: int = 200) -> Response:
    content = ItemContent.objects.filter(revision=row).first()
    return endpoints.with_etag(serializers.RevisionRow(row, context={"content": content}).data, row.pk, status=status)


class DraftDetail(endpoints.TeamView):
    """The open draft of a dataset, if there is one."""

    needed = {"GET": (Right.EVALUATION_READ,), "DELETE": EDIT}

    @extend_schema(operation_id="draft", responses=endpoints.one(serializers.Draft))
    def get(self, request: Request, dataset: UUID) -> Response:
        known_parameters(request)
        found = _draft(self.access, dataset)
        shown = {
            "revision": found.revision,
            "base_version": found.base.number if found.base else None,
            "made_at": found.made_at,
            **queries.counts_of(found),
        }
        return endpoints.with_etag(serializers.Draft(shown).data, found.revision)

    @extend_schema(
        operation_id="discard_draft",
        parameters=[endpoints.IF_MATCH],
        responses={204: None, **endpoints.WRITE_ERRORS},
    )
    def delete(self, request: Request, dataset: UUID) -> Response:
        """Forget the draft. Revisions that were written stay with their items."""
        known_parameters(request)
        found = _dataset(self.access, dataset)
        seen = endpoints.expected(request)
        revision = int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 9 else 0
        actions.discard_draft(access=self.access, dataset=found, revision=revision)
        return Response(status=204)


class DraftChanges(endpoints.TeamView):
    """What the draft changes, in the order in which it was begun."""

    needed = {"GET": (Right.EVALUATION_READ,)}

    @extend_schema(
        operation_id="draft_changes",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.DifferenceRow),
    )
    def get(self, request: Request, dataset: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        found, access = _draft(self.access, dataset), self.access
        rows = lists.Batched(
            queries.changes_of(found), lambda page: queries.draft_differences(page, content=access.reads_content)
        )
        return page_of(request, rows, lambda row: serializers.DifferenceRow(row).data)


class DraftChange(endpoints.TeamView):
    """One change of the draft."""

    needed = {"DELETE": EDIT}

    @extend_schema(operation_id="undo_change", responses={204: None, **endpoints.WRITE_ERRORS})
    def delete(self, request: Request, dataset: UUID, item: UUID) -> Response:
        """Undo it: the item stands as in the version that the draft starts from."""
        known_parameters(request)
        found = _dataset(self.access, dataset)
        actions.undo_change(access=self.access, dataset=found, item=_item(self.access, found, item).pk)
        return Response(status=204)


class DraftCases(endpoints.TeamView):
    """Cases of the draft."""

    needed = {"POST": EDIT}

    @extend_schema(
        operation_id="add_case",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewCase,
        responses=endpoints.created(serializers.RevisionRow),
        examples=[EXAMPLE],
    )
    def post(self, request: Request, dataset: UUID) -> Response:
        """Add a case at the end of the list; opens a draft where there is none."""
        known_parameters(request)
        access = self.access
        found, key = _dataset(access, dataset), endpoints.request_key(request)
        given = valid(serializers.NewCase, request)
        base = None
        if given.get("version"):
            base = access.find(queries.versions_of(found), team="dataset__team", number=given["version"])
        row, made = receipts.once(
            access,
            "case.add",
            key,
            {"dataset": str(found.pk), **given},
            ItemRevision,
            lambda: (
                actions.add_case(
                    access=access, dataset=found, case=_case(given, given["source_id"]), base=base
                ).revision
            ),
        )
        return _revision(row, status=201 if made else 200)


class DraftTable(endpoints.TeamView):
    """Many cases at once."""

    needed = {"PUT": EDIT}

    @extend_schema(
        operation_id="bring_cases",
        request=serializers.CasesInput,
        responses={200: serializers.CasesReport, **endpoints.WRITE_ERRORS},
        examples=[
            OpenApiExample(
                "Two cases, looked at only",
                {"cases": [{"id": "q1", "input": "What?"}, {"id": "q2", "tags": ["hard"]}], "dry_run": True},
                request_only=True,
            )
        ],
    )
    def put(self, request: Request, dataset: UUID) -> Response:
        """Add and revise cases by their ids, all or none. The same rows again change nothing, so no key is needed."""
        known_parameters(request)
        access, found = self.access, _dataset(self.access, dataset)
        given = valid(serializers.CasesInput, request)
        rows = [tables.Row(number, row) for number, row in enumerate(given["cases"], start=1)]
        for row in rows:
            tables.known(row.given, f"cases[{row.number - 1}]")
        if given["dry_run"]:
            report = actions.look_at_table(access=access, dataset=found, rows=rows)
        else:
            leave_out = given["leave_out_faulty"]
            report = actions.bring_table(access=access, dataset=found, rows=rows, leave_out=leave_out)
        return Response(serializers.CasesReport(report).data)


class DraftCase(endpoints.TeamView):
    """One case of the draft. `If-Match` takes the id of the revision that was read."""

    needed = {"GET": EDIT, "PUT": EDIT, "DELETE": EDIT}

    def _listed(self, dataset: UUID, item: UUID) -> tuple[Dataset, ItemRevision]:
        found = _dataset(self.access, dataset)
        base = queries.versions_of(found).first()
        listed = actions.current(queries.draft_of(found), _item(self.access, found, item).pk, base=base)
        if listed is None:
            raise Refusal("case_not_listed")
        return found, listed

    @extend_schema(operation_id="draft_case", responses=endpoints.one(serializers.RevisionRow))
    def get(self, request: Request, dataset: UUID, item: UUID) -> Response:
        """The revision that the draft lists, or without a draft the newest version."""
        known_parameters(request)
        return _revision(self._listed(dataset, item)[1])

    @extend_schema(
        operation_id="revise_case",
        parameters=[endpoints.IF_MATCH],
        request=serializers.CaseInput,
        responses={200: serializers.RevisionRow, **endpoints.WRITE_ERRORS},
        examples=[WHOLE],
    )
    def put(self, request: Request, dataset: UUID, item: UUID) -> Response:
        """Write another revision; the draft lists it. The same words again are the same revision."""
        known_parameters(request)
        found, _ = self._listed(dataset, item)
        seen = endpoints.expected(request)
        given = valid(serializers.CaseInput, request)
        edited = actions.revise_case(
            access=self.access,
            dataset=found,
            item=item,
            case=_case(given, "-"),
            seen_revision=endpoints.uuid_of(seen, "If-Match"),
        )
        return _revision(edited.revision)

    @extend_schema(operation_id="remove_case", responses={204: None, **endpoints.WRITE_ERRORS})
    def delete(self, request: Request, dataset: UUID, item: UUID) -> Response:
        """The next version does not list the case."""
        known_parameters(request)
        actions.remove_case(access=self.access, dataset=_dataset(self.access, dataset), item=item)
        return Response(status=204)


def make_version(access: Access, dataset: Dataset, key: str, given: dict[str, Any]) -> tuple[Version, bool]:
    """The draft as the next version, once per request key."""
    return receipts.once(
        access,
        "version.make",
        key,
        {"dataset": str(dataset.pk), **given},
        Version,
        lambda: actions.make_version(access=access, dataset=dataset, revision=given["draft_revision"]),
    )
