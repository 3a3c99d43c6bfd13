"""A small memory of what never changes: the newest things within a budget of bytes, per process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock


class Shelf[Thing]:
    """Keeps the most recently used things. Rights are never kept: whoever asks was judged before."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._held = 0
        self._things: OrderedDict[Hashable, tuple[Thing, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> Thing | None:
        with self._lock:
            found = self._things.get(key)
            if found is None:
                return None
            self._things.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, thing: Thing, size: int) -> None:
        with self._lock:
            old = self._things.pop(key, None)
            self._held += size - (old[1] if old else 0)
            self._things[key] = (thing, size)
            while self._held > self._budget and len(self._things) > 1:
                _, (_, freed) = self._things.popitem(last=False)
                self._held -= freed

    def clear(self) -> None:
        with self._lock:
            self._things.clear()
            self._held = 0
