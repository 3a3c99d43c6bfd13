"""What the commands share: options of a server, and refusals as sentences and exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from analysis.refusals import Refused
from cli import gate, render

ServerOption = Annotated[str, typer.Option("--server", envvar="EVENHAND_SERVER", help="Ask this server, not files.")]
TokenOption = Annotated[str, typer.Option("--token", envvar="EVENHAND_TOKEN", help="Your API token.", show_envvar=True)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@contextmanager
def refusals(as_json: bool) -> Iterator[None]:
    """A refusal becomes a sentence with its code, or the API's error form, and exit code 2."""
    try:
        with _unreadable():
            yield
    except Refused as refused:
        if as_json:
            error = {"code": refused.code, "message": refused.message, "place": refused.place}
            typer.echo(json.dumps({"error": error}, ensure_ascii=False))
        else:
            place = f"{render.visible(refused.place)}: " if refused.place else ""
            typer.echo(f"evenhand: {place}{render.visible(refused.message)} [{refused.code}]", err=True)
        raise typer.Exit(gate.BAD_INPUT) from None


@contextmanager
def _unreadable() -> Iterator[None]:
    """What the operating system does not let us read is a refusal too."""
    try:
        yield
    except OSError as error:
        place = "" if error.filename is None else Path(str(error.filename)).name
        raise Refused("import_not_a_file", f"It cannot be read: {error.strerror or 'unknown reason'}.", place) from None
