"""The gallery in a real browser: accessible, quiet under the content policy, and run by keys alone."""

from __future__ import annotations

import shutil
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.wsgi import get_wsgi_application
from playwright.sync_api import expect, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]

POLL = "/poll-for-the-test"
WIDE = {"width": 1440, "height": 900}
NARROW = {"width": 390, "height": 844}


class Threading(ThreadingMixIn, WSGIServer):
    """Closing waits for every answer, so that none meets the settings of the next test."""


class Silent(WSGIRequestHandler):
    timeout = 5  # a connection that the browser opened in advance ends by itself

    def log_message(self, *args):
        """Tests print nothing of their own."""


@pytest.fixture
def address(settings, tmp_path):
    """The gallery's address on a server that needs no database: nobody is signed in there."""
    settings.STATIC_ROOT = tmp_path  # WhiteNoise warns about a folder that is missing
    server = make_server(
        "127.0.0.1", 0, StaticFilesHandler(get_wsgi_application()), server_class=Threading, handler_class=Silent
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/components/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, address):
    """Open the gallery; anything the browser complains about fails the test."""
    contexts, complaints = [], []

    def open_page(*, theme="light", size=WIDE, scripts=True):
        context = chromium.new_context(viewport=size, color_scheme=theme, java_script_enabled=scripts)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if "Content Security" in line.text else None)
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on(
            "request",
            lambda request: None if request.url.startswith(address[:20]) else complaints.append(request.url),
        )
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def focused(page):
    return page.evaluate("document.activeElement.textContent.trim()")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_no_accessibility_violations(visit, theme, size):
    page = visit(theme=theme, size=size)
    page.wait_for_load_state("networkidle")
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found.response["violations"]] == []


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_nothing_is_wider_than_the_page(visit, size):
    page = visit(size=size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_the_first_screen_shows_the_finding_and_five_cases(visit):
    page = visit()
    row = page.locator("table.data tbody tr").nth(4)
    assert row.bounding_box()["y"] + row.bounding_box()["height"] <= WIDE["height"]


def test_keys_walk_select_and_find(visit):
    page = visit()
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert focused(page).startswith("ما زمن")
    page.keyboard.press("x")
    expect(page.locator("[data-picked]")).to_have_text("1 selectedSend to review")
    page.keyboard.press("k")
    assert focused(page).startswith("Stereochemistry")
    page.keyboard.press("Enter")
    assert page.url.endswith("#case-chem-114")
    page.keyboard.press("/")
    expect(page.get_by_label("Find a case")).to_be_focused()
    page.keyboard.type("jk?")
    expect(page.get_by_label("Find a case")).to_have_value("jk?")


def test_a_click_on_the_row_opens_its_link(visit):
    page = visit()
    page.locator("#case-bio-057 td").nth(2).click()
    assert page.url.endswith("#case-bio-057")


def test_the_sheet_opens_closes_and_gives_the_focus_back(visit):
    page = visit()
    page.get_by_role("link", name="Swap").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()
    assert focused(page) == "Swap"


def test_single_key_shortcuts_can_be_turned_off(visit):
    page = visit()
    page.keyboard.press("?")
    page.get_by_label("Use single-key shortcuts").uncheck()
    page.reload()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement === document.body")


def test_a_menu_closes_on_escape_and_outside(visit):
    page = visit()
    export = page.locator("details.menu", has_text="Export")
    export.locator("summary").click()
    page.keyboard.press("Escape")
    expect(export).not_to_have_attribute("open", "")
    assert focused(page) == "Export"
    export.locator("summary").click()
    page.locator("h1").click()
    expect(export).not_to_have_attribute("open", "")


def test_confirming_names_what_is_lost_and_keeps_by_default(visit):
    page = visit()
    page.get_by_role("button", name="Delete experiment").click()
    dialog = page.get_by_role("dialog", name="Delete experiment 41?")
    expect(dialog).to_contain_text("990 answers")
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()


def test_the_theme_changes_at_once_and_is_remembered(visit):
    page = visit()
    page.locator(".top details.menu summary").last.click()
    with page.expect_response("**/theme"):
        page.get_by_role("button", name="Dark").click()
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_theme_works_without_scripts(visit):
    page = visit(scripts=False)
    page.locator(".top details.menu summary").last.click()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def add_live(page, **data):
    """A live part as a template would have written it, picked up as after a swap by htmx."""
    page.evaluate(
        """data => {
            const part = document.createElement("div");
            part.className = "live";
            part.id = "part";
            Object.assign(part.dataset, data);
            part.innerHTML = '<details data-keep="test"><summary>More</summary></details><a href="#x">Link</a>';
            document.querySelector("#main").prepend(part);
            part.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true, detail: { elt: part.parentElement } }));
        }""",
        {"pollUrl": POLL, "pollEvery": "500", "terminal": "false", **data},
    )


def test_a_live_part_updates_keeps_the_focus_and_stops(visit):
    page = visit()
    asked = []

    def answer(route):
        asked.append(route.request.headers.get("hx-request"))
        done = len(asked) == 2
        route.fulfill(
            content_type="text/html",
            body=f'<div data-terminal="{str(done).lower()}" data-terminal-text="Import finished">'
            '<details data-keep="test"><summary>More</summary></details>'
            f'<a href="#x">Link</a><p>{len(asked)} of 2</p></div>',
        )

    page.route(f"**{POLL}", answer)
    add_live(page)
    page.locator("#part details").evaluate("part => { part.open = true }")
    page.locator("#part a").focus()
    expect(page.locator("#part p")).to_have_text("2 of 2")
    expect(page.locator("#toasts")).to_contain_text("Import finished")
    expect(page.locator("#part a")).to_be_focused()
    expect(page.locator("#part details")).to_have_attribute("open", "")
    page.wait_for_timeout(1200)
    assert asked == ["true", "true"]


def test_a_live_part_says_that_it_stopped_and_can_be_woken(visit):
    page = visit()
    state = {"broken": True}
    page.route(
        f"**{POLL}",
        lambda route: route.fulfill(
            status=503 if state["broken"] else 200, content_type="text/html", body="<div><p>Well again</p></div>"
        ),
    )
    add_live(page)
    expect(page.locator("#part .live-state")).to_contain_text("Not updating; trying again.")
    expect(page.locator("#part .live-state")).to_contain_text("Stopped updating at", timeout=20_000)
    state["broken"] = False
    page.get_by_role("button", name="Update now").first.click()
    expect(page.locator("#part p")).to_have_text("Well again")
    expect(page.locator("#part .live-state")).to_be_empty()


def test_a_hidden_tab_asks_nothing(visit):
    page = visit()
    asked = []
    page.route(
        f"**{POLL}", lambda route: (asked.append(1), route.fulfill(content_type="text/html", body="<div>x</div>"))
    )
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    add_live(page)
    page.wait_for_timeout(1300)
    assert asked == []
    page.evaluate(
        """Object.defineProperty(document, 'hidden', { value: false, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"))"""
    )
    expect(page.locator("#part")).to_contain_text("x")


def ask_with_htmx(page, status, content_type, body):
    page.route(f"**{POLL}", lambda route: route.fulfill(status=status, content_type=content_type, body=body))
    page.evaluate(f"htmx.ajax('GET', '{POLL}', {{ target: '#case-chem-114', swap: 'innerHTML' }})")


@pytest.mark.parametrize(
    ("status", "content_type", "body", "text"),
    [
        (
            409,
            "application/json",
            '{"error": {"code": "conflict", "message": "It changed.", "place": ""}}',
            "It changed. conflict",
        ),
        (
            422,
            "text/html",
            '<p data-refusal data-code="json_truncated">Line 3 ends.</p>',
            "Line 3 ends. json_truncated",
        ),
        (500, "text/html", "<h1>x</h1>", "The server answered with an error (500)."),
    ],
)
def test_a_refusal_becomes_a_toast(visit, status, content_type, body, text):
    page = visit()
    ask_with_htmx(page, status, content_type, body)
    expect(page.locator("#toasts .notice.bad div")).to_have_text(text)
    expect(page.locator("#case-chem-114 .row-link")).to_be_visible()


def test_a_form_that_comes_back_with_errors_is_shown(visit):
    page = visit()
    ask_with_htmx(page, 422, "text/html", "<td id='again'>Enter a number.</td>")
    expect(page.locator("#again")).to_have_text("Enter a number.")


def test_dropped_files_are_listed_and_sent_with_the_form(visit):
    page = visit()
    page.locator("[data-drop]").first.evaluate(
        """area => {
            const files = new DataTransfer();
            files.items.add(new File(["abc"], "one.csv"));
            files.items.add(new File(["x".repeat(2048)], "two.csv"));
            area.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: files }));
        }"""
    )
    expect(page.locator(".drop-files").first).to_have_text("one.csv3 Btwo.csv2.05 kB")
    assert page.locator("#files").evaluate("input => input.files.length") == 2


def test_copying(visit):
    page = visit()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#toasts")).to_contain_text("Copied.")
    assert '"case": "chem-114"' in page.evaluate("navigator.clipboard.readText()")
