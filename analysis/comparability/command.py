"""The command line of the verdict: `python -m analysis.comparability CASE.json --claim CLAIM`.

Every verdict ends with exit code 0. Whatever is not a verdict ends with 2, says on standard error
what is wrong and where, and leaves standard output and older files as they were.
"""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from analysis.comparability import manifest as evidence
from analysis.comparability.core import adjudicate
from analysis.comparability.manifest import Artifact
from analysis.comparability.records import InvalidCase
from analysis.refusals import Refused
from analysis.strict_json import JsonLimits, loads, visible

FINE: Final = 0
BAD_INPUT: Final = 2
LARGEST: Final = 64 * 1024 * 1024  # bytes of a case, or of one file of evidence
LIMITS: Final = JsonLimits(record_bytes=LARGEST, field_bytes=LARGEST)


class Unusable(Exception):
    """The command cannot go on; the lines say why."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines: Final = lines


def main(argv: Sequence[str] | None = None, *, prog: str = "python -m analysis.comparability") -> int:
    """Adjudicate a case file; the exit code. Nothing is asked of the network."""
    try:
        given = _parser(prog).parse_args(argv)
    except SystemExit as ended:  # argparse has printed the usage or the help
        return FINE if ended.code in (0, None) else BAD_INPUT
    try:
        _run(given)
    except Unusable as unusable:
        return failed(unusable.lines)
    return FINE


def failed(lines: Sequence[str]) -> int:
    for line in lines:
        sys.stderr.write(f"error: {line}\n")
    return BAD_INPUT


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Say whether a claim may be made from a group of evaluation records.",
        epilog="Exit codes: 0 a verdict was given, whatever it is; 2 the input cannot be judged.",
        allow_abbrev=False,
    )
    parser.add_argument("case", metavar="CASE.json", help='an object {"id": ..., "records": [...]}')
    parser.add_argument(
        "--claim",
        required=True,
        type=claim_text,
        help="causal, score_comparison or descriptive_registration; any other claim is inconclusive",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the decision record here, not to standard output")
    parser.add_argument("--manifest", metavar="FILE", help="also write the evidence manifest")
    parser.add_argument(
        "--evidence",
        metavar="FILE",
        help="with --manifest: what is stated about the records' trust and which files belong to them",
    )
    return parser


def claim_text(value: str) -> str:
    if not value:
        raise argparse.ArgumentTypeError("expected the name of a claim")
    if not _is_writable_text(value):
        raise argparse.ArgumentTypeError("expected UTF-8")
    return value


def _run(given: argparse.Namespace) -> None:
    if given.evidence and not given.manifest:
        raise Unusable("--evidence: needs --manifest")
    refuse_overwriting([given.case, given.evidence], [given.output, given.manifest])
    name = file_name(given.case)
    content = read_bytes(given.case)
    case = read_json(content, name)
    try:
        decision = adjudicate(case, given.claim)
    except InvalidCase as invalid:
        raise Unusable(*(f"{name}: {problem}" for problem in invalid.problems)) from None
    written = json_bytes(decision.to_dict())
    outputs = []
    if given.manifest:
        artifacts = [Artifact.of("input", name, content), Artifact.of("cdr", _written_name(given.output), written)]
        document = _manifest(case, given, artifacts)
        outputs.append((given.manifest, json_bytes(document)))
    if given.output:
        outputs.append((given.output, written))
    write_files(outputs)
    if not given.output:
        print_bytes(written)


def _manifest(case: dict[str, Any], given: argparse.Namespace, artifacts: list[Artifact]) -> dict[str, Any]:
    statements = evidence.Statements({}, {})
    if given.evidence:
        name = file_name(given.evidence)
        stated = read_json(read_bytes(given.evidence), name)
        try:
            statements = evidence.read_statements(stated, len(case["records"]))
        except InvalidCase as invalid:
            raise Unusable(*(f"{name}: {problem}" for problem in invalid.problems)) from None
    records = list(evidence.describe(case, statements.trust))
    for index, named in sorted(statements.artifacts.items()):
        for stated_artifact in named:
            path = Path(given.evidence).parent / stated_artifact.path
            content: bytes | None = None
            with suppress(Unusable):
                content = read_bytes(str(path))
            artifact = Artifact.of(stated_artifact.role, stated_artifact.path, content, stated_artifact.sha256)
            artifacts.append(artifact)
            records[index] = records[index].with_artifact(artifact)
    return evidence.manifest(case_id=case["id"], requested_claim=given.claim, artifacts=artifacts, records=records)


# --- files in


def file_name(path: str) -> str:
    """The name of a file as a message or a manifest may show it."""
    return visible(os.path.basename(path) or path)


def read_bytes(path: str) -> bytes:
    """The content of a file of bounded size, or `Unusable`."""
    name = file_name(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
            raise Unusable(f"{name}: this is not a regular file")
        with open(path, "rb") as stream:
            content = stream.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise Unusable(f"{name}: {_reason(error)}") from None
    if len(content) > LARGEST:
        raise Unusable(f"{name}: a file may have at most {LARGEST:,} bytes")
    return content


def read_json(content: bytes, name: str) -> Any:
    try:
        return loads(content, limits=LIMITS)
    except Refused as refused:
        raise Unusable(f"{name}: {refused}") from None


# --- files out


def json_bytes(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def print_bytes(content: bytes) -> None:
    """All of it on standard output, or `Unusable`."""
    try:
        stream = sys.stdout.buffer
    except AttributeError:  # a caller put a text stream there
        sys.stdout.write(content.decode())
        return
    try:
        sys.stdout.flush()
        stream.write(content)
        stream.flush()
    except OSError as error:
        with suppress(OSError):  # what is buffered must not fail a second time when Python ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Unusable(f"standard output: {_reason(error)}") from None


def refuse_overwriting(inputs: Sequence[str | None], outputs: Sequence[str | None]) -> None:
    """No output may replace an input or another output."""
    taken = {_real(path) for path in inputs if path}
    for path in outputs:
        if path and not _is_special(path):
            real = _real(path)
            if real in taken:
                raise Unusable(f"{file_name(path)}: would replace another file of this command")
            taken.add(real)


def write_files(outputs: Sequence[tuple[str, bytes]]) -> None:
    """Each is written beside its place first; only when all are complete do they take their places."""
    ready: list[tuple[str, str]] = []
    try:
        for path, content in outputs:
            if _is_special(path):
                _write(path, content, os.O_WRONLY)
                continue
            place = _real(path)
            if os.path.isdir(place):
                raise Unusable(f"{file_name(path)}: is a folder")
            beside = f"{place}.{os.getpid()}.part"
            ready.append((beside, path))
            _write(path, content, os.O_WRONLY | os.O_CREAT | os.O_EXCL, beside)
        for beside, path in ready:
            try:
                os.replace(beside, _real(path))
            except OSError as error:
                raise Unusable(f"{file_name(path)}: {_reason(error)}") from None
    finally:
        for beside, _ in ready:
            with suppress(OSError):
                os.unlink(beside)


def _write(path: str, content: bytes, flags: int, place: str = "") -> None:
    try:
        with open(os.open(place or path, flags, 0o666), "wb") as stream:
            stream.write(content)
            stream.flush()
            if place:
                os.fsync(stream.fileno())
    except (OSError, ValueError) as error:
        raise Unusable(f"{file_name(path)}: {_reason(error)}") from None


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError) as error:
        raise Unusable(f"{file_name(path)}: {_reason(error)}") from None


def _is_special(path: str) -> bool:
    """A device or a pipe: written as it is, never replaced."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _written_name(output: str | None) -> str:
    return file_name(output) if output else "standard output"


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or "the name or the content cannot be used"


def _is_writable_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
