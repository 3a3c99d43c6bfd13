"""Shapes of the API: imports, their rejected rows, saved mappings."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from intake import queries
from intake.models import Import, ImportState, Mapping, RejectedRow
from intake.readers import mapping as mappings
from teams.api import StrictSerializer


@extend_schema_field(OpenApiTypes.OBJECT)
class AnyObject(serializers.JSONField):
    pass


class Confirmation(StrictSerializer):
    """What a program decides on a dry run."""

    dataset = serializers.CharField(required=False, max_length=120)
    labels = serializers.DictField(
        child=serializers.CharField(max_length=200), required=False, help_text="By arm; those not named stay."
    )
    trust = serializers.ChoiceField(["insufficient", "agent_claimed", "source_verifier"], required=False)
    accept_rejected = serializers.BooleanField(required=False, default=False)


class UploadShape(serializers.Serializer[Any]):
    """The fields of the multipart form."""

    files = serializers.ListField(child=serializers.FileField())
    paths = serializers.CharField(
        required=False,
        help_text="A JSON array: for each file its relative path, where folders matter ($folder in a mapping).",
    )
    dataset = serializers.CharField(required=False, help_text="A new name, or that of an existing dataset.")
    mapping = serializers.CharField(required=False, help_text="JSON, or the name of a saved or built-in mapping.")
    labels = serializers.CharField(required=False, help_text="A JSON object: arm to label.")
    trust = serializers.ChoiceField(["insufficient", "agent_claimed", "source_verifier"], required=False)
    dry_run = serializers.BooleanField(required=False, help_text="Only look; write after `confirm`.")
    accept_rejected = serializers.BooleanField(required=False, help_text="Leave out rows that cannot be kept.")


class NewMapping(StrictSerializer):
    name = serializers.CharField(max_length=80)
    mapping = AnyObject()


class MappingShape(serializers.Serializer[Any]):
    name = serializers.CharField()
    built_in = serializers.BooleanField()
    mapping = AnyObject()
    made_at = serializers.DateTimeField(allow_null=True)


class FileShape(serializers.Serializer[Any]):
    name = serializers.CharField(allow_null=True)
    sha256 = serializers.CharField()
    size = serializers.IntegerField()
    kept = serializers.BooleanField()


class RefusalShape(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    place = serializers.CharField()


class ResultShape(serializers.Serializer[Any]):
    run = serializers.IntegerField()
    experiment = serializers.UUIDField()
    new = serializers.BooleanField(help_text="False where an earlier import had written it.")


class TargetShape(serializers.Serializer[Any]):
    dataset = serializers.UUIDField(allow_null=True)
    name = serializers.CharField()
    matched = serializers.IntegerField()
    new = serializers.IntegerField()
    revised = serializers.IntegerField()


class ImportRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    state = serializers.CharField(help_text=", ".join(ImportState.values))
    files = FileShape(many=True)
    dataset = serializers.UUIDField(allow_null=True)
    dataset_name = serializers.CharField()
    reader = serializers.CharField()
    trust = serializers.CharField()
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    rejected = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    refusal = RefusalShape(allow_null=True)


class RunShape(serializers.Serializer[Any]):
    arm = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field of the shape, not of Field
    label_from_file_name = serializers.BooleanField()
    imported_before = serializers.UUIDField(allow_null=True)
    counts = AnyObject()
    notes = serializers.ListField(child=serializers.CharField())


class ImportShape(ImportRow):
    """One import with its dry run, or with what it led to."""

    mapping = AnyObject(allow_null=True)
    suggested_mapping = AnyObject(allow_null=True)
    target = TargetShape(allow_null=True)
    runs = RunShape(many=True)
    missing = serializers.ListField(child=serializers.CharField())
    results = ResultShape(many=True)


class RejectedShape(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    run = serializers.IntegerField()
    code = serializers.CharField()
    place = serializers.CharField(allow_null=True)
    message = serializers.CharField(allow_null=True)
    excerpt = serializers.CharField(allow_null=True)


def import_row(row: Import) -> dict[str, Any]:
    """An import in a list; `files` were prefetched."""
    text = row.importtext
    refused = None
    if row.refusal_code:
        refused = {"code": row.refusal_code, "message": text.refusal_message, "place": text.refusal_place}
    return {
        "id": str(row.pk),
        "state": row.state,
        "files": [
            {"name": file.importfilename.name, "sha256": file.sha256, "size": file.size, "kept": file.kept}
            for file in row.files  # type: ignore[attr-defined]
        ],
        "dataset": row.dataset_id and str(row.dataset_id),
        "dataset_name": row.dataset_name,
        "reader": row.reader,
        "trust": row.trust,
        "done": row.done,
        "total": row.total,
        "rejected": row.rejected,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
        "refusal": refused,
    }


def import_whole(row: Import) -> dict[str, Any]:
    """One import with everything that its page shows."""
    dry = queries.dry_run(row) if row.summary and row.state != ImportState.CANCELLED else None
    return {
        **import_row(row),
        "mapping": row.mapping,
        "suggested_mapping": row.importtext.suggestion,
        "target": None if dry is None or row.state == ImportState.COMPLETED else _target(dry),
        "runs": [] if dry is None else [_run(run) for run in dry.runs],
        "missing": [] if dry is None else list(dry.missing),
        "results": (row.summary or {}).get("results", []),
    }


def _target(dry: queries.DryRun) -> dict[str, Any]:
    target = dry.target
    return {
        "dataset": None if target.dataset is None else str(target.dataset.pk),
        "name": target.name,
        "matched": target.matched,
        "new": target.new,
        "revised": target.revised,
    }


def _run(run: queries.RunRow) -> dict[str, Any]:
    return {
        "arm": run.arm,
        "label": run.label,
        "label_from_file_name": run.from_file_name,
        "imported_before": None if run.experiment is None else str(run.experiment),
        "counts": run.counts,
        "notes": list(run.notes),
    }


def rejected_row(row: RejectedRow) -> dict[str, Any]:
    text = row.rejectedtext
    return {
        "number": row.number,
        "run": row.run,
        "code": row.code,
        "place": text.place,
        "message": text.message,
        "excerpt": text.excerpt,
    }


def saved_mapping(row: Mapping) -> dict[str, Any]:
    return {"name": row.name, "built_in": False, "mapping": row.body, "made_at": row.made_at}


def builtin_mapping(name: str) -> dict[str, Any]:
    return {"name": name, "built_in": True, "mapping": mappings.to_json(mappings.builtin(name)), "made_at": None}
