"""Words in: invitations, roles, accounts, tokens."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.password_validation import password_validators_help_text_html, validate_password

from teams.access import Access
from teams.actions import MAX_TOKEN_DAYS
from teams.models import Role, User
from teams.permissions import Right
from teams.queries import roles_for

LIFETIMES = [("30", "30 days"), ("90", "90 days"), ("366", "A year"), ("", "Until revoked")]


class RoleChoice(forms.Form):
    """One of the roles that this member may give: none that holds a right above their own."""

    role = forms.ChoiceField(label="Role")

    def __init__(self, access: Access, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.roles = {str(role.pk): role for role in roles_for(access.team)}
        within = [role for role in self.roles.values() if access.held.issuperset(role.rights)]
        self.fields["role"].choices = [  # type: ignore[attr-defined]
            (str(role.pk), role.name) for role in (within if not self.is_bound else self.roles.values())
        ]

    def clean_role(self) -> Role:
        return self.roles[self.cleaned_data["role"]]


class NewInvitation(RoleChoice):
    """An address, and the role that is offered to it."""

    email = forms.EmailField(label="E-mail", max_length=254, help_text="With or without an account here.")
    field_order = ("email", "role")


def _rights(access: Access) -> list[tuple[str, str]]:
    return [(right.value, str(right.label)) for right in Right if access.allows(right)]


class RoleForm(forms.Form):
    """A role of the team's own. Rights that its editor does not hold are not offered."""

    name = forms.CharField(label="Name", max_length=60)
    rights = forms.MultipleChoiceField(
        label="Rights", widget=forms.CheckboxSelectMultiple, help_text="Only rights that you hold yourself are offered."
    )
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1, initial=1)

    def __init__(self, access: Access, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rights"].choices = _rights(access)  # type: ignore[attr-defined]

    def clean_revision(self) -> int:
        return self.cleaned_data["revision"] or 0


class NewAccount(forms.Form):
    """The account of a person who was invited and has none."""

    name = forms.CharField(label="Your name", max_length=120)
    password = forms.CharField(
        label="Password",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        strip=False,
        help_text=password_validators_help_text_html,
    )
    again = forms.CharField(
        label="Password again", widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}), strip=False
    )

    def __init__(self, email: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.email = email

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        password = given.get("password")
        if password:
            if password != given.get("again"):
                self.add_error("again", "The two passwords differ.")
            try:
                validate_password(password, User(email=self.email, name=given.get("name", "")))
            except forms.ValidationError as fault:
                self.add_error("password", fault)
        return given


class NewToken(forms.Form):
    name = forms.CharField(label="Name", max_length=80, help_text="What will use it, such as “nightly gate”.")
    days = forms.TypedChoiceField(
        label="Valid for", choices=LIFETIMES, coerce=int, empty_value=None, required=False, initial="90"
    )
    rights = forms.MultipleChoiceField(
        label="At most these rights",
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text="None chosen: whatever you may do at each time.",
    )

    def __init__(self, access: Access, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rights"].choices = _rights(access)  # type: ignore[attr-defined]

    def clean_rights(self) -> list[str] | None:
        return self.cleaned_data["rights"] or None

    def clean_days(self) -> int | None:
        days: int | None = self.cleaned_data["days"]
        if days is not None and not 1 <= days <= MAX_TOKEN_DAYS:
            raise forms.ValidationError(f"A token lives 1 to {MAX_TOKEN_DAYS} days.")
        return days
