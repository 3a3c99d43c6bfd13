"""API of comparisons."""
