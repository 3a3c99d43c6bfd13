"""What a person names on the command line: a file, a folder, or `FILE#ARM`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.refusals import Refused
from intake.readers import Collected, Limits, Mapping, NamedFile, Recognised, Run, Scorer, collect, recognise
from intake.readers import mapping as mappings
from intake.readers.files import FORMAT_OF_ENDING


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder, and the arm that was asked for, if any."""

    path: Path
    arm: str

    @classmethod
    def of(cls, given: str) -> Source:
        """The part after the first `#` that leaves an existing path is the arm."""
        if Path(given).exists():
            return cls(Path(given), "")
        for index, character in enumerate(given):
            if character == "#" and Path(given[:index]).exists():
                return cls(Path(given[:index]), given[index + 1 :])
        raise Refused("cli_file_missing", "There is no such file or folder.", given)

    def files(self, mapping: Mapping | None) -> list[NamedFile]:
        """The files to read; of a folder those in a format that the mapping, or any reader, reads."""
        if self.path.is_file():
            return [named(self.path)]
        if not self.path.is_dir():
            raise Refused("import_not_a_file", "This is neither a regular file nor a folder.", str(self.path))
        allowed = set(FORMAT_OF_ENDING.values())
        if mapping is not None and mapping.format != "auto":
            allowed = {mapping.format}
        found = [named(path) for path in sorted(self.path.iterdir()) if path.is_file()]
        found = [file for file in found if file.format in allowed]
        if not found:
            raise Refused("import_empty", "The folder holds no file in a format that is read.", str(self.path))
        return found


def named(path: Path) -> NamedFile:
    """A file under its own name and that of its folder, which a mapping may use."""
    return NamedFile(f"{path.resolve().parent.name}/{path.name}", path)


def mapping_of(given: str) -> Mapping | None:
    """A mapping by the name of a built-in one or from a JSON file."""
    if not given:
        return None
    if given in mappings.builtin_names():
        return mappings.builtin(given)
    path = Path(given)
    if not path.is_file():
        built_in = ", ".join(mappings.builtin_names())
        raise Refused(
            "cli_file_missing", f"There is no such mapping file, and the built-in mappings are {built_in}.", given
        )
    return mappings.loads(path.read_bytes())


def recognised(given: Sequence[Source], mapping: Mapping | None, limits: Limits) -> Recognised:
    """Several files or folders, read as one import. A fault without a place of its own is put at the file."""
    try:
        return recognise([file for source in given for file in source.files(mapping)], mapping, limits)
    except Refused as refused:
        if refused.place or len(given) != 1:
            raise
        raise Refused(refused.code, refused.message, str(given[0].path)) from None


def one_arm(source: Source, mapping: Mapping | None, limits: Limits, *, accept_rejected: bool) -> Collected:
    """The one run that was asked for; a choice that was left open is refused with what there is."""
    arms: list[str] = []
    only: Run | None = None
    for run in recognised([source], mapping, limits).runs():
        if source.arm and run.facts.arm == source.arm:
            return collect(run, accept_rejected)
        arms.append(run.facts.arm)
        only = run
    if source.arm:
        raise Refused("import_arm_missing", f"There is no arm of that name. There are {_listed(arms)}.", source.arm)
    if only is None or len(arms) != 1:
        raise Refused(
            "import_arm_ambiguous",
            f"Several arms are here; choose one with {source.path.name}#ARM. There are {_listed(arms)}.",
            str(source.path),
        )
    return collect(only, accept_rejected)


@dataclass(frozen=True, slots=True)
class Measure:
    """Which scorer each side is compared by, with one meaning for both where they can have one."""

    baseline: Scorer
    candidate: Scorer


def measure(baseline: Collected, candidate: Collected, *, baseline_key: str, candidate_key: str) -> Measure:
    """The scorers that were asked for, or the only one that both sides have."""
    if not baseline_key and not candidate_key:
        keys = [scorer.key for scorer in baseline.facts.scorers]
        both = [scorer.key for scorer in candidate.facts.scorers if scorer.key in keys]
        if not both:
            mine = _listed(scorer.key for scorer in candidate.facts.scorers)
            raise Refused(
                "import_scorer_missing",
                f"The sides have no scorer in common: the baseline has {_listed(keys)}, the candidate {mine}.",
            )
        if len(both) > 1:
            raise Refused(
                "import_scorer_ambiguous",
                f"Both sides have several scorers; choose one with --scorer: {_listed(both)}.",
            )
        baseline_key = candidate_key = both[0]
    return Measure(baseline.scorer(baseline_key or candidate_key), candidate.scorer(candidate_key or baseline_key))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
