"""Comparison groups: what is meant, whether it is ready, and the start of all arms or none."""
