"""Readers of other tools' result files: bytes in, runs of executions out. No Django, no database.

    found = recognise([NamedFile("a.eval", path)], mapping=None, limits=Limits())
    for run in found.runs():             # each call reads the files again, lazily
        for entry in settled(run):       # Execution or Rejected, duplicates already set aside
            ...
    sides = [collect(run) for run in found.runs()]   # in memory, for the command line

A file that is broken as a file raises `Refused`; the fault of a single row is a `Rejected`.
"""

from __future__ import annotations

from intake.readers.collecting import Collected, collect, settled
from intake.readers.files import FileFact, Limits, NamedFile
from intake.readers.mapping import Amount, Mapping, ScorerMapping
from intake.readers.recognising import Recognised, read_files, recognise
from intake.readers.records import (
    AttemptFact,
    Case,
    Execution,
    Rejected,
    Run,
    RunFacts,
    Score,
    Scorer,
)

__all__ = [
    "Amount",
    "AttemptFact",
    "Case",
    "Collected",
    "Execution",
    "FileFact",
    "Limits",
    "Mapping",
    "NamedFile",
    "Recognised",
    "Rejected",
    "Run",
    "RunFacts",
    "Score",
    "Scorer",
    "ScorerMapping",
    "collect",
    "read_files",
    "recognise",
    "settled",
]
