"""Pages of datasets: what is there, cases and drafts, slices."""
