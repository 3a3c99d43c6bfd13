"""API of experiments with their passes, of metrics and of graders."""
