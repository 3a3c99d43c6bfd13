"""Model routes: operators write revisions in their site, activate them, and secrets stay where they are."""

from __future__ import annotations

import pytest
from django.test import override_settings

from agents import actions
from agents.models import ModelRoute, ModelRouteRevision, Provider
from agents.outbound import checked_url
from teams.models import AuditEvent
from teams.refusals import Refusal
from tests.shape.world import model_route

REFUSED = [
    *("http://models.example.org/v1", "https://127.0.0.1/v1", "https://127.1/v1", "https://0x7f000001/v1"),
    *("https://[::1]/v1", "https://[::ffff:127.0.0.1]/v1", "https://169.254.169.254/latest", "https://2130706433/"),
    *("https://user@models.example.org/", "https://user:key@models.example.org/", "https://models.example.org:22/"),
    *("https://models.example.org/v1?key=1", "https://models.example.org/v1#a", "https://models.example.org\\@evil/"),
    *("https://localhost/v1", "https://localhost./v1", "https://db.internal/v1", "https://models/v1", "ftp://x.org/"),
    *("https://mödels.example.org/", "https://models.example.org/a b", "https://models.example.org:99999/", "x", ""),
    *("https://a.example.org/?", "https://a.example.org/#", "http://127.0.0.1", "https://a.example.org:"),
    *("https://.example.org", "https://a..b", "https://-.-", "https://1.2.3.4.5", "https://a.example.org/%0d"),
    *("https://a.example.org/../x", "https://a.svc", "https://a.lan", "https://b.home.arpa", "https://a_b.example.org"),
    *("https://10.0.0.8/v1", "https://017700000001/", "file:///etc/passwd", "https:///v1", "https://printer.local/"),
]


@pytest.mark.parametrize("loopback", [False, True])
@pytest.mark.parametrize("address", REFUSED)
def test_an_address_inside_or_odd_is_refused(address, loopback):
    if loopback and "127.0.0.1" in address and "ffff" not in address:
        return  # this machine's own address is what loopback allows, judged below
    with pytest.raises(Refusal) as refused:
        checked_url(
            address, place="base_url", loopback=loopback and "localhost" not in address and "::1" not in address
        )
    assert refused.value.place == "base_url"


def test_a_public_address_is_kept_and_this_machine_only_where_it_is_allowed():
    for address in ("https://models.example.org/v1", "https://models.example.org:8443", "https://a.b.example/"):
        assert checked_url(address, place="x", loopback=False) == address.rstrip("/")
    for address in ("http://127.0.0.1:8080/v1", "http://localhost:8080/v1", "http://[::1]:8080/v1"):
        assert checked_url(address, place="x", loopback=True) == address
        with pytest.raises(Refusal):
            checked_url(address, place="x", loopback=False)
    with pytest.raises(Refusal):
        checked_url("http://127.0.0.1:22/v1", place="x", loopback=True)


@pytest.fixture
def provider(db):
    return Provider.objects.create(key="acme", name="Acme", kind="openai")


GOOD = {"model_id": "acme-1", "base_url": "https://models.example.org/v1", "secret_ref": "env:EVENHAND_KEY_ACME"}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"model_id": " "}, "model_id"),
        ({"base_url": ""}, "base_url"),
        ({"base_url": "https://10.1.2.3/"}, "base_url"),
        ({"secret_ref": "sk-live-0123456789abcdef"}, "secret_ref"),
        ({"secret_ref": "file:/run/../etc/shadow"}, "secret_ref"),
        ({"secret_ref": "file:/etc/shadow"}, "secret_ref"),
        ({"secret_ref": "env:SECRET_KEY"}, "secret_ref"),
        ({"secret_ref": ""}, "secret_ref"),
        ({"model_id": "a\u202eb"}, "model_id"),
        ({"currency": "usd"}, "currency"),
        ({"input_micros": -1}, "input_micros"),
        ({"capabilities": {"tools": "yes"}}, "capabilities"),
        ({"capabilities": {"context_tokens": True}}, "capabilities"),
        ({"capabilities": {"telepathy": True}}, "capabilities"),
    ],
)
def test_a_faulty_revision_is_refused_with_its_field(provider, change, place):
    with pytest.raises(Refusal) as refused:
        actions.checked_route(actions.RouteFields(provider=provider, **{**GOOD, **change}))
    assert refused.value.place == place


def test_the_hash_covers_what_may_change_answers_and_not_what_they_cost(provider):
    route = ModelRoute.objects.create(key="acme", name="Acme one")

    def made(**change) -> ModelRouteRevision:
        fields = actions.RouteFields(provider=provider, **{**GOOD, **change})
        return actions.add_route_revision(route=route, fields=fields, by=None)

    first = made()
    assert made(input_micros=2_000_000, secret_ref="env:EVENHAND_KEY_OTHER", currency="EUR").sha256 == first.sha256
    assert made(model_id="acme-2").sha256 != first.sha256
    assert made(capabilities={"tools": True}).sha256 != first.sha256
    assert made(base_url="https://eu.example.org/v1").sha256 != first.sha256
    assert [one.number for one in ModelRouteRevision.objects.order_by("number")] == [1, 2, 3, 4, 5]


