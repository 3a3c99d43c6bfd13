"""The API of imports: one error form, request keys, a dry run and its confirmation, rights."""

from __future__ import annotations

import json
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from intake.models import Import, ImportState, Mapping
from runs.models import Experiment
from tests.intake.conftest import LONG, jsonl, rows, work

pytestmark = pytest.mark.django_db
URL = "/api/v1/imports"


@pytest.fixture
def api(cast, api_client):
    return api_client(cast.ana, cast.team)


def send(client, content, name="a.jsonl", key="", **fields):
    headers = {"Idempotency-Key": key or uuid.uuid4().hex}
    data = {field: json.dumps(value) if isinstance(value, dict) else value for field, value in fields.items()}
    body = content if isinstance(content, bytes) else jsonl(content).encode()
    return client.post(URL, {"files": [SimpleUploadedFile(name, body)], **data}, headers=headers)


def error(response, status):
    assert response.status_code == status, response.content
    body = response.json()["error"]
    assert set(body) >= {"code", "message", "place", "allowed", "request_id"}
    return body["code"], body["place"]


def test_one_shot(api):
    response = send(api, rows(), mapping=LONG, dataset="Cases")
    assert response.status_code == 202
    body = response.json()
    assert (body["state"], body["results"]) == ("examining", [])
    assert response["Location"] == f"{URL}/{body['id']}"
    row = Import.objects.get(pk=body["id"])
    work(row)
    work(row)
    done = api.get(f"{URL}/{row.pk}").json()
    assert (done["state"], done["done"], done["total"]) == ("completed", 6, 6)
    [result] = done["results"]
    assert result["new"]
    assert Experiment.objects.get(pk=result["experiment"]).planned == 6
    [listed] = api.get(URL).json()["items"]
    assert (listed["id"], listed["files"][0]["name"]) == (str(row.pk), "a.jsonl")


@pytest.mark.parametrize("type_", ["application/json", "text/plain", "application/x-www-form-urlencoded", ""])
def test_no_body_of_any_type_holds_no_files(api, type_):
    response = api.generic("POST", URL, b"", content_type=type_, headers={"Idempotency-Key": uuid.uuid4().hex})
    assert 400 <= response.status_code < 500, response.content
    assert not Import.objects.exists()


def test_the_name_of_a_mapping_holds_no_nul_character(api):
    assert error(send(api, rows(), mapping="a\0b"), 422)[0] == "import_mapping_invalid"


def test_dry_run_then_confirm(api):
    entries = [*rows(), rows()[0]]
    body = send(api, entries, mapping=LONG, dry_run="true").json()
    row = work(Import.objects.get(pk=body["id"]))
    shown = api.get(f"{URL}/{row.pk}").json()
    assert (shown["state"], shown["rejected"], shown["runs"][0]["arm"]) == ("ready", 1, "m1")
    rejected = api.get(f"{URL}/{row.pk}/rejected").json()
    assert rejected["items"][0]["code"] == "duplicate_case_repetition"
    confirm = f"{URL}/{row.pk}/confirm"

    def ask(body):
        return api.post(confirm, json.dumps(body), content_type="application/json")

    assert error(ask({"dataset": "Cases"}), 422) == ("import_rejected_rows", "accept_rejected")
    assert error(ask({"dataset": "Cases", "accept_rejected": True, "labels": {"nobody": "x"}}), 422)[0] == (
        "import_label_invalid"
    )
    assert error(ask({"dataset": "Cases", "trust": "independent"}), 400)[0] == "invalid_field"
    assert error(ask({"datset": "Cases"}), 400)[0] == "unknown_field"
    answer = ask({"dataset": "Cases", "accept_rejected": True, "labels": {"m1": "Monday"}})
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    assert error(ask({"dataset": "Cases", "accept_rejected": True}), 409)[0] == "import_state_changed"
    work(row)
    assert Experiment.objects.get().subject.label == "Monday"


def test_request_keys(api):
    """R1, R2"""
    first = send(api, rows(), key="a-key-of-mine", mapping=LONG, dataset="Cases")
    again = send(api, rows(), key="a-key-of-mine", mapping=LONG, dataset="Cases")
    assert first.json()["id"] == again.json()["id"]
    assert error(send(api, rows("m2"), key="a-key-of-mine", mapping=LONG), 409)[0] == "request_key_conflict"
    assert error(api.post(URL, {"files": [SimpleUploadedFile("a.jsonl", b"{}")]}), 400)[0] == "request_key_missing"
    assert Import.objects.count() == 1


def test_one_shot_refusals_are_told_on_the_import(api):
    entries = rows()
    entries[2] |= {"score": "high"}
    row = Import.objects.get(pk=send(api, entries, mapping=LONG, dataset="Cases").json()["id"])
    work(row)
    told = api.get(f"{URL}/{row.pk}").json()
    assert told["state"] == "refused"
    assert (told["refusal"]["code"], told["refusal"]["place"]) == ("import_record_wrong_type", "line 3 score")
    assert Experiment.objects.count() == 0


