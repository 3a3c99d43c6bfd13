"""`evenhand template`: saved setups of comparisons on a server."""

from __future__ import annotations

import json
import uuid
from typing import Annotated, Any

import typer

from analysis.refusals import Refused
from cli.client import Api
from cli.groups import intent_of
from cli.options import JsonOption, ServerOption, TokenOption, refusals
from cli.render import table, visible

app = typer.Typer(
    help="Templates on a server: setups of comparisons in versions that never change.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

TemplateArgument = Annotated[str, typer.Argument(metavar="TEMPLATE", help="The template's id.")]
IntentArgument = Annotated[str, typer.Argument(metavar="INTENT.json", help="What to compare; - reads standard input.")]
KeyOption = Annotated[
    str, typer.Option(help="Request key. The same key and intent make one version, however often they are sent.")
]


@app.command(name="list")
def listed(server: ServerOption, token: TokenOption = "", as_json: JsonOption = False) -> None:
    """List the templates that are not archived."""
    with refusals(as_json), Api(server, token) as api:
        rows = api.templates()
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif not rows:
        typer.echo("No template yet. Save one with: evenhand template save NAME INTENT.json")
    else:
        lines = [(visible(one["name"]), f"{one['head']:,}", one["id"]) for one in rows]
        typer.echo(table(("Template", "version", "id"), lines))


@app.command()
def show(
    template: TemplateArgument,
    server: ServerOption,
    token: TokenOption = "",
    number: Annotated[int, typer.Option("--number", min=0, help="Which version; the current one unless given.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show a version of a template."""
    with refusals(as_json), Api(server, token) as api:
        found = _version(api, template, number)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    typer.echo(f"Version {found['number']}  {found['id']}\nFingerprint  {found['sha256']}\n")
    if found["intent"] is None:
        gone = found["availability"] != "available"
        typer.echo("What it says was taken away." if gone else "Reading it needs the right evaluation.content.read.")
    else:
        typer.echo(json.dumps(found["intent"], ensure_ascii=False, indent=2))


@app.command()
def restore(
    template: TemplateArgument,
    server: ServerOption,
    token: TokenOption = "",
    number: Annotated[int, typer.Option("--number", min=0, help="Which version; the current one unless given.")] = 0,
) -> None:
    """Print the intent of a version, for `evenhand group check -` and `evenhand group start -`. Nothing is upgraded."""
    with refusals(False), Api(server, token) as api:
        found = _version(api, template, number)
        if found["intent"] is None:
            raise Refused("cli_template_unreadable", "What this version says was taken away, or is not for you.")
    typer.echo(json.dumps({**found["intent"], "template": found["id"]}, ensure_ascii=False, indent=2))


@app.command()
def save(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the new template.")],
    intent: IntentArgument,
    server: ServerOption,
    token: TokenOption = "",
    key: KeyOption = "",
    as_json: JsonOption = False,
) -> None:
    """Save an intent as a new template."""
    with refusals(as_json):
        given = _reusable(intent)
        with Api(server, token) as api:
            made = api.create_template(name, given, _key(key))
    _saved(made, as_json)


@app.command(name="save-version")
def save_version(
    template: TemplateArgument,
    intent: IntentArgument,
    server: ServerOption,
    token: TokenOption = "",
    expected: Annotated[
        int,
        typer.Option("--expected", min=0, help="The version that this was made from; the current one unless given."),
    ] = 0,
    key: KeyOption = "",
    as_json: JsonOption = False,
) -> None:
    """Save an intent as the next version. Refused where the template went on since the expected version."""
    with refusals(as_json):
        pk, given = _id(template), _reusable(intent)
        with Api(server, token) as api:
            head = expected or int(api.template(pk)["head"])
            made = api.add_template_version(pk, given, head, _key(key))
    _saved(made, as_json)


def register(main: typer.Typer) -> None:
    """Add the commands under `template`."""
    main.add_typer(app, name="template")


def _version(api: Api, template: str, number: int) -> dict[str, Any]:
    pk = _id(template)
    return api.template_version(pk, number or int(api.template(pk)["head"]))


def _reusable(given: str) -> dict[str, Any]:
    """An intent as a template keeps it: without where it came from."""
    return {name: value for name, value in intent_of(given).items() if name != "template"}


def _key(given: str) -> str:
    """The key is told before it goes out, so that a lost answer can be asked for again."""
    sent = given or str(uuid.uuid4())
    typer.echo(f"Request key {sent}: after a lost answer, save again with --key {sent}", err=True)
    return sent


def _saved(made: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(made, ensure_ascii=False, indent=2))
    else:
        typer.echo(f"Saved as version {made['number']} of template {made['template']}")


def _id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Refused("cli_option_invalid", "The id of a template is needed.", "TEMPLATE") from None
