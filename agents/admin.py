"""Operators' side: providers, model routes and their revisions; agents' facts. Definitions have no admin page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.db import models
from django.http import HttpRequest, HttpResponse

from agents import actions, capability_sets
from agents.actions import hosts
from agents.models import (
    Agent,
    Asset,
    AssetVersion,
    Configuration,
    ConfigurationRevision,
    Connector,
    Harness,
    HarnessRevision,
    ModelRoute,
    ModelRouteRevision,
    Provider,
    Release,
    Snapshot,
    Subject,
)
from teams.admin import AnyAdmin, AnyForm, Named, ReadOnly, operator_of, said_on_the_form
from teams.form_fields import JsonObject, JsonValue
from teams.refusals import Refusal

if TYPE_CHECKING:
    Rows = models.QuerySet[Any]
else:
    Rows = models.QuerySet


@admin.register(Subject)
class Subjects(ReadOnly):
    list_display = ("label", "team", "kind", "fingerprint", "created_at")
    list_filter = ("team", "kind")
    list_select_related = ("team",)


@admin.register(Agent)
class Agents(ReadOnly):
    list_display = ("name", "team", "created_at", "archived_at")
    list_filter = ("team",)
    list_select_related = ("team",)
    search_fields = ("name",)


@admin.register(Snapshot)
class Snapshots(ReadOnly):
    list_display = ("agent", "number", "route_revision", "definition_sha256", "made_at")
    list_filter = ("agent__team",)
    list_select_related = ("agent", "route_revision__route")


class ReachForm(AnyForm):
    class Meta:
        model = Connector
        fields = actions.Reach.__slots__
        help_texts = {
            "address": "https, a public host. On a machine of one's own also http://127.0.0.1:8080/tools. Empty: no "
            "tool is run over it.",
            "secret_ref": "env:EVENHAND_KEY_NAME or file:/run/secrets/name. Never the secret itself. With another "
            "host it is dropped; name it again then.",
            "fee_micros": "Millionths per call. Empty is unknown, 0 is free.",
            "fee_currency": "Three letters, where there is a fee.",
        }

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return found
        try:
            said = actions.checked_reach(self.said())
        except Refusal as refusal:
            self.add_error(refusal.place if refusal.place in self.fields else None, refusal.message)
            return found
        return found | {name: getattr(said, name) for name in actions.Reach.__slots__}

    def said(self) -> actions.Reach:
        return actions.Reach(**{name: self.cleaned_data[name] for name in actions.Reach.__slots__})


@admin.register(Connector)
class Connectors(AnyAdmin):
    """Connectors are the teams'; where tools of one are called is the operators' to say."""

    form = ReachForm
    list_display = ("name", "team", "address", "created_at", "archived_at")
    list_filter = ("team",)
    list_select_related = ("team",)
    fields = ("name", "team", *actions.Reach.__slots__)
    readonly_fields = ("name", "team")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Connector, form: Any, change: bool) -> None:
        kept = actions.reach_connector(connector=obj, reach=form.said(), by=operator_of(request))
        if kept.secret_ref != form.said().secret_ref:
            messages.warning(request, "Another host: the reference to the secret was dropped. Name it again.")


@admin.register(Release)
class Releases(ReadOnly):
    list_display = ("name", "agent", "state", "route_revision", "created_at")
    list_filter = ("agent__team", "state")
    list_select_related = ("agent", "route_revision__route")


class BuiltInAsset(Named):
    """An asset of the product, or another version of one: the kind and name of one that is there."""

    body = JsonValue("Body", required=True, help_text="The part of a definition that the kind says; a text in quotes.")

    class Meta:
        model = Asset
        fields = ("kind", "name")

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return found
        try:
            actions.checked_part(found["kind"], found["body"], access=None)
        except Refusal as refusal:
            self.add_error("body", f"{refusal.place}: {refusal.message}")
        return found

    def validate_unique(self) -> None:
        """A name that is there already means another version of it."""

    def validate_constraints(self) -> None:
        """The same."""


@admin.register(Asset)
class Assets(AnyAdmin):
    """Assets of teams to look at, and those of the product to write: each version is approved at once."""

    form = BuiltInAsset
    list_display = ("name", "kind", "team", "created_at", "archived_at")
    list_filter = ("kind", "team")
    list_select_related = ("team",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is None and bool(super().has_change_permission(request))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Asset, form: Any, change: bool) -> None:
        given = form.cleaned_data
        made = actions.create_built_in_asset(
            kind=given["kind"], name=given["name"], body=given["body"], by=operator_of(request)
        )
        obj.pk = made.asset_id
        obj._state.adding = False


@admin.register(AssetVersion)
class AssetVersions(ReadOnly):
    list_display = ("asset", "number", "sha256", "made_at")
    list_filter = ("asset__team", "asset__kind")
    list_select_related = ("asset",)


class ProviderForm(Named):
    class Meta:
        model = Provider
        fields = ("key", "name", "kind")


@admin.register(Provider)
class Providers(AnyAdmin):
    """Who serves models. Routes name them for ever, so that none is deleted and its protocol stays."""

    form = ProviderForm
    list_display = ("name", "key", "kind")
    search_fields = ("name", "key")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("key", "kind") if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class RouteForm(Named):
    class Meta:
        model = ModelRoute
        fields = ("key", "name", "most_at_once", "most_per_minute")


@admin.register(ModelRoute)
class ModelRoutes(AnyAdmin):
    """Named ways to models. What a route means stands in its revisions; one of them may be active."""

    form = RouteForm
    list_display = ("name", "key", "active", "archived_at")
    list_select_related = ("active__route",)
    search_fields = ("name", "key")
    fields = ("key", "name", "active", "archived_at", "most_at_once", "most_per_minute")
    actions = ("deactivate",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("key", "active", "archived_at") if obj else ("active", "archived_at")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.action(description="Deactivate: nothing new runs over the selected routes")
    def deactivate(self, request: HttpRequest, rows: Rows) -> None:
        for route in rows:
            actions.deactivate_route(route=route, by=operator_of(request))
        messages.success(request, "Deactivated. Snapshots that exist keep what they were made with.")


class RevisionForm(AnyForm):
    """A revision is written once. Prices are millionths of the currency per million tokens."""

    capabilities = JsonObject(
        "Capabilities", help_text='{"tools": true, "structured_output": true, "context_tokens": 128000}; empty is none.'
    )

    class Meta:
        model = ModelRouteRevision
        fields = ("route", *actions.RouteFields.__slots__)
        help_texts = {
            "model_id": "As the provider names it.",
            "profile": "Another way in which the provider runs the same model, if there is one.",
            "base_url": "https, a public host. On a machine of one's own also http://127.0.0.1:8080/v1.",
            "secret_ref": "env:EVENHAND_KEY_NAME or file:/run/secrets/name. Never the secret itself.",
            "input_micros": "Millionths per million tokens. Empty is unknown, 0 is free.",
            "call_fee_micros": "Millionths per call. Empty is unknown, 0 is free.",
        }

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return found
        try:
            actions.checked_route(self.said())
        except Refusal as refusal:
            self.add_error(refusal.place if refusal.place in self.fields else None, refusal.message)
        return found

    def said(self) -> actions.RouteFields:
        given = {name: self.cleaned_data[name] for name in actions.RouteFields.__slots__}
        given["capabilities"] = given["capabilities"] or {}
        return actions.RouteFields(**given)


@admin.register(ModelRouteRevision)
class ModelRouteRevisions(AnyAdmin):
    """What routes mean. A revision never changes; activating it is what makes it count."""

    form = RevisionForm
    list_display = ("route", "number", "provider", "model_id", "auth_mode", "is_active", "made_at")
    list_filter = ("route", "provider")
    list_select_related = ("route", "provider")
    actions = ("activate",)

    @admin.display(boolean=True, description="active")
    def is_active(self, revision: ModelRouteRevision) -> bool:
        return revision.route.active_id == revision.pk

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is None and bool(super().has_change_permission(request))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ModelRouteRevision, form: Any, change: bool) -> None:
        made = actions.add_route_revision(route=obj.route, fields=form.said(), by=operator_of(request))
        obj.pk, obj.number = made.pk, made.number
        obj._state.adding = False

    @admin.action(description="Activate: new snapshots use the selected revision")
    def activate(self, request: HttpRequest, rows: Rows) -> None:
        chosen = list(rows.select_related("route"))
        if len({one.route_id for one in chosen}) != len(chosen):
            messages.error(request, "Select one revision of a route.")
            return
        for revision in chosen:
            actions.activate_route(revision=revision, by=operator_of(request))
        messages.success(request, "Activated. Snapshots that exist keep what they were made with.")


class BuiltInConfiguration(Named):
    """A configuration of the product, or another revision of the one that has the same name."""

    body = JsonObject("Body", required=True, help_text='{"root": "lead", "slots": ["main"], "roles": […]}')

    class Meta:
        model = Configuration
        fields = ("name",)

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return found
        try:
            capability_sets.checked(found["body"])
        except Refusal as refusal:
            self.add_error("body", f"{refusal.place}: {refusal.message}")
        return found


@admin.register(Configuration)
class Configurations(AnyAdmin):
    """Configurations of teams to look at, and those of the product to write."""

    form = BuiltInConfiguration
    list_display = ("name", "key", "team", "created_at", "deleted_at")
    list_filter = ("team",)
    list_select_related = ("team",)
    actions = ("end",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is None and bool(super().has_change_permission(request))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Configuration, form: Any, change: bool) -> None:
        given = form.cleaned_data
        made = actions.save_built_in_configuration(name=given["name"], body=given["body"], by=operator_of(request))
        obj.pk = made.configuration_id
        obj._state.adding = False

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A refusal is said on the form; nothing was changed by then."""
        return said_on_the_form(
            self, request, lambda: super(Configurations, self).changeform_view(request, *args, **kwargs)
        )

    @admin.action(description="Delete: nothing new is launched with the selected built-in configurations")
    def end(self, request: HttpRequest, rows: Rows) -> None:
        for one in rows.filter(team=None):
            actions.delete_built_in_configuration(configuration=one, by=operator_of(request))
        messages.success(request, "Deleted. Those of teams are the teams' to delete.")


