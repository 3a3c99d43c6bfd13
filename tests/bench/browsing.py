"""The page in Chromium, against a static page of the same rows from the same server."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import statistics
import time
from html import escape
from typing import Any

from tests.bench.installation import Installation, Pair, Server
from tests.bench.measuring import Measured, Row, Section, in_turn, ms

OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
ROUNDS = 7
STATIC_CASES = 50
FLOORS = {"answers": "50 static cases", "plain": "its own rows, bare", "styled": "its own rows in our style"}
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
        "painted, by the clock of the visitor who asked for the address. Floor: 50 cases with every answer of both "
        "arms as a static page without style or script, packed beforehand, from the same web server, as the floor "
        "of the peers was measured. Beside it, without a bar, two static pages of only what our table shows: its 25 "
        "rows of names, marks and differences bare, and with our style sheets. Bytes are what came over the wire.",
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        section.remarks.append("No Chromium was found on this machine; nothing was measured.")
        return section
    from playwright.sync_api import sync_playwright

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright keeps an event loop in this thread; nothing runs in it
    small, large = installation.pair(200, 1), installation.pair(cases)
    pairs = {"200 x 1": small, f"{cases:,} x 3": large}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=OPTIONS)
        try:
            found, facts = _visits(browser, installation, server, pairs)
        finally:
            browser.close()
    for size in pairs:
        for floor, what in FLOORS.items():
            for name, how in (("kept", "result kept"), ("fresh", "nothing kept")):
                section.rows.append(
                    Row(
                        f"usable, {size}, {how}, against {what}",
                        ms(found.median(f"{name} {size}")),
                        ms(found.median(f"{floor} {size}")),
                        found.ratio(f"{name} {size}", f"{floor} {size}"),
                        3.0 if floor == "answers" else None,
                    )
                )
        wire, requests, nodes = facts[size]
        section.rows += [
            Row(f"bytes, {size}", f"{wire / KILOBYTE:,.0f} kB", "250 kB", wire / KILOBYTE / 250, 1.0),
            Row(f"requests, {size}", f"{requests}", "12", requests / 12, 1.0),
            Row(f"DOM nodes, {size}", f"{nodes:,}", "3,000", nodes / 3_000, 1.0),
        ]
    first, last = (f"kept {size}" for size in pairs)
    section.rows.append(
        Row(
            "growth of the time to usable with the number of cases",
            ms(found.median(last)),
            ms(found.median(first)),
            found.ratio(last, first),
            1.5,
        )
    )
    return section


Facts = tuple[int, int, int]
"""Bytes over the wire, requests, DOM nodes."""


def _visits(
    browser: Any, installation: Installation, server: Server, pairs: dict[str, Pair]
) -> tuple[Measured, dict[str, Facts]]:
    """Every page of both sizes in turn, in one order and then in the other."""
    visits: dict[str, Any] = {}
    seen: dict[str, list[Facts]] = {size: [] for size in pairs}
    for size, pair in pairs.items():
        page = pair.page("correct")
        names = _static(installation, server, pair, re.sub(r"\W", "", size))

        def kept(page: str = page, size: str = size) -> float:
            server.warm(page)
            spent, facts = _visit(browser, server, page)
            seen[size].append(facts)
            return spent

        def fresh(pair: Pair = pair) -> float:
            return _visit(browser, server, pair.page("correct", fresh=True), forget=True)[0]

        for floor, name in names.items():
            visits[f"{floor} {size}"] = lambda name=name: _visit(browser, server, f"/bench/floor/{name}")[0]
        visits[f"kept {size}"] = kept
        visits[f"fresh {size}"] = fresh
    found = in_turn(visits, rounds=ROUNDS, gauge=True)
    medians = {
        size: tuple(int(statistics.median(column)) for column in zip(*every, strict=True))
        for size, every in seen.items()
    }
    return found, medians  # type: ignore[return-value]


def _visit(browser: Any, server: Server, path: str, *, forget: bool = False) -> tuple[float, Facts]:
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


def _static(installation: Installation, server: Server, pair: Pair, name: str) -> dict[str, str]:
    """The static pages, packed, where the server finds them."""
    text = server.text(pair.page("correct"))
    table = re.search(r"<table class=\"data cases\">.*?</table>", text, re.DOTALL)
    assert table is not None, "the comparison page has no table of cases"
    sheets = "".join(re.findall(r"<link rel=\"stylesheet\"[^>]*>", text))
    pages = {"answers": ("", _answers(pair)), "plain": ("", table.group()), "styled": (sheets, table.group())}
    found = {}
    for floor, (head, body) in pages.items():
        html = f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Rows</title>{head}{body}</html>"
        found[floor] = f"{floor}-{name}.html"
        (installation.folder / f"{found[floor]}.gz").write_bytes(gzip.compress(html.encode()))
    return found


def _answers(pair: Pair) -> str:
    """A bare table: a row a case, a cell for every answer of either arm."""
    rows = []
    for number, arms in enumerate(pair.answers(STATIC_CASES), 1):
        cells = "".join(f"<td><div>{escape(answer)}</div>" for answers in arms for answer in answers)
        rows.append(f"<tr><td>{number}{cells}</tr>")
    return f"<table><tbody>{''.join(rows)}</tbody></table>"