@pytest.mark.parametrize(
    ("fields", "status", "code", "place"),
    [
        ({"mapping": '{"case": ["a"], "case": ["b"]}'}, 400, "malformed_request", "mapping case"),
        ({"mapping": {"case": ["item"]}}, 422, "import_mapping_invalid", "arm"),
        ({"mapping": {**LONG, "secret": 1}}, 422, "import_mapping_invalid", "secret"),
        ({"mapping": "no such mapping"}, 422, "import_mapping_invalid", "mapping"),
        ({"labels": "[1]"}, 422, "import_label_invalid", "labels"),
        ({"labels": "[]"}, 422, "import_label_invalid", "labels"),
        ({"labels": "null"}, 422, "import_label_invalid", "labels"),
        ({"labels": "0"}, 422, "import_label_invalid", "labels"),
        ({"labels": '""'}, 422, "import_label_invalid", "labels"),
        ({"labels": {"m1": ""}}, 422, "import_label_invalid", "labels"),
        ({"labels": "NaN"}, 400, "malformed_request", "labels"),
        ({"trust": "independent"}, 422, "import_trust_too_high", "trust"),
        ({"trust": "high"}, 400, "invalid_field", "trust"),
        ({"dry_run": "maybe"}, 400, "invalid_field", "dry_run"),
        ({"dataset": "x" * 121}, 422, "dataset_name_invalid", "dataset"),
        ({"datset": "x"}, 400, "unknown_field", "datset"),
    ],
)
def test_faulty_fields_store_nothing(api, settings, fields, status, code, place):
    assert error(send(api, rows(), **fields), status) == (code, place)
    assert Import.objects.count() == 0
    assert not list(settings.UPLOAD_DIR.rglob("*")) if settings.UPLOAD_DIR.exists() else True


def test_sizes_and_counts(api, settings):
    settings.MAX_UPLOAD_BYTES = 100
    assert error(send(api, rows()), 413) == ("import_file_too_large", "files")
    assert error(send(api, b""), 422) == ("import_empty", "files")
    settings.MAX_UPLOAD_FILES = 1
    two = [SimpleUploadedFile("a.jsonl", b"{}"), SimpleUploadedFile("b.jsonl", b"{}")]
    assert error(api.post(URL, {"files": two}, headers={"Idempotency-Key": "12345678"}), 413)[0] == (
        "import_too_many_files"
    )
    assert error(api.post(URL, {"dataset": "x"}, headers={"Idempotency-Key": "12345678"}), 422)[0] == "import_no_files"
    assert not [path for path in settings.UPLOAD_DIR.rglob("*") if path.is_file()]


def test_saved_mappings(api):
    def save(name, mapping):
        return api.post(
            "/api/v1/mappings", json.dumps({"name": name, "mapping": mapping}), content_type="application/json"
        )

    assert save("Nightly", LONG).status_code == 201
    assert error(save("Nightly", LONG), 409) == ("name_taken", "name")
    assert error(save("Other", {"case": []}), 422)[0] == "import_mapping_invalid"
    names = {one["name"]: one["built_in"] for one in api.get("/api/v1/mappings").json()}
    assert names["Nightly"] is False
    assert names["item-model-score-epoch"] is True
    row = Import.objects.get(pk=send(api, rows(), mapping="Nightly", dataset="Cases").json()["id"])
    work(row)
    assert row.state == ImportState.COMPLETED
    assert Mapping.objects.get().body == row.mapping


def test_rights(cast, api_client, api, put):
    """P1, P10: members without content see nothing of imports; strangers see nothing at all."""
    row_id = send(api, rows(), name="canary-name.jsonl", mapping=LONG).json()["id"]
    addresses = [URL, f"{URL}/{row_id}", f"{URL}/{row_id}/rejected", "/api/v1/mappings"]
    ben, cleo = api_client(cast.ben, cast.team), api_client(cast.cleo, cast.other_team)
    for address in addresses:
        answer = ben.get(address)
        assert error(answer, 403)[0] == "missing_right"
        assert b"canary" not in answer.content
    assert error(send(ben, rows()), 403)[0] == "missing_right"
    assert cleo.get(URL).json()["items"] == []
    missing = cleo.get(f"{URL}/{uuid.uuid4()}")
    for address in addresses[1:3]:
        foreign = cleo.get(address)
        assert error(foreign, 404) == error(missing, 404)
    assert error(cleo.post(f"{URL}/{row_id}/confirm", "{}", content_type="application/json"), 404)[0] == "not_found"


def test_a_body_is_bounded_before_anybody_is_known(api, settings):
    """The CSRF check parses a form before the door is reached; what it parses has a bound of its own."""
    settings.MAX_REQUEST_BYTES = 500
    assert error(send(api, b"x" * 1000), 413)[0] == "body_too_large"
    stranger = Client(enforce_csrf_checks=True)
    stranger.cookies["csrftoken"] = "a" * 32
    answer = stranger.post("/t/support/imports/new/", {"files": [SimpleUploadedFile("a.csv", b"x" * 1000)]})
    assert answer.status_code == 413
