"""What a person or a program does to imports: upload, map, confirm, discard; and the import at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction

from analysis.refusals import Refused
from intake import storage, working
from intake.entries import LABEL
from intake.models import (
    DISCARDABLE,
    WAITING_FOR_PERSON,
    Import,
    ImportFile,
    ImportFileName,
    ImportState,
    ImportText,
)
from intake.models import Mapping as SavedMapping
from intake.readers import mapping as mappings
from runs.models import TrustTier
from teams import audit, receipts
from teams.access import Access
from teams.bulk import lock
from teams.given import readable
from teams.permissions import IMPORT_RIGHTS
from teams.records import Availability, new_id
from teams.refusals import Refusal, from_file

TRUST_ALLOWED = (TrustTier.SOURCE_VERIFIER, TrustTier.AGENT_CLAIMED, TrustTier.INSUFFICIENT)
MOST_MAPPINGS = 200
MOST_LABELS = 1000


@dataclass(frozen=True, slots=True)
class Upload:
    """One file as it came: the person's name for it, and its bytes, kept already."""

    name: str
    kept: storage.Kept


Files = Sequence[tuple[str, Iterable[bytes]]]
"""Names as a person gave them, and the bytes in pieces."""


def _keep(files: Files) -> list[Upload]:
    """Keep uploaded bytes under their digests; names are only remembered."""
    if not files:
        raise Refusal("import_no_files", place="files")
    if len(files) > settings.MAX_UPLOAD_FILES:
        raise Refusal("import_too_many_files", f"Choose at most {settings.MAX_UPLOAD_FILES} files.", place="files")
    return [Upload(_name(name), storage.keep(chunks)) for name, chunks in files]


def _name(name: str) -> str:
    """A file's name for showing and for telling its format; it never becomes a path."""
    return "".join(character for character in name if character.isprintable())[-255:] or "file"


def create(
    *,
    access: Access,
    files: Files,
    key: str,
    dataset_name: str = "",
    mapping: Any = None,
    labels: Mapping[str, str] | None = None,
    trust: str = TrustTier.SOURCE_VERIFIER,
    one_shot: bool = False,
    accept_rejected: bool = False,
) -> tuple[Import, bool]:
    """Take files in; a worker looks at them next. The same key and files give the same import again."""
    access.require(*IMPORT_RIGHTS)
    body = _mapping_body(access, mapping)
    asked = _labels({} if labels is None else labels)
    dataset_name = _dataset_name(dataset_name)
    trust = _trust(trust)
    key = receipts.valid_key(key)
    uploads = _keep(files)  # last, so that a faulty request leaves no bytes behind
    request = {
        "files": [[upload.name, upload.kept.sha256] for upload in uploads],
        "dataset": dataset_name,
        "mapping": body,
        "labels": asked,
        "trust": trust,
        "one_shot": one_shot,
        "accept_rejected": accept_rejected,
    }

    def perform() -> Import:
        row = Import.objects.create(
            team=access.team,
            by=access.user,
            dataset_name=dataset_name,
            mapping=body,
            trust=trust,
            one_shot=one_shot,
            accept_rejected=accept_rejected,
        )
        ImportText.objects.create(owner=row, labels=asked)
        for position, upload in enumerate(uploads):
            lock("upload", upload.kept.sha256)  # against a retention that takes the same bytes just now
            if not storage.path_of(upload.kept.sha256).is_file():
                raise Refusal("import_files_gone")
            file = ImportFile.objects.create(
                owner=row, position=position, sha256=upload.kept.sha256, size=upload.kept.size
            )
            ImportFileName.objects.create(file=file, name=upload.name)
        audit.record(
            "import.created",
            team=access.team,
            by=access.user,
            object_type="import",
            object_id=row.pk,
            request_id=access.request_id,
            files=len(uploads),
            bytes=sum(upload.kept.size for upload in uploads),
        )
        working.wake(row.pk)
        return row

    return receipts.once(access, "import.create", key, request, Import, perform)


def _dataset_name(name: str) -> str:
    name = " ".join(name.split())
    if len(name) > 120 or not readable(name):
        raise Refusal("dataset_name_invalid", place="dataset")
    return name


def _trust(trust: str) -> str:
    if trust not in {tier.value for tier in TrustTier}:
        allowed = ", ".join(tier.value for tier in TRUST_ALLOWED)
        raise Refusal("invalid_field", f"The trust tier is one of {allowed}.", place="trust")
    if trust not in TRUST_ALLOWED:
        raise Refusal("import_trust_too_high", place="trust")
    return str(trust)


