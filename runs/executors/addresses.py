"""The second judgment of an address: where its name leads at the moment of the call.

A name is resolved once and the connection goes to the address that was judged, so that no second
answer of a resolver leads elsewhere.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from agents.outbound import is_loopback
from runs.executors.contract import CallFailed


def judged(host: str, port: int, *, loopback: bool) -> str:
    """An address of the host that may be called, or `CallFailed`.

    Every address that the name has must be public, so that the order of an answer decides nothing.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise CallFailed("provider_unreachable") from None
    addresses = [str(entry[4][0]) for entry in found]
    if loopback and is_loopback(host):
        if all(ipaddress.ip_address(one).is_loopback for one in addresses):
            return addresses[0]
        raise CallFailed("address_forbidden")
    if not addresses or not all(is_public(one) for one in addresses):
        raise CallFailed("address_forbidden")
    return _first(addresses)


def _first(addresses: Sequence[str]) -> str:
    """IPv4 before IPv6: machines without a route to the latter still get its answers."""
    return min(addresses, key=lambda one: ":" in one)


def is_public(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is not None:
            return is_public(str(inner))
        if address in NAT64:
            return is_public(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
    return address.is_global and not address.is_multicast


NAT64 = ipaddress.ip_network("64:ff9b::/96")
