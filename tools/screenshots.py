"""Make the README's pictures from a running demo: `make screenshots` while `make run` serves it."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
DATA = Path(__file__).resolve().parent.parent / "config" / "demo_data"
SIZE = {"width": 1280, "height": 880}
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def sign_in(page: Page, address: str) -> None:
    page.goto(f"{address}/sign-in/")
    page.fill("input[name=username]", "ana@demo.example")
    page.fill("input[name=password]", "evenhand-demo-only")
    page.keyboard.press("Enter")
    page.wait_for_url("**/comparisons/paired**")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", default="http://127.0.0.1:8000")
    address = parser.parse_args().address
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for scheme in ("light", "dark"):
            page = browser.new_context(color_scheme=scheme, viewport=SIZE).new_page()
            sign_in(page, address)
            page.goto(page.url + "&filter=regressions")
            page.wait_for_load_state("networkidle")
            page.screenshot(path=IMAGES / f"comparison-{scheme}.png")
            if scheme == "dark":
                continue
            page.get_by_role("link", name="Compare case").first.click()
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(600)
            page.screenshot(path=IMAGES / "case.png")
            page.goto(f"{address}/t/support/imports/new/")
            page.set_input_files("input[type=file]", DATA / "helpdesk-2.0-small.jsonl")
            page.fill("input[name=dataset]", "A first try")
            page.get_by_role("button", name="Look at the files").click()
            page.get_by_text("Mapping").first.wait_for(timeout=90_000)
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(1500)
            page.screenshot(path=IMAGES / "mapping.png")
        browser.close()


if __name__ == "__main__":
    main()
