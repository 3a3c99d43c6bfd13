"""Words in: metrics, and graders of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from django import forms

from agents.forms import route_label
from agents.models import ModelRoute
from analysis import strict_json
from analysis.observations import Direction, Kind
from analysis.refusals import Refused
from grading import assertions, judges, validators
from grading.actions import GradingPlan, Planned
from grading.judging import Evidence
from grading.models import EvidenceKind, GraderKind, GraderVersion, MetricDefinition
from grading.words import WHOLE, pretty
from teams.form_fields import Lines, whole_rows
from teams.refusals import Refusal

DIRECTIONS: Final = {
    Direction.HIGHER_IS_BETTER: "Higher is better",
    Direction.LOWER_IS_BETTER: "Lower is better",
    Direction.UNORDERED: "Neither is better",
}
KINDS: Final = {
    Kind.BOOLEAN: "Yes or no",
    Kind.NUMERIC: "A number",
    Kind.CATEGORICAL: "One of several categories",
}


def begun(text: str) -> str:
    """The text as a label, with a capital first letter."""
    return text[:1].upper() + text[1:]


class MetricForm(forms.Form):
    name = forms.CharField(label="Name", max_length=120, help_text="Shown in lists, charts and exports.")
    key = forms.CharField(
        label="Key", max_length=120, help_text="Small letters, digits, _, - and dots, such as refund_correct."
    )
    kind = forms.ChoiceField(label="What a value is", choices=[(kind.value, text) for kind, text in KINDS.items()])
    direction = forms.ChoiceField(
        label="Direction", choices=[(direction.value, text) for direction, text in DIRECTIONS.items()]
    )
    low = forms.FloatField(label="Lowest value", required=False, help_text="Empty where nothing bounds it.")
    high = forms.FloatField(label="Highest value", required=False, help_text="Likewise.")
    unit = forms.CharField(label="Unit", required=False, max_length=20, help_text="Such as points or ms.")
    categories = Lines("Categories", rows=4, help_text="One in a line.")
    ordered = forms.BooleanField(label="The categories stand from the lowest to the highest", required=False)

    def said(self) -> dict[str, Any]:
        """The metric without what its kind does not have: those fields are not shown."""
        given = dict(self.cleaned_data)
        if given["kind"] != Kind.NUMERIC:
            given |= {"low": None, "high": None, "unit": ""}
        words = [one.strip() for one in given["categories"].split("\n") if one.strip()]
        given["categories"] = words if given["kind"] == Kind.CATEGORICAL else []
        given["ordered"] = given["ordered"] and given["kind"] == Kind.CATEGORICAL
        if given["kind"] == Kind.CATEGORICAL and not given["ordered"]:
            given["direction"] = Direction.UNORDERED.value
        return given

    def add(self, refusal: Refusal) -> None:
        place = refusal.place.partition("[")[0]
        self.add_error(place if place in self.fields else None, refusal.message)


# --- graders ---------------------------------------------------------------------------------------


def metric_label(metric: MetricDefinition) -> str:
    return f"{metric.name} ({metric.key}): {KINDS[Kind(metric.kind)].lower()}"


class GraderForm(forms.Form):
    """A grader of one kind, or another version of one: what the kinds share."""

    kind: GraderKind
    name = forms.CharField(
        label="Name", max_length=120, help_text="Shown in lists and exports, also to readers of metadata."
    )
    metric = forms.ModelChoiceField(
        MetricDefinition.objects.none(), label="Metric", empty_label="Choose a metric", help_text="What it measures."
    )
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1)
    named = ("name", "metric")

    def __init__(
        self,
        given: Mapping[str, Any] | None,
        *,
        metrics: Any,
        named: bool,
        routes: Iterable[ModelRoute] = (),
        hosts: Iterable[str] = (),
        version: GraderVersion | None = None,
        config: Mapping[str, Any] | None = None,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(given, initial={**(self.shown(version, config) if config else {}), **(initial or {})})
        if named:
            self.fields["metric"].queryset = self.measurable(metrics)  # type: ignore[attr-defined]
            self.fields["metric"].label_from_instance = metric_label  # type: ignore[attr-defined]
        else:
            for name in self.named:
                del self.fields[name]
        self.prepared(routes, hosts)
        if given is not None and ("try" in given or "more" in given):
            for field in self.fields.values():
                field.required = False  # nothing is saved yet, so nothing is missing yet

    def measurable(self, metrics: Any) -> Any:
        """The metrics that a grader of the kind can measure."""
        return metrics.exclude(kind=Kind.CATEGORICAL.value, categories=[])

    def prepared(self, routes: Iterable[ModelRoute], hosts: Iterable[str]) -> None:
        """Choices that the console knows and the class does not."""

    def shown(self, version: GraderVersion | None, config: Mapping[str, Any]) -> dict[str, Any]:
        """What the fields say of a version that is there."""
        return dict(config)

    def config(self) -> dict[str, Any]:
        raise NotImplementedError

    def said(self) -> dict[str, Any]:
        """What the actions are told."""
        return {"config": self.config()}

    def add(self, refusal: Refusal) -> None:
        """Put a refusal beside the field that it is about."""
        place = refusal.place.removeprefix("config.").partition("[")[0]
        self.add_error(self.beside(place), refusal.message)

    def beside(self, place: str) -> str | None:
        return place if place in self.fields else None


def pointer_in(text: str) -> str:
    return "" if text == WHOLE else text


def pointer_out(pointer: str | None) -> str:
    return "" if pointer is None else pointer or WHOLE


class CheckForm(forms.Form):
    """One check of an assertion."""

    PLACES = (("text", "The answer's text"), ("json", "A place in the answer's JSON"))
    operator = forms.ChoiceField(
        label="Check",
        required=False,
        choices=[
            ("", "No check"),
            ("contains", "Contains"),
            ("equals", "Equals"),
            ("regex", "Matches a pattern"),
            ("numeric", "Is a number"),
            ("json_schema", "Fits a JSON schema"),
        ],
    )
    part = forms.ChoiceField(label="Of", choices=PLACES, required=False)
    at = forms.CharField(
        label="Place in the JSON", max_length=500, required=False, help_text="Such as /total; empty is the whole."
    )
    source = forms.ChoiceField(label="Compared with", choices=list(assertions.SOURCES.items()), required=False)
    pointer = forms.CharField(
        label="Place in the case", max_length=500, required=False, help_text="Empty is what it expects: /expected."
    )
    value = Lines(
        "Text, number, pattern or schema",
        rows=2,
        help_text="Where it is written here. A JSON list is any of its texts.",
    )
    ignore_case = forms.BooleanField(label="Ignore upper and lower case", required=False)
    space = forms.ChoiceField(
        label="White space",
        choices=[(name, begun(text)) for name, text in assertions.SPACES.items()],
        required=False,
    )
    tolerance = forms.FloatField(
        label="Tolerance", required=False, min_value=0, help_text="Of a number; empty is none."
    )
    scale = forms.ChoiceField(
        label="Tolerance is",
        choices=[(name, begun(text)) for name, text in assertions.SCALES.items()],
        required=False,
    )
    negate = forms.BooleanField(label="Must not be so", required=False)

    def check(self) -> dict[str, Any]:
        """The check as it goes to `assertions.checked`; fields that its operator does not have are left out."""
        said = self.cleaned_data
        operator = said["operator"]
        at = pointer_in(said["at"]) if said["part"] == "json" or operator == "json_schema" else None
        source = said["source"] or "case"
        found: dict[str, Any] = {"operator": operator, "at": at, "source": source, "negate": said["negate"]}
        if source == "case":
            found["pointer"] = pointer_in(said["pointer"] or assertions.EXPECTED)
        else:
            found["value"] = _value(operator, at, said["value"])
        own = assertions.OWN[operator]
        if "ignore_case" in own:
            found |= {"ignore_case": said["ignore_case"], "space": said["space"] or "keep"}
        if "tolerance" in own:
            found |= {"tolerance": _whole(said["tolerance"] or 0), "scale": said["scale"] or "absolute"}
        return found


def _whole(number: float) -> float | int:
    return int(number) if float(number).is_integer() else number


def _json(text: str) -> Any:
    try:
        return strict_json.loads(text)
    except Refused:
        return None


def _value(operator: str, at: str | None, text: str) -> Any:
    """What a person wrote, as the operator needs it. At a place in JSON it is JSON, or else a text."""
    if operator == "regex":
        return text
    found = _json(text)
    if operator in ("numeric", "json_schema"):
        return text if found is None else found
    if at is None:
        return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else text
    return text if found is None and text.strip() != "null" else found


def check_shown(check: Mapping[str, Any]) -> dict[str, Any]:
    """A check as the form's fields say it."""
    value = check.get("value", "")
    if not isinstance(value, str) or (check["at"] is not None and check["operator"] != "regex" and _is_json(value)):
        value = pretty(value)
    return {
        **check,
        "part": "text" if check["at"] is None else "json",
        "at": "" if check["at"] is None else pointer_out(check["at"]),
        "pointer": pointer_out(check.get("pointer")),
        "value": value,
    }


