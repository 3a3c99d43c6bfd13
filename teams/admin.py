"""Operators' side of teams: people, members, tokens' facts, the audit log. Writes go through `teams.actions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from teams import actions, audit, mail, second_factor
from teams.given import name as given_name
from teams.models import ApiToken, AuditEvent, Invitation, Membership, Role, Team, User
from teams.queries import token_state
from teams.refusals import Refusal

if TYPE_CHECKING:
    _AnyAdmin = admin.ModelAdmin[Any]
    AnyForm = forms.ModelForm[Any]
    AnyUserAdmin = UserAdmin[User]
else:  # none of them takes a parameter at run time
    _AnyAdmin = admin.ModelAdmin
    AnyForm = forms.ModelForm
    AnyUserAdmin = UserAdmin

admin.site.unregister(Group)  # groups are derived from roles; a hand-made one would grant rights past the audit log


class AnyAdmin(_AnyAdmin):
    """What every table of the operators' site shares."""

    def response_action(self, request: HttpRequest, queryset: Any, *args: Any, **kwargs: Any) -> HttpResponse | None:
        """An action on rows that are there; ids that are none select nothing."""
        wanted = request.POST.getlist(ACTION_CHECKBOX_NAME)
        try:
            there = queryset.filter(pk__in=wanted).count()
        except (ValidationError, ValueError):
            there = 0
        if wanted and not there:
            self.message_user(request, "None of the selected rows is there.", messages.ERROR)
            return HttpResponseRedirect(request.path)
        answer: HttpResponse | None = super().response_action(request, queryset, *args, **kwargs)
        return answer


class Named(AnyForm):
    """A form whose name and key a person can read."""

    def clean_name(self) -> str:
        try:
            return given_name(self.cleaned_data["name"], "it")
        except Refusal as refusal:
            raise forms.ValidationError(refusal.message) from None

    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"]
        if key != key.lower():
            raise forms.ValidationError("Write keys in small letters.")
        return key


class ReadOnly(AnyAdmin):
    """Looking is all that is offered."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(User)
class People(AnyUserAdmin):
    """Accounts. Closing one ends its sessions and tokens; it is never deleted, its evidence names it."""

    ordering = ("email",)
    list_display = ("email", "name", "is_active", "is_staff", "last_login")
    actions = ("remove_second_factor",)
    list_filter = ("is_active", "is_staff")
    search_fields = ("email", "name")
    readonly_fields = ("last_login", "joined_at")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("email", "password")}),
        ("Person", {"fields": ("name",)}),
        ("Account", {"fields": ("is_active", "is_staff", "is_superuser", "last_login", "joined_at")}),
    )
    change_form_template = "operators/user.html"
    add_fieldsets = ((None, {"fields": ("email", "name", "usable_password", "password1", "password2")}),)

    def response_change(self, request: HttpRequest, obj: User) -> HttpResponse:
        """The extra button shows a link that sets a new password; it is for handing over where mail is not sent."""
        if "_password_link" not in request.POST or not obj.is_active:
            changed: HttpResponse = super().response_change(request, obj)
            return changed
        audit.record("password.link_made", team=None, by=operator_of(request), object_type="user", object_id=obj.pk)
        context = {
            **self.admin_site.each_context(request),
            "title": "Password link",
            "person": obj,
            "link": mail.password_link(obj),
        }
        return TemplateResponse(
            request, "operators/password_link.html", context, headers={"Cache-Control": "no-store, private"}
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.action(description="Remove the second factor of the selected people")
    def remove_second_factor(self, request: HttpRequest, rows: Any) -> None:
        """For somebody whose telephone and recovery codes are gone; the password stays."""
        count = sum(second_factor.remove(user, by=operator_of(request)) for user in rows)
        self.message_user(request, f"{count} removed." if count else "None of them has a second factor.")


class NewTeam(AnyForm):
    owner = forms.ModelChoiceField(User.objects.filter(is_active=True), help_text="Its first owner.")

    class Meta:
        model = Team
        fields = ("slug", "name")


@admin.register(Team)
class Teams(AnyAdmin):
    """A team begins with an owner. It is never deleted: everything belongs to it."""

    list_display = ("name", "slug", "members", "created_at")
    search_fields = ("name", "slug")

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Team]:
        rows: models.QuerySet[Team] = super().get_queryset(request)
        return rows.annotate(member_count=models.Count("membership"))

    @admin.display(ordering="member_count")
    def members(self, team: Team) -> int:
        return int(team.member_count)  # type: ignore[attr-defined]  # annotated above

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change=change, **kwargs) if obj else NewTeam

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("slug", "created_at") if obj else ()

    def save_model(self, request: HttpRequest, obj: Team, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        made = actions.create_team(
            slug=obj.slug, name=obj.name, owner=form.cleaned_data["owner"], by=operator_of(request)
        )
        obj.pk = made.pk
        obj._state.adding = False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def said_on_the_form(site: AnyAdmin, request: HttpRequest, show: Callable[[], HttpResponse]) -> HttpResponse:
    """What a form shows; a refusal of what it was to do is said above it."""
    try:
        return show()
    except Refusal as refusal:
        site.message_user(request, f"{refusal.message} {refusal.allowed}", messages.ERROR)
        return HttpResponseRedirect(request.path)


class MembershipForm(AnyForm):
    class Meta:
        model = Membership
        fields = ("team", "user", "role")


@admin.register(Membership)
class Members(AnyAdmin):
    """Who is in which team with which role. Each change is a `teams.actions` verb with its audit event."""

    form = MembershipForm
    list_display = ("user", "team", "role", "joined_at")
    list_filter = ("team", "role")
    search_fields = ("user__email", "user__name")
    list_select_related = ("user", "team", "role")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("team", "user") if obj else ()

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:
        kept = actions.set_role(access=None, team=obj.team, user=obj.user, role=obj.role, by=operator_of(request))
        obj.pk = kept.pk
        obj._state.adding = False

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A refusal is said on the form; nothing was changed by then."""
        show = super().changeform_view
        return said_on_the_form(self, request, lambda: show(request, *args, **kwargs))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # an owner removes members; an operator closes accounts


@admin.register(Role)
class Roles(ReadOnly):
    list_display = ("name", "team", "rights")
    list_filter = ("team",)


@admin.register(Invitation)
class Invitations(ReadOnly):
    list_display = ("email", "team", "role", "state", "invited_by", "expires_at")
    list_filter = ("team",)
    list_select_related = ("team", "role", "invited_by")
    search_fields = ("email",)
    exclude = ("digest",)


@admin.register(ApiToken)
class Tokens(ReadOnly):
    list_display = ("name", "user", "team", "state", "last_used_at", "expires_at")
    list_filter = ("team",)
    list_select_related = ("user", "team")
    exclude = ("digest",)

    def state(self, token: ApiToken) -> str:
        return token_state(token)


@admin.register(AuditEvent)
class Audit(ReadOnly):
    list_display = ("at", "team", "actor", "action", "code", "object_type", "object_id")
    list_filter = ("action", "team")
    list_select_related = ("team", "actor")
    date_hierarchy = "at"


def operator_of(request: HttpRequest) -> User:
    user = request.user
    assert isinstance(user, User)
    return user
