"""What changes datasets: themselves, their cases, drafts of the next version, slices."""

from datasets.actions.bulk import Report, bring_table, look_at_table
from datasets.actions.cases import CaseDraft, Stored, exact_version, store_cases
from datasets.actions.datasets import (
    archive_dataset,
    create_dataset,
    dataset_by_name,
    dataset_named,
    rename_dataset,
    restore_dataset,
)
from datasets.actions.drafts import (
    add_case,
    current,
    discard_draft,
    make_version,
    remove_case,
    revise_case,
    undo_change,
)
from datasets.actions.errata import add_erratum
from datasets.actions.slices import archive_slice, create_slice, new_slice_version, rename_slice, restore_slice

__all__ = [
    "CaseDraft",
    "Report",
    "Stored",
    "add_case",
    "add_erratum",
    "archive_dataset",
    "archive_slice",
    "bring_table",
    "create_dataset",
    "create_slice",
    "current",
    "dataset_by_name",
    "dataset_named",
    "discard_draft",
    "exact_version",
    "look_at_table",
    "make_version",
    "new_slice_version",
    "remove_case",
    "rename_dataset",
    "rename_slice",
    "restore_dataset",
    "restore_slice",
    "revise_case",
    "store_cases",
    "undo_change",
]
