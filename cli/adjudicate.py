"""`evenhand adjudicate`: the verdict's own command line under the name of this program."""

from __future__ import annotations

from typing import Annotated

import typer

from analysis.comparability.command import main

PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def command(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="CASE.json --claim CLAIM [options]")] = None,
) -> None:
    """Say whether a claim may be made from the records of a case file (--help for its options)."""
    raise typer.Exit(main(arguments or [], prog="evenhand adjudicate"))


def register(app: typer.Typer) -> None:
    """Add the command; its options are read where they are defined, once."""
    app.command(name="adjudicate", context_settings=PASSED_ON)(command)
