"""`evenhand inspect-claim`: may this claim be made from these Inspect logs?

Reads the logs with the strict readers of `intake`, maps them by an explicit policy and adjudicates
each case. Exit codes as for `evenhand adjudicate`: 0 for every verdict, 2 for what cannot be judged.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from analysis import strict_json
from analysis.comparability import InvalidCase, adjudicate
from analysis.comparability import manifest as evidence
from analysis.comparability.command import (
    Unusable,
    claim_text,
    failed,
    file_name,
    json_bytes,
    print_bytes,
    read_bytes,
    refuse_overwriting,
    write_files,
)
from analysis.comparability.inspect_log import UNITS, Conversion, ConvertedCase, InvalidLogs, Log, Policy, convert
from analysis.comparability.manifest import Artifact, Trust
from analysis.refusals import Refused
from cli.adjudicate import PASSED_ON
from intake.readers.archive import Archive
from intake.readers.files import Limits, NamedFile, examine
from intake.readers.inspect_log import HEADER, JOURNAL, nan_is_missing

PROG: Final = "evenhand inspect-claim"
LIMITS: Final = Limits()
LOOKED_AT: Final[tuple[str, ...]] = ("id", "epoch", "scores", "error", "invalidation", "limit")
STATES: Final = [str(trust) for trust in Trust if trust is not Trust.UNDECLARED]


def main(argv: Sequence[str] | None = None) -> int:
    """Convert and adjudicate; the exit code."""
    try:
        given = _parser().parse_args(argv)
    except SystemExit as ended:  # argparse has printed the usage or the help
        return 0 if ended.code in (0, None) else 2
    try:
        _run(given)
    except Unusable as unusable:
        return failed(unusable.lines)
    return 0


def command(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="RUN.eval... --claim CLAIM --status STATUS [options]")
    ] = None,
) -> None:
    """Say whether a claim may be made from Inspect logs (--help for its options)."""
    raise typer.Exit(main(arguments or []))


def register(app: typer.Typer) -> None:
    """Add the command; its options are read where they are defined, once."""
    app.command(name="inspect-claim", context_settings=PASSED_ON)(command)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROG,
        description="Say whether a claim may be made from Inspect logs. Nothing is guessed: what the options do not "
        "cover is refused, with its path.",
        epilog="Exit codes: 0 verdicts were given, whatever they are; 2 the logs cannot be judged.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("logs", nargs="+", metavar="RUN.eval", help="logs of Inspect, .eval or .json")
    add("--claim", required=True, type=claim_text, help="as for evenhand adjudicate")
    add("--status", required=True, type=claim_text, help="reward_status of all records, such as verified")
    add("--status-zero", type=claim_text, help="another reward_status for rewards that are exactly 0")
    add("--unit", choices=UNITS, default="sample", help="one case per sample id (default), or one over whole tasks")
    add("--scorer", help="which scorer counts, where there are several")
    add("--score-key", help="which value counts, where a scorer gives several")
    add("--metric", help="with --unit task: which metric counts, where there are several")
    add("--reducer", help="with --unit task: which reducer of the epochs counts, where there are several")
    add("--partial-credit", action="store_true", help="P counts as 0.5")
    add("--range", help="range of the scale, such as 0..100; with --unit-name, for values outside 0..1")
    add("--unit-name", help="unit of the scale, such as points; with --range")
    add("--harness", action="append", default=[], help="name of the harness; once per log, in their order")
    add("--allow-incomplete", action="store_true", help="take logs that did not end as a success")
    add("--allow-unscored", action="store_true", help="list unscored samples and leave them out")
    add("--allow-no-answer", action="store_true", help="list samples without an answer (N) and leave them out")
    add("--trust", choices=STATES, help="with --manifest: how far the rewards are to be trusted")
    add("--stated-by", help="with --trust: who says so")
    add("-o", "--output", metavar="FILE", help="write the result here, not to standard output")
    add("--cases", metavar="FILE", help="also write the converted cases, as a list")
    add("--manifest", metavar="FILE", help="also write the evidence manifests, one per case, with the mapping")
    return parser


def _run(given: argparse.Namespace) -> None:
    if bool(given.trust) != bool(given.stated_by) or (given.trust and not given.manifest):
        raise Unusable("--trust: needs --stated-by and --manifest")
    refuse_overwriting(given.logs, [given.output, given.cases, given.manifest])
    policy = Policy(
        status=given.status,
        status_zero=given.status_zero,
        unit=given.unit,
        scorer=given.scorer,
        score_key=given.score_key,
        metric=given.metric,
        reducer=given.reducer,
        partial_credit=given.partial_credit,
        range=given.range,
        unit_name=given.unit_name,
        harness=given.harness,
        allow_incomplete=given.allow_incomplete,
        allow_unscored=given.allow_unscored,
        allow_no_answer=given.allow_no_answer,
    )
    short = [file_name(path) for path in given.logs]
    names = short if len(set(short)) == len(short) else [strict_json.visible(path) for path in given.logs]
    logs = [read_log(path, name) for path, name in zip(given.logs, names, strict=True)]
    try:
        converted = convert(logs, policy)
    except InvalidLogs as invalid:
        raise Unusable(*map(str, invalid.faults)) from None
    except ValueError as error:
        raise Unusable(str(error)) from None
    decisions: list[dict[str, Any]] = []
    for entry in converted.cases:
        try:
            decisions.append(adjudicate(entry.case, given.claim).to_dict())
        except InvalidCase as invalid:
            raise Unusable(*(f"{strict_json.visible(entry.case['id'])}: {one}" for one in invalid.problems)) from None
    written = json_bytes(_result(given.claim, policy, converted, decisions))
    outputs = []
    if given.manifest:
        inputs = [Artifact.of("input", log.name, read_bytes(path)) for log, path in zip(logs, given.logs, strict=True)]
        documents = [
            _manifest(given, policy, inputs, entry, decision)
            for entry, decision in zip(converted.cases, decisions, strict=True)
        ]
        outputs.append((given.manifest, json_bytes(documents)))
    if given.cases:
        outputs.append((given.cases, json_bytes([entry.case for entry in converted.cases])))
    if given.output:
        outputs.append((given.output, written))
    write_files(outputs)
    if not given.output:
        print_bytes(written)


def _result(claim: str, policy: Policy, converted: Conversion, decisions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What was asked, how the logs were read, what was left out, and every decision."""
    return {
        "requested_claim": claim,
        "mapping": policy.to_dict(),
        "verdicts": dict(sorted(Counter(decision["admissibility"] for decision in decisions).items())),
        "left_out": [
            {"log": entry.log, "sample": entry.sample, "epoch": entry.epoch, "reason": entry.reason}
            for entry in converted.left_out
        ],
        "notes": converted.notes,
        "decisions": list(decisions),
    }