@admin.register(ConfigurationRevision)
class ConfigurationRevisions(ReadOnly):
    list_display = ("configuration", "number", "root", "sha256", "made_at")
    list_filter = ("configuration__team",)
    list_select_related = ("configuration",)


class HarnessNames(Named):
    class Meta:
        model = Harness
        fields = ("key", "name")


@admin.register(Harness)
class Harnesses(AnyAdmin):
    """External programs that run agents. What one is stands in its revisions; one of them may be active."""

    form = HarnessNames
    list_display = ("name", "key", "active")
    list_select_related = ("active__harness",)
    fields = ("key", "name", "active")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("key", "active") if obj else ("active",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class HarnessForm(AnyForm):
    """A revision is written once."""

    command = forms.CharField(widget=forms.Textarea, help_text="The program and its arguments, one in a line.")
    families = forms.CharField(
        widget=forms.Textarea, required=False, help_text="Model families that it can run, one in a line; empty is any."
    )

    class Meta:
        model = HarnessRevision
        fields = ("harness", *actions.HarnessFields.__slots__)

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return found
        try:
            actions.checked_harness(self.said())
        except Refusal as refusal:
            self.add_error(refusal.place if refusal.place in self.fields else None, refusal.message)
        return found

    def said(self) -> actions.HarnessFields:
        given = {name: self.cleaned_data[name] for name in actions.HarnessFields.__slots__}
        lists = {name: [one.strip() for one in given[name].splitlines() if one.strip()] for name in LINES}
        return actions.HarnessFields(**{**given, **lists})

    def _post_clean(self) -> None:
        """The rows of lines become lists in `said`; nothing is written to the instance before that."""


LINES = ("command", "families")


@admin.register(HarnessRevision)
class HarnessRevisions(AnyAdmin):
    """What harnesses are. A revision never changes; activating it is what makes it count."""

    form = HarnessForm
    list_display = ("harness", "number", "version", "auth_mode", "is_active", "made_at")
    list_filter = ("harness",)
    list_select_related = ("harness",)
    actions = ("activate",)

    @admin.display(boolean=True, description="active")
    def is_active(self, revision: HarnessRevision) -> bool:
        return revision.harness.active_id == revision.pk

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is None and bool(super().has_change_permission(request))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: HarnessRevision, form: Any, change: bool) -> None:
        made = actions.add_harness_revision(
            harness=form.cleaned_data["harness"], fields=form.said(), by=operator_of(request)
        )
        obj.pk, obj.number, obj.harness = made.pk, made.number, made.harness
        obj._state.adding = False

    @admin.action(description="Activate: new runs use the selected revision")
    def activate(self, request: HttpRequest, rows: Rows) -> None:
        for revision in rows.select_related("harness"):
            actions.activate_harness(revision=revision, by=operator_of(request))
        messages.success(request, "Activated.")


