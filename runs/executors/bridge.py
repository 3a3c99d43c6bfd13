"""Between a worker's thread, which owns the database connection, and the event loop, which owns the sockets."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any

Admit = Callable[[], Coroutine[Any, Any, None]]


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One event loop for the process, in a thread of its own, so that connections stay open between calls."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="outside-calls", daemon=True).start()
    return loop


def run[Result](work: Callable[[Admit], Coroutine[Any, Any, Result]], admit: Callable[[], None]) -> Result:
    """Run a coroutine on the event loop; `admit` is called in the caller's thread when the coroutine awaits it."""
    loop = _loop()
    asked: queue.SimpleQueue[asyncio.Future[None] | None] = queue.SimpleQueue()

    async def ask() -> None:
        answer: asyncio.Future[None] = loop.create_future()
        asked.put(answer)
        await answer

    running: Future[Result] = asyncio.run_coroutine_threadsafe(work(ask), loop)
    running.add_done_callback(lambda _: asked.put(None))
    refused: BaseException | None = None
    try:
        while (answer := asked.get()) is not None:
            try:
                admit()
            except BaseException as found:  # it must not reach the loop, which would end with it
                refused = found
            loop.call_soon_threadsafe(_settle, answer, refused is None)
    except BaseException:
        running.cancel()
        raise
    if refused is not None:
        raise refused
    return running.result()


class NotAdmitted(Exception):
    """The call may not leave. Why not is told in the caller's thread."""


def _settle(answer: asyncio.Future[None], admitted: bool) -> None:
    if answer.done():  # the call gave up meanwhile
        return
    if admitted:
        answer.set_result(None)
    else:
        answer.set_exception(NotAdmitted())
