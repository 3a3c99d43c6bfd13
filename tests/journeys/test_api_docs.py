"""The page of the API in a real browser: every endpoint, no foreign address, nothing against its policy."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.journeys.house import WIDE
from tests.shape.addresses import ENDPOINTS


def test_the_api_is_shown_from_here_alone(chromium, house):
    page = chromium.new_context(base_url=house.address, viewport=WIDE).new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto("/api-docs/")
    expect(page.locator(".opblock-tag").first).to_be_visible()
    drawn = 0
    for at in range(page.locator(".opblock-tag").count()):
        tag = page.locator(".opblock-tag").nth(at)
        tag.click()
        expect(page.locator(".opblock").first).to_be_visible()
        drawn += page.locator(".opblock").count()
        tag.click()
        expect(page.locator(".opblock")).to_have_count(0)
    assert drawn == sum(len(one.methods) for one in ENDPOINTS if one.name != "api:schema")
    page.locator(".opblock-tag").first.click()
    page.locator(".opblock-summary-post").first.click()
    expect(page.get_by_text("Idempotency-Key").first).to_be_visible()
    assert said == []
    assert not [url for url in asked if not url.startswith((house.address, "data:"))]
    page.context.close()
