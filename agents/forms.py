"""Words in: agents' names, definitions as people write them, connectors, variants."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from django import forms

from agents import definitions
from agents.definitions import MODES, NUMBERS
from agents.models import Connector, ModelRoute
from teams.form_fields import JsonObject, Lines, kept_line_ends, typed_rows, whole_rows
from teams.models import Role
from teams.refusals import Refusal


class NameForm(forms.Form):
    name = forms.CharField(
        label="Name", max_length=120, help_text="Shown in lists and exports, also to readers of metadata."
    )
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1)

    def clean_revision(self) -> int:
        return self.cleaned_data["revision"] or 0


class VariantForm(forms.Form):
    route = forms.ModelChoiceField(
        ModelRoute.objects.none(),
        label="Model",
        to_field_name="key",
        help_text="Everything else stays as in the base snapshot.",
    )

    def __init__(self, *args: Any, routes: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["route"].queryset = routes  # type: ignore[attr-defined]
        self.fields["route"].label_from_instance = route_label  # type: ignore[attr-defined]


class ReadersForm(forms.Form):
    readers = forms.ModelMultipleChoiceField(
        Role.objects.none(),
        label="Roles that read what came through it",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="They also need the right evaluation.content.read.",
    )
    revision = forms.IntegerField(widget=forms.HiddenInput, min_value=1)

    def __init__(self, *args: Any, roles: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["readers"].queryset = roles  # type: ignore[attr-defined]


def route_label(route: ModelRoute) -> str:
    """A route as it stands in a choice: its name and what it means now."""
    if route.active is None:
        return f"{route.name} (not active)"
    profile = f", {route.active.profile}" if route.active.profile else ""
    return f"{route.name}: {route.active.provider.name}, {route.active.model_id}{profile}"


class DefinitionForm(forms.Form):
    """A definition without its rows of tools, connectors and context, which stand beside."""

    instructions = Lines("Instructions", rows=12, help_text="What the agent is told before anything else.")
    route = forms.ChoiceField(label="Model", required=False)
    temperature = forms.FloatField(label="Temperature", required=False)
    top_p = forms.FloatField(label="Top p", required=False)
    max_output_tokens = forms.IntegerField(label="Most output tokens", required=False)
    seed = forms.IntegerField(label="Seed", required=False)
    max_tool_rounds = forms.IntegerField(label="Most rounds of tools", required=False)
    timeout_seconds = forms.IntegerField(label="Timeout in seconds", required=False)
    stop = Lines("Stop at", rows=2, help_text="At most four texts, one in a line; \\n is a line break inside one.")
    stream = forms.BooleanField(
        label="Read answers as a stream",
        required=False,
        help_text="Over the OpenAI protocol alone.",
    )
    output_schema = JsonObject("Shape of the answer", help_text="A JSON schema of an object; empty for free text.")
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, routes: Iterable[ModelRoute], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", "Choose a model"), *((route.key, route_label(route)) for route in routes)]
        current = self.initial.get("route") or ""
        if current and current not in dict(choices):
            choices.append((current, f"{current} (unavailable)"))
        self.fields["route"].choices = choices  # type: ignore[attr-defined]
        for name, (_, low, high) in NUMBERS.items():
            bounds = f"{low:,} to {high:,}"
            usual = definitions.USUAL_TOOL_ROUNDS if name == "max_tool_rounds" else "the provider's own"
            self.fields[name].help_text = f"{bounds}; empty for {usual}."

    def clean_revision(self) -> int:
        return self.cleaned_data["revision"] or 0


class ToolForm(forms.Form):
    name = forms.CharField(label="Tool", required=False, max_length=64)
    description = Lines("What it does", rows=2)
    parameters = JsonObject("Parameters", help_text="A JSON schema of an object.")
    connector = forms.ChoiceField(label="Run over", required=False, help_text="One of the connectors below.")

    def __init__(
        self, *args: Any, connectors: Sequence[Connector], kept: Sequence[str], names: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        listed = _connector_choices("Never run", connectors, kept, names)
        self.fields["connector"].choices = listed  # type: ignore[attr-defined]


def _connector_choices(
    none: str, connectors: Sequence[Connector], kept: Sequence[str], names: Mapping[str, str]
) -> list[tuple[str, str]]:
    choices = [("", none), *((str(one.pk), one.name) for one in connectors)]
    return choices + [(one, f"{names.get(one, '')} (unavailable)".strip()) for one in kept if one not in dict(choices)]


class ConnectorForm(forms.Form):
    connector = forms.ChoiceField(label="Connector", required=False)
    mode = forms.ChoiceField(label="Mode", choices=list(MODES.items()), required=False, initial="read")

    def __init__(
        self, *args: Any, connectors: Sequence[Connector], kept: Sequence[str], names: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        choices = _connector_choices("None", connectors, kept, names)
        self.fields["connector"].choices = choices  # type: ignore[attr-defined]


class ContextForm(forms.Form):
    name = forms.CharField(label="Name", required=False, max_length=definitions.LONGEST_NAME)
    text = Lines("Text", rows=4)


Tools = forms.formset_factory(ToolForm, extra=0, max_num=definitions.MOST_TOOLS, validate_max=True)
Connectors = forms.formset_factory(ConnectorForm, extra=0, max_num=definitions.MOST_CONNECTORS, validate_max=True)
Context = forms.formset_factory(ContextForm, extra=0, max_num=definitions.MOST_CONTEXT, validate_max=True)

ROWS: Final = {
    "tools": ("name", "description", "parameters", "connector"),
    "connectors": ("connector", "mode"),
    "context": ("name", "text"),
}
EMPTY_SCHEMA: Final[dict[str, Any]] = {"type": "object", "properties": {}}


class DefinitionForms:
    """The form of a definition with its rows, bound or from the draft that is there."""

    def __init__(
        self,
        given: Mapping[str, Any] | None,
        body: Mapping[str, Any],
        *,
        revision: int,
        routes: Iterable[ModelRoute],
        connectors: Sequence[Connector],
        names: Mapping[str, str],
    ) -> None:
        self._body, self._routes, self._connectors, self._names = body, list(routes), connectors, names
        settings = dict(body["settings"])
        initial = {
            **settings,
            "instructions": body["instructions"],
            "route": body["route"],
            "stop": "\n".join(_escaped(one) for one in settings.get("stop", [])),
            "output_schema": _pretty(settings.get("output_schema")),
            "revision": revision,
        }
        rows = {
            "tools": [{**one, "parameters": _pretty(one["parameters"])} for one in body["tools"]],
            "connectors": list(body["connectors"]),
            "context": list(body["context"]),
        }
        self._build(given, initial, rows)

    def _build(self, given: Mapping[str, Any] | None, initial: Mapping[str, Any], rows: Mapping[str, Any]) -> None:
        if given is not None:
            whole_rows(given, *ROWS)
            rows = dict.fromkeys(ROWS)  # a bound row that equals an initial one would count as untouched
        self.form = DefinitionForm(given, initial=dict(initial), routes=self._routes)
        offered = {
            "connectors": self._connectors,
            "kept": [one["connector"] for one in self._body["connectors"]],
            "names": self._names,
        }
        self.tools: Any = Tools(given, initial=rows["tools"], prefix="tools", form_kwargs=offered)
        self.connectors: Any = Connectors(given, initial=rows["connectors"], prefix="connectors", form_kwargs=offered)
        self.context: Any = Context(given, initial=rows["context"], prefix="context")

    def is_valid(self) -> bool:
        judged = [one.is_valid() for one in (self.form, self.tools, self.connectors, self.context)]
        return all(judged)  # each of them is asked, so that every error is told at once

    def definition(self) -> dict[str, Any]:
        """What was written, as it goes to `definitions.checked`. Unchanged texts keep their own line ends."""
        given = self.form.cleaned_data
        settings: dict[str, Any] = {name: given[name] for name in NUMBERS if given[name] is not None}
        if stop := [_plain(line) for line in given["stop"].split("\n") if line]:
            settings["stop"] = stop
        if given["stream"]:
            settings["stream"] = True
        if given["output_schema"]:
            settings["output_schema"] = given["output_schema"]
        texts = [one["text"] for one in self._body["context"]]
        said = [one["description"] for one in self._body["tools"]]
        return {
            "instructions": kept_line_ends(given["instructions"], [self._body["instructions"]]),
            "route": given["route"],
            "tools": [
                {
                    "name": one["name"],
                    "description": kept_line_ends(one["description"], said),
                    "parameters": one["parameters"] or EMPTY_SCHEMA,
                    "connector": one["connector"],
                }
                for one in self._said("tools")
            ],
            "connectors": [
                {"connector": one["connector"], "mode": one["mode"] or "read"} for one in self._said("connectors")
            ],
            "context": [
                {"name": one["name"], "text": kept_line_ends(one["text"], texts)} for one in self._said("context")
            ],
            "settings": settings,
        }

    def _said(self, which: str) -> list[dict[str, Any]]:
        return [form.cleaned_data for form in self._said_forms(which)]

    def _said_forms(self, which: str) -> list[forms.Form]:
        """The rows that say something; an emptied one is none."""
        names = ("connector",) if which == "connectors" else ROWS[which]
        return [
            form
            for form in getattr(self, which).forms
            if any(form.cleaned_data.get(name) for name in names if form.cleaned_data)
        ]

    def add(self, refusal: Refusal) -> None:
        """Put a refusal beside the row or field that it is about."""
        place, text = refusal.place, refusal.message
        if refusal.code == "revision_stale":
            text = "Somebody saved this draft meanwhile. Copy what you wrote, open the draft again and put it in."
        which, bracket, rest = place.partition("[")
        if bracket and which in ROWS:
            number, _, inner = rest.partition("]")
            row = self._said_forms(which)[int(number)]
            name = inner.lstrip(".").partition(".")[0].partition("[")[0]
            row.add_error(name if name in row.fields else None, text)
            return
        name = place.removeprefix("settings.").partition(".")[0]
        self.form.add_error(name if name in self.form.fields else None, text)

    def more_rows(self, which: str, given: Mapping[str, Any]) -> None:
        """The same entries with one more row, nothing judged."""
        whole_rows(given, *ROWS)
        data = dict(given.items())
        rows = {name: typed_rows(data, name, fields, fields) for name, fields in ROWS.items()}
        self._build(None, data, rows)
        getattr(self, which).extra = 1


def _escaped(text: str) -> str:
    """A text in one line."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _plain(line: str) -> str:
    """The text that `_escaped` wrote; a backslash before anything else is itself."""
    found = {"\\\\": "\\", "\\n": "\n", "\\r": "\r"}
    return re.sub(r"\\[\\nr]", lambda match: found[match[0]], line)


def _pretty(value: Mapping[str, Any] | None) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) if value else ""
