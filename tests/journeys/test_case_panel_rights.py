"""P12: what the case panel shows is asked for again, and is gone as soon as it may not be read any more."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.house import PEOPLE

ANSWER = "helpdesk-assistant 1.3"  # the baseline's label stands over its answer
GONE = "Your rights do not cover this content any more."
REFUSED = "Failed to load resource: the server responded with a status of 403"
KEPT = "JSON.stringify([{ ...localStorage }, { ...sessionStorage }])"


@pytest.fixture
def omar_is_back(house):
    yield
    house.set_role("support", PEOPLE["omar"], "Analyst", by="ana")


def test_P12_revoked_rights_clear_an_open_panel_within_ten_seconds(visit, house, omar_is_back):
    page = visit(house.demo_comparison, who="omar", expect=[REFUSED], clock=True)
    heads = []
    page.on("response", lambda one: heads.append(one) if "part=" in one.url else None)
    row = page.locator("table.cases tbody tr").first
    title = row.locator("b").first.inner_text()
    link = row.get_by_role("link", name="Compare case")
    link.click()
    panel = page.locator("#case-panel")
    expect(panel.locator("h1")).to_have_text(title)
    expect(panel.locator('[data-part="baseline"]')).to_contain_text(ANSWER)
    expect(panel.locator('[data-part="candidate"] .answer')).to_be_visible()
    answer = panel.locator('[data-part="candidate"] .answer').inner_text()
    assert len(answer) > 20
    assert {"part=head", "part=baseline", "part=candidate"} == {one.url.split("&")[-1] for one in heads}
    assert all("no-store" in one.headers["cache-control"] for one in heads)

    house.set_role("support", PEOPLE["omar"], "Viewer", by="ana")
    page.clock.run_for(10_500)
    for part in ("head", "baseline", "candidate"):
        expect(panel.locator(f'[data-part="{part}"]')).to_have_text(GONE)
    assert answer not in page.content()
    kept = page.evaluate(KEPT)
    assert title not in kept and answer[:20] not in kept
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(link).to_be_focused()
    assert panel.inner_html() == ""
    page.reload()
    assert title not in page.locator("main").inner_text()
    assert page.get_by_role("link", name="Compare case").count() == 0


def test_P12_a_session_that_ended_elsewhere_clears_the_panel(visit, house):
    page = visit(house.demo_comparison, who="rana")
    page.get_by_role("link", name="Compare case").first.click()
    panel = page.locator("#case-panel")
    expect(panel.locator('[data-part="candidate"] .answer')).to_be_visible()
    page.context.clear_cookies()
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    for part in ("head", "baseline", "candidate"):
        expect(panel.locator(f'[data-part="{part}"]')).to_have_text("You are signed out. Sign in again to read this.")
