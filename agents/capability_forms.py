"""Words in: configurations, as roles in rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django import forms

from agents.capability_sets import MOST_ROLES
from agents.forms import route_label
from agents.models import Agent, ModelRoute
from teams.form_fields import Lines, kept_line_ends, typed_rows, whole_rows
from teams.refusals import Refusal

ROW: Final = ("role", "agent", "instructions", "slot", "route")


class ConfigurationForm(forms.Form):
    name = forms.CharField(
        label="Name", max_length=120, help_text="Shown in lists and exports, also to readers of metadata."
    )
    root = forms.CharField(label="Root role", max_length=60, help_text="The role that gets the input.")
    delegation = Lines("Delegation", rows=3, help_text="Who may hand work to whom, one in a line: lead > reader.")
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1)

    def __init__(self, *args: Any, named: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not named:
            del self.fields["name"]


class RoleForm(forms.Form):
    role = forms.CharField(label="Role", max_length=60, required=False)
    agent = forms.ChoiceField(label="Saved agent", required=False)
    instructions = Lines("Or instructions of its own", rows=3)
    slot = forms.CharField(label="Launch slot", max_length=60, required=False, help_text="Bound at launch ...")
    route = forms.ChoiceField(label="Model", required=False, help_text="... or fixed here.")

    def __init__(self, *args: Any, agents: Mapping[str, str], routes: Iterable[ModelRoute], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["agent"].choices = [("", "None"), *agents.items()]  # type: ignore[attr-defined]
        keys = [("", "None"), *((one.key, route_label(one)) for one in routes)]
        self.fields["route"].choices = keys  # type: ignore[attr-defined]


Roles = forms.formset_factory(RoleForm, extra=1, max_num=MOST_ROLES, validate_max=True)


class ConfigurationForms:
    """A configuration with its roles, bound or from the revision that is there."""

    def __init__(
        self,
        given: Mapping[str, Any] | None,
        body: Mapping[str, Any] | None,
        *,
        agents: Iterable[Agent],
        routes: Iterable[ModelRoute],
        revision: int | None = None,
    ) -> None:
        self.named = body is None
        self._rows = {"agents": {str(one.pk): one.name for one in agents}, "routes": list(routes)}
        said = body or {"root": "", "roles": [], "delegation": []}
        self._texts = [one.get("instructions", "") for one in said["roles"]]
        for one in said["roles"]:  # one that was archived since stays chosen, and is refused by name
            if one.get("agent"):
                self._rows["agents"].setdefault(one["agent"], "(unavailable)")  # type: ignore[attr-defined]
        initial = {
            "root": said["root"],
            "delegation": "\n".join(f"{one['from']} > {one['to']}" for one in said["delegation"]),
            "revision": revision,
        }
        roles = [{name: one.get(name, "") for name in ROW} for one in said["roles"]]
        self._build(given, initial, roles if given is None else None)

    def _build(self, given: Mapping[str, Any] | None, initial: Mapping[str, Any], roles: Any) -> None:
        if given is not None:
            whole_rows(given, "roles")
        self.form = ConfigurationForm(given, initial=dict(initial), named=self.named)
        self.roles: Any = Roles(given, initial=roles, prefix="roles", form_kwargs=self._rows)

    def is_valid(self) -> bool:
        judged = [self.form.is_valid(), self.roles.is_valid()]
        return all(judged)

    def body(self) -> dict[str, Any]:
        """What was written, as it goes to `capability_sets.checked`. The slots are those that roles name."""
        roles = []
        for form in self._said():
            said = {name: form.cleaned_data[name] for name in ROW if form.cleaned_data[name].strip()}
            if "instructions" in said:
                said["instructions"] = kept_line_ends(said["instructions"], self._texts)
            roles.append(said)
        lines = [line.strip() for line in self.form.cleaned_data["delegation"].split("\n") if line.strip()]
        steps = [line.partition(">") for line in lines]
        return {
            "root": self.form.cleaned_data["root"].strip(),
            "slots": list(dict.fromkeys(one["slot"] for one in roles if one.get("slot"))),
            "roles": roles,
            "delegation": [{"from": a.strip(), "to": b.strip()} for a, _, b in steps],
        }

    def _said(self) -> list[forms.Form]:
        return [form for form in self.roles.forms if any(form.cleaned_data.get(name) for name in ROW)]

    def add(self, refusal: Refusal) -> None:
        """Put a refusal beside the row or field that it is about."""
        place, text = refusal.place, refusal.message
        which, bracket, rest = place.partition("[")
        if which == "roles" and bracket:
            number, _, inner = rest.partition("]")
            row = self._said()[int(number)]
            row.add_error(inner.lstrip(".") if inner.lstrip(".") in row.fields else None, text)
            return
        if which == "slots" and bracket:
            text = f"Launch slot {int(rest.partition(']')[0]) + 1}: {text}"
        if which == "delegation" and bracket:
            text = f"Line {int(rest.partition(']')[0]) + 1}: {text}"
        name = which if which in self.form.fields else None
        self.form.add_error(name, f"{text} {refusal.allowed}" if refusal.code == "name_taken" else text)

    def more_rows(self, given: Mapping[str, Any]) -> None:
        """The same entries with one more row, nothing judged."""
        whole_rows(given, "roles")
        data = dict(given.items())
        self._build(None, data, typed_rows(data, "roles", ROW, ROW))
