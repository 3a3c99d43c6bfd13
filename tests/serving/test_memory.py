"""What odd bodies cost the web server: no worker may grow above its bar."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

BAR = 250 * 1024 * 1024  # bytes resident at the worst moment
EDGE = b"frontier"


def peaks(house) -> dict[int, int]:
    """Bytes resident at the worst moment so far, of every process of the web server."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            web = entry.name.isdigit() and b"config.wsgi:application" in (entry / "cmdline").read_bytes()
            if web and f"EVENHAND_VAR={house.folder}\0".encode() in (entry / "environ").read_bytes() + b"\0":
                peak = re.search(r"VmHWM:\s+(\d+) kB", (entry / "status").read_text())
                assert peak
                found[int(entry.name)] = int(peak[1]) * 1024
        except OSError:
            continue
    return found


def part(name: str, content: bytes, file: str = "") -> bytes:
    named = f'; filename="{file}"' if file else ""
    head = f'Content-Disposition: form-data; name="{name}"{named}'.encode()
    return b"--" + EDGE + b"\r\n" + head + b"\r\n\r\n" + content + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--" + EDGE + b"--\r\n"


def bomb() -> bytes:
    """An .eval whose one sample unpacks to 200 MB of blanks."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "status": "success"}))
        with archive.open("samples/1_epoch_1.json", "w", force_zip64=True) as member:
            for _ in range(200):
                member.write(b" " * (1 << 20))
    return packed.getvalue()


def odd_bodies() -> Iterator[tuple[str, str, bytes]]:
    """A name, a content type and a body."""
    multipart = f"multipart/form-data; boundary={EDGE.decode()}"
    yield "many fields", multipart, form(*(part(f"f{number}", b"x") for number in range(50_000)))
    yield "many files", multipart, form(*(part("files", b"x", f"{number}.csv") for number in range(20_000)))
    yield "a large field", multipart, form(part("dataset", b"x" * 40_000_000))
    yield "a large mapping", multipart, form(part("mapping", b"[" * 2_400_000), part("files", b"a,b\n1,2\n", "a.csv"))
    yield (
        "mapping of empty lists",
        multipart,
        form(part("mapping", b'{"a":[' + b"[]," * 800_000 + b"[]]}"), part("files", b"a,b\n1,2\n", "a.csv")),
    )
    yield (
        "labels of many keys",
        multipart,
        form(
            part("labels", json.dumps({str(number): "" for number in range(150_000)}).encode()),
            part("files", b"a,b\n1,2\n", "a.csv"),
        ),
    )
    yield "a file above the limit", multipart, form(part("files", b"x" * 70_000_000, "a.csv"))
    yield "a bomb", multipart, form(part("files", bomb(), "a.eval"))
    yield "a packed bomb", multipart, form(part("files", gzip.compress(b"a" * 200_000_000), "a.csv.gz"))
    yield "one long line", multipart, form(part("files", b"a" * 60_000_000, "a.csv"))
    yield "an endless header", multipart, b"--" + EDGE + b"\r\nContent-Disposition: " + b"x" * 40_000_000
    yield "no end", multipart, b"--" + EDGE + b"\r\n" + b"x" * 40_000_000
    yield "lists", "application/json", b"[" + b"[]," * 800_000 + b"[]]"
    yield "deep", "application/json", b"[" * 2_500_000
    yield "too large", "application/json", b" " * 60_000_000
    yield "many pairs", "application/x-www-form-urlencoded", b"&".join(b"a=b" for _ in range(600_000))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the kernel tells no process's memory here")
def test_odd_bodies_leave_the_workers_below_their_bar(house):
    before = peaks(house)
    assert len(before) == 3, before
    grown = {}
    with house.client("ana") as client:
        page = client.get("/t/returns/imports/new/")
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert page.status_code == 200 and found
        token = found[1]
        for name, kind, body in odd_bodies():
            last = max(peaks(house).values())
            for path, headers in (
                ("/api/v1/imports", {"Authorization": f"Bearer {house.token}", "Idempotency-Key": str(uuid.uuid4())}),
                ("/t/returns/imports/new/", {"X-CSRFToken": token, "Referer": house.address}),
                ("/sign-in/", {}),
            ):
                for _ in range(2):  # so that both workers meet it, most likely
                    ask = httpx.post if path.startswith("/api/") else client.post
                    answer = ask(
                        path if ask == client.post else house.address + path,
                        content=body,
                        headers=headers | {"Content-Type": kind},
                        timeout=60,
                    )
                    assert answer.status_code < 500, (name, path, answer.text[:500])
            grown[name] = (max(peaks(house).values()) - last) >> 20
    after = peaks(house)
    assert set(after) == set(before), "a worker was replaced"
    assert max(after.values()) <= BAR, (after, grown)
