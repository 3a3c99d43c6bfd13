"""Verdicts on results: from the figures and what is known of the evidence to the claims it carries."""
