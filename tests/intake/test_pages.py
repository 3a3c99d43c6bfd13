"""Pages of imports: from the upload to the result, by forms alone; who may see what."""

from __future__ import annotations

import html as markup
import re
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from intake import actions, working
from intake.models import Import, ImportState, Mapping
from runs.models import Experiment
from tests.intake.conftest import LONG, jsonl, rows, work

pytestmark = pytest.mark.django_db


def address(name, row=None):
    return reverse(f"imports:{name}", kwargs={"team": "support", **({"row": row.pk} if row else {})})


def form_of(html: str, action: str) -> dict[str, str]:
    """The filled fields of one form, as a browser without a script would send them."""
    inner = re.search(rf'<form[^>]*action="{re.escape(action)}".*?</form>', html, re.S)
    assert inner, action
    fields: dict[str, str] = {}
    for tag in re.findall(r"<input[^>]*>", inner[0]):
        name = re.search(r'name="([^"]*)"', tag)
        if not name or (('type="radio"' in tag or 'type="checkbox"' in tag) and " checked" not in tag):
            continue
        value = re.search(r'value="([^"]*)"', tag)
        fields[name[1]] = unescape(value[1]) if value else ""
    for name, body in re.findall(r'<select[^>]*name="([^"]*)".*?>(.*?)</select>', inner[0], re.S):
        chosen = re.search(r'<option value="([^"]*)" selected', body) or re.search(r'<option value="([^"]*)"', body)
        fields[name] = unescape(chosen[1]) if chosen else ""
    for name, body in re.findall(r'<textarea[^>]*name="([^"]*)"[^>]*>(.*?)</textarea>', inner[0], re.S):
        fields[name] = unescape(body.removeprefix("\n"))
    return fields


def unescape(text: str) -> str:
    return markup.unescape(text)


@pytest.fixture
def console(cast, page_client):
    return page_client(cast.ana)


def test_the_whole_way_by_forms(console):
    """Upload, suggested mapping, dry run, confirmation, result: without any script."""
    empty = console.get(address("list")).content.decode()
    assert "Nothing was imported yet" in empty
    form = form_of(console.get(address("new")).content.decode(), address("new"))
    sent = console.post(address("new"), {**form, "files": [SimpleUploadedFile("a.jsonl", jsonl(rows()).encode())]})
    row = Import.objects.get()
    assert sent.url == address("detail", row)
    html = console.get(sent.url).content.decode()
    assert "Which field means what?" in html
    assert "What is 0?" in html  # the first rows
    fields = form_of(html, address("map", row)) if "saved-name" not in html else guided(html, row)
    assert (fields["case"], fields["arm"], fields["scorers-0-key"]) == ("item", "model", "correct")
    mapped = console.post(address("map", row), fields | {"save_as": "Nightly"})
    assert mapped.url == sent.url
    html = console.get(sent.url).content.decode()
    assert "6 executions" in html
    assert Mapping.objects.get().name == "Nightly"
    fields = form_of(html, address("confirm", row))
    refused = console.post(address("confirm", row), fields | {"dataset": ""})
    assert refused.status_code == 422
    assert "Name the dataset" in refused.content.decode()
    confirmed = console.post(address("confirm", row), fields | {"dataset": "Cases"})
    assert confirmed.url == sent.url
    assert "Waiting for a worker" in console.get(sent.url).content.decode()
    work(row)
    done = console.get(sent.url).content.decode()
    experiment = Experiment.objects.get()
    assert reverse("experiments:detail", kwargs={"team": "support", "experiment": experiment.pk}) in done
    assert "Import a second run" in done
    assert console.post(address("confirm", row), fields).url == sent.url  # a doubled click


def guided(html: str, row: Import) -> dict[str, str]:
    """The guided form stands behind the one of saved mappings, with the same address."""
    forms = re.findall(rf'<form[^>]*action="{re.escape(address("map", row))}".*?</form>', html, re.S)
    [inner] = [form for form in forms if 'value="guided"' in form]
    return form_of(inner, address("map", row))


def test_comparing_is_offered(console, bring, put):
    bring(put("a.jsonl", rows("m1")), mapping=LONG)
    row = bring(put("b.jsonl", rows("m2")), mapping=LONG)
    one, other = Experiment.objects.order_by("number")
    html = console.get(address("detail", row)).content.decode()
    compare = reverse("comparisons:paired", kwargs={"team": "support"})
    assert f"{compare}?candidate={other.pk}&amp;baseline={one.pk}" in html
    again = bring(put("b.jsonl", rows("m2")), mapping=LONG)
    assert "were imported before" in console.get(address("detail", again)).content.decode()


def test_errors_stand_beside_the_field(console, upload, put):
    row = work(upload(put("a.jsonl", rows())))
    html = console.get(address("detail", row)).content.decode()
    fields = guided(html, row)
    answer = console.post(address("map", row), fields | {"scorers-0-low": "1", "scorers-0-high": "0"})
    assert answer.status_code == 422
    assert "must be less than" in answer.content.decode()
    answer = console.post(address("map", row), fields | {"layout": "wide", "arms": ""})
    assert "List the subjects" in answer.content.decode()
    answer = console.post(address("map", row), {"kind": "json", "body": '{"case": ["item"]}'})
    assert answer.status_code == 422
    assert "arm: This key is required." in answer.content.decode()
    answer = console.post(address("map", row), {"kind": "json", "body": '{"case": NaN}'})
    assert answer.status_code == 422
    assert Import.objects.get().state == ImportState.NEEDS_MAPPING


