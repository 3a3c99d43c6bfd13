"""The API of datasets: what is there, drafts and their cases, slices."""
