"""A whole Evenhand for the browser: its own database, the demo, web server and worker as `make run` starts them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
from psycopg import sql

from config import demo
from config.embedded.commands import evenhand

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDE = {"width": 1440, "height": 900}
NARROW = {"width": 390, "height": 844}
PEOPLE = {login.name.split()[0].lower(): login.email for login in demo.LOGINS}
# Workers of other tests, and of another house, listen on numbers of their own.
BROKER_OF_OUR_OWN = str(15 - int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 8)


@dataclass
class House:
    """Where it answers, and what can be done to it without a browser."""

    address: str
    folder: Path
    environment: dict[str, str]
    _cookies: dict[str, list[dict[str, str]]] = field(default_factory=dict)

    def client(self, who: str) -> httpx.Client:
        """A signed-in person without a browser."""
        client = httpx.Client(base_url=self.address, follow_redirects=True, timeout=60)
        for cookie in self.cookies(who):
            client.cookies.set(cookie["name"], cookie["value"])
        return client

    def cookies(self, who: str) -> list[dict[str, str]]:
        """The session of a person of the demo; signed in once."""
        if who not in self._cookies:
            with httpx.Client(base_url=self.address, timeout=60) as client:
                token = _token(client.get("/sign-in/").text)
                data = {"username": PEOPLE[who], "password": demo.PASSWORD, "csrfmiddlewaretoken": token}
                assert client.post("/sign-in/", data=data).status_code == 302
                self._cookies[who] = [
                    {"name": name, "value": value, "url": self.address} for name, value in client.cookies.items()
                ]
        return self._cookies[who]

    def get(self, path: str, who: str = "ana") -> str:
        with self.client(who) as client:
            answer = client.get(path)
        assert answer.status_code == 200, (path, answer.status_code)
        return answer.text

    def send(self, path: str, data: dict[str, str], who: str = "ana") -> str:
        """What a form on a page does; the page that follows."""
        with self.client(who) as client:
            given = {**data, "csrfmiddlewaretoken": _token(client.get(path).text)}
            answer = client.post(path, data=given)
        assert answer.status_code == 200, (path, answer.status_code)
        return answer.text

    def first_link(self, path: str, pattern: str) -> str:
        """The first address on a page that fits."""
        found = re.search(rf'href="({pattern})"', self.get(path))
        assert found, (path, pattern)
        return found[1].replace("&amp;", "&")

    def set_role(self, team: str, email: str, role: str, *, by: str) -> None:
        """What the button on the page of members does."""
        with self.client(by) as client:
            page = client.get(f"/t/{team}/team/members/").text
            row = next(row for row in page.split("<tr>") if email in row)
            action = re.search(r'action="([^"]+/role)"', row)
            value = re.search(rf'<option value="([^"]+)"[^>]*>{role}<', row)
            assert action and value
            answer = client.post(action[1], data={"role": value[1], "csrfmiddlewaretoken": _token(row)})
            assert answer.status_code == 200

    @cached_property
    def token(self) -> str:
        """An API token of Ana in the second team."""
        with self.client("ana") as client:
            page = client.get("/t/returns/team/tokens/")
            data = {"name": "journeys", "days": "30", "csrfmiddlewaretoken": _token(page.text)}
            answer = client.post("/t/returns/team/tokens/", data=data)
            found = re.search(r'id="secret"[^>]*>([^<\s]+)', answer.text)
            assert found
            return found[1]

    def imports(self, *files: Path, dataset: str, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """`evenhand import` against this server."""
        return self.evenhand(
            *("import", *map(str, files), "--dataset", dataset, "--server", self.address, "--token", self.token),
            *options,
        )

    def evenhand(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cli.main", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120
        )

    def newest_pair(self, dataset: str, team: str = "returns") -> str:
        """The comparison of a dataset's two newest experiments."""
        listed = self.get(f"/t/{team}/comparisons/")
        found = re.search(rf'href="(\?dataset=[^"]+)"[^>]*><bdi>{re.escape(dataset)}<', listed)
        assert found, dataset
        page = self.get(f"/t/{team}/comparisons/{found[1]}")
        sides = [re.search(rf'name="{side}" value="([^"]+)"[^>]* checked', page) for side in ("candidate", "baseline")]
        assert all(sides)
        return f"/t/{team}/comparisons/paired?candidate={sides[0][1]}&baseline={sides[1][1]}"  # type: ignore[index]

    @cached_property
    def demo_comparison(self) -> str:
        """The page that a newcomer sees first, by its complete address."""
        with self.client("ana") as client:
            return client.get("/t/support/").url.raw_path.decode()


def _token(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found
    return found[1]


@contextmanager
def open_house(folder: Path) -> Iterator[House]:
    """Everything is made anew and gone afterwards."""
    given = os.environ["DATABASE_URL"]
    name = f"evenhand_journeys_{os.getpid()}"
    with ExitStack() as stack:
        with psycopg.connect(given, autocommit=True) as owner:
            owner.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        stack.callback(_drop, given, name)
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        environment = dict(os.environ) | {
            "DATABASE_URL": urlunsplit(urlsplit(given)._replace(path=f"/{name}")),
            "CELERY_BROKER_URL": _own_broker(os.environ["CELERY_BROKER_URL"]),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "EVENHAND_EMBEDDED": "1",
            "EVENHAND_VAR": str(folder),
            "PUBLIC_URL": address,
            "SECRET_KEY": "for-the-length-of-a-journey-and-not-a-minute-longer",
        }
        for other in ("CACHE_URL", "DATABASE_APP_URL", "DATABASE_OWNER_URL"):
            environment.pop(other, None)
        plan = evenhand()
        manage = (sys.executable, "manage.py")
        static = _start(stack, (*manage, "collectstatic", "--no-input"), environment, folder / "static.log")
        for command in ("migrate", "load_demo"):
            _start(stack, (*manage, command), environment, folder / f"{command}.log").wait(180)
        static.wait(120)
        worker = [part.format(var=folder) for part in plan.worker]
        _start(stack, worker, environment, folder / "worker.log")
        web = [part.format(fd=listener.fileno()) for part in plan.web]
        _start(stack, web, environment, folder / "web.log", pass_fds=(listener.fileno(),))
        house = House(address, folder, environment)
        _wait(house)
        assert house.demo_comparison  # before a journey runs something newer
        yield house


def _start(
    stack: ExitStack, command: Sequence[str], environment: dict[str, str], log: Path, **more: Any
) -> subprocess.Popen[bytes]:
    output = stack.enter_context(log.open("wb"))
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output, **more)
    stack.callback(_stop, process)
    return process


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def _drop(given: str, name: str) -> None:
    with psycopg.connect(given, autocommit=True) as owner:
        owner.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _wait(house: House) -> None:
    for _ in range(600):
        try:
            if httpx.get(f"{house.address}/ping").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    said = "\n".join(log.read_text()[-2000:] for log in sorted(house.folder.glob("*.log")))
    raise RuntimeError(f"the web server does not answer:\n{said}")


@cache
def _own_broker(url: str) -> str:
    if "virtual_host=" in url:
        return re.sub(r"virtual_host=\w+", f"virtual_host={BROKER_OF_OUR_OWN}", url)
    if url.startswith(("redis://", "rediss://", "valkey://")):
        return urlunsplit(urlsplit(url)._replace(path=f"/{BROKER_OF_OUR_OWN}"))
    return url
