"""How it was judged: metrics, graders, passes, judgments, interpretations."""
