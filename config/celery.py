"""The Celery application. A message carries one id and only wakes a worker: the rows are the truth."""

import os

from celery import Celery
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("evenhand")
tick = {"schedule": settings.TICK_SECONDS, "options": {"expires": settings.TICK_SECONDS}}
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_acks_late=False,  # a late acknowledgement replays work by itself
    worker_prefetch_multiplier=1,
    task_ignore_result=True,
    result_backend=None,
    accept_content=["json"],
    task_serializer="json",
    broker_connection_retry_on_startup=True,
    broker_channel_error_retry=True,  # a broker that is full answers with errors; a worker outlives them
    broker_transport_options={"socket_timeout": 10, "health_check_interval": 15, "global_keyprefix": "evenhand."},
    worker_hijack_root_logger=False,
    timezone="UTC",
    beat_schedule={
        "advance-imports": {"task": "intake.tasks.advance_imports", "schedule": 5.0, "options": {"expires": 5}},
        "tick-runs": {"task": "runs.tasks.tick", **tick},
        "tick-grading": {"task": "grading.tasks.tick", **tick},
        "tick-webhooks": {"task": "webhooks.tasks.tick", **tick},
        "expire-deliveries": {"task": "webhooks.tasks.expire", "schedule": 3600.0, "options": {"expires": 3600}},
        "expire-uploads": {"task": "intake.tasks.expire_uploads", "schedule": 3600.0, "options": {"expires": 3600}},
    },
)
app.autodiscover_tasks()
app.set_default()  # also in the threads of the web server, which has no current application of its own
