"""The provider as a process of its own, until SIGTERM or Ctrl-C: python -m tests.provider --log FILE --ready FILE."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path

from tests.provider.server import Provider


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m tests.provider", description=__doc__)
    words.add_argument("--port", type=int, default=0, help="0: any free one")
    words.add_argument("--log", type=Path, help="calls are appended here as JSON lines")
    words.add_argument("--ready", type=Path, help="holds the address once the provider serves")
    words.add_argument("--default", default="ok", help="the behaviour where neither model nor rule says one")
    chosen = words.parse_args()

    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    with Provider(default=chosen.default, port=chosen.port, log=chosen.log) as provider:
        print(provider.url, flush=True)
        if chosen.ready:
            unfinished = chosen.ready.with_name(chosen.ready.name + ".part")
            unfinished.write_text(provider.url)
            unfinished.replace(chosen.ready)  # who finds the file finds all of it
        stop.wait()


if __name__ == "__main__":
    main()
