"""How request bodies with files arrive: onto disk, and never more than a request may carry.

Django parses a form before the view is asked, for its CSRF token even before anybody is known to be
signed in. So the bound stands here, where bytes come in, not in the view.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import TemporaryFileUploadHandler


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
