"""A refusal of something that came in: a stable code, the place, and what is allowed."""

from __future__ import annotations

from typing import Final


class Refused(Exception):
    """Bad input, refused. Nothing was kept. `place` says where (`line 3 reward`), in the reader's words."""

    def __init__(self, code: str, message: str, place: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


CODES: Final[dict[str, str]] = {
    # the file as a file
    "import_not_a_file": "Name a regular file or a folder: no device, pipe or socket, and one that you may read.",
    "import_empty": "A file must hold at least one record.",
    "import_file_too_large": "A file may be at most as large as the configured limit (64 MB unless set otherwise).",
    "import_not_utf8": "Text must be UTF-8; one byte order mark at the beginning is accepted.",
    "import_type_mismatch": "The content of a file must be what its name says.",
    "import_format_unknown": "A file must be in a format that has a reader, or be CSV, JSON or JSONL with a mapping.",
    "import_formats_mixed": "The files of one import must be of one format.",
    "import_gzip_invalid": "A .gz file must be one complete gzip stream.",
    "import_gzip_too_large_unpacked": "The unpacked content of a .gz file must stay within the configured limit.",
    # JSON
    "import_json_invalid": "JSON must be one complete value by the standard, nothing before or after it.",
    "import_json_duplicate_key": "Each key may stand once in an object.",
    "import_json_nonfinite": "Numbers must be finite; NaN and Infinity are not allowed.",
    "import_json_number_out_of_range": "A whole number may have at most 40 digits.",
    "import_json_too_deep": "Values may be nested at most 64 levels deep.",
    "import_nul_character": "The character U+0000 is not allowed in any text or key.",
    "import_lone_surrogate": "Text must hold complete Unicode characters, no half of a surrogate pair.",
    # records
    "import_record_missing_field": "Every field that the reader or the mapping requires must be there and not blank.",
    "import_record_wrong_type": "A field must be of the type that the reader or the mapping names.",
    "import_record_too_large": "A record may be at most 2 MiB and a field 100 kB, unless set otherwise.",
    "import_score_out_of_scale": "A score must lie on the scale of its metric.",
    "import_score_unknown": "A score must be a number, a truth value or one of the words that the mapping lists.",
    "import_repetition_invalid": "A repetition must be a whole number from 0 to 1,000,000.",
    "import_measure_invalid": "Costs, durations and token counts must be finite numbers that are not negative.",
    "import_duplicate_identity": "One task, harness, model and repetition may stand once in a file.",
    "import_identity_control_character": "Names and ids may hold no control, direction or zero-width characters.",
    "duplicate_case_repetition": "One case and repetition may stand once in a run; later copies are set aside.",
    "contradictory_group": "All repetitions of one case in a run must name the same group; others are left out.",
    "contradictory_content": "All repetitions of one case in a run must ask the same; contradicting rows are left out.",
    # CSV
    "import_csv_ragged_row": "Every row must have as many fields as the header.",
    "import_csv_header_duplicate": "Each column name may stand once in the header, and none may be blank.",
    "import_csv_unterminated_quote": "A quoted field must end with a quote, followed by a separator or a line end.",
    # zip archives
    "import_zip_invalid": "A zip archive must be complete and consistent, with nothing before its first member.",
    "import_zip_crc": "Every member's content must match its checksum.",
    "import_zip_encrypted": "Members may not be encrypted.",
    "import_zip_method_unsupported": "Members may be stored, deflated or compressed with Zstandard.",
    "import_zip_too_large_unpacked": "What comes out of an archive must stay within the configured limits.",
    "import_zip_size_lie": "A member must unpack to exactly the size that the directory gives.",
    "import_zip_overlap": "Members may not share bytes of the archive.",
    "import_zip_too_many_members": "An archive may have at most 20,000 members, unless set otherwise.",
    "import_zip_member_path": "Member names must be plain relative paths of regular files.",
    "import_zip_duplicate_member": "Each member name may stand once in an archive.",
    # Inspect logs
    "import_eval_unknown_member": "An Inspect log may hold its own JSON members only.",
    "import_eval_no_header": "An Inspect log must hold header.json or _journal/start.json.",
    "import_eval_version_unsupported": "Inspect logs of version 2 are read.",
    "import_eval_count_mismatch": "A log that says success must hold as many samples as it says.",
    "import_eval_summary_mismatch": "What summaries.json tells of the scores must be what the samples hold.",
    "import_eval_identity_mismatch": "A sample must have the id and epoch that its member's name says.",
    # mappings and choices
    "import_mapping_needed": "A generic file needs a mapping that says which field means what.",
    "import_mapping_invalid": "A mapping must have the documented keys and values only.",
    "import_arm_missing": "The chosen arm must be in the file.",
    "import_arm_ambiguous": "One arm must be chosen where a file holds several.",
    "import_scorer_missing": "The chosen scorer must be on both sides.",
    "import_scorer_ambiguous": "One scorer must be chosen where both sides have several.",
    # columns of a side
    "duplicate_execution": "Each repetition of a case may appear once on a side.",
    "source_with_two_groups": "Inside one experiment a case belongs to one group of related cases at most.",
    "source_with_two_contents": "Inside one experiment a source id is one case with one content.",
    "invalid_repetition": "A repetition must be a whole number that is not negative.",
    "invalid_latency": "A latency must be a number of milliseconds that is not negative, or absent.",
    "invalid_cost": "A cost must be an amount in millionths that is not negative, or absent.",
    "invalid_value": "A value must be a finite number, or absent.",
    "cost_without_amount": "A cost that is known in full or in part must have its amount.",
    "failure_without_failed_generation": "Only a generation that ended badly may have a failure kind.",
    "value_without_score": "Only a scored judgment may have a value or a category.",
    "score_without_value": "A scored judgment must have a value or a category.",
    # the command line alone
    "cli_file_missing": "Files, folders and mappings named on the command line must exist.",
    "cli_template_unreadable": "Choose another version, or ask for the right evaluation.content.read.",
    "cli_option_invalid": "Options must have a value of the documented form.",
    "cli_server_invalid": "A server must be an http or https address.",
    "cli_token_missing": "A server is asked with a token, from --token or EVENHAND_TOKEN.",
    "cli_server_unreachable": "The server must be reachable; a request is tried three times.",
    "cli_answer_unknown": "The server must answer in the form of this version's API.",
}
"""Every code of a refused file, record or mapping, with what is allowed."""
