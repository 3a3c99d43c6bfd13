"""The refusals of importing that are not faults of a file: those stand in `analysis.refusals`."""

from __future__ import annotations

from typing import Final

from teams.refusals import Code, register

CODES: Final = {
    "import_no_files": Code(422, "Choose at least one file."),
    "import_too_many_files": Code(413, "Choose fewer files at once; the message names the limit."),
    "import_dataset_missing": Code(422, "Name the dataset that the evidence belongs to."),
    "import_label_invalid": Code(422, "Give every run a label of 1 to 200 characters, as an object arm → label."),
    "import_trust_too_high": Code(422, "Keep the trust tier or lower it; importing never raises it."),
    "import_rejected_rows": Code(422, "Confirm that the rejected rows may be left out, or correct the file."),
    "import_holds_nothing": Code(422, "A file must hold at least one row that can be kept."),
    "import_value_too_long": Code(422, "Names of metrics and arms may have 120 and 200 characters, units 20."),
    "import_state_changed": Code(409, "Reload the import: it has moved on, and this step no longer applies."),
    "import_files_gone": Code(409, "Upload the files again: their retention is over."),
    "import_changed_meanwhile": Code(409, "Upload the files again: they read differently now."),
    "import_starter_unauthorized": Code(403, "Whoever started the import no longer holds the rights that it needs."),
    "import_too_much_memory": Code(422, "Split the files: reading them needs more memory than is allowed."),
    "import_takes_too_long": Code(422, "Split the files: reading them takes longer than is allowed."),
    "import_failed": Code(
        500, "The fault is ours. Nothing was written; try again or tell an operator the import's id."
    ),
    "mapping_limit": Code(409, "A team keeps at most 200 saved mappings."),
}
register(CODES)
