"""Work without a broker."""

from __future__ import annotations

import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config.polling import Poller


class Command(BaseCommand):
    help = (
        "Do what waits (experiments, passes, Agent Tests, imports), looking every second. Needs no broker. "
        "SIGTERM and Ctrl-C finish what is in hand."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="do everything that waits, and end")

    def handle(self, *args: Any, **options: Any) -> None:
        poller = Poller()
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: poller.stop())
        if options["once"]:
            poller.once()
        else:
            poller.run()