@pytest.fixture
def operators(cast, client):
    client.force_login(cast.operator)
    return client


def test_an_operator_sets_up_a_route_and_activates_it(operators, cast):
    operators.post("/operators/agents/provider/add/", {"key": "acme", "name": "Acme", "kind": "openai"})
    operators.post("/operators/agents/modelroute/add/", {"key": "acme", "name": "Acme one"})
    provider, route = Provider.objects.get(), ModelRoute.objects.get()
    assert route.active is None
    form = {
        **{"route": route.pk, "provider": provider.pk, "auth_mode": "api_key", "currency": "USD"},
        **{"capabilities": '{"tools": true}', "input_micros": "2500000", **GOOD},
    }
    here = "/operators/agents/modelrouterevision/"
    wrong = operators.post(f"{here}add/", {**form, "secret_ref": "sk-live-0123456789"}).content.decode()
    assert "never the secret itself" in wrong
    assert not ModelRouteRevision.objects.exists()
    operators.post(f"{here}add/", form)
    revision = ModelRouteRevision.objects.get()
    assert (revision.number, revision.made_by, revision.input_micros) == (1, cast.operator, 2_500_000)
    operators.post(here, {"action": "activate", "_selected_action": [revision.pk]})
    route.refresh_from_db()
    assert route.active == revision
    operators.post("/operators/agents/modelroute/", {"action": "deactivate", "_selected_action": [route.pk]})
    route.refresh_from_db()
    assert route.active is None
    told = list(AuditEvent.objects.filter(object_type="modelroute").values_list("action", flat=True))
    assert sorted(told) == ["route.activated", "route.deactivated", "route.revision_made"]
    assert operators.get(f"{here}{revision.pk}/change/").status_code == 200
    assert operators.post(f"{here}{revision.pk}/change/", form).status_code == 403


def test_members_meet_neither_address_nor_secret(cast, page_client, api_client, provider):
    route = model_route("acme-one")
    fields = actions.RouteFields(provider=provider, **{**GOOD, "base_url": "https://hidden.example.org/v1"})
    actions.activate_route(revision=actions.add_route_revision(route=route, fields=fields, by=None), by=None)
    page = page_client(cast.ana).get(f"/t/{cast.team.slug}/agents/models/{route.pk}/").content.decode()
    answers = [
        api_client(cast.ana, cast.team).get(f"/api/v1/model-routes{end}").content.decode()
        for end in ("", f"/{route.pk}", f"/{route.pk}/revisions")
    ]
    for text in (page, *answers):
        assert "acme-1" in text
        assert "hidden.example.org" not in text and "KEY_ACME" not in text


@override_settings(EMBEDDED=False)
def test_a_production_server_reaches_nothing_on_its_own_machine(provider):
    with pytest.raises(Refusal):
        actions.checked_route(actions.RouteFields(provider=provider, model_id="m", base_url="http://127.0.0.1:8080/v1"))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "9" * 6_000, '{"\\ud800": true}', '{"tools": true, "tools": false}', "{"]
)
def test_operators_json_is_read_as_strictly_as_anybodys(operators, provider, text):
    route = ModelRoute.objects.create(key="acme", name="Acme one")
    form = {"route": route.pk, "provider": provider.pk, "auth_mode": "api_key", "currency": "USD", **GOOD}
    here = "/operators/agents/modelrouterevision/add/"
    assert operators.post(here, {**form, "capabilities": text}).status_code == 200
    asset = {"kind": "settings", "name": "Odd", "body": text}
    assert operators.post("/operators/agents/asset/add/", asset).status_code == 200
    assert not ModelRouteRevision.objects.exists()
    assert operators.post(here, {**form, "capabilities": ""}).status_code == 302
    assert ModelRouteRevision.objects.get().capabilities == {}


@pytest.mark.parametrize("chosen", ["junk", "0198c0de-0000-7000-8000-000000000001"])
def test_an_action_on_a_row_that_is_not_there_says_so(operators, chosen):
    for table, action in (("modelrouterevision", "activate"), ("modelroute", "deactivate"), ("configuration", "end")):
        sent = {"action": action, "_selected_action": [chosen]}
        answer = operators.post(f"/operators/agents/{table}/", sent, follow=True)
        text = answer.content.decode()
        assert "None of the selected rows is there" in text and "ctivated." not in text


def test_names_and_keys_of_operators_can_be_read(operators):
    here = "/operators/agents/provider/add/"
    for odd in ({"name": "a\u202eb"}, {"name": "\u200b"}, {"key": "Acme"}):
        assert operators.post(here, {"key": "acme", "name": "Acme", "kind": "openai", **odd}).status_code == 200
    assert not Provider.objects.exists()
    assert operators.post(here, {"key": "acme", "name": "نام‌ها", "kind": "openai"}).status_code == 302
