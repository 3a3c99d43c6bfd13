"""API of templates: saved setups of comparisons, and their versions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from agents.api_views.agents import whole
from comparisons.api_views.groups import EXAMPLE
from comparisons.groups import intent as intents
from comparisons.groups import templates
from comparisons.groups.intent import Intent
from comparisons.models import Template, TemplateVersion
from teams import endpoints, receipts
from teams.access import Access
from teams.api import StrictSerializer, known_parameters, page_of, valid
from teams.refusals import Refusal

REUSABLE = {name: value for name, value in EXAMPLE.items() if name != "template"}


class NewTemplate(StrictSerializer):
    name = serializers.CharField(max_length=120)
    intent = serializers.DictField(help_text="What `groups/readiness` takes, without `template`.")


class NewTemplateVersion(StrictSerializer):
    intent = serializers.DictField(help_text="What `groups/readiness` takes, without `template`.")
    expected_revision = serializers.IntegerField(min_value=1, help_text="The `head` that was read.")


class TemplateEdit(StrictSerializer):
    name = serializers.CharField(max_length=120, required=False)
    archived = serializers.BooleanField(required=False)


class TemplateRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    head = serializers.IntegerField(help_text="The current revision: the number of the newest version.")
    revision = serializers.IntegerField(help_text="Counts names and archiving; the ETag.")
    made_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)


class TemplateVersionRow(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="What an intent names as its `template`.")
    template = serializers.UUIDField(source="template_id")
    number = serializers.IntegerField()
    sha256 = serializers.CharField()
    made_at = serializers.DateTimeField()


class TemplateVersionDetail(TemplateVersionRow):
    availability = serializers.CharField()
    intent = serializers.DictField(allow_null=True, help_text="Null without the right to content, or taken away.")


def _intent(given: Any) -> Intent:
    found = intents.read(given)
    if found.template is not None:
        raise Refusal("invalid_field", "A template is not made of a template; leave this out.", place="template")
    return found


def _template(access: Access, template: UUID) -> Template:
    found: Template = access.find(templates.templates_of(access, archived=None), pk=template)
    return found


def _shown(access: Access, version: TemplateVersion) -> dict[str, Any]:
    body = templates.body_of(version)
    return {
        **TemplateVersionRow(version).data,
        "availability": "available" if body is not None else version.templatebody.availability,
        "intent": body if access.reads_content else None,
    }


class Templates(endpoints.TeamView):
    """The templates that are not archived, by name."""

    needed = {"GET": templates.READ, "POST": templates.SAVE}

    @extend_schema(operation_id="templates", parameters=endpoints.PAGING, responses=endpoints.listed(TemplateRow))
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        return page_of(request, templates.templates_of(self.access), lambda row: TemplateRow(row).data)

    @extend_schema(
        operation_id="create_template",
        parameters=[endpoints.REQUEST_KEY],
        request=NewTemplate,
        responses=endpoints.created(TemplateVersionDetail),
        examples=[OpenApiExample("Two arms", {"name": "Weekly", "intent": REUSABLE}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Save an intent under a name, as version 1. It need not be ready; it names what the team has."""
        known_parameters(request)
        access, key, given = self.access, endpoints.request_key(request), valid(NewTemplate, request)
        intent = _intent(given["intent"])
        row, made = receipts.once(
            access,
            "template.save",
            key,
            {"name": given["name"], "intent": intent.reusable(), "expected_revision": None, "template": None},
            TemplateVersion,
            lambda: templates.create(access=access, name=given["name"], intent=intent),
        )
        return Response(_shown(access, row), status=201 if made else 200)


class TemplateDetail(endpoints.TeamView):
    """One template."""

    needed = {"GET": templates.READ, "PATCH": templates.EDIT}

    @extend_schema(operation_id="template", responses=endpoints.one(TemplateRow))
    def get(self, request: Request, template: UUID) -> Response:
        known_parameters(request)
        found = _template(self.access, template)
        return endpoints.with_etag(TemplateRow(found).data, found.revision)

    @extend_schema(
        operation_id="edit_template",
        parameters=[endpoints.IF_MATCH],
        request=TemplateEdit,
        responses={200: TemplateRow, **endpoints.WRITE_ERRORS},
        examples=[OpenApiExample("Another name", {"name": "Monthly"}, request_only=True)],
    )
    def patch(self, request: Request, template: UUID) -> Response:
        """Rename, archive or restore it."""
        known_parameters(request)
        access, found = self.access, _template(self.access, template)
        seen, given = endpoints.expected(request), valid(TemplateEdit, request)
        if whole(seen) != found.revision:
            raise Refusal("revision_stale", f"The template is at revision {found.revision}.", current=found.revision)
        if "name" in given:
            found = templates.rename_template(
                access=access, template=found, name=given["name"], revision=found.revision
            )
        if "archived" in given:
            found = templates.set_template_archived(access=access, template=found, archived=given["archived"])
        return endpoints.with_etag(TemplateRow(found).data, found.revision)


class TemplateVersions(endpoints.TeamView):
    """The versions of a template, newest first."""

    needed = {"GET": templates.READ, "POST": templates.SAVE}

    @extend_schema(
        operation_id="template_versions", parameters=endpoints.PAGING, responses=endpoints.listed(TemplateVersionRow)
    )
    def get(self, request: Request, template: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        rows = templates.versions_of(_template(self.access, template))
        return page_of(request, rows, lambda row: TemplateVersionRow(row).data)

    @extend_schema(
        operation_id="add_template_version",
        parameters=[endpoints.REQUEST_KEY],
        request=NewTemplateVersion,
        responses=endpoints.created(TemplateVersionDetail),
        examples=[OpenApiExample("From the first", {"intent": REUSABLE, "expected_revision": 1}, request_only=True)],
    )
    def post(self, request: Request, template: UUID) -> Response:
        """Save the next version. `template_revision_conflict` where the template went on since it was read."""
        known_parameters(request)
        access, found = self.access, _template(self.access, template)
        key, given = endpoints.request_key(request), valid(NewTemplateVersion, request)
        intent, expected = _intent(given["intent"]), given["expected_revision"]
        row, made = receipts.once(
            access,
            "template.save",
            key,
            {"name": None, "intent": intent.reusable(), "expected_revision": expected, "template": str(found.pk)},
            TemplateVersion,
            lambda: templates.add_version(access=access, template=found, intent=intent, expected_revision=expected),
        )
        return Response(_shown(access, row), status=201 if made else 200)


class TemplateVersionView(endpoints.TeamView):
    """One version with what it says."""

    needed = {"GET": templates.READ}

    @extend_schema(
        operation_id="template_version",
        parameters=[OpenApiParameter("number", int, OpenApiParameter.PATH)],
        responses=endpoints.one(TemplateVersionDetail),
    )
    def get(self, request: Request, template: UUID, number: int) -> Response:
        known_parameters(request)
        found = _template(self.access, template)
        version: TemplateVersion | None = templates.versions_of(found).filter(number=number).first()
        if version is None:
            raise Refusal("not_found")
        return Response(_shown(self.access, version))
