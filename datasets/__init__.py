"""On what is evaluated: datasets, items, immutable revisions and versions."""
