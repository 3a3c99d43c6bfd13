"""Browsers over one installation. Without Chromium these tests are skipped, and the reason is said once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.journeys.house import CHROMIUM, WIDE, House, open_house

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these need Chromium, and share one installation where tests are spread over processes."""
    for item in items:
        if item.path.parent == HERE and item.path.name != "test_console_script.py":
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.xdist_group("journeys"))
            item.add_marker(pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"))


@pytest.fixture(scope="session")
def house(tmp_path_factory) -> Iterator[House]:
    with open_house(tmp_path_factory.mktemp("house")) as opened:
        yield opened


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, house) -> Iterator[Callable[..., Page]]:
    """Open a page as somebody. Whatever the browser complains about, and any foreign address, fails the test."""
    contexts, complaints, expected = [], [], []

    def heard(text: str) -> None:
        if not any(part in text for part in expected):
            complaints.append(text)

    def open_(path="/", *, who="ana", size=WIDE, theme="light", scripts=True, expect=(), clock=False) -> Page:
        expected.extend(expect)
        context = chromium.new_context(
            base_url=house.address, viewport=size, color_scheme=theme, java_script_enabled=scripts
        )
        contexts.append(context)
        context.add_init_script(
            'document.addEventListener("securitypolicyviolation", (report) =>'
            ' console.error("policy: " + report.violatedDirective + " " + report.blockedURI))'
        )
        if who:
            context.add_cookies(house.cookies(who))
        page = context.new_page()
        page.set_default_timeout(20_000)
        # Asked for before any key is pressed: a chooser that opens while the asking is under way is never told.
        page.on("filechooser", lambda _: None)
        page.on("pageerror", lambda error: heard(f"error: {error}"))
        page.on("console", lambda line: heard(f"console: {line.text}") if line.type == "error" else None)
        page.on("dialog", lambda dialog: (heard(f"dialog: {dialog.message}"), dialog.dismiss()))
        context.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((house.address + "/", "data:", "blob:"))
                else heard(f"foreign: {request.url}")
            ),
        )
        if clock:
            page.clock.install()
        page.goto(path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