def _is_json(text: str) -> bool:
    return _json(text) is not None or text.strip() == "null"


Checks = forms.formset_factory(CheckForm, extra=0, max_num=assertions.MOST_CHECKS, validate_max=True)
FIRST_CHECK: Final = {"operator": "contains", "source": "case", "part": "text", "space": "fold", "ignore_case": True}


class AssertionForm(GraderForm):
    kind = GraderKind.ASSERTION
    match = forms.ChoiceField(
        label="The answer passes when",
        choices=list(assertions.MATCHES.items()),
        initial="all",
    )
    answer = Lines("An answer", rows=3)
    expected = Lines("What the case expects", rows=2)
    tried = ("answer", "expected")

    def __init__(self, given: Mapping[str, Any] | None, **kwargs: Any) -> None:
        config = kwargs.get("config")
        super().__init__(given, **kwargs)
        rows: Any = [check_shown(one) for one in config["checks"]] if config else [FIRST_CHECK]
        if given is not None:
            whole_rows(given, "checks")
            rows = None  # a bound row that equals an initial one would count as untouched
            given = _one_more(given) if "more" in given else given
        self.checks: Any = Checks(given, initial=rows, prefix="checks")

    def measurable(self, metrics: Any) -> Any:
        return metrics.filter(kind=Kind.BOOLEAN.value)

    def is_valid(self) -> bool:
        return all([super().is_valid(), self.checks.is_valid()])

    def checks_are_valid(self) -> bool:
        """Whether the checks and how they match can be tried, whatever the name and the metric say."""
        return all([self.checks.is_valid(), not self.has_error("match")])

    def _rows(self) -> list[Any]:
        return [one for one in self.checks.forms if one.is_valid() and one.cleaned_data.get("operator")]

    def config(self) -> dict[str, Any]:
        return {"match": self.cleaned_data["match"], "checks": [one.check() for one in self._rows()]}

    def example(self) -> Evidence:
        """The answer and the expectation that were pasted to try the checks."""
        return example_of(self.cleaned_data.get("answer", ""), self.cleaned_data.get("expected", ""))

    def add(self, refusal: Refusal) -> None:
        place = refusal.place
        if place.startswith("config.checks["):
            row = self._rows()[int(place.partition("[")[2].partition("]")[0])]
            name = place.partition("].")[2].partition(".")[0].partition("[")[0]
            row.add_error(name if name in row.fields else None, refusal.message)
        elif place == "config.checks":
            self.add_error(None, "An assertion has at least one check.")
        else:
            super().add(refusal)


