"""`evenhand group`: whether a comparison is ready, its start, how it goes, its end."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from analysis import strict_json
from analysis.refusals import Refused
from analysis.strict_json import JsonLimits
from cli import following, gate, group_render
from cli.client import Api
from cli.options import JsonOption, ServerOption, TokenOption, refusals

INTENT: Final = JsonLimits(record_bytes=64 * 1024, field_bytes=64 * 1024)

app = typer.Typer(
    help="Comparison groups on a server: two to five arms that start together.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

IntentArgument = Annotated[str, typer.Argument(metavar="INTENT.json", help="What to compare; - reads standard input.")]
GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", help="The group's id.")]


@app.command()
def check(intent: IntentArgument, server: ServerOption, token: TokenOption = "", as_json: JsonOption = False) -> None:
    """Say what a comparison would run and what stands in the way. Writes nothing and calls no model."""
    with refusals(as_json):
        given = intent_of(intent)
        with Api(server, token) as api:
            found = _of_form(api.group_readiness(given), "ready", "sha256", "blocked")
    typer.echo(_json(found) if as_json else group_render.readiness(found))
    raise typer.Exit(gate.PASSED if found["ready"] else gate.BAD_INPUT)


@app.command()
def start(
    intent: IntentArgument,
    server: ServerOption,
    token: TokenOption = "",
    key: Annotated[
        str, typer.Option(help="Request key. The same key and intent start one group, however often they are sent.")
    ] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Follow the group to its end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a comparison, then start all of its arms or none."""
    with refusals(as_json):
        given = intent_of(intent)
        with Api(server, token) as api:
            found = _of_form(api.group_readiness(given), "ready", "sha256", "blocked")
            if not found["ready"] and not key:  # under a key of before, the group may well be there already
                typer.echo(_json(found) if as_json else group_render.readiness(found))
                raise typer.Exit(gate.BAD_INPUT)
            sent = key or str(uuid.uuid4())
            typer.echo(f"Request key {sent}: after a lost answer, start again with --key {sent}", err=True)
            state = _of_form(api.start_group(given, str(found["sha256"]), sent), "id", "states")
            typer.echo(f"Started group {state['id']}", err=True)
            if wait:
                state = following.follow(api, uuid.UUID(state["id"]), state)
    typer.echo(_json(state) if as_json else group_render.group(state))
    raise typer.Exit(_ending(state) if wait else gate.PASSED)


@app.command()
def status(
    group: GroupArgument,
    server: ServerOption,
    token: TokenOption = "",
    watch: Annotated[bool, typer.Option("--watch", help="Follow it to its end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a group's arms: their state, their judgments, and the cost with what is known of it."""
    with refusals(as_json):
        pk = _id(group)
        with Api(server, token) as api:
            state = _of_form(api.group(pk), "id", "states")
            if watch:
                state = following.follow(api, pk, state)
    typer.echo(_json(state) if as_json else group_render.group(state))
    raise typer.Exit(_ending(state) if watch else gate.PASSED)


@app.command()
def cancel(
    group: GroupArgument,
    server: ServerOption,
    token: TokenOption = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Cancel every arm that runs. A call that is under way settles, and what was answered stays."""
    with refusals(as_json):
        pk = _id(group)
        with Api(server, token) as api:
            if not yes:
                _confirmed(_of_form(api.group(pk), "id", "states"))
            state = _of_form(api.steer_group(pk, "cancel"), "id", "states")
    typer.echo(_json(state) if as_json else group_render.group(state))


def register(main: typer.Typer) -> None:
    """Add the commands under `group`."""
    main.add_typer(app, name="group")


def _confirmed(state: dict[str, Any]) -> None:
    """Asks a person; where there is none to ask, the choice is open."""
    if not _terminal():
        raise Refused("cli_confirmation_needed", "Nobody can be asked here; say --yes.", "--yes")
    running = sum(arm.get("state") == "running" for arm in state["states"])
    if not typer.confirm(f"Cancel {group_render.name(state)}? Arms that run: {running}.", err=True):
        raise Refused("cli_not_confirmed", "Nothing was cancelled.")


def _terminal() -> bool:
    return sys.stdin.isatty()


def _ending(state: dict[str, Any]) -> int:
    """A comparison of arms that did not all end graded shows nothing, and is never a pass."""
    return gate.PASSED if all(map(following.complete, state["states"])) else gate.INCONCLUSIVE


def intent_of(given: str) -> dict[str, Any]:
    """The intent as it is written down; what it may hold is the server's to say."""
    place = "standard input" if given == "-" else Path(given).name
    raw = sys.stdin.buffer.read(INTENT.record_bytes + 1) if given == "-" else Path(given).read_bytes()
    try:
        found = strict_json.loads(raw, limits=INTENT)
    except Refused as refused:
        raise Refused(refused.code, refused.message, place) from None
    if not isinstance(found, dict):
        raise Refused("cli_intent_invalid", "One JSON object is needed, as docs/groups.md shows it.", place)
    return found


def _id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Refused("cli_option_invalid", "The id of a group is needed.", "GROUP") from None


def _of_form(answer: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        if name not in answer:
            raise Refused("cli_answer_unknown", f"The server's answer has no {name}.")
    return answer


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
