"""Words in: members, roles, tokens."""

from __future__ import annotations

from typing import Any

from django import forms

from teams.actions import MAX_TOKEN_DAYS
from teams.models import Membership, Role, Team, User
from teams.queries import roles_for

LIFETIMES = [("30", "30 days"), ("90", "90 days"), ("366", "A year"), ("", "Until revoked")]


class RoleChoice(forms.Form):
    """One of the roles that this team may give."""

    role = forms.ChoiceField(label="Role")

    def __init__(self, team: Team, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.team = team
        self.roles = {str(role.pk): role for role in roles_for(team)}
        self.fields["role"].choices = [(key, role.name) for key, role in self.roles.items()]  # type: ignore[attr-defined]

    def clean_role(self) -> Role:
        return self.roles[self.cleaned_data["role"]]


class NewMember(RoleChoice):
    """Somebody who has an account and is not a member yet."""

    email = forms.EmailField(label="E-mail", help_text="Of a person who has an account here.")
    field_order = ("email", "role")

    def clean_email(self) -> User:
        user = User.objects.filter(email__iexact=self.cleaned_data["email"], is_active=True).first()
        if user is None:
            raise forms.ValidationError("Nobody has an account with this e-mail. An operator can make one.")
        if Membership.objects.filter(team=self.team, user=user).exists():
            raise forms.ValidationError("This person is a member already. Change the role in the table.")
        return user


class NewToken(forms.Form):
    name = forms.CharField(label="Name", max_length=80, help_text="What will use it, such as “nightly gate”.")
    days = forms.TypedChoiceField(
        label="Valid for", choices=LIFETIMES, coerce=int, empty_value=None, required=False, initial="90"
    )

    def clean_days(self) -> int | None:
        days: int | None = self.cleaned_data["days"]
        if days is not None and not 1 <= days <= MAX_TOKEN_DAYS:
            raise forms.ValidationError(f"A token lives 1 to {MAX_TOKEN_DAYS} days.")
        return days
