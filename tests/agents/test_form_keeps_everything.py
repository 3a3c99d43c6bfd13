"""Saving an untouched form changes nothing, whatever a definition says."""

from __future__ import annotations

import re

from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from agents import definitions
from agents.forms import DefinitionForms
from agents.models import ModelRoute

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\r\t \\"), max_size=30)
NAME = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
SCHEMA = st.sampled_from(
    [{"type": "object"}, {"type": "object", "properties": {"a": {"maximum": 1.5, "title": "ä\n"}}}]
)
WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
IDS = ("0198c0de-0000-7000-8000-000000000001", "0198c0de-0000-7000-8000-000000000002")
MODE = st.sampled_from(["off", "read", "read_write"])
BODIES = st.fixed_dictionaries(
    {
        "instructions": TEXT,
        "tools": st.lists(
            st.fixed_dictionaries(
                {"name": NAME, "description": TEXT, "parameters": SCHEMA}, optional={"connector": st.sampled_from(IDS)}
            ),
            unique_by=lambda one: one["name"],
            max_size=3,
        ),
        "connectors": st.tuples(*(st.fixed_dictionaries({"connector": st.just(one), "mode": MODE}) for one in IDS)).map(
            list
        ),
        "context": st.lists(
            st.fixed_dictionaries({"name": WORDS, "text": TEXT.filter(str.strip)}),
            unique_by=lambda one: one["name"],
            max_size=3,
        ),
        "settings": st.fixed_dictionaries(
            {},
            optional={
                "temperature": st.floats(0, 2),
                "stream": st.just(True),
                "seed": st.integers(0, 99),
                "stop": st.lists(TEXT.filter(bool), min_size=1, max_size=4),
                "output_schema": SCHEMA,
            },
        ),
    }
)


def _forms(body, given=None) -> DefinitionForms:
    return DefinitionForms(given, body, revision=1, routes=[ModelRoute(key="large", name="L")], connectors=[], names={})


def as_a_browser_sends(forms: DefinitionForms) -> QueryDict:
    """Every field with its initial value, line ends as browsers write them."""
    data = QueryDict(mutable=True)
    for prefix in ("tools", "connectors", "context"):
        rows = getattr(forms, prefix)
        data[f"{prefix}-TOTAL_FORMS"] = str(rows.total_form_count())
        data[f"{prefix}-INITIAL_FORMS"] = str(rows.initial_form_count())
    for form in (forms.form, *forms.tools.forms, *forms.connectors.forms, *forms.context.forms):
        for field in form:
            value = field.value()
            text = "" if value is None else str(value)
            data[field.html_name] = re.sub(r"\r\n|\r|\n", "\r\n", text)
    return data


@given(BODIES)
def test_an_untouched_form_says_what_the_definition_said(given_body):
    body = {**definitions.checked(given_body), "route": "large"}
    forms = _forms(body, as_a_browser_sends(_forms(body)))
    assert forms.is_valid(), (forms.form.errors, forms.tools.errors, forms.context.errors)
    assert definitions.checked(forms.definition()) == body
