"""Make the README's pictures from a running demo: `make screenshots` while `make run` serves it."""

from __future__ import annotations

import argparse
import base64
import shutil
import struct
import zlib
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
DATA = ROOT / "config" / "demo_data"
SIZE = {"width": 1280, "height": 880}
MOST_BYTES = 150_000
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PIXELS = """async (picture) => {
    const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes]));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    const found = new Blob([context.getImageData(0, 0, bitmap.width, bitmap.height).data]);
    const reader = new FileReader();
    await new Promise((done) => { reader.onload = done; reader.readAsDataURL(found); });
    return [bitmap.width, bitmap.height, reader.result.split(",")[1]];
}"""


def sign_in(page: Page, address: str) -> None:
    page.goto(f"{address}/sign-in/")
    page.fill("input[name=username]", "ana@demo.example")
    page.fill("input[name=password]", "evenhand-demo-only")
    page.keyboard.press("Enter")
    page.wait_for_url("**/comparisons/paired**")


def save(browser: Browser, page: Page, name: str) -> None:
    """A small PNG of 256 colours: the frequent ones, the distant ones, and every other one as the nearest of them."""
    workshop = browser.new_page()
    width, height, found = workshop.evaluate(PIXELS, base64.b64encode(page.screenshot()).decode())
    workshop.close()
    pixels = np.frombuffer(base64.b64decode(found), np.uint8).reshape(-1, 4)[:, :3]
    colours, places, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    colours = colours.astype(np.int32)
    chosen = list(np.argsort(-counts)[:192])
    far = np.min([((colours - colours[one]) ** 2).sum(axis=1) for one in chosen], axis=0)
    while len(chosen) < 256 and far.max() > 0:  # then always the colour that is still the worst kept
        chosen.append(int(far.argmax()))
        far = np.minimum(far, ((colours - colours[chosen[-1]]) ** 2).sum(axis=1))
    palette = colours[chosen]
    nearest = np.array([((palette - colour) ** 2).sum(axis=1).argmin() for colour in colours])
    rows = nearest[places.ravel()].astype(np.uint8).reshape(height, width)
    raw = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette.astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(raw, 9)),
        (b"IEND", b""),
    )
    picture = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    (IMAGES / f"{name}.png").write_bytes(picture)
    print(f"docs/images/{name}.png  {len(picture):,} bytes{' - too large' if len(picture) > MOST_BYTES else ''}")


def comparison(browser: Browser, address: str, scheme: str) -> Page:
    page = browser.new_context(color_scheme=scheme, viewport=SIZE).new_page()
    sign_in(page, address)
    page.goto(page.url + "&filter=regressions")
    page.wait_for_load_state("networkidle")
    save(browser, page, f"comparison-{scheme}")
    return page


def case(browser: Browser, page: Page) -> None:
    page.get_by_role("link", name="Compare case").nth(2).click()
    page.locator('#case-panel [data-part="candidate"] .answer').wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(600)
    save(browser, page, "case")
    page.keyboard.press("Escape")


def intake(browser: Browser, page: Page, address: str) -> None:
    """Two files from the upload to the dry run; nothing is written, and the import is discarded."""
    page.goto(f"{address}/t/support/imports/new/")
    page.set_input_files("input[type=file]", [DATA / "helpdesk-1.3.jsonl", DATA / "helpdesk-2.0.jsonl"])
    page.fill("input[name=dataset]", "A first try")
    page.get_by_role("button", name="Look at the files").click()
    page.get_by_text("Which field means what?").wait_for(timeout=90_000)
    page.wait_for_timeout(1500)
    page.evaluate("document.querySelector('#toasts').replaceChildren()")
    save(browser, page, "mapping")
    page.get_by_text("The same as JSON").click()
    page.get_by_label("Mapping as JSON").fill((DATA / "mapping.json").read_text())
    page.locator("form", has=page.get_by_label("Mapping as JSON")).get_by_role("button").click()
    page.get_by_text("Nothing is written yet").wait_for(timeout=90_000)
    page.wait_for_timeout(1500)
    page.evaluate("document.querySelector('#toasts').replaceChildren()")
    save(browser, page, "dry-run")
    page.get_by_role("link", name="Discard").first.click()
    page.get_by_role("button", name="Discard").first.click()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", default="http://127.0.0.1:8000")
    address = parser.parse_args().address
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        parser.error("Chromium is not installed.")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        comparison(browser, address, "dark")
        page = comparison(browser, address, "light")
        case(browser, page)
        intake(browser, page, address)
        browser.close()


if __name__ == "__main__":
    main()
