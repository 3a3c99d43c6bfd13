"""Readers of other tools' files: bytes in, records out. No Django, no network."""
