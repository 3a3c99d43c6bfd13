"""Lenses: each loads evidence, analyses it and gives one frozen result that everything renders."""
