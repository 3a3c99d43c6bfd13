"""The second factor of signing in: codes by time (RFC 6238), and recovery codes that work once each."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import Final

import pyotp
import segno
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.safestring import SafeString

from teams import audit
from teams.models import RecoveryCode, SecondFactor, User
from teams.refusals import Code, Refusal, register

STEP: Final = 30  # seconds that a code is good for
SLACK: Final = 1  # steps that a telephone's clock may be off, before and after
RECOVERY_CODES: Final = 10

register(
    {
        "code_wrong": Code(422, "Type the six digits that the app shows now, or a recovery code that is not used up."),
        "second_factor_on": Code(409, "Turn the second factor off before you set up another one."),
        "second_factor_off": Code(409, "Set up a second factor first."),
    }
)


def _box() -> MultiFernet:
    """Encrypts with the server's secret; decrypts also what an earlier one encrypted."""

    def key(secret: str) -> Fernet:
        derived = HKDF(SHA256(), 32, salt=None, info=b"evenhand/second-factor/1").derive(secret.encode())
        return Fernet(base64.urlsafe_b64encode(derived))

    return MultiFernet([key(str(secret)) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def factor_of(user: User) -> SecondFactor | None:
    """The factor that is asked for at signing in, if the person has one."""
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).first()


def _totp(factor: SecondFactor) -> pyotp.TOTP:
    try:
        key = _box().decrypt(bytes(factor.key)).decode()
    except InvalidToken:
        raise Refusal(
            "second_factor_off", "The server's secret has changed; an operator can remove the second factor."
        ) from None
    return pyotp.TOTP(key, interval=STEP)


@transaction.atomic
def begin(user: User) -> SecondFactor:
    """A key to put into an app, asked for by nothing yet. One that was begun and not confirmed is kept."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    factor = SecondFactor.objects.filter(user=user).first()
    if factor is not None and factor.confirmed_at is not None:
        raise Refusal("second_factor_on", "A second factor is set up already.")
    if factor is None:
        factor = SecondFactor.objects.create(user=user, key=_box().encrypt(pyotp.random_base32().encode()))
    return factor


def key_of(factor: SecondFactor) -> tuple[str, str]:
    """The key in letters, and the address that a picture of it holds."""
    totp = _totp(factor)
    return totp.secret, totp.provisioning_uri(name=factor.user.email, issuer_name="Evenhand")


def picture_of(address: str) -> SafeString:
    """The address as a picture in SVG, black on white in every theme, as cameras need it."""
    code = segno.make(address, error="m")
    return SafeString(code.svg_inline(scale=4, border=4, dark="#000", light="#fff", title="Key for an app"))


@transaction.atomic
def confirm(user: User, code: str) -> list[str]:
    """The app shows the right code: from now on it is asked for. Returns recovery codes, shown once."""
    factor = _locked(user)
    if factor is None:
        raise Refusal("second_factor_off")
    if factor.confirmed_at is not None:
        raise Refusal("second_factor_on", "A second factor is set up already.")
    _take(factor, code)
    factor.confirmed_at = timezone.now()
    factor.save(update_fields=["confirmed_at"])
    _record("second_factor.confirmed", user)
    return _new_codes(factor)


@transaction.atomic
def verify(user: User, code: str) -> None:
    """Take a code of the app or a recovery code, once; or refuse."""
    factor = _locked(user)
    if factor is None or factor.confirmed_at is None:
        raise Refusal("second_factor_off")
    plain = _plain(code)
    if plain.isdecimal() and len(plain) == 6:
        _take(factor, plain)
        return
    used = RecoveryCode.objects.filter(factor=factor, digest=_digest(plain), used_at=None).update(
        used_at=timezone.now()
    )
    if not used:
        raise Refusal("code_wrong", "This code is not right.", place="code")
    _record("second_factor.recovery_code_used", user)


@transaction.atomic
def renew_recovery_codes(user: User, code: str) -> list[str]:
    """Other recovery codes; those from before work no more."""
    verify(user, code)
    factor = _locked(user)
    assert factor is not None
    _record("second_factor.recovery_codes_renewed", user)
    return _new_codes(factor)


@transaction.atomic
def turn_off(user: User, code: str) -> None:
    """Ask for no code any more; needs one."""
    verify(user, code)
    SecondFactor.objects.filter(user=user).delete()
    _record("second_factor.turned_off", user)


def remove(user: User, *, by: User) -> bool:
    """An operator's help for somebody whose telephone and recovery codes are gone."""
    with transaction.atomic():
        gone, _ = SecondFactor.objects.filter(user=user).delete()
        if gone:
            audit.record("second_factor.removed", team=None, by=by, object_type="user", object_id=user.pk)
    return bool(gone)


def recovery_codes_left(factor: SecondFactor) -> int:
    return RecoveryCode.objects.filter(factor=factor, used_at=None).count()


def _locked(user: User) -> SecondFactor | None:
    return SecondFactor.objects.select_for_update().filter(user=user).first()


def _take(factor: SecondFactor, code: str) -> None:
    """Accept a code of a step that is newer than every one that was taken, near enough to now."""
    totp, now, plain = _totp(factor), int(timezone.now().timestamp()) // STEP, _plain(code)
    for step in range(now - SLACK, now + SLACK + 1):
        if step > factor.last_step and secrets.compare_digest(totp.at(step * STEP), plain):
            factor.last_step = step
            factor.save(update_fields=["last_step"])
            return
    raise Refusal("code_wrong", "This code is not right, or was used already.", place="code")


def _new_codes(factor: SecondFactor) -> list[str]:
    RecoveryCode.objects.filter(factor=factor).delete()
    codes = [f"{text[:5]}-{text[5:]}" for text in (secrets.token_hex(5) for _ in range(RECOVERY_CODES))]
    RecoveryCode.objects.bulk_create([RecoveryCode(factor=factor, digest=_digest(_plain(code))) for code in codes])
    return codes


def _plain(code: str) -> str:
    return "".join(code.split()).replace("-", "").lower()[:40].encode("ascii", "ignore").decode()


def _digest(plain: str) -> str:
    return hashlib.sha256(b"evenhand/recovery-code/1\0" + plain.encode()).hexdigest()


def _record(action: str, user: User) -> None:
    audit.record(action, team=None, by=user, object_type="user", object_id=user.pk)
