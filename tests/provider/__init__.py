"""A provider of models on this machine: OpenAI's chat completions over real HTTP, with every fault one can have.

Standard library only, and nothing of the product: tests in this process open a `Provider`, tests of workers in other
processes start `python -m tests.provider` and drive it through a `Remote`.
"""

from tests.provider.calls import Call, read_log
from tests.provider.client import Remote
from tests.provider.server import Provider

__all__ = ["Call", "Provider", "Remote", "read_log"]
