"""Mail that carries a link. Called after the transaction: nothing waits in the database for a mail server."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from teams.models import Invitation, User

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Link:
    """A link that only its receiver should hold, and whether a mail server took it."""

    to: str
    address: str
    sent: bool


def absolute(path: str) -> str:
    """From our own public address, never from the Host header of a request."""
    return settings.PUBLIC_URL.rstrip("/") + path


def send(to: str, subject: str, template: str, context: dict[str, object]) -> bool:
    """Hand one text to the mail server. False when there is none or it does not take it; the fault is logged."""
    text = render_to_string(template, context)
    try:
        EmailMessage(subject, text, to=[to]).send()
    except (SMTPException, OSError) as fault:
        log.warning("mail was not taken: %s", type(fault).__name__)
        return False
    return settings.MAIL_SENDS


def send_invitation(invitation: Invitation, secret: str) -> Link:
    address = absolute(reverse("join", kwargs={"secret": secret}))
    sent = send(
        invitation.email,
        f"Invitation to {' '.join(invitation.team.name.split())}",
        "teams/mail/invitation.txt",
        {"invitation": invitation, "address": address},
    )
    return Link(invitation.email, address, sent)


def password_link(user: User) -> str:
    """A link that sets a new password: once, within the hour, and only while the present one stands."""
    key = urlsafe_base64_encode(force_bytes(str(user.pk)))
    return absolute(reverse("password_new", kwargs={"uidb64": key, "token": default_token_generator.make_token(user)}))


def send_password_link(user: User) -> bool:
    context: dict[str, object] = {"user": user, "address": password_link(user)}
    return send(user.email, "A new password for Evenhand", "teams/mail/password.txt", context)