def _one_more(given: Mapping[str, Any]) -> Any:
    """The posted rows and an empty one."""
    more = given.copy()  # type: ignore[attr-defined]  # a QueryDict
    total = min(int(given["checks-TOTAL_FORMS"]) + 1, assertions.MOST_CHECKS)
    more["checks-TOTAL_FORMS"] = str(total)
    return more


def example_of(answer: str, expected: str) -> Evidence:
    """A pasted example. What is expected is a text, unless it is a JSON object or list."""
    found = _json(expected)
    return Evidence({"expected": found if isinstance(found, dict | list) else expected}, answer)


class TryForm(forms.Form):
    answer = Lines("An answer", rows=3)
    expected = Lines("What the case expects", rows=2, help_text="A text, or a JSON object or list.")


class JudgeForm(GraderForm):
    kind = GraderKind.JUDGE
    route = forms.ChoiceField(label="Model", help_text="A version keeps what the route means now.")
    prompt = Lines(
        "Prompt",
        rows=12,
        required=True,
        help_text="What the model is asked. It may show "
        + ", ".join(f"<code>{{{{{name}}}}}</code> {text}" for name, text in judges.PLACEHOLDERS.items())
        + ".",
    )
    rubric = Lines(
        "Rubric", rows=6, help_text="What counts for which judgment. The model is told it before the prompt."
    )
    evidence = forms.MultipleChoiceField(
        label="Judges by",
        choices=EvidenceKind.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[EvidenceKind.GENERATION.value],
        help_text="A plan chooses among these for each pass.",
    )

    def prepared(self, routes: Iterable[ModelRoute], hosts: Iterable[str]) -> None:
        choices = [("", "Choose a model"), *((route.key, route_label(route)) for route in routes)]
        current = self.initial.get("route") or ""
        if current and current not in dict(choices):
            choices.append((current, f"{current} (unavailable)"))
        self.fields["route"].choices = choices  # type: ignore[attr-defined]

    def shown(self, version: GraderVersion | None, config: Mapping[str, Any]) -> dict[str, Any]:
        return {**config, "evidence": version.evidence if version else []}

    def config(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("route", "prompt", "rubric")}

    def said(self) -> dict[str, Any]:
        return {"config": self.config(), "evidence": self.cleaned_data["evidence"]}


MICROS: Final = Decimal(1_000_000)


