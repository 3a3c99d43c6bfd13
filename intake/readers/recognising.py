"""Which reader fits, decided by content, and its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analysis import strict_json
from analysis.refusals import Refused
from intake.readers import contract, files, inspect_log, table, tau_bench
from intake.readers.files import FileFact, Limits, NamedFile, examine
from intake.readers.mapping import Mapping
from intake.readers.records import Run
from intake.readers.suggest import suggest

Runs = Callable[[], Iterator[Run]]

VERSIONS: Final = {
    inspect_log.NAME: inspect_log.VERSION,
    tau_bench.NAME: tau_bench.VERSION,
    contract.NAME: contract.VERSION,
    table.NAME: table.VERSION,
}
"""Every reader by name, with the version of its reading: the same version reads the same file alike."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """Which reader reads these files, and what a dry run says before anything is read in full."""

    reader: str
    version: str
    files: tuple[FileFact, ...]
    notes: tuple[str, ...]
    mapping: Mapping | None
    """The mapping in use; None for formats with a reader of their own."""
    needs_mapping: bool
    suggestion: Mapping | None
    """A mapping guessed from the first rows, where one is needed; to be confirmed by a person."""
    open: Runs

    def runs(self) -> Iterator[Run]:
        """One run per arm. Each call reads the files anew; the executions of a run come lazily and once."""
        if self.needs_mapping:
            raise Refused(
                "import_mapping_needed",
                "This format does not say which field means what. Give a mapping, or confirm the suggested one.",
            )
        return self.open()


def recognise(
    paths: Sequence[NamedFile],
    mapping: Mapping | None = None,
    limits: Limits | None = None,
    *,
    reader: str = "",
) -> Recognised:
    """The reader for these files, which are read as one import. `reader` insists on one by its name.

    A mapping is for generic files; an `.eval` archive says itself what it holds and ignores it.
    """
    limits = limits or Limits()
    if not paths:
        raise Refused("import_empty", "There is no file to read.")
    if reader and reader not in VERSIONS:
        raise Refused("import_format_unknown", f"There is no such reader. There are {', '.join(VERSIONS)}.")
    facts = [_examined(file, index, len(paths), limits) for index, file in enumerate(paths)]
    documents: dict[str, Any] = {}
    names = [reader or _reader_of(file, mapping, limits, documents) for file in paths]
    if len(set(names)) > 1:
        raise Refused(
            "import_formats_mixed", f"The files of one import must be of one format; these are {', '.join(names)}."
        )
    name = names[0]
    notes = []
    if mapping is not None and name not in (table.NAME, ""):
        notes.append("The mapping was not used: this format says itself what it holds.")
        mapping = None
    if any(_has_mark(file) for file in paths):
        notes.append("A byte order mark at the beginning was accepted.")
    needed = name == table.NAME and mapping is None
    return Recognised(
        reader=name,
        version=VERSIONS[name],
        files=tuple(facts),
        notes=tuple(notes),
        mapping=mapping,
        needs_mapping=needed,
        suggestion=suggest(paths, limits) if needed else None,
        open=_opener(name, paths, facts, mapping, limits, documents),
    )


def read_files(
    given: Sequence[tuple[str, Path]], mapping: Mapping | None = None, limits: Limits | None = None
) -> Recognised:
    """`recognise` for (name, path) pairs; files that name the same arm become one run."""
    return recognise([NamedFile(name, path) for name, path in given], mapping, limits)


def _examined(file: NamedFile, index: int, count: int, limits: Limits) -> FileFact:
    try:
        return examine(file, limits)
    except Refused as refused:
        if count > 1:
            raise Refused(refused.code, refused.message, f"file {index + 1} {refused.place}".strip()) from None
        raise


def _has_mark(file: NamedFile) -> bool:
    with file.path.open("rb") as stream:
        return stream.read(3) == strict_json.BOM


def _reader_of(file: NamedFile, mapping: Mapping | None, limits: Limits, documents: dict[str, Any]) -> str:
    """The reader that the content asks for; the documents read on the way are kept."""
    if file.format == "eval":
        return inspect_log.NAME
    if mapping is not None:
        return table.NAME
    if file.format == "json":
        document = _document(file, limits)
        documents[file.name] = document
        if inspect_log.is_json_log(document):
            return inspect_log.NAME
        if tau_bench.is_results(document):
            return tau_bench.NAME
        listed = document.get("records") if isinstance(document, dict) else document
        return contract.NAME if isinstance(listed, list) and listed and contract.is_record(listed[0]) else table.NAME
    if file.format == "jsonl":
        first = next(files.json_lines(file, limits)).value
        return contract.NAME if contract.is_record(first) else table.NAME
    if file.format in ("csv", "tsv"):
        header = next(files.table_rows(file, limits, "\t" if file.format == "tsv" else ","))
        return contract.NAME if contract.is_record(dict.fromkeys(header.value)) else table.NAME
    raise Refused(
        "import_format_unknown",
        "The name must end with .eval, .json, .jsonl, .csv or .tsv; text formats also with .gz.",
    )


def _document(file: NamedFile, limits: Limits) -> Any:
    """A JSON document, with the bounds of the tool that seems to have written it."""
    data = files.whole(file, limits)
    head = data[:4096]
    if b'"eval"' in head and b'"status"' in head:
        document = strict_json.loads(data, limits=limits.sample, nan_as_missing_at=inspect_log.nan_is_missing)
        if inspect_log.is_json_log(document):
            return document
    elif b'"traj"' in data and b'"reward"' in head:
        document = strict_json.loads(data, limits=limits.sample)
        if tau_bench.is_results(document):
            return document
    return strict_json.loads(data, limits=limits.document)


def _opener(
    name: str,
    named: Sequence[NamedFile],
    facts: Sequence[FileFact],
    mapping: Mapping | None,
    limits: Limits,
    documents: dict[str, Any],
) -> Runs:
    def inspect() -> Iterator[Run]:
        for file, fact in zip(named, facts, strict=True):
            if file.format == "eval":
                yield inspect_log.read_archive(file, fact, limits)
            else:
                yield inspect_log.read_json(_kept(file), fact)

    def tau() -> Iterator[Run]:
        for file, fact in zip(named, facts, strict=True):
            document = _kept(file)
            if not tau_bench.is_results(document):
                raise Refused("import_record_wrong_type", "A list of tau-bench attempts is required.")
            yield tau_bench.read(document, file, fact)

    def _kept(file: NamedFile) -> Any:
        if file.name not in documents:
            documents[file.name] = _document(file, limits)
        document = documents[file.name]
        if name == inspect_log.NAME and not inspect_log.is_json_log(document):
            raise Refused("import_record_wrong_type", "An Inspect log is required.")
        return document

    def mapped() -> Iterator[Run]:
        if mapping is None:
            raise Refused("import_mapping_needed", "This format does not say which field means what. Give a mapping.")
        return table.TableReader(named, facts, mapping, limits).runs()

    openers: dict[str, Runs] = {
        inspect_log.NAME: inspect,
        tau_bench.NAME: tau,
        contract.NAME: lambda: contract.read(named, facts, limits),
        table.NAME: mapped,
    }
    return openers[name]