def test_a_mapping_that_does_not_fit_comes_back_with_the_reason(console, upload, put):
    row = work(upload(put("a.jsonl", rows())))
    fields = guided(console.get(address("detail", row)).content.decode(), row)
    console.post(address("map", row), fields | {"case": "nothing_here"})
    html = console.get(address("detail", row)).content.decode()
    assert "do not fit this mapping" in html
    assert 'value="nothing_here"' in html


def test_rejected_rows_and_their_csv(console, upload, put):
    entries = rows()
    entries[1] |= {"score": "=1+1"}
    entries[2] |= {"score": "high"}
    row = work(upload(put("a.jsonl", entries), mapping=LONG, dataset_name="Cases"))
    html = console.get(address("detail", row)).content.decode()
    assert "Leave out the 2 rejected rows" in html
    fields = form_of(html, address("confirm", row))
    assert console.post(address("confirm", row), fields).status_code == 422
    listed = console.get(address("rejected", row)).content.decode()
    assert "line 3 score" in listed
    assert console.get(address("rejected", row) + "?code=import_record_wrong_type").status_code == 200
    assert console.get(address("rejected", row) + "?code=other").status_code == 400
    export = console.get(address("rejected_csv", row))
    assert "attachment" in export["Content-Disposition"]
    text = b"".join(export.streaming_content).decode()
    assert "line 3 score" in text
    assert not re.search(r"(^|,)=", text, re.M)  # no cell that a spreadsheet would run


def test_discarding_asks_first(console, upload, put):
    row = work(upload(put("canary-name.jsonl", rows()), mapping=LONG))
    asked = console.get(address("discard", row)).content.decode()
    assert "canary-name" in asked
    assert "are removed" in asked
    assert console.post(address("discard", row)).url == address("list")
    listed = console.get(address("list"), follow=True).content.decode()
    assert "canary-name" not in listed
    assert "(files removed)" in listed


def test_the_live_part_is_the_body_alone(console, upload, put):
    row = upload(put("a.jsonl", rows()), mapping=LONG, dataset_name="Cases", one_shot=True)
    part = console.get(address("detail", row), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert 'data-terminal="false"' in part
    work(row)
    work(row)
    part = console.get(address("detail", row), headers={"HX-Request": "true"}).content.decode()
    assert 'data-terminal="true"' in part


def test_file_names_are_shown_as_text(console, cast):
    row, _ = actions.create(
        access=cast.access(cast.ana),
        files=[("<img src=x onerror=alert(1)>\u202egnp.jsonl", [jsonl(rows()).encode()])],
        key="key-of-a-name",
        mapping=LONG,
    )
    for shown in (address("list"), address("detail", row), address("discard", row)):
        html = console.get(shown).content.decode()
        assert "<img src=x" not in html
        assert "&lt;img src=x" in html
        assert "\u202e" not in html


def test_no_path_comes_from_a_person(console, settings, cast):
    name = "../../etc/passwd%252e.jsonl"
    actions.create(
        access=cast.access(cast.ana), files=[(name, [jsonl(rows()).encode()])], key="key-of-a-path", mapping=LONG
    )
    [kept] = [path for path in settings.UPLOAD_DIR.rglob("*") if path.is_file()]
    assert re.fullmatch(r"[0-9a-f]{64}", kept.name)


def test_rights(cast, page_client, upload, put):
    """P1, P10, P11"""
    row = work(upload(put("canary-name.jsonl", rows()), mapping=LONG, dataset_name="Cases"))
    ben, cleo, operator = (page_client(user) for user in (cast.ben, cast.cleo, cast.operator))
    pages = [address("list"), address("new"), *(address(n, row) for n in ("detail", "rejected", "rejected_csv"))]
    for shown in pages:
        answer = ben.get(shown)
        assert answer.status_code == 403
        assert b"canary" not in answer.content
        assert cleo.get(shown).status_code == 404
        assert operator.get(shown).status_code == 404
    for name in ("map", "confirm", "discard"):
        assert ben.post(address(name, row)).status_code == 403
        assert cleo.post(address(name, row)).status_code == 404
        assert ben.get(address(name, row)).status_code in (403, 405)
    mine = reverse("imports:detail", kwargs={"team": "other", "row": row.pk})
    missing = reverse("imports:detail", kwargs={"team": "other", "row": uuid.uuid4()})
    assert cleo.get(mine).status_code == cleo.get(missing).status_code == 404
    admin = operator.get("/operators/intake/import/")
    assert admin.status_code == 200
    assert b"canary" not in admin.content
    one = operator.get(f"/operators/intake/import/{row.pk}/change/")
    assert one.status_code == 200
    assert b"canary" not in one.content
    assert b"What is 0?" not in one.content


def test_the_list_reads_the_same_number_of_rows_for_one_and_for_many(
    cast, console, upload, put, django_assert_num_queries
):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    upload(put("a.jsonl", rows()), mapping=LONG)
    console.get(address("list"))
    with CaptureQueriesContext(connection) as few:
        console.get(address("list"))
    for number in range(8):
        upload(put(f"b{number}.jsonl", rows(f"m{number}")), mapping=LONG)
    with CaptureQueriesContext(connection) as many:
        console.get(address("list"))
    assert len(few) == len(many)


def test_nothing_but_working_is_shown_by_a_tick(upload, put):
    upload(put("a.jsonl", rows()), mapping=LONG)
    assert working.tick() == 1