class ValidatorForm(GraderForm):
    kind = GraderKind.VALIDATOR
    url = forms.CharField(label="Address", max_length=500)
    sends = forms.MultipleChoiceField(
        label="Sends",
        choices=[(name, begun(text)) for name, text in validators.SENDS.items()],
        widget=forms.CheckboxSelectMultiple,
        initial=["answer", "expected"],
        help_text="As one JSON object. Nothing else leaves the console.",
    )
    value = forms.CharField(
        label="Value",
        max_length=500,
        initial="/value",
        help_text="Where it stands in the reply: a JSON pointer; # is the whole reply.",
    )
    abstain = forms.CharField(
        label="Abstains",
        max_length=500,
        required=False,
        help_text="Where it says true or false; empty if it never does.",
    )
    reason = forms.CharField(label="Reason", max_length=500, required=False, initial="/reason")
    enrichment = forms.CharField(
        label="Findings", max_length=500, required=False, help_text="What judges may be shown; empty for nothing."
    )
    fee = forms.DecimalField(
        label="Fee per call",
        required=False,
        min_value=0,
        max_value=1_000_000,
        decimal_places=6,
        max_digits=13,
        help_text="0 is free; empty is unknown.",
    )
    fee_currency = forms.CharField(label="Currency", required=False, max_length=3, initial="USD")

    def prepared(self, routes: Iterable[ModelRoute], hosts: Iterable[str]) -> None:
        known = ", ".join(hosts)
        self.fields["url"].help_text = (
            f"https, on one of the hosts that operators list: {known}."
            if known
            else "Operators have listed no host yet that validators may reach; ask them first."
        )

    def shown(self, version: GraderVersion | None, config: Mapping[str, Any]) -> dict[str, Any]:
        pointers = {name: pointer_out(config[name]) for name in ("value", *validators.READS)}
        micros = version.fee_micros if version else None
        fee = None if micros is None else (Decimal(micros) / MICROS).normalize()
        currency = version.fee_currency if version else ""
        return {**config, **pointers, "fee": None if fee is None else f"{fee:f}", "fee_currency": currency or "USD"}

    def config(self) -> dict[str, Any]:
        said = self.cleaned_data
        reads = {name: pointer_in(said[name]) if said[name] else None for name in validators.READS}
        return {"url": said["url"], "sends": said["sends"], "value": pointer_in(said["value"]), **reads}

    def said(self) -> dict[str, Any]:
        fee = self.cleaned_data["fee"]
        if fee is None:
            return {"config": self.config()}
        currency = self.cleaned_data["fee_currency"].strip().upper()
        return {"config": self.config(), "fee_micros": int(fee * MICROS), "fee_currency": currency}

    def beside(self, place: str) -> str | None:
        return super().beside("fee" if place == "fee_micros" else place)


FORMS: Final[Mapping[str, type[GraderForm]]] = {
    one.kind.value: one for one in (AssertionForm, JudgeForm, ValidatorForm)
}


# --- passes ----------------------------------------------------------------------------------------


class RegradeForm(forms.Form):
    """Exact versions, newest first; each says what it judges by. `key` is the request key."""

    graders = forms.MultipleChoiceField(label="Graders", widget=forms.CheckboxSelectMultiple)
    enrichment = forms.ChoiceField(
        label="Enrichment",
        required=False,
        help_text="A validator that is asked once about each answer, for judges that look at what it finds.",
    )
    name = forms.CharField(label="Name", required=False, max_length=120, help_text="To tell passes apart.")
    key = forms.CharField(widget=forms.HiddenInput, min_length=8, max_length=100)

    def __init__(self, *args: Any, versions: Iterable[GraderVersion], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._versions = {str(one.pk): one for one in versions}
        choices = []
        for pk, one in self._versions.items():
            for evidence in one.evidence:
                looks = ", by what a validator found" if evidence == EvidenceKind.ENRICHMENT else ""
                label = f"{one} ({one.grader.definition.name}): {one.grader.get_kind_display().lower()}{looks}"
                choices.append((f"{pk}:{evidence}", label))
        self.fields["graders"].choices = choices  # type: ignore[attr-defined]
        validating = [one for one in self._versions.values() if one.grader.kind == GraderKind.VALIDATOR]
        self.fields["enrichment"].choices = [("", "None"), *((str(one.pk), str(one)) for one in validating)]  # type: ignore[attr-defined]

    def said(self) -> dict[str, Any]:
        given = self.cleaned_data
        return {name: given[name] for name in ("graders", "enrichment", "name")}

    def plan(self) -> GradingPlan:
        chosen = [one.rpartition(":") for one in self.cleaned_data["graders"]]
        enrichment = self._versions.get(self.cleaned_data["enrichment"])
        return GradingPlan([Planned(self._versions[pk], evidence) for pk, _, evidence in chosen], enrichment)

    def add(self, refusal: Refusal) -> None:
        name = refusal.place.partition("[")[0]
        self.add_error(name if name in self.fields else None, f"{refusal.message} {refusal.allowed}")
