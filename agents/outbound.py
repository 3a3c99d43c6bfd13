"""Where calls may go: the static side of the rules for addresses that operators configure.

An address is judged by its text when it is written down, and again when it is resolved, because a
name may come to point elsewhere.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Final
from urllib.parse import urlsplit

from teams.refusals import Refusal

LONGEST: Final = 500
PORTS: Final = (None, 443, 8443)
LABEL: Final = "(?!-)[a-z0-9-]{1,63}(?<!-)"
HOST: Final = re.compile(rf"(?=.{{1,253}}\Z)({LABEL}\.)+(?![0-9]+\Z){LABEL}")
"""Names of two labels or more, the last of which is no number."""
INSIDE: Final = (
    ".localhost",
    ".local",
    ".internal",
    ".svc",
    ".lan",
    ".intranet",
    ".corp",
    ".home",
    ".arpa",
    ".private",
)
""".svc and .corp are not registered to anybody, and mean something inside a network."""


def checked_url(text: str, *, place: str, loopback: bool, as_written: bool = False) -> str:
    """An https address of a public host, without user, query or fragment; or a refusal.

    `loopback` also allows plain http on this machine, as embedded mode needs for a local model server. A slash at
    the end goes, as something is joined to most addresses; `as_written` keeps it, where nothing is.
    """
    allowed = "An https address of a public host, such as https://models.example.org/v1."
    if len(text) > LONGEST or not text.isascii() or not text.isprintable() or any(c in text for c in " \\\"'<>^`{|}"):
        raise Refusal("invalid_field", allowed, place=place)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Refusal("invalid_field", allowed, place=place) from None
    host = (parts.hostname or "").rstrip(".")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise Refusal("invalid_field", "Write the address without a user name.", place=place)
    if "?" in text or "#" in text:
        raise Refusal("invalid_field", "Write the address without query and fragment.", place=place)
    if not host or parts.netloc.endswith(":") or "%" in parts.path or "/.." in parts.path or "//" in parts.path:
        raise Refusal("invalid_field", allowed, place=place)
    if loopback and is_loopback(host):
        if parts.scheme not in ("http", "https") or port is None or port < 1024:
            raise Refusal("invalid_field", "On this machine: http, and a port from 1024 on.", place=place)
        return text if as_written else text.rstrip("/")
    if parts.scheme != "https" or port not in PORTS:
        raise Refusal("invalid_field", f"{allowed} Ports are 443 and 8443.", place=place)
    if literal(host) is not None or not HOST.fullmatch(host) or host.endswith(INSIDE):
        raise Refusal("invalid_field", "A host is named, and not inside this network.", place=place)
    return text if as_written else text.rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether a host is written as this very machine, in its plain spellings only."""
    return host in ("localhost", "127.0.0.1", "::1")


def literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host spells as a number, in any form that a resolver takes: 127.1, 0x7f000001, [::1]."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None
