"""The page and its case panel in a real browser: keys, focus, rights that go, reads that hang, accessibility."""

from __future__ import annotations

import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import connections
from django.test import Client
from playwright.sync_api import expect, sync_playwright

from teams import actions
from tests.factories.arms import random_cases

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
WIDE = {"width": 1440, "height": 900}
NARROW = {"width": 390, "height": 844}
SECRET = "Pomegranate"
expect.set_options(timeout=20_000)  # a busy machine may take its time; what must not happen is checked at once


@pytest.fixture
def address(transactional_db, live_server, compare, cast, monkeypatch):
    """A comparison with long answers on a running server."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # Playwright runs a loop in this thread
    said = lambda name, repetition: f"{SECRET} answer of {name}, repetition {repetition}"  # noqa: E731
    found = compare(random_cases(40, 2, rate=0.45, seed=1), random_cases(40, 2, rate=0.7, seed=2), answers=said)
    return live_server.url + found.url(cast.omar)


@pytest.fixture
def visit(address, cast):
    """visit(size, theme) opens the comparison as omar and checks at the end that nothing was reported."""
    reports = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])

        def open_(size=WIDE, theme="light", clock=False):
            context = browser.new_context(viewport=size, color_scheme=theme)
            client = Client()
            client.force_login(cast.omar)
            context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": address}])
            page = context.new_page()
            page.on("pageerror", lambda error: reports.append(str(error)))
            page.on("console", lambda said: reports.append(said.text) if "Content Security" in said.text else None)
            if clock:
                page.clock.install()
            page.goto(address)
            return page

        yield open_
        browser.close()
        connections.close_all()  # inside Playwright's loop Django holds a connection of its own
    assert reports == []


def part(page, name):
    return page.locator(f'#case-panel [data-part="{name}"]')


def test_the_first_screen_holds_what_a_reader_came_for(visit):
    page = visit()
    visible = "element => element.getBoundingClientRect().bottom <= innerHeight"
    for selector in (".say", ".finding .chart", ".cards"):
        assert page.locator(selector).first.evaluate(visible)
    rows = page.locator("table.cases tbody tr").evaluate_all(f"rows => rows.filter({visible}).length")
    assert rows >= 5
    narrow = visit(NARROW, "dark")
    assert narrow.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_and_panel_are_accessible(visit, theme):
    page = visit(theme=theme)
    found = Axe().run(page).response["violations"]
    page.get_by_role("link", name="Compare case").first.click()
    expect(part(page, "candidate")).to_contain_text(SECRET)
    found += Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def test_filters_are_one_click_and_keep_the_summary(visit):
    page = visit()
    cards = page.locator(".cards").inner_text()
    page.locator(".filter", has_text="Regressions").click()
    expect(page.locator(".pager").first).to_contain_text("regressions")
    assert "filter=regressions" in page.url
    assert page.locator(".cards").inner_text() == cards
    page.go_back()
    page.wait_for_url(lambda url: "filter" not in url)


def test_P12_keys_open_walk_and_close_the_panel_and_the_focus_returns(visit):
    page = visit()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(part(page, "candidate")).to_contain_text(SECRET)
    first = part(page, "head").locator("h1").inner_text()
    page.keyboard.press("j")
    expect(part(page, "head").locator("h1")).not_to_have_text(first)
    expect(part(page, "baseline")).to_contain_text(SECRET)
    page.keyboard.press("Escape")
    expect(page.locator("#case-panel")).to_be_hidden()
    assert page.evaluate("document.activeElement.textContent") == "Compare case"
    assert SECRET not in page.content()


def test_P12_nothing_is_kept_from_the_moment_the_panel_closes(visit):
    page = visit()
    link = page.get_by_role("link", name="Compare case").first
    for closing in ("document.getElementById('case-panel').close()", "dispatchEvent(new Event('pagehide'))"):
        link.click()
        expect(part(page, "candidate")).to_contain_text(SECRET)
        # In one step of the script: no event that comes later has its turn before the page is read.
        assert SECRET not in page.evaluate(f"(() => {{ {closing}; return document.documentElement.outerHTML }})()")
        expect(page.locator("#case-panel")).to_be_hidden()


def test_a_panel_that_is_opened_at_once_again_stays(visit):
    page = visit()
    link = page.get_by_role("link", name="Compare case").first
    link.click()
    expect(part(page, "candidate")).to_contain_text(SECRET)
    link.evaluate("link => { document.getElementById('case-panel').close(); link.click() }")
    page.wait_for_timeout(100)  # the close event of the first time
    expect(page.locator("#case-panel")).to_be_visible()
    expect(part(page, "candidate")).to_contain_text(SECRET)


def test_P12_a_right_that_goes_clears_the_panel(visit, cast):
    page = visit()
    page.get_by_role("link", name="Compare case").first.click()
    expect(part(page, "candidate")).to_contain_text(SECRET)
    actions.set_role(access=None, team=cast.team, user=cast.omar, role=actions.preset("Viewer"), by=None)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(part(page, "candidate")).to_contain_text("rights do not cover")
    expect(part(page, "head")).to_contain_text("rights do not cover")
    expect(part(page, "baseline")).to_contain_text("rights do not cover")  # each part clears as its own answer comes
    assert SECRET not in page.content()


def test_P12_a_read_that_hangs_clears_its_own_side_alone(visit):
    page = visit(clock=True)
    page.get_by_role("link", name="Compare case").first.click()
    expect(part(page, "candidate")).to_contain_text(SECRET)
    hang = []
    page.route(lambda url: "part=candidate" in url, lambda route: hang.append(route))
    page.clock.run_for(10_500)  # the routine check
    page.wait_for_timeout(300)
    assert len(hang) == 1
    page.clock.run_for(10_000)  # waits for the read that is under way
    page.wait_for_timeout(300)
    assert len(hang) == 1
    expect(part(page, "candidate")).to_contain_text(SECRET)
    page.clock.run_for(11_000)
    expect(part(page, "candidate")).to_contain_text("longer than 20 seconds")
    assert SECRET not in part(page, "candidate").inner_text()
    expect(part(page, "baseline")).to_contain_text(SECRET)
    page.unroute_all(behavior="ignoreErrors")
    page.clock.run_for(10_500)
    expect(part(page, "candidate")).to_contain_text(SECRET)


def test_a_case_is_a_page_of_its_own_too(visit):
    page = visit()
    page.goto(page.get_by_role("link", name="Compare case").first.evaluate("link => link.href"))
    expect(page.locator('main [data-part="candidate"]')).to_contain_text(SECRET)
    assert Axe().run(page).response["violations"] == []
