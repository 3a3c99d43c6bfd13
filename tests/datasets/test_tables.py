"""Cases from CSV, JSON Lines and Excel: looked at, then brought into the draft, all or none."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from datasets import actions, queries, tables
from datasets.models import Dataset, Item, ItemContent, ItemRevision
from intake.actions import import_now
from teams.refusals import Refusal
from tests.comparisons.test_real_evidence import words_of

CSV = (
    "id;input;expected;tags;metadata.level;turns\n"
    "q1;What?;An answer;easy | short;3;\n"
    'q2;;;hard;;[{"role": "user", "content": "Hi"}]\n'
)


def rows(text: str | bytes, name: str = "cases.csv") -> list[tables.Row]:
    raw = text.encode() if isinstance(text, str) else text
    return tables.read(name, io.BytesIO(raw), len(raw))


def workbook(*lines: tuple[object, ...]) -> bytes:
    book = Workbook()
    for line in lines:
        book.active.append(line)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


@pytest.fixture
def access(cast):
    return cast.access(cast.ana)


@pytest.fixture
def dataset(access):
    return actions.create_dataset(access=access, name="Tables")


def bring(access, dataset, text, name="cases.csv", **how):
    report = actions.bring_table(access=access, dataset=dataset, rows=rows(text, name), **how)
    return (report.added, report.revised, report.unchanged, report.faulty)


def said(dataset) -> dict[str, ItemContent]:
    draft = queries.draft_of(dataset)
    found = [change.revision.itemcontent for change in queries.changes_of(draft) if change.revision]
    return {one.source_id: one for one in found}


@pytest.mark.django_db
def test_a_table_becomes_cases_and_again_changes_nothing(access, dataset):
    assert bring(access, dataset, CSV) == (2, 0, 0, 0)
    cases = said(dataset)
    assert cases["q1"].body == {"input": "What?", "expected": "An answer"}
    assert (cases["q1"].tags, cases["q1"].metadata) == (["easy", "short"], {"level": "3"})
    assert cases["q2"].body == {"turns": [{"role": "user", "content": "Hi"}]}
    assert bring(access, dataset, CSV) == (0, 0, 2, 0)
    assert ItemRevision.objects.count() == 2


LINES = [{"id": "q1", "title": "New title", "tags": ["x", "y"]}, {"id": "q3", "title": "Third", "input": "?"}]
CELLS = [("id", "title", "tags"), ("q1", "New title", "x;y"), (None, None, None), ("q3", "Third", "")]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,title,tags\nq1,New title,x|y\nq3,Third,\n"),
        ("a.JSONL", "\n\n".join(map(json.dumps, LINES))),
        ("a.xlsx", workbook(*CELLS)),
    ],
)
def test_formats_agree_and_what_is_not_named_stays(access, dataset, name, content):
    bring(access, dataset, CSV)
    found = bring(access, dataset, content, name, leave_out=True)
    assert found == ((1, 1, 0, 0) if name == "a.JSONL" else (0, 1, 0, 1))  # a new case needs an input
    changed = said(dataset)["q1"]
    assert (changed.title, changed.tags) == ("New title", ["x", "y"])
    assert (changed.body["expected"], changed.metadata) == ("An answer", {"level": "3"})


@pytest.mark.django_db
def test_with_a_fault_nothing_is_written(access, dataset):
    text = "id,input,language\nq1,What?,en\nq1,Again?,en\n,Who?,en\nq2,,en\nq3,Why?,not a tag\n"
    looked = actions.look_at_table(access=access, dataset=dataset, rows=rows(text))
    assert (looked.added, looked.faulty) == (1, 4)
    assert [(one.row, one.place) for one in looked.faults] == [
        (3, "id"),
        (4, "id"),
        (5, "body.input"),
        (6, "language"),
    ]
    assert not Item.objects.exists()
    with pytest.raises(Refusal) as refused:
        bring(access, dataset, text)
    assert (refused.value.code, refused.value.place) == ("table_rows_faulty", "row 3, id")
    assert len(refused.value.extra["faults"]) == 4
    assert bring(access, dataset, text, leave_out=True) == (1, 0, 0, 4)


@pytest.mark.django_db
def test_ids_that_are_numbers_find_their_cases(access, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 7, "model": "m", "score": 1, "question": "What?"}\n')
    scorer = {"key": "score", "kind": "boolean", "direction": "higher_is_better", "value": "score"}
    mapping = {"case": ["id"], "arm": "model", "content": {"input": "question"}, "scorers": [scorer]}
    import_now(access=access, files=[(path.name, path)], dataset_name="Numbers", mapping=mapping)
    dataset = Dataset.objects.get(name="Numbers")
    assert bring(access, dataset, "id,title\n7,Seven\n") == (0, 1, 0, 0)
    assert bring(access, dataset, '{"id": 7, "title": "Seven"}', "a.jsonl") == (0, 0, 1, 0)
    assert Item.objects.filter(dataset=dataset).count() == 1
    assert ItemContent.objects.filter(title="Seven").get().source_is_number


@pytest.mark.django_db
def test_many_cases_take_as_many_questions_as_few(access, dataset):
    def asked(count: int) -> int:
        text = "id,input\n" + "".join(f"n{count}-{number},Question {number}?\n" for number in range(count))
        with CaptureQueriesContext(
            connection,
        ) as captured:
            bring(access, dataset, text)
        return len(captured)

    assert asked(1_000) <= asked(10) + 2
    assert Item.objects.count() == 1_010


@pytest.mark.parametrize(
    ("name", "content", "code", "place"),
    [
        ("a.txt", "id\n1\n", "table_format_unknown", "file"),
        ("a", "id\n1\n", "table_format_unknown", "file"),
        ("a.csv", "", "table_column_unknown", "row 1"),
        ("a.csv", "id\n", "table_invalid", "file"),
        ("a.csv", "input\nx\n", "table_column_unknown", "row 1"),
        ("a.csv", "id,colour\n1,red\n", "table_column_unknown", "row 1"),
        ("a.csv", "id,id\n1,2\n", "table_column_unknown", "row 1"),
        ("a.csv", "id,input\n1\n", "table_invalid", "row 2"),
        ("a.csv", 'id,input\n1,"x\n', "table_invalid", "row 2"),
        ("a.csv", b"id\n\xff\n", "table_invalid", "file"),
        ("a.csv", "id\n\0\n", "table_invalid", "file"),
        ("a.jsonl", '{"id": 1, "id": 2}\n', "table_invalid", "row 1"),
        ("a.jsonl", '{"id": "1"}\n[1]\n', "table_invalid", "row 2"),
        ("a.jsonl", '{"id": "1", "colour": 2}\n', "table_column_unknown", "row 1"),
        ("a.xlsx", b"PK\x03\x04", "table_invalid", "file"),
        ("a.xlsx", b"", "table_invalid", "file"),
        ("a.xlsx", workbook(("id", "colour"), ("1", "red")), "table_column_unknown", "row 1"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(name, content, code, place):
    with pytest.raises(Refusal) as refused:
        rows(content, name)
    assert (refused.value.code, refused.value.place) == (code, place)


def test_a_workbook_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "LARGEST_UNPACKED", 1000)
    with pytest.raises(Refusal) as refused:
        rows(workbook(("id",), ("1",)), "a.xlsx")
    assert refused.value.code == "table_too_large"
    monkeypatch.setattr(tables, "MOST_ROWS", 2)
    with pytest.raises(Refusal):
        rows("id\n1\n2\n3\n")


def test_a_workbook_whose_xml_expands_is_refused():
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook(("id",), ("1",)))) as given, zipfile.ZipFile(stream, "w") as made:
        for entry in given.namelist():
            content = given.read(entry)
            if entry == "xl/workbook.xml":
                content = b'<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>'
            made.writestr(entry, content)
    with pytest.raises(Refusal) as refused:
        rows(stream.getvalue(), "a.xlsx")
    assert refused.value.code == "table_invalid"


@given(st.binary(max_size=300), st.sampled_from(["a.csv", "a.jsonl", "a.xlsx"]))
def test_any_bytes_are_rows_or_a_refusal(raw, name):
    try:
        rows(raw, name)
    except Refusal:
        pass


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.django_db
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=st.lists(st.dictionaries(st.sampled_from([*tables.COLUMNS, "metadata.a"]), VALUES, max_size=6), max_size=4)
)
def test_any_rows_are_cases_or_faults(access, dataset, table):
    numbered = [tables.Row(number, row) for number, row in enumerate(table, start=1)]
    report = actions.look_at_table(access=access, dataset=dataset, rows=numbered)
    assert report.changes + report.faulty == len(table)


@pytest.mark.django_db
def test_the_page_checks_brings_and_says_what_is_wrong(cast, page_client, dataset):
    ana = page_client(cast.ana)
    here = f"/t/{cast.team.slug}/datasets/{dataset.pk}/cases/bring"

    def send(text, name="cases.csv", **more):
        file = SimpleUploadedFile(name, text.encode())
        return ana.post(here, {"file": file, **more}, follow=True)

    checked = send(CSV, check="1")
    assert "2 would be added, 0 revised; 0 stand so already" in words_of(checked)
    assert not Item.objects.exists()
    part = ana.post(here, {"file": SimpleUploadedFile("a.csv", CSV.encode()), "check": "1"},
                    headers={"HX-Request": "true", "HX-Target": "report"})  # fmt: skip
    assert "2</b> would be added" in part.content.decode()
    assert "<h1>" not in part.content.decode()
    assert "2 cases added, 0 revised" in words_of(send(CSV))
    faulty = send("id,input\nq9,\nq8,Fine?\n")
    assert faulty.status_code == 422
    assert "Rows with a fault: nothing was written" in words_of(faulty)
    assert "1 cases added" in words_of(send("id,input\nq9,\nq8,Fine?\n", leave_out="1"))
    wrong = send("id,colour\n1,red\n")
    assert "There is no column 'colour'" in words_of(wrong).replace("&#x27;", "'")
    assert "Choose a file first" in words_of(ana.post(here, {}))


@pytest.mark.django_db
def test_the_api_brings_cases_as_the_page_does(cast, api_client, dataset):
    api = api_client(cast.ana, cast.team)
    address = f"/api/v1/datasets/{dataset.pk}/draft/table"

    def send(body):
        return api.put(address, json.dumps(body), content_type="application/json")

    cases = [{"id": "q1", "input": "What?", "tags": ["a"]}, {"id": "q2", "turns": []}]
    looked = send({"cases": cases, "dry_run": True}).json()
    assert (looked["added"], looked["faulty"], looked["faults"][0]["row"]) == (1, 1, 2)
    refused = send({"cases": cases}).json()["error"]
    assert (refused["code"], refused["extra"]["faults"][0]["row"]) == ("table_rows_faulty", 2)
    assert not Item.objects.exists()
    assert send({"cases": cases, "leave_out_faulty": True}).json()["added"] == 1
    assert send({"cases": cases[:1]}).json() == {"added": 0, "revised": 0, "unchanged": 1, "faulty": 0, "faults": []}
    unknown = send({"cases": [{"id": "q1", "colour": "red"}]}).json()["error"]
    assert (unknown["code"], unknown["place"]) == ("table_column_unknown", "cases[0]")
