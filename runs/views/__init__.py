"""Pages of experiments: looking, launching, steering, and Agent Test."""
