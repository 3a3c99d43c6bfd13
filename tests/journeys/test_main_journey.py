"""Sign in, import two runs, compare them, look at the regressions, open a case, export: as a person does it."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.comparisons.test_real_evidence import MAPPINGS
from tests.journeys.evidence import two_files, wide_file
from tests.journeys.house import NARROW, PEOPLE, WIDE

SCROLL = "document.scrollingElement.scrollWidth"
SLOW = 60_000


def sign_in(page: Page) -> None:
    page.get_by_label("E-mail").fill(PEOPLE["ana"])
    page.get_by_label("Password").fill("evenhand-demo-only")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.locator(".top-me details.menu summary").first.click()
    page.get_by_role("link", name="Returns desk").click()
    expect(page.locator(".top-team")).to_have_text("Returns desk")


def upload(page: Page, files) -> None:
    page.get_by_role("link", name="Experiments", exact=True).click()
    page.get_by_role("link", name=re.compile("Import")).first.click()
    if "/imports/new" not in page.url:
        page.get_by_role("link", name=re.compile("Import")).first.click()
    page.get_by_label("Result files").set_input_files(files)
    expect(page.locator(".drop-files li")).to_have_count(len(files))
    page.get_by_role("button", name="Look at the files").click()


def confirm(page: Page, dataset: str) -> None:
    """The dry run, and the import in the background until it is written."""
    expect(page.locator(".say")).to_contain_text("Nothing is written yet", timeout=SLOW)
    page.get_by_label("Dataset", exact=True).fill(dataset)
    expect(page.locator("#target")).to_contain_text("New dataset")
    rejected = page.get_by_label(re.compile("Leave out"))
    if rejected.count():
        rejected.check()
    page.get_by_role("button", name=re.compile("^Import ")).click()
    expect(page.locator("#import")).to_contain_text("experiments on", timeout=SLOW)
    expect(page.locator("#toasts")).to_contain_text("The import is done.")


def filter_open_and_export(page: Page) -> None:
    regressions = page.get_by_role("link", name=re.compile(r"^Regressions"))
    count = int(regressions.locator(".n").inner_text().replace(",", ""))
    regressions.click()
    page.wait_for_url("**filter=regressions**")
    expect(page.locator("table.cases tbody tr")).to_have_count(min(count, 25))
    page.get_by_role("link", name="Compare case").first.click()
    panel = page.locator("#case-panel")
    for side in ("baseline", "candidate"):
        expect(panel.locator(f'[data-part="{side}"] h3').first).to_contain_text(side.capitalize())
        expect(panel.locator(f'[data-part="{side}"] .chip').first).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Cases as CSV").click()
    assert len(list(csv.DictReader(io.StringIO(saved.value.path().read_text(encoding="utf-8-sig"))))) >= count
    with page.expect_download() as saved:
        page.get_by_role("link", name="Result and cases as JSON").click()
    exported = json.loads(saved.value.path().read_text())
    assert exported["result"]["finding"]["text"] == page.locator(".say").inner_text()
    assert exported["result"]["filters"]["regressions"] == count


def test_a_wide_file_through_the_guided_mapping(visit, tmp_path):
    page = visit("/", who=None, size=WIDE, theme="light")
    sign_in(page)
    path, (baseline, candidate), sentence = wide_file(tmp_path)
    upload(page, [path])
    expect(page.locator(".say")).to_have_text("Which field means what?", timeout=SLOW)
    page.get_by_label("Layout").select_option("wide")
    page.get_by_label("Case id").fill("$line")
    page.get_by_label("Subjects in one row").fill(f"{baseline}, {candidate}")
    first = page.locator("fieldset").first
    first.get_by_label("Name").fill("correct")
    first.get_by_label("Value", exact=True).fill("{arm}.nothing")
    page.get_by_label("Answer optional", exact=True).fill("{arm}.solution")
    send = page.locator("form.guided").get_by_role("button", name="Look at the files")
    send.click()
    expect(page.locator("#import [role=alert]")).to_contain_text("No row has a value at this path", timeout=SLOW)
    first = page.locator("fieldset").first
    first.get_by_label("Value", exact=True).fill("{arm}.is_correct")
    send.click()
    confirm(page, "Wide")
    newer = page.locator("tr", has_text=candidate)
    newer.get_by_role("link", name="Compare with").click()
    expect(page.locator(".say")).to_contain_text(sentence)
    expect(page.locator("h1")).to_have_text(f"{candidate} against {baseline}")
    filter_open_and_export(page)


def test_two_files_on_a_narrow_dark_screen(visit, tmp_path):
    page = visit("/", who=None, size=NARROW, theme="dark")
    sign_in(page)
    files, mapping = two_files(tmp_path)
    upload(page, files)
    if mapping:
        expect(page.locator(".say")).to_have_text("Which field means what?", timeout=SLOW)
        page.get_by_text("The same as JSON").click()
        page.get_by_label("Mapping as JSON").fill(mapping)
        page.locator("form", has=page.get_by_label("Mapping as JSON")).get_by_role("button").click()
    expect(page.locator(".say")).to_contain_text("in 2 runs", timeout=SLOW)
    assert page.evaluate(SCROLL) <= NARROW["width"]
    confirm(page, "Narrow")
    assert page.evaluate(SCROLL) <= NARROW["width"]
    page.get_by_role("link", name="Compare with").click()
    if not mapping:
        swap = page.locator("h1").inner_text().startswith("tool-calling")
        if swap:
            page.get_by_role("link", name="Swap").click()
        expect(page.locator(".say")).to_contain_text("20 points less often")
        expect(page.locator(".say")).to_contain_text("65 of 100 cases scored on both sides")
        expect(page.locator(".card", has_text="Generation reliability")).to_contain_text("66/100")
    assert page.evaluate(SCROLL) <= NARROW["width"]
    filter_open_and_export(page)
    assert page.evaluate(SCROLL) <= NARROW["width"]


@pytest.mark.parametrize(("size", "left_out"), [(WIDE, 1), (NARROW, 2)], ids=["wide", "narrow"])
def test_without_scripts(visit, tmp_path, size, left_out):
    page = visit("/", who=None, size=size, scripts=False)
    sign_in(page)
    page.goto("/t/returns/imports/new/")
    files, mapping = two_files(tmp_path, left_out)
    page.get_by_label("Result files").set_input_files(files)
    page.get_by_role("button", name="Look at the files").click()
    for _ in range(40):
        if page.get_by_label("Dataset", exact=True).count() or page.get_by_text("Which field means what?").count():
            break
        page.get_by_role("link", name="See how far it is").click()
        page.wait_for_timeout(500)
    if mapping:
        page.get_by_text("The same as JSON").click()
        page.get_by_label("Mapping as JSON").fill(mapping)
        page.locator("form", has=page.get_by_label("Mapping as JSON")).get_by_role("button").click()
    page.get_by_label("Dataset", exact=True).fill(f"Plain {size['width']}")
    rejected = page.get_by_label(re.compile("Leave out"))
    if rejected.count():
        rejected.check()
    page.get_by_role("button", name=re.compile("^Import ")).click()
    for _ in range(60):
        if not page.get_by_role("link", name="See how far it is").count():
            break
        page.get_by_role("link", name="See how far it is").click()
        page.wait_for_timeout(500)
    page.get_by_role("link", name="Compare with").first.click()
    expect(page.locator(".say")).to_be_visible()
    assert page.evaluate(SCROLL) <= size["width"]
    page.get_by_role("link", name=re.compile("^Regressions")).click()
    page.wait_for_url("**filter=regressions**")
    page.get_by_role("link", name="Compare case").first.click()
    expect(page.locator('main [data-part="candidate"]')).to_contain_text("Candidate")
    page.go_back()
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Cases as CSV").click()
    assert saved.value.suggested_filename.endswith(".csv")


def test_a_dataset_that_is_typed_and_sent_at_once_is_not_asked_about(visit, tmp_path):
    page = visit("/t/returns/imports/new/")
    files, mapping = two_files(tmp_path)
    page.get_by_label("Result files").set_input_files(files)
    page.get_by_role("button", name="Look at the files").click()
    if mapping:
        page.get_by_text("The same as JSON").click(timeout=SLOW)
        page.get_by_label("Mapping as JSON").fill(mapping)
        page.locator("form", has=page.get_by_label("Mapping as JSON")).get_by_role("button").click()
    expect(page.locator(".say")).to_contain_text("Nothing is written yet", timeout=SLOW)
    page.wait_for_load_state()  # the script of the page comes last
    asked, held = [], []
    page.on("request", lambda request: asked.append(request.url) if "/target" in request.url else None)
    page.route("**/confirm", lambda route: held.append(route))
    rejected = page.get_by_label(re.compile("Leave out"))
    if rejected.count():
        rejected.check()
    page.get_by_label("Dataset", exact=True).evaluate(
        """field => {
            field.value = "At once";
            field.dispatchEvent(new Event("input", { bubbles: true }));
            field.form.requestSubmit();
        }"""
    )
    page.wait_for_timeout(1_000)  # longer than the field waits before it asks
    assert (asked, len(held)) == ([], 1)
    held[0].continue_()
    expect(page.locator("#import")).to_contain_text("experiments on", timeout=SLOW)


def test_a_folder_whose_folders_are_the_arms(visit, shared):
    page = visit("/t/returns/imports/new/")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a folder instead").click()
    chooser.value.set_files(shared / "data" / "arabic_mmlu")
    listed = page.locator(".drop-files li")
    expect(listed.filter(has_text="arabic_mmlu/jais-13b_few_shot/").first).to_be_visible()
    expect(listed.filter(has_text="LICENSE")).to_have_count(0)
    page.get_by_label("Dataset").fill("Arabic MMLU")
    page.get_by_role("button", name="Look at the files").click()
    expect(page.locator(".say")).to_have_text("Which field means what?", timeout=60_000)
    page.get_by_text("The same as JSON").click()
    page.get_by_label("Mapping as JSON").fill((MAPPINGS / "arabic_mmlu.json").read_text())
    page.locator("form", has=page.get_by_label("Mapping as JSON")).get_by_role("button").click()
    expect(page.locator(".say")).to_contain_text("Nothing is written yet", timeout=60_000)
    page.get_by_role("button", name=re.compile("^Import ")).click()
    expect(page.locator("#import")).to_contain_text("experiments on", timeout=60_000)
    page.get_by_role("link", name="Compare with").first.click()
    expect(page.locator(".say")).to_contain_text("485 of 548 cases")
