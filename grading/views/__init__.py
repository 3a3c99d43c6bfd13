"""Pages of metrics and graders."""
