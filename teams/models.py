"""People, teams, roles, memberships, tokens, receipts, audit."""

from __future__ import annotations

from typing import Any, ClassVar

import pgtrigger
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, Group, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from guardian.models import GroupObjectPermissionBase

from teams.permissions import Right
from teams.records import Immutable, Record, frozen


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **extra: Any) -> User:
        user = self.model(email=self.normalize_email(email).strip().lower(), **extra)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **extra: Any) -> User:
        return self.create_user(email, password, **extra, is_staff=True, is_superuser=True)

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin, Record):
    """A person, who signs in by e-mail."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField("operator", default=False, help_text="May open the operators' admin site.")
    joined_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_once")]

    def __str__(self) -> str:
        return self.name or self.email


class Team(Record):
    """Owns everything. Its slug is its address."""

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()
        permissions = [(right.value, right.label) for right in Right]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class TeamGroupPermission(GroupObjectPermissionBase):
    """A right that one role's group holds on one team; gone with the team."""

    id = models.BigAutoField(primary_key=True)
    content_object = models.ForeignKey(Team, on_delete=models.CASCADE)

    class Meta(GroupObjectPermissionBase.Meta):
        abstract = False


class Role(Record):
    """A preset of rights. Presets of the product have no team; a team may add its own."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True)
    name = models.CharField(max_length=60)
    rights = ArrayField(models.CharField(max_length=40, choices=Right))
    revision = models.PositiveIntegerField(default=1)
    """Counts the edits, so that nobody overwrites an edit that they have not seen."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], nulls_distinct=False, name="role_once")]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Membership(Record):
    """One person in one team. `group` carries the role's rights in that team."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    user = models.ForeignKey(User, on_delete=models.CASCADE)
    role = models.ForeignKey(Role, on_delete=models.PROTECT)
    group = models.ForeignKey(Group, on_delete=models.PROTECT)
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="membership_once")]


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> InvitationQuerySet:
        """Neither accepted nor revoked; their term may have run out."""
        return self.filter(accepted_at=None, revoked_at=None)

    def in_state(self, state: str) -> InvitationQuerySet:
        """Those whose `state` is this one; all for an empty text."""
        match state:
            case "accepted":
                return self.exclude(accepted_at=None)
            case "revoked":
                return self.exclude(revoked_at=None)
            case "expired":
                return self.open().filter(expires_at__lte=timezone.now())
            case "open":
                return self.open().filter(expires_at__gt=timezone.now())
        return self.all()


class Invitation(Record):
    """A role offered to an e-mail address by a link that works once. Only the link's digest is kept."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    email = models.EmailField()
    role = models.ForeignKey(Role, on_delete=models.SET_NULL, null=True)
    invited_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "email"],
                condition=models.Q(accepted_at=None, revoked_at=None),
                name="invitation_open_once",
            )
        ]

    @property
    def state(self) -> str:
        """open, accepted, revoked or expired."""
        if self.accepted_at is not None:
            return "accepted"
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at <= timezone.now() else "open"


class ApiToken(Record):
    """A token speaks for a member and carries no rights of its own. Only its digest is kept."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    user = models.ForeignKey(User, on_delete=models.CASCADE)
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True)
    rights = ArrayField(models.CharField(max_length=40, choices=Right), null=True, blank=True)
    """What it may do at most; null: whatever its member may."""
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]


class Receipt(Immutable):
    """One completed operation under one request key."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    actor = models.ForeignKey(User, on_delete=models.PROTECT)
    operation = models.CharField(max_length=60)
    key = models.CharField(max_length=100)
    fingerprint = models.CharField(max_length=64)
    result_type = models.CharField(max_length=60)
    result_id = models.UUIDField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "actor", "operation", "key"], name="receipt_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class AuditEvent(Immutable):
    """Who did what, or was refused; ids and codes only, never content."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    at = models.DateTimeField(auto_now_add=True)
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=60, blank=True)
    object_id = models.UUIDField(null=True)
    code = models.CharField(max_length=60, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["-at"]
        indexes = [models.Index(fields=["team", "-at"])]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class SecondFactor(Record):
    """A person's key for codes that change every thirty seconds. It asks for a code once it is confirmed.

    The key is encrypted with one that is derived from the server's secret, so that a copy of the database
    makes no codes. `last_step` is the newest step whose code was taken: no code works twice.
    """

    user = models.OneToOneField(User, on_delete=models.CASCADE)
    key = models.BinaryField()
    confirmed_at = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=0)
    made_at = models.DateTimeField(auto_now_add=True)


class RecoveryCode(models.Model):
    """A code for the day when the telephone is gone; it works once. Only its hash is kept."""

    id = models.BigAutoField(primary_key=True)
    factor = models.ForeignKey(SecondFactor, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64)
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["factor", "digest"], name="recovery_code_once")]