def _manifest(
    given: argparse.Namespace, policy: Policy, inputs: list[Artifact], entry: ConvertedCase, decision: dict[str, Any]
) -> dict[str, Any]:
    """The manifest of one case. A sample that a limit cut off is no sufficient evidence, whatever was stated."""
    stated = (Trust(given.trust), given.stated_by) if given.trust else None
    count = len(entry.case["records"])
    records = evidence.describe(entry.case, dict.fromkeys(range(count), stated) if stated else {})
    return evidence.manifest(
        case_id=entry.case["id"],
        requested_claim=given.claim,
        artifacts=[*inputs, Artifact.of("cdr", "decision", json_bytes(decision))],
        records=[
            record.cut_off() if source.cut_off else record
            for record, source in zip(records, entry.sources, strict=True)
        ],
        mapping=policy.to_dict(),
    )


def read_log(path: str, name: str) -> Log:
    """A log's header and samples as plain values, or `Unusable`."""
    try:
        examine(NamedFile(path, Path(path)), LIMITS)
        return _read_archive(path, name) if path.endswith(".eval") else _read_document(path, name)
    except Refused as refused:
        raise Unusable(f"{name}: {refused}") from None
    except (OSError, ValueError) as error:
        raise Unusable(f"{name}: {getattr(error, 'strerror', None) or 'the file cannot be read'}") from None


def _read_archive(path: str, name: str) -> Log:
    archive = Archive(Path(path), LIMITS)
    member = HEADER if HEADER in archive.members else JOURNAL
    if member not in archive.members:
        raise Unusable(f"{name}: the log has neither {HEADER} nor {JOURNAL}")
    header = _loads(archive.read(member), member)
    if member == JOURNAL:
        header["status"] = "started"
    names = sorted(one for one in archive.members if one.startswith("samples/"))
    return Log(name, header, [_slim(_loads(data, one)) for one, data in archive.stream(names)])


def _read_document(path: str, name: str) -> Log:
    document = _loads(read_bytes(path), "")
    samples = document.get("samples")
    if samples is not None and not (isinstance(samples, list) and all(isinstance(one, dict) for one in samples)):
        raise Unusable(f"{name}: samples: expected a list of objects")
    header = {key: value for key, value in document.items() if key != "samples"}
    return Log(name, header, None if samples is None else [_slim(one) for one in samples])


def _slim(sample: dict[str, Any]) -> dict[str, Any]:
    """What the mapping looks at: of whole conversations only whether they are there."""
    found = {key: sample[key] for key in LOOKED_AT if key in sample}
    return {**found, "messages": bool(sample.get("messages")), "events": bool(sample.get("events"))}


def _loads(data: bytes, place: str) -> dict[str, Any]:
    value = strict_json.loads(data, place=place, limits=LIMITS.sample, nan_as_missing_at=nan_is_missing)
    if not isinstance(value, dict):
        raise Refused("import_record_wrong_type", "An object is required.", place)
    return value
