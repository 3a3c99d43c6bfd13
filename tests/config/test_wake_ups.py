"""A wake-up goes where workers listen, whichever process and thread sends it."""

import subprocess
import sys
from threading import Thread

from celery import current_app

WEB = """
import django
django.setup()
from threading import Thread
from celery import current_app
def say():
    print(current_app.main, current_app.conf.broker_transport_options["global_keyprefix"])
thread = Thread(target=say)
thread.start()
thread.join()
"""


def test_every_thread_sends_through_our_application():
    found = []
    thread = Thread(target=lambda: found.append((current_app.main, current_app.conf.task_ignore_result)))
    thread.start()
    thread.join()
    assert found == [("evenhand", True)]


def test_a_process_that_is_no_worker_sends_to_the_same_queue():
    said = subprocess.run([sys.executable, "-c", WEB], capture_output=True, text=True, timeout=120)
    assert said.stdout == "evenhand evenhand.\n", said.stderr
