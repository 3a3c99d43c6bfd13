"""The verdict inside other evaluation frameworks. Optional: nothing of the core imports what is here.

Each module imports its framework when it is imported itself, and runs in a process without the
project's root on the path, because the top-level package `datasets` hides Hugging Face's:

    python -m analysis.comparability.adapters.inspect_scorer PAIRS.json
    python -m analysis.comparability.adapters.pydantic_evaluator PAIRS.json
"""
