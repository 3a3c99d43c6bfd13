"""Which reader fits, decided by content, and its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.refusals import Refused
from intake.readers.files import FileFact, Limits, NamedFile
from intake.readers.mapping import Mapping
from intake.readers.records import Run

Runs = Callable[[], Iterator[Run]]


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
    """The reader for these files, which are read as one import. `reader` insists on one by its name."""
    raise NotImplementedError


def read_files(
    files: Sequence[tuple[str, Path]], mapping: Mapping | None = None, limits: Limits | None = None
) -> Recognised:
    """`recognise` for (name, path) pairs; files that name the same arm become one run."""
    return recognise([NamedFile(name, path) for name, path in files], mapping, limits)