def _labels(labels: Any) -> dict[str, str]:
    if not isinstance(labels, Mapping) or len(labels) > MOST_LABELS:
        raise Refusal("import_label_invalid", "Labels are one JSON object: arm to label.", place="labels")
    return {str(arm): _label(label, "labels") for arm, label in labels.items()}


def _label(label: Any, place: str) -> str:
    text = " ".join(label.split()) if isinstance(label, str) else ""
    if not 1 <= len(text) <= LABEL or not readable(text):
        raise Refusal("import_label_invalid", f"A label has 1 to {LABEL} printable characters.", place=place)
    return text


def _mapping_body(access: Access, given: Any) -> dict[str, Any] | None:
    """The JSON form of a mapping that was given whole, or by the name of a saved or built-in one."""
    if given is None or given == "":
        return None
    if isinstance(given, str):
        saved = None if "\0" in given else SavedMapping.objects.filter(team=access.team, name=given).first()
        if saved is not None:
            given = saved.body
        elif given in mappings.builtin_names():
            return mappings.to_json(mappings.builtin(given))
        else:
            raise Refusal(
                "import_mapping_invalid", "There is no saved or built-in mapping of that name.", place="mapping"
            )
    try:
        return mappings.to_json(mappings.from_json(given))
    except Refused as refused:
        raise from_file(Refused(refused.code, refused.message, refused.place or "mapping")) from None


def _step(row: Import, allowed: Sequence[ImportState], **fields: Any) -> None:
    """Move an import on from where the person saw it; whoever comes second is told so."""
    changed = Import.objects.filter(pk=row.pk, state__in=allowed).update(**fields)
    if changed != 1:
        state = Import.objects.values_list("state", flat=True).get(pk=row.pk)
        raise Refusal("import_state_changed", f"The import is now: {ImportState(state).label.lower()}.", state=state)
    row.refresh_from_db()


def remap(*, access: Access, row: Import, mapping: Any) -> Import:
    """Look at the files again under this mapping. What the last look found is replaced."""
    access.require(*IMPORT_RIGHTS)
    body = _mapping_body(access, mapping)
    if body is None:
        raise Refusal("import_mapping_needed", place="mapping")
    with transaction.atomic():
        _step(
            row,
            WAITING_FOR_PERSON,
            state=ImportState.EXAMINING,
            mapping=body,
            mapping_sha256="",
            summary=None,
            rejected=0,
            done=0,
            total=0,
            refusal_code="",
            lease_until=None,
            attempts=0,
        )
        audit.record("import.mapped", team=access.team, by=access.user, object_type="import", object_id=row.pk)
        working.wake(row.pk)
    return row


def confirm(
    *,
    access: Access,
    row: Import,
    dataset_name: str = "",
    labels: Sequence[str] | Mapping[str, str] | None = None,
    trust: str = "",
    accept_rejected: bool = False,
) -> Import:
    """Have what the dry run showed written. Labels come by position or by arm; those not given stay."""
    access.require(*IMPORT_RIGHTS)
    name = _dataset_name(dataset_name) or row.dataset_name
    if not name:
        raise Refusal("import_dataset_missing", place="dataset")
    if row.rejected and not (accept_rejected or row.accept_rejected):
        raise Refusal(
            "import_rejected_rows",
            f"{row.rejected} {'row' if row.rejected == 1 else 'rows'} would be left out.",
            place="accept_rejected",
            rejected=row.rejected,
        )
    with transaction.atomic():
        text = ImportText.objects.select_for_update().get(owner=row)
        text.runs = [{**run, "label": label} for run, label in zip(text.runs, _chosen(text.runs, labels), strict=True)]
        _step(
            row,
            (ImportState.READY,),
            state=ImportState.QUEUED,
            dataset_name=name,
            trust=_trust(trust or row.trust),
            accept_rejected=accept_rejected or row.accept_rejected,
            done=0,
            lease_until=None,
            attempts=0,
        )
        text.save(update_fields=["runs"])
        audit.record(
            "import.confirmed",
            team=access.team,
            by=access.user,
            object_type="import",
            object_id=row.pk,
            request_id=access.request_id,
            rejected=row.rejected,
        )
        working.wake(row.pk)
    return row


