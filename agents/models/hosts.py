"""Hosts outside that programs of teams may reach. Each purpose keeps a list of its own."""

from __future__ import annotations

from django.db import models

from teams.records import Record


class ListedHost(Record):
    """A host that calls of one purpose may reach. Operators list it; archived, it is called no more."""

    host = models.CharField(max_length=253, unique=True)
    note = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering = ["host"]

    def __str__(self) -> str:
        return self.host
