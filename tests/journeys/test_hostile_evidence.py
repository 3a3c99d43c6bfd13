"""What files bring is shown as text: no script, no request, no element of theirs, on any page or in any export."""

from __future__ import annotations

import csv
import io
import re

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.evidence import HOSTILE, MAPPING, hostile_files
from tests.journeys.house import House

# Elements and attributes that only the evidence could have brought.
BROUGHT = """() => [
    ...document.querySelectorAll("main img, main script, main style, main iframe, main base, main meta, main object"),
    ...document.querySelectorAll(".text [class]:not(.bidi), .prose form, .prose button, .prose input, .answer details"),
    ...[...document.querySelectorAll("*")].filter((one) => [...one.attributes].some(({ name, value }) =>
        name.startsWith("on") || (name.startsWith("hx-") && /evil|sign-out/.test(value))
        || (["href", "src", "action"].includes(name) && /^\\\\s*(javascript|data|vbscript):/i.test(value)))),
    ...document.querySelectorAll('form[action*="evil"]'),
    ...[...document.querySelectorAll("a[href*=evil]")].filter((one) => !one.rel.includes("noopener")),
].map((one) => one.outerHTML.slice(0, 200))"""
BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
FORMULA = re.compile(r"^[=+\-@\t\r\0]")
NUMBER = re.compile(r"^-?[0-9.]+(e-?[0-9]+)?$")


@pytest.fixture(scope="module")
def hostile(house: House, tmp_path_factory) -> str:
    files = hostile_files(tmp_path_factory.mktemp("hostile"))
    for file in files:
        done = house.imports(
            file, dataset='Hostile "><img src=x onerror=alert(1)>', options=["--mapping", str(MAPPING)]
        )
        assert done.returncode == 0, done.stdout + done.stderr
    listed = house.get("/t/returns/experiments/")
    assert "<img" not in listed
    experiments = list(dict.fromkeys(re.findall(r'href="(/t/returns/experiments/[0-9a-f-]{36}/)"', listed)))[:2]
    candidate, baseline = (address.split("/")[-2] for address in experiments)
    return f"/t/returns/comparisons/paired?candidate={candidate}&baseline={baseline}&metric=resolved"


def look(page: Page, path: str = "") -> None:
    if path:
        page.goto(path)
    page.wait_for_load_state("networkidle")
    assert page.evaluate(BROUGHT) == []
    assert not BIDI.search(page.locator("main").inner_text())
    assert page.locator(".top").is_visible()


def first_of(page: Page, pattern: str) -> str:
    found = [link.get_attribute("href") for link in page.locator("main a[href]").all()]
    return next(address for address in found if re.search(pattern, address))


def test_on_every_page_that_shows_evidence(visit, hostile):
    page = visit(hostile)
    look(page)
    for tab in ("unmatched", "coverage", "changed", "ranges", "details"):
        page.locator(f'.tabs a[href*="tab={tab}"]').first.click()
        page.wait_for_url(f"**tab={tab}**")
        look(page)
    look(page, hostile + "&metric=topic")
    look(page, hostile + "&q=" + "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    experiment = first_of(page, r"/experiments/[0-9a-f-]{36}/$")
    look(page, experiment)
    execution = first_of(page, r"/executions/\d+/$")
    for position in (1, 4, 6, 13, 19):
        look(page, re.sub(r"\d+/$", f"{position}/", execution))
    for path in ("datasets", "agents", "experiments", "imports", "comparisons"):
        look(page, f"/t/returns/{path}/")
    look(page, "/t/returns/datasets/")
    dataset = page.locator("main a.row-link, main a", has_text="Hostile").first.get_attribute("href")
    look(page, dataset)
    look(page, first_of(page, r"/versions/\d+/"))
    look(page, first_of(page, r"/revisions/"))
    look(page, "/t/returns/agents/subjects/")
    look(page, first_of(page, r"/agents/subjects/[0-9a-f-]{36}/$"))
    look(page, "/t/returns/imports/")
    look(page, first_of(page, r"/imports/[0-9a-f-]{36}/$"))


def test_in_the_case_panel_and_on_its_page(visit, hostile):
    page = visit(hostile)
    links = [link.get_attribute("href") for link in page.get_by_role("link", name="Compare case").all()]
    page.get_by_role("link", name="Compare case").first.click()
    panel = page.locator("#case-panel")
    for step in range(len(HOSTILE) - 1):
        expect(panel.locator('[data-part="candidate"] h3').first).to_be_visible()
        expect(panel.locator('[data-part="head"]')).to_contain_text(f"{step + 1} of ")
        page.wait_for_timeout(100)
        assert page.evaluate(BROUGHT.replace('"main ', '"#case-panel ').replace(", main ", ", #case-panel ")) == []
        assert not BIDI.search(panel.inner_text())
        if panel.locator('[data-case-step="1"]').count() == 0:
            break
        page.keyboard.press("j")
    for link in links[:6]:
        look(page, link)
        for view in page.locator("main .segmented a").all():
            view_address = view.get_attribute("href")
            assert view_address
    for address in {view.get_attribute("href") for view in page.locator("main .segmented a").all()}:
        look(page, address)


def test_in_the_exports(visit, hostile):
    page = visit(hostile)
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Cases as CSV").click()
    cells = [
        cell for row in csv.reader(io.StringIO(saved.value.path().read_text(encoding="utf-8-sig"))) for cell in row
    ]
    assert [cell for cell in cells if FORMULA.match(cell) and not NUMBER.match(cell)] == []
    assert any("HYPERLINK" in cell for cell in cells)
    assert "<" not in saved.value.suggested_filename
