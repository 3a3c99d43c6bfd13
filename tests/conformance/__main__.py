"""`python -m tests.conformance`: see `suite`."""

from __future__ import annotations

import sys

from tests.conformance.suite import main

sys.exit(main())
