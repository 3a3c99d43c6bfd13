"""`evenhand`: compare result files, look at them, and hand them to a server.

Exit codes: 0 fine, 1 the gate failed, 2 bad input or an open choice, 3 inconclusive.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from analysis import planning
from analysis.observations import Generation, Outcome
from analysis.paired import compare as compare_sides
from analysis.refusals import Refused
from analysis.results import PairedComparison, plain
from analysis.verdicts.paired import Tier, Verdicts
from cli import adjudicate, gate, groups, inspect_claim, render, sources, templates, verdicts
from cli.client import Api
from cli.options import JsonOption, ServerOption, TokenOption, refusals
from cli.sources import Source
from intake.readers import Execution, Limits, Mapping, Recognised, Rejected, Run, Scorer, settled
from intake.readers import mapping as mappings
from intake.readers.collecting import metric_of

app = typer.Typer(
    name="evenhand",
    help="Compare evaluation evidence: which is better, by how much, and may we say so?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

adjudicate.register(app)
inspect_claim.register(app)
groups.register(app)
templates.register(app)

SHOWN_REJECTED = 20


class Trust(StrEnum):
    INSUFFICIENT = "insufficient"
    AGENT_CLAIMED = "agent_claimed"
    SOURCE_VERIFIER = "source_verifier"


class FailOn(StrEnum):
    REGRESSION = "regression"


MappingOption = Annotated[
    str, typer.Option("--mapping", help="Mapping for generic files: a JSON file or a built-in name.")
]
AcceptOption = Annotated[
    bool, typer.Option("--accept-rejected", help="Leave faulty rows out instead of refusing the file.")
]
TrustOption = Annotated[Trust, typer.Option(help="How far the files' scores are attested; nothing raises it later.")]
LargestOption = Annotated[int, typer.Option("--max-mb", min=1, help="Largest file, in megabytes.")]


@app.command()
def compare(
    baseline: Annotated[str, typer.Argument(help="FILE, FOLDER or FILE#ARM; with --server an experiment's id.")],
    candidate: Annotated[str, typer.Argument(help="The other side; the difference is candidate minus baseline.")],
    mapping: MappingOption = "",
    baseline_mapping: Annotated[str, typer.Option(help="Mapping for the baseline, where it differs.")] = "",
    candidate_mapping: Annotated[str, typer.Option(help="Mapping for the candidate, where it differs.")] = "",
    metric: Annotated[str, typer.Option(help="Key of the metric to compare by.")] = "",
    scorer: Annotated[str, typer.Option(help="Key of the scorer (with --server: id of the grader version).")] = "",
    baseline_scorer: Annotated[str, typer.Option(help="Scorer of the baseline, where it differs.")] = "",
    candidate_scorer: Annotated[str, typer.Option(help="Scorer of the candidate, where it differs.")] = "",
    target: Annotated[float, typer.Option(help="The effect that matters, as a share of the scale.")] = 0.05,
    margin: Annotated[
        float | None, typer.Option(help="Gate: the candidate must be less than this share of the scale worse.")
    ] = None,
    fail_on: Annotated[FailOn | None, typer.Option(help="Gate: exit with 1 if the candidate is worse.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Say what number of cases or repetitions settles it.")] = False,
    difference: Annotated[
        float | None, typer.Option(help="Plan: the difference to be seen, in the metric's unit; --target unless given.")
    ] = None,
    dataset: Annotated[str, typer.Option(help="Say of both files: they are runs of this dataset.")] = "",
    trust: TrustOption = Trust.SOURCE_VERIFIER,
    accept_rejected: AcceptOption = False,
    as_json: JsonOption = False,
    server: ServerOption = "",
    token: TokenOption = "",
    max_mb: LargestOption = 64,
) -> None:
    """Compare two runs, from files alone or on a server, and say which claims the evidence carries."""
    with refusals(as_json):
        _check_share("--target", target)
        if margin is not None:
            _check_share("--margin", margin)
        if difference is not None:
            _check_share("--difference", difference)
            if not plan:
                raise Refused("cli_option_invalid", "It says what to plan for; give it with --plan.", "--difference")
        planned: dict[str, Any] | None = None
        if server:
            with Api(server, token) as api:
                query = {
                    "candidate": candidate,
                    "baseline": baseline,
                    "metric": metric,
                    "candidate_grader": candidate_scorer or scorer,
                    "baseline_grader": baseline_scorer or scorer,
                    "target": "" if target == 0.05 else f"{target!r}",
                    "margin": "" if margin is None else f"{margin!r}",
                }
                result, verdict = api.paired_comparison(query)
                if plan:
                    planned = api.paired_plan({**query, "difference": "" if difference is None else f"{difference!r}"})
        else:
            keys = (baseline_scorer or scorer or metric, candidate_scorer or scorer or metric)
            compared, judged = _compared(
                (Source.of(baseline), sources.mapping_of(baseline_mapping or mapping)),
                (Source.of(candidate), sources.mapping_of(candidate_mapping or mapping)),
                keys,
                target=target,
                margin=margin,
                dataset=dataset,
                trust=Tier(trust.value),
                accept_rejected=accept_rejected,
                limits=_limits(max_mb),
            )
            result, verdict = plain(compared.result), judged.to_dict()
            if plan:
                planned = plain(planning.answer(compared.result, difference))
        gated = gate.judge(result, fail_on_regression=fail_on is FailOn.REGRESSION, margin=margin)
    if as_json:
        shown = {**result, "verdict": verdict, **({} if planned is None else {"plan": planned})}
        typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
    else:
        typer.echo(render.comparison(result, verdict))
        if planned is not None:
            typer.echo(render.plan(planned))
    if gated.text:
        typer.echo(gated.text, err=as_json)
    raise typer.Exit(gated.code)


@app.command()
def look(
    files: Annotated[list[str], typer.Argument(help="Files or one folder, read as one import.")],
    mapping: MappingOption = "",
    as_json: JsonOption = False,
    max_mb: LargestOption = 64,
) -> None:
    """Show what an import would find, without writing anything."""
    with refusals(as_json):
        found = sources.recognised([Source.of(given) for given in files], sources.mapping_of(mapping), _limits(max_mb))
        report = _report(found)
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        typer.echo(_report_text(report))
    raise typer.Exit(gate.BAD_INPUT if report["needs_mapping"] else gate.PASSED)


@app.command(name="import")
def import_files(
    files: Annotated[list[str], typer.Argument(help="Files or one folder, imported together.")],
    dataset: Annotated[str, typer.Option(help="Name of the dataset that the evidence belongs to.")],
    server: ServerOption,
    token: TokenOption = "",
    mapping: MappingOption = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be imported.")] = False,
    trust: TrustOption = Trust.SOURCE_VERIFIER,
    accept_rejected: AcceptOption = False,
    as_json: JsonOption = False,
) -> None:
    """Hand result files to a server and follow the import to its end."""
    with refusals(as_json):
        chosen = sources.mapping_of(mapping)
        named = [file for given in files for file in Source.of(given).files(chosen)]
        with Api(server, token) as api:
            begun = api.post_import(
                [(file.name, file.path) for file in named],
                dataset=dataset,
                mapping=None if chosen is None else mappings.to_json(chosen),
                dry_run=dry_run,
                accept=accept_rejected,
                trust=trust.value,
            )
            state = begun
            for latest in api.follow_import(str(begun.get("id"))):
                _progress(latest)
                state = latest
        _progress_ended()
    if as_json:
        typer.echo(json.dumps(state, ensure_ascii=False, indent=2))
    else:
        typer.echo(_import_text(state, dry_run=dry_run))
    fine = state.get("state") == "completed" or (dry_run and state.get("state") == "ready")
    raise typer.Exit(gate.PASSED if fine else gate.BAD_INPUT)


@app.command(name="mappings")
def list_mappings(
    name: Annotated[str, typer.Argument(help="Print this built-in mapping, to start one's own from.")] = "",
) -> None:
    """List the built-in mappings, or print one as JSON."""
    with refusals(as_json=False):
        if name:
            text = json.dumps(mappings.to_json(mappings.builtin(name)), ensure_ascii=False, indent=2)
        else:
            rows = [(key, mappings.builtin(key).name) for key in mappings.builtin_names()]
            width = max(len(key) for key, _ in rows)
            text = "\n".join(f"{key:{width}}  {words}" for key, words in rows)
    typer.echo(text)


def run() -> None:
    """The entry point of the `evenhand` command."""
    app(prog_name="evenhand")


# --- comparing files


def _compared(
    baseline: tuple[Source, Mapping | None],
    candidate: tuple[Source, Mapping | None],
    keys: tuple[str, str],
    *,
    target: float,
    margin: float | None,
    dataset: str,
    trust: Tier,
    accept_rejected: bool,
    limits: Limits,
) -> tuple[PairedComparison, Verdicts]:
    other = sources.one_arm(*baseline, limits, accept_rejected=accept_rejected)
    mine = sources.one_arm(*candidate, limits, accept_rejected=accept_rejected)
    chosen = sources.measure(other, mine, baseline_key=keys[0], candidate_key=keys[1])
    found = compare_sides(mine.side(chosen.candidate), other.side(chosen.baseline), target=target, margin=margin)
    sides = ((candidate[0], mine), (baseline[0], other))
    return found, verdicts.of_files(found, sides, chosen, dataset=dataset, trust=trust)


def _check_share(option: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise Refused("cli_option_invalid", "A number greater than zero is needed.", option)


def _limits(max_mb: int) -> Limits:
    size = max_mb * 1024 * 1024
    usual = Limits()
    return Limits(file_bytes=size, document_bytes=max(size, usual.document_bytes))


# --- looking at files


def _report(found: Recognised) -> dict[str, Any]:
    return {
        "reader": found.reader,
        "reader_version": found.version,
        "files": [{"name": file.name, "size": file.size, "sha256": file.sha256} for file in found.files],
        "notes": list(found.notes),
        "needs_mapping": found.needs_mapping,
        "suggested_mapping": None if found.suggestion is None else mappings.to_json(found.suggestion),
        "mapping": None if found.mapping is None else mappings.to_json(found.mapping),
        "trust": "source_verifier",
        "runs": [] if found.needs_mapping else [_run_report(run) for run in found.runs()],
    }


def _run_report(run: Run) -> dict[str, Any]:
    cases: set[str | int] = set()
    repetitions: set[int] = set()
    generations: Counter[str] = Counter()
    outcomes: dict[str, Counter[str]] = {scorer.key: Counter() for scorer in run.facts.scorers}
    rejected: list[Rejected] = []
    codes: Counter[str] = Counter()
    executions = 0
    for entry in settled(run):
        if isinstance(entry, Rejected):
            codes[entry.code] += 1
            if len(rejected) < SHOWN_REJECTED:
                rejected.append(entry)
            continue
        executions += 1
        cases.add(entry.case.source_id)
        repetitions.add(entry.repetition)
        generations[_ending(entry)] += 1
        for key, counts in outcomes.items():
            score = entry.scores.get(key)
            counts[(Outcome.NONE if score is None else score.outcome).name.lower()] += 1
    return {
        "arm": run.facts.arm,
        "tool": run.facts.tool,
        "tool_version": run.facts.tool_version,
        "dataset": run.facts.dataset,
        "facts": [list(fact) for fact in run.facts.facts],
        "cases": len(cases),
        "executions": executions,
        "repetitions": sorted(repetitions)[:20],
        "generation": dict(sorted(generations.items())),
        "scorers": [{**_scorer(scorer), "outcomes": dict(outcomes[scorer.key])} for scorer in run.facts.scorers],
        "missing": list(run.facts.missing),
        "notes": list(run.facts.notes),
        "rejected": dict(sorted(codes.items())),
        "rejected_rows": [{"code": row.code, "place": row.place, "message": row.message} for row in rejected],
    }


def _ending(entry: Execution) -> str:
    name = entry.generation.name.lower()
    return f"{name}: {entry.failure.name.lower()}" if entry.generation is Generation.FAILED else name


def _scorer(scorer: Scorer) -> dict[str, Any]:
    shown: dict[str, Any] = plain(metric_of(scorer))
    return shown


def _report_text(report: dict[str, Any]) -> str:
    lines = [f"Reader  {report['reader']} {report['reader_version']}"]
    lines += [f"File    {render.visible(file['name'])}, {file['size']:,} bytes" for file in report["files"]]
    lines += [f"Note    {note}" for note in report["notes"]]
    if report["needs_mapping"]:
        lines += ["", "This format needs a mapping: it does not say which field means what."]
        if report["suggested_mapping"] is not None:
            lines += ["A suggestion, to be checked and saved as a file for --mapping:", ""]
            lines.append(json.dumps(report["suggested_mapping"], ensure_ascii=False, indent=2))
    for run in report["runs"]:
        lines += ["", *_run_text(run)]
    return "\n".join(lines)


def _run_text(run: dict[str, Any]) -> Iterator[str]:
    yield f"Arm     {render.visible(run['arm'])}"
    repetitions = ", ".join(map(str, run["repetitions"])) or "none"
    yield f"        {run['cases']:,} cases, {run['executions']:,} executions, repetitions {repetitions}"
    for name, value in run["facts"]:
        yield f"        {name}: {render.visible(value)[:120]}"
    for ending, count in run["generation"].items():
        yield f"        {ending.replace('_', ' ')}: {count:,}"
    for scorer in run["scorers"]:
        counts = ", ".join(f"{count:,} {_outcome(name)}" for name, count in sorted(scorer["outcomes"].items()))
        meaning = f"{scorer['kind']}, {scorer['direction'].replace('_', ' ')}"
        yield f"Scorer  {render.visible(scorer['key'])} ({meaning}): {counts}"
    if run["missing"]:
        yield f"Missing {', '.join(run['missing'])}"
    for note in run["notes"]:
        yield f"Note    {note}"
    for code, count in run["rejected"].items():
        yield f"Rejected {count:,} rows ({code})"
    for row in run["rejected_rows"]:
        yield f"        {render.visible(row['place'])}: {row['message']}"


def _outcome(name: str) -> str:
    return "not judged" if name == "none" else name.replace("_", " ")


# --- importing


def _progress(state: dict[str, Any]) -> None:
    if sys.stderr.isatty():
        done, total = state.get("done") or 0, state.get("total") or 0
        of = f" {done:,} of {total:,}" if total else ""
        typer.echo(f"\r\x1b[K{state.get('state', '')}{of}", nl=False, err=True)


def _progress_ended() -> None:
    if sys.stderr.isatty():
        typer.echo("", err=True)


HINTS = {
    "import_mapping_needed": "Name a mapping with --mapping; `evenhand look FILE` suggests one.",
    **dict.fromkeys(
        ("duplicate_case_repetition", "contradictory_content", "contradictory_group"),
        "--accept-rejected leaves such rows out and counts them.",
    ),
}


def _import_text(state: dict[str, Any], *, dry_run: bool) -> str:
    kind = "Dry run" if dry_run else "Import"
    lines = [f"{kind} {state.get('id', '')}: {state.get('state', '')}"]
    summary = state.get("summary")
    if isinstance(summary, dict):
        lines += [f"{name}: {value}" for name, value in summary.items() if isinstance(value, int | str)]
    refused = state.get("refusal")
    if isinstance(refused, dict) and refused.get("code"):
        code, message, place = (render.visible(str(refused.get(key) or "")) for key in ("code", "message", "place"))
        lines.append(" ".join(filter(None, (f"Refused [{code}]:", message, f"({place})" if place else ""))))
        if hint := HINTS.get(code):
            lines.append(hint)
    return "\n".join(lines)


if __name__ == "__main__":
    run()
