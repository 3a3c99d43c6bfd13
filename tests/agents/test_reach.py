"""Where tools of a connector are called: operators say it; tools name their connector; old definitions stay."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from agents import actions, definitions
from agents.models import Connector
from teams.models import AuditEvent
from teams.refusals import Refusal
from tests.shape.world import model_route

pytestmark = pytest.mark.django_db

HERE = "http://127.0.0.1:8080/tools"
SECRET = "env:EVENHAND_KEY_ORDERS"


@pytest.fixture
def connector(cast):
    return actions.create_connector(access=cast.access(cast.ana), name="Orders")


def reach(connector, address="", **more) -> Connector:
    return actions.reach_connector(connector=connector, reach=actions.Reach(address, **more), by=None)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"address": "http://tools.example.org/"}, "address"),
        ({"address": "https://10.0.0.1/"}, "address"),
        ({"address": "https://user:pass@tools.example.org/"}, "address"),
        ({"address": "https://tools.internal/"}, "address"),
        ({"address": HERE, "secret_ref": "sk-live-0123456789"}, "secret_ref"),
        ({"address": HERE, "secret_ref": "file:/etc/passwd"}, "secret_ref"),
        ({"secret_ref": SECRET}, "secret_ref"),
        ({"address": HERE, "fee_micros": -1, "fee_currency": "USD"}, "fee_micros"),
        ({"address": HERE, "fee_micros": 1, "fee_currency": ""}, "fee_currency"),
        ({"address": HERE, "fee_micros": 1, "fee_currency": "dollars"}, "fee_currency"),
    ],
)
def test_what_cannot_be_reached_or_paid_is_refused(connector, settings, fields, place):
    settings.EMBEDDED = True
    with pytest.raises(Refusal) as refused:
        reach(connector, **fields)
    assert (refused.value.code, refused.value.place) == ("invalid_field", place)


def test_this_machine_is_reached_in_embedded_mode_only(connector, settings):
    settings.EMBEDDED = True
    assert reach(connector, HERE).address == HERE
    settings.EMBEDDED = False
    with pytest.raises(Refusal):
        reach(connector, HERE)


def test_a_secret_belongs_to_its_host(connector):
    first = reach(connector, "https://tools.example.org/v1", secret_ref=SECRET)
    assert first.secret_ref == SECRET
    assert reach(connector, "https://tools.example.org/v2", secret_ref=SECRET).secret_ref == SECRET
    moved = reach(connector, "https://elsewhere.example.org/v1", secret_ref=SECRET)
    assert moved.secret_ref == "", "with another host it is dropped"
    assert reach(connector, "https://elsewhere.example.org/v1", secret_ref=SECRET).secret_ref == SECRET
    assert reach(connector, "https://elsewhere.example.org:8443/v1", secret_ref=SECRET).secret_ref == ""
    other = "env:EVENHAND_KEY_OTHER"
    assert reach(connector, "https://tools.example.org/", secret_ref=other).secret_ref == other


def test_no_fee_is_unknown_and_zero_is_free(connector):
    assert reach(connector, HERE, fee_currency="USD").fee_micros is None
    assert reach(connector, HERE, fee_currency="USD").fee_currency == ""
    free = reach(connector, HERE, fee_micros=0, fee_currency="USD")
    assert (free.fee_micros, free.fee_currency) == (0, "USD")
    with pytest.raises(IntegrityError), transaction.atomic():
        Connector.objects.update(fee_currency="")


def test_an_operator_says_it_in_the_site_and_members_see_that_there_is_one(cast, page_client, api_client, connector):
    operators, here = page_client(cast.operator), f"/operators/agents/connector/{connector.pk}/change/"
    assert operators.get("/operators/agents/connector/add/").status_code == 403
    form = {"address": HERE, "secret_ref": "sk-live", "fee_micros": "250", "fee_currency": "USD", "name": "Stolen"}
    assert "never the secret itself" in operators.post(here, form).content.decode()
    assert operators.post(here, {**form, "secret_ref": SECRET}).status_code == 302
    connector.refresh_from_db()
    assert (connector.name, connector.address, connector.secret_ref, connector.fee_micros) == (
        "Orders",
        HERE,
        SECRET,
        250,
    )
    event = AuditEvent.objects.get(action="connector.reach_set")
    assert event.actor == cast.operator and "127.0.0.1" not in str(event.detail) and SECRET not in str(event.detail)
    moved = {**form, "secret_ref": SECRET, "address": "https://tools.example.org/v1"}
    assert "was dropped" in operators.post(here, moved, follow=True).content.decode()
    connector.refresh_from_db()
    assert (connector.address, connector.secret_ref) == ("https://tools.example.org/v1", "")
    reach(connector, HERE, secret_ref=SECRET)
    for user in (cast.ana, cast.ben):
        page = page_client(user).get(f"/t/{cast.team.slug}/agents/connectors/{connector.pk}/").content.decode()
        assert "Operators gave it an address" in page and "127.0.0.1" not in page and "EVENHAND_KEY" not in page
        told = api_client(user, cast.team).get(f"/api/v1/connectors/{connector.pk}")
        assert told.json()["reachable"] is True and "127.0.0.1" not in told.content.decode()
    actions.archive_connector(access=cast.access(cast.ana), connector=connector)
    told = api_client(cast.ana, cast.team).get(f"/api/v1/connectors/{connector.pk}").json()
    assert told["reachable"] is False


def test_a_tool_names_a_connector_of_its_definition(cast, page_client, connector):
    tool = {"name": "find", "description": "", "parameters": {"type": "object"}}
    named = {**tool, "connector": str(connector.pk)}
    with pytest.raises(Refusal) as refused:
        definitions.checked({"tools": [tool | {"name": "other"}, named]})
    assert refused.value.place == "tools[1].connector"
    body = definitions.checked(
        {"tools": [named, {**tool, "name": "none", "connector": ""}],
         "connectors": [{"connector": str(connector.pk), "mode": "read"}]}
    )  # fmt: skip
    assert body["tools"][0]["connector"] == str(connector.pk) and "connector" not in body["tools"][1]
    assert definitions.checked({"tools": [named]}, whole=False)["tools"] == [named]
    route, access = model_route(), cast.access(cast.ana)
    agent = actions.create_agent(access=access, name="Desk")
    said = {**body, "instructions": "Answer.", "route": route.key}
    actions.save_draft(access=access, agent=agent, definition=said, revision=1)
    snapshot = actions.publish_draft(access=access, agent=agent, revision=2).snapshot
    page = page_client(cast.ana).get(f"/t/{cast.team.slug}/agents/snapshots/{snapshot.pk}/").content.decode()
    assert "over <bdi>Orders</bdi>" in page
    form = page_client(cast.ana).get(f"/t/{cast.team.slug}/agents/{agent.pk}/draft").content.decode()
    assert f'<option value="{connector.pk}" selected>Orders</option>' in form and "Never run" in form


BEFORE = {
    "instructions": "You answer questions about orders.",
    "route": "support-large",
    "tools": [
        {
            "name": "find_order",
            "description": "Finds an order.",
            "parameters": {"type": "object", "properties": {"number": {"type": "string"}}},
        }
    ],
    "connectors": [{"connector": "0198c0de-0000-7000-8000-000000000001", "mode": "read"}],
    "context": [{"name": "refund policy", "text": "Refunds take five working days."}],
    "settings": {"temperature": 0.2, "max_tool_rounds": 3},
}


def test_definitions_from_before_tools_named_connectors_keep_their_hashes():
    """Computed with the code of that time."""
    body = definitions.checked(BEFORE)
    assert body == BEFORE
    assert definitions.digest("draft", body) == "0086b928be3385af988682512bbbf467948006d24ca069e53f2b06c17b40d576"
    hashes = definitions.digests({**body, "route": {"key": "support-large", "revision": 3, "model_id": "x"}})
    assert hashes["definition_sha256"] == "ec762eeb92b3900cce4b621751dbc513f9839f5dd61bee3a8fc00363dd1b57d9"
    assert hashes["tools_sha256"] == "6d4476a40c71434aeb4881379383594109263c327b25ba138e767b7a7693dc3a"
