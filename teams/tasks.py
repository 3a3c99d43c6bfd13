"""What the worker is woken for. Ids in, one call, no result."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from teams import mail
from teams.models import User


@shared_task(name="teams.tasks.send_password_link")
def send_password_link(user_id: str) -> None:
    """The link is made here, so that no message of the broker ever holds it."""
    user = User.objects.filter(pk=UUID(user_id), is_active=True).first()
    if user is not None:
        mail.send_password_link(user)
