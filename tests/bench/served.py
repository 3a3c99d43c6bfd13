"""What gunicorn serves to the bench: Evenhand itself, and beside it the pages that it is measured against.

/bench/floor/NAME     bytes from the folder in BENCH_FLOOR, as packed as ours, without Django
X-Bench-Forget: 1     empties this worker's memory first; what the database keeps stays there
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from config.wsgi import application as evenhand

PREFIX = "/bench/floor/"
FOLDER = Path(os.environ["BENCH_FLOOR"])


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    path = environ["PATH_INFO"]
    if path.startswith(PREFIX):
        name = path.removeprefix(PREFIX)
        packed = FOLDER / f"{name}.gz"
        if "/" in name or not packed.is_file():
            start_response("404 Not Found", [("Content-Length", "0")])
            return []
        body = packed.read_bytes()
        headers = [("Content-Type", "text/html; charset=utf-8"), ("Content-Encoding", "gzip")]
        start_response("200 OK", [*headers, ("Content-Length", str(len(body)))])
        return [body]
    if environ.get("HTTP_X_BENCH_FORGET"):
        from comparisons.lenses import paired, verdict  # Django is ready only now

        paired.forget()
        verdict.forget()
    return evenhand(environ, start_response)
