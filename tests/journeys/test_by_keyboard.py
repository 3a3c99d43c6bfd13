"""The same journey by keys alone: nothing is clicked, and at every stop one sees where one is."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.journeys.evidence import two_files
from tests.journeys.house import PEOPLE

# The element that has the focus, or the one that shows it for an invisible field, has an outline and is on screen.
SEEN = """() => {
    let at = document.activeElement;
    if (at === document.body) return "nothing has the focus";
    const name = at.outerHTML.slice(0, 120);
    for (let steps = 0; at && steps < 3; steps += 1, at = at.parentElement) {
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at);
        const { width, top, bottom, left, right } = at.getBoundingClientRect();
        const shown = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none";
        if (shown && width > 1 && bottom > 0 && top < innerHeight && right > 0 && left < innerWidth) return "";
    }
    return `no focus to be seen on ${name}`;
}"""


class Keys:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.unseen: list[str] = []

    def to(self, wanted: Locator, most: int = 90) -> Keys:
        """Press Tab until it has the focus."""
        expect(wanted).to_be_attached()
        for _ in range(most):
            if wanted.evaluate("element => element === document.activeElement"):
                return self
            self.page.keyboard.press("Tab")
            told = self.page.evaluate(SEEN)
            if told and told not in self.unseen:
                self.unseen.append(told)
        raise AssertionError(f"{wanted} is not reached by Tab")

    def press(self, *keys: str) -> Keys:
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def type(self, text: str) -> Keys:
        self.page.keyboard.type(text)
        return self


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def test_the_journey_by_keys_alone(visit, tmp_path):
    page = visit("/", who=None)
    keys = Keys(page)
    expect(page.get_by_label("E-mail")).to_be_focused()
    keys.type(PEOPLE["ana"]).to(page.get_by_label("Password")).type("evenhand-demo-only").press("Enter")
    expect(page.locator(".say")).to_be_visible()

    keys.to(page.locator(".top-me details.menu summary").first).press("Enter")
    keys.to(page.get_by_role("link", name="Returns desk")).press("Enter")
    expect(page.locator(".top-team")).to_have_text("Returns desk")
    keys.press("g", "e")
    page.wait_for_url("**/experiments/")
    keys.to(page.locator('main a[href$="/imports/new/"]').first).press("Enter")
    page.wait_for_url("**/imports/new/")

    files, mapping = two_files(tmp_path, left_out=3)
    keys.to(page.get_by_label("Result files"))
    with page.expect_file_chooser() as chooser:
        keys.press("Enter")
    chooser.value.set_files(files)
    keys.to(page.get_by_label("Dataset")).type("By keys")
    keys.to(page.get_by_role("button", name="Look at the files")).press("Enter")
    if mapping:
        expect(page.locator(".say")).to_have_text("Which field means what?", timeout=60_000)
        keys.to(page.get_by_text("The same as JSON"), most=120).press("Enter")
        keys.to(page.get_by_label("Mapping as JSON"))
        page.keyboard.insert_text(mapping)
        keys.to(page.locator("form", has=page.get_by_label("Mapping as JSON")).get_by_role("button")).press("Enter")
    expect(page.locator(".say")).to_contain_text("Nothing is written yet", timeout=60_000)
    rejected = page.get_by_label(re.compile("Leave out"))
    if rejected.count():
        keys.to(rejected).press("Space")
    keys.to(page.get_by_role("button", name=re.compile("^Import "))).press("Enter")
    expect(page.locator("#import")).to_contain_text("experiments on", timeout=60_000)
    keys.to(page.get_by_role("link", name="Compare with").first).press("Enter")
    expect(page.locator(".say")).to_be_visible()

    keys.to(page.get_by_role("link", name=re.compile("^Regressions"))).press("Enter")
    page.wait_for_url("**filter=regressions**")
    expect(page.get_by_role("link", name=re.compile("^Regressions"))).to_have_attribute("aria-current", "true")
    keys.press("j", "j", "k")
    first = page.locator("table.cases tbody tr").first.locator(".row-link")
    expect(first).to_be_focused()
    assert page.evaluate(SEEN) == ""
    keys.press("Enter")
    panel = page.locator("#case-panel")
    heading = panel.locator('[data-part="head"] h1')
    expect(heading).to_be_visible()
    was = heading.inner_text()
    keys.press("j")
    expect(heading).not_to_have_text(was)
    keys.press("k")
    expect(heading).to_have_text(was)
    for _ in range(12):
        keys.press("Tab")
        assert page.evaluate(
            "!!document.activeElement.closest('#case-panel') || document.activeElement === document.body"
        )
    keys.press("Escape")
    expect(panel).to_be_hidden()
    expect(first).to_be_focused()

    keys.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()
    expect(first).to_be_focused()

    keys.press("/")
    expect(page.locator("[data-find]")).to_be_focused()
    keys.press("Escape")
    page.keyboard.press("Control+Home")
    export = page.locator("summary", has_text="Export")
    for _ in range(60):
        if focused(page) == "Export":
            break
        keys.press("Shift+Tab")
    keys.to(export, most=1).press("Enter")
    keys.to(page.get_by_role("link", name="Result and cases as JSON"))
    keys.press("Escape")
    expect(export).to_be_focused()
    keys.press("Enter").to(page.get_by_role("link", name="Cases as CSV"))
    with page.expect_download() as saved:
        keys.press("Enter")
    assert saved.value.suggested_filename.endswith(".csv")
    assert keys.unseen == []
