"""Two teams with everything in them, built once for all doors of a module."""

from __future__ import annotations

import pytest
from django.db import transaction

from tests.shape.world import World, build_both


@pytest.fixture(scope="module")
def built(django_db_setup, django_db_blocker):
    """Every test runs inside this transaction and is rolled back to its beginning."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield build_both()
        transaction.set_rollback(True)


@pytest.fixture
def world(db, built) -> World:
    return built[0]
