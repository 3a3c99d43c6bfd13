"""Self-check of the statistics: seeded simulation of what the intervals and tests really do.

`make coverage-check` runs it in full and writes `docs/coverage.md`; `tests/analysis/test_coverage.py`
runs a short form on every test run.
"""
