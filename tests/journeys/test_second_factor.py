"""The second factor in a browser: set up by key alone, asked for at the next sign-in, seen in both themes."""

from __future__ import annotations

import re

import pyotp
from playwright.sync_api import expect

from tests.journeys.house import NARROW, House
from tests.journeys.test_every_page import RULES, S, violations

PASSWORD = "a-long-password-of-a-guest"


def invited(house: House, email: str) -> str:
    """The link that the page of members shows where there is no mail server."""
    role = re.search(r'<option value="([0-9a-f-]{36})"[^>]*>Viewer<', house.get(f"{S}/team/members/"))
    assert role
    link = re.search(r"/join/[\w-]+/", house.send(f"{S}/team/members/", {"email": email, "role": role[1]}))
    assert link
    return link[0]


def test_a_guest_turns_it_on_and_signs_in_with_it(visit, house):
    email = "careful@example.org"
    page = visit(invited(house, email), who="", expect=["status of 422"])
    page.get_by_label("Your name").fill("Careful")
    for label in ("Password", "Password again"):
        page.get_by_label(label, exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{S}/**")
    page.goto("/account/second-factor/")
    expect(page.locator(".qr svg")).to_be_visible()
    key = page.locator("p", has_text="Key:").locator("code").inner_text().replace(" ", "")
    page.keyboard.type("000000")  # the field has the focus
    page.keyboard.press("Enter")
    expect(page.get_by_text("This code is not right")).to_be_visible()
    page.get_by_label("Code", exact=True).fill(pyotp.TOTP(key).now())
    page.keyboard.press("Enter")
    codes = page.locator("#codes").inner_text().split()
    assert len(codes) == 10
    assert violations(page, {"runOnly": RULES}) == []
    page.get_by_role("link", name="I have kept them").click()
    page.context.clear_cookies()
    page.goto("/sign-in/")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/sign-in/code/")
    assert violations(page, {"runOnly": RULES}) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, {"runOnly": {"type": "rule", "values": ["color-contrast"]}}) == []
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= NARROW["width"]
    page.keyboard.type(codes[0])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{S}/**")
    page.goto("/account/second-factor/")
    expect(page.get_by_text("9 recovery codes are left")).to_be_visible()
    assert violations(page, {"runOnly": RULES}) == []
