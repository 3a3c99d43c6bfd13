"""Signatures of deliveries. The secret of a webhook follows from the server's, so that it is stored nowhere."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

PREFIX: Final = "whsec_"


def secret_of(webhook: UUID, secret_revision: int) -> str:
    """What a receiver is given, once."""
    return _secret(str(settings.SECRET_KEY), webhook, secret_revision)


def signature(webhook: UUID, secret_revision: int, body: bytes, at: int) -> str:
    """The header `Evenhand-Signature`: the time, and a signature by the server's secret and each earlier one.

    While an operator keeps the earlier secret as a fallback, receivers that know the secret of before go on.
    """
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    signed = str(at).encode() + b"." + body
    found = [
        hmac.new(_secret(str(one), webhook, secret_revision).encode(), signed, hashlib.sha256).hexdigest()
        for one in secrets
    ]
    return ",".join((f"t={at}", *(f"v1={one}" for one in found)))


def _secret(server: str, webhook: UUID, secret_revision: int) -> str:
    key = HKDF(SHA256(), 32, salt=None, info=b"evenhand/webhook/1").derive(server.encode())
    made = hmac.new(key, f"{webhook}:{secret_revision}".encode(), hashlib.sha256).digest()
    return PREFIX + base64.urlsafe_b64encode(made).decode().rstrip("=")
