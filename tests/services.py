"""The servers the tests need."""

import os

import pytest


def require_services() -> None:
    """End the run with one sentence when PostgreSQL or the broker is missing."""
    missing = [name for name in ("DATABASE_URL", "CELERY_BROKER_URL") if not os.environ.get(name)]
    if missing:
        pytest.exit(
            f"{' and '.join(missing)} not set: run `make test`, or for some tests "
            "`.venv/bin/python -m config.embedded run --test -- .venv/bin/python -m pytest tests/NAME`.",
            returncode=2,
        )
