"""`python -m analysis.comparability`: see `command`."""

from __future__ import annotations

import sys

from analysis.comparability.command import main

sys.exit(main())
