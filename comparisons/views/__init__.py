"""Pages of comparisons."""