class HostForm(AnyForm):
    class Meta:
        fields = ("host", "note")
        help_texts = {"host": "The name alone, such as checks.example.org. Calls go there over https."}

    def clean_host(self) -> str:
        try:
            return hosts.checked_host(self.cleaned_data["host"])
        except Refusal as refusal:
            raise forms.ValidationError(refusal.message) from None


class ListedHosts(AnyAdmin):
    """A list of hosts that calls of one purpose may reach. None is deleted: what is stored names them."""

    form = HostForm
    list_display = ("host", "note", "created_at", "archived_at")
    search_fields = ("host", "note")
    actions = ("archive", "restore")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("host",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            hosts.note_host(row=obj, note=obj.note, by=operator_of(request))
            return
        made = hosts.list_host(self.model, host=obj.host, note=obj.note, by=operator_of(request))
        obj.pk = made.pk
        obj._state.adding = False

    @admin.action(description="Archive: the selected hosts are reached no more")
    def archive(self, request: HttpRequest, rows: Rows) -> None:
        for row in rows:
            hosts.set_host_listed(row=row, listed=False, by=operator_of(request))
        messages.success(request, "Archived.")

    @admin.action(description="Restore: the selected hosts may be reached")
    def restore(self, request: HttpRequest, rows: Rows) -> None:
        for row in rows:
            hosts.set_host_listed(row=row, listed=True, by=operator_of(request))
        messages.success(request, "Restored.")
