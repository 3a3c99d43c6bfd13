"""How request bodies with files arrive: onto disk, and never more than a request may carry.

Django parses a form before the view is asked, for its CSRF token even before anybody is known to be
signed in. So the bound stands here, where bytes come in, not in the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler

from analysis import strict_json
from analysis.refusals import Refused
from teams.refusals import Refusal

LONGEST_PATH = 400


class BoundedUploadHandler(TemporaryFileUploadHandler):
    """Files go to temporary files; a body above `MAX_REQUEST_BYTES` is refused before and while it is read."""

    def handle_raw_input(self, input_data: Any, META: Any, content_length: int, *args: Any, **kwargs: Any) -> None:  # noqa: N803
        self.left = settings.MAX_REQUEST_BYTES
        if content_length > self.left:
            raise RequestDataTooBig

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        self.left -= len(raw_data)
        if self.left < 0:
            self.upload_interrupted()  # Django forgets a file whose reading ended in an exception
            raise RequestDataTooBig
        super().receive_data_chunk(raw_data, start)
        return None


def names_of(files: Sequence[UploadedFile[Any]], paths: str) -> list[str]:
    """What the files are called: by their names alone, or below their folders as `paths` says.

    A form's file carries no folder, so `paths` names them beside it: a JSON array with a relative path for each
    file in order, whose last part is the file's own name. Anything else is refused with the place `paths`.
    """
    names = [file.name or "" for file in files]
    if not paths.strip():
        return names
    try:
        given = strict_json.loads(paths.encode())
    except Refused as refused:
        raise Refusal("invalid_field", f"paths is a JSON array of texts: {refused.message}", place="paths") from None
    if not isinstance(given, list) or len(given) != len(names):
        raise Refusal("invalid_field", "Give one path for each file, in the files' order.", place="paths")
    for path, name in zip(given, names, strict=True):
        if not _is_below(path, name):
            raise Refusal(
                "invalid_field",
                f"A path has up to {LONGEST_PATH} characters, is relative with / between its parts, goes nowhere up, "
                "and ends with the file's own name.",
                place="paths",
            )
    return given


def _is_below(path: Any, name: str) -> bool:
    if not isinstance(path, str) or len(path) > LONGEST_PATH or not path.isprintable() or "\\" in path:
        return False
    parts = path.split("/")
    return parts[-1] == name and not any(part in ("", ".", "..") for part in parts)
