"""A group followed to its end: a bar for each arm on a terminal, plain lines elsewhere. All of it on stderr."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator
from typing import Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from cli import client, group_render
from cli.client import Api
from cli.render import visible

LINE_SECONDS: Final = 10.0
"""Between two plain lines of one arm, where it is not its last."""
SPEED_SECONDS: Final = 120.0


def follow(api: Api, group: uuid.UUID, state: dict[str, Any]) -> dict[str, Any]:
    """The state in which the group ended, or in which every arm that is left waits for a person."""
    show = _bars if _terminal() else _lines
    try:
        latest = show(_states(api, group, state))
    except KeyboardInterrupt:
        typer.echo(f"\nThe group runs on: evenhand group status {group} --watch", err=True)
        raise typer.Exit(130) from None
    if held(latest):
        typer.echo(f"Paused: nothing goes on until somebody resumes it. evenhand group status {group}", err=True)
    return latest


def complete(arm: dict[str, Any]) -> bool:
    """Answered and graded to the end."""
    return bool(arm["state"] == arm.get("grading_state") == "completed")


def working(arm: dict[str, Any]) -> bool:
    return "running" in (arm["state"], arm.get("grading_state"))


def held(state: dict[str, Any]) -> bool:
    """Whether the arms that are left are all paused."""
    left = [arm for arm in state["states"] if working(arm)]
    return bool(left) and all(arm.get("paused") for arm in left)


def _terminal() -> bool:
    return sys.stderr.isatty()


def _states(api: Api, group: uuid.UUID, state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    while True:
        yield state
        if held(state) or not any(map(working, state["states"])):
            return
        time.sleep(client.POLL_SECONDS)
        state = api.group(group)


def _bars(states: Iterator[dict[str, Any]]) -> dict[str, Any]:
    latest: dict[str, Any] = {}
    tasks: dict[str, Any] = {}
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}", markup=False),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[says]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=SPEED_SECONDS) as progress:
        for latest in states:
            for arm in latest["states"]:
                letter = arm["letter"]
                if letter not in tasks:
                    label = f"{letter}  {visible(str(arm.get('name', '')))[:32]}"
                    tasks[letter] = progress.add_task(label, total=arm["planned"], completed=arm["done"], says="")
                progress.update(tasks[letter], completed=arm["done"], total=arm["planned"], says=_says(arm))
    return latest


class _Rate(TextColumn):
    """Answers per minute, empty before there is anything to tell it from."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        return Text("" if not task.speed or task.finished else f"{task.speed * 60:,.0f}/min")


def _lines(states: Iterator[dict[str, Any]]) -> dict[str, Any]:
    latest: dict[str, Any] = {}
    said: dict[str, tuple[str, float]] = {}
    first: dict[str, tuple[int, float]] = {}
    for latest in states:
        now = time.monotonic()
        for arm in latest["states"]:
            letter = arm["letter"]
            before, at = said.get(letter, ("", float("-inf")))
            begun = first.setdefault(letter, (arm["done"], now))
            text = f"{letter}  {arm['done']:,}/{arm['planned']:,}  {_says(arm)}"
            if text == before or (working(arm) and now - at < LINE_SECONDS):
                continue
            said[letter] = (text, now)
            typer.echo(f"{text}{_left(arm, begun, now)}", err=True)
    return latest


def _says(arm: dict[str, Any]) -> str:
    parts = [group_render.standing(arm)]
    if arm["failed"]:
        parts.append(f"{arm['failed']:,} failed")
    if arm["expected"]:
        parts.append(f"{arm['judged']:,}/{arm['expected']:,} judged")
    return ", ".join(parts)


def _left(arm: dict[str, Any], begun: tuple[int, float], now: float) -> str:
    """Rate and time left, from what was seen so far."""
    done, seconds = arm["done"] - begun[0], now - begun[1]
    left = arm["planned"] - arm["done"]
    if done <= 0 or seconds <= 0 or left <= 0:
        return ""
    return f", {60 * done / seconds:,.0f}/min, about {_duration(left * seconds / done)} left"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
