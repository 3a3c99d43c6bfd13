"""The page in Chromium, against a static page of the same rows from the same server."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import statistics
import time
from typing import Any

from tests.bench.installation import Installation, Pair, Server
from tests.bench.measuring import Measured, Row, Section, ms

OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
ROUNDS = 7
KILOBYTE = 1_000
WATCH = """
    const look = () => {
        const row = document.querySelector("table tbody tr");
        if (row === null) {
            requestAnimationFrame(look);
            return;
        }
        new IntersectionObserver((seen) => {
            if (seen.some((one) => one.boundingClientRect.height > 0)) console.debug("first row");
        }).observe(row);
    };
    look();
"""
"""Says when the first row was laid out for a frame, without asking for a layout of its own."""


def run(installation: Installation, server: Server, cases: int) -> Section:
    section = Section(
        "In the browser",
        "Headless Chromium, an empty cache for every visit, signed in. Usable: the first case row is laid out and "
        "painted, by the clock of the visitor who asked for the address. Floor: the same rows as a static page "
        "without style or script, packed beforehand, from the same web server. Bytes are what came over the wire.",
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        section.remarks.append("No Chromium was found on this machine; nothing was measured.")
        return section
    from playwright.sync_api import sync_playwright

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright keeps an event loop in this thread; nothing runs in it
    small, large = installation.pair(200, 1), installation.pair(cases)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=OPTIONS)
        try:
            visits = {}
            for size, pair in (("200 x 1", small), (f"{cases:,} x 3", large)):
                visits[size] = _visits(browser, installation, server, size, pair)
        finally:
            browser.close()
    for size, (found, facts) in visits.items():
        for name, what in (("kept", "result kept"), ("fresh", "nothing kept")):
            ours, floor = ms(found.median(name)), ms(found.median("floor"))
            section.rows.append(Row(f"usable, {size}, {what}", ours, floor, found.ratio(name, "floor"), 3.0))
        wire, requests, nodes = facts
        section.rows += [
            Row(f"bytes, {size}", f"{wire / KILOBYTE:,.0f} kB", "250 kB", wire / KILOBYTE / 250, 1.0, shown="–"),
            Row(f"requests, {size}", f"{requests}", "12", requests / 12, 1.0, shown="–"),
            Row(f"DOM nodes, {size}", f"{nodes:,}", "3,000", nodes / 3_000, 1.0, shown="–"),
        ]
    first, last = visits.values()
    section.rows.append(
        Row(
            "growth of the time to usable with the number of cases",
            ms(last[0].median("kept")),
            ms(first[0].median("kept")),
            last[0].median("kept") / first[0].median("kept"),
            1.5,
        )
    )
    return section


def _visits(
    browser: Any, installation: Installation, server: Server, size: str, pair: Pair
) -> tuple[Measured, tuple[int, int, int]]:
    page = pair.page("correct")
    name = re.sub(r"\W", "", size) + ".html"
    _static(installation, server, page, name)
    _visit(browser, server, page)
    rounds: dict[str, list[float]] = {"floor": [], "kept": [], "fresh": []}
    facts = []
    for number in range(ROUNDS + 1):
        order = list(rounds) if number % 2 else list(reversed(rounds))
        for what in order:
            if what == "floor":
                spent, _ = _visit(browser, server, f"/bench/floor/{name}")
            elif what == "kept":
                spent, seen = _visit(browser, server, page)
                facts.append(seen)
            else:
                spent, _ = _visit(browser, server, pair.page("correct", fresh=True), forget=True)
            if number:
                rounds[what].append(spent)
    wire, requests, nodes = (int(statistics.median(column)) for column in zip(*facts, strict=True))
    return Measured(rounds), (wire, requests, nodes)


def _visit(browser: Any, server: Server, path: str, *, forget: bool = False) -> tuple[float, tuple[int, int, int]]:
    """Seconds until the first row, and bytes, requests and nodes, of one visit with an empty cache."""
    context = browser.new_context(extra_http_headers={"X-Bench-Forget": "1"} if forget else {})
    try:
        context.add_cookies([{"name": "sessionid", "value": server.session, "url": server.address}])
        page = context.new_page()
        page.add_init_script(WATCH)
        wire: list[int] = []
        seen: list[str] = []
        client = context.new_cdp_session(page)
        client.send("Network.enable")
        client.on("Network.loadingFinished", lambda event: wire.append(int(event["encodedDataLength"])))
        client.on("Network.requestWillBeSent", lambda event: seen.append(event["request"]["url"]))
        started = time.perf_counter()
        with page.expect_console_message(lambda message: message.text == "first row"):
            page.goto(server.address + path, wait_until="commit")
        spent = time.perf_counter() - started
        page.wait_for_load_state("networkidle")
        nodes = page.evaluate("document.getElementsByTagName('*').length")
        return spent, (sum(wire), sum(url.startswith("http") for url in seen), nodes)
    finally:
        context.close()


def _static(installation: Installation, server: Server, page: str, name: str) -> None:
    """The rows of a page as a page of their own, packed, where the server finds it."""
    text = server.text(page)
    table = re.search(r"<table class=\"data cases\">.*?</table>", text, re.DOTALL)
    assert table is not None, "the comparison page has no table of cases"
    html = f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Rows</title>{table.group()}</html>"
    (installation.folder / name).write_text(html)
    (installation.folder / f"{name}.gz").write_bytes(gzip.compress(html.encode()))