def _chosen(runs: Sequence[Mapping[str, Any]], labels: Sequence[str] | Mapping[str, str] | None) -> list[str]:
    if labels is None:
        return [run["label"] for run in runs]
    if isinstance(labels, Mapping):
        asked = _labels(labels)
        unknown = set(asked) - {run["arm"] for run in runs}
        if unknown:
            raise Refusal(
                "import_label_invalid", "Labels are given for arms that the files do not hold.", place="labels"
            )
        return [asked.get(run["arm"], run["label"]) for run in runs]
    if len(labels) != len(runs):
        raise Refusal("import_label_invalid", f"{len(runs)} labels are needed.", place="labels")
    return [_label(label, f"label-{index}") for index, label in enumerate(labels)]


def discard(*, access: Access, row: Import) -> None:
    """Throw an unwritten import away: its files, their names, and everything that was read from them."""
    access.require(*IMPORT_RIGHTS)
    with transaction.atomic():
        with connection.cursor() as cursor:  # the epoch moves on, so that a worker in the middle writes nothing
            cursor.execute(
                """
                UPDATE intake_import
                SET state = 'cancelled', epoch = epoch + 1, lease_until = NULL, summary = NULL, rejected = 0,
                    finished_at = clock_timestamp()
                WHERE id = %s AND state = ANY(%s)
                """,
                [row.pk, [state.value for state in DISCARDABLE]],
            )
            if cursor.rowcount != 1:
                raise Refusal("import_state_changed", "A written import stays; its experiments can be archived.")
        digests = working.forget(row.pk, Availability.DELETED)
        audit.record("import.discarded", team=access.team, by=access.user, object_type="import", object_id=row.pk)
        transaction.on_commit(lambda: [working.drop_unused(digest) for digest in digests])
    row.refresh_from_db()


def save_mapping(*, access: Access, name: str, body: Any) -> SavedMapping:
    """Keep a mapping under a name of the team's own; a taken name is refused."""
    access.require(*IMPORT_RIGHTS)
    name = " ".join(name.split())
    if not 1 <= len(name) <= 80 or not readable(name):
        raise Refusal("invalid_field", "Name the mapping with 1 to 80 characters.", place="name")
    if name in mappings.builtin_names():
        raise Refusal("name_taken", "A built-in mapping has this name.", place="name")
    checked = _mapping_body(access, body)
    if checked is None or isinstance(body, str):
        raise Refusal("import_mapping_invalid", "A mapping is a JSON object.", place="mapping")
    if SavedMapping.objects.filter(team=access.team).count() >= MOST_MAPPINGS:
        raise Refusal("mapping_limit")
    try:
        with transaction.atomic():
            saved = SavedMapping.objects.create(team=access.team, name=name, body=checked, made_by=access.user)
            audit.record("mapping.saved", team=access.team, by=access.user, object_type="mapping", object_id=saved.pk)
    except IntegrityError:
        raise Refusal("name_taken", "A saved mapping has this name.", place="name") from None
    return saved


def import_now(
    *,
    access: Access,
    files: Sequence[tuple[str, Path]],
    dataset_name: str,
    mapping: Any = None,
    labels: Mapping[str, str] | None = None,
    trust: str = TrustTier.SOURCE_VERIFIER,
    accept_rejected: bool = False,
    key: str = "",
) -> Import:
    """The whole import at once, in one transaction: looked at and written, or refused and nothing kept.

    For set-up commands and tests. `mapping` is a JSON object or a name; `labels` go by arm. Returns the
    completed import; `queries.results` tells its experiments.
    """
    with transaction.atomic():
        row, made = create(
            access=access,
            files=[(name, storage.chunks_of(path)) for name, path in files],
            key=key or f"import-now-{new_id().hex}",
            dataset_name=dataset_name,
            mapping=mapping,
            labels=labels,
            trust=trust,
            one_shot=True,
            accept_rejected=accept_rejected,
        )
        if made:
            _at_once(row)
    row.refresh_from_db()
    return row


def _at_once(row: Import) -> None:
    for step in (working.look, working.put):
        taken = working.claim(row.pk)
        if taken is None:
            if Import.objects.filter(pk=row.pk, state=ImportState.COMPLETED).exists():
                return
            raise Refusal("conflict", "Another import of the team is being written.")
        try:
            step(taken, working.Progress(taken, own_connection=False))
        except Refused as refused:
            raise from_file(refused) from None
        except working.Busy:
            raise Refusal("conflict", "Another import of the team is being written.") from None
