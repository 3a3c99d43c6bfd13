"""The servers Evenhand brings along: PostgreSQL and Valkey under a supervisor of our own.

Standard library only: this package must start before anything is installed correctly,
and it must be able to explain what is wrong when it is not.
"""
