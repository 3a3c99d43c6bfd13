"""Words in: assets and releases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from django import forms

from agents.actions.assets import PARTS
from agents.definitions import EMPTY
from agents.forms import route_label
from agents.models import AssetKind, AssetVersion, ModelRoute
from teams.form_fields import JsonValue, Lines

HELP: Final = {
    AssetKind.TOOLSET: "A JSON list of tools, each with name, description and parameters (a JSON schema of an object).",
    AssetKind.CONNECTORS: 'A JSON list such as [{"connector": "<id>", "mode": "read"}].',
    AssetKind.CONTEXT: 'A JSON list such as [{"name": "policy", "text": "…"}].',
    AssetKind.SETTINGS: 'A JSON object such as {"temperature": 0.2, "max_output_tokens": 800}.',
}


class AssetForm(forms.Form):
    """An asset, or another version of one: the body's field is the kind's."""

    name = forms.CharField(
        label="Name", max_length=120, help_text="Shown in lists and exports, also to readers of metadata."
    )
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1)

    def __init__(
        self, *args: Any, kind: str, routes: Iterable[ModelRoute], named: bool = True, body: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.kind = AssetKind(kind)
        if not named:
            del self.fields["name"]
        label = self.kind.label
        if self.kind == AssetKind.PROMPT_TEMPLATE:
            self.fields["body"] = Lines(
                "Instructions", rows=12, help_text="What an agent is told before anything else."
            )
        elif self.kind == AssetKind.MODEL:
            choices = [("", "Choose a model"), *((route.key, route_label(route)) for route in routes)]
            if body and body not in dict(choices):
                choices.append((body, f"{body} (unavailable)"))
            self.fields["body"] = forms.ChoiceField(label=label, choices=choices, required=False)
        else:
            self.fields["body"] = JsonValue(label, rows=14, help_text=HELP[self.kind])
        if body is not None:
            text = body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)
            self.fields["body"].initial = text

    def part(self) -> Any:
        given = self.cleaned_data["body"]
        return EMPTY[PARTS[self.kind]] if given is None else given


class ReleaseForm(forms.Form):
    """A release and the version that plays each role."""

    name = forms.CharField(label="Name", max_length=120, help_text="Such as 2026-12 or 4.1.")
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1)

    def __init__(self, *args: Any, versions: Iterable[Any], named: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not named:
            del self.fields["name"]
        by_kind: dict[str, list[AssetVersion]] = {}
        for one in versions:
            by_kind.setdefault(one.asset.kind, []).append(one)
        for kind in AssetKind:
            choices = [("", "None"), *((str(one.pk), version_label(one)) for one in by_kind.get(kind, ()))]
            current = str(self.initial.get(kind) or "")
            if current and current not in dict(choices):
                choices.append((current, "(unavailable)"))
            self.fields[kind] = forms.ChoiceField(label=kind.label, choices=choices, required=False)

    def bindings(self) -> Mapping[str, UUID]:
        return {kind.value: UUID(self.cleaned_data[kind]) for kind in AssetKind if self.cleaned_data[kind]}


def version_label(version: Any) -> str:
    mark = "" if version.is_approved else " (not approved)"
    return f"{version.asset.name}, version {version.number}{mark}"
