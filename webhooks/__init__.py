"""Webhooks: addresses of a team that are told when an experiment, a pass or a group has ended."""
